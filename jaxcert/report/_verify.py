"""A certificate file, checked against the returns."""

import dataclasses
import importlib.resources
import json
import warnings
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._extras import import_extra
from jaxcert.certificates import Certificate, Status, sentence
from jaxcert.report._document import FORMAT, FORMAT_VERSION, document_digest
from jaxcert.report._protocol import Protocol
from jaxcert.report._readers import ReturnsFile, read_returns
from jaxcert.report._recompute import precision, recompute
from jaxcert.report._writers import certificate_record

# What another release, machine or batch may change by rounding.
_TOLERANCE = {"float32": 2e-5, "float64": 1e-9}
_COLUMNS = {"threshold": "thresholds", "safety": "safety", "epsilon": "epsilon"}
# Compared elsewhere, or of no consequence: a file may be renamed.
_APART = {"sentence", "advice", "file"}


@dataclasses.dataclass(frozen=True)
class Verification:
    """What differs between a certificate file and what the returns give.

    Attributes:
        differences: one sentence each; empty if everything agrees.
        num_certificates: how many the file holds.
        num_rows: how many statements they make.

    Example:
        >>> print(Verification((), num_certificates=1, num_rows=3))
        verified: 1 certificate, 3 statements
    """

    differences: tuple[str, ...]
    num_certificates: int
    num_rows: int

    @property
    def ok(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def __str__(self) -> str:
        if not self.ok:
            return "\n".join(["not verified:", *(f"  {line}" for line in self.differences)])
        counted = {"certificate": self.num_certificates, "statement": self.num_rows}
        return "verified: " + ", ".join(f"{number} {name}{'s' * (number != 1)}" for name, number in counted.items())


def certificate_schema() -> dict[str, Any]:
    """The JSON schema of certificate files, draft 2020-12.

    Returns:
        The schema.

    Example:
        >>> certificate_schema()["properties"]["format_version"]
        {'const': 2}
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
    try:
        document = json.loads(Path(path).read_bytes().decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
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


def verify(
    certificate: str | PathLike[str],
    returns: str | PathLike[str],
    *,
    protocol: str | PathLike[str] | None = None,
    task: str = "task_id",
    episode: str | None = "episode_id",
    value: str = "total_return",
) -> Verification:
    """Compute a certificate file again from the returns, and say what differs.

    Checked are the digest of the document, the file of returns (its SHA-256), every number of violations exactly, every
    other number within rounding (2e-5 in single precision, 1e-9 in double; thresholds of a wanted safety relative to
    the size of the returns), every sentence and, given a protocol, that it is the one named and was kept to. This finds
    alterations. It cannot find a forgery: whoever makes up returns can compute a certificate of them.

    Args:
        certificate: the certificate file.
        returns: the file of returns.
        protocol: the protocol file; by default the protocol is not checked.
        task: column of the tasks, as in `read_returns`.
        episode: column of the episodes.
        value: column of the returns.

    Returns:
        What differs.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file cannot be read.
        ImportError: without jsonschema (`pip install 'jaxcert[cli]'`).

    Example:
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> import jaxcert
        >>> from jaxcert.report import certificate_record, read_returns, write_certificates
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder) / "returns.npz"
        ...     np.savez(file, returns=np.full((50, 10), 0.75, np.float32))
        ...     data = read_returns(file)
        ...     found = jaxcert.certify(data.returns, 0.5, support=(0, 1), delta=0.05)
        ...     path = file.with_name("certificate.json")
        ...     write_certificates(path, [certificate_record(found, support=(0, 1), data=data)])
        ...     print(verify(path, file))
        verified: 1 certificate, 1 statement
    """
    document = read_certificate(certificate)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what is missing is part of the record
        data = read_returns(returns, task=task, episode=episode, value=value)
    differences = [*_of_document(document), *_of_protocol(document, protocol)]
    for place, record in enumerate(document["certificates"]):
        differences += [f"certificate {place + 1}: {line}" for line in _of_record(record, data)]
    rows = sum(len(record["rows"]) for record in document["certificates"])
    return Verification(tuple(differences), len(document["certificates"]), rows)


def _of_document(document: Mapping[str, Any]) -> Iterator[str]:
    if document["digest"] != document_digest(document):
        yield "the document was altered after it was written: its digest is that of another content"


def _of_protocol(document: Mapping[str, Any], path: str | PathLike[str] | None) -> Iterator[str]:
    if path is None:
        return
    locked = Protocol.read(path)
    if document["protocol"] is None:
        yield "it names no protocol"
    elif document["protocol"] != locked.digest:
        yield f"it names the protocol {document['protocol'][:12]}..., the file is {locked.digest[:12]}..."
    for place, record in enumerate(document["certificates"]):
        yield from (f"certificate {place + 1}: {line}" for line in locked.contradictions(_settled(record, locked)))


def _settled(record: Mapping[str, Any], locked: Protocol) -> dict[str, Any]:
    """What a record says of the entries of a protocol, which are in its precision."""
    settings, kind = record["settings"], np.dtype(record["settings"]["dtype"])
    asked = [row[record["fixed_beforehand"]] for row in record["rows"]]
    rollouts = None if record["data"] is None else record["data"]["num_rollouts"]["max"]
    found = {
        "support": _support(record),
        "delta": settings["delta"],
        "thresholds" if record["fixed_beforehand"] == "threshold" else "safeties": asked,
        "beta": settings["beta"],
        "bound": settings["bound"],
        "method": settings["method"],
        "num_tasks": settings["num_tasks"],
        "num_rollouts": rollouts,
    }
    stated = {name: getattr(locked, name) for name in found}
    return {name: stated[name] if _equal(value, stated[name], kind) else value for name, value in found.items()}


def _equal(found: Any, stated: Any, dtype: np.dtype) -> bool:
    """Whether numbers differ by the rounding to their type alone."""
    if isinstance(found, str) or isinstance(stated, str) or stated is None:
        return found == stated
    return np.shape(found) == np.shape(stated) and bool(
        np.allclose(found, stated, rtol=4 * np.finfo(dtype).eps, atol=0)
    )


def _of_record(record: Mapping[str, Any], data: ReturnsFile) -> Iterator[str]:
    dtype, support = record["settings"]["dtype"], _support(record)
    try:
        with warnings.catch_warnings(), precision(dtype):
            warnings.simplefilter("ignore", UserWarning)
            found = recompute(record, data)
            again = certificate_record(found, support=support, data=data, fixed=record["fixed_beforehand"])
            sentences = _sentences(record, found)
    except ValueError as error:
        yield f"cannot be computed from these returns: {error}"
        return
    # Thresholds of a wanted safety are returns.
    size = max(float(np.nanmax(np.abs(data.returns))), 1e-300)
    yield from _differences("", {name: record[name] for name in again}, again, _TOLERANCE[dtype], size)
    for place, (row, expected) in enumerate(zip(record["rows"], sentences, strict=True)):
        if row["sentence"] != expected:
            yield f"rows {place + 1}: the sentence is not that of its numbers, which is: {expected}"


def _sentences(record: Mapping[str, Any], found: Certificate) -> list[str]:
    """What the recorded numbers say, in words."""
    columns = {field: [row[name] for row in record["rows"]] for name, field in _COLUMNS.items()}
    numbers = {field: jnp.asarray(np.asarray(column, found.safety.dtype)) for field, column in columns.items()}
    codes = [Status[row["status"].upper()].value for row in record["rows"]]
    recorded = dataclasses.replace(found, **numbers, status=jnp.asarray(np.asarray(codes, np.int32)))
    # An entry of an array of JAX takes far longer to read.
    recorded = jax.tree.map(np.asarray, recorded)
    return [sentence(recorded, i) for i in range(len(record["rows"]))]


def _support(record: Mapping[str, Any]) -> tuple[float, float]:
    low, high = record["settings"]["support"]
    return (-np.inf if low is None else low, np.inf if high is None else high)


def _differences(place: str, stated: Any, found: Any, tolerance: float, size: float) -> Iterator[str]:
    """What differs between plain values, with the place of each."""
    if isinstance(stated, dict) and isinstance(found, dict):
        for key in (name for name in found if name not in _APART):
            yield from _differences(f"{place} {key}".strip(), stated.get(key), found[key], tolerance, size)
    elif isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        for i, (one, other) in enumerate(zip(stated, found, strict=True)):
            yield from _differences(f"{place} {i + 1}", one, other, tolerance, size)
    elif isinstance(stated, float) and isinstance(found, float):
        if not abs(stated - found) <= tolerance * (size if place.endswith("threshold") else 1):
            yield f"{place} is {stated!r}, the returns give {found!r}"
    elif stated != found:
        yield f"{place} is {stated!r}, the returns give {found!r}"


def _no_number(token: str) -> Any:
    raise ValueError(f"{token} is no number of JSON")
