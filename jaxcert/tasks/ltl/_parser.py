"""From formulas of linear temporal logic to reach-avoid tasks, with errors that say where."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count
from jaxcert.tasks.ltl._reach_avoid import ReachAvoid, check_names

_TOKENS = re.compile(r"\w+|&&|\|\||\S", re.ASCII)
# Two signs for one operator, as other tools write it.
_SAME = {"&&": "&", "||": "|"}
_LASTING = ", since G is decided only by the end of an episode; to avoid a on the way to b, write !a U b"
# How deep formulas may be nested; Python's stack holds some more.
_DEEPEST = 100
# Characters of the text that an error shows on each side.
_SHOWN = 40


class _Stage(NamedTuple):
    """The propositions that a stage reaches, avoids and finishes by."""

    reach: list[str]
    avoid: list[str]
    finish: list[str]


class _Body(NamedTuple):
    """What follows F or U: ``finish | reach & rest``, or ``reach`` alone without a rest."""

    reach: list[str]
    finish: list[str]
    rest: list[_Stage]

    @property
    def is_plain(self) -> bool:
        """Whether these are propositions joined by ``|``."""
        return not self.finish and not self.rest


# Stages are a formula of their own; without any they are ``true``.
_Part = _Body | list[_Stage]


class _Reader:
    """A text and the place of the next token in it."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self.text, self.names = text, names
        # An empty token marks the end.
        self.tokens = [*((word.group(), word.start()) for word in _TOKENS.finditer(text)), ("", len(text))]
        self.place = 0

    def take(self, sign: str) -> bool:
        """Whether the next token is this one, which is then read."""
        text, _ = self.tokens[self.place]
        found = _SAME.get(text, text) == sign
        self.place += found
        return found

    def expect(self, sign: str, others: str = "") -> None:
        """Read this token; ValueError for another one."""
        if not self.take(sign):
            raise self.error(f"{others}{sign or 'the end'}")

    def either(self, depth: int = 0) -> _Part:
        """Alternatives: propositions, of which all but the last may finish the task, and at most one with a rest."""
        begin, parts = self.place, [self.both(depth)]
        while self.take("|"):
            parts.append(self.both(depth))
        if len(parts) == 1:
            return parts[0]
        bodies = [part for part in parts if isinstance(part, _Body)]
        longer = [body for body in bodies if not body.is_plain]
        if len(bodies) < len(parts) or len(longer) > 1:
            raise self.error("propositions joined by |, at most one of them with & and what comes then", begin)
        plain = [name for body in bodies if body.is_plain for name in body.reach]
        return longer[0]._replace(finish=longer[0].finish + plain) if longer else _Body(plain, [], [])

    def both(self, depth: int) -> _Part:
        """Propositions to reach, and at most one formula for what comes then, in any order."""
        begin, parts = self.place, [self.factor(depth)]
        while self.take("&"):
            parts.append(self.factor(depth))
        if len(parts) == 1:
            return parts[0]
        bodies = [part for part in parts if isinstance(part, _Body)]
        rests = [part for part in parts if isinstance(part, list) and part]
        if len(bodies) != 1 or not bodies[0].is_plain or len(rests) > 1:
            raise self.error("propositions to reach, and after & at most one formula for what comes then", begin)
        return bodies[0]._replace(rest=rests[0] if rests else [])

    def factor(self, depth: int) -> _Part:
        """A proposition, ``true``, F or ! with what follows, or parentheses."""
        if depth > _DEEPEST:
            raise self.error(f"a formula of at most {_DEEPEST} levels")
        if self.take("true"):
            return []
        if self.take("F"):
            return self.stages([], depth)
        if self.take("!"):
            begin, shunned = self.place, self.factor(depth + 1)
            if not (isinstance(shunned, _Body) and shunned.is_plain):
                raise self.error("propositions to avoid, joined by |", begin)
            self.expect("U")
            return self.stages(shunned.reach, depth)
        if self.take("("):
            part = self.either(depth + 1)
            self.expect(")", "&, | or ")
            return part
        text, _ = self.tokens[self.place]
        if text not in self.names:
            raise self.error(f"{', '.join(self.names)}, true, F, ! or ({_LASTING if text == 'G' else ''}")
        self.place += 1
        return _Body([text], [], [])

    def stages(self, avoid: list[str], depth: int) -> list[_Stage]:
        """The stage that avoids these on the way to what is read next, and those after it."""
        begin, body = self.place, self.factor(depth + 1)
        if not isinstance(body, _Body):
            raise self.error("propositions to reach, joined by |, and after & what comes then", begin)
        return [_Stage(body.reach, avoid, body.finish), *body.rest]

    def error(self, expected: str, place: int | None = None) -> ValueError:
        """The token there, by default the next one, the possible ones, and a line that points there."""
        text, start = self.tokens[self.place if place is None else place]
        found = repr(text[:_SHOWN]) if text else "its end"
        first, last = max(start - _SHOWN, 0), start + _SHOWN
        # One line, so that the caret finds its place, and nothing that moves a terminal's cursor.
        line = "".join(letter if letter.isprintable() else " " for letter in self.text[first:last])
        whole = repr(self.text) if len(self.text) <= 2 * _SHOWN else f"a text of {len(self.text)} characters"
        pointer = " " * (start - first) + "^"
        return ValueError(f"position {start + 1} of {whole} is {found}; expected {expected}\n    {line}\n    {pointer}")


def from_formula(text: str, names: Sequence[str], *, depth: int | None = None) -> ReachAvoid:
    """The task that a reach-avoid formula of linear temporal logic stands for.

    The formula is ``F(reach)``, ``F(reach & rest)``, ``!avoid U reach`` or ``!avoid U (reach & rest)``, where reach and
    avoid are propositions joined by ``|``, and the rest is of this form again, or ``true``; or with ``finish | reach &
    rest`` in place of ``reach & rest``. The order of operands is free. From the tightest to the loosest, as in Spot,
    flloat and Rabinizer: ``!`` and ``F`` (eventually), then ``U`` (until), then ``&``, then ``|``; ``&&`` is ``&``, and
    ``||`` is ``|``.

    Args:
        text: the formula.
        names: the names of all propositions, in their order; each begins with a small letter or an underscore.
        depth: the number of rows of the arrays; by default the number of stages.

    Returns:
        The task, with rows of False after its last stage.

    Raises:
        ValueError: for any other text, with the position, counted from 1, of what is not expected there; for more
            stages than ``depth``.
        TypeError: if it is not a text.

    Example:
        >>> names = ["red", "green", "purple", "yellow"]
        >>> task = from_formula("!yellow U ((red | green) & F purple)", names)
        >>> task.avoid.tolist()
        [[False, False, False, True], [False, False, False, False]]
        >>> from_formula("F(red | ", names)
        Traceback (most recent call last):
        ...
        ValueError: position 9 of 'F(red | ' is its end; expected red, green, purple, yellow, true, F, ! or (
            F(red |
                    ^

    Reference: Pnueli, The Temporal Logic of Programs, FOCS 1977; on finite traces De Giacomo and Vardi, IJCAI 2013.
    """
    check_names(names)
    if not isinstance(text, str):
        raise TypeError(f"text is {text!r}; expected a str")
    reader = _Reader(text, names)
    stages = reader.either()
    if isinstance(stages, _Body) or not stages:
        raise reader.error("F(...) or !(...) U (...)", 0)
    reader.expect("")
    depth = len(stages) if depth is None else depth
    check_count("depth", depth)
    if len(stages) > depth:
        raise ValueError(f"formula has {len(stages)} stages; expected at most depth = {depth}")
    arrays = np.zeros((3, depth, len(names)), bool)
    for row, stage in enumerate(stages):
        for array, part in zip(arrays, stage, strict=True):
            array[row] = [name in part for name in names]
    reach, avoid, finish = map(jnp.asarray, arrays)
    return ReachAvoid(reach, avoid, jnp.int32(len(stages)), finish)
