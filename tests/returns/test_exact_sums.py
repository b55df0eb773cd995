"""The sum of rewards is the largest float that is at most the exact sum, against rational arithmetic."""

import dataclasses
from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert import certify_policy
from jaxcert.returns import discounted_return, truncated_return, undiscounted_return
from jaxcert.rollouts import collect, collect_gymnasium
from jaxcert.tasks import MultiTaskEnv

STEPS = 1000


def rewards(precision: str) -> np.ndarray:
    """Equal ones, ones of one size, of many sizes and signs, and some that cancel."""
    rng = np.random.default_rng(0)
    many = rng.normal(size=(4, STEPS)) * 10.0 ** rng.integers(-6, 3, (4, STEPS))
    equal = np.repeat([[0.1], [-0.1], [1e-3], [1.0]], STEPS, axis=1)
    cancel = np.concatenate([many[:1], -many[:1]], axis=0).reshape(1, -1, order="F")[:, :STEPS]
    return np.concatenate([many, equal, rng.uniform(0, 1, (2, STEPS)), cancel]).astype(precision)


def exact_sum(values, discount=Fraction(1)) -> tuple[Fraction, Fraction]:
    """The sum and the sum of sizes, by Horner's rule in whole numbers: a float is one over a power of two."""
    terms = [value if isinstance(value, Fraction) else Fraction(float(value)) for value in values]
    unit = max(term.denominator for term in terms)
    gain, shrink = discount.as_integer_ratio()
    total = size = 0
    scale = 1
    for term in reversed(terms):
        value, scale = int(term * unit) * scale * shrink, scale * shrink
        total, size = value + gain * total, abs(value) + gain * size
    return Fraction(total, unit * scale), Fraction(size, unit * scale)


def above(x: np.ndarray) -> Fraction:
    return Fraction(float(np.nextafter(x, x.dtype.type(np.inf))))


@pytest.mark.parametrize("call", [undiscounted_return, jax.jit(undiscounted_return)])
def test_a_sum_is_the_largest_float_below_the_exact_one(precision, call):
    r_t = rewards(precision)
    found = np.asarray(call(r_t))
    assert found.dtype == precision
    for value, row in zip(found, r_t, strict=True):
        assert Fraction(float(value)) <= exact_sum(row)[0] < above(value)


@pytest.mark.parametrize("discount", [0.99, 0.5, 0.3])
def test_a_discounted_sum_is_at_most_the_exact_one(precision, discount):
    r_t, gamma = rewards(precision), Fraction(float(np.dtype(precision).type(discount)))
    lowest, eps = float(r_t.min()), np.finfo(precision).eps
    tails = {"discount": discount, "min_reward": lowest}
    rows = zip(r_t, discounted_return(r_t, discount=discount), truncated_return(r_t, **tails), strict=True)
    for row, plain, truncated in rows:
        total, size = exact_sum(row, gamma)
        assert 0 <= total - Fraction(float(plain)) <= 2 * eps * size
        tail = gamma**STEPS * Fraction(lowest) / (1 - gamma)
        assert 0 <= total + tail - Fraction(float(truncated)) <= 2 * eps * size + 8 * eps * -tail


def exact_rewards():
    return [(0.0, 0.0), (1.0, 1000.0), (-1.0, -1000.0), (0.125, 125.0), (2.0**-40, 1000 * 2.0**-40)]


@pytest.mark.parametrize(("reward", "total"), exact_rewards())
def test_what_is_exact_stays(precision, reward, total):
    r_t = np.full(STEPS, reward, precision)
    assert float(undiscounted_return(r_t)) == total
    assert float(discounted_return(r_t[:20], discount=0.5)) == reward * (2 - 2.0**-19)
    if reward <= 0:
        assert float(truncated_return(r_t[:20], discount=0.5, min_reward=reward)) == 2 * reward


def test_integers_and_wide_rewards_are_rounded_down():
    assert float(undiscounted_return(np.array([2**24 + 1, 2**24 + 1, 1]))) <= 2**25 + 3
    for value in (0.1, -0.1, 0.7):
        assert float(undiscounted_return(np.array([value]))) <= value
        # The same number is the smallest reward, whatever becomes of it.
        assert np.isfinite(truncated_return(np.array([value - 1, value]), discount=0.9, min_reward=value - 1))


def test_tiny_rewards_are_not_lost_upwards(precision):
    tiny = float(np.finfo(precision).tiny)
    for row in ([-tiny / 4] * 10, [tiny * 1.5, -tiny * 1.25], [1.0, -1.0, -tiny / 2], [tiny / 4] * 10):
        r_t = np.asarray(row, precision)
        assert Fraction(float(undiscounted_return(r_t))) <= exact_sum(r_t)[0]
        assert Fraction(float(discounted_return(r_t, discount=0.5))) <= exact_sum(r_t, Fraction(1, 2))[0]


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
        total, _ = exact_sum([task] * STEPS)
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


def test_rewards_of_gymnasium_are_added_up_alike():
    gymnasium = pytest.importorskip("gymnasium")

    class Env(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,))
        action_space = gymnasium.spaces.Discrete(2)

        def __init__(self, reward):
            self.reward, self.t = float(reward), 0

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.t = 0
            return np.zeros(1, np.float32), {}

        def step(self, action):
            self.t += 1
            return np.zeros(1, np.float32), self.reward, self.t >= 50, False, {}

    amounts = np.array([0.1, -0.1, 0.7])
    found = collect_gymnasium(Env, lambda obs, key: jnp.int32(0), amounts, jax.random.key(0), num_rollouts=1)
    for value, amount in zip(np.asarray(found)[:, 0], amounts, strict=True):
        assert Fraction(float(value)) <= exact_sum([amount] * 50)[0] < above(value)
