"""Claims to monitor: new tasks reach a threshold, according to a certificate, its file, or the user."""

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

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
from jaxcert.certificates._question import FREQUENCIES, Question
from jaxcert.questions import QUESTIONS, question_of
from jaxcert.questions._answers import rows_of, sampled
from jaxcert.returns._labels import quoted_condition
from jaxcert.returns._strata import frequencies_of, in_words

_TWO = "the certificate is about the difference of two policies; expected one about one policy"

_FROM_STRATA = re.compile(rf"on a new task from (.+?), the (?:{EXPECTED_RETURN}|{PROBABILITY_OF_SUCCESS}) is at least ")
_IN_SAMPLE = "strata as frequent as in the sample"


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
    return _lower_end(found._replace(words=_words_of(record, _chosen(record["rows"], threshold))))


def _lower_end(claim: MonitoredClaim) -> MonitoredClaim:
    """The monitored claim in words: for a probability between two numbers, that it is at least the first."""
    words = re.sub(r"with a probability between (\S+) and \S+$", r"with probability at least \1", claim.words)
    return claim._replace(words=words)


def _words_of(record: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """What a file's settings and numbers say; ValueError if its sentence, which readers trust, says something else."""
    if not abs(row["safety"] + row["epsilon"] - 1) < 2**-20:
        raise ValueError(f"its safety is {row['safety']}, its epsilon {row['epsilon']}; expected 1 as their sum")
    sure, group = f"With confidence {confidence(record['settings']['delta'])}", _group_of(record)
    begin = rf"{re.escape(sure)}(?: for all together)?(?:, at every moment of the sampling of tasks)?"
    match = re.match(f"{begin}{re.escape(f', {group}' if group else '')}: ", row["sentence"])
    if match is None:
        expected = f"{sure!r}, by its delta{f', and {group}' if group else ''}"
        raise ValueError(f"its sentence begins with {row['sentence'][:60]!r}; expected {expected}")
    shown, share = [floor_figures(row["threshold"]), repr(row["threshold"])], _share_of(row)
    words, source = _without_note(row["sentence"][match.end() :]), _source_of(record)
    if QUESTIONS[record["question"]].takes("strata") and (strata := _FROM_STRATA.match(words)):
        of_file = source if source == _IN_SAMPLE or _parts(strata[1]) == _parts(source) else strata[1]
        words = words.replace(strata[1], of_file, 1)
    task, quantities = new_task_from(source), _quantities(record)
    said = [f"on {task}, the {quantity} is at least {each} {share}" for quantity in quantities for each in shown]
    if words not in said:
        raise ValueError(f"its sentence says {words!r}, but its numbers say that {said[0]}; expected them to agree")
    return f"{group}, {words}" if group else words


def _group_of(record: Mapping[str, Any]) -> str:
    """The condition on the rows of a group, as sentences name it; empty for none."""
    group = ((record.get("data") or {}).get("roles") or {}).get("group", "")
    return f"where {quoted_condition(group)}" if group else ""


def _share_of(row: Mapping[str, Any]) -> str:
    """The share of new tasks in a row, in words."""
    if row.get("safety_upper") is not None:
        return f"with a probability between {floor_to(row['safety'], 4)} and {ceil_to(row['safety_upper'], 4)}"
    return f"with probability at least {floor_to(row['safety'], 4)}"


def _source_of(record: Mapping[str, Any]) -> str:
    """The distribution of new tasks, by the settings of an entry: which strata the sample has, no setting says."""
    question, texts = QUESTIONS[record["question"]], record["settings"].get(FREQUENCIES.name)
    if not question.takes("strata"):  # which no other entry names
        return REWEIGHTED if question.has_weights else SAMPLED
    given = frequencies_of(texts)
    return in_words([*given], np.asarray([*given.values()]) / sum(given.values()), True) if given else _IN_SAMPLE


def _parts(strata: str) -> list[str]:
    """The strata that words name, in whichever order: a file's are in that of the tasks."""
    return sorted(re.split(", | or ", strata))


def _quantities(record: Mapping[str, Any]) -> list[str]:
    """What is at least the threshold, in words; both where nothing says which, of returns from 0 to 1."""
    if has_successes(record):
        return [PROBABILITY_OF_SUCCESS]
    is_known = record.get("data") is not None and "rollouts" not in record
    may_succeed = not is_known and record["settings"].get("support") == [0, 1]
    return [EXPECTED_RETURN, PROBABILITY_OF_SUCCESS] if may_succeed else [EXPECTED_RETURN]


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
    words = _without_note(row["sentence"].split(": ", 1)[-1])
    return MonitoredClaim(row["threshold"], row["epsilon"], any_fails, words)


def _without_note(sentence: str) -> str:
    return re.sub(r"(?<=\d)\.? \([^()]*\)\.?$", "", sentence).rstrip(".")


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
