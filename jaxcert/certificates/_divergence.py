"""How far one distribution is from another, and what an event's probability may become at that distance."""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxcert.numerics._binomial_kernel import deviance
from jaxcert.numerics._elementary import log, log1p, quotient
from jaxcert.numerics._root import safe_root
from jaxcert.numerics._rounding import unit_roundoff
from jaxcert.numerics._summation import add_reward, lower_end, nothing


@dataclasses.dataclass(frozen=True)
class Divergence:
    """How far the distribution of new tasks, D', is from the sampled one, D; hashable.

    Attributes:
        name: as in ``shifted_epsilon(divergence=...)``.
        distribution: a new task's distribution in words, with "{}" for the radius and for the one that it is near.
        least: the radius at which D' is D.
        largest: the largest radius that there is.
        enlarge: (epsilon, radius) -> the largest D'(A) with D(A) = epsilon within the radius, or more than 1 where that
            is 1; elementwise, for epsilon in (0, 1) and larger radii than ``least``. Never below the exact value.
        keeps_null: whether D(A) = 0 implies D'(A) = 0; otherwise the radius is what D'(A) can be.
        chain: (radius, one from there on) -> the radius of both together, rounded up; None where such distributions lie
            within no radius of this divergence.
    """

    name: str
    distribution: str
    least: float
    largest: float
    enlarge: Callable[[jax.Array, jax.Array], jax.Array]
    keeps_null: bool = True
    chain: Callable[[jax.Array, jax.Array], jax.Array] | None = None

    @property
    def expected(self) -> str:
        """Which radii there are, in words."""
        if self.largest < float("inf"):
            return f"a number from {self.least:g} to {self.largest:g}"
        return f"a finite number of at least {self.least:g}"


@jax.jit
def sums(first: jax.Array, second: jax.Array) -> jax.Array:
    """first + second rounded up.

    Example:
        >>> import jax.numpy as jnp
        >>> float(sums(jnp.float32(0.25), jnp.float32(0.5)))
        0.75
    """
    return _unless_trivial(first, second, 0, -minus(-first, second))


@jax.jit
def products(first: jax.Array, second: jax.Array) -> jax.Array:
    """first * second rounded up, of numbers from 1 on.

    Example:
        >>> import jax.numpy as jnp
        >>> bool(products(jnp.float32(1.5), jnp.float32(2.0)) >= 3)
        True
    """
    # Two products.
    return _unless_trivial(first, second, 1, first * second * (1 + 4 * unit_roundoff(first.dtype)))


def minus(x: jax.Array, y: jax.Array) -> jax.Array:
    """x - y for finite numbers, exact or rounded down; -inf where that is beyond the type.

    Example:
        >>> import jax.numpy as jnp
        >>> float(minus(jnp.float32(1.0), jnp.float32(0.25)))
        0.75
    """
    difference = lower_end(add_reward(add_reward(nothing(x), x), -y))
    return jnp.where(jnp.isnan(difference) & (x - y < 0), -jnp.inf, difference)


def _unless_trivial(first: jax.Array, second: jax.Array, least: float, total: jax.Array) -> jax.Array:
    """What was found, but for a shift by nothing, which changes no digit."""
    return jnp.where(second == least, first, jnp.where(first == least, second, total))


def _total_variation(epsilon: jax.Array, radius: jax.Array) -> jax.Array:
    return _rounded_up(epsilon + radius)


def _ratio(epsilon: jax.Array, radius: jax.Array) -> jax.Array:
    return _rounded_up(epsilon * radius)


def _chi2(epsilon: jax.Array, radius: jax.Array) -> jax.Array:
    # The radius has a root of its own, since its product with epsilon may be too small for the type.
    deviation = jnp.sqrt(radius) * jnp.sqrt(epsilon * (1 - epsilon))
    # Half of the errors of 1 - epsilon and its product, two roots that a GPU may get wrong by 2 u, and two products.
    deviation = deviation * (1 + 12 * unit_roundoff(epsilon.dtype))
    return _rounded_up(epsilon + jnp.maximum(deviation, jnp.finfo(epsilon.dtype).tiny))


def _rounded_up(x: jax.Array) -> jax.Array:
    """At least the exact value of one rounded operation with the result x."""
    return x * (1 + 4 * unit_roundoff(x.dtype))


TOTAL_VARIATION = Divergence(
    "total_variation",
    "any distribution within total variation distance {} of {}",
    0.0,
    1.0,
    _total_variation,
    keeps_null=False,
    chain=sums,
)
CHI2 = Divergence("chi2", "any distribution within chi-squared divergence {} of {}", 0.0, jnp.inf, _chi2)
RATIO = Divergence(
    "ratio", "any distribution with a density of at most {} times {}", 1.0, jnp.inf, _ratio, chain=products
)


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

_ALL = (CHI2, KULLBACK_LEIBLER, RATIO, TOTAL_VARIATION)
DIVERGENCES = {divergence.name: divergence for divergence in _ALL}
