"""A design, the settings to fix before an experiment with its expected result; and a plan, the table of designs."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from jaxcert._validation import check_count, check_open_unit, choose
from jaxcert.planning._designs import DESIGNS, Kind, Wish

# Columns of a table where some design has them.
_OPTIONAL = "beta", "power", "at least", "pessimistic", "violations allowed"


@dataclasses.dataclass(frozen=True)
class Design:
    """Settings fixed before an experiment; in a plan, with the cost and the expected result.

    Attributes:
        name: ``"betting"``, a bound for a fixed number of rollouts; ``"attained"``, numbers of successes; or
            ``"sequential"``: each task is rolled out until it passes or is given up (``certify_sequential``).
        num_tasks: n.
        num_rollouts: m, rollouts per task; the most for a sequential design.
        beta: failure probability of one lower bound; None where the certificate chooses its levels itself.
        num_violations: how many tasks may miss the threshold; None where no count is wanted.
        rollouts_per_task: expected number; of either policy, where two are compared.
        cost: expected total, in rollouts unless a plan had other costs.
        value: the probability of the wanted certificate, NaN if only ``least`` is known.
        least: of a power: what it is at least, for all shown designs together with 95 % confidence in the simulation.
        pessimistic: the value if the pilot tasks were luckier than tasks in general, at 90 % confidence; NaN for more
            rollouts of a task than the pilot has, of which it says nothing; None without a pilot.

    Example:
        >>> from jaxcert.planning import Design
        >>> print(Design("betting", num_tasks=200, num_rollouts=10, beta=0.4))
        200 tasks × 10 rollouts, beta 0.4, betting
    """

    name: str
    num_tasks: int
    num_rollouts: int
    beta: float | None
    num_violations: int | None = None
    rollouts_per_task: float = float("nan")
    cost: float = float("nan")
    value: float = float("nan")
    least: float | None = None
    pessimistic: float | None = None

    def __post_init__(self) -> None:
        choose("design", self.name, DESIGNS)
        check_count("num_tasks", self.num_tasks)
        check_count("num_rollouts", self.num_rollouts)
        if self.beta is not None:
            check_open_unit("beta", self.beta)

    @property
    def kind(self) -> Kind:
        """How it is simulated and certified."""
        return DESIGNS[self.name]

    @property
    def surely(self) -> float:
        """The power, at least."""
        return self.value if self.least is None else self.least

    @property
    def level(self) -> float:
        """Beta, where it is a number."""
        assert self.beta is not None
        return self.beta

    def __str__(self) -> str:
        most = "" if self.kind.stopped is None else "at most "
        level = "" if self.beta is None else f", beta {self.beta:.4g}"
        return f"{self.num_tasks} tasks × {most}{self.num_rollouts} rollouts{level}, {self.name}"


def table_of(designs: Sequence[Design]) -> dict[str, list[str]]:
    """Designs as columns of text by their heading; what none of them has is left out."""

    def shown(value: float | None) -> str:
        return "" if value is None else "unknown" if math.isnan(value) else figures(value)

    def row(one: Design) -> tuple[str, ...]:
        most, value = str(one.num_rollouts), "" if math.isnan(one.value) else shown(one.value)
        rollouts = most if one.kind.stopped is None else f"{one.rollouts_per_task:.1f} (at most {most})"
        level, allowed = "" if one.beta is None else f"{one.beta:.4g}", one.num_violations
        first = one.name, str(one.num_tasks), rollouts, level, f"{one.cost:,.0f}", value
        return (*first, shown(one.least), shown(one.pessimistic), "" if allowed is None else str(allowed))

    names = ("design", "tasks", "rollouts", "beta", "cost", "power", "at least", "pessimistic", "violations allowed")
    rows = list(map(row, designs))
    found = {name: [each[i] for each in rows] for i, name in enumerate(names)}
    return {name: texts for name, texts in found.items() if name not in _OPTIONAL or any(texts)}


def figures(value: float) -> str:
    """A share in three figures; one of nearly 0 is written in words."""
    return "about 0" if value < 0.0005 else f"{value:.3g}"


@dataclasses.dataclass(frozen=True)
class Plan:
    """Result of ``plan``, of plans for two policies or a list, and of tables of tasks; it prints as a table.

    Attributes:
        heading: what was asked for, in a sentence.
        table: what is printed, columns of text by their heading.
        notice: if the first design does not do what was asked for, or perhaps not: that, and what helps.
        remarks: what has to be known about the table.
        designs: those that do what was asked for, best first; if none does, the best of the others.
        power: the wanted probability of the certificate.
        wish: of ``plan``: support, delta, threshold and safety, and the sides of requirements.
        num_tasks: of a table: the fewest tasks of each of its cells, integers; 0 for none, or more than a million.

    Example:
        >>> import jaxcert
        >>> from jaxcert.planning import plan
        >>> pilot = jaxcert.sample_returns("cheetah")[:50, :20]
        >>> found = plan(pilot, support=(0, 1000), delta=0.05, threshold=300.0, safety=0.8, designs=("betting",))
        >>> found.best.value >= 0.9
        True
    """

    heading: str
    table: dict[str, list[str]]
    notice: str = ""
    remarks: tuple[str, ...] = ()
    designs: tuple[Design, ...] = ()
    power: float | None = None
    wish: Wish | None = None
    num_tasks: np.ndarray | None = dataclasses.field(default=None, compare=False)

    @property
    def best(self) -> Design | None:
        """The best design; None if there is none."""
        return self.designs[0] if self.designs else None

    def __str__(self) -> str:
        widths = [max(map(len, [name, *cells])) for name, cells in self.table.items()]
        rows = [list(self.table), *zip(*self.table.values(), strict=True)]
        lines = ["  ".join(map(str.rjust, row, widths)) for row in rows]
        return "\n".join(filter(None, [self.heading, self.notice, *lines, *self.remarks]))


def allocated(num_tasks: int, strata: Sequence[str]) -> dict[str, int]:
    """Divide a number of tasks among strata in proportion to the tasks of a pilot, by the largest remainders.

    Args:
        num_tasks: n, of all strata together.
        strata: the stratum of each task of a pilot.

    Returns:
        The number of tasks to draw from each stratum, by its label.

    Raises:
        ValueError: for a number of tasks that is not a whole number of at least 1.

    Example:
        >>> allocated(10, ["push", "pick", "push"])
        {'push': 7, 'pick': 3}
    """
    check_count("num_tasks", num_tasks)
    labels, counts = np.unique(list(strata), return_counts=True)
    wanted = num_tasks * counts / counts.sum()
    found = np.floor(wanted).astype(int)
    found[np.argsort(found - wanted, kind="stable")[: num_tasks - found.sum()]] += 1
    by_label = dict(zip(labels.tolist(), found.tolist(), strict=True))
    return {label: by_label[label] for label in dict.fromkeys(strata)}
