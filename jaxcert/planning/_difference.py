"""How many tasks show by how much one policy is better than another on average."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import as_numbers, check_finite, check_open_unit, refuse
from jaxcert.bounds import betting
from jaxcert.bounds._evaluate import evaluate
from jaxcert.bounds._registry import BOUNDS
from jaxcert.numerics._rounding import cast
from jaxcert.planning._least_tasks import as_text, least_true
from jaxcert.planning._pilot import Assumptions, PilotReturns, source_of, support_of
from jaxcert.returns._prepared import Support, split_support
from jaxcert.returns._sample import numbers_as_sample

# Imagined comparisons, and the most tasks that they have.
_COMPARISONS, _TASKS = 200, 2048


@dataclasses.dataclass(frozen=True, eq=False)
class DifferencePlan:
    """The fewest tasks that certify a margin between two policies on average; printing it gives a table.

    Attributes:
        margin: c.
        delta: failure probability of the certificate.
        power: in what share of cases.
        mean: the difference of the means in the pilot.
        num_rollouts: m, of either policy.
        num_tasks: n, integers [m]; 0 where 2,048 do not suffice.

    Example:
        >>> from jaxcert.planning import Assumptions, plan_difference
        >>> a, b = Assumptions(0.9, 0.1, None), Assumptions(0.6, 0.1, None)
        >>> plan_difference(a, b, 0.1, support=(0, 1), delta=0.05, num_rollouts=(5,)).num_tasks.shape
        (1,)
    """

    margin: float
    delta: float
    power: float
    mean: float
    num_rollouts: tuple[int, ...]
    num_tasks: np.ndarray

    def columns(self) -> dict[str, list[str]]:
        """Columns of text by their heading."""
        pairs = list(zip(self.num_rollouts, self.num_tasks.tolist(), strict=True))
        return {
            "rollouts of either": [str(m) for m, _ in pairs],
            "tasks": [f"{n:,}" if n else f"> {_TASKS:,}" for _, n in pairs],
            "rollouts in all": [f"{2 * m * n:,}" if n else "" for m, n in pairs],
        }

    def remarks(self) -> list[str]:
        """What has to be said beside the table."""
        said = [f"the difference in the pilot is {self.mean:.3g}"]
        return said if self.mean > self.margin else [*said, "no number of tasks certifies more than the difference"]

    def __str__(self) -> str:
        wish = f"Wanted: better by {self.margin:g} on average, in {self.power:.4g} of cases, delta {self.delta:g}"
        return "\n".join([wish, as_text(self.columns()), *self.remarks()])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**dataclasses.asdict(self), "num_tasks": self.num_tasks.tolist()}


def plan_difference(
    pilot_a: chex.Array | Assumptions,
    pilot_b: chex.Array | Assumptions,
    margin: float,
    *,
    support: Support | None = None,
    delta: float,
    power: float = 0.9,
    num_rollouts: Sequence[int] = (1, 2, 5, 10, 20),
    seed: int = 0,
) -> DifferencePlan:
    """How many tasks ``certify_mean_difference`` needs to certify that policy A is better than B by a margin.

    Whole comparisons are imagined and certified. On what share of tasks A is better by a margin
    (``certify_improvement``) is a question for ``plan``, with the differences ``pilot_a - pilot_b`` as the pilot and
    (a - b, b - a) as the support.

    Args:
        pilot_a: returns float[n0, m_a] of policy A, at least 2 × 2; or ``Assumptions``.
        pilot_b: returns float[n0, m_b] of policy B on the same tasks; or ``Assumptions``, by which a task that is hard
            for one policy need not be hard for the other, so that more tasks are needed than if it were.
        margin: c, the wanted difference.
        support: (a, b), both finite; for pilots of type bool it is (0, 1).
        delta: failure probability of the certificate, in (0, 1).
        power: the probability with which the margin is to be certified.
        num_rollouts: m, of either policy on each task.
        seed: of the imagined comparisons.

    Returns:
        A ``DifferencePlan``. The certificate needs new tasks: the pilot is spent.

    Raises:
        ValueError: for values out of range, or pilots that do not have the same tasks.

    Example:
        >>> import jaxcert
        >>> from jaxcert.planning import plan_difference
        >>> a = jaxcert.sample_returns("cheetah")[:50]
        >>> found = plan_difference(a, 0.8 * a[:, ::-1], 50.0, support=(0, 1000), delta=0.05, num_rollouts=(1, 10))
        >>> bool(10 < found.num_tasks[1] < found.num_tasks[0] < 100)
        True
    """
    check_finite("margin", margin)
    for name, value in (("delta", delta), ("power", power)):
        check_open_unit(name, value)
    m = np.atleast_1d(as_numbers("num_rollouts", num_rollouts))
    refuse("num_rollouts", m, (m >= 1) & (m <= 100) & (m == np.floor(m)), "a whole number from 1 to 100")
    sources = source_of(pilot_a, support), source_of(pilot_b, support)
    low, high = map(float, split_support(support_of(pilot_a, support)))
    if not np.isfinite(high):
        raise ValueError("support has an infinite upper end; a difference needs a finite one")
    trials = tuple(m.astype(int).tolist())
    means, found = [], []
    for one in trials:
        differences = _differences(sources, one, seed)
        means.append(float(np.mean(differences)))
        found.append(_fewest(differences, float(margin), high - low, delta, power))
    return DifferencePlan(float(margin), float(delta), float(power), float(np.mean(means)), trials, np.asarray(found))


def _differences(sources: Any, num_rollouts: int, seed: int) -> np.ndarray:
    """Differences of the averages of imagined tasks, [comparisons, tasks]."""
    rng, (a, b) = np.random.default_rng([seed, 3, num_rollouts]), sources
    if isinstance(a, PilotReturns) != isinstance(b, PilotReturns):
        raise ValueError("pilot_a and pilot_b are returns and Assumptions; expected two of a kind")
    if isinstance(a, PilotReturns):
        if a.num_tasks != b.num_tasks:
            raise ValueError(f"pilot_a and pilot_b have {a.num_tasks} and {b.num_tasks} tasks; expected the same ones")
        tasks = rng.integers(a.num_tasks, size=(_COMPARISONS, _TASKS, 1))
        drawn = (one.rollouts_of(rng, tasks, num_rollouts) for one in sources)
    else:
        drawn = (one.data_sets(rng, _COMPARISONS, _TASKS, num_rollouts) for one in sources)
    of_a, of_b = (returns.mean(axis=-1, dtype=np.float32) for returns in drawn)
    return of_a - of_b


def _fewest(differences: np.ndarray, margin: float, width: float, delta: float, power: float) -> int:
    """The fewest tasks that certify the margin often enough, where one fewer does not; 0 for none."""
    dtype = np.dtype(np.float32)
    given = jnp.asarray(differences), cast(width, dtype, "up"), cast(delta, dtype, "down")

    def holds(n: np.ndarray) -> np.ndarray:
        return np.asarray([np.mean(np.asarray(_lower(*given, np.int32(size))) >= margin) >= power for size in n])

    return int(least_true(holds, np.asarray([0]), _TASKS)[0])


@jax.jit
def _lower(differences, width, delta, num_tasks) -> jax.Array:
    """Lower bounds on the mean from the first tasks, [comparisons]."""
    mask = jnp.broadcast_to(jnp.arange(differences.shape[-1]) < num_tasks, differences.shape)
    return evaluate(BOUNDS[betting.__name__], numbers_as_sample(differences, -width, width, mask), delta)
