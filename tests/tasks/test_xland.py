"""Environments of XLand-MiniGrid, untouched: rolled out as the library itself does, and certified."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert import certify_policy
from jaxcert.rollouts import Policy, collect
from jaxcert.rollouts._policy import episode_key
from jaxcert.tasks import from_xland

xminigrid = pytest.importorskip("xminigrid", reason="needs the extra xland")

pytestmark = [pytest.mark.usefixtures("promoting"), pytest.mark.slow, pytest.mark.filterwarnings("default")]


def balls():
    """Pick up a ball: red in some tasks, blue in others."""
    from xminigrid.core.constants import TILES_REGISTRY, Colors, Tiles
    from xminigrid.core.goals import AgentHoldGoal

    env, params = xminigrid.make("XLand-MiniGrid-R1-9x9")

    def sample_ruleset(key):
        ball = TILES_REGISTRY[Tiles.BALL, jax.random.choice(key, jnp.array([Colors.RED, Colors.BLUE]))]
        return params.ruleset.replace(goal=AgentHoldGoal(tile=ball).encode(), init_tiles=ball[None])

    return env, params, from_xland(env, params, sample_ruleset)


def wander(obs, key):
    """Forward, right, left, or pick up what is ahead."""
    return jax.random.choice(key, jnp.array([0, 0, 1, 2, 3]))


def test_returns_are_those_of_xland():
    env, params, tasks_of = balls()
    key = jax.random.key(5)
    tasks = tasks_of.sample_tasks(jax.random.key(1), 4)
    found = np.asarray(collect(tasks_of, wander, tasks, key, num_rollouts=5))
    assert len(np.unique(np.asarray(tasks.goal), axis=0)) == 2
    assert np.all((found >= 0) & (found <= 1))
    assert np.any(found > 0)
    task, rollout = (int(i) for i in np.argwhere(found > 0)[0])
    # That episode, step by step with the keys that are documented.
    own = params.replace(ruleset=jax.tree.map(lambda leaf: leaf[task], tasks))
    episode, actions = jax.random.split(jax.random.split(episode_key(key), 20)[5 * task + rollout])
    step, total, t = env.reset(own, jax.random.split(episode)[1]), 0.0, 0
    while not step.last():
        step = env.step(own, step, wander(step.observation, jax.random.fold_in(actions, t)))
        total, t = total + float(step.reward), t + 1
    assert t <= tasks_of.episode_length == params.max_steps
    assert found[task, rollout] == pytest.approx(total, rel=1e-6)


def test_a_policy_is_certified():
    """One that wanders, and one that only turns on the spot: the same program with other parameters."""
    *_, env = balls()
    settings = {"num_tasks": 40, "num_rollouts": 30, "delta": 0.05}
    apply = lambda moves, obs, key: jnp.where(moves, wander(obs, key), 1)  # noqa: E731
    for moves, wanted in ((True, 0.5), (False, 0.0)):
        found = certify_policy(env, Policy(apply, jnp.asarray(moves)), jax.random.key(0), 0.02, **settings)
        safety = float(found.certificate.safety[0])
        assert safety > wanted if moves else safety == wanted


def test_another_environment_is_refused():
    env, params = xminigrid.make("MiniGrid-Empty-5x5")
    with pytest.raises(ValueError, match="params have no ruleset"):
        from_xland(env, params, lambda key: None)
