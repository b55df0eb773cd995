"""`--require`: an exit status that says whether enough is certified."""

import sys
from typing import Any

import numpy as np
import typer

from jaxcert.certificates import floor_figures, floor_to
from jaxcert.certificates._question import Question

_MOST_MISSED = 20


def check_rows(require: float, certificate: Any, question: Question) -> None:
    """Exit with status 1 where less is certified than required, in words on stderr."""
    certified = np.atleast_1d(np.asarray(getattr(certificate, question.columns[question.certified]))).tolist()
    each = np.atleast_1d(np.asarray(getattr(certificate, question.columns[question.each]))) if question.each else None
    missed = [i for i, value in enumerate(certified) if not value >= require]
    if missed:
        text = (lambda value: floor_to(value, 4)) if question.certified == "safety" else floor_figures
        places = [f" at {floor_figures(each[i].item())}" if each is not None else "" for i in missed[:_MOST_MISSED]]
        shown = [f"{text(certified[i])}{place}" for i, place in zip(missed, places, strict=False)]
        more = f" and so on, {len(missed)} in all" if len(missed) > _MOST_MISSED else ""
        print(f"error: certified is {', '.join(shown)}{more}; required is {require:g}", file=sys.stderr)
        raise typer.Exit(1)
