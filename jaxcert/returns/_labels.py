"""Names in sentences: of policies, metrics, strata, tasks and conditions on rows."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

# Letters and digits of any language, but for the letters that are displayed as blanks, and what joins them.
_WORD = re.compile(r"(?:[^\W\u115f\u1160\u3164\uffa0]|[./:@+=-])+")
_MARKS = re.compile("QUOT|PRIME|DITTO|GERSH|APOSTROPHE")  # in the names that Unicode gives to what looks like quotes
_SIGN = r"!=|==?|(?<=\s)in(?=\s|$)"


def quoted(name: str) -> str:
    """A name in a sentence: a single word as it is, any other in double quotes, so that its end is seen.

    A name may itself read as a claim: "score is at least 0.9 and the expected bonus".

    Example:
        >>> print(quoted("goal_time"), quoted("goal time"))
        goal_time "goal time"
    """
    if _WORD.fullmatch(name):
        return name
    seen = "".join(letter if letter.isprintable() else "?" for letter in name)
    # Two single ones in a row look like a double one.
    return '"' + re.sub("'+", "'", "".join("'" if _is_quote(letter) else letter for letter in seen)) + '"'


def _is_quote(letter: str) -> bool:
    """Whether it is a quote, or a mark that may be taken for one."""
    if letter.isascii():
        return letter in "\"'`"
    return unicodedata.category(letter) == "Sk" or bool(_MARKS.search(unicodedata.name(letter, "")))


def enumerated(names: Sequence[str], word: str = "and") -> str:
    """Names as a sentence lists them: a, b and c."""
    *first, last = names
    return f"{', '.join(first)} {word} {last}" if first else last


class Condition(NamedTuple):
    """A condition on rows: a column, a sign, and the entries that are meant."""

    name: Any
    sign: str
    wanted: Sequence[str]

    def meant(self, entries: Collection[str]) -> list[str]:
        """The entries that are meant, without quotes around them unless these are part of an entry."""
        return [each if each in entries else each.strip("\"'") for each in self.wanted]

    def __str__(self) -> str:
        """The column and the entries as names."""
        return f"{quoted(self.name)} {self.sign} {', '.join(map(quoted, self.wanted))}"


def parts_of(condition: str, names: Iterable[Any] = (), *, other: str | None = ".*?") -> Condition | None:
    """The parts of a condition on one of these columns, or ``other`` ones that fit an expression; None if it has none.

    Of columns that are not known the name ends at the first sign.
    """
    known = [*map(re.escape, sorted(map(str, names), key=len, reverse=True)), *filter(None, [other])]
    match = re.fullmatch(rf"\s*?({'|'.join(known)})\s*({_SIGN})\s*(.*)", condition, re.DOTALL)
    if match is None:
        return None
    wanted = match[3].split(",") if match[2] == "in" else [match[3]]
    return Condition(match[1], match[2], [*map(str.strip, wanted)])


def quoted_condition(condition: str, names: Iterable[Any] = ()) -> str:
    """A condition on rows, such as kind = "steep slope"; column and entries are names, of which ``names`` are known."""
    found = parts_of(condition, names)
    return quoted(condition) if found is None else str(found._replace(name=found.name.strip()))


def check_printable(what: str, names: Iterable[object]) -> None:
    """Raise ValueError for a name that is not printable: a line of its own would read as a sentence."""
    if odd := next((name for name in map(str, names) if not name.isprintable()), None):
        raise ValueError(f"{what} {odd!r:.60}; expected names of printable characters")
