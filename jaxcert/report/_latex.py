"""Certificates for a paper in LaTeX: sentences and a table."""

from collections.abc import Mapping, Sequence

_ESCAPED = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
)


def latex_text(sentences: Sequence[str], columns: Mapping[str, Sequence[str]]) -> str:
    """Sentences as a paragraph, and below it the columns of text by their headings, for the package booktabs."""
    rows = [" & ".join(map(_escaped, row)) + r" \\" for row in (columns, *zip(*columns.values(), strict=True))]
    table = [r"% \usepackage{booktabs}", rf"\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}", r"\toprule", rows[0]]
    table += [r"\midrule", *rows[1:], r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*map(_escaped, filter(None, sentences)), "", *table, ""])


def _escaped(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text).translate(_ESCAPED)
