"""Plans for several requirements at once, against whole experiments that ``certify_requirements`` judges."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_harness import session
from scipy import stats

from jaxcert import Requirement, at_least, at_most, certify_requirements
from jaxcert.planning import Plan, plan
from jaxcert.report import Protocol

RNG = np.random.default_rng(0)
N, M = 60, 12
REWARD = np.where(RNG.random((N, 1)) < 0.97, 500, 200) + RNG.uniform(-150, 150, (N, M)).round(1)
COST = np.where(RNG.random((N, 1)) < 0.97, RNG.integers(0, 20, (N, M)), 60)
PILOT = {"reward": REWARD, "cost": COST, "success": RNG.random((N, M)) < 0.97}
LIMITS = {"reward": at_least(300, support=(0, 1000)), "cost": at_most(25, support=(0, 100)), "success": at_least(0.5)}
LINES = ["reward >= 300 in 0 1000", "cost <= 25 in 0 100"]
WISH: dict[str, Any] = {"delta": 0.05, "safety": 0.7, "max_rollouts": M}


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(PILOT, requirements=LINES, **WISH)


def best(found: Plan) -> Any:
    assert found.best is not None
    return found.best


def check_power(planned: Plan, *metrics: str) -> None:
    """The design with the fewest tasks, in whole experiments drawn from the pilot."""
    design, repeats = min(planned.designs, key=lambda one: one.num_tasks), 300
    rollouts = RNG.integers(M, size=(repeats, design.num_tasks, design.num_rollouts))
    tasks = RNG.integers(N, size=(repeats, design.num_tasks, 1))
    drawn = {name: PILOT[name][tasks, rollouts] for name in metrics}
    settings = {"delta": 0.05, "beta": design.beta, **design.kind.arguments}
    found = certify_requirements(drawn, {name: LIMITS[name] for name in metrics}, complete=True, **settings)
    held = np.sum(np.asarray(found.safety) >= WISH["safety"])
    low = stats.binom.ppf(1e-4, repeats, design.value - 0.02)
    high = stats.binom.ppf(1 - 1e-4, repeats, min(design.value + 0.02, 1))
    assert low <= held <= high < repeats


def test_the_power_is_that_of_whole_experiments(planned):
    assert best(planned).name == "betting"
    check_power(planned, "reward", "cost")


def test_the_power_with_successes_among_the_metrics():
    found = plan(PILOT, requirements={name: LIMITS[name] for name in ("cost", "success")}, **WISH)
    assert best(found).name == "attained"
    check_power(found, "cost", "success")


def test_a_level_that_is_just_attained_is_not_counted_on():
    """Three of five successes have the level 0.5 at the threshold 0.5, which certifies or not by rounding."""
    rng, limit = np.random.default_rng(717), ["success >= 0.5"]
    passed = rng.random((50, 10)) < np.where(rng.random((50, 1)) < 0.1, 0.3, rng.uniform(0.6, 1, (50, 1)))
    design = best(plan({"success": passed}, requirements=limit, delta=0.05, safety=0.6, max_rollouts=5))
    tasks = rng.integers(50, size=(300, design.num_tasks, 1))
    drawn = {"success": passed[tasks, rng.integers(10, size=(*tasks.shape[:2], design.num_rollouts))]}
    found = certify_requirements(drawn, limit, delta=0.05, beta=design.beta, **design.kind.arguments)
    assert stats.binom.cdf(np.sum(np.asarray(found.safety) >= 0.6), 300, 0.9) > 1e-4


@pytest.mark.parametrize("threshold", [0.9, 0.8])  # in single precision the first one lies below, the other above
def test_successes_are_planned_however_the_threshold_is_rounded(threshold):
    passed = np.random.default_rng(1).random((80, 60)) < 0.99
    limit, wish = {"success": at_least(threshold)}, {"delta": 0.05, "safety": 0.6, "max_rollouts": 30}
    assert best(plan({"success": passed}, requirements=limit, **wish)).value >= 0.9


def test_a_plan_says_what_it_needs(planned):
    by_name = plan(PILOT, requirements={name: LIMITS[name] for name in ("reward", "cost")}, **WISH)
    assert planned.designs == by_name.designs
    assert f"Wanted: {LINES[0]} and {LINES[1]}, all at once, certified with safety 0.7" in str(planned)
    assert "have to be whole episodes" in str(planned)


def test_one_requirement_costs_less_and_a_range_more(planned):
    alone = plan(PILOT, requirements=LINES[:1], **WISH)
    assert best(alone).cost <= best(planned).cost
    assert "whole episodes" not in str(alone)
    ranged = plan(PILOT, requirements={"reward": Requirement(300, 700, (0, 1000))}, **WISH)
    assert best(ranged).cost > best(alone).cost


@pytest.mark.parametrize(
    ("pilot", "limits", "others", "words"),
    [
        (REWARD, LIMITS, {}, "pilot has to hold the returns of reward, cost, success"),
        ({"reward": REWARD}, LIMITS, {}, "pilot has to hold the returns of reward, cost, success"),
        (PILOT, {"cost": at_least(0.5)}, {}, r"cost\[0, 0\] is \d+; expected a return in the support"),
        ({"a": np.full((4, 4), 0.5)}, {"a": at_least(0.5)}, {}, "other values than 0 and 1; expected its support"),
        (PILOT | {"cost": COST[:, :5]}, LIMITS, {}, r"cost has shape \(60, 5\); expected \(60, 12\)"),
        (PILOT, {"cost": at_most(25, support=(0, np.inf))}, {}, "infinite upper end; at most needs a finite one"),
        (PILOT, LIMITS, {"threshold": 1.0}, "with a threshold or a support; each of them has its own"),
        (PILOT, LIMITS, {"designs": ("betting",)}, "expected 'attained' for these requirements"),
        (PILOT, [], {}, "there are no requirements"),
    ],
)
def test_what_cannot_be_planned(pilot, limits, others, words):
    with pytest.raises(ValueError, match=words):
        plan(pilot, requirements=limits, **WISH, **others)


def test_from_a_table_to_a_protocol(there, planned):
    rows = [f"t{i},{j},{REWARD[i, j]},{COST[i, j]}" for i in range(N) for j in range(M)]
    Path("pilot.csv").write_text("\n".join(["task,episode,reward,cost", *rows, ""]))
    asked = " ".join(f"--requirement '{line}'" for line in LINES)
    session(f"plan pilot.csv {asked} --delta 0.05 --safety 0.7 --max-rollouts {M} --lock p.toml -> all at once")
    locked, first = Protocol.read("p.toml"), best(planned)
    assert locked.question == "requirements"
    assert locked.options == {"requirements": tuple(LINES), "complete": True}
    assert (locked.num_tasks, locked.num_rollouts, locked.beta) == (first.num_tasks, first.num_rollouts, first.beta)
    session(f"""
        plan pilot.csv {asked} --delta 0.05 --safety 0.7 --threshold 3 => each of them has its own
        plan {asked} --delta 0.05 --safety 0.7 => --requirement is given, which a table (without PILOT)
    """)
