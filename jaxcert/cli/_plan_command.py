"""`jaxcert plan`: how many tasks, how many rollouts, at which beta."""

from typing import Any

from jaxcert.cli import _console
from jaxcert.cli._options import with_group
from jaxcert.cli._plan_options import Planning, PlanOutputs
from jaxcert.cli._planned import planned, show_plan
from jaxcert.cli._role_options import reading_of, with_roles


@with_group("outputs", PlanOutputs)
@with_roles
@with_group("asked", Planning, needed=["delta"])
def command(*, asked: Planning, outputs: PlanOutputs, roles: dict[str, Any]) -> None:
    """Plan an experiment: a table of the tasks that safeties need or, from PILOT, the best designs."""
    outputs.check(asked.pilot)
    reading = reading_of(roles)
    if reading["unfinished"] is not None and asked.pilot is None:
        raise ValueError("--unfinished is about rollouts of PILOT; expected its file")
    if asked.suite == 0 and asked.against is None:
        raise ValueError("--suite has no number of tasks; expected --suite G, or --against as well for two policies")
    with _console.warnings_on_stderr(), _console.progress(asked.quiet) as show:
        show("planning")
        found, data = planned(asked._replace(outputs=outputs), reading)
    show_plan(found, data, outputs)
