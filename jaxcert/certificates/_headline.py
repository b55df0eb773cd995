"""What an answer says in words: printed row by row, and in one short line for those who read no more."""

import decimal
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from jaxcert.certificates._access import Plain, holds_values
from jaxcert.certificates._figures import Status, ceil_figures, confidence, figures_row, floor_figures, level_figures

# The name of the distribution that the tasks of an answer are from; a fixed list is from none.
SAMPLED, REWEIGHTED, LISTED = "sampled", "reweighted", "listed"
# Of more rows than the most, so many of the first and the last are printed.
_ENDS, _MOST = 5, 20


class Headline(NamedTuple):
    """One line that anyone understands, without a full stop.

    Attributes:
        claim: of how many tasks, or how large a mean; short.
        about: how the line goes on: what is reached, and with which confidence.
    """

    claim: str
    about: str


class InWords(Plain):
    """An answer that is printed as a sentence for each row, and as its settings where it is a batch or has no values.

    A kind of answer has ``_sentence`` and ``_headline``, each of the place of a row. It may say when it ``stops``
    (whether each task stops by its own returns, so that no number of rollouts limits its evidence) and what it is
    ``not_about``.
    """

    delta: Any
    stops: ClassVar[bool] = False
    # What its repr has, in this order: arrays, and then settings.
    _shown: ClassVar[tuple[str, ...]]

    def __str__(self) -> str:
        return listed(self._sentence, max(self.status.size, 1)) if self._is_single() else repr(self)

    def __repr__(self) -> str:
        held = self._arrays()
        settings = [f"{name}={getattr(self, name)!r}" for name in self._shown if name in self._static()]
        if self._is_single():
            rows = [f"{name}={_figures(name, held[name])}" for name in self._shown if name in held]
        else:
            name = next(name for name in self._shown if name not in ("thresholds", "shares"))
            rows = [f"{name} of shape {getattr(getattr(self, name), 'shape', None)}"]
        return f"{type(self).__name__}({', '.join([*rows, *settings])})"

    @property
    def not_about(self) -> str:
        """What it says nothing about, in words."""
        listed = getattr(self, "source", SAMPLED) == LISTED
        return "tasks that are not in the list, or a single episode" if listed else "a single task or episode"

    def _static(self) -> set[str]:
        return {name for name, field in self.__dataclass_fields__.items() if field.metadata.get("static")}

    def _is_single(self) -> bool:
        """Whether it can be read, and has no batch axes."""
        return holds_values(self) and self.status.ndim == len(self._own("status"))

    def _sentence(self, index: int) -> str:
        raise NotImplementedError

    def _headline(self, index: int) -> Headline:
        raise NotImplementedError

    @property
    def _start(self) -> str:
        """How sure it is, as a sentence begins."""
        return f"With confidence {confidence(float(self.delta))}"

    @property
    def _sure(self) -> str:
        """How sure it is, as a headline ends."""
        return f"w{self._start[1:]}"

    def _held(self, index: int, *names: str) -> list[Any]:
        """The numbers of a row, by the names of their fields."""
        return [np.ravel(getattr(self, name))[index].item() for name in names]

    def _nothing(self, what: str, note: str = "") -> str:
        """The sentence where nothing is certified, and about what."""
        return f"{self._start}: nothing is certified about {what}{note}."

    def _note(self, index: int, *noted: Status) -> str:
        """What to do about the status of a row, if it is one of those: by default, about invalid input."""
        (code,) = self._held(index, "status")
        return f" ({Status(code).advice})" if code in (noted or (Status.INVALID_INPUT,)) else ""

    def _line(self, claim: str, about: str) -> Headline:
        """A headline, with how sure it is."""
        return Headline(claim, f"{about}, {self._sure}")

    def _no_line(self, what: str) -> Headline:
        """The headline where nothing is certified, and about what."""
        return self._line("Nothing is certified", f"about {what}")


def _figures(name: str, values: Any) -> str:
    """Numbers of a field, on the side where they claim less."""
    held = np.asarray(values)
    if held.dtype.kind in "bi":
        return str(held.astype(int).tolist())
    if name == "beta":
        return level_figures(held)
    shown = ceil_figures if name in ("delta", "alpha") else floor_figures
    return figures_row(held, shown)


def listed(line: Callable[[int], str], count: int) -> str:
    """One line each, or the first and the last of many."""
    if count <= _MOST:
        return "\n".join(map(line, range(count)))
    ends = [*range(_ENDS), *range(count - _ENDS, count)]
    lines = [line(i) for i in ends]
    return "\n".join([*lines[:_ENDS], f"... {count - 2 * _ENDS} more ...", *lines[_ENDS:]])


def headline(certificate: InWords, index: int) -> Headline:
    """What a certificate, concrete and without batch axes, says in one of its rows; figures are on the safe side.

    For instance the claim 'At least 97 in 100 new tasks', and about it 'from the same distribution reach an expected
    return of 0.8, with confidence 0.99'.
    """
    return certificate._headline(index)


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
