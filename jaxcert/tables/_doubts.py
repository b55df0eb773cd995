"""The words by which entries are understood, and doubts that rows are single trials of one policy, by data in TOML."""

import contextlib
import importlib.resources
import re
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

_CAMEL, _WORD = re.compile("(?<=[a-z])(?=[A-Z])"), re.compile(r"[^\W\d_]+")


def words_in(name: Any) -> set[str]:
    """The words of a label or of a name of a column, in lower case."""
    return {*listed_words(name)}


def listed_words(name: Any) -> list[str]:
    """The words in their order; modelName has two."""
    return _WORD.findall(_CAMEL.sub(" ", str(name)).lower())


def data_of(name: str) -> dict[str, Any]:
    """The entries of a TOML file of this package."""
    return tomllib.loads(importlib.resources.files("jaxcert.tables").joinpath(name).read_text(encoding="utf-8"))


def _words() -> SimpleNamespace:
    """Each entry as a set of words, or a list of lists of them."""
    found: dict[str, Any] = {}
    for name, entry in data_of("vocabulary.toml").items():
        if isinstance(entry, list):
            found[name] = [each.split() for each in entry]
            continue
        others = [found[word[1:]] for word in entry.split() if word[0] == "@"]
        left_out = {word[1:] for word in entry.split() if word[0] == "-" != word}
        found[name] = {word for word in entry.split() if word[0] not in "@-" or word == "-"}.union(*others) - left_out
    return SimpleNamespace(**found)


WORDS = _words()


_SAID = data_of("doubts.toml")
_REFUSED, NEARLY, WAYS = _SAID["refused"], _SAID["nearly"], _SAID["ways"]
DOUBTS = {name: " ".join(says.split()) for name, says in {**_REFUSED, **_SAID["warned"]}.items()}


# What a doubt tells of what it finds; or only whether it finds something.
Found = Mapping[str, Any] | bool | None


def judge(doubts: Iterable[Callable[[Any], Found]], it: Any) -> None:
    """Tell of each doubt whose function finds something in ``it``, and what it found."""
    for doubt in doubts:
        if found := doubt(it):
            tell(doubt.__name__, it=it, **(found if isinstance(found, Mapping) else {}))


def tell(doubt: str, /, **found: Any) -> None:
    """Warn of a doubt, or raise ValueError for one that refuses the rows."""
    said = DOUBTS[doubt].format(**found)
    if doubt in _REFUSED:
        raise ValueError(said)
    ask(said)


def ask(message: str) -> None:
    """Warn; ``told_of`` says it again, with the file and where it was asked for."""
    warnings.warn(message, UserWarning, stacklevel=2)


@contextlib.contextmanager
def told_of(place: str, strict: bool, stacklevel: int) -> Iterator[None]:
    """Warnings begin with the place; with ``strict`` they are errors, on one line."""
    with warnings.catch_warnings(record=not strict) as said:
        warnings.simplefilter("error" if strict else "always", UserWarning)
        try:
            yield
        except UserWarning as warning:
            raise ValueError(f"{place}{' '.join(str(warning).split())}") from None
    for message, category in dict.fromkeys((str(each.message), each.category) for each in said or ()):
        warnings.warn(f"{place}{message}", category, stacklevel=stacklevel)


def listed(entries: Iterable[Any], most: int = 6, width: int = 42) -> str:
    """The first entries, each of at most so many characters, with commas between them, and how many more there are."""
    texts = [f"{entry!s:.{width}}" for entry in entries]
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")
