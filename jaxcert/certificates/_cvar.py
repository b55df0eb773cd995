"""The mean performance over the worst tasks: conditional value at risk of the lower tail."""

from collections.abc import Sequence
from typing import Any

import chex
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import as_numbers, is_concrete, refuse, require_real
from jaxcert.certificates._arguments import as_row
from jaxcert.certificates._averages import bound_over_tasks
from jaxcert.certificates._certificate import quantity_of
from jaxcert.certificates._mean import MeanCertificate, certified_mean
from jaxcert.certificates._question import MEAN_ROWS, Option, Question, same
from jaxcert.numerics._rounding import known
from jaxcert.returns._paired import Paired
from jaxcert.returns._prepared import Support, as_successes
from jaxcert.returns._sample import Sample
from jaxcert.returns._weighted import Weighted
from jaxcert.returns.summaries import Summary


def certify_cvar(
    returns: chex.Array | Summary | Paired | Weighted,
    alpha: chex.Numeric | Sequence[float],
    *,
    support: Support | None = None,
    delta: chex.Numeric,
    cap: chex.Numeric | Sequence[float],
    bound: str | None = None,
    where: chex.Array | None = None,
    validate: bool = True,
) -> MeanCertificate:
    r"""Certify the mean expected return over the worst tasks, a share alpha of them.

    That is the conditional value at risk of the lower tail, CVaR. For a cap c fixed before the data are seen,

    .. math:: \mathrm{CVaR}_\alpha(J) = \max_c \Big( c - \frac{E[(c - J)^+]}{\alpha} \Big)
              \ge c - \frac{E[(c - \bar X)^+]}{\alpha} \ge c - \frac{c - L}{\alpha}, \quad \text{at least } a,

    where L is a lower bound at level delta on the mean over tasks of min(average of the task, c). One-sided. The
    averages may be of a single rollout each: their spread costs something (Jensen's inequality), but no level for
    single tasks is needed.

    Args:
        returns: float[..., n, m], as in ``certify_mean``, or what stands in their place there.
        alpha: share of the tasks, in (0, 1]; a scalar, or float[t] for several, each a certificate of its own. At 1,
            with b as the cap, it is the mean of ``certify_mean``.
        support: (a, b), as in ``certify``; b may be infinite for any bound.
        delta: failure probability of each certificate, in (0, 1); a scalar.
        cap: c in (a, b], a scalar or float[t], chosen without these returns. Every cap is valid; the best is near the
            alpha-quantile of the performances, and one that is too low costs less than one that is too high. The
            alpha/2-quantile of single rollouts on a few dozen pilot tasks serves well (docs/means_and_tails.md). There
            is no default: b, the only cap known beforehand, certifies nothing unless alpha is near 1.
        bound: as in ``certify_mean``: "clopper_pearson" for one trial per task, by default for bool [..., n, 1].
        where: as in ``certify_mean``.
        validate: as in ``certify_mean``; an alpha outside (0, 1], or a cap that is not above a, gives
            -inf, too; a cap above b is valid.

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
    returns = as_successes(returns, support, where, bound)
    chosen, sample = bound_over_tasks(bound, returns, support, where, validate, capped=True)
    worst = _shares(alpha, sample.dtype, validate), _caps(cap, sample, validate)
    quantity = quantity_of(chosen.name, returns)
    return certified_mean(chosen, sample, delta, validate, quantity=quantity, question="cvar", worst=worst)


def _shares(alpha: Any, dtype: np.dtype, validate: bool) -> Any:
    """Alpha [t] rounded down: the mean over fewer of the worst tasks is smaller."""
    require_real("alpha", alpha)
    if validate and is_concrete(alpha):
        _check_shares("alpha", alpha, dtype)
    return as_row("alpha", known(alpha, dtype, "down"))


def _check_shares(name: str, value: Any, dtype: Any = np.float64) -> None:
    array = as_numbers(name, value)
    refuse(name, array, (array >= float(jnp.finfo(dtype).tiny)) & (array <= 1), "a share in (0, 1]")


def _caps(cap: Any, sample: Sample, validate: bool) -> Any:
    """Caps [t]: rounded to nearest, since any of them is valid."""
    require_real("cap", cap)
    if validate and is_concrete(cap, sample.low, sample.high):
        array, (low, high) = as_numbers("cap", cap), (float(sample.low), float(sample.high))
        inside = np.isfinite(array) & (array > low) & (array <= high)
        refuse("cap", array, inside, f"a number above {low:g}, up to {high:g}: in the support")
    return as_row("cap", known(cap, sample.dtype, "nearest"))


CVAR = Question(
    name="cvar",
    words="what is the mean performance over the worst share of new tasks at least?",
    function=certify_cvar,
    paired=True,
    certificate=MeanCertificate,
    rows=MEAN_ROWS._replace(columns={"alpha": "alpha", "cap": "cap", **MEAN_ROWS.columns}, share="alpha"),
    each="alpha",
    settings=same("delta", "bound", "cap"),
    options=(
        Option("alpha", list, "Shares of the tasks, the worst ones, to certify the mean of", True, check=_check_shares),
        Option("cap", list, "Beyond it a return does not count: one for all shares, or one for each", True),
    ),
)
