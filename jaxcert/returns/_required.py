"""Requirements: a metric at least, at most, or within two numbers, in Python and as a line of text."""

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.numerics._rounding import known
from jaxcert.returns._labels import check_printable, quoted
from jaxcert.returns._prepared import Support

_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_LINE = re.compile(
    rf"\s*(?P<metric>\S(?:.*?\S)?)\s*(?P<side>>=|<=)\s*(?P<threshold>{_NUMBER})"
    rf"(?:\s+in\s+(?P<low>{_NUMBER})\s+(?P<high>{_NUMBER}|inf))?\s*"
)
_EXAMPLES = "'reward >= 300 in 0 1000', or 'success >= 0.9' for successes"


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Requirement:
    """A limit on the expected value of a metric: at least ``low``, at most ``high``, or both.

    Attributes:
        low: lower limit on the expected value; None for no limit.
        high: upper limit on the expected value; None for no limit.
        support: (a, b), in which every value of the metric lies; None for successes.

    Example:
        >>> Requirement(0.4, 0.6)  # of a probability
        Requirement(low=0.4, high=0.6, support=None)
    """

    low: Any = None
    high: Any = None
    support: Support | None = None


def at_least(threshold: Any, *, support: Support | None = None) -> Requirement:
    """The expected value of a metric, or the probability of success, is at least a number.

    Args:
        threshold: B, a scalar, fixed before the data are seen.
        support: (a, b), as in ``certify``; None for successes.

    Returns:
        The requirement, for ``certify_requirements``.

    Example:
        >>> at_least(0.9)
        Requirement(low=0.9, high=None, support=None)
    """
    return Requirement(low=threshold, support=support)


def at_most(threshold: Any, *, support: Support | None = None) -> Requirement:
    """The expected value of a metric, or the probability of an event, is at most a number.

    Args:
        threshold: C, a scalar, fixed before the data are seen.
        support: (a, b), as in ``certify``; None for events.

    Returns:
        The requirement, for ``certify_requirements``, with complete=True.

    Example:
        >>> at_most(25, support=(0, 100))
        Requirement(low=None, high=25, support=(0, 100))
    """
    return Requirement(high=threshold, support=support)


class Side(NamedTuple):
    """One end that a metric has to meet; ``threshold`` is as given."""

    metric: str
    is_least: bool
    threshold: Any
    support: Support | None

    def __str__(self) -> str:
        ends = "" if self.support is None else f" in {' '.join(map(as_given, self.support))}"
        return f"{self.metric} {'>=' if self.is_least else '<='} {as_given(self.threshold)}{ends}"

    def rounded(self, dtype: np.dtype) -> Any:
        """The threshold on the side where the requirement is harder to meet."""
        return known(self.threshold, dtype, "up" if self.is_least else "down")


def as_given(number: Any) -> str:
    """A number that a user chose, with the figures that identify the float."""
    return repr(float(number)).removesuffix(".0")


def sides_of(given: Mapping[str, Requirement] | Sequence[str]) -> list[Side]:
    """The ends of all requirements, the least of a metric first: of a mapping, or of lines as 'cost <= 25 in 0 500'.

    Raises:
        ValueError: there are none; a line is no requirement, or repeats one; two metrics look alike in a sentence.
    """
    if isinstance(given, str) or not isinstance(given, Mapping | Sequence):
        raise ValueError(
            f"requirements are {given!r:.60}; expected them by their metrics, or lines such as {_EXAMPLES}"
        )
    found: dict[str, list[Side]] = {}
    for metric, each in given.items() if isinstance(given, Mapping) else map(_of_line, given):
        if not (isinstance(metric, str) and metric.strip()):
            raise ValueError(f"a metric is called {metric!r:.60}; expected its name")
        if not isinstance(each, Requirement) or (each.low is None and each.high is None):
            raise ValueError(
                f"the requirement of {metric!r:.60} is {each!r:.60}; expected at_least(...) or at_most(...)"
            )
        ends = ((True, each.low), (False, each.high))
        found.setdefault(metric, []).extend(Side(metric, *end, each.support) for end in ends if end[1] is not None)
    check_printable("a metric is called", found)
    if len({*map(quoted, found)}) < len(found):
        raise ValueError(
            f"metrics are called {', '.join(map(repr, found)):.80}; a sentence shows two alike, rename one"
        )
    if not found:
        raise ValueError(f"there are no requirements; expected one or more, such as {_EXAMPLES}")
    for metric, sides in found.items():
        one, other = sides[0].support, sides[-1].support
        if one is not other and one != other:
            raise ValueError(f"the requirements of {metric!r} have supports {one} and {other}")
        if len({side.is_least for side in sides}) < len(sides):
            raise ValueError(f"{metric!r} is required twice; expected one least and one most number of a metric")
        sides.sort(key=lambda side: not side.is_least)
        low, high = sides[0].threshold, sides[-1].threshold
        if is_concrete(low, high) and np.ndim(low) == np.ndim(high) == 0 and float(low) > float(high):
            raise ValueError(f"{metric!r} is to lie between {low} and {high}; expected the smaller number first")
    return [side for sides in found.values() for side in sides]


def _of_line(line: Any) -> tuple[str, Requirement]:
    match = _LINE.fullmatch(line) if isinstance(line, str) else None
    if match is None:
        raise ValueError(f"requirement {line!r:.80}; expected a line such as {_EXAMPLES}")
    support = None if match["low"] is None else (float(match["low"]), float(match["high"]))
    numbers = [float(match["threshold"]), *(support or ())[:1]]
    if not all(map(math.isfinite, numbers)):
        raise ValueError(f"requirement {line!r:.80} has a number that is too large")
    side = "low" if match["side"] == ">=" else "high"
    return match["metric"], Requirement(**{side: numbers[0]}, support=support)
