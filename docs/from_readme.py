"""MkDocs hook: the table of calls stands in README.md alone, and the start page shows it."""

from pathlib import Path
from typing import Any

_MARK = "<!-- the table of README.md -->"


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    """The table in place of its mark, with links as a page of the docs has them."""
    return markdown.replace(_MARK, _table()) if _MARK in markdown else markdown


def _table() -> str:
    lines = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if line.startswith("|")).replace("](docs/", "](")
