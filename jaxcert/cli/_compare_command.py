"""`jaxcert compare`: two policies on the same tasks, from a file of returns of each."""

import functools
from pathlib import Path
from typing import Any

from jaxcert.bounds._registry import BOUNDS
from jaxcert.cli._answer import Request
from jaxcert.cli._answering import answer_files
from jaxcert.cli._asking import Asked, Asking, asked_of, with_asking
from jaxcert.cli._compared_several import print_leaderboard
from jaxcert.cli._options import QUIET, STRICT, argument, in_full, option, with_group
from jaxcert.cli._outputs import Outputs
from jaxcert.cli._question_options import askable, required_words
from jaxcert.cli._reading import read_two, sources_of
from jaxcert.cli._role_options import reading_of, with_roles

_ASKED = askable(num_inputs=2)


@with_asking(
    _ASKED,
    needed=["delta"],
    delta="Failure probability of the certificate, or of a whole leaderboard.",
    support="Smallest and largest possible return; successes need none.",
    question=f"What is asked: {', '.join(_ASKED)}. By default improvement for margins, safety_level for a safety, "
    "and else mean_difference.",
    threshold=in_full("Differences for a question at thresholds, such as band; in a leaderboard performances"),
    safety=in_full("Certify the difference that this share of new tasks reaches"),
    beta="As in `jaxcert certify`.",
    bound=f"One of {', '.join(BOUNDS)}, as far as it is for pairs.",
    method="binomial, scenario or soft.",
    require=f"{required_words(_ASKED)} Thresholds and means are differences.",
)
@with_group("outputs", Outputs, without=["witness"])
@with_roles
def command(
    file_a: Path = argument("A", "Returns of policy A, a file as for `jaxcert certify`."),
    file_b: Path | None = argument("[B]", "Returns of policy B on the same tasks, without --policy.", default=None),
    others: list[Path] | None = argument(
        "[C]...",
        "Returns of more policies on the same tasks, for a leaderboard: each policy's certified mean, its "
        "certificate at --threshold, and the policies that it is certified to match or exceed.",
        default=None,
    ),
    called: str | None = option("A,B", "Names of the policies, in the order of their files.", "--names"),
    strict: bool = STRICT,
    quiet: bool = QUIET,
    *,
    asking: Asking,
    outputs: Outputs,
    roles: dict[str, Any],
) -> None:
    """Certify how much better policy A is than policy B, on the same tasks, which are matched by their labels.

    Of three policies or more it prints a leaderboard, whose statements hold together with confidence 1 - D. Tables name
    their tasks; rows of arrays are tasks in the same order.
    """
    reading = {**reading_of(roles), "strict": strict}
    sources = sources_of([file_a, *([] if file_b is None else [file_b, *(others or [])])], reading, called)
    if len(sources) > 2:
        print_leaderboard(Request(asking, Asked({}, named=False), reading, outputs), sources, quiet=quiet)
        return
    asking = asking.named(2, strata=roles["strata"])
    outputs.check(*zip("AB", dict.fromkeys(each.file for each in sources), strict=False))
    request = Request(asking, asked_of(asking, 2), reading, outputs)
    answer_files(request, file_a, functools.partial(read_two, sources), quiet=quiet)
