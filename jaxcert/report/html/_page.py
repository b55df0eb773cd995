"""The file of a page, from a template and what it shows."""

import importlib.resources
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from jaxcert._extras import import_extra
from jaxcert._files import check_suffix, write_whole
from jaxcert._version import __version__
from jaxcert.certificates._question import Question
from jaxcert.report._document import assumptions_of


def write_page(
    path: str | PathLike[str], name: str, questions: Sequence[Question], *, replace: bool, **shown: Any
) -> None:
    """Render the template of that name, in which every value is escaped and none may be missing."""
    check_suffix(path, [".html"])
    jinja2 = import_extra("jinja2", "cli")
    form = {"autoescape": True, "trim_blocks": True, "lstrip_blocks": True, "undefined": jinja2.StrictUndefined}
    environment = jinja2.Environment(loader=jinja2.FunctionLoader(_text), **form)
    shown |= {"version": __version__, "listed": questions[0].listed}
    shown["assumptions"] = assumptions_of(question.name for question in questions)
    text = environment.get_template(name).render(shown)
    write_whole(path, text.encode("utf-8", "backslashreplace"), replace=replace)


def rows_of_table(columns: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Columns of text by their headings, row by row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _text(name: str) -> str:
    return importlib.resources.files("jaxcert.report.html").joinpath(name).read_text(encoding="utf-8")
