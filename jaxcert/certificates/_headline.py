"""What is certified in one short line, for those who read no more."""

import decimal
import math
from typing import NamedTuple

from jaxcert.certificates._figures import floor_figures


class Headline(NamedTuple):
    """One line that anyone understands, without a full stop.

    Attributes:
        claim: of how many tasks, or how large a mean; short.
        about: how the line goes on: what is reached, and with which confidence.
    """

    claim: str
    about: str


def headline(certificate: object, index: int) -> Headline:
    """What a certificate says in one of its rows, in short; every figure is rounded to the safe side.

    Args:
        certificate: the answer to a question, concrete and without batch axes.
        index: which row.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxcert import certify
        >>> found = headline(certify(jnp.full((200, 100), 0.9), 0.8, support=(0, 1), delta=0.01), 0)
        >>> found.claim
        'At least 97 in 100 new tasks'
        >>> found.about
        'from the same distribution reach an expected return of 0.8, with confidence 0.99'
    """
    return certificate._headline(index)  # type: ignore[attr-defined]


def nothing(what: str) -> Headline:
    """The line where nothing is certified, and about what."""
    return Headline("Nothing is certified", what)


def at_least(safety: float) -> tuple[str, int]:
    """A share of new tasks, and how many in a hundred it is: whole ones, or a figure where it is less than one.

    Example:
        >>> at_least(0.789), at_least(0.00421)
        (('At least 78 in 100 new tasks', 78), ('At least a share of 0.0042 of new tasks', 1))
    """
    count = in_hundred(safety)
    if count:
        return f"At least {count} in 100 new tasks", count
    return f"At least a share of {floor_figures(safety, 2)} of new tasks", 1


def in_hundred(share: float, *, up: bool = False) -> int:
    """How many in a hundred a share is, exactly, rounded down; or up, for one from above.

    Example:
        >>> in_hundred(0.29), in_hundred(0.2800001, up=True)  # 0.29 in double precision is less than that
        (28, 29)
    """
    with decimal.localcontext() as context:
        context.prec = 400
        return (math.ceil if up else math.floor)(100 * decimal.Decimal(share))


def reach(count: int) -> str:
    """The verb for so many tasks."""
    return "reaches" if count == 1 else "reach"


def of_tasks(count: int, num_tasks: int) -> str:
    """So many tasks of a fixed list, at the beginning of a sentence."""
    return f"At least {count} of these {num_tasks} tasks" if count < num_tasks else f"All of these {num_tasks} tasks"


def short_figures(value: float) -> str:
    """Four significant figures, or all before the point up to seven, rounded down.

    Example:
        >>> short_figures(0.79734), short_figures(12345.6), short_figures(500.0)
        ('0.7973', '12345', '500')
    """
    before = len(str(int(abs(value)))) if math.isfinite(value) else 0
    return floor_figures(value, min(max(before, 4), 7))
