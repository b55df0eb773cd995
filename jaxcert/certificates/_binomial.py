"""The certified risk from the number of violations, by the binomial tail; and the arguments of such functions."""

from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import as_numbers, is_concrete, refuse, require_real
from jaxcert.certificates._calibration import calibrated
from jaxcert.certificates._counting import count_bounds
from jaxcert.certificates._method import USUAL_BETA, Choice, Method, Solution, Tail
from jaxcert.numerics._batches import elementwise, in_blocks, in_front
from jaxcert.numerics._binomial_limits import upper_limit
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import cast, complement_down, compute_dtype, next_down, unit_roundoff
from jaxcert.returns._prepared import probability


def epsilon_arguments(k: Any, n: Any, beta: Any, delta: Any, validate: bool, *, zero_beta: bool) -> tuple[Any, ...]:
    """(k up, n down, beta up, delta down) as arrays of one float type: epsilon grows with k and beta."""
    dtype = compute_dtype(beta, delta)
    if validate and is_concrete(k, n):
        _check_counts(k, n, dtype)
    else:
        require_real("num_violations", k)
        require_real("num_tasks", n)
    return (
        cast(k, dtype, "up", whole=True),
        cast(n, dtype, "down", whole=True),
        probability("beta", beta, dtype, "up", validate=validate, zero_allowed=zero_beta),
        probability("delta", delta, dtype, "down", validate=validate),
    )


def whole(k: jax.Array, n: jax.Array) -> jax.Array:
    """Where 0 <= k <= n and n >= 1 are integers, and n is at most ``most_tasks`` of the type."""
    return (k >= 0) & (k <= n) & (n >= 1) & (n <= most_tasks(n.dtype)) & (k == jnp.floor(k)) & (n == jnp.floor(n))


def most_tasks(dtype: np.dtype) -> int:
    """The largest n such that all integers up to n are floats of the type: 2**24 or 2**53."""
    return 2 ** (jnp.finfo(dtype).nmant + 1)


def _check_counts(k: Any, n: Any, dtype: np.dtype) -> None:
    tasks = as_numbers("num_tasks", n)
    good = (tasks >= 1) & (tasks < np.inf) & (tasks == np.floor(tasks))
    refuse("num_tasks", tasks, good, "a whole number of at least 1")
    refuse("num_tasks", tasks, tasks <= most_tasks(dtype), f"at most {most_tasks(dtype)}, to which {dtype} can count")
    violations, tasks = np.broadcast_arrays(as_numbers("num_violations", k), tasks)
    good = (violations >= 0) & (violations <= tasks) & (violations == np.floor(violations))
    refuse("num_violations", violations, good, "a whole number between 0 and num_tasks")


def binomial_epsilon(
    num_violations: chex.Numeric,
    num_tasks: chex.Numeric,
    beta: chex.Numeric,
    delta: chex.Numeric,
    *,
    validate: bool = True,
) -> jax.Array:
    r"""Upper confidence bound on the risk from the number of tasks whose lower bound misses the threshold.

    .. math:: \hat\varepsilon = \min\Big(1, \frac{U(k; n, \delta)}{1 - \beta}\Big), \qquad
              P[\mathrm{Bin}(n, U) \le k] = \delta, \qquad \hat\varepsilon = 1 \text{ at } k = n.

    One-sided: with probability at least 1 - delta over tasks and rollouts together, a new task misses the threshold
    with probability at most epsilon. Sound for every beta in [0, 1); no union bound over anything.

    Args:
        num_violations: k, tasks whose lower bound is not at least the threshold; integers in 0..n.
        num_tasks: n >= 1, tested up to 10**6.
        beta: failure probability of one lower bound, in [0, 1); 0 if every performance is known exactly.
        delta: failure probability of the certificate, in (0, 1).
        validate: raise for invalid values that are concrete; otherwise, and under a transformation, they give 1.

    All arguments broadcast against each other and may be traced.

    Returns:
        epsilon in (0, 1], never below the exact value for the rounded arguments; differentiable in beta and delta.

    Raises:
        ValueError: for k outside 0..n, n < 1, beta outside [0, 1) or delta outside (0, 1).

    Example:
        >>> print(f"{binomial_epsilon(0, 200, 0.01, 0.01):.4f}")
        0.0230

    Reference: the thinning lemma in the theory page, section on the binomial certificate.
    """
    k, n, beta, delta = epsilon_arguments(num_violations, num_tasks, beta, delta, validate, zero_beta=True)
    return elementwise(_epsilon, num_violations=k, num_tasks=n, beta=beta, delta=delta)


@jax.jit
def _epsilon(k: jax.Array, n: jax.Array, beta: jax.Array, delta: jax.Array) -> jax.Array:
    return inflate(upper_risk(k, n, delta), beta)


def inflate(risk: jax.Array, beta: jax.Array) -> jax.Array:
    """Epsilon from U(k; n, delta): U / (1 - beta), rounded up; 1 for an invalid beta."""
    valid = (beta >= 0) & (beta < 1)
    # One factor for all k. 1 - beta, the quotient and the product with it are off by 3.1 u.
    above_one = jnp.full_like(beta, 1 + 4 * unit_roundoff(risk.dtype))
    factor = quotient(above_one, 1 - jnp.where(valid, beta, 0.0))
    return jnp.where(valid, jnp.minimum(risk * factor, 1.0), 1.0)


@jax.jit
def upper_risk(k: jax.Array, n: jax.Array, delta: jax.Array) -> jax.Array:
    """U(k; n, delta) for arrays of one float type that broadcast; 1 wherever an argument is invalid."""
    # Beyond the significand not every n is a float: a level that is no number makes the risk 1.
    level = jnp.where(n <= most_tasks(n.dtype), delta, jnp.nan)
    return in_blocks(upper_limit, *jnp.broadcast_arrays(k, n, level))


# --- the method ---------------------------------------------------------------------------------------------------


@jax.jit
def _search(k: jax.Array, n: jax.Array, beta: jax.Array, delta: jax.Array) -> jax.Array:
    return upper_risk(k, n, delta)


def _finish(risk: jax.Array, k: jax.Array, n: jax.Array, beta: jax.Array) -> Solution:
    num_valid = jnp.broadcast_to(n - k, risk.shape).astype(jnp.int32)
    return Solution(inflate(risk, beta), num_valid, jnp.ones(risk.shape, bool))


def largest_beta(risk: jax.Array, wanted: jax.Array, n: Any) -> jax.Array:
    """The beta for wanted safeties [t], a function of n, delta and the safeties alone; risk: U for k = 0, 1, ....

    It is 1 - U(k*)/(1 - s), the largest beta with the same k* as 0.05, so that it costs nothing. If there is no k* at
    0.05, it is the largest beta with k* = 0. For several safeties it is the smallest of theirs; 0.05 where no beta has
    a k*.
    """
    # Smaller by as much as the rounding of epsilon may need.
    inflated = risk * (1 + 16 * unit_roundoff(risk.dtype))
    largest = next_down(1 - inflated[None, :] / complement_down(wanted)[:, None], 2)
    largest = jnp.where(in_front(largest, n), largest, -jnp.inf)
    usual = jnp.min(jnp.where(largest >= USUAL_BETA, largest, jnp.inf), axis=-1)
    smaller = jnp.where(largest[:, 0] > 0, largest[:, 0], jnp.inf)
    beta = jnp.min(jnp.where(usual < 1, usual, smaller))
    return jnp.where(beta < 1, beta, USUAL_BETA)


# Near 0.05, 0.25 and 0.6: more levels cost about as much in delta as they gain (benchmarks/levels.py).
CHOICE = Choice((3 / 64, 1 / 4, 5 / 8), calibrated)

BINOMIAL = Method(
    "binomial",
    count_bounds,
    Tail(_search, _finish),
    choice=CHOICE,
    zero_beta=True,
    free_beta=True,
)
