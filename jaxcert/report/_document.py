"""The certificate file: what it holds besides the certificates, its text, its form, and how it is read."""

import hashlib
import importlib.resources
import json
import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import jax
import jaxlib.version
import numpy as np

from jaxcert._extras import import_extra
from jaxcert._files import content_of, in_file, parsed
from jaxcert._version import __version__
from jaxcert.questions import QUESTIONS
from jaxcert.report.check_certificate import FORMAT, FORMAT_VERSION


def assumptions_of(questions: Iterable[str]) -> list[str]:
    """What certificates rest on that answer these questions, with all that was to be settled before the data."""
    known, named = [QUESTIONS[name] for name in questions if name in QUESTIONS], ["what is asked"]
    for question in known:  # a required declaration has one value
        own = [option.name for option in question.options if option.name not in question.declared]
        named += [*([question.each] if question.each else []), *question.settings, *own]
    settled = ", ".join(name.replace("_", " ") for name in dict.fromkeys(named))
    of_lists = [question.listed for question in known] or [False]
    tasks = [_OF_SAMPLED] * (not all(of_lists)) + [_OF_LISTS] * any(of_lists)
    moments = "" if all(of_lists) else _AT_EVERY_MOMENT
    kept = [line for line in _OF_ALL if line != _IN_SUPPORT or any(each.has_support for each in known) or not known]
    return [*tasks, *(line.format(settled=settled, moments=moments) for line in kept)]


_OF_SAMPLED = (
    "The tasks were sampled independently from the distribution that new tasks come from or, where a statement names "
    "another one, from a distribution that differs from it as stated; from strata, as many of each as was settled."
)
_OF_LISTS = "Where a statement is about a list of tasks, the list was fixed beforehand."
_AT_EVERY_MOMENT = "; the number of tasks need not be where a statement holds at every moment of their sampling"
_IN_SUPPORT = "Every return that is possible lies in the declared support."
_OF_ALL = (
    "Given the tasks, all rollouts are independent: every rollout of every task had a seed of its own.",
    "The policy was fixed beforehand; neither these tasks nor these rollouts had a part in its training or selection.",
    _IN_SUPPORT,
    "Settled before the data were seen: {settled}, and the numbers of tasks and rollouts{moments}.",
    "No task was left out, and whether a rollout is missing does not depend on its outcome.",
)


def certificate_document(
    records: Sequence[Mapping[str, Any]],
    *,
    protocol: str | None = None,
    leaderboard: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Records of certificates with their assumptions, versions, platform and digest, as `certificate_schema` has them.

    Args:
        records: see `certificate_record`.
        protocol: the digest of the protocol that was locked beforehand (`Protocol.digest`).
        leaderboard: of three policies or more, what holds of all of them together: see `jaxcert compare A B C --json`.

    Raises:
        ValueError: a record holds a number that is not finite.

    Example:
        >>> document = certificate_document([])
        >>> document["format_version"], document["digest"] == document_digest(document)
        (5, True)
    """
    device = jax.devices()[0]
    document: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "certificates": list(records),
        "assumptions": assumptions_of(record.get("question", "") for record in records),
        "protocol": protocol,
        **({} if leaderboard is None else {"leaderboard": dict(leaderboard)}),
        "versions": {
            "jaxcert": __version__,
            "jax": jax.__version__,
            "jaxlib": jaxlib.version.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "platform": {
            "system": platform.system(),
            "machine": platform.machine(),
            "device": f"{device.platform}: {device.device_kind}",
        },
    }
    return {**document, "digest": document_digest(document)}


def document_digest(document: Mapping[str, Any]) -> str:
    """SHA-256 of the document without its digest, in a canonical form.

    The text is JSON in ASCII with sorted keys, without spaces, and with numbers as Python prints them. It shows that a
    document was altered by accident or without care; who alters it with care writes another digest.

    Args:
        document: see `certificate_document`.

    Example:
        >>> document_digest({"format": "jaxcert certificates"})[:8]
        'a5a4826e'
    """
    content = {name: value for name, value in document.items() if name != "digest"}
    text = json.dumps(content, allow_nan=False, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def document_text(document: Mapping[str, Any]) -> str:
    """The document as the text of a certificate file: strict JSON in UTF-8, indented, with a line ending.

    Args:
        document: what :func:`certificate_document` returns.

    Raises:
        ValueError: a number is not finite.

    Example:
        >>> print(document_text({"digest": "0"}), end="")
        {
          "digest": "0"
        }
    """
    return json.dumps(document, allow_nan=False, ensure_ascii=False, indent=2) + "\n"


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
