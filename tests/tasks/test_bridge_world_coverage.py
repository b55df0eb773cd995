"""Many repetitions of the whole experiment: how often a certificate lies above the exact safety."""

import jax
import numpy as np
import pytest
from scipy import stats

from jaxcert import certify_lower_bounds
from jaxcert.baselines import interval_mdp
from jaxcert.tasks import bridge_world

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:scenario at beta")]
NUM_TASKS, NUM_EPISODES, NUM_SIMULATIONS, DELTA = 200, 100, 250, 0.01
THRESHOLDS = np.linspace(0.03, 0.99, 33)
# For episodes step by step: the shortest horizons at which every crossing counts, as in the exact safety.
WORLDS = {"left": bridge_world.World(horizon=10), "right": bridge_world.World(horizon=17)}
POLICIES = {"left": bridge_world.left_policy(), "right": bridge_world.right_policy()}


def check(safety: np.ndarray, side: str) -> None:
    """[repetitions, t] against S(B); the level of the test is shared by the thresholds."""
    exact = np.asarray(bridge_world.safety(THRESHOLDS, side))
    for failures in (safety > exact).sum(axis=0):
        assert stats.binomtest(int(failures), len(safety), DELTA, alternative="greater").pvalue > 1e-3 / len(THRESHOLDS)
    # A certificate that says nothing would pass, too.
    assert safety[:, 0].max() > 0.5


@pytest.mark.parametrize(("side", "max_visits"), [("left", 20), ("right", None)])
def test_interval_mdp(side, max_visits):
    bounds = interval_bounds(side, max_visits, beta=0.05)
    for method in ("binomial", "scenario"):
        options = {"beta": 0.05, "delta": DELTA, "method": method, "validate": False}
        certificate = jax.vmap(lambda lower, options=options: certify_lower_bounds(lower, THRESHOLDS, **options))(
            bounds
        )
        check(np.asarray(certificate.safety), side)


def interval_bounds(side: str, max_visits: int | None, beta: float) -> jax.Array:
    """[repetitions, n]."""
    policy, world = POLICIES[side], WORLDS[side]
    chain = bridge_world.chain(policy, world=world)
    bridge_world.safety(0.5, side, world=world)  # raises if the horizon is too short

    def repetition(key: jax.Array) -> jax.Array:
        key_tasks, key_rollouts = jax.random.split(key)
        tasks = bridge_world.ENV.sample_tasks(key_tasks, NUM_TASKS)
        episodes = bridge_world.trajectories(key_rollouts, tasks, NUM_EPISODES, policy, world=world)
        return interval_mdp.lower_bound(episodes, beta, chain, max_visits=max_visits)

    return jax.lax.map(repetition, jax.random.split(jax.random.key(0), NUM_SIMULATIONS))
