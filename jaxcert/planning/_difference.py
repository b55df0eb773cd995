"""How many tasks, or trials of a list, show by how much one policy is better than another on average."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxcert._types import Array
from jaxcert._validation import as_numbers, check_finite, check_open_unit
from jaxcert.bounds import betting
from jaxcert.planning._experiments import Experiments, Margin, enough, fewest, plan_of, unlucky
from jaxcert.planning._least_tasks import counts
from jaxcert.planning._pilot import PilotReturns, support_of
from jaxcert.planning._plan import Design, Plan
from jaxcert.planning._search import check_trials
from jaxcert.planning._suite_plan import trials_of
from jaxcert.returns._prepared import Support, split_support
from jaxcert.tables import Returns
from jaxcert.tables._aligned import in_one_order
from jaxcert.tables._returns import how_many

# The most tasks of an imagined comparison.
_TASKS = 2048
# Averages that stand for all that a pilot's rollouts give in other orders.
_POOL = 4096
_USUAL_ROLLOUTS = (1, 2, 5, 10, 20)
# Of a comparison whose size is said unasked: the power, and the most rollouts of a task and returns of a policy.
_POWER, _MOST_ROLLOUTS, _MOST_RETURNS = 0.9, 100, 2**17


def plan_difference(
    pilot_a: Array | Sequence[float],
    pilot_b: Array | Sequence[float],
    margin: float,
    *,
    listed: bool = False,
    support: Support | None = None,
    delta: float,
    power: float = 0.9,
    num_rollouts: Sequence[int] | None = None,
    max_rollouts: int = 100,
    seed: int = 0,
) -> Plan:
    """How many new tasks, or trials of each task of a list, certify that policy A is better than B by a margin.

    Whole comparisons are simulated and certified, by ``certify_mean_difference`` or, for a fixed list,
    ``certify_suite_mean(paired(a, b))``. The number that was found is tried again in fresh ones. For
    ``certify_improvement`` call ``plan`` with the differences ``pilot_a - pilot_b`` as the pilot and (a - b, b - a) as
    the support.

    Args:
        pilot_a: returns float[n0, m_a] of policy A, at least 2 × 2. Of a list: its returns on these very tasks, or its
            assumed success probabilities on them, float[n].
        pilot_b: the same of policy B on the same tasks.
        margin: c, the wanted difference; 0 for which policy is better.
        listed: whether the tasks are a fixed list, so that trials of each are looked for in place of new tasks.
        support: (a, b), both finite; for pilots of type bool and for success probabilities it is (0, 1).
        delta: failure probability of the certificate, in (0, 1).
        power: the probability with which the margin is to be certified, at least: at 95 % confidence in the simulation.
        num_rollouts: m, of either policy on each new task; by default 1, 2, 5, 10 and 20.
        max_rollouts: the most trials of each task of a list that are tried, up to 1,024.
        seed: of the imagined comparisons.

    Returns:
        A ``Plan``, with designs for each number of rollouts at which 2,048 tasks suffice; for a list, with the fewest
        trials. From returns, those come first that have the power even if the pilot was luckier than tasks and trials
        in general, at 95 % confidence; where none has, ``notice`` says that the pilot cannot tell. The certificate
        needs new tasks; on a list it needs new trials.

    Raises:
        ValueError: for values out of range, or pilots that do not have the same tasks.

    Example:
        >>> import jaxcert
        >>> from jaxcert.planning import plan_difference
        >>> a = jaxcert.sample_returns("cheetah")[:50]
        >>> found = plan_difference(a, 0.8 * a[:, ::-1], 50.0, support=(0, 1000), delta=0.05, num_rollouts=(1, 10))
        >>> {design.num_rollouts for design in found.designs}, 50 < found.best.num_tasks < 1000
        ({1, 10}, True)
        >>> found = plan_difference([0.9] * 20, [0.7] * 20, 0.0, listed=True, delta=0.05)
        >>> found.best.num_tasks, 5 < found.best.num_rollouts < 20
        (20, True)
    """
    check_finite("margin", margin)
    for name, value in (("delta", delta), ("power", power)):
        check_open_unit(name, value)
    check_trials(max_rollouts)
    if listed and num_rollouts is not None:
        raise ValueError("num_rollouts is given with listed=True, whose trials are looked for; expected max_rollouts")
    a, b = _pilots(pilot_a, pilot_b, support, listed=listed)
    low, high = map(float, split_support(a.support))
    if not np.isfinite(high):
        raise ValueError("support has an infinite upper end; a difference needs a finite one")
    wish = Margin(float(margin), high - low, delta, a.num_tasks if listed else 1)
    if listed:
        designs = _trials(a, b, wish, power, int(max_rollouts), seed)
    else:
        given = _USUAL_ROLLOUTS if num_rollouts is None else num_rollouts
        rollouts = np.atleast_1d(counts("num_rollouts", given, 1, 100)).tolist()
        designs = [each for m in rollouts for each in _tasks(a, b, wish, power, m, seed, len(rollouts))]
    mean = float(np.mean(as_numbers("pilot_a", pilot_a)) - np.mean(as_numbers("pilot_b", pilot_b)))
    varied = [each.less_varied for each in (a, b) if listed and isinstance(each, PilotReturns)]
    number, most = ("trials", int(max_rollouts)) if listed else ("tasks", _TASKS)
    none = f"No number of {number} up to {most:,} is sure to have a power of {power:.4g}."
    if mean <= margin:
        none = f"The difference in the pilot is {mean:.3g}; no number of {number} certifies more than the difference."
    over = f" over these {wish.unit} tasks" if listed else ""
    return plan_of(
        designs,
        heading=f"Wanted: better by {margin:g} on average{over}, in at least {power:.4g} of cases, delta {delta:g}",
        none=none,
        remarks=[
            "rollouts are of either policy, and the cost counts those of both",
            f"the difference in the pilot is {mean:.3g}",
            *dict.fromkeys(filter(None, varied)),
        ],
        power=power,
        own=number if isinstance(a, PilotReturns) else "",
    )


def size_that_shows(policies: Sequence[Returns], *, listed: bool, support: Support, delta: float) -> str:
    """How much new data show which of two policies is better on average, if they are like these, in brackets.

    Empty of pilots that a plan does not take, of large ones, and where the worse one has unfinished rollouts.
    """
    a, b = sorted(in_one_order(*policies), key=lambda each: -each.means.mean())
    (n, m), least, size = a.returns.shape, min(*a.returns.shape, *b.returns.shape), max(a.returns.size, b.returns.size)
    if not 1 < least <= size <= _MOST_RETURNS or np.isinf(support[1]) or not b.is_finished:
        return ""
    if any(each.missing or each.strata is not None for each in (a, b)):
        return ""
    m, most = min(m, _MOST_ROLLOUTS), min(_MOST_ROLLOUTS, _MOST_RETURNS // n)
    sizes: dict[str, Any] = {"listed": True, "max_rollouts": most} if listed else {"num_rollouts": [m]}
    designs = plan_difference(a.returns, b.returns, 0.0, support=support, delta=delta, power=_POWER, **sizes).designs
    found = min(designs, key=lambda each: each.cost, default=None)  # others allow for a lucky pilot
    if listed:
        size = f"{found.num_rollouts if found else most} new trials of each task"
    else:
        size = f"{found.num_tasks if found else _TASKS:,} new tasks × {how_many(m, 'trial')}"
    return f" ({'about' if found else 'more than'} {size} for power {_POWER}, if they are like these)"


def _tasks(a: Any, b: Any, wish: Margin, power: float, m: int, seed: int, num_claims: int) -> list[Design]:
    """How many new tasks with m rollouts are enough."""

    def found(draw: Callable[..., np.ndarray], number: int) -> int:
        return fewest(Experiments(draw, wish, _TASKS), power, (seed, number, m), num_claims)

    rng = np.random.default_rng([seed, 7, m])
    of_a, of_b = _averages(a, m, rng), _averages(b, m, rng)
    draw, pairs = _of_averages(of_a, of_b), of_a - np.resize(of_b.T, of_a.T.shape).T
    like = found(draw, 3)
    return enough(like, like and found(unlucky(draw, pairs, wish), 6), power, lambda n: _of_two(n, m))


def _trials(a: Any, b: Any, wish: Margin, power: float, most: int, seed: int) -> list[Design]:
    """How many trials of each task of a list are enough."""
    experiments = Experiments(_on_the_list(a, b), wish, most, wish.unit)
    like, sure = fewest(experiments, power, (seed, 5)), None
    if isinstance(a, PilotReturns) and isinstance(b, PilotReturns):
        m = min(a.returns.shape[1], b.returns.shape[1])
        draw = unlucky(experiments.draw, (a.returns[:, :m] - b.returns[:, :m]).reshape(-1, 1), wish)
        sure = like and fewest(experiments._replace(draw=draw), power, (seed, 6), 1)
    return enough(like, sure, power, lambda m: _of_two(wish.unit, m))


def _of_two(n: int, m: int) -> Design:
    return Design(betting.__name__, n, m, None, rollouts_per_task=m, cost=2.0 * n * m)


def _pilots(pilot_a: Any, pilot_b: Any, support: Support | None, *, listed: bool) -> tuple[Any, Any]:
    """Simulators of tasks of either policy, or of trials of a list."""
    given = {"pilot_a": pilot_a, "pilot_b": pilot_b}
    if listed:
        a, b = (trials_of(name, each, support) for name, each in given.items())
    else:
        a, b = (PilotReturns(each, support_of(each, support), name) for name, each in given.items())
    if a.num_tasks != b.num_tasks:
        raise ValueError(f"pilot_a and pilot_b have {a.num_tasks} and {b.num_tasks} tasks; expected the same ones")
    return a, b


def _averages(pilot: PilotReturns, num_rollouts: int, rng: np.random.Generator) -> np.ndarray:
    """Averages of m of a pilot task's own rollouts, of all where there are fewer, [pilot tasks, averages].

    With more rollouts of a task the averages vary less, so fewer tasks are enough. Each rollout is in as many of them,
    as neighbours in a ring, so that their mean is the task's own: of averages drawn at random a lucky mean would plan
    too few tasks.
    """
    num_tasks, most = pilot.returns.shape
    repeats, m = max(-(-_POOL // pilot.returns.size), 1), min(num_rollouts, most)
    rings = rng.permuted(np.broadcast_to(pilot.returns[:, None], (num_tasks, repeats, most)), axis=-1)
    rings = np.concatenate([rings, rings[..., : m - 1]], axis=-1)
    neighbours = np.lib.stride_tricks.sliding_window_view(rings, m, axis=-1)
    return neighbours.mean(axis=-1, dtype=np.float32).reshape(num_tasks, -1)


def _of_averages(of_a: np.ndarray, of_b: np.ndarray) -> Callable[..., np.ndarray]:
    """Draws differences of averages [pilot tasks, averages] of either policy on the same task."""

    def draw(rng: np.random.Generator, num_repeats: int, num_tasks: int) -> np.ndarray:
        shape = num_repeats, num_tasks
        task = rng.integers(len(of_a), size=shape)
        first, second = (each[task, rng.integers(each.shape[1], size=shape)] for each in (of_a, of_b))
        return first - second

    return draw


def _on_the_list(a: Any, b: Any) -> Callable[..., np.ndarray]:
    """Draws differences of the trials of a list, [comparisons, trials × tasks]."""

    def draw(rng: np.random.Generator, num_repeats: int, num_rollouts: int) -> np.ndarray:
        of_a, of_b = (each.draw(rng, num_repeats, num_rollouts) for each in (a, b))
        return np.moveaxis(of_a - of_b, 1, 2).reshape(num_repeats, -1)

    return draw
