"""Griffe extension: the docstrings' reStructuredText maths and examples, as these Markdown pages want them."""

import re
from typing import Any

import griffe

_REWRITES = (
    (re.compile(r"^( *)\.\. math:: *(.*(?:\n\1 +\S.*)*)$", re.MULTILINE), r"\n\1$$\n\1\2\n\1$$\n"),
    (re.compile(r":math:`([^`]*)`"), r"$\1$"),
    (re.compile(r"^( *)Example:$", re.MULTILINE), r"\1Examples:"),
)
# Arguments that are described together: "support, where: as in ``certify``".
_TOGETHER = re.compile(r"^    (\w+(?:, \w+)+): (.*(?:\n        .*)*)$", re.MULTILINE)


class DocstringRewriter(griffe.Extension):
    """Rewrite ``.. math::`` as display maths, ``:math:`` as inline maths and ``Example`` as a code section."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Convert the docstring of every object that has one."""
        if obj.docstring:
            for pattern, replacement in _REWRITES:
                obj.docstring.value = pattern.sub(replacement, obj.docstring.value)
            if isinstance(obj, griffe.Function):
                names = {each.name for each in obj.parameters}
                obj.docstring.value = _TOGETHER.sub(lambda found: _one_by_one(found, names), obj.docstring.value)


def _one_by_one(found: re.Match[str], parameters: set[str]) -> str:
    """An entry for each of the arguments."""
    names = found[1].split(", ")
    return "\n".join(f"    {name}: {found[2]}" for name in names) if parameters.issuperset(names) else found[0]
