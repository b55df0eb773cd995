"""The worst share of tasks: its mean performance, or quantiles and means of all shares together, from a band."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert._validation import as_numbers, is_concrete, kind_of, refuse, require_real
from jaxcert.bounds._bound import finish
from jaxcert.certificates._answer import ByThreshold
from jaxcert.certificates._batch_axes import STATIC, along
from jaxcert.certificates._certificate import EXPECTED_RETURN, Certificate, Status
from jaxcert.certificates._counting import status_where
from jaxcert.certificates._figures import ceil_figures, floor_figures, floor_to, nothing
from jaxcert.certificates._mean import MeanCertificate, bound_over_tasks, certified_mean
from jaxcert.certificates._question import FREQUENCIES, MEAN_ROWS, Option, Question
from jaxcert.certificates._registry import Returns, as_row
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import in_unit, known, unit_roundoff
from jaxcert.numerics._summation import sum_error, tree_sum
from jaxcert.returns._prepared import Support, probability
from jaxcert.returns._sample import placed
from jaxcert.returns._weighted import Weighted


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TailCertificate(ByThreshold):
    """Lower bounds on the performance of the worst share of new tasks; a pytree of arrays.

    With probability at least 1 - delta over the sampled tasks and rollouts, for all shares v and the band together:
    P[J < quantile(v)] <= v for a new task, and the mean of J over the worst share v of tasks is at least cvar(v).

    Attributes:
        shares: v, rounded down, float[a].
        quantiles: lower bounds on the v-quantile of J over tasks, float[..., a]; the lower end of the support where
            nothing is certified.
        cvar: lower bounds on the mean of J over the worst share v of tasks, float[..., a]; -inf if the lower end of
            the support is not known.
        status: codes of ``Status``, int32[..., a].
        delta, quantity: failure probability of everything together, float[...]; what J is, in words (static).
    """

    shares: jax.Array = dataclasses.field(metadata=along("share", column="share"))
    quantiles: jax.Array = dataclasses.field(metadata=along("share", column="quantile"))
    cvar: jax.Array = dataclasses.field(metadata=along("share"))
    status: jax.Array = dataclasses.field(metadata=along("share"))
    delta: jax.Array
    quantity: str = dataclasses.field(default=EXPECTED_RETURN, metadata=STATIC)

    simultaneous = True

    def _told(self, index: int) -> str:
        """Every figure on its safe side: a larger share has a larger mean."""
        share, quantile, mean, status = self._held(index, "shares", "quantiles", "cvar", "status")
        if not quantile > -np.inf or status == Status.VACUOUS:
            return nothing(f"the worst {ceil_figures(share)} of tasks")
        average = f"on the worst {ceil_figures(share)} of tasks is at least {floor_figures(mean)} on average, and "
        least = f"at least {floor_figures(quantile)} with probability at least {floor_to(1 - share, 4)}"
        where = f"{average}on a new task" if mean > -np.inf else "on a new task is"
        return f"the {self.quantity} {where} {least}.{self._note(index)}"


def certify_tail(band: Certificate, shares: Numeric | Sequence[float], *, validate: bool = True) -> TailCertificate:
    r"""Quantiles of the performance over tasks, and means over the worst share of them.

    With the risks e_1 <= ... <= e_g of the band at its thresholds B_1 < ... < B_g, the lower end a of the support, and
    B_0 = a,

    .. math:: \hat q(v) = \max\big(a, \max\{B_i : e_i < v\}\big), \qquad
              \frac1v \int_0^v \hat q(w)\, dw = a + \frac1v \sum_i (B_i - B_{i - 1}) (v - e_i)^+

    are at most the v-quantile of J and its mean over the worst share v of tasks (CVaR, lower tail), one-sided, at all v
    and all thresholds of the band together: no further delta is spent.

    Args:
        band: of ``certify_band`` or ``certify_lower_bounds_band``. Its thresholds are the steps: all of them, as for
            thresholds of None, say most.
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
        >>> print(tail[0])
        With confidence 0.99 for all together: the expected return on the worst 0.1 of tasks is at least 261... on
        average, and on a new task at least 478... with probability at least 0.9000.

    Reference: the theory page, section 15.2; Rockafellar & Uryasev (2000) for the mean.
    """
    if not isinstance(band, Certificate) or band.level is None or band.sampled is not None:
        raise ValueError(f"band is {kind_of(band)}; expected one of certify_band, of the sampled tasks")
    wanted = placed(as_row("shares", probability("shares", shares, band.level.dtype, "down", validate=validate)))
    of_band = band.thresholds, band.epsilon, band.status, band.low, band.level
    fields = _tail(*of_band, wanted, given=band.bound == "given")
    return TailCertificate(**fields, shares=wanted, delta=band.delta, quantity=band.quantity)


@functools.partial(jax.jit, static_argnames="given")
def _tail(thresholds, epsilon, status, low, level, shares, *, given: bool) -> dict[str, jax.Array]:
    """The fields [..., a] for shares [a] from thresholds [..., g] with their risks and statuses, [..., g]."""
    # A given bound of -inf says that nothing is known of its task; one from returns, that they are invalid.
    says_nothing = given & jnp.isneginf(thresholds)
    bad_task = jnp.any((status == Status.INVALID_INPUT.value) & ~says_nothing, axis=-1, keepdims=True)
    # No task performs below minus infinity.
    finite = jnp.broadcast_to(jnp.isfinite(thresholds), epsilon.shape)
    thresholds, epsilon = jnp.where(finite, thresholds, -jnp.inf), jnp.where(finite, epsilon, 0)
    order = jnp.argsort(thresholds, axis=-1)
    thresholds, epsilon = (jnp.take_along_axis(each, order, axis=-1) for each in (thresholds, epsilon))
    # It increases up to rounding; a larger risk is safe.
    risk = jax.lax.cummax(epsilon, axis=epsilon.ndim - 1)
    # The largest lower bound at which fewer than the share are below; the lower end if there is none.
    count = jnp.sum(risk[..., None, :] < _column(shares, risk), axis=-1, dtype=jnp.int32)
    reached = jnp.take_along_axis(thresholds, jnp.maximum(count - 1, 0), axis=-1)
    quantiles = jnp.where(count > 0, jnp.maximum(reached, low), low)
    bad_setting = jnp.broadcast_to(~in_unit(level) | ~in_unit(shares), quantiles.shape)
    # The lower end of the support is certified by definition, unless data contradict the support.
    holds = ~bad_setting & (~bad_task | (quantiles > low))
    # The mean of the quantiles up to each share, by parts: all terms are at least 0.
    above = jnp.maximum(thresholds, low)
    before = jnp.concatenate([jnp.broadcast_to(low, above[..., :1].shape), above[..., :-1]], axis=-1)
    spare = jnp.maximum(_column(shares, risk) - risk[..., None, :], 0)
    total = tree_sum((above - before)[..., None, :] * spare)
    # Two differences, a product, a quotient that a GPU may get wrong by 2 u, and this product.
    slack = sum_error(thresholds.shape[-1], total.dtype) + 8 * unit_roundoff(total.dtype)
    mean = quotient(total, jnp.broadcast_to(shares, total.shape)) * (1 - slack)
    return {
        "quantiles": jnp.where(holds, quantiles, -jnp.inf),
        "cvar": finish(mean, low, ~bad_setting & ~bad_task),
        "status": status_where(quantiles > low, ~(bad_task | bad_setting)),
    }


def _column(shares: jax.Array, risk: jax.Array) -> jax.Array:
    """[a] to [..., a, 1], as a risk [..., g] needs it."""
    return shares.reshape(*(1,) * (risk.ndim - 1), -1, 1)


# --- the mean over one share, the conditional value at risk -----------------------------------------------------------


def certify_cvar(
    returns: Returns | Weighted,
    alpha: Numeric | Sequence[float],
    *,
    support: Support | None = None,
    delta: Numeric,
    cap: Numeric | Sequence[float],
    bound: str | None = None,
    where: Array | None = None,
    validate: bool = True,
) -> MeanCertificate:
    r"""Certify the mean expected return over the worst tasks, a share alpha of them.

    This is the conditional value at risk of the lower tail, CVaR. For a cap c fixed before the data are seen,

    .. math:: \mathrm{CVaR}_\alpha(J) = \max_c \Big( c - \frac{E[(c - J)^+]}{\alpha} \Big)
              \ge c - \frac{E[(c - \bar X)^+]}{\alpha} \ge c - \frac{c - L}{\alpha}, \quad \text{at least } a,

    where L is a lower bound at level delta on the mean over tasks of min(average of the task, c). One-sided. Each
    average may be of a single rollout. The spread of the averages costs something (Jensen's inequality), but no level
    for single tasks is needed.

    Args:
        returns: float[..., n, m], as in ``certify_mean``, or what stands in their place there.
        alpha: share of the tasks, in (0, 1]; a scalar, or float[t] for several, each a certificate of its own. At 1,
            with b as the cap, it is the mean of ``certify_mean``.
        support, delta, bound, where, validate: as in ``certify_mean``, for each certificate; b may be infinite for any
            bound. An alpha outside (0, 1], or a cap that is not above a, gives -inf, too; a cap above b is valid.
        cap: c in (a, b], a scalar or float[t], chosen without these returns. Every cap is valid. The best is near the
            alpha-quantile of the performances; a cap that is too low costs less than one that is too high. The
            alpha/2-quantile of single rollouts on a few dozen pilot tasks serves well (docs/means_and_tails.md). There
            is no default: b, the only cap known beforehand, certifies nothing unless alpha is near 1.

    Returns:
        A ``MeanCertificate`` with arrays [..., t].

    Raises:
        ValueError: as ``certify``; for alpha outside (0, 1], a cap outside (a, b], or numbers of both that do not fit.

    Example:
        >>> import jaxcert
        >>> import numpy as np
        >>> returns = jaxcert.sample_returns("cheetah")
        >>> found = certify_cvar(returns, [0.1, 0.2], support=(0, 1000), delta=0.01, cap=[600.0, 650.0])
        >>> print("over the worst 10 and 20 % of tasks:", np.round(found.mean))
        over the worst 10 and 20 % of tasks: [395. 502.]

    Reference: Rockafellar & Uryasev (2000), Theorem 1, for the maximum over c; the theory page, equation (17.2); of
    weighted tasks (20.3).
    """
    chosen, sample, words = bound_over_tasks(bound, returns, support, where, validate, capped=True)
    require_real("alpha", alpha)
    if validate and is_concrete(alpha):
        _check_shares("alpha", alpha, sample.dtype)
    # Down: the mean over fewer of the worst tasks is smaller.
    share = as_row("alpha", known(alpha, sample.dtype, "down"))
    require_real("cap", cap)
    if validate and is_concrete(cap, sample.low, sample.high):
        array, (low, high) = as_numbers("cap", cap), (float(sample.low), float(sample.high))
        inside = np.isfinite(array) & (array > low) & (array <= high)
        refuse("cap", array, inside, f"a number above {low:g}, up to {high:g}: in the support")
    # To nearest, since any cap is valid.
    worst = share, as_row("cap", known(cap, sample.dtype, "nearest"))
    return certified_mean(chosen, sample, delta, validate, worst=worst, **words, question="cvar")


def _check_shares(name: str, value: Any, dtype: Any = np.float64) -> None:
    array = as_numbers(name, value)
    refuse(name, array, (array >= float(jnp.finfo(dtype).tiny)) & (array <= 1), "a share in (0, 1]")


CVAR = Question(
    name="cvar",
    words="what is the mean performance over the worst share of new tasks at least?",
    function=certify_cvar,
    paired=True,
    rows=MEAN_ROWS._replace(columns={"alpha": "alpha", "cap": "cap", **MEAN_ROWS.columns}, share="alpha"),
    each="alpha",
    options=(
        Option("alpha", list, "Shares of the tasks, the worst ones, to certify the mean of", True, check=_check_shares),
        Option("cap", list, "Beyond it a return does not count: one for all shares, or one for each", True),
        FREQUENCIES,
    ),
)
