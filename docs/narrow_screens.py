"""MkDocs hook: what tables and printed columns need on narrow screens."""

import re
from typing import Any

_CELL = re.compile(r'<(?P<tag>t[dh])(?P<side> style="[^"]*")?>(?P<content>.*?)</(?P=tag)>', re.DOTALL)
_CODE = re.compile(r"<code>.*?</code>", re.DOTALL)
# Where a name may be broken: certify_|safety, logs/|day.csv, jaxcert.|bounds, but not 0.05. Elements are no names.
_JOINT = re.compile(r"(?P<element><[^>]*>)|(?<=[_/])(?=\w)|(?<=[a-z]\.)(?=[a-z])")
# Numbers, with signs and units of a letter or two, such as "200 × 100", "0.46 (1.2)", "7.1 ms".
_NUMBERS = re.compile(r"[\d\W]*\d[\d\W]*[a-zµ%]{0,2}")
_LONGEST_NUMBERS = 15
_PRINTED = re.compile(r'(?<=<div class="language-text highlight)(?="><pre>(?P<text>.*?)</pre>)', re.DOTALL)
_COLUMNS = re.compile(r"^.*?\S {2,}\S.* {2,}\S.*$", re.MULTILINE)


def on_page_content(content: str, **kwargs: Any) -> str:
    """Let long names in cells break at their joints, and keep numbers and printed columns in one line."""
    return _PRINTED.sub(_columns, _CELL.sub(_cell, content))


def _cell(found: re.Match[str]) -> str:
    tag, side, content = found["tag"], found["side"] or "", found["content"]
    if len(content) <= _LONGEST_NUMBERS and _NUMBERS.fullmatch(content):
        return f'<{tag} class="numbers"{side}>{content}</{tag}>'
    broken = _CODE.sub(lambda code: _JOINT.sub(lambda joint: joint["element"] or "<wbr>", code[0]), content)
    return f"<{tag}{side}>{broken}</{tag}>"


def _columns(found: re.Match[str]) -> str:
    text = re.sub("<[^>]*>", "", found["text"])
    return " columns" if len(_COLUMNS.findall(text)) > 1 else ""
