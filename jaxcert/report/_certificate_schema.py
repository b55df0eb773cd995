"""A certificate file that was written before: its form, as a schema, and how it is read."""

import importlib.resources
import itertools
import json
import math
from os import PathLike
from typing import Any

from jaxcert._extras import import_extra
from jaxcert._files import content_of, parsed
from jaxcert.report._document import FORMAT, FORMAT_VERSION

_DIGITS = 19  # of a 64-bit integer
_ENOUGH = 100  # errors, one of which is reported


def certificate_schema() -> dict[str, Any]:
    """The JSON schema of certificate files, draft 2020-12.

    Returns:
        The schema.

    Example:
        >>> certificate_schema()["properties"]["format_version"]
        {'const': 5}
    """
    text = importlib.resources.files("jaxcert.report").joinpath("certificate.schema.json").read_text(encoding="utf-8")
    return json.loads(text)


def read_certificate(path: str | PathLike[str]) -> dict[str, Any]:
    """The document of a certificate file, if it has the form that the schema describes.

    Args:
        path: the file.

    Returns:
        The document; nothing of its content is checked.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no certificate file, one of another version, or cut short; the message names the place.
        ImportError: without jsonschema-rs (extra `cli`).

    Example:
        >>> import pathlib, tempfile
        >>> from jaxcert.report import write_certificates
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "certificate.json"
        ...     write_certificates(path, [])
        ...     read_certificate(path)["certificates"]
        []
    """
    content = content_of(path, "a certificate file")
    strict: dict[str, Any] = {"parse_float": _number, "parse_int": _number, "parse_constant": _number}
    try:
        document = parsed(content.decode("utf-8"), **strict)
    except ValueError as error:
        raise ValueError(
            f"{path}: is not JSON, or cut short ({error}); expected a certificate file, which comes first"
        ) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(
            f"{path}: is no certificate file, which comes first, before the returns: "
            f"expected an object with the format {FORMAT!r}"
        )
    if document.get("format_version") != FORMAT_VERSION:
        version = document.get("format_version")
        raise ValueError(
            f"{path}: has the format_version {version!r:.40}; expected the number {FORMAT_VERSION}, which this release "
            "of jaxcert reads"
        )
    wrong = _misfit(document)
    if wrong is not None:
        raise ValueError(f"{path}: {wrong}")
    return document


def _misfit(document: Any) -> str | None:
    """The place and reason of the document's first deviation from the schema, the nearest to the top."""
    jsonschema = import_extra("jsonschema_rs", "cli")
    try:
        validator = jsonschema.Draft202012Validator(certificate_schema())
        errors = list(itertools.islice(validator.iter_errors(document), _ENOUGH))
    except ValueError as error:  # nested too deeply, or a character that no text has
        return f"the document: {error}"
    if not errors:
        return None

    def depth(error: Any) -> int:
        return len(error.instance_path)

    found = min(errors, key=depth)
    while options := [each for option in getattr(found.kind, "context", ()) for each in option]:
        if depth(max(options, key=depth)) == depth(found):  # it fits no form, and none better than another
            break
        found = max(options, key=depth)
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in found.instance_path)
    return f"{place[1:] or 'the document'}: {found.message[:200]}"


def _number(text: str) -> int | float:
    """A number of JSON that is a float, or an integer of 64 bits."""
    if text.lstrip("-").isdigit():
        if len(text.lstrip("-")) > _DIGITS:
            raise ValueError(f"{text[:_DIGITS]}... is too large")
        return int(text)
    if text in ("NaN", "Infinity", "-Infinity"):
        raise ValueError(f"{text} is no number of JSON")
    if not math.isfinite(float(text)):
        raise ValueError(f"{text} is too large")
    return float(text)
