"""The sum of rewards is the largest float that is at most the exact sum, against rational arithmetic."""

import dataclasses
from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert import certify_policy
from jaxcert.numerics._summation import add_reward, as_rewards, lower_end, nothing
from jaxcert.rollouts import collect
from jaxcert.tasks import MultiTaskEnv

STEPS = 1000


def rewards(precision: str) -> np.ndarray:
    """Equal ones, ones of one size, of many sizes and signs, and some that cancel."""
    rng = np.random.default_rng(0)
    many = rng.normal(size=(4, STEPS)) * 10.0 ** rng.integers(-6, 3, (4, STEPS))
    equal = np.repeat([[0.1], [-0.1], [1e-3], [1.0]], STEPS, axis=1)
    cancel = np.concatenate([many[:1], -many[:1]], axis=0).reshape(1, -1, order="F")[:, :STEPS]
    return np.concatenate([many, equal, rng.uniform(0, 1, (2, STEPS)), cancel]).astype(precision)


def exact_sum(values) -> Fraction:
    return sum((Fraction(float(value)) for value in values), Fraction(0))


def above(x: np.ndarray) -> Fraction:
    return Fraction(float(np.nextafter(x, x.dtype.type(np.inf))))


@jax.jit
def added_up(r_t):
    """The sum over the last axis, as rollouts add up their rewards."""
    steps = jnp.moveaxis(as_rewards(r_t, np.dtype(jnp.result_type(r_t))), -1, 0)
    return lower_end(jax.lax.scan(lambda total, x: (add_reward(total, x), None), nothing(steps[0]), steps)[0])


def test_a_sum_is_the_largest_float_below_the_exact_one(precision):
    r_t = rewards(precision)
    found = np.asarray(added_up(r_t))
    assert found.dtype == precision
    for value, row in zip(found, r_t, strict=True):
        assert Fraction(float(value)) <= exact_sum(row) < above(value)


def test_integers_and_wide_rewards_are_rounded_down():
    for values in ([2**24 + 1, 2**24 + 1, 1], [0.1], [-0.1], [0.7]):
        found = added_up(as_rewards(np.array(values), np.dtype(np.float32)))
        assert Fraction(float(found)) <= exact_sum(values)


def test_tiny_rewards_are_not_lost_upwards(precision):
    tiny = float(np.finfo(precision).tiny)
    for row in ([-tiny / 4] * 10, [tiny * 1.5, -tiny * 1.25], [1.0, -1.0, -tiny / 2], [tiny / 4] * 10):
        r_t = np.asarray(row, precision)
        assert Fraction(float(added_up(r_t))) <= exact_sum(r_t)


class Paid(NamedTuple):
    obs: jax.Array
    reward: jax.Array
    done: jax.Array


@dataclasses.dataclass(frozen=True)
class Pays:
    """Pays its task's amount in every step."""

    task: jax.Array
    action_size = 1

    def reset(self, rng):
        del rng
        return Paid(jnp.zeros(1), jnp.zeros((), self.task.dtype), jnp.zeros((), bool))

    def step(self, state, action):
        return state._replace(reward=jnp.where(action[0] > 0, self.task, 0.0))


def pays(support) -> MultiTaskEnv:
    return MultiTaskEnv(Pays, lambda key: jax.random.uniform(key), STEPS, support)


def go(obs, key):
    return jnp.ones(1)


def test_collected_returns_are_at_most_the_exact_ones(precision):
    tasks = jnp.asarray([0.1, -0.1, 1e-3, 1.0, 0.7, 0.0], precision)
    found = np.asarray(collect(pays((-1e3, 1e3)), go, tasks, jax.random.key(0), num_rollouts=2))
    assert found.dtype == precision
    for value, task in zip(found[:, 0], np.asarray(tasks), strict=True):
        total = exact_sum([task] * STEPS)
        assert Fraction(float(value)) <= total
        assert total < above(value)
    np.testing.assert_array_equal(found[[3, 5]], [[1000, 1000], [0, 0]])


@pytest.mark.parametrize("reward", [1.0, 0.0, -1.0])
def test_a_return_at_an_end_of_the_support_stays_in_it(reward):
    """Also where the environment's rewards are plain numbers, which have a weak type."""

    @dataclasses.dataclass(frozen=True)
    class Plain(Pays):
        def step(self, state, action):
            return state._replace(reward=jnp.where(action[0] > 0, reward, 0.0))

    support = {1.0: (0.0, 1000.0), 0.0: (0.0, 1.0), -1.0: (-1000.0, 0.0)}[reward]
    env = MultiTaskEnv(Plain, lambda key: jax.random.uniform(key), STEPS, support)
    found = certify_policy(env, go, jax.random.key(0), support[0], num_tasks=20, num_rollouts=3, delta=0.1)
    np.testing.assert_array_equal(found.returns, 1000 * reward)
    assert float(found.certificate.safety[0]) > 0.8
