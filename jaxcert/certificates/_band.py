"""Certificates at all thresholds together: from returns, or from lower bounds."""

import functools
from collections.abc import Sequence
from typing import Any, Literal

from jaxcert._types import Array, Numeric
from jaxcert.bounds._bound import Bound
from jaxcert.certificates._attained import ATTAINED_LEVELS, GRID, fields_of_band
from jaxcert.certificates._certificate import Certificate, answer, quantity_of
from jaxcert.certificates._certify import curve_of_counts
from jaxcert.certificates._counting import solved
from jaxcert.certificates._method import BINOMIAL
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import (
    Returns,
    defaults,
    given_bounds,
    is_auto,
    levels_of,
    prepare_thresholds,
    thresholds_of,
)
from jaxcert.numerics._calibration import local_level
from jaxcert.returns._prepared import Support, as_successes, divided, probability
from jaxcert.returns._sample import Sample, padded_rows, sample_of

# The kind of band that counts lower bounds: u_k = U(k; n, level), the binomial certificate at a smaller delta.
EQUAL_LOCAL_LEVELS = "equal_local_levels"


def certify_band(
    returns: Returns,
    thresholds: Numeric | Sequence[Numeric] | None,
    *,
    support: Support | None = None,
    delta: Numeric,
    beta: Numeric | Literal["auto"] | None = None,
    bound: str | None = None,
    where: Array | None = None,
    validate: bool = True,
) -> Certificate:
    r"""Certify a policy at all thresholds together, so that one may be chosen after a look at the curve.

    .. math:: P\big[\, \varepsilon(B) \le \hat\varepsilon(B) \text{ for all } B \,\big] \ge 1 - \delta, \qquad
              \hat\varepsilon(B) = \min\Big(1, \frac{u_{k(B)}}{1 - \beta}\Big),

    one-sided, over tasks and rollouts together. k(B) counts the tasks with a lower bound below B, and with probability
    at least 1 - delta the order statistics of n independent uniform numbers satisfy U_(k+1) <= u_k for all k < n.

    * "equal_local_levels", of lower bounds: u_k = U(k; n, eta), the limit of ``certify`` at an eta for which that
      probability is 1 - delta exactly: delta / 34 at n = 200, delta = 0.01.
    * "attained_levels", of successes without a beta or another bound: no lower bounds, but U(k_c; n, eta) / (1 -
      tau_B(c)) at the best number of successes c, with k_c tasks that have fewer and tau_B(c) = P[Bin(m, B) >= c]. It
      costs little beside ``certify``, since eta is delta / m, or the eta of "equal_local_levels" if larger.

    Args:
        returns: float[..., n, m], bool for successes, a summary, or two policies (``paired``), as in ``certify``.
        thresholds: float[t], or a scalar for one, as they are to be reported. None for the whole curve: the sorted
            lower bounds [..., n], where it has its steps; for "attained_levels" 0.005, 0.01, ..., 0.995.
        support, bound, where, validate: as in ``certify``, which warns of the same thresholds.
        delta: failure probability of all thresholds together, in (0, 1); a scalar. One that is traced, and cannot be
            read, is divided by the union bound: eta = delta / n.
        beta: failure probability of one lower bound, in (0, 1); a scalar. 0.05 by default, but for successes, an array
            of bool: "attained_levels" has none. Numbers 0 and 1 with a support are successes by bound "clopper_pearson"
            and a beta of "auto", as in ``certify``.

    The first call for an n and a delta finds eta on the host: milliseconds up to n = 200, seconds at n = 10^4.

    Returns:
        A ``Certificate`` with arrays [..., t], whose ``method`` is one of the two. For "attained_levels" its
        ``beta`` is the level attained at each threshold, [..., t], and its ``lower_bounds`` are computed at 0.05.

    Raises:
        ValueError: as ``certify``.

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
    per_task, method = defaults(bound, None, returns, beta)
    sample = sample_of(per_task, returns, support, where, validate)
    row = None if thresholds is None else thresholds_of(sample, thresholds, validate)
    words: dict[str, Any] = {"bound": per_task.name, "quantity": quantity_of(per_task.name, returns)}
    if method.counts_successes and (beta is None or is_auto(beta)):
        delta = probability("delta", delta, sample.dtype, "down", validate=validate, scalar=True)
        row = GRID.astype(sample.dtype) if row is None else row
        fields = fields_of_band(sample, padded_rows(row, sample), delta)
        words |= {"method": ATTAINED_LEVELS, "simultaneous": True, "question": "band"}
        return answer(Certificate, fields, sample.num_tasks, len(row), **words)
    return _of_bounds(per_task, sample, row, *levels_of(BINOMIAL, delta, beta, sample, validate), **words)


def _of_bounds(per_task: Bound | None, sample: Sample, row: Any, delta: Any, beta: Any, **words: Any) -> Certificate:
    """From lower bounds, at thresholds [t], or for None at the bounds themselves; eta is NaN for an invalid delta."""
    n = int(sample.num_tasks)
    level = divided(delta, n, lambda known: local_level(n, known))
    fields = solved(BINOMIAL, per_task, sample, padded_rows(row, sample), beta, level)
    fields |= {"delta": delta, "level": level, "low": sample.low}
    words |= {"method": EQUAL_LOCAL_LEVELS, "simultaneous": True, "question": "band"}
    return answer(Certificate, fields, n, n if row is None else len(row), **words)


def certify_lower_bounds_band(
    lower_bounds: Array | Sequence[float],
    thresholds: Numeric | Sequence[Numeric] | None,
    *,
    delta: Numeric,
    beta: Numeric,
    validate: bool = True,
) -> Certificate:
    """Certify at all thresholds together from lower bounds that were computed elsewhere.

    Their support is not known here, so that ``certify_tail`` of it has no means.

    Args:
        lower_bounds, beta: as in ``certify_lower_bounds``.
        thresholds, delta, validate: as in ``certify_band``.

    Returns:
        A ``Certificate`` with arrays [..., t] and ``bound`` "given".

    Raises:
        ValueError: as ``certify_lower_bounds`` and ``certify_band``.

    Example:
        >>> import jax.numpy as jnp
        >>> curve = certify_lower_bounds_band(jnp.arange(200.0), None, delta=0.01, beta=0.01)
        >>> print(f"{curve.epsilon[0]:.4f} {curve.epsilon[20]:.4f}")
        0.0402 0.1938
    """
    sample, delta, beta = given_bounds(lower_bounds, delta, beta, validate, zero_beta=True)
    row = None if thresholds is None else prepare_thresholds(thresholds, sample.dtype, validate)
    return _of_bounds(None, sample, row, delta, beta, bound="given")


BAND = Question(
    name="band",
    words="on what share of new tasks is the performance at least a threshold, at all thresholds at once?",
    function=certify_band,
    paired=True,
    curve=functools.partial(curve_of_counts, method=BINOMIAL),
    missing=Certificate.violated,
)
