"""From text to formulas of linear temporal logic, with errors that say where."""

import re

from jaxcert.tasks.ltl._formula import Always, And, Constant, Eventually, Formula, Not, Or, Proposition, Until, is_name

_UNARY = {"!": Not, "F": Eventually, "G": Always}
# By how tightly they bind; U associates to the right.
_JOINS, _TIGHTNESS = {"|": Or, "&": And, "U": Until}, {"|": 1, "&": 2, "U": 3}
# Two signs for one operator, as other tools write it.
_SAME = {"&&": "&", "||": "|"}
# GF is G F: no name begins with a capital.
_WORDS = re.compile(r"[FG](?=[FG]+\b)|\w+|&&|\|\||\S", re.ASCII)
_CONSTANTS = {"true": Constant(True), "false": Constant(False)}
# How deep formulas may be nested; Python's stack holds some more.
_DEEPEST = 100
# Characters of the text that an error shows on each side.
_SHOWN = 40
_OPERAND = "a proposition (a small letter or _ first), true, false, !, F, G or ("


class _Reader:
    """A text and the next token in it; ``depth`` counts the operators and parentheses around what is read."""

    def __init__(self, text: str) -> None:
        self.text = text
        # An empty token marks the end.
        self.tokens = [*((word.group(), word.start()) for word in _WORDS.finditer(text)), ("", len(text))]
        self.place = 0

    @property
    def sign(self) -> str:
        """The text of the next token, in the one way that operators have here."""
        text, _ = self.tokens[self.place]
        return _SAME.get(text, text)

    def take(self, text: str) -> bool:
        """Whether the next token is this one, which is then read."""
        found = self.sign == text
        self.place += found
        return found

    def formula(self, depth: int = 0, least: int = 1) -> Formula:
        """Operands joined by operators that bind at least so tightly, to the next parenthesis or the end."""
        formula = self._operand(depth)
        while _TIGHTNESS.get(self.sign, 0) >= least:
            sign, depth = self.sign, depth + 1
            self.place += 1
            formula = _JOINS[sign](formula, self.formula(depth, _TIGHTNESS[sign] + (sign != "U")))
        return formula

    def _operand(self, depth: int) -> Formula:
        if depth > _DEEPEST:
            raise self.error(f"a formula of at most {_DEEPEST} levels")
        text, start = self.tokens[self.place]
        if text != "(" and text not in _UNARY and text not in _CONSTANTS and not is_name(text):
            raise self.error(_OPERAND)
        self.place += 1
        if text in _UNARY:
            return _UNARY[text](self._operand(depth + 1))
        if text != "(":
            return _CONSTANTS.get(text) or Proposition(text)
        formula = self.formula(depth + 1)
        if not self.take(")"):
            raise self.error(f"&, |, U or the ) for the ( at position {start + 1}")
        return formula

    def error(self, expected: str) -> ValueError:
        """The next token, the possible ones, and a line that points there."""
        text, start = self.tokens[self.place]
        found = repr(text[:_SHOWN]) if text else "its end"
        first, last = max(start - _SHOWN, 0), start + _SHOWN
        # One line, so that the caret finds its place, and nothing that moves a terminal's cursor.
        line = "".join(letter if letter.isprintable() else " " for letter in self.text[first:last])
        whole = repr(self.text) if len(self.text) <= 2 * _SHOWN else f"a text of {len(self.text)} characters"
        pointer = " " * (start - first) + "^"
        return ValueError(f"position {start + 1} of {whole} is {found}; expected {expected}\n    {line}\n    {pointer}")


def parse(text: str) -> Formula:
    """Read a formula of linear temporal logic.

    From the tightest to the loosest, as in Spot, flloat and Rabinizer: ``!``, ``F`` (eventually), ``G`` (always); then
    ``U`` (until), which associates to the right; then ``&``; then ``|``. So ``a & !b U c`` is ``a & ((!b) U c)``.
    ``&&`` is ``&``, ``||`` is ``|``, and ``GF`` is ``G F``. Words: ``true``, ``false``, and propositions, which begin
    with a small letter or an underscore. No task asks for a next position or an implication, so neither is read.

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
        raise reader.error("&, |, U or the end")
    return formula
