"""The band of constant width, by the inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's constant."""

import jax
import jax.numpy as jnp

from jaxcert.certificates._binomial import BINOMIAL, inflate
from jaxcert.certificates._method import Method, Solution
from jaxcert.certificates.band._band import Band
from jaxcert.numerics._elementary import log, quotient
from jaxcert.numerics._rounding import unit_roundoff


@jax.jit
def _solve(k: jax.Array, n: jax.Array, beta: jax.Array, level: jax.Array) -> Solution:
    """u_k = k/n + sqrt(ln(1/level) / 2n)."""
    valid = (k >= 0) & (k < n) & (level > 0) & (level < 1)
    # Massart's constant is for levels up to 1/2.
    width = jnp.sqrt(quotient(-log(jnp.where(valid, jnp.minimum(level, 0.5), 0.5)), jnp.broadcast_to(2 * n, k.shape)))
    risk = quotient(k, jnp.broadcast_to(n, k.shape)) + width
    # Two quotients, a logarithm and a root that a GPU may get wrong by 2 to 4 u, and a sum.
    risk = jnp.where(valid, jnp.minimum(risk * (1 + 12 * unit_roundoff(risk.dtype)), 1.0), 1.0)
    return Solution(inflate(risk, beta), jnp.broadcast_to(n - k, k.shape).astype(jnp.int32), jnp.ones(k.shape, bool))


DKW_BAND = Band(
    Method("dkw", _solve, BINOMIAL.default_beta, zero_beta=True),
    lambda num_tasks, delta, last: delta,
    parts=lambda last: 1,
)
