"""The share of new tasks with a given performance, from below and from above."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert._validation import check_open_unit, is_concrete
from jaxcert.bounds._bound import Bound, task_bounds
from jaxcert.certificates._certificate import Certificate, Status, answer, quantity_of
from jaxcert.certificates._counting import bad_levels, count_violations, fields_of_bounds
from jaxcert.certificates._method import BINOMIAL, TAIL, solve, table_of
from jaxcert.certificates._question import COUNT_ROWS, COUNTED, Option, Question, Rows
from jaxcert.certificates._registry import bound_for, levels_of, thresholds_of
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import complement_down, complement_up, next_down, unit_roundoff
from jaxcert.returns._paired import Paired
from jaxcert.returns._prepared import Needs, Support, part_of, probability
from jaxcert.returns._sample import Sample, padded_rows, placed, sample_of, sample_of_numbers
from jaxcert.returns.summaries import Histogram

# The usual level of upper bounds: compared with 0.05 it says more where few tasks are bad, and hardly less elsewhere.
_USUAL_UPPER = 0.02


def certify_interval(
    returns: Array | Paired,
    thresholds: Numeric | Sequence[Numeric],
    *,
    support: Support | None = None,
    delta: Numeric,
    beta: Numeric | None = None,
    beta_upper: Numeric | None = None,
    bound: str | None = None,
    complete: bool = False,
    where: Array | None = None,
    validate: bool = True,
) -> Certificate:
    r"""A two-sided interval for the share of new tasks with an expected return of at least B.

    With k and h the tasks whose lower bound is below B and whose upper bound is below B, the bounds at levels beta and
    beta',

    .. math:: 1 - \frac{U(k; n, \delta/2)}{1 - \beta} \ \le\ P[J \ge B] \ \le\
              1 - \frac{(\ell(h; n, \delta/2) - \beta')^+}{1 - \beta'},

    with the Clopper-Pearson limits U from above and l from below; the left side is the safety of ``certify`` at
    delta / 2. An upper bound is a lower bound of the reflected returns, -X, reflected back.

    This is only for returns of whole rollouts: after a prefix of a longer trajectory the return can still grow, and an
    upper bound on its mean is none on the performance. Each metric says whether upper bounds are allowed, but a return
    is just a number, so the caller declares it.

    Args:
        returns: float[..., n, m], as in ``certify``, or pairs of two policies (``paired``); no summary.
        thresholds: float[t], or a scalar for one, fixed before the data are seen.
        support: (a, b), as in ``certify``; both ends finite.
        delta: failure probability of the interval, in (0, 1), half of it for each end; a scalar.
        beta_upper: beta', failure probability of one upper bound, in (0, 1); a scalar. By default beta or 0.02,
            whichever is smaller: at this end it is subtracted from the share of bad tasks, and costs nothing of delta.
        complete: True declares that each return is that of a whole rollout, of a finite horizon.
        beta, bound, where, validate: as in ``certify``, with the same warnings; the bound is for both sides.

    Returns:
        A ``Certificate`` with arrays [..., t], which has a ``safety_upper``.

    Raises:
        ValueError: as ``certify``; without complete=True, for a summary, or for a support without a finite upper end.

    Example:
        >>> import jaxcert
        >>> returns = jaxcert.sample_returns("cheetah")  # of whole episodes
        >>> found = certify_interval(returns, 800.0, support=(0, 1000), delta=0.01, complete=True)
        >>> print(found)
        With confidence 0.99: on a new task from the same distribution,
        the expected return is at least 800 with a probability between 0.4542 and 0.7311.

    Reference: the theory page, section 15.3.
    """
    per_task, returns = bound_for(bound, returns, support, where)
    check_complete(complete)
    sample, raised = both_sides(per_task, returns, support, where, validate)
    rows = thresholds_of(sample, thresholds, validate)
    delta, level = levels_of(BINOMIAL, delta, beta, sample, validate)
    # By default the level of the lower bounds, limited to the usual one.
    above: Any = (np if is_concrete(level) else jnp).minimum(level, np.asarray(_USUAL_UPPER, sample.dtype))
    if beta_upper is not None:
        above = probability("beta_upper", beta_upper, sample.dtype, "nearest", validate=validate, scalar=True)
    words = {"bound": per_task.name, "quantity": quantity_of(per_task.name, returns)}
    return _of_both(per_task, sample, raised, rows, (level, above, delta), **words)


def _of_both(
    per_task: Bound | None, sample: Sample, raised: Sample, row: Any, levels: tuple, **words: Any
) -> Certificate:
    """From both ``task_bounds`` of two samples, or from numbers that are such bounds, at thresholds [t]."""
    rows, half = padded_rows(row, sample), part_of(levels[-1], sample.dtype.type(0.5))
    table = table_of(TAIL, int(sample.num_tasks), sample.tasks[-1], half)
    fields = _interval(per_task, *placed((sample, raised, rows, levels, half, table)))
    fields |= {"thresholds": rows, **dict(zip(("beta", "beta_upper", "delta"), levels, strict=True))}
    return answer(Certificate, fields, sample.num_tasks, len(row), **words, method=BINOMIAL.name, question="interval")


@functools.partial(jax.jit, static_argnums=0)
def _interval(
    bound: Bound | None, sample: Sample, raised: Sample, thresholds, levels: tuple, half, table
) -> dict[str, jax.Array]:
    """From lower and upper bounds [..., n] at their levels; given bounds are used if there is no per-task bound."""
    beta, beta_upper, delta = levels
    n, lower = sample.num_tasks, task_bounds(bound, sample, beta)
    upper = upper_bounds(bound, raised, beta_upper, lower)
    fields = fields_of_bounds(BINOMIAL, lower, n, thresholds, beta, half, table)
    # Below the float before a threshold, an upper bound is below the number itself that was rounded up to it.
    below = count_violations(upper, next_down(thresholds), n)
    # The lower limit at h is one minus the upper limit at n - h.
    others = solve(TAIL, n - below, n, jnp.zeros_like(beta), half, table, size=lower.shape[-1])
    # The certified safety from above, from this lower limit on the share of tasks with an upper bound below.
    share, valid = complement_down(others.epsilon), ~bad_levels(beta_upper, delta) & jnp.isfinite(thresholds)
    rest = complement_down(jnp.where(valid, beta_upper, 0.5))
    # Two differences, a quotient and this product.
    risk = quotient(jnp.maximum(share - beta_upper, 0), jnp.broadcast_to(rest, share.shape))
    above = complement_up(jnp.where(valid, risk * (1 - 8 * unit_roundoff(share.dtype)), 0))
    informative = (fields["status"] == Status.VACUOUS.value) & (above < 1)
    status = jnp.where(informative, Status.CERTIFIED.value, fields["status"]).astype(jnp.int32)
    return {**fields, "num_below": below, "upper_bounds": upper, "safety_upper": above, "status": status}


def _curve(certificate: Certificate, lower_bounds: Array, levels: np.ndarray) -> Certificate:
    settings = certificate.beta, certificate.beta_upper, certificate.delta
    lower, negated = (sample_of_numbers(np.asarray(each)) for each in (lower_bounds, -certificate.upper_bounds))
    words = {"bound": certificate.bound, "quantity": certificate.quantity}
    return _of_both(None, lower, negated, np.asarray(levels), settings, **words)


# --- upper bounds, from reflected returns -----------------------------------------------------------------------------


def check_complete(complete: bool) -> None:
    """Raise ValueError unless the returns are declared to belong to whole rollouts."""
    if complete is not True:
        raise ValueError(
            f"complete is {complete!r}; expected True, which declares that each return is that of a whole rollout: on "
            "prefixes an upper bound on the mean return is none on the performance (certify needs no such thing)"
        )


def both_sides(
    needs: Needs, returns: Any, support: Support | None, where: Any, validate: bool
) -> tuple[Sample, Sample]:
    """The returns rounded down, and what is reflected rounded down: -X, or B minus A; binary ones are not reflected."""
    if isinstance(returns, Histogram):
        raise ValueError("returns are a summary, which cannot be reflected for upper bounds; expected an array")
    if isinstance(returns, Paired):
        sample = sample_of(needs, returns, support, where, validate)
        return sample, sample_of(needs, returns.swapped, support, where, validate)
    needs = dataclasses.replace(needs, needs_width=True)
    sample = sample_of(needs, returns, support, where, validate)
    raised = sample_of(needs, returns, support, where, validate, side="up")
    return sample, raised if needs.binary else raised.reflected


def upper_bounds(bound: Bound | None, other: Sample, beta: jax.Array, lower: jax.Array) -> jax.Array:
    """Upper bounds [..., n] at level beta, within a program, from the second of ``both_sides``, or from negated bounds.

    They are infinite where there is no lower bound.
    """
    binary = bound is not None and bound.binary
    found = task_bounds(bound, other.failing if binary else other, beta)
    return jnp.where(jnp.isneginf(lower), jnp.inf, complement_up(found) if binary else -found)


INTERVAL = Question(
    name="interval",
    words="between which two numbers is the share of new tasks with a performance of at least a threshold?",
    function=certify_interval,
    paired=True,
    rows=Rows(
        {**COUNTED, "safety_upper": "safety_upper", "num_below": "num_below"},
        claims={**COUNT_ROWS.claims, "safety_upper": max},
        risks={**COUNT_ROWS.risks, "safety_upper": None},
    ),
    options=(
        Option("beta_upper", float, "Failure probability of one upper bound", check=check_open_unit),
        Option("complete", bool, "Declare that each return is that of a whole rollout, of a finite horizon", True),
    ),
    advised=True,
    curve=_curve,
    missing=Certificate.violated,
)
