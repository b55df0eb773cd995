"""A certificate file, checked against the returns."""

import dataclasses
import warnings
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from jaxcert._validation import precision
from jaxcert.certificates._certificate import naming, of_two
from jaxcert.certificates._registry import counts_bounds
from jaxcert.questions import QUESTIONS
from jaxcert.report._assumptions import assumptions_of
from jaxcert.report._certificate_file import read_certificate
from jaxcert.report._leaderboard import of_leaderboard
from jaxcert.report._protocol import Protocol
from jaxcert.report._protocol_check import of_files, of_protocol
from jaxcert.report._recompute import UNITS, differing, of_row, recompute, sentences_of, slack_of
from jaxcert.report._recorded_files import of_names, recorded_files, rows_read
from jaxcert.report._records import certificate_record, document_digest
from jaxcert.tables._readers import ReturnsFile
from jaxcert.tables._returns import how_many

_OTHER_WORDS = "the sentence is not that of its numbers, or claims more than is computed here, which is"


@dataclasses.dataclass(frozen=True)
class Verification:
    """Differences between a certificate file and the certificate of the returns.

    Attributes:
        differences: one sentence each; empty if everything agrees.
        num_certificates: how many the file holds.
        num_rows: how many statements they make; of a leaderboard, with its pairs: those that share delta.
        notes: what is worth knowing and no difference: the conditions on the rows that were read, a protocol that was
            not given.
        names: which file has which name, where names were given by hand, which nothing proves; else "".

    Example:
        >>> print(Verification((), num_certificates=1, num_rows=3))
        verified: 1 certificate, 3 statements
    """

    differences: tuple[str, ...]
    num_certificates: int
    num_rows: int
    notes: tuple[str, ...] = ()
    names: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def __str__(self) -> str:
        named = [self.names] if self.names else []
        if not self.ok:
            return "\n".join(["not verified:", *(f"  {line}" for line in (*self.differences, *self.notes, *named))])
        counts = f"{how_many(self.num_certificates, 'certificate')}, {how_many(self.num_rows, 'statement')}"
        return "\n".join(["; ".join([f"verified: {counts}", *self.notes]), *named])


def verify(
    certificate: str | PathLike[str],
    returns: str | PathLike[str],
    *,
    others: Sequence[str | PathLike[str]] = (),
    protocol: str | PathLike[str] | None = None,
) -> Verification:
    """Compute a certificate file again from the returns, and say what differs.

    Checked are the digest of the document, the file of returns (its SHA-256) and the columns that were read, what was
    fixed beforehand, every setting and number of violations exactly, every computed number within rounding, every
    sentence, that policies called by their files have the names of the files given here and, given a protocol, that it
    was kept to. Rounding is 16 units (2**-24 in single precision) of a number's size: of a risk its own, of a threshold
    or a mean that was found that of the returns or of the lower end of the support. A safety in words is never larger
    than what is computed here. This finds alterations. It cannot find a forgery: whoever makes up returns can compute a
    certificate of them.

    Args:
        certificate: the certificate file.
        returns: the file of returns, or the folder.
        others: the files of the other policies, in their order, for a certificate of several; none where one table
            holds all of them. At last that of the weights, for one of weighted tasks.
        protocol: the protocol file; by default the protocol is not checked.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file cannot be read, or the certificate is of rollouts that stopped by themselves, or of other
            numbers of policies.
        ImportError: without jsonschema-rs (extra `cli`).

    Warns:
        UserWarning: of the choice of rows, as when they were certified.

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
        ...     write_certificates(path, [certificate_record(found, support=(0, 1), data=data)])
        ...     print(verify(path, file))
        verified: 1 certificate, 1 statement
    """
    document = read_certificate(certificate)
    records = document["certificates"]
    if any("rollouts" in record for record in records):
        stopped = "of rollouts that stopped by themselves, which returns alone do not repeat"
        raise ValueError(f"{certificate}: {stopped}; expected an exact check of their log (--exact)")
    locked = None if protocol is None else Protocol.read(protocol)
    data = recorded_files(certificate, document, (returns, *others))
    pairs = [*zip(records, data, strict=True)]
    each = [
        [*([] if locked is None else of_files(locked, read)), *_compare(record, read, locked)] for record, read in pairs
    ]
    wrong, names = of_names(document, data)
    differences = [*_of_document(document), *([] if locked is None else of_protocol(document, locked))]
    differences += [f"certificate {i}: {line}" for i, lines in enumerate(each, 1) for line in lines] + wrong
    if "leaderboard" in document:
        num_policies = len(document["leaderboard"]["order"])
        differences += of_leaderboard(document, [read for (read,) in data[:num_policies]])
    read = [rows_read(files) for files in data]
    of_rows = read[:1] if len({*read}) == 1 else [w and f"certificate {i + 1}: {w}" for i, w in enumerate(read)]
    notes = [*filter(None, of_rows), *_unchecked(document, locked)]
    together = document.get("leaderboard", {}).get("statements", {})
    rows = sum(together.values()) if together else sum(len(record["rows"]) for record in records)
    return Verification(tuple(differences), len(records), rows, tuple(notes), names)


def _unchecked(document: Mapping[str, Any], locked: Protocol | None) -> Iterator[str]:
    if locked is None and document["protocol"] is not None:
        yield f"it names the protocol {document['protocol'][:12]}..., which was not given, so it was not checked"
    if any(row.get("witness") for record in document["certificates"] for row in record["rows"]):
        yield "its witnesses were not checked: --exact (check_exactly) checks them"
    if locked is not None and locked.policy_sha256 is not None and locked.deterministic is None:
        yield "the protocol locks a policy, but not whether its actions are sampled (deterministic)"


def _of_document(document: Mapping[str, Any]) -> Iterator[str]:
    if document["digest"] != document_digest(document):
        yield "the document was altered after it was written: its digest is that of another content"
    if not document["certificates"]:
        yield "it holds no certificate"
    if document["assumptions"] != assumptions_of(record["question"] for record in document["certificates"]):
        yield "its assumptions differ from those that this format states for its questions"


# --- a record --------------------------------------------------------------------------------------------------------


def _compare(record: Mapping[str, Any], data: Sequence[ReturnsFile], locked: Protocol | None = None) -> list[str]:
    """Differences beyond rounding from the record that its settings, or a protocol's, give for these returns, one
    sentence each.
    """
    given = "the returns give" if locked is None else "the protocol gives"
    if locked is not None and record["question"] != locked.asked:
        return [f"question is {record['question']!r}, {given} {locked.asked!r}"]
    try:
        with warnings.catch_warnings(), precision(record["settings"]["dtype"]):
            warnings.simplefilter("ignore")
            support, found = recompute(record, data, locked)
            again = certificate_record(found, support=support, data=data[0], others=data[1:])
            settings = again["settings"] if locked is None else _left_open(record, again, locked)
            stated, computed = (_apart_from_rows(each, again["fixed_beforehand"]) for each in (record, again))
            whole = [*differing("", stated, {**computed, "settings": settings}, given)]
            if (count := len(record["rows"])) != len(again["rows"]):
                return [*whole, f"it has {count} rows, {given} {len(again['rows'])}"]
            return [*whole, *_of_rows(record, again, data, found)]
    except (ValueError, OverflowError) as error:
        return [f"cannot be computed from these returns: {error}"]
    except (LookupError, TypeError) as error:
        return [f"has not the entries of an answer to {record['question']!r}: {error!r}"]


def _left_open(record: Mapping[str, Any], again: Mapping[str, Any], locked: Protocol) -> dict[str, Any]:
    """The settings of a protocol's record; one that was left open, and so computed, as it is stated up to rounding."""
    rounding = UNITS * float(np.finfo(record["settings"]["dtype"]).eps) / 2
    stated = {name: value for name, value in record["settings"].items() if name not in locked.settings}
    return {
        name: stated[name] if name in stated and not [*differing("", stated[name], value, relative=rounding)] else value
        for name, value in again["settings"].items()
    }


def _apart_from_rows(record: Mapping[str, Any], each: str | None) -> dict[str, Any]:
    """The entries of a record apart from its rows, but for what was fixed beforehand, and without file names, since
    files may be renamed.
    """
    data, *others = [held and {**held, "file": ""} for held in (record["data"], *record.get("others", []))]
    fixed = {each: [row.get(each) for row in record["rows"]]} if each else {}
    return {**record, "rows": None, "data": data, "others": others, **fixed}


def _of_rows(record: Mapping[str, Any], again: Mapping[str, Any], data: Sequence[ReturnsFile], found: Any) -> list[str]:
    """Differences in the rows and in their sentences."""
    u = float(np.finfo(record["settings"]["dtype"]).eps) / 2
    question, rows, accepted = QUESTIONS[record["question"]], record["rows"], [*again["rows"]]
    policies = data[:-1] if "max_weight" in record["settings"] else data
    slack = slack_of(again, policies, found, question, u).tolist()
    lines = [of_row(row, accepted[i], question, u, slack[i]) for i, row in enumerate(rows)]
    for i in [place for place, different in enumerate(lines) if different and question.finds_threshold]:
        other = _with_ties(rows[i], accepted[i], i, found, slack[i])
        if not of_row(rows[i], other, question, u, slack[i]):
            lines[i], accepted[i] = [], other
    differences = [f"rows {i + 1} {line}" for i, each in enumerate(lines) for line in each]
    # Differing numbers have been reported; the remaining rows have their words compared.
    accepted = [row if lines[i] else accepted[i] for i, row in enumerate(rows)]
    named = [each.called or "" for each in data[:2]] if of_two(found) else []
    words = [naming(each, named, data[0].roles.group) for each in sentences_of(found, question, rows, accepted)]
    pairs = enumerate(zip(rows, words, strict=True), 1)
    return differences + [f"rows {i}: {_OTHER_WORDS}: {said}" for i, (row, said) in pairs if row["sentence"] != said]


def _with_ties(row: Mapping[str, Any], computed: dict[str, Any], i: int, found: Any, slack: float) -> dict[str, Any]:
    """The computed row, with the stated violations if rounding can have put so many tasks below the threshold: those
    tied with the one that gives it, on which the certificate does not depend.
    """
    away, count = np.asarray(found.lower_bounds) - np.asarray(found.thresholds)[i], row["num_violations"]
    fewest, most = int(np.sum(away < -slack)), int(np.sum(away <= slack))
    if count not in range(fewest, most + 1) or not counts_bounds(found):
        return computed
    return {**computed, "num_violations": count, "num_valid": found.num_tasks - count}
