"""The share of new tasks with a given performance, from below and from above."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import ClassVar

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_open_unit
from jaxcert.bounds._evaluate import task_bounds
from jaxcert.bounds._padding import padded_tasks
from jaxcert.bounds._prepare import prepare
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._arguments import choose, default_bound, prepare_levels, prepare_thresholds, warn_outside
from jaxcert.certificates._batch_axes import along
from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._certificate import Certificate, Status, about, fields_of, with_article
from jaxcert.certificates._compiled import bad_levels, certify_given, count_violations
from jaxcert.certificates._figures import ceil_to, floor_figures, floor_to
from jaxcert.certificates._headline import Headline, in_hundred, nothing, reach
from jaxcert.certificates._level_choice import refuse_choice
from jaxcert.certificates._missing import missing_of_counts
from jaxcert.certificates._question import CLAIMED, COUNTED, RISKS, Option, Question, same
from jaxcert.certificates._upper_bounds import check_complete, check_reflected, upper_task_bounds
from jaxcert.certificates._witness_rows import of_both_sides
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import (
    complement_down,
    complement_up,
    next_down,
    unit_roundoff,
)
from jaxcert.numerics._tails import limit
from jaxcert.returns._prepared import Support, probability
from jaxcert.returns._sample import Paired

# The usual level of upper bounds: compared with 0.05 it says more where few tasks are bad, and hardly less elsewhere.
_USUAL_UPPER = 0.02


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class IntervalCertificate(Certificate):
    """A ``Certificate`` whose safety is certified from above, too.

    At each threshold B, fixed before the data were seen: with probability at least 1 - delta, P[J >= B] lies between
    ``safety`` and ``safety_upper``; each end fails with probability at most delta / 2.

    Attributes:
        safety_upper: at least P[J >= B], rounded up, float[..., t].
        num_below: h, tasks whose upper bound is below B, int32[..., t].
        upper_bounds: per-task upper bounds, float[..., n]; inf for a task with invalid returns.
        beta_upper: failure probability of each upper bound, float[...].
        question: which of ``jaxcert.questions`` it answers, by name (static).

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxcert import certify_interval
        >>> returns = jnp.linspace(0.0, 1.0, 200)[:, None] * jnp.ones((200, 100))
        >>> print(certify_interval(returns, 0.5, support=(0, 1), delta=0.01, complete=True))
        With confidence 0.99: on a new task from the same distribution,
        the expected return is at least 0.5 with a probability between 0.3607 and 0.6246.
    """

    safety_upper: jax.Array = dataclasses.field(metadata=along("threshold"))
    num_below: jax.Array = dataclasses.field(metadata=along("threshold"))
    upper_bounds: jax.Array = dataclasses.field(metadata=along("task"))
    beta_upper: jax.Array
    question: str = dataclasses.field(default="interval", kw_only=True, metadata={"static": True})

    _decimals: ClassVar = {**Certificate._decimals, "thresholds": lambda value: _shown(value)}

    def _sentence(self, index: int) -> str:
        safety, upper = float(self.safety[index]), float(self.safety_upper[index])
        shown, start = _shown(self.thresholds[index]), self._confident()
        status = Status(int(self.status[index]))
        if status is Status.VACUOUS:
            return f"{start}: nothing is certified about {with_article(self.quantity)} of at least {shown}."
        note = "" if status is Status.CERTIFIED else f" ({status.advice})"
        return (
            f"{start}: on {self._new_task}, the {self.quantity} is at least {shown} "
            f"with a probability between {floor_to(safety, 4)} and {ceil_to(upper, 4)}.{note}"
        )

    def _headline(self, index: int) -> Headline:
        shown, what = _shown(self.thresholds[index]), with_article(self.quantity)
        if Status(int(self.status[index])) in (Status.VACUOUS, Status.INVALID_INPUT):
            return nothing(f"about {what} of at least {shown}{self._ending}")
        least = in_hundred(float(self.safety[index]))
        most = in_hundred(float(self.safety_upper[index]), up=True)
        claim = f"Between {least} and {most} in 100 new tasks"
        return Headline(claim, f"{self._from} {reach(most)} {what} of {shown}{self._ending}")


def _shown(threshold: jax.Array | np.floating) -> str:
    """The threshold rounded down, unless it would come to lie below the float before it, where the upper end holds."""
    value = np.asarray(threshold)
    shown = floor_figures(float(value))
    before = float(np.nextafter(value, value.dtype.type(-np.inf)))
    return shown if float(shown) >= before else repr(float(value))


def certify_interval(
    returns: chex.Array | Paired,
    thresholds: chex.Numeric | Sequence[chex.Numeric],
    *,
    support: Support | None = None,
    delta: chex.Numeric,
    beta: chex.Numeric | None = None,
    beta_upper: chex.Numeric | None = None,
    bound: str | None = None,
    complete: bool = False,
    where: chex.Array | None = None,
    validate: bool = True,
) -> IntervalCertificate:
    r"""A two-sided interval for the share of new tasks with an expected return of at least B.

    With k and h the tasks whose lower bound is below B and whose upper bound is below B, the bounds at levels beta and
    beta',

    .. math:: 1 - \frac{U(k; n, \delta/2)}{1 - \beta} \ \le\ P[J \ge B] \ \le\
              1 - \frac{(\ell(h; n, \delta/2) - \beta')^+}{1 - \beta'},

    with the Clopper-Pearson limits U from above and l from below; the left side is the safety of ``certify`` at
    delta / 2. An upper bound is a lower bound of the reflected returns, -X, reflected back.

    This is only for returns of whole rollouts: after a prefix of a longer trajectory the return can still grow, and an
    upper bound on its mean is none on the performance. Each metric says whether upper bounds are allowed, but a return
    is a mere number: so the caller has to declare it.

    Args:
        returns: float[..., n, m], as in ``certify``, or pairs of two policies (``paired``); no summary.
        thresholds: float[t], or a scalar for one, fixed before the data are seen.
        support: (a, b), as in ``certify``; both ends finite.
        delta: failure probability of the interval, in (0, 1), half of it for each end; a scalar.
        beta: failure probability of one lower bound, in (0, 1); a scalar. 0.05 by default.
        beta_upper: beta', failure probability of one upper bound, in (0, 1); a scalar. By default beta or 0.02,
            whichever is smaller: at this end it is subtracted from the share of bad tasks, and costs nothing of delta.
        bound: as in ``certify``, for both sides.
        complete: True declares that each return is that of a whole rollout, of a finite horizon.
        where: as in ``certify``.
        validate: as in ``certify``.

    Returns:
        An ``IntervalCertificate`` with arrays [..., t].

    Raises:
        ValueError: as ``certify``; without complete=True, for a summary, or for a support without a finite upper end.

    Warns:
        UserWarning: for thresholds outside the support, as ``certify``.

    Example:
        >>> import jaxcert
        >>> returns = jaxcert.sample_returns("cheetah")  # of whole episodes
        >>> found = certify_interval(returns, 800.0, support=(0, 1000), delta=0.01, complete=True)
        >>> print(f"{found.safety[0]:.3f} to {found.safety_upper[0]:.3f}")
        0.454 to 0.731

    Reference: the theory page, section 15.4.
    """
    bound = default_bound(bound, returns)
    per_task = choose("bound", bound, BOUNDS)
    refuse_choice(beta, "a number, or None for 0.05")
    check_complete(complete)
    check_reflected(per_task, returns, support)
    prepared = prepare(per_task, returns, support, where, validate, certificate=True)
    dtype, n = prepared.low.dtype, prepared.returns.shape[-2]
    given, thresholds = thresholds, prepare_thresholds(thresholds, dtype, validate)
    warn_outside("thresholds", given, prepared[1:3], validate)
    delta, beta = prepare_levels(BINOMIAL, delta, beta, n, dtype, validate)
    beta_upper = _level_above(beta_upper, beta, dtype, validate)
    lower = task_bounds(per_task, prepared, beta)
    upper = upper_task_bounds(per_task, returns, support, where, prepared, lower, beta_upper)
    found = interval_between(bound, lower, upper, thresholds, beta, beta_upper, delta)
    return about(found, returns)


def _level_above(beta_upper: chex.Numeric | None, beta: jax.Array, dtype: np.dtype, validate: bool) -> jax.Array:
    """The level of the upper bounds: the given one, or the level of the lower bounds, but at most the usual one."""
    if beta_upper is not None:
        return probability("beta_upper", beta_upper, dtype, "nearest", validate=validate, scalar=True)
    # An explicit transfer, which a transfer guard allows.
    return jnp.minimum(beta, jax.device_put(np.asarray(_USUAL_UPPER, dtype)))


def interval_between(
    bound: str,
    lower: jax.Array,
    upper: jax.Array,
    thresholds: jax.Array,
    beta: jax.Array,
    beta_upper: jax.Array,
    delta: jax.Array,
) -> IntervalCertificate:
    """The intervals from lower and upper bounds [..., n] at their levels; delta is of both ends together."""
    half = half_of(delta)
    found = certify_given(bound, BINOMIAL, padded_tasks(lower), thresholds, beta, half)
    below = _count_below(upper, thresholds)
    count, tasks = _as_floats(below, half, n=upper.shape[-1])
    share = limit(count, tasks, half, upper=False)
    sides = _upper_side(found.status, share, thresholds, beta_upper, delta)
    fields = {"delta": delta, "num_below": below, "upper_bounds": upper, "beta_upper": beta_upper, **sides}
    return IntervalCertificate(**(fields_of(found) | fields))


@jax.jit
def half_of(delta: jax.Array) -> jax.Array:
    """The part of delta that is for one end: exact; NaN for an invalid delta, whose half might be a valid one."""
    return jnp.where((delta > 0) & (delta < 1), 0.5 * delta, jnp.nan)


@functools.partial(jax.jit, static_argnames="n")
def _as_floats(count: jax.Array, like: jax.Array, *, n: int) -> tuple[jax.Array, jax.Array]:
    return count.astype(like.dtype), jnp.asarray(n, like.dtype)


@jax.jit
def _count_below(upper, thresholds) -> jax.Array:
    """How many upper bounds [..., n] are below the float before each threshold, [..., t].

    So they are below the number itself that was rounded up to the threshold.
    """
    wanted = jnp.broadcast_to(next_down(thresholds), (*upper.shape[:-1], thresholds.shape[-1]))
    return count_violations(upper, wanted)


@jax.jit
def _upper_side(status, share, thresholds, beta, delta) -> dict[str, jax.Array]:
    """The certified safety from above, from a lower limit on the share of tasks with an upper bound below."""
    valid = ~bad_levels(beta, delta) & jnp.isfinite(thresholds)
    rest = complement_down(jnp.where(valid, beta, 0.5))
    # Two differences, a quotient and this product.
    risk = quotient(jnp.maximum(share - beta, 0), jnp.broadcast_to(rest, share.shape))
    upper = complement_up(jnp.where(valid, risk * (1 - 8 * unit_roundoff(share.dtype)), 0))
    informative = (status == Status.VACUOUS.value) & (upper < 1)
    status = jnp.where(informative, Status.CERTIFIED.value, status).astype(jnp.int32)
    return {"safety_upper": upper, "status": status}


def _curve(certificate: IntervalCertificate, lower_bounds: chex.Array, levels: np.ndarray) -> IntervalCertificate:
    levels_of = certificate.beta, certificate.beta_upper, certificate.delta
    arrays = map(jnp.asarray, (lower_bounds, certificate.upper_bounds, levels, *levels_of))
    return interval_between(certificate.bound, *arrays)


INTERVAL = Question(
    name="interval",
    words="between which two numbers is the share of new tasks with a performance of at least a threshold?",
    function=certify_interval,
    paired=True,
    certificate=IntervalCertificate,
    columns={**COUNTED, "safety_upper": "safety_upper", "num_below": "num_below"},
    claims={**CLAIMED, "safety_upper": max},
    risks={**RISKS, "safety_upper": None},
    settings=same("delta", "beta", "beta_upper", "bound"),
    options=(
        Option("beta_upper", float, "Failure probability of one upper bound", check=check_open_unit),
        Option("complete", bool, "Declare that each return is that of a whole rollout, of a finite horizon", True),
    ),
    declared={"complete": True},
    advised=True,
    curve=_curve,
    missing=missing_of_counts,
    delta_part=half_of,
    witness=of_both_sides,
)
