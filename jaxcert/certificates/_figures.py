"""Statuses in words, figures rounded to the safe side, and the words that sentences share."""

import decimal
import enum
from typing import Any

import numpy as np


class Status(enum.IntEnum):
    """Outcome of one certificate. The certificate holds for every status except UNSOUND; for some it says nothing.

    Example:
        >>> print(Status.VACUOUS.advice)
        nothing is certified at this threshold: lower it, or sample more tasks or rollouts
    """

    CERTIFIED = 0
    VACUOUS = 1
    INFEASIBLE = 2
    INVALID_INPUT = 3
    OUT_OF_RANGE = 4
    UNSOUND = 5

    @property
    def advice(self) -> str:
        """One line on what the status means and what to change."""
        return _ADVICE[self]


_ADVICE = {
    Status.CERTIFIED: "the certificate holds as stated",
    Status.VACUOUS: "nothing is certified at this threshold: lower it, or sample more tasks or rollouts",
    Status.INFEASIBLE: "the scenario certificate has no solution: choose beta at most delta / num_tasks, or more tasks",
    Status.INVALID_INPUT: "some values were not finite, outside the support or out of range, and counted against the "
    "certificate: call outside of jit and vmap to have them named",
    Status.OUT_OF_RANGE: "beta > sqrt(2 delta) / num_tasks, where the scenario theorem alone may not be sound: the "
    "value reported is the larger of it and the binomial certificate, which holds",
    Status.UNSOUND: "no certificate: an estimate for comparison, which holds with no stated confidence",
}


# The names of the codes, in their order.
STATUSES = [status.name.lower() for status in Status]


def floor_to(value: float, digits: int) -> str:
    """The value with that many decimals, rounded down.

    Example:
        >>> floor_to(0.97599, 4)
        '0.9759'
    """
    return _to(value, digits, decimal.ROUND_FLOOR)


def ceil_to(value: float, digits: int) -> str:
    """The value with that many decimals, rounded up."""
    return _to(value, digits, decimal.ROUND_CEILING)


def _to(value: float, digits: int, rounding: str) -> str:
    if not np.isfinite(value):  # for example, in an altered file
        return f"{value:g}"
    step = decimal.Decimal(1).scaleb(-digits)
    with decimal.localcontext() as context:
        context.prec = 400
        return f"{decimal.Decimal(value).quantize(step, rounding):f}"


def floor_figures(value: float, figures: int = 7) -> str:
    """The value in that many significant figures, rounded down; for certified performances.

    A float stands for the shortest decimal that Python reads as it, so that 0.7 in double precision is 0.7.

    Example:
        >>> floor_figures(0.52048677), floor_figures(500.0)
        ('0.5204867', '500')
    """
    return _figures(value, figures, decimal.ROUND_FLOOR)


def ceil_figures(value: float, figures: int = 6) -> str:
    """The value in that many significant figures, rounded up; for failure probabilities.

    Example:
        >>> ceil_figures(0.01234561)
        '0.0123457'
    """
    return _figures(value, figures, decimal.ROUND_CEILING)


def _figures(value: float, figures: int, rounding: str) -> str:
    value = float(value)
    if not np.isfinite(value):
        return f"{value}"
    context = decimal.Context(prec=figures, rounding=rounding)
    # The decimal has at most that many figures, so rounding to nearest is exact.
    return f"{float(context.create_decimal(repr(value))):.{figures}g}"


def level_figures(beta: Any) -> str:
    """The level of lower bounds in six significant figures, or those chosen for each threshold."""
    text: Any = {"float_kind": lambda value: f"{value:.6g}"}
    return np.array2string(np.asarray(beta), threshold=6, separator=", ", formatter=text)


def confidence(delta: float) -> str:
    """1 - delta in all its digits, with delta rounded up to six significant figures.

    Example:
        >>> confidence(float(np.float32(0.01))), confidence(1e-11)
        ('0.99', '0.99999999999')
    """
    with decimal.localcontext() as context:
        context.prec = 400
        return f"{1 - decimal.Decimal(ceil_figures(delta)):f}"


# --- words of sentences ---------------------------------------------------------------------------------------------

# The name of the distribution that the tasks of an answer are from; a fixed list is from none.
SOURCES = SAMPLED, REWEIGHTED, LISTED = "sampled", "reweighted", "listed"


def nothing(what: str, note: str = "", after: str = "") -> str:
    """Say that nothing is certified about it, with a note on the status before or after the full stop."""
    return f"nothing is certified about {what}{note}.{after}"


def of_tasks(count: int, num_tasks: int) -> str:
    """A number of tasks of a fixed list."""
    return f"at least {count} of these {num_tasks} tasks" if count < num_tasks else f"all of these {num_tasks} tasks"
