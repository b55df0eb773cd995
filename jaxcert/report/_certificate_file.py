"""The file of certificates, read if it has the form of one."""

import importlib.resources
import json
import math
from os import PathLike
from typing import Any

from jaxcert._extras import import_extra
from jaxcert.report.check_certificate import FORMAT, FORMAT_VERSION
from jaxcert.tables._files import content_of, in_file, parsed


def certificate_schema() -> dict[str, Any]:
    """The JSON schema of certificate files, draft 2020-12.

    Example:
        >>> certificate_schema()["properties"]["format_version"]
        {'const': 5}
    """
    text = importlib.resources.files("jaxcert.report").joinpath("certificate.schema.json").read_text(encoding="utf-8")
    return json.loads(text)


def read_certificate(path: str | PathLike[str]) -> dict[str, Any]:
    """The document of a certificate file, if it has the form that the schema describes; no content is checked.

    Args:
        path: the file.

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
    with in_file(path):
        try:
            document = parsed(content.decode("utf-8"), **strict)
        except ValueError as error:
            told = f"is not JSON, or cut short ({error}); expected a certificate file, which comes first"
            raise ValueError(told) from error
        found = [document.get(name) for name in ("format", "format_version")] if isinstance(document, dict) else []
        if found != [FORMAT, FORMAT_VERSION]:
            expected = f"format and format_version {[FORMAT, FORMAT_VERSION]}, which this release reads"
            told = "is no certificate file, which comes first, before the returns"
            raise ValueError(f"{told}; expected an object with the {expected}; found {found!r:.80}")
        _check_form(document)
    return document


def _check_form(document: Any) -> None:
    """Raise ValueError for a deviation from the schema, with its place and reason."""
    jsonschema = import_extra("jsonschema_rs", "cli")
    try:
        jsonschema.Draft202012Validator(certificate_schema()).validate(document)
    except jsonschema.ValidationError as error:
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path)
        raise ValueError(f"{place[1:] or 'the document'}: {error.message[:200]}") from error
    except ValueError as error:  # nested too deeply, or a character that no text has
        raise ValueError(f"the document: {error}") from error


def _number(text: str) -> int | float:
    """A number of JSON that is a float, or an integer of 64 bits."""
    number = int(text) if text.lstrip("-").isdigit() else float(text)
    if not abs(number) < (2**63 if isinstance(number, int) else math.inf):  # NaN is not
        raise ValueError(f"{text:.20} is no number of JSON, or too large")
    return number
