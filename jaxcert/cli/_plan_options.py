"""The options of `jaxcert plan`: what is planned, and the files that are wanted."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

from jaxcert.cli._options import Quiet, Support, argument, option, several
from jaxcert.cli._outputs import Force, check_new, check_outputs
from jaxcert.planning._known_designs import DESIGNS

OF_SUCCESSES = [name for name, kind in DESIGNS.items() if kind.counts_successes]


class Planning(NamedTuple):
    """Known, wanted and allowed numbers; files for the result, the plot and a protocol."""

    delta: Annotated[float, option("D", "Failure probability of the certificate.")] = 0.0
    pilot: Annotated[
        Path | None,
        argument(
            "[PILOT]",
            "A file of returns of some tasks, as for `jaxcert certify`; without it (and --assume), a table of the "
            f"tasks that safeties need; with --threshold and --design {' or '.join(OF_SUCCESSES)}, of successes by "
            "their trials.",
        ),
    ] = None
    support: Support = None
    threshold: Annotated[float | None, option("X", "Performance to certify.")] = None
    safety: Annotated[list[Any] | None, several("S", "Wanted safety; several for the table")] = None
    budget: Annotated[float | None, option("C", "What may be spent in all.")] = None
    cost_per_task: Annotated[float, option("C", "Cost of a task.")] = 0.0
    cost_per_rollout: Annotated[float, option("C", "Cost of a rollout.")] = 1.0
    power: Annotated[float, option("P", "Wanted probability of the certificate.")] = 0.9
    max_rollouts: Annotated[int, option("M", "Most rollouts per task to consider.")] = 100
    design: Annotated[list[str] | None, option("NAME", f"Only these of {', '.join(DESIGNS)} (repeatable).")] = None
    assume: Annotated[
        tuple[float, float, float] | None,
        option(
            "MEAN SD SD",
            "In place of PILOT: mean and standard deviation of the tasks' performances, and standard deviation of "
            "the returns of a task (0: returns are A or B).",
        ),
    ] = None
    against: Annotated[
        Path | None,
        option(
            "FILE",
            "Returns of another policy on the same tasks: how many tasks show that PILOT is better by --threshold "
            "on average.",
        ),
    ] = None
    suite: Annotated[
        int | None,
        option(
            "[G]",
            "How many trials of each task certify that at least G of PILOT's own tasks, a fixed list, reach "
            "--threshold; with --against and no G, that PILOT is better by --threshold (0) on average over the list.",
            min=0,
        ),
    ] = None
    beta: Annotated[float | None, option("P", "Failure probability of a lower bound, for the table.")] = None
    max_violations: Annotated[int, option("K", "Columns of the table.", min=0)] = 3
    seed: Annotated[int, option("S", "Seed of the resampling.", min=0)] = 0

    json: Annotated[Path | None, option("FILE", "Write the result there.")] = None
    plot: Annotated[Path | None, option("FILE", "Draw the result for each number of rollouts (.png, .svg, .pdf).")] = (
        None
    )
    lock: Annotated[Path | None, option("FILE", "Lock the best design in a protocol (.toml) for `certify`.")] = None
    force: Force = False
    quiet: Quiet = False

    def check(self) -> None:
        """Raise beforehand for files that could not be written, or exist and may not be replaced."""
        outputs = ("--json", self.json), ("--plot", self.plot), ("--lock", self.lock)
        check_outputs([("PILOT", self.pilot)], *outputs, force=self.force)
        check_new(self.lock, force=False)

    @property
    def stated(self) -> dict[str, Any]:
        """The arguments of every plan from a pilot."""
        return {name: getattr(self, name) for name in ("support", "delta", "power", "seed")}

    def refuse(self, *names: str, words: str) -> None:
        """Raise ValueError for an option that this plan has no use for."""
        for name in names:
            if getattr(self, name) is not None:
                raise ValueError(words.format(name=name))
