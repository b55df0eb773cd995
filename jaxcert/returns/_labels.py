"""Names in sentences: of policies, metrics, strata, tasks and conditions on rows."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

# Letters and digits of any language, but for the letters that are displayed as blanks, and what joins them.
_WORD = re.compile(r"(?:[^\W\u115f\u1160\u3164\uffa0]|[./:@+=-])+")
_MARKS = re.compile("QUOT|PRIME|DITTO|GERSH|APOSTROPHE")  # in the names that Unicode gives to what looks like quotes
_SIGNS = " = ", " != ", " in ", "==", "!=", "="


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


def quoted_condition(condition: str) -> str:
    """A condition on rows, such as kind = "steep slope"; column and entries are names."""
    sign = next((sign for sign in _SIGNS if sign in condition), "")
    if not sign:
        return quoted(condition)
    name, _, wanted = condition.partition(sign)
    entries = wanted.split(",") if sign == " in " else [wanted]
    return f"{quoted(name.strip())} {sign.strip()} {', '.join(quoted(entry.strip()) for entry in entries)}"


def check_printable(what: str, names: Iterable[object]) -> None:
    """Raise ValueError for a name that is not printable: a line of its own would read as a sentence."""
    if odd := next((name for name in map(str, names) if not name.isprintable()), None):
        raise ValueError(f"{what} {odd!r:.60}; expected names of printable characters")
