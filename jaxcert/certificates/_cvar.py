"""The mean performance over the worst tasks: conditional value at risk of the lower tail."""

import functools
from collections.abc import Sequence
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import as_numbers, is_concrete, refuse, require_real
from jaxcert.bounds._bound import Bound, Ends, finish
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._prepare_array import task_shape
from jaxcert.certificates._arguments import as_row
from jaxcert.certificates._certificate import REWEIGHTED, quantity_of
from jaxcert.certificates._mean_certificate import (
    MeanCertificate,
    check_task_sums,
    mean_of_trials,
    mean_over_tasks,
    mean_status,
    prepare_averages,
    task_averages,
    weighted_capped_mean,
)
from jaxcert.certificates._question import Option, Question, same
from jaxcert.certificates._task_weights import prepare_weights
from jaxcert.numerics._batches import common_shape
from jaxcert.numerics._elementary import quotient
from jaxcert.numerics._rounding import cast, next_down, next_up, unit_roundoff
from jaxcert.returns._prepared import Prepared, Support, probability
from jaxcert.returns._sample import Paired, Weighted
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
    sample, of_weights = (returns.returns, returns) if isinstance(returns, Weighted) else (returns, None)
    kind = {"capped": True, "weighted": of_weights is not None}
    chosen, prepared = prepare_averages(bound, sample, support, where, validate, **kind)
    dtype, tasks = prepared.low.dtype, task_shape(prepared)
    delta = probability("delta", delta, dtype, "down", validate=validate, scalar=True)
    alpha, cap = _shares(alpha, dtype, validate), _caps(cap, prepared, validate)
    common_shape(alpha=alpha, cap=cap)
    settings = {
        "num_tasks": tasks[-1],
        "bound": chosen.name,
        "quantity": quantity_of(chosen.name, sample),
        "question": "cvar",
    }
    if of_weights is not None:
        weights, largest = prepare_weights(of_weights, tasks, dtype, validate)
        fields = _cvar_of_weighted(chosen, prepared, weights, largest, alpha, cap, delta)
        return MeanCertificate(**fields, delta=delta, **settings, source=REWEIGHTED, max_weight=largest)
    if chosen is CLOPPER_PEARSON:
        fields = _cvar_of_trials(mean_of_trials(prepared, delta), prepared.low, alpha, cap)
    else:
        if validate:
            check_task_sums(lambda: _largest_capped(prepared, cap), tasks[-1], prepared.low, cap)
        fields = _cvar(chosen, prepared, alpha, cap, delta)
    return MeanCertificate(**fields, delta=delta, **settings)


def _shares(alpha: Any, dtype: np.dtype, validate: bool) -> jax.Array:
    """Alpha [t] rounded down: the mean over fewer of the worst tasks is smaller."""
    require_real("alpha", alpha)
    if validate and is_concrete(alpha):
        _check_shares("alpha", alpha, dtype)
    return as_row("alpha", cast(alpha, dtype, "down"))


def _check_shares(name: str, value: Any, dtype: Any = np.float64) -> None:
    array = as_numbers(name, value)
    refuse(name, array, (array >= float(jnp.finfo(dtype).tiny)) & (array <= 1), "a share in (0, 1]")


def _caps(cap: Any, prepared: Prepared, validate: bool) -> jax.Array:
    """Caps [t]: rounded to nearest, since any of them is valid."""
    require_real("cap", cap)
    if validate and is_concrete(cap, prepared.low, prepared.high):
        array, (low, high) = as_numbers("cap", cap), (float(prepared.low), float(prepared.high))
        inside = np.isfinite(array) & (array > low) & (array <= high)
        refuse("cap", array, inside, f"a number above {low:g}, up to {high:g}: in the support")
    return as_row("cap", cast(cap, prepared.low.dtype, "nearest"))


def _largest_capped(prepared: Prepared, cap: jax.Array) -> jax.Array:
    return jnp.minimum(task_averages(prepared).excess, jnp.max(cap) - prepared.low)


@functools.partial(jax.jit, static_argnums=0)
def _cvar(bound: Bound, prepared: Prepared, alpha: jax.Array, cap: jax.Array, delta: jax.Array) -> dict:
    low, (excess, _, valid) = prepared.low, task_averages(prepared)
    alpha, cap = jnp.broadcast_arrays(alpha, cap)
    # The cap that counts is a plus this number, which is exact by definition.
    room = cap - low
    rows = jax.vmap(lambda r: mean_over_tasks(bound, jnp.minimum(excess, r), delta, jnp.zeros_like(r), r))(room)
    lower = jnp.where(jnp.all(valid, axis=-1, keepdims=True), jnp.moveaxis(rows, 0, -1), -jnp.inf)
    return _fields(lower, low, room, alpha, cap)


@functools.partial(jax.jit, static_argnums=0)
def _cvar_of_weighted(bound: Bound, prepared: Prepared, weights, largest, alpha, cap, delta) -> dict:
    low, (alpha, cap) = prepared.low, jnp.broadcast_arrays(alpha, cap)
    room = cap - low
    return _fields(weighted_capped_mean(bound, prepared, weights, largest, room, delta), low, room, alpha, cap)


@jax.jit
def _cvar_of_trials(mean: jax.Array, low: jax.Array, alpha: jax.Array, cap: jax.Array) -> dict:
    """From a lower bound on the mean of trials, [...]: capped at c, a trial is 0 or min(c, 1)."""
    alpha, cap = jnp.broadcast_arrays(alpha, cap)
    capped = next_down(jnp.maximum(mean, 0)[..., None] * jnp.minimum(cap, 1))
    return _fields(jnp.where(mean[..., None] >= 0, jnp.maximum(capped, 0), -jnp.inf), low, cap - low, alpha, cap)


def _fields(lower: jax.Array, low: jax.Array, room: jax.Array, alpha: jax.Array, cap: jax.Array) -> dict:
    """From lower bounds [..., t] on the mean of what lies above a, up to the cap; -inf where returns are invalid."""
    good = (lower >= 0) & jnp.broadcast_to((alpha > 0) & (alpha <= 1) & (room > 0), lower.shape)
    mean = finish(_above_low(lower, room, alpha), Ends(low, good))
    return {"mean": mean, "alpha": alpha, "cap": cap, "status": mean_status(mean, low)}


def _above_low(lower: jax.Array, room: jax.Array, alpha: jax.Array) -> jax.Array:
    """At most room - (room - lower) / alpha."""
    room, alpha = jnp.broadcast_to(room, lower.shape), jnp.broadcast_to(alpha, lower.shape)
    # Smaller numerators lose digits on a GPU.
    shortfall = jnp.maximum(next_up(room - lower), 2.0**-90)
    share = quotient(shortfall, jnp.where(alpha > 0, alpha, 1)) * (1 + 4 * unit_roundoff(room.dtype))
    return next_down(room - share)


CVAR = Question(
    name="cvar",
    words="what is the mean performance over the worst share of new tasks at least?",
    function=certify_cvar,
    paired=True,
    certificate=MeanCertificate,
    columns={"alpha": "alpha", "cap": "cap", "mean": "mean", "status": "status"},
    certified="mean",
    claims={"mean": min},
    risks={},
    share="alpha",
    each="alpha",
    fixed="alpha",
    settings=same("delta", "bound", "cap"),
    options=(
        Option("alpha", list, "Shares of the tasks, the worst ones, to certify the mean of", True, check=_check_shares),
        Option("cap", list, "Beyond it a return does not count: one for all shares, or one for each", True),
    ),
)
