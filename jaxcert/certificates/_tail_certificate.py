"""Quantiles and means of the worst share of tasks, from a certificate at all thresholds together."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import ClassVar

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Ends, finish
from jaxcert.certificates._access import ByThreshold
from jaxcert.certificates._arguments import as_row
from jaxcert.certificates._attained_band import ATTAINED_LEVELS, curve_of
from jaxcert.certificates._band import BandCertificate, risks
from jaxcert.certificates._batch_axes import along
from jaxcert.certificates._certificate import EXPECTED_RETURN, Status
from jaxcert.certificates._counting import bad_levels
from jaxcert.certificates._figures import ceil_figures, floor_figures, floor_to, status_where
from jaxcert.certificates._headline import InWords
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import unit_roundoff
from jaxcert.numerics._summation import sum_error, tree_sum
from jaxcert.returns._prepared import probability
from jaxcert.returns._sample import placed


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TailCertificate(InWords, ByThreshold):
    """What the worst share of new tasks can be relied on for; a pytree of arrays.

    With probability at least 1 - delta over the sampled tasks and rollouts, for all shares v and the band together:
    P[J < quantile(v)] <= v for a new task, and the mean of J over the worst share v of tasks is at least cvar(v).

    Attributes:
        shares: v, rounded down, float[a].
        quantiles: lower bounds on the v-quantile of J over tasks, float[..., a]; the lower end of the support where
            nothing is certified.
        cvar: lower bounds on the mean of J over the worst share v of tasks, float[..., a]; -inf if the lower end of
            the support is not known.
        status: codes of ``Status``, int32[..., a].
        delta: failure probability of everything together, float[...].
        quantity: what J is, in words (static).

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxcert import certify_lower_bounds_band, certify_tail
        >>> curve = certify_lower_bounds_band(jnp.arange(200.0), None, delta=0.01, beta=0.01, low=0.0)
        >>> print(certify_tail(curve, 0.2))
        With confidence 0.99 for all together: the expected return on the worst 0.2 of tasks is at least 7.228628 on
        average, and on a new task at least 20 with probability at least 0.8000.
    """

    shares: jax.Array = dataclasses.field(metadata=along("share", column="share"))
    quantiles: jax.Array = dataclasses.field(metadata=along("share", column="quantile"))
    cvar: jax.Array = dataclasses.field(metadata=along("share"))
    status: jax.Array = dataclasses.field(metadata=along("share"))
    delta: jax.Array
    quantity: str = dataclasses.field(default=EXPECTED_RETURN, metadata={"static": True})

    _shown: ClassVar = ("shares", "quantiles", "cvar", "delta")

    def _sentence(self, index: int) -> str:
        """Every figure on its safe side: a larger share has a larger mean."""
        share, quantile, mean, status = self._held(index, "shares", "quantiles", "cvar", "status")
        if not quantile > -np.inf or status == Status.VACUOUS:
            return self._nothing(f"the worst {ceil_figures(share)} of tasks")
        average = f"on the worst {ceil_figures(share)} of tasks is at least {floor_figures(mean)} on average, and "
        return (
            f"{self._start}: the {self.quantity} {average if mean > -np.inf else ''}on a new task "
            f"{'' if mean > -np.inf else 'is '}at least {floor_figures(quantile)} with probability at least "
            f"{floor_to(1 - share, 4)}.{self._note(index)}"
        )

    @property
    def _start(self) -> str:
        return f"{super()._start} for all together"


def certify_tail(
    band: BandCertificate, shares: chex.Numeric | Sequence[float], *, validate: bool = True
) -> TailCertificate:
    r"""Quantiles of the performance over tasks, and means over the worst share of them.

    With e_k = min(1, u_k / (1 - beta)) of the band, the ordered lower bounds L_(1) <= ... <= L_(n), the lower end a of
    the support, and L_(0) = a,

    .. math:: \hat q(v) = \max\big(a, \max\{L_{(k + 1)} : e_k < v\}\big), \qquad
              \frac1v \int_0^v \hat q(w)\, dw = a + \frac1v \sum_{k < n} (L_{(k + 1)} - L_{(k)}) (v - e_k)^+

    are at most the v-quantile of J and its mean over the worst share v of tasks (CVaR, lower tail), one-sided, at all v
    and all thresholds of the band together: no further delta is spent.

    Args:
        band: of ``certify_band`` or ``certify_lower_bounds_band``; only what it counts and its settings are used.
        shares: v in (0, 1), a scalar or float[a].
        validate: raise for shares that are concrete and invalid. Otherwise nothing is certified for them.

    Returns:
        A ``TailCertificate`` with arrays [..., a].

    Raises:
        ValueError: for shares outside (0, 1), or with more than one axis, or something else than a band.

    Example:
        >>> import jaxcert
        >>> import numpy as np
        >>> returns = jaxcert.sample_returns("cheetah")
        >>> curve = jaxcert.certify_band(returns, None, support=(0, 1000), delta=0.01)
        >>> tail = certify_tail(curve, [0.1, 0.25])
        >>> print(np.asarray(tail.quantiles, float).round(), np.asarray(tail.cvar, float).round())
        [478. 604.] [262. 439.]

    Reference: the theory page, section 15.3; Rockafellar & Uryasev (2000) for the mean.
    """
    if not isinstance(band, BandCertificate):
        raise ValueError(f"band has type {type(band).__name__}; expected a certificate of certify_band")
    dtype = band.level.dtype
    wanted = as_row("shares", probability("shares", shares, dtype, "down", validate=validate))
    if band.method == ATTAINED_LEVELS:
        fields = _tail_of_curve(*curve_of(band), band.lower_bounds, band.low, placed(wanted), band.level)
    else:
        given = band.bound == "given"
        fields = _tail(risks(band), band.lower_bounds, band.low, placed(wanted), band.beta, band.level, given=given)
    return TailCertificate(**fields, shares=placed(wanted), delta=band.delta, quantity=band.quantity)


@functools.partial(jax.jit, static_argnames="given")
def _tail(epsilon, lower, low, shares, beta, level, *, given: bool) -> dict[str, jax.Array]:
    """The fields [..., a] from risks for k = 0, 1, ..., lower bounds [..., n] and shares [a]."""
    bad_task = jnp.any(jnp.isnan(lower) if given else jnp.isneginf(lower), axis=-1, keepdims=True)
    ordered = jnp.sort(jnp.where(jnp.isnan(lower), -jnp.inf, lower), axis=-1)
    return _fields(ordered, epsilon[: lower.shape[-1]], low, shares, bad_task, bad_levels(beta, level))


@jax.jit
def _tail_of_curve(thresholds, epsilon, lower, low, shares, level) -> dict[str, jax.Array]:
    """The fields [..., a] from risks [..., g] at thresholds [g] in increasing order."""
    bad_task = jnp.any(jnp.isneginf(lower), axis=-1, keepdims=True)
    ordered = jnp.broadcast_to(thresholds, epsilon.shape)
    return _fields(ordered, epsilon, low, shares, bad_task, bad_levels(level, level))


def _fields(ordered, epsilon, low, shares, bad_task, bad_setting) -> dict[str, jax.Array]:
    """From thresholds [..., g] in increasing order and their risks, [g] or [..., g]."""
    # Increasing but for its rounding; a larger risk is safe.
    risk = jax.lax.cummax(epsilon, axis=epsilon.ndim - 1)
    quantiles = _quantiles(ordered, low, risk, shares)
    bad_setting = jnp.broadcast_to(bad_setting | ~((shares > 0) & (shares < 1)), quantiles.shape)
    # The lower end of the support is certified by definition, unless data contradict the support.
    holds = ~bad_setting & (~bad_task | (quantiles > low))
    return {
        "quantiles": jnp.where(holds, quantiles, -jnp.inf),
        "cvar": _means(ordered, low, risk, shares, ~bad_setting & ~bad_task),
        "status": status_where(quantiles > low, ~(bad_task | bad_setting)),
    }


def _quantiles(ordered: jax.Array, low: jax.Array, risk: jax.Array, shares: jax.Array) -> jax.Array:
    """The largest lower bound at which fewer than the share are below; the lower end if there is none."""
    below = risk[..., None, :] < _column(shares, risk)
    count = jnp.broadcast_to(jnp.sum(below, axis=-1, dtype=jnp.int32), (*ordered.shape[:-1], shares.size))
    reached = jnp.take_along_axis(ordered, jnp.maximum(count - 1, 0), axis=-1)
    return jnp.where(count > 0, jnp.maximum(reached, low), low)


def _column(shares: jax.Array, risk: jax.Array) -> jax.Array:
    """[a] to [..., a, 1], as a risk [..., g] needs it."""
    return shares.reshape(*(1,) * (risk.ndim - 1), -1, 1)


def _means(ordered: jax.Array, low: jax.Array, risk: jax.Array, shares: jax.Array, valid: jax.Array) -> jax.Array:
    """The mean of the quantiles up to each share, by parts: all terms are at least 0."""
    reached = jnp.maximum(ordered, low)
    before = jnp.concatenate([jnp.broadcast_to(low, reached[..., :1].shape), reached[..., :-1]], axis=-1)
    spare = jnp.maximum(_column(shares, risk) - risk[..., None, :], 0)
    steps = (reached - before)[..., None, :]
    total = tree_sum(steps * jnp.expand_dims(spare, range(steps.ndim - spare.ndim)))
    # Two differences, a product, a quotient that a GPU may get wrong by 2 u, and this product.
    slack = sum_error(ordered.shape[-1], total.dtype) + 8 * unit_roundoff(total.dtype)
    return finish(quotient(total, jnp.broadcast_to(shares, total.shape)) * (1 - slack), Ends(low, valid))
