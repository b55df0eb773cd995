"""Upper bounds of tasks: lower bounds of the reflected returns, reflected back."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import task_bounds
from jaxcert.numerics._rounding import complement_up, is_zero
from jaxcert.returns._paired import Paired
from jaxcert.returns._prepared import Support, split_support
from jaxcert.returns._sample import Needs, Sample, declared_support, sample_of
from jaxcert.returns.summaries import Summary


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
