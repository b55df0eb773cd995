"""Claims to monitor: new tasks reach a threshold, according to a certificate, its file, or the user."""

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates._certificate import EXPECTED_RETURN, PROBABILITY_OF_SUCCESS, new_task_from, of_two
from jaxcert.certificates._figures import (
    REWEIGHTED,
    SAMPLED,
    ceil_figures,
    ceil_to,
    confidence,
    floor_figures,
    floor_to,
)
from jaxcert.certificates._question import Question
from jaxcert.questions import QUESTIONS, question_of
from jaxcert.questions._answers import rows_of, sampled

_TWO = "the certificate is about the difference of two policies; expected one about one policy"

_FROM_STRATA = re.compile(rf"on a new task from (.+?), the (?:{EXPECTED_RETURN}|{PROBABILITY_OF_SUCCESS}) is at least ")


class MonitoredClaim(NamedTuple):
    """On a new task, J >= ``threshold`` with probability at least 1 - ``epsilon``; with confidence 1 - ``delta``.

    Attributes:
        threshold: B.
        epsilon: the risk that is claimed, in (0, 1).
        delta: failure probability of the claim, whichever of several thresholds was chosen; 0 for one that is not from
            data.
        words: the claim, as the certificate says it; by default in plain words.
    """

    threshold: float
    epsilon: float
    delta: float = 0.0
    words: str = ""

    def __str__(self) -> str:
        return self.words or (
            f"on a new task, the performance is below {floor_figures(self.threshold)} with probability at most "
            f"{ceil_figures(self.epsilon)}"
        )


def claim_of(certificate: Any, *, threshold: float | None = None) -> MonitoredClaim:
    """The claim of a certificate: its risk on the tasks that it is about.

    For weighted tasks or a shift, this is the risk on the reweighted or shifted tasks. For an adaptive run, it is the
    claim of its certificate.

    A user who chooses one of several thresholds has seen all of their certificates. One of t thresholds that each hold
    separately fails with probability at most t delta. Thresholds that hold together (``certify_band``) may be
    chosen at no cost.

    Args:
        certificate: of one policy, at thresholds or safety levels; or an adaptive run.
        threshold: which one of several, chosen before the first deployed task; for a safety level, the threshold that
            was found.

    Returns:
        The claim.

    Raises:
        ValueError: for a certificate that claims no share of new tasks (of a mean, a ranking, an episode or a list of
            tasks), or that compares two policies; for a threshold that it does not have, or at which nothing is
            certified.

    Example:
        >>> import jaxcert
        >>> found = jaxcert.certify(jaxcert.sample_returns("cheetah"), 500.0, support=(0, 1000), delta=0.01)
        >>> print(claim_of(found))
        on a new task from the same distribution, the expected return is at least 500 with probability at least 0.9249
    """
    certificate = getattr(certificate, "certificate", certificate)  # of an adaptive run
    question = question_of(certificate)
    _check_claims(question)
    if of_two(certificate):
        raise ValueError(_TWO)
    together = sampled(certificate).simultaneous
    return _lower_end(_claim(rows_of(certificate, question), float(certificate.delta), threshold, together=together))


def claim_of_record(record: Mapping[str, Any], *, threshold: float | None = None) -> MonitoredClaim:
    """The claim of one entry of a certificate file.

    Args:
        record: an entry of ``certificates`` in the file.
        threshold: as in ``claim_of``.

    Returns:
        The claim.

    Raises:
        ValueError: as ``claim_of``; also if the entry's sentence contradicts its numbers.

    Example:
        >>> import jaxcert
        >>> found = jaxcert.certify(jaxcert.sample_returns("cheetah"), 500.0, support=(0, 1000), delta=0.01)
        >>> record = jaxcert.report.certificate_record(found, support=(0, 1000))
        >>> claim_of_record(record) == claim_of(found)
        True
    """
    name = record["question"]
    if name not in QUESTIONS:
        raise ValueError(f"the question {name!r:.40} is not known; expected one of {', '.join(QUESTIONS)}")
    _check_claims(QUESTIONS[name])
    if record.get("others"):
        raise ValueError(_TWO)
    if lacking := [
        each for each in ("threshold", "safety", "epsilon") if any(row.get(each) is None for row in record["rows"])
    ]:
        raise ValueError(f"its rows have no {' and no '.join(lacking)}, as answers to {name!r} have")
    together = record["settings"].get("simultaneous") is True
    found = _claim(record["rows"], record["settings"]["delta"], threshold, together=together)
    row, sure = _chosen(record["rows"], threshold), f"With confidence {confidence(record['settings']['delta'])}"
    _check_words(found.words, row, _new_tasks(record, found.words))
    if not re.match(rf"{re.escape(sure)}\b(?![.0-9])", row["sentence"]):
        raise ValueError(f"its sentence begins with {row['sentence'][:22]!r}; expected {sure!r}, by its delta")
    return _lower_end(found)


def _lower_end(claim: MonitoredClaim) -> MonitoredClaim:
    """The monitored claim in words: for a probability between two numbers, that it is at least the first."""
    words = re.sub(r"with a probability between (\S+) and \S+$", r"with probability at least \1", claim.words)
    return claim._replace(words=words)


def _check_words(words: str, row: Mapping[str, Any], tasks: list[tuple[str, str]]) -> None:
    """Refuse words that a file's numbers do not say: whoever reads the monitor takes them for the claim."""
    shown = floor_figures(row["threshold"]), repr(row["threshold"])
    if not abs(row["safety"] + row["epsilon"] - 1) < 2**-20:
        raise ValueError(f"its safety is {row['safety']}, its epsilon {row['epsilon']}; expected 1 as their sum")
    share = f"with probability at least {floor_to(row['safety'], 4)}"
    if row.get("safety_upper") is not None:
        share = f"with a probability between {floor_to(row['safety'], 4)} and {ceil_to(row['safety_upper'], 4)}"
    said = [f"on {task}, the {quantity} is at least {each} {share}" for task, quantity in tasks for each in shown]
    if words not in said:
        raise ValueError(f"its sentence says {words!r}, but its numbers say that {said[0]}; expected them to agree")


def _new_tasks(record: Mapping[str, Any], words: str) -> list[tuple[str, str]]:
    """The tasks and the quantity of an entry, in words, for expected returns and for probabilities of success."""
    question = QUESTIONS[record["question"]]
    source = REWEIGHTED if question.has_weights else SAMPLED
    if question.takes("strata") and (match := _FROM_STRATA.match(words)):  # which no other entry names
        source = match[1]
    return [(new_task_from(source), each) for each in (EXPECTED_RETURN, PROBABILITY_OF_SUCCESS)]


def has_successes(record: Mapping[str, Any]) -> bool:
    """Whether the returns of a certificate file were successes: by their bound, or their type."""
    data, bound = record.get("data") or {}, record["settings"].get("bound")
    return bound == CLOPPER_PEARSON.name or data.get("dtype") == "bool"


def _check_claims(question: Question) -> None:
    """Raise ValueError for a question whose answers do not claim a threshold on a share of new tasks."""
    if _is_monitored(question):
        return
    able = ", ".join(name for name, each in QUESTIONS.items() if _is_monitored(each))
    raise ValueError(
        f"the question {question.name!r} ({question.words}) has no answer that is monitored; expected one that claims "
        f"how many new tasks reach a threshold: {able}"
    )


def _is_monitored(question: Question) -> bool:
    return not question.listed and {"threshold", "epsilon", "num_violations"} <= set(question.rows.columns)


def _claim(rows: list[Any], delta: float, threshold: float | None, *, together: bool) -> MonitoredClaim:
    """The claim of the chosen row; ``together``: whether all rows hold at once with probability 1 - delta."""
    row = _chosen(rows, threshold)
    any_fails = delta if together else len(rows) * delta
    if not any_fails < 1:
        raise ValueError(
            f"{len(rows)} thresholds, each certified separately at delta {ceil_figures(delta)}, leave no confidence "
            "in a choice among them; expected a certificate of one threshold, or a band"
        )
    if not 0 < row["epsilon"] < 1:
        shown = floor_figures(row["threshold"])
        raise ValueError(
            f"at the threshold {shown} the risk is {row['epsilon']:g}; expected one in (0, 1): "
            "a claim about no task, or about all, is not monitored"
        )
    words = re.sub(r"(?<=\d)\.? \([^()]*\)\.?$", "", row["sentence"].split(": ", 1)[-1]).rstrip(".")
    return MonitoredClaim(row["threshold"], row["epsilon"], any_fails, words)


def _chosen(rows: list[Any], threshold: float | None) -> Mapping[str, Any]:
    """The row of a threshold, which may be given in the figures that are printed; or the only row."""
    known = ", ".join(floor_figures(row["threshold"]) for row in rows)
    if threshold is None:
        if len(rows) == 1:
            return rows[0]
        raise ValueError(f"the certificate has {len(rows)} thresholds; expected threshold, one of {known}")
    found = [row for row in rows if math.isclose(row["threshold"], threshold, rel_tol=1e-6)]
    if len(found) != 1:
        raise ValueError(f"threshold is {threshold:g}; expected one of the certificate's, {known}")
    return found[0]
