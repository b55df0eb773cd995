"""Lower bounds of all tasks, and upper ones from reflected returns."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.bounds._bound import Bound, rollouts_of, usable
from jaxcert.numerics._rounding import complement_up, is_zero, next_down
from jaxcert.numerics._summation import difference_down
from jaxcert.returns._checks import possible
from jaxcert.returns._paired import Paired
from jaxcert.returns._prepared import Support, probability, split_support
from jaxcert.returns._sample import Needs, Sample, declared_support, padded_to, placed, sample_of
from jaxcert.returns.summaries import Summary


def apply_bound(bound: Bound, x: Any, beta: Any, support: Support, where: Any, validate: bool) -> jax.Array:
    """Check the arguments of a public bound and evaluate it: [..., m] -> [...]."""
    sample = sample_of(bound.needs, x, support, where, validate, of_tasks=False)
    beta = probability("beta", beta, sample.dtype, "nearest", validate=validate)
    tasks = x.valid.shape if sample.is_summary else np.shape(x)[:-1]
    if beta.ndim > len(tasks) or any(b not in (1, t) for b, t in zip(beta.shape[::-1], tasks[::-1], strict=False)):
        raise ValueError(f"beta has shape {beta.shape}; expected one that broadcasts to the tasks, {tasks}")
    if beta.ndim and beta.shape[-1] > 1 and sample.padded:
        beta = padded_to(np.asarray(beta), (*beta.shape[:-1], sample.tasks[-1]), 0.5)
    lower = _evaluated(bound, *placed((sample, beta)))
    return lower if lower.shape == tasks else placed(jax.device_get(lower)[..., : tasks[-1]])


@functools.partial(jax.jit, static_argnums=0)
def _evaluated(bound: Bound, sample: Sample, beta: jax.Array) -> jax.Array:
    return evaluate(bound, sample, beta)


def evaluate(bound: Bound, sample: Sample, beta: jax.Array) -> jax.Array:
    """Lower bounds [...], without any check: NaN where a return refutes the support, else -inf."""
    good = (beta > 0) & (beta < 1)
    if sample.is_apart:
        # At half of the level each, above the least, since the ends may be far from 0.
        half = jnp.where(good, 0.5 * beta, jnp.nan)
        first, second = (evaluate(bound, _above_least(one), half) for one in sample.values)
        return next_down(next_down(first + second) + (sample.low - float(jnp.finfo(first.dtype).tiny)))
    data = rollouts_of(sample, binary=bound.binary)
    beta, good = (jnp.broadcast_to(each, data.num_rollouts.shape) for each in (beta, good))
    lower = bound.lower(data, jnp.where(good, beta, 0.5))
    known = good & (data.num_rollouts >= bound.min_rollouts)
    return jnp.where(data.refuted, jnp.nan, jnp.where(known, lower, -jnp.inf))


def _above_least(sample: Sample) -> Sample:
    """The sample of X - a, rounded down, in [0, b - a]; a return that is impossible stays impossible."""
    x, low, high = sample.values, sample.low, sample.high
    bad = jnp.where(jnp.isnan(x), jnp.nan, jnp.inf)
    above = jnp.where(possible(x, low, high, False), jnp.maximum(difference_down(x, low), 0), bad)
    return sample.replace(values=above, low=jnp.zeros_like(low), high=-difference_down(low, high))


def task_bounds(bound: Bound, sample: Sample, beta: jax.Array) -> jax.Array:
    """Lower bounds [..., n] for a certificate: -inf for all of its tasks, if a return of one refutes the support."""
    return joined(evaluate(bound, sample, beta))


def task_bounds_at(bound: Bound, sample: Sample, betas: jax.Array) -> jax.Array:
    """``task_bounds`` at every beta, [betas, ..., n]; parts of the computation without beta are shared."""
    return joined(jax.vmap(lambda beta: evaluate(bound, sample, beta))(betas))


def joined(lower: jax.Array) -> jax.Array:
    """Lower bounds [..., n]; -inf for all tasks, if a return of one of them refutes the support: its bound is NaN."""
    return jnp.where(usable(jnp.ones((), bool), jnp.isnan(lower)), lower, -jnp.inf)


def check_complete(complete: bool) -> None:
    """Raise ValueError unless returns are declared to be those of whole rollouts."""
    if complete is not True:
        raise ValueError(
            f"complete is {complete!r}; expected True, which declares that each return is that of a whole rollout: on "
            "prefixes an upper bound on the mean return is none on the performance (certify needs no such thing)"
        )


def both_sides(
    needs: Needs, returns: Any, support: Support | None, where: Any, validate: bool
) -> tuple[Sample, Sample]:
    """The returns rounded down, and those whose reflection is rounded down: rounded up, or of B minus A.

    Raises:
        ValueError: as ``sample_of``; for a sample that has no reflection, whose lower bounds are upper ones.
    """
    if isinstance(returns, Summary):
        raise ValueError("returns are a summary, which cannot be reflected for upper bounds; expected an array")
    if isinstance(returns, Paired):
        sample = sample_of(needs, returns, support, where, validate)
        return sample, sample_of(needs, returns.swapped, support, where, validate)
    low, high = split_support(declared_support(needs, returns, support))
    if is_concrete(low, high) and not np.isfinite(float(high)):
        raise ValueError(f"support is ({float(low):g}, {float(high):g}); upper bounds need a finite upper end")
    sample = sample_of(needs, returns, support, where, validate)
    return sample, sample_of(needs, returns, support, where, validate, side="up")


def upper_bounds(bound: Bound, raised: Sample, beta: jax.Array, lower: jax.Array, *, pairs: bool) -> jax.Array:
    """Upper bounds [..., n] at level beta, within a program; infinite where there is no lower bound.

    ``pairs``: whether the differences were reflected before they were taken.
    """
    reflected = task_bounds(bound, raised if pairs else _reflected(raised, binary=bound.binary), beta)
    upper = complement_up(reflected) if bound.binary else -reflected
    return jnp.where(jnp.isneginf(lower), jnp.inf, upper)


def _reflected(raised: Sample, *, binary: bool) -> Sample:
    """-X in (-b, -a), or 1 - X for binary returns, from returns rounded up; exact."""
    if not binary:
        return raised.reflected
    x = raised.values
    return raised.replace(values=jnp.where(is_zero(x), 1, jnp.where(x == 1, 0, jnp.nan)).astype(x.dtype))
