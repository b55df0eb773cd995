"""The templates of pages, which share a style sheet."""

import importlib.resources
from typing import Any

from jaxcert._extras import import_extra


def template(name: str) -> Any:
    """The template of that name, in which every value is escaped and none may be missing.

    Raises:
        ImportError: without jinja2 (extra `cli`).
    """
    jinja2 = import_extra("jinja2", "cli")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_text),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(name)


def _text(name: str) -> str:
    return importlib.resources.files("jaxcert.report.html").joinpath(name).read_text(encoding="utf-8")
