"""A comparison of two policies: its question, and its answer."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._question import Question
from jaxcert.cli import _console
from jaxcert.cli._asking import Asking, asked_of
from jaxcert.cli._certified import certified, check_asked, check_listed_data, check_required_rows, print_found
from jaxcert.cli._certify_outputs import write_outputs
from jaxcert.cli._outputs import Outputs
from jaxcert.cli._question_options import askable
from jaxcert.cli._reading import PolicySource, as_stated, read_two
from jaxcert.cli._settled import completed
from jaxcert.cli._typed import typed_with
from jaxcert.returns._prepared import is_successes
from jaxcert.tables import ReturnsFile

_WITH_SUPPORT = (
    "the option, the smallest and the largest possible return of both policies "
    "(returns of bool, and columns such as true and false, need none)"
)


def compare_two(
    files: Sequence[PolicySource], asking: Asking, reading: Mapping[str, Any], wanted: Outputs, *, quiet: bool
) -> None:
    """Answer the question, write the files that are wanted, and print; exit with 1 where less is certified."""
    asked = asked_of(asking.named_of_two(), askable(num_inputs=2))
    gated = asked.gated(asking.require)
    wanted.check(*zip("AB", dict.fromkeys(each.file for each in files), strict=False))
    check_asked(asked, None, wanted)
    with _console.warnings_on_stderr(), _console.progress(quiet) as show:
        show("reading")
        data = as_stated(read_two(files, **reading), asking.support)
        check_listed_data(data, asked, asking)
        settings = _settings(asked.questions[0], asking, data)
        show(f"comparing on {len(data[0].returns)} tasks")
        found = certified(data, asked, settings, asking.options, reading)
        write_outputs(wanted, {"": found})
    print_found(found)
    check_required_rows(asking.require, gated, found)


def _settings(question: Question, asking: Asking, data: Sequence[ReturnsFile]) -> dict[str, Any]:
    """The settings that the question takes; successes of both policies have a support."""
    if asking.bound in BOUNDS and BOUNDS[asking.bound].binary:
        instead = typed_with({} if asking.support else {"--support": ["0", "1"]}, without=["--bound"])
        raise ValueError(
            f"--bound is {asking.bound}, which counts successes; the differences of two policies are none, expected "
            f"--support without it, for example: {instead}"
        )
    if asking.support is None and all(is_successes(each.returns) for each in data):
        asking = asking._replace(support=(0.0, 1.0))
    # A difference is no success, whatever the returns are.
    return completed(question, asking, np.zeros(1), instead=_WITH_SUPPORT)
