"""Certificates as strict JSON."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal

import jax
import numpy as np

from jaxcert._files import write_whole
from jaxcert.certificates import (
    AnytimeCertificate,
    BandCertificate,
    Certificate,
    ShiftCertificate,
    Status,
    WeightedCertificate,
    sentence,
)
from jaxcert.certificates._allowed_violations import allowed_together
from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._level_choice import AUTO
from jaxcert.numerics._rounding import cast_host
from jaxcert.planning import Advice
from jaxcert.report._assumptions import REFERENCES
from jaxcert.report._document import certificate_document, document_text
from jaxcert.report._readers import ReturnsFile

# Of the sampled tasks, in a row of a shift.
_SAMPLED = ("threshold", "safety", "epsilon", "status")
_TOGETHER = "All rows hold together, so that one may be chosen after a look at them."
_NOTE = "Each row holds for a {} fixed before the data were seen, not for one chosen after a look at the rows."


def certificate_record(
    certificate: Certificate,
    *,
    support: tuple[float, float],
    data: ReturnsFile | None = None,
    fixed: Literal["threshold", "safety"] = "threshold",
    advice: Sequence[Advice | None] | None = None,
) -> dict[str, Any]:
    """Everything that a third party needs to know about a certificate, as plain values for JSON.

    Numbers are taken from the certificate, unrounded; one that is not finite (an open end of the support) is None.

    Args:
        certificate: for one set of tasks, safety [t].
        support: (a, b), as declared.
        data: the file that the returns were read from.
        fixed: what was fixed before the data were seen: the thresholds (`jaxcert.certify`), or the safety
            (`jaxcert.certify_safety_level`).
        advice: of `jaxcert.planning.advise`, for the rows; each has an entry `advice` then, None where there is none.
            If it is shorter (`limit`), the other rows have no such entry.

    Returns:
        A dictionary of strings, numbers, lists and dictionaries; `rows` has one entry per threshold. If beta was chosen
        from the data, it is in the rows, and "auto" in the settings. Rows of a shift have an entry `sampled`: what is
        certified of the sampled tasks.

    Raises:
        ValueError: the certificate is batched, or of another kind: of two policies, from both sides, of a mean; or the
            shift of one of these. Some of several safety levels that hold together, if delta was divided among all.

    Example:
        >>> import jax.numpy as jnp
        >>> import jaxcert
        >>> certificate = jaxcert.certify_lower_bounds(
        ...     jnp.full(50, 0.75), jnp.array([0.5]), delta=0.01, beta=0.05)
        >>> certificate_record(certificate, support=(0.0, 1.0))["rows"][0]["num_violations"]
        0
    """
    _check_recorded(certificate)
    if certificate.safety.ndim != 1:
        raise ValueError(f"certificate is batched: safety has shape {certificate.safety.shape}, expected [t]")
    _check_whole(certificate, support, fixed)
    return {
        "settings": _settings(certificate, support),
        "references": {
            name: REFERENCES[name] for name in (certificate.bound, certificate.method) if name in REFERENCES
        },
        "data": None if data is None else _data(data),
        "fixed_beforehand": fixed,
        "note": _TOGETHER if certificate.simultaneous else _NOTE.format(fixed),
        "rows": _with_advice(_rows(jax.tree.map(np.asarray, certificate)), advice),
    }


def write_certificates(
    path: str | PathLike[str],
    records: Sequence[Mapping[str, Any]],
    *,
    protocol: str | None = None,
    checkpoint: Mapping[str, Any] | None = None,
    replace: bool = True,
) -> None:
    """Write a certificate file, completely or not at all: records and all that is needed to check them.

    Args:
        path: the file.
        records: see `certificate_record`.
        protocol: the digest of the protocol that was locked beforehand.
        checkpoint: which checkpoint of a training run it is.
        replace: whether to replace a file that exists; if not, it stays, and an error says where the new one is.

    Raises:
        FileExistsError: with `replace=False`, for a file that exists.
        ValueError: no file can be written there, or a record holds a number that is not finite.

    Example:
        >>> import json, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "certificate.json"
        ...     write_certificates(path, [])
        ...     json.loads(path.read_text())["format_version"]
        3
    """
    document = certificate_document(records, protocol=protocol, checkpoint=checkpoint)
    write_whole(path, document_text(document).encode("utf-8", "backslashreplace"), replace=replace)


def _check_recorded(certificate: Any) -> None:
    """Raise ValueError for what a record does not hold."""
    sampled = _sampled(certificate)
    if not isinstance(sampled, Certificate) or not sampled._recorded:
        kind = f"{'that of a shift of ' if sampled is not certificate else ''}{type(sampled).__name__}"
        raise ValueError(f"certificate has type {kind}; expected one of the safety of one policy (to_json writes any)")


def _check_whole(certificate: Certificate, support: tuple[float, float], fixed: str) -> None:
    """Raise ValueError for safety levels that hold together, if delta was not divided among just these."""
    levels = _sampled(certificate)
    # Those of a band, or of successes at all their levels, hold in one event, whichever of them are asked for.
    in_one_event = isinstance(levels, BandCertificate) or levels.beta.ndim
    if fixed != "safety" or not levels.simultaneous or in_one_event:
        return
    wanted = np.asarray(levels.safety)
    if not np.all((wanted > 0) & (wanted < 1)):
        return
    settings = {"delta": levels.delta, "beta": levels.beta, "num_tasks": levels.num_tasks, "validate": False}
    count = np.asarray(allowed_together(BINOMIAL, wanted, levels.safety, **settings).num_allowed)
    ordered, low = np.sort(levels.lower_bounds), cast_host(np.asarray(support[0], np.float64), wanted.dtype, "down")
    reached = np.where(count > 0, np.maximum(ordered[np.maximum(count - 1, 0)], low), low)
    if not np.array_equal(reached, levels.thresholds):
        raise ValueError(
            "certificate holds some of several safety levels that hold together, or was computed under jit: its "
            "thresholds do not follow from its own levels and delta; expected all of them, outside of jit"
        )


def _sampled(certificate: Any) -> Any:
    """The certificate of the sampled tasks: itself, unless it is of a shift."""
    return certificate.sampled if isinstance(certificate, ShiftCertificate) else certificate


def _settings(certificate: Certificate, support: tuple[float, float]) -> dict[str, Any]:
    sampled = _sampled(certificate)
    return (
        _shift(certificate)
        | _others(sampled)
        | {
            "bound": certificate.bound,
            "method": certificate.method,
            "beta": AUTO if certificate.beta.ndim else _number(certificate.beta),
            "delta": _number(certificate.delta),
            "support": [_number(end) for end in support],
            "num_tasks": certificate.num_tasks,
            "simultaneous": certificate.simultaneous,
            "num_smallest": sampled.num_smallest if isinstance(sampled, BandCertificate) else None,
            "dtype": str(certificate.safety.dtype),
        }
    )


def _shift(certificate: Certificate) -> dict[str, Any]:
    """By how much new tasks may differ from the sampled ones, for a certificate that allows it."""
    if not isinstance(certificate, ShiftCertificate):
        return {}
    return {
        "divergence": certificate.divergence,
        "radius": None if certificate.divergence is None else _number(certificate.radius),
        "performance_shift": _number(certificate.performance_shift),
    }


def _others(certificate: Certificate) -> dict[str, Any]:
    """Settings of single kinds."""
    if isinstance(certificate, AnytimeCertificate):
        return {"prior": np.asarray(certificate.prior).tolist()}
    if isinstance(certificate, WeightedCertificate):
        return {"max_weight": _number(certificate.max_weight)}
    return {}


def _data(data: ReturnsFile) -> dict[str, Any]:
    counts = data.num_rollouts
    return {
        "file": data.path.name,
        "sha256": data.sha256,
        "num_rollouts": {"min": int(counts.min()), "max": int(counts.max()), "total": int(counts.sum())},
        "dtype": str(data.returns.dtype),
        "columns": None if data.columns is None else data.columns._asdict(),
    }


def _rows(certificate: Certificate) -> list[dict[str, Any]]:
    columns = {
        name: np.asarray(getattr(certificate, field)).tolist()
        for name, field in (("threshold", "thresholds"), ("safety", "safety"), ("epsilon", "epsilon"))
    }
    if certificate.beta.ndim:
        columns["beta"] = certificate.beta.tolist()
    counts = (np.asarray(certificate.num_violations), np.asarray(certificate.num_valid), np.asarray(certificate.status))
    rows = [
        {
            **{name: _number(column[i]) for name, column in columns.items()},
            "num_violations": int(violations),
            "num_valid": int(valid),
            "status": Status(int(status)).name.lower(),
            "sentence": sentence(certificate, i),
        }
        for i, (violations, valid, status) in enumerate(zip(*counts, strict=True))
    ]
    if not isinstance(certificate, ShiftCertificate):
        return rows
    before = [{name: row[name] for name in _SAMPLED} for row in _rows(certificate.sampled)]
    return [{**row, "sampled": entry} for row, entry in zip(rows, before, strict=True)]


def _with_advice(rows: list[dict[str, Any]], advice: Sequence[Advice | None] | None) -> list[dict[str, Any]]:
    if advice is None:
        return rows
    entries = [None if one is None else dataclasses.asdict(one) for one in advice]
    if len(entries) > len(rows):
        raise ValueError(f"advice has {len(entries)} entries; expected at most one for each of {len(rows)} rows")
    return [{**row, "advice": entry} for row, entry in zip(rows, entries, strict=False)] + rows[len(entries) :]


def _number(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None
