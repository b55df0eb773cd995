"""MkDocs hook: formulas as MathML, which browsers draw themselves, without a script and without the network."""

import html
import re
from collections.abc import Iterable
from typing import Any

import latex2mathml.converter
from mkdocs.exceptions import PluginError

_MARKED = re.compile(
    r'<(?P<element>span|div) class="arithmatex">\\[(\[](?P<formula>.*?)\\[)\]]</(?P=element)>', re.DOTALL
)
_IN_A_TITLE = re.compile(r"\\\((.*?)\\\)")
_NUMBER = re.compile(r"\\tag\{([^}]*)\}")
# What latex2mathml copies as it is: large braces, and what is escaped within text.
_COPIED = {r"\lbrace": "{", r"\rbrace": "}", r"\{": "{", r"\}": "}", r"\_": "_"}
# An inline formula of more TeX may be wider than the screen of a telephone.
_LONG = 35


def on_page_content(content: str, *, page: Any, **kwargs: Any) -> str:
    """Replace the formulas that pymdownx.arithmatex has marked, and those in the table of contents."""
    _replace_in_titles(page.toc)
    return _MARKED.sub(_replacement, content)


def _replace_in_titles(entries: Iterable[Any]) -> None:
    for entry in entries:
        entry.title = _IN_A_TITLE.sub(lambda found: _mathml(found[1], "inline"), entry.title)
        _replace_in_titles(entry.children)


def _replacement(found: re.Match[str]) -> str:
    if found["element"] == "span":
        drawn = _mathml(found["formula"], "inline")
        return f'<span class="long-formula">{drawn}</span>' if len(found["formula"]) > _LONG else drawn
    number = _NUMBER.search(found["formula"])
    label = f'<span class="formula-number">({number[1]})</span>' if number else ""
    return f'<div class="formula">{_mathml(_NUMBER.sub("", found["formula"]), "block")}{label}</div>'


def _mathml(formula: str, display: str) -> str:
    one_line = " ".join(html.unescape(formula).split())  # "\\" at the end of a line is a space
    drawn = latex2mathml.converter.convert(one_line, display=display)
    for command, character in _COPIED.items():
        drawn = drawn.replace(command, character)
    if "\\" in drawn:
        raise PluginError(f"a formula would be shown with a command of TeX in it: {formula}")
    return drawn
