"""New tasks that differ from the sampled ones: how far, and what an event's probability may become at that distance."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Numeric
from jaxcert._validation import as_numbers, choose, is_concrete, is_traced, kind_of, refuse, require_real
from jaxcert.certificates._certificate import Certificate, Status
from jaxcert.numerics._batches import common_shape
from jaxcert.numerics._binomial_kernel import deviance
from jaxcert.numerics._elementary import log, log1p, quotient
from jaxcert.numerics._root import safe_root
from jaxcert.numerics._rounding import cast, complement_down, compute_dtype, in_unit, unit_roundoff


@dataclasses.dataclass(frozen=True)
class Divergence:
    """How far the distribution of new tasks, D', is from the sampled one, D; hashable."""

    name: str  # as in ``shifted_epsilon(divergence=...)``
    least: float  # the radius at which D' is D
    largest: float  # the largest radius that there is
    # (epsilon, radius) -> the largest D'(A) with D(A) = epsilon within the radius, or more than 1 where that is 1;
    # elementwise, for epsilon in (0, 1) and larger radii than the least. Never below the exact value.
    enlarge: Callable[[jax.Array, jax.Array], jax.Array]
    keeps_null: bool = True  # whether D(A) = 0 implies D'(A) = 0; otherwise the radius is what D'(A) can be

    @property
    def expected(self) -> str:
        """The possible radii, in words."""
        if self.largest < float("inf"):
            return f"a number from {self.least:g} to {self.largest:g}"
        return f"a finite number of at least {self.least:g}"


def shifted_epsilon(epsilon: Numeric, radius: Numeric, *, divergence: str, validate: bool = True) -> jax.Array:
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
    divergences together, since it depends only on the risk.

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
    within = bounded("radius", radius, dtype, chosen.least, chosen.largest, chosen.expected, validate)
    common_shape(epsilon=risk, radius=within)
    return enlarged(chosen, risk, within)


def bounded(
    name: str, value: Any, dtype: np.dtype, least: float, largest: float, expected: str, validate: bool
) -> jax.Array:
    """The value rounded up and kept within its range; NaN where it is outside and was not refused."""
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
    inside = in_unit(epsilon) & (radius > divergence.least)
    risk = divergence.enlarge(jnp.where(inside, epsilon, 0.5), jnp.where(inside, radius, divergence.least + 0.25))
    edge = epsilon if divergence.keeps_null else jnp.maximum(epsilon, radius)
    value = jnp.where(inside, jnp.clip(risk, epsilon, 1.0), edge)
    return jnp.where(jnp.isnan(epsilon) | jnp.isnan(radius), 1.0, value)


# --- the divergences ------------------------------------------------------------------------------------------------


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
    "total_variation", 0.0, 1.0, lambda epsilon, radius: _rounded_up(epsilon + radius), keeps_null=False
)
CHI2 = Divergence("chi2", 0.0, jnp.inf, _chi2)
RATIO = Divergence("ratio", 1.0, jnp.inf, lambda epsilon, radius: _rounded_up(epsilon * radius))


@jax.custom_jvp
def _enlarged(epsilon: jax.Array, radius: jax.Array) -> jax.Array:
    """A q with kl(q, epsilon) >= radius, near the smallest one above epsilon; 1 if kl(1, epsilon) <= radius."""
    u = unit_roundoff(epsilon.dtype)

    def evaluate(q: jax.Array) -> tuple[jax.Array, jax.Array]:
        # kl(q, p) = q ln(q/p) + (1 - q) ln((1 - q)/(1 - p)), as a sum of two positive terms.
        found = deviance(q, epsilon, q - epsilon) + deviance(1 - q, 1 - epsilon, epsilon - q)
        # Its relative error is below 24 u (tests/certificates/test_shifted_epsilon.py), and the difference is rounded.
        # A margin below the smallest normal number would be flushed to 0.
        residual = (radius - found) + jnp.maximum(32 * u * found, float(jnp.finfo(epsilon.dtype).tiny))
        # kl is convex in q: every step of Newton's method after the first lands on the safe side.
        return residual, q + residual / _slope(q, epsilon)

    # Bernstein's inequality, which lies above the root.
    third = radius / 3
    start = epsilon + third + jnp.sqrt(third * third + 2 * radius * (epsilon * (1 - epsilon)))
    one = jnp.ones_like(epsilon)
    certain = -log(epsilon) <= radius
    # Where the answer is 1, the bracket is closed from the start: no step is waited for.
    return safe_root(evaluate, start, safe=one, unsafe=jnp.where(certain, one, epsilon))


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


def _slope(q: jax.Array, p: jax.Array) -> jax.Array:
    """The derivative of kl(q, p) in q > p: the difference of the log-odds, which is not 0."""
    info = jnp.finfo(q.dtype)
    odds = jnp.minimum(quotient(q - p, p) / (1 - q), info.max)
    return log1p(jnp.maximum(odds, info.tiny))


KULLBACK_LEIBLER = Divergence("kl", 0.0, jnp.inf, _enlarged)

_ALL = (CHI2, KULLBACK_LEIBLER, RATIO, TOTAL_VARIATION)
DIVERGENCES = {divergence.name: divergence for divergence in _ALL}


# --- a certificate after a shift --------------------------------------------------------------------------------------


def certify_shift(
    certificate: Certificate,
    *,
    divergence: str,
    radius: Numeric,
    validate: bool = True,
) -> Certificate:
    r"""Certify new tasks that differ from the sampled ones by a stated amount, from a certificate.

    If the certificate has the risk epsilon at B for tasks from D, then for every distribution D' within the radius

    .. math:: P_{M \sim D'}[J_M \ge B] \ge 1 - \varepsilon', \qquad
              \varepsilon' = \texttt{shifted\_epsilon}(\varepsilon, \rho),

    in the same event of probability 1 - delta: for all D', radii and divergences together, so that they may be chosen
    after a look at the result. Nothing better holds as a function of epsilon.

    Everything else stays as before: the certificate is about the same quantity and still holds at all thresholds
    together or at every moment if it did. D' differs from the distribution that it was about (for ``certify_weighted``,
    the reweighted one).

    Args:
        certificate: of ``certify``, ``certify_safety_level``, ``certify_band``, ``certify_sequential``,
            ``certify_improvement`` and the like, also batched. Its thresholds stay as they were fixed, single or all
            together. Thresholds of safety levels stay as well, and their safety becomes smaller.
        divergence: "total_variation", "kl", "chi2" or "ratio", as in ``shifted_epsilon``.
        radius: the divergence of D' from D is at most this; a scalar (``jax.vmap`` for several).
        validate: raise for a radius that is concrete and out of range; otherwise, and under a transformation, nothing
            is certified.

    Returns:
        A ``Certificate`` with arrays of the same shapes; the one that was shifted is its ``sampled``.

    Raises:
        ValueError: for a certificate that does not bound a share of tasks from below alone, or is one of a shift;
            another divergence, and a radius out of range or with axes.

    Example:
        >>> import jaxcert
        >>> returns = jaxcert.sample_returns("cheetah")
        >>> sampled = jaxcert.certify(returns, 400.0, support=(0, 1000), delta=0.01)
        >>> print(certify_shift(sampled, divergence="kl", radius=0.02))
        With confidence 0.99: on a new task from any distribution within KL divergence 0.02 of the sampled one,
        the expected return is at least 400 with probability at least 0.9396.

    Reference: the theory page, section 19.
    """
    _check_certificate(certificate)
    chosen, dtype = choose("divergence", divergence, DIVERGENCES), certificate.epsilon.dtype
    if np.ndim(radius):
        raise ValueError(f"radius has shape {np.shape(radius)}; expected a scalar (use jax.vmap for several)")
    within = bounded("radius", radius, dtype, chosen.least, chosen.largest, chosen.expected, validate)
    before = {name: getattr(certificate, name) for name in ("safety", "epsilon", "status")}
    fields = _shifted(chosen, before, within)
    shift = {"divergence": divergence, "radius": within}
    return dataclasses.replace(certificate, **fields, **shift, history=None, sampled=certificate)


@functools.partial(jax.jit, static_argnums=0)
def _shifted(divergence: Divergence, before: dict, radius: jax.Array) -> dict[str, jax.Array]:
    bad, status = jnp.isnan(radius), before["status"]
    epsilon = jnp.where(bad, 1.0, enlarged(divergence, before["epsilon"], radius))
    safety = jnp.where(bad, 0.0, jnp.minimum(before["safety"], complement_down(epsilon)))
    says_nothing = (epsilon >= 1) & ((status == Status.CERTIFIED.value) | (status == Status.OUT_OF_RANGE.value))
    status = jnp.where(says_nothing, Status.VACUOUS.value, status)
    status = jnp.where(bad, Status.INVALID_INPUT.value, status).astype(jnp.int32)
    return {"safety": safety, "epsilon": epsilon, "status": status}


def _check_certificate(certificate: Any) -> None:
    if isinstance(getattr(certificate, "certificate", None), Certificate):
        raise ValueError(f"certificate is {kind_of(certificate)} with rollouts; expected its .certificate")
    if not (isinstance(certificate, Certificate) and certificate.question):  # an estimate answers none
        raise ValueError(
            f"certificate is {kind_of(certificate)}; expected one of a share of new tasks, such as certify returns"
        )
    if certificate.sampled is not None:
        raise ValueError(
            "certificate is shifted already; expected its .sampled, and one shift by both: total variation distances "
            "add up, ratios multiply"
        )
    if certificate.safety_upper is not None:
        raise ValueError(
            "certificate is of an interval, whose upper end would be lost; apply shifted_epsilon to its epsilon and to "
            "its safety_upper"
        )
