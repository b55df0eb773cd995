"""A certificate file, checked against the returns."""

import dataclasses
import warnings
from collections.abc import Iterator, Mapping
from os import PathLike
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.certificates import Certificate, Status, sentence
from jaxcert.report._assumptions import ASSUMPTIONS
from jaxcert.report._certificate_file import read_certificate
from jaxcert.report._document import document_digest
from jaxcert.report._protocol import Protocol
from jaxcert.report._readers import ReturnsFile, read_returns
from jaxcert.report._recompute import by_protocol, precision, recompute
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
        ValueError: a file cannot be read, or the certificate is of rollouts that stopped by themselves.
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
    if any("rollouts" in record for record in document["certificates"]):
        raise ValueError(f"{certificate}: of rollouts that stopped by themselves, which returns alone do not repeat")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what is missing is part of the record
        data = read_returns(returns, task=task, episode=episode, value=value)
    differences = [*_of_document(document), *_of_protocol(document, protocol, data)]
    for place, record in enumerate(document["certificates"]):
        differences += [f"certificate {place + 1}: {line}" for line in _of_record(record, data)]
    rows = sum(len(record["rows"]) for record in document["certificates"])
    return Verification(tuple(differences), len(document["certificates"]), rows)


def _of_document(document: Mapping[str, Any]) -> Iterator[str]:
    if document["digest"] != document_digest(document):
        yield "the document was altered after it was written: its digest is that of another content"
    if not document["certificates"]:
        yield "it holds no certificate"
    if document["assumptions"] != list(ASSUMPTIONS):
        yield "its assumptions are not those of this format"
    part = document["checkpoint"]
    for place, record in enumerate(document["certificates"] if part else ()):
        if not _equal(record["settings"]["delta"], part["delta"], np.dtype(np.float32)):
            yield f"certificate {place + 1}: delta is {record['settings']['delta']}, of the checkpoint {part['delta']}"


def _of_protocol(document: Mapping[str, Any], path: str | PathLike[str] | None, data: ReturnsFile) -> Iterator[str]:
    if path is None:
        return
    locked = Protocol.read(path)
    if document["protocol"] is None:
        yield "it names no protocol"
    elif document["protocol"] != locked.digest:
        yield f"it names the protocol {document['protocol'][:12]}..., the file is {locked.digest[:12]}..."
    if len(document["certificates"]) > 1:
        yield f"it holds {len(document['certificates'])} certificates, the protocol is of one"
    for place, record in enumerate(document["certificates"]):
        lines = locked.contradictions(_settled(record, locked)) or _of_record(record, data, by=locked)
        yield from (f"certificate {place + 1}: {line}" for line in lines)


def _settled(record: Mapping[str, Any], locked: Protocol) -> dict[str, Any]:
    """What a record says of the entries of a protocol, which are in its precision."""
    settings, kind = record["settings"], np.dtype(record["settings"]["dtype"])
    asked = [row[record["fixed_beforehand"]] for row in record["rows"]]
    counts = None if record["data"] is None else record["data"]["num_rollouts"]
    rollouts = [] if counts is None else [counts["min"], counts["max"]]
    found = {
        "support": _support(record),
        "delta": settings["delta"],
        "thresholds" if record["fixed_beforehand"] == "threshold" else "safeties": asked,
        "bound": settings["bound"],
        "method": settings["method"],
        "num_tasks": settings["num_tasks"],
        "num_rollouts": next((number for number in rollouts if number != locked.num_rollouts), None),
    }
    if locked.beta is not None:
        found["beta"] = settings["beta"]  # a default is computed with the rest
    stated = {name: getattr(locked, name) for name in found}
    return {name: stated[name] if _equal(value, stated[name], kind) else value for name, value in found.items()}


def _equal(found: Any, stated: Any, dtype: np.dtype) -> bool:
    """Whether numbers differ by the rounding to their type alone."""
    if found is None or stated is None or isinstance(found, str) or isinstance(stated, str):
        return found == stated
    return np.shape(found) == np.shape(stated) and bool(
        np.allclose(found, stated, rtol=4 * np.finfo(dtype).eps, atol=0)
    )


def _of_record(record: Mapping[str, Any], data: ReturnsFile, *, by: Protocol | None = None) -> Iterator[str]:
    """What differs from the record that its settings give, or a protocol."""
    dtype, support = record["settings"]["dtype"], _support(record)
    try:
        with warnings.catch_warnings(), precision(dtype):
            warnings.simplefilter("ignore")
            found = recompute(record, data) if by is None else by_protocol(by, data, dtype)
            again = certificate_record(found, support=support, data=data, fixed=record["fixed_beforehand"])
            sentences = _sentences(record, found)
    except (ValueError, OverflowError) as error:
        yield f"cannot be computed from these returns: {error}"
        return
    # Thresholds of a wanted safety are returns.
    size = max(float(np.nanmax(np.abs(data.returns))), 1e-300)
    given = f"the {'returns give' if by is None else 'protocol gives'}"
    # What a protocol settles; the numbers are compared with those of the recorded settings.
    again = again if by is None else {name: again[name] for name in ("settings", "fixed_beforehand", "note")}
    stated = {**dict.fromkeys(again), **(record if by is None else {name: record[name] for name in again})}
    for place, value, computed in _differences("", stated, again, _TOLERANCE[dtype], size):
        yield f"{place} is {value!r}, {given} {computed!r}"
    if by is not None:
        return
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


def _differences(place: str, stated: Any, found: Any, tolerance: float, size: float) -> Iterator[tuple[str, Any, Any]]:
    """What differs between plain values: the place of each, what is stated there, and what was found."""
    if isinstance(stated, dict) and isinstance(found, dict):
        for key in (name for name in {**found, **stated} if name not in _APART):
            yield from _differences(f"{place} {key}".strip(), stated.get(key), found.get(key), tolerance, size)
    elif isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        for i, (one, other) in enumerate(zip(stated, found, strict=True)):
            yield from _differences(f"{place} {i + 1}", one, other, tolerance, size)
    elif isinstance(stated, float) and isinstance(found, float):
        if not abs(stated - found) <= tolerance * (size if place.endswith("threshold") else 1):
            yield place, stated, found
    elif stated != found:
        yield place, stated, found
