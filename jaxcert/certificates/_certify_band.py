"""From returns, or from lower bounds, to a certificate at all thresholds together."""

import math
from collections.abc import Sequence
from typing import Any

import chex
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count, is_concrete, refuse, require_real
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._arguments import (
    choose,
    default_bound,
    is_auto,
    levels_of,
    prepare_lower_bounds,
    prepare_thresholds,
    refuse_choice,
    thresholds_of,
)
from jaxcert.certificates._attained_band import (
    ATTAINED_LEVELS,
    band_of_successes,
    check_settings,
    level_of_successes,
)
from jaxcert.certificates._band import EQUAL_LOCAL_LEVELS, BandCertificate, band_of, level_of
from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._certificate import about
from jaxcert.certificates._counted_tasks import missing_of_counts
from jaxcert.certificates._question import Option, Question, same
from jaxcert.numerics._rounding import known
from jaxcert.returns._paired import Paired
from jaxcert.returns._prepared import Support, as_successes, probability
from jaxcert.returns._sample import sample_of, sample_of_numbers
from jaxcert.returns.summaries import Summary


def certify_band(
    returns: chex.Array | Summary | Paired,
    thresholds: chex.Numeric | Sequence[chex.Numeric] | None,
    *,
    support: Support | None = None,
    delta: chex.Numeric,
    beta: chex.Numeric | None = None,
    bound: str | None = None,
    kind: str | None = None,
    num_smallest: int | None = None,
    where: chex.Array | None = None,
    validate: bool = True,
) -> BandCertificate:
    r"""Certify a policy at all thresholds together, so that one may be chosen after a look at the curve.

    .. math:: P\big[\, \varepsilon(B) \le \hat\varepsilon(B) \text{ for all } B \,\big] \ge 1 - \delta, \qquad
              \hat\varepsilon(B) = \min\Big(1, \frac{u_{k(B)}}{1 - \beta}\Big),

    one-sided, over tasks and rollouts together. k(B) counts the tasks with a lower bound below B, and with probability
    at least 1 - delta the order statistics of n independent uniform numbers satisfy U_(k+1) <= u_k for all k < n.

    * "equal_local_levels": u_k = U(k; n, eta), the limit of ``certify`` at an eta for which that probability is 1 -
      delta exactly: delta / 34 at n = 200, delta = 0.01.
    * "attained_levels", for successes: no lower bounds, but U(k_c; n, eta) / (1 - tau_B(c)) at the best number of
      successes c, with k_c tasks that have fewer and tau_B(c) = P[Bin(m, B) >= c]. It costs little beside ``certify``,
      since eta is delta / m, or the eta of "equal_local_levels" if larger.

    Args:
        returns: float[..., n, m], bool for successes, a summary, or two policies (``paired``), as in ``certify``.
        thresholds: float[t], or a scalar for one, as they are to be reported. None for the whole curve: the sorted
            lower bounds [..., n], where it has its steps; for "attained_levels" 0.005, 0.01, ..., 0.995.
        support: (a, b), as in ``certify``.
        delta: failure probability of all thresholds together, in (0, 1); a scalar. One that is traced, and cannot be
            read, is divided by the union bound: eta = delta / n, or delta / num_smallest.
        beta: failure probability of one lower bound, in (0, 1); a scalar. 0.05 by default. "attained_levels" has none:
            the certificate's ``beta`` is then the level that was attained, [..., t].
        bound: as in ``certify``.
        kind: "equal_local_levels", or "attained_levels" for returns of 0 and 1. By default the latter for
            successes, an array of bool, without a beta or another bound, and the former for others.
        num_smallest: K in 1..n: fixed beforehand, only k < K violations certify anything, for
            an eta that is larger: delta / 6.2 for K = 20 at n = 200, delta = 0.01.
        where: as in ``certify``.
        validate: as in ``certify``.

    The first call for an n and a delta finds eta on the host: milliseconds up to n = 200, seconds at n = 10^4.

    Returns:
        A ``BandCertificate`` with arrays [..., t].

    Raises:
        ValueError: as ``certify``, and for a kind that does not exist or a num_smallest out of range or without effect.

    Warns:
        UserWarning: for thresholds outside the support, as ``certify``.

    Example:
        >>> import jaxcert
        >>> import jax.numpy as jnp
        >>> returns = jaxcert.sample_returns("cheetah")
        >>> curve = certify_band(returns, None, support=(0, 1000), delta=0.01)
        >>> best = int(jnp.sum(curve.safety >= 0.8)) - 1  # chosen from the curve
        >>> print(f"{curve.thresholds[best]:.0f} on {curve.safety[best]:.3f} of new tasks")
        573 on 0.805 of new tasks

    Reference: the theory page, section 15; Berk & Jones (1979), Moscovich & Nadler (2017).
    """
    returns = as_successes(returns, support, where, bound)
    kind, bound = _defaults(kind, bound, beta, returns)
    per_task = choose("bound", bound, BOUNDS)
    sample = sample_of(per_task.needs, returns, support, where, validate)
    dtype, n = sample.dtype, int(sample.num_tasks)
    if thresholds is not None:
        thresholds = thresholds_of(sample, thresholds, validate)
    if kind == ATTAINED_LEVELS:
        level = level_of_successes(sample, delta, num_smallest)
        delta = probability("delta", delta, dtype, "down", validate=validate, scalar=True)
        return band_of_successes(sample, thresholds, delta, level, num_smallest)
    settings = {"level": level_of(delta, n, num_smallest, dtype), "num_smallest": num_smallest}
    delta, beta = levels_of(BINOMIAL, delta, beta, sample, validate)
    return about(band_of(per_task, sample, thresholds, **settings, beta=beta, delta=delta), returns)


def _defaults(kind: str | None, bound: str | None, beta: Any, returns: Any) -> tuple[str, str]:
    """The names of kind and bound; successes have a kind of their own, unless a level or another bound is asked for."""
    usual = default_bound(None, returns)
    if kind is None:
        exact = usual == CLOPPER_PEARSON.name == (bound or usual) and (beta is None or is_auto(beta))
        kind = ATTAINED_LEVELS if exact else EQUAL_LOCAL_LEVELS
    _check_kind("kind", kind)
    if kind == ATTAINED_LEVELS:
        bound = bound or CLOPPER_PEARSON.name
        check_settings(bound, beta)
    else:
        refuse_choice(beta, "a number, or None for 0.05")
    return kind, bound or usual


def _check_kind(name: str, value: str) -> None:
    choose(name, value, {kind: kind for kind in (EQUAL_LOCAL_LEVELS, ATTAINED_LEVELS)})


def certify_lower_bounds_band(
    lower_bounds: chex.Array | Sequence[float],
    thresholds: chex.Numeric | Sequence[chex.Numeric] | None,
    *,
    delta: chex.Numeric,
    beta: chex.Numeric,
    low: chex.Numeric = -math.inf,
    num_smallest: int | None = None,
    validate: bool = True,
) -> BandCertificate:
    """Certify at all thresholds together from lower bounds that were computed elsewhere.

    Args:
        lower_bounds: float[..., n], as in ``certify_lower_bounds``.
        thresholds: as in ``certify_band``.
        delta: as in ``certify_band``.
        beta: failure probability of one lower bound, in [0, 1); 0 if performances are known exactly.
        low: the lower end of the support, which no performance is below; ``certify_tail`` needs it for means.
        num_smallest: as in ``certify_band``.
        validate: as in ``certify``.

    Returns:
        A ``BandCertificate`` with arrays [..., t] and ``bound`` "given".

    Raises:
        ValueError: as ``certify_lower_bounds`` and ``certify_band``, and for a low that is no number below infinity.

    Example:
        >>> import jax.numpy as jnp
        >>> curve = certify_lower_bounds_band(jnp.arange(200.0), None, delta=0.01, beta=0.01)
        >>> print(f"{curve.epsilon[0]:.4f} {curve.epsilon[20]:.4f}")
        0.0402 0.1938
    """
    refuse_choice(beta, "a number: the level of the given lower bounds")
    lower = prepare_lower_bounds(lower_bounds, validate)
    dtype, n = lower.dtype, lower.shape[-1]
    if thresholds is not None:
        thresholds = prepare_thresholds(thresholds, dtype, validate)
    settings = {"level": level_of(delta, n, num_smallest, dtype), "num_smallest": num_smallest}
    checks: dict[str, Any] = {"validate": validate, "scalar": True}
    delta = probability("delta", delta, dtype, "down", **checks)
    beta = probability("beta", beta, dtype, "up", zero_allowed=True, **checks)
    sample = sample_of_numbers(lower).replace(low=_lower_end(low, dtype, validate))
    return band_of("given", sample, thresholds, **settings, beta=beta, delta=delta)


def _lower_end(low: Any, dtype: np.dtype, validate: bool) -> Any:
    """The lower end of the support rounded down; -inf for NaN or infinity."""
    require_real("low", low)
    if np.ndim(low):
        raise ValueError(f"low has shape {np.shape(low)}; expected a scalar")
    if validate and is_concrete(low):
        end = np.asarray(low, np.float64)
        refuse("low", end, end < np.inf, "a number, or -inf if it is not known")
    rounded = known(low, dtype, "down")
    return (np if is_concrete(low) else jnp).where(rounded < np.inf, rounded, np.asarray(-np.inf, dtype))


def _curve(certificate: BandCertificate, lower_bounds: chex.Array, thresholds: np.ndarray) -> BandCertificate:
    settings: dict[str, Any] = {"delta": certificate.delta, "beta": certificate.beta, "low": certificate.low}
    settings |= {"num_smallest": certificate.num_smallest}
    return certify_lower_bounds_band(lower_bounds, thresholds, **settings)


BAND = Question(
    name="band",
    words="on what share of new tasks is the performance at least a threshold, at all thresholds at once?",
    function=certify_band,
    paired=True,
    certificate=BandCertificate,
    settings={**same("delta", "beta", "bound", "num_smallest"), "kind": "method"},
    options=(
        Option("kind", str, "Which band", check=_check_kind),
        Option("num_smallest", int, "Certify up to so many violations alone, and more there", check=check_count),
    ),
    curve=_curve,
    missing=missing_of_counts,
)
