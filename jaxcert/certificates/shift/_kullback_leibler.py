"""The Kullback-Leibler divergence: the largest probability of an event is a root."""

import jax
import jax.numpy as jnp

from jaxcert.certificates.shift._divergence import Divergence
from jaxcert.numerics._binomial_kernel import deviance
from jaxcert.numerics._elementary import log, log1p, quotient
from jaxcert.numerics._root import safe_root
from jaxcert.numerics._rounding import unit_roundoff


@jax.custom_jvp
def _enlarged(epsilon: jax.Array, radius: jax.Array) -> jax.Array:
    """A q with kl(q, epsilon) >= radius, near the smallest one above epsilon; 1 if kl(1, epsilon) <= radius."""
    u = unit_roundoff(epsilon.dtype)

    def evaluate(q: jax.Array) -> tuple[jax.Array, jax.Array]:
        found = _divergence(q, epsilon)
        # Its relative error is below 24 u (tests/certificates/test_shifted_epsilon.py), and the difference is rounded.
        residual = (radius - found) + 32 * u * found
        # kl is convex in q: every step of Newton's method after the first lands on the safe side.
        return residual, q + residual / _slope(q, epsilon)

    # Bernstein's inequality, which lies above the root.
    third = radius / 3
    start = epsilon + third + jnp.sqrt(third * third + 2 * radius * (epsilon * (1 - epsilon)))
    one = jnp.ones_like(epsilon)
    certain = -log(epsilon) <= radius
    # Where the answer is 1, the bracket is closed from the start: no step is waited for.
    return safe_root(evaluate, start, safe=one, unsafe=jnp.where(certain, one, epsilon)).root


@_enlarged.defjvp
def _enlarged_jvp(primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    """By the implicit function theorem; 0 at 1."""
    epsilon, radius = primals
    q = _enlarged(epsilon, radius)
    inside = q < 1
    q_inside = jnp.where(inside, q, 0.5 * (1 + epsilon))
    in_radius = 1 / _slope(q_inside, epsilon)
    in_epsilon = (q_inside - epsilon) / (epsilon * (1 - epsilon)) * in_radius
    return q, jnp.where(inside, in_epsilon * tangents[0] + in_radius * tangents[1], 0.0)


def _divergence(q: jax.Array, p: jax.Array) -> jax.Array:
    """kl(q, p) = q ln(q/p) + (1 - q) ln((1 - q)/(1 - p)) for q > p, as a sum of two positive terms."""
    d = q - p
    return deviance(q, p, d) + deviance(1 - q, 1 - p, -d)


def _slope(q: jax.Array, p: jax.Array) -> jax.Array:
    """The derivative of kl(q, p) in q > p: the difference of the log-odds, which is not 0."""
    info = jnp.finfo(q.dtype)
    odds = jnp.minimum(quotient(q - p, p) / (1 - q), info.max)
    return log1p(jnp.maximum(odds, info.tiny))


KULLBACK_LEIBLER = Divergence("kl", "any distribution within KL divergence {} of {}", 0.0, jnp.inf, _enlarged)
