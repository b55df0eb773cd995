"""Formulas of linear temporal logic as values: hashable, compared by their parts, printed as they are read."""

import dataclasses
import re

_NAME = re.compile(r"[a-z_][A-Za-z0-9_]*")


@dataclasses.dataclass(frozen=True)
class Formula:
    """A formula; ``str`` prints it with as few parentheses as ``parse`` needs to read it back."""

    # Operators bind in this order; propositions and constants need no parentheses.
    _binding = 5

    def _within(self, binding: int) -> str:
        """The formula as an operand that has to bind at least so tightly."""
        return str(self) if self._binding >= binding else f"({self})"


@dataclasses.dataclass(frozen=True)
class Constant(Formula):
    """``true`` or ``false``."""

    value: bool

    def __str__(self) -> str:
        return "true" if self.value else "false"


@dataclasses.dataclass(frozen=True)
class Proposition(Formula):
    """A proposition, true or false at each position of a trace; ValueError for a name that ``parse`` rejects."""

    name: str

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and is_name(self.name)):
            raise ValueError(f"name is {self.name!r}; expected a small letter or _, then letters, digits and _")

    def __str__(self) -> str:
        return self.name


def is_name(word: str) -> bool:
    """Whether a proposition can be named so."""
    return _NAME.fullmatch(word) is not None and word not in ("true", "false")


@dataclasses.dataclass(frozen=True)
class _Unary(Formula):
    operand: Formula
    _binding = 4
    _symbol = ""

    def __str__(self) -> str:
        inner = self.operand._within(self._binding)
        gap = "" if self._symbol == "!" or inner.startswith("(") else " "
        return f"{self._symbol}{gap}{inner}"


@dataclasses.dataclass(frozen=True)
class Not(_Unary):
    """``!operand``."""

    _symbol = "!"


@dataclasses.dataclass(frozen=True)
class Eventually(_Unary):
    """``F operand``: now or at a later position."""

    _symbol = "F"


@dataclasses.dataclass(frozen=True)
class Always(_Unary):
    """``G operand``: now and at every later position."""

    _symbol = "G"


@dataclasses.dataclass(frozen=True)
class _Binary(Formula):
    left: Formula
    right: Formula
    _symbol = ""
    _leans_left = True

    def __str__(self) -> str:
        left = self.left._within(self._binding + (not self._leans_left))
        right = self.right._within(self._binding + self._leans_left)
        return f"{left} {self._symbol} {right}"


@dataclasses.dataclass(frozen=True)
class Until(_Binary):
    """``left U right``: right holds now or later, and left at every position before."""

    _binding, _symbol, _leans_left = 3, "U", False


@dataclasses.dataclass(frozen=True)
class And(_Binary):
    """``left & right``."""

    _binding, _symbol = 2, "&"


@dataclasses.dataclass(frozen=True)
class Or(_Binary):
    """``left | right``."""

    _binding, _symbol = 1, "|"
