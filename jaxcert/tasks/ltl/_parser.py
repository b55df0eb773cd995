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
# Two signs for one operator, as other tools write it.
_SAME = {"&&": "&", "||": "|", "=>": "->"}
# GF is G F: no name begins with a capital.
_WORDS = re.compile(r"[FGX](?=[FGX]+\b)|\w+|&&|\|\||->|=>|\S", re.ASCII)
_CONSTANTS = {"true": Constant(True), "false": Constant(False)}
# How deep formulas may be nested; Python's stack holds some more.
_DEEPEST = 100
# Characters of the text that an error shows on each side.
_SHOWN = 40
_PARENTHESES = "( and ) that say what -> joins, since tools differ in how tightly it binds beside &, | and U"
_OPERAND = "a proposition (a small letter or _ first), true, false, !, F, G, X or ("


class _Token(NamedTuple):
    text: str
    start: int


class _Reader:
    """A text and the next token in it; one method a level of the grammar, the loosest operator first."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [_Token(word.group(), word.start()) for word in _WORDS.finditer(text)]
        # An empty token marks the end.
        self.tokens.append(_Token("", len(text)))
        self.place = 0
        self.depth = 0
        # Whether &, | or U was read since the last parenthesis that is still open.
        self.joined = False

    @property
    def token(self) -> _Token:
        return self.tokens[self.place]

    @property
    def sign(self) -> str:
        """The text of the next token, in the one way that operators have here."""
        return _SAME.get(self.token.text, self.token.text)

    def take(self, text: str) -> bool:
        """Whether the next token is this one, which is then read."""
        found = self.sign == text
        self.place += found
        return found

    def formula(self) -> Formula:
        """All that stands between two parentheses, or the whole text."""
        outer, self.joined = self.joined, False
        formula = self._implication(self._disjunction())
        self.joined = outer
        return formula

    def _implication(self, left: Formula) -> Formula:
        """What follows a left side, read where it has one meaning: Rabinizer ranks -> with U, Spot below |."""
        if self.sign != "->":
            return left
        if self.joined:
            raise self.error(_PARENTHESES)
        self.place += 1
        depth = self.depth
        self._deeper()
        right = self._implication(self._until())
        if self.sign in ("&", "|"):
            raise self.error(_PARENTHESES)
        self.depth = depth
        return Or(Not(left), right)

    def _disjunction(self) -> Formula:
        return self._from_the_left("|", Or, self._conjunction)

    def _conjunction(self) -> Formula:
        return self._from_the_left("&", And, self._until)

    def _from_the_left(
        self, symbol: str, join: Callable[[Formula, Formula], Formula], operand: Callable[[], Formula]
    ) -> Formula:
        formula, depth = operand(), self.depth
        while self.take(symbol):
            self.joined = True
            self._deeper()
            formula = join(formula, operand())
        self.depth = depth
        return formula

    def _until(self) -> Formula:
        left, depth = self._unary(), self.depth
        if not self.take("U"):
            return left
        self.joined = True
        self._deeper()
        right = self._until()
        self.depth = depth
        return Until(left, right)

    def _unary(self) -> Formula:
        operator, depth = _UNARY.get(self.token.text), self.depth
        if operator is None:
            return self._operand()
        self.place += 1
        self._deeper()
        operand = self._unary()
        self.depth = depth
        return operator(operand)

    def _operand(self) -> Formula:
        token = self.token
        if self.take("("):
            depth = self.depth
            self._deeper()
            formula = self.formula()
            self.depth = depth
            if not self.take(")"):
                raise self.error(f"&, |, U, -> or the ) for the ( at position {token.start + 1}")
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
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error(f"a formula of at most {_DEEPEST} levels")


def parse(text: str) -> Formula:
    """Read a formula of linear temporal logic.

    From the tightest to the loosest, as in Spot, flloat and Rabinizer: ``!``, ``F`` (eventually), ``G`` (always), ``X``
    (next); then ``U`` (until), which associates to the right; then ``&``; then ``|``. So ``a & !b U c`` is
    ``a & ((!b) U c)``. ``&&`` is ``&``, ``||`` is ``|``, and ``GF`` is ``G F``. An implication ``a -> b`` or ``a => b``
    is read as ``!a | b``; it needs parentheses beside ``&``, ``|`` and ``U``, except for a ``U`` on its right, since
    tools differ in how tightly it binds. Words: ``true``, ``false``, and propositions, which begin with a small letter
    or an underscore.

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
    formula = reader.formula()
    if not reader.take(""):
        raise reader.error("&, |, U, -> or the end")
    return formula
