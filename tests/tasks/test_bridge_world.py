"""BridgeWorld against its closed form, exact arithmetic, and frequencies."""

import dataclasses
from fractions import Fraction
from math import comb

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxcert.rollouts import collect
from jaxcert.tasks import bridge_world
from jaxcert.tasks.bridge_world import LARGE, STANDARD, World
from jaxcert.tasks.bridge_world._exact import transition_probabilities
from jaxcert.tasks.bridge_world._world import BridgeWorld

POLICIES = {"left": bridge_world.left_policy, "right": bridge_world.right_policy}
WORLDS = {"standard": STANDARD, "large": LARGE}
# Every cell of the standard world: start, goal, left and right bridge, abyss.
MAP = """
.GGG......
..........
XLLLXXRRRX
XLLLXXRRRX
XLLLXXRRRX
XLLLXXRRRX
..........
.S........
"""


def letters(world: World) -> str:
    row = np.select(
        [world.goal(), world.abyss(), world.bridge_of() == 1, world.bridge_of() == 2], ["G", "X", "L", "R"], "."
    )
    row[world.start_cell] = "S"
    return "\n".join("".join(line) for line in row.reshape(world.num_rows, world.num_columns))


def exact_performance(p: Fraction, world: World) -> Fraction:
    """By hand: the crossing ends with its last move up, after at most w slips."""
    length, spare = world.bridge_length, world.bridge_width // 2
    return (1 - p) ** length * sum(comb(length - 1 + slips, slips) * p**slips for slips in range(spare + 1))


def test_the_map_of_the_standard_world():
    assert letters(STANDARD) == MAP.strip()


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
@pytest.mark.parametrize("side", POLICIES)
def test_performance_is_the_closed_form(side, world, precision):
    slips = np.linspace(0, 1, 21)
    tasks = np.stack([slips, slips[::-1]], axis=-1)
    own = slips if side == "left" else slips[::-1]
    wanted = [float(exact_performance(Fraction(float(p)), world)) for p in own]
    tolerance = 1e-12 if precision == "float64" else 2e-5
    got = bridge_world.performance(tasks, POLICIES[side](world=world), world=world)
    assert got.dtype == precision
    np.testing.assert_allclose(got, wanted, atol=tolerance)


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
@pytest.mark.parametrize("side", POLICIES)
def test_safety_is_the_share_of_tasks(side, world):
    low, high = world.slip_ranges[side == "right"]
    slips = np.linspace(low, high, 200_001)
    performance = np.asarray(
        stats.binom.cdf(world.bridge_width // 2, world.bridge_length + world.bridge_width // 2, slips)
    )
    thresholds = np.linspace(0, 1, 101)
    wanted = [(performance >= threshold).mean() for threshold in thresholds]
    got = np.asarray(bridge_world.safety(thresholds, side, world=world))
    np.testing.assert_allclose(got[:-1], wanted[:-1], atol=2e-5)
    assert got[-1] == 0
    assert np.isnan(bridge_world.safety(np.nan, side))
    assert bridge_world.safety(-1.0, side) == 1
    assert bridge_world.safety(2.0, side) == 0


def rollout(key, tasks, num_rollouts, policy, *, world=STANDARD):
    """Returns of a table of actions."""
    policy = bridge_world.table_policy(policy, world=world)
    return collect(bridge_world.env(world=world), policy, jnp.asarray(tasks), key, num_rollouts=num_rollouts)


@pytest.mark.parametrize("world", [STANDARD, pytest.param(LARGE, marks=pytest.mark.slow)])
def test_success_frequency(world):
    """Of a policy that errs left and up before it turns to the right bridge."""
    policy = POLICIES["right"](world=world)
    policy[[world.start_cell, world.start_cell - 1]] = 2, 3
    tasks = bridge_world.env(world=world).sample_tasks(jax.random.key(3), 4)
    found = np.asarray(rollout(jax.random.key(1), tasks, 5000, policy, world=world))
    exact = np.asarray(bridge_world.performance(tasks, policy, world=world), float)
    for row, performance in zip(found, exact, strict=True):
        assert stats.binomtest(int(row.sum()), row.size, performance).pvalue > 1e-4


def test_trajectories_are_the_episodes_of_rollout():
    tasks = bridge_world.ENV.sample_tasks(jax.random.key(0), 5)
    for policy in (POLICIES["left"](), POLICIES["right"]()):
        cells = np.asarray(bridge_world.trajectories(jax.random.key(1), tasks, 50, policy))
        assert cells.shape == (5, 50, STANDARD.horizon + 1)
        assert np.all(cells[..., 0] == STANDARD.start_cell)
        last = np.take_along_axis(cells, (cells >= 0).sum(-1, keepdims=True) - 1, axis=-1)[..., 0]
        returns = np.asarray(rollout(jax.random.key(1), tasks, 50, policy))
        np.testing.assert_array_equal(STANDARD.goal()[last], returns == 1)
        # What has ended stays ended.
        assert np.all((cells[..., 1:] >= 0) <= (cells[..., :-1] >= 0))


def test_performance_of_any_policy_by_enumeration():
    """A policy that runs into the border and over the bridge and back, by a plain loop over the distribution."""
    world = World(horizon=12)
    policy = np.random.default_rng(5).integers(0, 4, world.num_cells)
    graph = bridge_world.chain(policy, world=world)
    probabilities = np.asarray(transition_probabilities(graph, jnp.array([0.3, 0.2]), world), float)
    mass, wins = {world.start_cell: 1.0}, 0.0
    for _ in range(world.horizon):
        following: dict[int, float] = {}
        for cell, share in mass.items():
            for target, chance in zip(graph.successors[cell], probabilities[cell], strict=True):
                if target >= 0 and world.goal()[target]:
                    wins += share * chance
                elif target >= 0:
                    following[int(target)] = following.get(int(target), 0.0) + share * chance
        mass = following
    got = float(bridge_world.performance([0.3, 0.2], policy, world=world))
    assert got == pytest.approx(wins, abs=1e-6)


def test_impossible_slips_and_actions_give_nan():
    tasks = np.array([[np.nan, 0.1], [0.2, 1.5], [-0.1, 0.1], [0.2, 0.1]])
    policy = POLICIES["left"]()
    cells = bridge_world.trajectories(jax.random.key(0), tasks, 3, policy)
    assert (cells < 0).all(axis=(1, 2)).tolist() == [True, True, True, False]
    for table in (policy, policy + 4, policy - 4):  # in place of the checked one
        wrong = dataclasses.replace(bridge_world.table_policy(policy), params=jnp.asarray(table))
        found = collect(bridge_world.ENV, wrong, tasks[3:], jax.random.key(0), num_rollouts=3)
        assert np.isnan(found).all() == (table is not policy)
    for got in (
        rollout(jax.random.key(0), tasks, 3, policy)[:, 0],
        bridge_world.performance(tasks, policy),
    ):
        assert np.isnan(np.asarray(got)).tolist() == [True, True, True, False]


def test_arguments_without_meaning_are_refused():
    policy, key, task = POLICIES["left"](), jax.random.key(0), [[0.1, 0.1]]
    for call, message in (
        (lambda: bridge_world.ENV.sample_tasks(key, 0), "num_tasks is 0; expected a whole number"),
        (lambda: rollout(key, task, 0, policy), "num_rollouts is 0; expected a whole number"),
        (lambda: rollout(key, task, 1, policy[:-1]), "expected an action"),
        (lambda: bridge_world.performance(task[0], policy + 4), "expected an action, 0 to 3"),
        (lambda: rollout(key, task, 1, policy + 4), "expected an action, 0 to 3"),
        (lambda: rollout(key, task, 1, policy.astype(float)), "expected an action"),
        (lambda: jax.jit(lambda table: bridge_world.performance(task[0], table))(policy), "policy is traced"),
        (lambda: jax.jit(lambda table: rollout(key, task, 1, table))(policy), "policy is traced"),
        (lambda: bridge_world.safety(0.5, "up"), "side is 'up'"),
        (lambda: bridge_world.safety(0.5, "left", world=World(horizon=9)), "expected STANDARD or LARGE"),
        (lambda: bridge_world.trajectories(key, task[0], 1, policy), r"tasks have shape \(2,\); expected \[n, 2\]"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    for tasks in ([[0.1]], [[0.1, 0.2, 0.3]], np.full((2, 200), 0.1), [0.1, 0.2]):
        for function in (
            lambda tasks: bridge_world.performance(tasks, policy),
            lambda tasks: rollout(key, tasks, 1, policy),
        )[np.ndim(tasks) == 1 :]:
            with pytest.raises(ValueError, match=r"expected \[..., 2\]"):
                function(tasks)


@pytest.mark.parametrize(("action", "slip"), [(4, 0.1), (-1, 0.1), (3, np.nan), (3, -0.1), (0, 1.1)])
def test_a_step_without_meaning_ends_the_episode(action, slip):
    task = BridgeWorld(jnp.array([0.1, slip]))
    after = task.step(task.reset(jax.random.key(0)), action)
    assert (int(after.obs), bool(after.done)) == (STANDARD.start_cell, True)
    assert np.isnan(after.reward)
