"""From text to formulas of linear temporal logic, with errors that say where."""

import re
from collections.abc import Callable
from typing import NamedTuple

from jaxcert.tasks.ltl._formula import (
    Always,
    And,
    Constant,
    Eventually,
    Formula,
    Next,
    Not,
    Or,
    Proposition,
    Until,
    is_name,
)

_UNARY = {"!": Not, "F": Eventually, "G": Always, "X": Next}
_CONSTANTS = {"true": Constant(True), "false": Constant(False)}
# Levels of a formula; Python's stack holds some more.
_MOST_LEVELS = 100
# Characters of the text that an error shows on each side.
_SHOWN = 40
_OPERAND = "a proposition (a small letter or _ first), true, false, !, F, G, X or ("


class _Token(NamedTuple):
    text: str
    start: int


class _Reader:
    """A text and the next token in it; one method a level of the grammar, the loosest operator first."""

    def __init__(self, text: str) -> None:
        self.text = text
        words = re.finditer(r"\w+|\S", text, re.ASCII)
        self.tokens = [_Token(word.group(), word.start()) for word in words]
        # An empty token marks the end.
        self.tokens.append(_Token("", len(text)))
        self.place = 0
        self.level = 0

    @property
    def token(self) -> _Token:
        return self.tokens[self.place]

    def take(self, text: str) -> bool:
        """Whether the next token is this one, which is then read."""
        found = self.token.text == text
        self.place += found
        return found

    def disjunction(self) -> Formula:
        return self._from_the_left("|", Or, self._conjunction)

    def _conjunction(self) -> Formula:
        return self._from_the_left("&", And, self._until)

    def _from_the_left(
        self, symbol: str, join: Callable[[Formula, Formula], Formula], operand: Callable[[], Formula]
    ) -> Formula:
        formula, level = operand(), self.level
        while self.take(symbol):
            self._deeper()
            formula = join(formula, operand())
        self.level = level
        return formula

    def _until(self) -> Formula:
        left, level = self._unary(), self.level
        if not self.take("U"):
            return left
        self._deeper()
        right = self._until()
        self.level = level
        return Until(left, right)

    def _unary(self) -> Formula:
        operator, level = _UNARY.get(self.token.text), self.level
        if operator is None:
            return self._operand()
        self.place += 1
        self._deeper()
        operand = self._unary()
        self.level = level
        return operator(operand)

    def _operand(self) -> Formula:
        token = self.token
        if self.take("("):
            level = self.level
            self._deeper()
            formula = self.disjunction()
            self.level = level
            if not self.take(")"):
                raise self.error(f"&, |, U or the ) for the ( at position {token.start + 1}")
            return formula
        if token.text not in _CONSTANTS and not is_name(token.text):
            raise self.error(_OPERAND)
        self.place += 1
        return _CONSTANTS.get(token.text) or Proposition(token.text)

    def error(self, expected: str) -> ValueError:
        """What stands at the next token, what could, and a line that points there."""
        text, start = self.token
        found = repr(text[:_SHOWN]) if text else "its end"
        first, last = max(start - _SHOWN, 0), start + _SHOWN
        # One line, so that the caret finds its place, and nothing that moves a terminal's cursor.
        line = "".join(letter if letter.isprintable() else " " for letter in self.text[first:last])
        whole = repr(self.text) if len(self.text) <= 2 * _SHOWN else f"a text of {len(self.text)} characters"
        pointer = " " * (start - first) + "^"
        return ValueError(f"position {start + 1} of {whole} is {found}; expected {expected}\n    {line}\n    {pointer}")

    def _deeper(self) -> None:
        self.level += 1
        if self.level > _MOST_LEVELS:
            raise self.error(f"a formula of at most {_MOST_LEVELS} levels")


def parse(text: str) -> Formula:
    """Read a formula of linear temporal logic.

    From the tightest to the loosest, as in Spot and flloat: ``!``, ``F`` (eventually), ``G`` (always), ``X`` (next);
    then ``U`` (until), which associates to the right; then ``&``; then ``|``. So ``a & !b U c`` is
    ``a & ((!b) U c)``. Words: ``true``, ``false``, and propositions, which begin with a small letter or an underscore.

    Args:
        text: the formula.

    Returns:
        A formula f with ``parse(str(f)) == f``.

    Raises:
        ValueError: if the text is not a formula; with the position, counted from 1, of what is not expected there.
        TypeError: if it is not a text.

    Example:
        >>> formula = parse("!(lava | (water)) U (key & (F door))")
        >>> print(formula)
        !(lava | water) U (key & F door)
        >>> formula.right.left
        Proposition(name='key')
        >>> parse("F(a | ")
        Traceback (most recent call last):
        ...
        ValueError: position 7 of 'F(a | ' is its end; expected a proposition (a small letter or _ first), true, ...
            F(a |
                  ^

    Reference:
        Pnueli, The Temporal Logic of Programs, FOCS 1977; on finite traces De Giacomo and Vardi, Linear Temporal Logic
        and Linear Dynamic Logic on Finite Traces, IJCAI 2013.
    """
    if not isinstance(text, str):
        raise TypeError(f"text is {text!r}; expected a str")
    reader = _Reader(text)
    formula = reader.disjunction()
    if not reader.take(""):
        raise reader.error("&, |, U or the end")
    return formula
