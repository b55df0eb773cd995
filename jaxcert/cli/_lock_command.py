"""`jaxcert lock`: the settings of an experiment, written down before its data."""

import hashlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates._registry import COUNTING, METHODS
from jaxcert.cli import _console
from jaxcert.cli._asking import Asking, askable, chosen, with_asking
from jaxcert.cli._options import argument, flag, option, options, with_group
from jaxcert.cli._settings import completed
from jaxcert.planning import check
from jaxcert.questions._registry import usual_questions
from jaxcert.report import Protocol
from jaxcert.report._protocol_check import check_certifiable
from jaxcert.returns._strata import frequencies_of
from jaxcert.tables._files import content_of

_ASKED = askable(1)


@options
class Design(NamedTuple):
    """What is fixed besides the question, by the fields of a protocol."""

    num_tasks: int = option("N", "Number of tasks.", "--tasks", default=...)
    num_rollouts: int = option("M", "Rollouts of each task.", "--rollouts", default=...)
    metric: str | None = option("TEXT", "What a return is, in words.")
    environment: str | None = option("NAME", "Name of the environment.")
    seed: int | None = option("S", "Seed of the tasks and rollouts.", min=0)
    task: str | None = option("NAME", "Column of the tasks, in a table of returns.")
    value: str | None = option("NAME", "Column of the returns, in a table of returns.")
    strata: str | None = option("NAME", "Column of the strata, within which tasks are drawn.")
    deterministic: bool | None = flag(
        "Whether the policy takes its most likely actions, or samples them; else left open.",
        "--deterministic/--stochastic",
        default=None,
    )


@with_asking(_ASKED, without=["listed", "mean", "each_task", "require"])
@with_group("design", Design)
def command(
    out: Path = argument("PROTOCOL", "The file, .toml; one that exists is kept."),
    policy: Path | None = option("FILE", "File of the policy; its SHA-256 is kept."),
    of_stratum: list[str] | None = option("LABEL=N", "How many of the tasks are drawn from a stratum (repeatable)."),
    *,
    design: Design,
    asking: Asking,
) -> None:
    """Lock the settings of an experiment in PROTOCOL, before its data."""
    asking = asking.named(strata=design.strata)
    asked = chosen(asking.question or usual_questions(asking.numbers)[0].name, _ASKED)
    metrics = asked.metrics(asking.options)
    if asked.takes("method"):  # of requirements it depends on their kinds; for unknown returns it is the general one
        counted = None in metrics.values()
        asking = asking._replace(method=asking.method or ("attained" if counted else "binomial"))
    if metrics and design.value is not None:
        raise ValueError("--value given; --requirement already names the outcome columns")
    counts: dict[str, Any] = {label: int(n) if n.is_integer() else n for label, n in frequencies_of(of_stratum).items()}
    settled = asking.settled | {"support": completed(asked, asking.settled, np.zeros(0)).get("support")}
    protocol = Protocol(
        **settled,
        **design._asdict(),
        thresholds=tuple(asking.threshold or ()),
        safeties=tuple(asking.safety or ()),
        policy_sha256=None if policy is None else hashlib.sha256(content_of(policy, "a policy")).hexdigest(),
        of_strata=counts,
    )
    write_locked(out, protocol)
    for doubt in _doubts(protocol) if asking.question is None else ():
        warnings.warn(doubt, UserWarning, stacklevel=2)


def _doubts(protocol: Protocol) -> Iterator[str]:
    """What no returns of this design could certify, and what would certify more of successes."""
    method, support = METHODS[str(protocol.method)], protocol.support
    if isinstance(protocol.beta, str) or not (method.counts_successes or method.name in COUNTING):
        return
    stated = {name: getattr(protocol, name) for name in ("delta", "thresholds", "support", "beta", "method", "bound")}
    settings: dict[str, Any] = {name: value for name, value in stated.items() if value is not None}
    yield from map(str, check(protocol.num_tasks, protocol.num_rollouts, **settings))
    if support is not None and tuple(support) == (0, 1) and not method.counts_successes:
        yield "if the returns are successes, a protocol with --method attained certifies more"


def write_locked(out: Path, protocol: Protocol) -> None:
    """Write the protocol if it allows a certificate, and print its digest."""
    check_certifiable(protocol)
    protocol.write(out)
    _console.say(f"locked in {out}, digest {protocol.digest}")
