r"""The success probability certified on a given share of new tasks: the best of a few tolerance limits.

.. math:: \hat B = \max_g L^{(\beta_g)}_{(k_g + 1)}, \qquad
          \frac{U(k_g; n, \delta_g)}{1 - \beta_g} \le 1 - s, \quad \sum_g \delta_g \le \delta

with Clopper-Pearson bounds L at level beta_g in increasing order. k_g and beta_g follow from m, n, delta and the wanted
safety s alone: k_g is the largest that a usual level allows, and beta_g the largest that allows k_g. At the number of
successes that decides, a Clopper-Pearson bound attains its level, so that nothing is left to gain from attained levels.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Ends, finish
from jaxcert.certificates._attained import Successes, counted, lower_bounds_of
from jaxcert.certificates._binomial import inflate, upper_risk
from jaxcert.certificates._figures import Status
from jaxcert.certificates._levels import LEVELS, delta_shares
from jaxcert.numerics._batches import counts_from_zero
from jaxcert.numerics._rounding import complement_down, complement_up, next_down, unit_roundoff
from jaxcert.returns._prepared import Prepared
from jaxcert.returns.summaries import Summary

# Up to so many successes or failures per task, even one safety alone gains most from all numbers of successes together.
FEW = 6


class _Allowed(NamedTuple):
    """For each wanted safety and each level, [t, levels]: beta, and how many k, counted from 0, are allowed."""

    betas: jax.Array
    num_allowed: jax.Array


def certified_each(prepared: Prepared, wanted: jax.Array, delta: jax.Array) -> dict[str, jax.Array]:
    """The fields of certificates at wanted safeties [t], each on its own, with a beta for each, [..., t]."""
    found = counted(prepared, None)
    allowed = _allowed(found, prepared, wanted, delta)
    betas = allowed.betas.reshape(*wanted.shape, len(LEVELS), *(1,) * found.num_successes.ndim)
    rows = lower_bounds_of(found.num_successes, found.num_rollouts, betas)
    return {
        "lower_bounds": found.lower,
        **_best(found.num_successes, rows, wanted, *allowed, prepared.low, prepared.high, delta),
    }


def _allowed(found: Successes, prepared: Prepared, wanted: jax.Array, delta: jax.Array) -> _Allowed:
    """What is allowed, from the most rollouts that any task has room for or, in a summary, has."""
    n, summary = found.num_successes.shape[-1], isinstance(prepared.returns, Summary)
    most = jnp.max(found.num_rollouts) if summary else np.asarray(prepared.returns.shape[-1], delta.dtype)
    return usual_limits(n, most, wanted, delta)


def usual_limits(num_tasks: int, num_rollouts: Any, wanted: jax.Array, delta: jax.Array) -> _Allowed:
    """What is allowed for wanted safeties [t], a function of n, the most rollouts of a task, delta and s alone."""
    k, tasks = counts_from_zero(num_tasks, delta)
    risks = [upper_risk(k, tasks, each) for each in _deltas(num_rollouts, delta)]
    return _Allowed(*_largest(tuple(risks), wanted, n=num_tasks))


@jax.jit
def _deltas(num_rollouts: jax.Array, delta: jax.Array) -> list[jax.Array]:
    return [delta * part * (1 - 8 * unit_roundoff(delta.dtype)) for part in delta_shares(num_rollouts)]


@functools.partial(jax.jit, static_argnames="n")
def _largest(each: tuple[jax.Array, ...], wanted: jax.Array, *, n: int) -> tuple[jax.Array, jax.Array]:
    """From risks [levels, k] and safeties [t] to betas and numbers of allowed k, [t, levels]."""
    risks = jnp.stack(each)
    u = unit_roundoff(risks.dtype)
    # Smaller by as much as the rounding of epsilon may need; [t, levels, n], falling with k.
    inflated = risks[None, :, :n] * (1 + 16 * u)
    largest = next_down(1 - inflated / complement_down(wanted)[:, None, None], 2)
    usual = jnp.asarray(LEVELS, risks.dtype)[None, :, None]
    count = jnp.maximum(jnp.sum(largest >= usual, axis=-1), 1)
    beta = jnp.take_along_axis(largest, count[..., None] - 1, axis=-1)[..., 0]
    valid = (beta > 0) & (beta < 1)
    risk = jnp.take_along_axis(jnp.broadcast_to(risks, (*count.shape, risks.shape[-1])), count[..., None] - 1, axis=-1)
    enough = complement_down(inflate(risk[..., 0], jnp.where(valid, beta, 0.5))) >= wanted[:, None]
    return jnp.where(valid, beta, 0.5), jnp.where(valid & enough, count, 0)


@jax.jit
def _best(count, rows, wanted, betas, num_allowed, low, high, delta) -> dict[str, jax.Array]:
    """The (k + 1)-th smallest of the lower bounds [t, levels, ..., n], at the level where it is largest."""
    n, batch = count.shape[-1], count.shape[:-1]
    lower = jnp.sort(finish(rows, Ends(low, jnp.broadcast_to(count >= 0, rows.shape))), axis=-1)
    shape = (*num_allowed.shape, *(1,) * len(batch))
    allowed, betas = num_allowed.reshape(shape), jnp.broadcast_to(betas.reshape(shape), lower.shape[:-1])
    reached = jnp.take_along_axis(lower, jnp.maximum(allowed - 1, 0)[..., None], axis=-1)[..., 0]
    reached = jnp.where(allowed > 0, reached, -jnp.inf)
    level = jnp.argmax(reached, axis=1)[:, None]
    reached, beta = (jnp.take_along_axis(each, level, axis=1)[:, 0] for each in (reached, betas))
    at_level = jnp.take_along_axis(lower, level[..., None], axis=1)[:, 0]
    violations = n - jnp.sum(at_level >= reached[..., None], axis=-1, dtype=jnp.int32)
    reached, beta, violations = (jnp.moveaxis(each, 0, -1) for each in (reached, beta, violations))
    return fields_at_safeties(count, reached, beta, violations, wanted, low, high, delta)


def fields_at_safeties(count, reached, beta, violations, wanted, low, high, delta) -> dict[str, jax.Array]:
    """What certificates at wanted safeties [t] hold, from what was reached, [..., t]; -inf where nothing was."""
    n, bad_task = count.shape[-1], jnp.any(count < 0, axis=-1, keepdims=True)
    wanted = jnp.broadcast_to(wanted, reached.shape)
    good = (delta > 0) & (delta < 1) & (low == 0) & (high == 1) & (wanted > 0) & (wanted < 1)
    # Where no violation is allowed, the lower end is certified by definition, unless data contradict the support.
    holds = good & (jnp.isfinite(reached) | ~bad_task)
    says_something = holds & (reached > low)
    status = jnp.where(says_something, Status.CERTIFIED.value, Status.VACUOUS.value)
    safety = jnp.where(holds, wanted, 0.0)
    return {
        "thresholds": jnp.where(holds, jnp.maximum(reached, low), -jnp.inf),
        "safety": safety,
        "epsilon": complement_up(safety),
        "num_violations": jnp.where(says_something, violations, 0),
        "num_valid": n - jnp.where(says_something, violations, 0),
        "status": jnp.where(bad_task | ~good, Status.INVALID_INPUT.value, status).astype(jnp.int32),
        "beta": beta,
        "delta": delta,
    }
