"""Witnesses of rows: checked in exact arithmetic, whatever kind of file holds the returns, and written if they hold."""

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from os import PathLike
from typing import Any

import jax
import numpy as np

from jaxcert.certificates._certificate import of_two
from jaxcert.certificates._question import Question
from jaxcert.questions import QUESTIONS
from jaxcert.report import check_certificate, check_trials
from jaxcert.report._assumptions import assumptions_of
from jaxcert.report._certificate_file import read_certificate
from jaxcert.report._recompute import support_of
from jaxcert.report._recorded_files import recorded_roles, rows_read, takes_metrics, warned_of_rows
from jaxcert.report._witness import Sample
from jaxcert.report._witnessed_rows import WITNESSES
from jaxcert.report.check_certificate import FORMAT, FORMAT_VERSION, digest_of
from jaxcert.tables._file_tables import unpacked
from jaxcert.tables._files import content_of
from jaxcert.tables._readers import ReturnsFile, read_by


def check_exactly(certificate: str | PathLike[str], returns: str | PathLike[str]) -> Iterator[tuple[bool | None, str]]:
    """Check a certificate file by its witnesses, using only integers and fractions.

    The file `check_certificate`, which needs only Python's standard library, does the same for returns in a `.csv`, and
    `check_trials` for a log of ``Trials``. Other kinds of files are read by `read_returns`, and their
    floats taken as the numbers that they are.

    Args:
        certificate: the certificate file, written with witnesses.
        returns: the file of returns; for tasks that stop by themselves the log.

    Returns:
        For each row two pairs: None and its place when its check begins; then whether it is proven, with its sentence
        or the error.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: what is wrong with the certificate file as a whole, such as another file of returns.
        ImportError: without jsonschema-rs (extra `cli`).

    Warns:
        UserWarning: about the choice of rows, as at certification.

    Example:
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> import jaxcert
        >>> from jaxcert.report import certificate_record, write_certificates
        >>> from jaxcert.tables import read_returns
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder) / "returns.npz"
        ...     np.savez(file, returns=np.full((50, 10), 0.75, np.float32))
        ...     data = read_returns(file)
        ...     found = jaxcert.certify(data.returns, 0.5, support=(0, 1), delta=0.05)
        ...     path = file.with_name("certificate.json")
        ...     write_certificates(path, [certificate_record(found, support=(0, 1), data=data, witness=True)])
        ...     print([holds for holds, _ in check_exactly(path, file)])
        [None, True]
    """
    held, document = read_certificate(certificate), content_of(certificate, "a certificate file")
    try:
        stops = any("rollouts" in record for record in held["certificates"])  # the tasks, by themselves
        _check_claims(held, stops=stops)
        if stops:
            yield from check_trials.check(document, lambda data: read_log(returns, data["sha256"]))
        else:
            yield from _check_rows(document, returns, metric=any(map(takes_metrics, held["certificates"])))
    except OSError:
        raise
    except check_certificate.WRONG as error:
        raise ValueError(f"{certificate}: {check_certificate.reason(error)}") from error


def _check_rows(document: bytes, returns: str | PathLike[str], *, metric: bool) -> Iterator[tuple[bool | None, str]]:
    """Check the rows that a certificate names, and prove each statement from them."""
    told = ""

    def read(data: Any) -> tuple[Any, ...]:
        nonlocal told
        with warned_of_rows():  # the SHA-256 shows whether the certificate describes this file
            file = read_by(returns, recorded_roles(data, metric=metric))
        told = rows_read([file])
        return exactly(file)

    for holds, words in check_certificate.check(document, read):
        yield holds, f"{words} {told[0].upper()}{told[1:]}." if holds and told else words


def _check_claims(held: dict[str, Any], *, stops: bool) -> None:
    """Raise ValueError for what no witness proves: other assumptions, or unfinished rollouts that help a statement."""
    if held["assumptions"] != assumptions_of(record["question"] for record in held["certificates"]):
        raise ValueError("its assumptions differ from those that this format states for its questions")
    for record in () if stops else held["certificates"]:
        settings, metrics = record["settings"], QUESTIONS[record["question"]].metrics(record["settings"])
        for data in (record["data"], *record.get("others", [])):
            low, _ = (metrics[data["columns"]["value"]] or (0, 1)) if metrics else settings["support"]
            counted = data.get("unfinished")
            if counted and (settings.get("complete") or float(counted["counted_as"]) != float(low)):
                wrong = "count as another return than the worst, or at an upper end"
                raise ValueError(f"rollouts without an outcome {wrong}")


def read_log(path: str | PathLike[str], sha256: str | None) -> tuple[list[list[Fraction]], str, dict[str, Any]]:
    """The returns of each task as fractions, the SHA-256 of the part of a log that counts, and what was declared."""
    content = content_of(path, "a log of trials")
    return check_trials.read_log(content, sha256 or hashlib.sha256(content).hexdigest())


def exactly(data: ReturnsFile) -> tuple[Any, ...]:
    """The returns of each task, as spelled in a CSV table or else as floats, the SHA-256 of their file, and strata."""
    is_table = data.columns is not None and data.path.is_file() and data.path.name.lower().endswith((".csv", ".csv.gz"))
    is_whole = not data.how_read and not data.num_unfinished and "," not in f"{data.columns and data.columns[0]}"
    if data.columns is not None and is_table and is_whole:
        content = data.path.read_bytes()
        text = unpacked(content) if data.path.name.lower().endswith(".gz") else content
        return check_certificate.read_csv(text, data.columns._asdict())[0], hashlib.sha256(content).hexdigest()
    where = np.ones(data.returns.shape, bool) if data.where is None else data.where
    tasks = [[Fraction(x) for x in row[ok].tolist()] for row, ok in zip(data.returns, where, strict=True)]
    return tasks, data.sha256, *([] if data.strata is None else [[str(label).strip() for label in data.strata]])


def check_witnessed(question: Question) -> None:
    """Raise ValueError for a question whose answers have no witnesses."""
    if question.name not in WITNESSES:
        expected = "trial_records, of the log of the rollouts" if question.stops else f"one of {', '.join(WITNESSES)}"
        raise ValueError(f"the question {question.name!r} has no witnesses; expected {expected}")


def with_witnesses(
    record: dict[str, Any], certificate: Any, question: Question, files: Sequence[ReturnsFile]
) -> dict[str, Any]:
    """The record with an entry ``witness`` in every row that claims something; None, with a warning, where unproven."""
    check_witnessed(question)
    if not files:
        raise ValueError("data is not given; witnesses are of the returns in a file")
    for data in files:
        if not data.has_rollouts:
            raise ValueError(f"{data.path}: is read as a summary, without single returns, which a witness needs")
    if of_two(certificate):
        raise ValueError("certificate is about two policies, of which there are no witnesses; expected one")
    metrics = question.metrics(record["settings"])
    supports: list[Any] = [each or (0, 1) for each in metrics.values()] or [support_of(record)]
    samples = [*map(_sample_of, files, supports)]
    sample: Any = dict(zip(metrics, samples, strict=True)) if metrics else samples[0]
    answer, found = jax.tree.map(np.asarray, certificate), WITNESSES[question.name]
    witnesses, read = [found(answer, sample, i) for i in range(len(record["rows"]))], [*map(exactly, files)]

    def check(document: bytes) -> Iterator[tuple[bool | None, str]]:
        order = iter(read)  # the files of the only record
        return check_certificate.check(document, lambda _: next(order))

    return where_proven(record, witnesses, check)


def _sample_of(data: ReturnsFile, support: tuple[float, float]) -> Sample:
    where = np.ones(data.returns.shape, bool) if data.where is None else np.asarray(data.where)
    strata = [] if data.strata is None else data.strata.tolist()
    low, high = map(float, support)
    return Sample(np.where(where, data.returns, 0).astype(np.float64), where, low, high, strata)


def where_proven(
    record: dict[str, Any],
    witnesses: Sequence[dict[str, Any] | None],
    check: Callable[[bytes], Iterable[tuple[bool | None, str]]],
) -> dict[str, Any]:
    """The record with these witnesses of its rows; None, with a warning, in each row that the check refuses."""
    pairs = zip(record["rows"], witnesses, strict=True)
    rows = [row if witness is None else {**row, "witness": witness} for row, witness in pairs]
    wrong = _wrong({**record, "rows": rows}, check)
    for i, words in wrong.items():
        warnings.warn(f"rows {i + 1} has no witness: {words}", UserWarning, stacklevel=4)
    return {**record, "rows": [{**row, "witness": None} if i in wrong else row for i, row in enumerate(rows)]}


def _wrong(record: dict[str, Any], check: Callable[[bytes], Iterable[tuple[bool | None, str]]]) -> dict[int, str]:
    """The fault of each unproven row, by its place."""
    document = {"format": FORMAT, "format_version": FORMAT_VERSION, "certificates": [record]}
    try:
        found = list(check(json.dumps({**document, "digest": digest_of(document)}).encode()))
    except ValueError as error:
        claiming = (i for i, row in enumerate(record["rows"]) if "witness" in row)
        return dict.fromkeys(claiming, str(error))
    verdicts: Sequence[tuple[bool | None, str]] = [each for each in found if each[0] is not None]
    return {i: words.partition(": ")[2] for i, (holds, words) in enumerate(verdicts) if not holds}
