"""From a risk over the sampled distribution of tasks to the risk over others near it."""

import functools
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import as_numbers, is_concrete, is_traced, refuse, require_real
from jaxcert.certificates._arguments import choose
from jaxcert.certificates._divergence import DIVERGENCES, Divergence
from jaxcert.numerics._batches import common_shape
from jaxcert.numerics._rounding import cast, compute_dtype


def shifted_epsilon(
    epsilon: chex.Numeric, radius: chex.Numeric, *, divergence: str, validate: bool = True
) -> jax.Array:
    r"""The risk on new tasks from any distribution D' within a radius of the sampled one, D.

    .. math:: \varepsilon' = \sup\{\, D'(A) : D(A) \le \varepsilon,\ \mathrm{div}(D', D) \le \rho \,\}

    over all events A and distributions of tasks, so that nothing smaller holds as a function of epsilon:

    * "total_variation": :math:`\varepsilon + \rho` where :math:`\sup_A |D'(A) - D(A)| \le \rho`.
    * "kl": the largest q with :math:`q \ln\frac{q}{\varepsilon} + (1 - q) \ln\frac{1 - q}{1 - \varepsilon} \le \rho`
      where :math:`\mathrm{KL}(D' \| D) \le \rho`, in nats.
    * "chi2": :math:`\varepsilon + \sqrt{\rho\, \varepsilon (1 - \varepsilon)}` where
      :math:`\chi^2(D' \| D) = E_D[(dD'/dD - 1)^2] \le \rho`.
    * "ratio": :math:`\rho\, \varepsilon` where :math:`dD'/dD \le \rho` everywhere.

    Each is at most 1, and increases with epsilon, so an upper confidence bound gives one. It holds for all radii and
    divergences together, since it follows from the risk alone.

    Args:
        epsilon: risk over D, in [0, 1], for instance ``Certificate.epsilon``.
        radius: rho >= 0, at most 1 for "total_variation"; at least 1 for "ratio". Broadcasts against epsilon.
        divergence: "total_variation", "kl", "chi2" or "ratio".
        validate: raise for invalid values that are concrete; otherwise, and under a transformation, they give 1.

    Returns:
        epsilon' in [0, 1], never below the exact value for the rounded arguments; epsilon itself at the least radius.
        Differentiable where it is below 1, epsilon above 0 and the radius above the least.

    Raises:
        ValueError: for another divergence, an epsilon outside [0, 1], a radius out of range, or shapes that do not
            broadcast.

    Example:
        >>> import numpy as np
        >>> print(f"{shifted_epsilon(0.0228, 0.02, divergence='kl'):.4f}")
        0.0584
        >>> print(np.asarray(shifted_epsilon(0.0228, [1.0, 2.0, 4.0], divergence="ratio"), float).round(4))
        [0.0228 0.0456 0.0912]

    Reference: the theory page, section 19; its equations (19.1) to (19.4).
    """
    chosen = choose("divergence", divergence, DIVERGENCES)
    dtype = compute_dtype(epsilon, radius)
    risk = bounded("epsilon", epsilon, dtype, 0.0, 1.0, "a probability in [0, 1]", validate)
    within = prepare_radius(chosen, radius, dtype, validate)
    common_shape(epsilon=risk, radius=within)
    return enlarged(chosen, risk, within)


def prepare_radius(chosen: Divergence, radius: Any, dtype: np.dtype, validate: bool) -> jax.Array:
    """The radius rounded up; NaN for one that is out of range and was not refused."""
    return bounded("radius", radius, dtype, chosen.least, chosen.largest, chosen.expected, validate)


def bounded(
    name: str, value: Any, dtype: np.dtype, least: float, largest: float, expected: str, validate: bool
) -> jax.Array:
    """The value rounded up and kept within its range; NaN where it is outside and was not refused.

    Raises:
        ValueError: for a concrete value outside the range or beyond ``dtype``.
    """
    largest = min(largest, float(jnp.finfo(dtype).max))
    if validate and is_concrete(value):
        numbers = as_numbers(name, value)
        refuse(name, numbers, (numbers >= least) & (numbers <= largest), expected)
    else:
        require_real(name, value)
    rounded = cast(value, dtype, "up")
    # A traced number may have been moved by one float, out of the range or into it.
    plain = value.astype(dtype) if is_traced(value) else rounded
    return _kept(rounded, plain, least=least, largest=largest)


@functools.partial(jax.jit, static_argnames=("least", "largest"))
def _kept(rounded: jax.Array, plain: jax.Array, *, least: float, largest: float) -> jax.Array:
    return jnp.where((plain >= least) & (plain <= largest), jnp.minimum(rounded, largest), jnp.nan)


@functools.partial(jax.jit, static_argnums=0)
def enlarged(divergence: Divergence, epsilon: jax.Array, radius: jax.Array) -> jax.Array:
    """The risk within the radius, for arrays of one float type that broadcast; 1 where either is NaN."""
    epsilon, radius = (array.astype(epsilon.dtype) for array in jnp.broadcast_arrays(epsilon, radius))
    inside = (epsilon > 0) & (epsilon < 1) & (radius > divergence.least)
    risk = divergence.enlarge(jnp.where(inside, epsilon, 0.5), jnp.where(inside, radius, divergence.least + 0.25))
    edge = epsilon if divergence.keeps_null else jnp.maximum(epsilon, radius)
    value = jnp.where(inside, jnp.clip(risk, epsilon, 1.0), edge)
    return jnp.where(jnp.isnan(epsilon) | jnp.isnan(radius), 1.0, value)
