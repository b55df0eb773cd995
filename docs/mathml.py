"""MkDocs hook: formulas as MathML, which browsers draw themselves, without a script and without the network."""

import html
import re
from collections.abc import Iterable
from typing import Any

import latex2mathml.converter

_MARKED = re.compile(
    r'<(?P<element>span|div) class="arithmatex">\\[(\[](?P<formula>.*?)\\[)\]]</(?P=element)>', re.DOTALL
)
_IN_A_TITLE = re.compile(r"\\\((.*?)\\\)")
_NUMBER = re.compile(r"\\tag\{([^}]*)\}")


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
        return _mathml(found["formula"], "inline")
    number = _NUMBER.search(found["formula"])
    label = f'<span class="formula-number">({number[1]})</span>' if number else ""
    return f'<div class="formula">{_mathml(_NUMBER.sub("", found["formula"]), "block")}{label}</div>'


def _mathml(formula: str, display: str) -> str:
    return latex2mathml.converter.convert(html.unescape(formula).strip(), display=display)
