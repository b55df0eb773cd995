"""The wealth of each task, rollout by rollout, the certificate from it, and the best that undecided tasks can reach."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import usable
from jaxcert.certificates._certificate import EXPECTED_RETURN, PROBABILITY_OF_SUCCESS, Certificate, answer
from jaxcert.certificates._counting import fields_of_bounds
from jaxcert.certificates._method import BINOMIAL, table_of
from jaxcert.numerics._bets import factor, mean_wealth_down, ratio_of
from jaxcert.numerics._rounding import unit_roundoff
from jaxcert.returns._checks import possible
from jaxcert.returns._sample import placed
from jaxcert.sequential._rule import Settings


class SequentialState(NamedTuple):
    """State of n tasks at t thresholds after some rollouts; arrays of one float type.

    Attributes:
        wealth: of each bet, at most its exact value, float[..., n, t, bets]; ``mean_wealth`` is the evidence.
        passed: whether the mean wealth has ever reached the goal, bool[..., n, t].
        is_open: whether a task goes on at a threshold: it has neither passed nor been given up, bool[..., n, t].
        valid: tasks whose returns were all finite and in the support, bool[..., n]; none, once one was outside.
        num_rollouts: rollouts seen, int32[..., n]; the number of the next one.
        num_rollouts_used: rollouts seen while open, int32[..., n, t].
        thresholds: B, float[t].
        low, high: the ends of the support.
        beta: the probability with which a task with J < B may pass.
        goal: the wealth at which a task passes, float[t].
        bets: lambda, float[bets].
        give_up: the wealth at which a task is left; 0 for never.
        max_rollouts_per_task: the number of rollouts after which a task is left.
        is_binary: whether returns other than 0 and 1 are invalid.
    """

    wealth: jax.Array
    passed: jax.Array
    is_open: jax.Array
    valid: jax.Array
    num_rollouts: jax.Array
    num_rollouts_used: jax.Array
    thresholds: jax.Array
    low: jax.Array
    high: jax.Array
    beta: jax.Array
    goal: jax.Array
    bets: jax.Array
    give_up: jax.Array
    max_rollouts_per_task: jax.Array
    is_binary: jax.Array

    @property
    def lower_bounds(self) -> jax.Array:
        """The largest threshold at which each task counts as passed, or the lower end of the support; -inf if invalid.

        float[..., n]. The wealth falls in B, so a task that passes B passes all smaller thresholds. For binary returns,
        whose goal depends on B, this does not follow: there, all thresholds up to it have to be passed.
        """
        return _lower_bounds(self)

    @property
    def mean_wealth(self) -> jax.Array:
        """At most the exact mean over the bets, which all have the same weight, float[..., n, t]."""
        return mean_wealth_down([self.wealth[..., i] for i in range(self.wealth.shape[-1])])


@jax.jit
def _lower_bounds(state: SequentialState) -> jax.Array:
    thresholds = jnp.broadcast_to(state.thresholds, state.passed.shape)
    missed = jnp.min(jnp.where(state.passed, jnp.inf, thresholds), axis=-1, keepdims=True)
    counts = state.passed & (~state.is_binary | (thresholds < missed))
    lower = jnp.max(jnp.where(counts, thresholds, state.low), axis=-1)
    return jnp.where(state.valid, jnp.maximum(lower, state.low), -jnp.inf)


def start(
    shape: tuple[int, ...], thresholds: jax.Array, low: jax.Array, high: jax.Array, beta: jax.Array, rule: Settings
) -> SequentialState:
    """Tasks [..., n] before their first rollout. Every J is at least a, so thresholds up to a are passed."""
    wealth = jnp.ones((*shape, thresholds.size, rule.bets.size), thresholds.dtype)
    valid = jnp.isfinite(low) & (low < high)
    passed = jnp.broadcast_to(valid & (thresholds <= low), wealth.shape[:-1])
    used, valid = jnp.zeros(passed.shape, jnp.int32), jnp.broadcast_to(valid, shape)
    is_open = ~passed & valid[..., None] & (rule.max_rollouts_per_task > 0)
    counts = jnp.zeros(shape, jnp.int32), used
    return SequentialState(wealth, passed, is_open, valid, *counts, thresholds, low, high, beta, *rule)


def advance(state: SequentialState, x: jax.Array, where: jax.Array) -> SequentialState:
    """One more rollout, [..., n], of the tasks in ``where``."""
    fits = possible(x, state.low, state.high, False) & (~state.is_binary | (x == 0) | (x == 1))
    valid = state.valid & (fits | ~where)
    active = state.is_open & where[..., None]
    ratio = ratio_of((jnp.where(fits, x, state.low) - state.low)[..., None], state.thresholds - state.low)
    # At most 1 - lambda + lambda (x - a)/(B - a), with room for the rounding of its product. Two differences and a
    # quotient: 4 u; 1 - lambda, two products and a sum: 4 u; this product and the wealth's: 2 u.
    factors = factor(jnp.broadcast_to(state.bets, state.wealth.shape), ratio[..., None])
    grown = state.wealth * (factors * (1 - 11 * unit_roundoff(x.dtype)))
    # A wealth that the type cannot hold stays at the largest number, which is less and so safe.
    wealth = jnp.where(active[..., None], jnp.minimum(grown, jnp.finfo(x.dtype).max), state.wealth)
    state = state._replace(
        wealth=wealth,
        valid=usable(valid, where & ~fits & ~jnp.isnan(x)),
        num_rollouts=state.num_rollouts + where.astype(jnp.int32),
        num_rollouts_used=state.num_rollouts_used + active.astype(jnp.int32),
    )
    # The tasks that have passed, and the tasks that go on.
    goal = jnp.broadcast_to(state.goal, active.shape)
    passed = state.passed | (active & state.valid[..., None] & (state.mean_wealth >= goal))
    goes_on = (state.mean_wealth > state.give_up) | (state.give_up <= 0)
    goes_on = goes_on & (state.num_rollouts < state.max_rollouts_per_task)[..., None]
    return state._replace(passed=passed, is_open=state.is_open & ~passed & (goes_on | ~active) & state.valid[..., None])


def certificate_of(state: SequentialState, delta: Any, successes: bool, num_tasks: int | None = None) -> Certificate:
    """The certificate at this moment, for a delta of the state's type; in the words for returns of 0 and 1, or not.

    ``num_tasks``: n, if the state has room for more.
    """
    size = state.valid.shape[-1]
    n = size if num_tasks is None else num_tasks
    fields = _counted(*placed((state, np.int32(n), delta, table_of(BINOMIAL.tail, n, size, delta, state.beta))))
    fields |= {"thresholds": state.thresholds, "beta": state.beta, "num_rollouts_used": state.num_rollouts_used}
    fields["delta"], quantity = delta, PROBABILITY_OF_SUCCESS if successes else EXPECTED_RETURN
    words: dict[str, Any] = {"bound": "sequential", "quantity": quantity, "question": "sequential"}
    return answer(Certificate, fields, n, method=BINOMIAL.name, **words)


@jax.jit
def _counted(state: SequentialState, n: jax.Array, delta: jax.Array, table: Any) -> dict[str, Any]:
    return fields_of_bounds(BINOMIAL, _lower_bounds(state), n, state.thresholds, state.beta, delta, table)
