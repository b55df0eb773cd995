"""The words by which names of columns, labels and entries are understood, which ``vocabulary.toml`` lists."""

import importlib.resources
import re
import tomllib
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
