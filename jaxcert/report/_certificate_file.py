"""A certificate file, read strictly: what two readers could understand differently is refused."""

import importlib.resources
import json
import math
from os import PathLike
from typing import Any

from jaxcert._contents import content_of, parsed
from jaxcert._extras import import_extra
from jaxcert.report._document import FORMAT, FORMAT_VERSION

_DIGITS = 19  # of a 64-bit integer


def certificate_schema() -> dict[str, Any]:
    """The JSON schema of certificate files, draft 2020-12.

    Returns:
        The schema.

    Example:
        >>> certificate_schema()["properties"]["format_version"]
        {'const': 4}
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
        ImportError: without jsonschema (`pip install 'jaxcert[cli]'`).

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
    try:
        document = parsed(content.decode("utf-8"), **_STRICT)
    except ValueError as error:
        raise ValueError(f"{path}: is not JSON, or cut short ({error})") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{path}: is no certificate file: expected an object with the format {FORMAT!r}")
    if document.get("format_version") != FORMAT_VERSION:
        version = document.get("format_version")
        raise ValueError(
            f"{path}: has version {version!r} of the format, this release of jaxcert reads {FORMAT_VERSION}"
        )
    jsonschema = import_extra("jsonschema", "cli")
    error = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(certificate_schema()).iter_errors(document)
    )
    if error is not None:
        raise ValueError(f"{path}: {error.json_path[2:] or 'the document'}: {error.message[:200]}")
    return document


def _finite(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError(f"{text} is too large")
    return float(text)


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > _DIGITS:
        raise ValueError(f"{text[:_DIGITS]}... is too large")
    return int(text)


def _no_number(token: str) -> Any:
    raise ValueError(f"{token} is no number of JSON")


_STRICT: dict[str, Any] = {
    "parse_float": _finite,
    "parse_int": _integer,
    "parse_constant": _no_number,
}
