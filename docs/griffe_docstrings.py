"""Griffe extension: the docstrings' reStructuredText maths and examples, as these Markdown pages want them."""

import re
from typing import Any

import griffe

_REWRITES = (
    (re.compile(r"^( *)\.\. math:: *(.*(?:\n\1 +\S.*)*)$", re.MULTILINE), r"\n\1$$\n\1\2\n\1$$\n"),
    (re.compile(r":math:`([^`]*)`"), r"$\1$"),
    (re.compile(r"^( *)Example:$", re.MULTILINE), r"\1Examples:"),
)


class DocstringRewriter(griffe.Extension):
    """Rewrite ``.. math::`` as display maths, ``:math:`` as inline maths and ``Example`` as a code section."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Convert the docstring of every object that has one."""
        if obj.docstring:
            for pattern, replacement in _REWRITES:
                obj.docstring.value = pattern.sub(replacement, obj.docstring.value)
