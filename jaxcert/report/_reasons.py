"""Why an answer says no more: a line for each row that misses, on a page and in a terminal."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates._question import Question
from jaxcert.certificates._requirements_certificate import FEW_ROLLOUTS, OTHER_METHODS
from jaxcert.planning import Advice
from jaxcert.planning._advice import is_explained, misses
from jaxcert.report._in_words import column_texts
from jaxcert.returns._prepared import Support
from jaxcert.tables import Returns

# Rows of which is said why they claim no more: to read, not to compute with, and each may take a second.
MOST_REASONS = 5
_UNKNOWN = "not for too few tasks alone; no more is known "


class Sample(NamedTuple):
    """What is known of the returns, beside the certificate."""

    means: np.ndarray  # the mean return of each task, [n]; of two policies the difference
    support: Support | None = None  # of the returns of each policy
    data: Sequence[Returns] = ()  # of the policy, or of A and of B
    tasks: tuple[str, ...] = ()  # their names
    policies: tuple[str, ...] = ()  # the names of two policies; empty for one

    @property
    def counts(self) -> list[np.ndarray]:
        """The number of rollouts of each task, [n], for each policy."""
        return [each.num_rollouts for each in self.data]

    @property
    def returned(self) -> str:
        """The quantity that a task's mean averages."""
        return "difference" if self.policies else "return"

    @property
    def num_rollouts(self) -> int:
        """The most rollouts that a task has, of either policy."""
        return max(int(count.max()) for count in self.counts)


def reasons_of(
    certificate: Any, question: Question, sample: Sample, advice: Sequence[Advice | None], wanted: float | None
) -> list[tuple[str, str]]:
    """What is not shown, and why, of the inspected rows that miss the safety ``wanted``.

    ``advice``: of these rows, as far as it is known.
    """
    if certificate.metrics:
        whys = [*map(str, filter(None, advice))] or [certificate.why_not_more]
        few = sample.num_rollouts <= FEW_ROLLOUTS and certificate.by_bounds and whys[0]
        return [("more", ". ".join([*whys, *[OTHER_METHODS] * bool(few)]))] if whys[0] else []
    if question.each is None or question.listed:
        return []
    at, each = column_texts(certificate, question, question.each), question.each
    of = "of unequal numbers of rollouts" if any(one.missing for one in sample.data) else "with these settings"
    missed = misses(certificate, safety=wanted).tolist() if advice else []
    rows = zip(at, advice, missed, strict=False)
    told = [(place, why or _UNKNOWN + of) for place, why, miss in rows if why or (miss and is_explained(certificate))]
    return [(f"more at {each} {place}", str(why)) for place, why in told]
