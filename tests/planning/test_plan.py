"""Plans: against simulations of whole experiments, exact cases, and what is refused."""

import numpy as np
import pytest
from scipy import stats
from simulated import simulate

from jaxcert.planning import plan

SUPPORT = (0.0, 1.0)
WISH = {"support": SUPPORT, "delta": 0.05}
FEW = {"max_rollouts": 16}  # one length of programs
RNG = np.random.default_rng(0)
PILOT = RNG.beta(40, 10, (60, 1)) + RNG.uniform(-0.1, 0.1, (60, 12))
PILOT = np.clip(PILOT, 0, 1).astype(np.float32)


def is_likely(successes: int, trials: int, chance: float, margin: float) -> bool:
    """Whether so many successes may come of a chance that is known up to the margin."""
    low, high = stats.binom.interval(1 - 1e-4, trials, [max(chance - margin, 0), min(chance + margin, 1)])
    return bool(low[0] <= successes <= high[1])


@pytest.fixture(scope="module")
def cheapest():
    return plan(PILOT, threshold=0.6, safety=0.8, power=0.8, **WISH, **FEW)


def test_power_is_that_of_whole_experiments(cheapest):
    """Every option, certified by ``certify`` and ``certify_sequential`` on data sets of its own."""
    assert {option.name for option in cheapest.designs} == {"betting", "sequential"}
    for name in ("betting", "sequential"):
        option = next(option for option in cheapest.designs if option.name == name)
        assert option.value >= 0.78
        found = simulate(PILOT, option, threshold=0.6, safety=0.8, num_repeats=300, **WISH)
        successes = int(np.sum(np.asarray(found.safety) >= 0.8))
        assert is_likely(successes, 300, option.value, 1.7 * (option.value - option.least))


def test_the_cost_of_a_sequential_design_is_that_of_whole_experiments(cheapest):
    option = next(option for option in cheapest.designs if option.name == "sequential")
    found = simulate(PILOT, option, threshold=0.6, num_repeats=100, **WISH)
    used = np.asarray(found.num_rollouts_used).sum(axis=(1, 2))
    assert abs(used.mean() - option.cost) < 5 * used.std() / 10 + 0.02 * option.cost


def test_costs_of_tasks_move_the_plan_to_fewer_tasks():
    settings = {"threshold": 0.5, "safety": 0.8, "designs": ("betting",), **WISH, **FEW}
    plans = (plan(PILOT, cost_per_task=cost, **settings) for cost in (0.0, 5.0))
    cheap, dear = (min(found.designs, key=lambda design: design.cost) for found in plans)
    assert dear.num_tasks < cheap.num_tasks
    assert dear.num_rollouts > cheap.num_rollouts
    assert dear.cost == pytest.approx(dear.num_tasks * (5 + dear.num_rollouts))


def test_a_seed_repeats_a_plan():
    settings = {"threshold": 0.6, "safety": 0.8, "designs": ("betting",), **WISH, **FEW}
    first, again, other = (plan(PILOT, **settings, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert first.best.value != other.best.value
    assert abs(first.best.value - other.best.value) < 2.5 * sum(x.best.value - x.best.least for x in (first, other))


def test_a_threshold_that_nothing_reaches():
    found = plan(PILOT, threshold=1.0, safety=0.8, **WISH, **FEW)
    assert found.best is None
    assert found.notice == "No design considered certifies anything."


def test_a_few_pilot_tasks_are_doubted():
    """All of 12 tasks pass; that other tasks do, too, is not known."""
    pilot = np.full((12, 10), 0.9, np.float32)
    found = plan(pilot, threshold=0.5, safety=0.9, designs=("betting",), **WISH, **FEW)
    assert found.best.value == 1.0
    assert found.best.pessimistic < 0.1
    assert "if these were lucky (pessimistic). More pilot tasks help." in found.notice
    assert "must not enter the certificate" in str(found)
    assert "17 % of the tasks" in str(found)


def test_a_pilot_of_many_tasks_is_planned_for_as_if_it_were_lucky():
    """The first design has its power even then; a cheaper one, that has not, follows."""
    pilot = np.clip(RNG.beta(40, 10, (400, 1)) + RNG.uniform(-0.1, 0.1, (400, 12)), 0, 1)
    found = plan(pilot, threshold=0.6, safety=0.8, designs=("betting",), **WISH, **FEW)
    first, *others = found.designs
    assert found.notice.startswith("The first design has power 0.9 even if")
    assert first.pessimistic >= 0.9
    assert first.least >= 0.9
    assert all(other.cost > first.cost or not other.pessimistic >= 0.9 for other in others)


def test_both_precisions_plan_alike(precision):
    """On a pilot of either type."""
    pilot = PILOT.astype(precision)
    designs = plan(pilot, threshold=0.6, safety=0.8, designs=("betting",), **WISH, **FEW).designs
    found = min(designs, key=lambda design: design.cost)
    assert found.cost <= 400
    assert 0.5 < found.value <= 1


def test_of_more_rollouts_than_a_pilot_has_it_is_unknown_what_if_its_tasks_were_lucky():
    """Each task misses the threshold, and three rollouts of most are perfect."""
    pilot = 1.9 * (np.random.default_rng(0).random((60, 3)) < 0.9)
    asked = {"support": (0, 2), "delta": 0.05, "threshold": 1.767, "safety": 0.3, "designs": ("betting",)}
    found = plan(pilot, **asked, max_rollouts=60)
    assert "which cannot tell for more rollouts of a task than it has: the power may be far less" in found.notice
    assert "unknown for more rollouts than the pilot has, whose power is a guess" in str(found)
    assert all(np.isnan(each.pessimistic) == (each.num_rollouts > 3) for each in found.designs)
