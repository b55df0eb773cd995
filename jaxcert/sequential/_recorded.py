"""Sequential certificates of returns that were recorded in their order."""

from collections.abc import Sequence

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._evaluate import prepare, task_shape
from jaxcert.certificates._arguments import choose, planned_beta, prepare_levels, prepare_thresholds
from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._soft import SOFT
from jaxcert.returns._prepared import Prepared, Support
from jaxcert.returns.summaries import Summary
from jaxcert.sequential._sequential_certificate import SequentialCertificate, certificate_of
from jaxcert.sequential._soft_certificate import soft_certificate
from jaxcert.sequential._wealth import BETS, SequentialState, advance, start

# Thresholds are taken in blocks of so many that their wealth takes at most about 256 MB.
_BLOCK_BYTES = 2**28

_METHODS = {
    method.name: (method, certificate) for method, certificate in ((BINOMIAL, certificate_of), (SOFT, soft_certificate))
}


def certify_sequential(
    returns: chex.Array,
    thresholds: chex.Numeric | Sequence[chex.Numeric],
    *,
    support: Support,
    delta: chex.Numeric,
    beta: chex.Numeric | None = None,
    method: str = "binomial",
    where: chex.Array | None = None,
    give_up: float = 0.5,
    validate: bool = True,
) -> SequentialCertificate:
    r"""Certify with as many of the recorded rollouts as each task needs, in their order.

    .. math:: W_j = \frac13 \sum_{\lambda} \prod_{i \le j} \Big(1 - \lambda + \lambda \frac{X_i - a}{B - a}\Big),
              \qquad \lambda \in \{\tfrac14, \tfrac12, 1\}

    A task passes a threshold B when its wealth W reaches 1/beta, and is left when W falls to ``give_up``; a task that
    has not passed is a violation, and k violations give the risk of ``binomial_epsilon``. With probability at least
    1 - delta, that holds at all moments of the experiment at once, whichever task was continued, and whenever and why
    it stopped. So rollouts beyond ``num_rollouts_used`` need not be made.

    "soft" adds up the wealth with which each task stopped, as ``certify`` does with evidence. That needs each task to
    stop by its own returns alone, as here, and holds at the end only, not at moments chosen by the returns.

    Args:
        returns: float[..., n, m], in the order in which the rollouts were started; one that broke off counts as a.
        thresholds: float[t], or a scalar for one; fixed before the data are seen.
        support: (a, b), which holds every possible return, declared before the data are seen; b may be infinite.
        delta: failure probability of each certificate, in (0, 1); a scalar.
        beta: probability with which a task with J < B may pass, in (0, 1), fixed before the data; 0.05 by default.
            For "soft" the weight of the wealth; its default is that of ``certify``.
        method: "binomial" or "soft".
        where: bool[..., n, m], which rollouts were made; all by default. At least one per task. It is not for rollouts
            that broke off.
        give_up: the wealth at which a task is left, in [0, 1); 0 leaves none.
        validate: raise for invalid values that are concrete; otherwise their tasks count as violations.

    Returns:
        A ``SequentialCertificate`` with arrays [..., t].

    Raises:
        ValueError: as ``certify``; for a summary, which keeps no order; for a ``give_up`` outside [0, 1).

    Example:
        >>> import jaxcert
        >>> from jaxcert.sequential import certify_sequential
        >>> returns = jaxcert.sample_returns("cheetah")
        >>> found = certify_sequential(returns, 400.0, support=(0, 1000), delta=0.01)
        >>> print(f"{found.safety[0]:.3f} from {found.num_rollouts_used.mean():.1f} of 100 rollouts per task")
        0.976 from 6.9 of 100 rollouts per task

    Reference: the theory page, section 8; its equation (8.1).
    """
    if isinstance(returns, Summary):
        raise ValueError("a summary keeps no order of rollouts; expected returns [..., num_tasks, num_rollouts]")
    if not (isinstance(give_up, int | float | np.floating) and 0 <= give_up < 1):
        raise ValueError(f"give_up is {give_up!r}; expected a number in [0, 1)")
    # Betting asks the same of returns.
    prepared = prepare(BETTING, returns, support, where, validate, certificate=True)
    dtype = prepared.low.dtype
    chosen, certificate = choose("method", method, _METHODS)
    beta = beta if chosen.from_returns is None else planned_beta(chosen.from_returns, beta, prepared)
    delta, beta = prepare_levels(chosen, delta, beta, task_shape(prepared)[-1], dtype, validate)
    thresholds = prepare_thresholds(thresholds, dtype, validate)
    state = _run(prepared, thresholds, beta, jnp.asarray(give_up, dtype))
    return certificate(state, delta)


@jax.jit
def _run(prepared: Prepared, thresholds: jax.Array, beta: jax.Array, give_up: jax.Array) -> SequentialState:
    """All rollouts in their order, for as many thresholds at a time as memory holds."""
    x, low, high, where = prepared
    mask = jnp.ones(x.shape, bool) if where is None else where
    rollouts = jnp.moveaxis(x, -1, 0), jnp.moveaxis(mask, -1, 0)

    def run(threshold: jax.Array) -> SequentialState:
        begin = start(x.shape[:-1], threshold[None], low, high, beta)
        return jax.lax.scan(lambda state, each: (advance(state, *each, give_up), None), begin, rollouts)[0]

    block = max(1, _BLOCK_BYTES // (x[..., 0].size * x.dtype.itemsize * 4 * len(BETS)))
    state = jax.lax.map(run, thresholds, batch_size=block)
    wealth = jnp.moveaxis(state.wealth[..., 0, :], 0, -2)
    passed, is_open, used = map(_last, (state.passed, state.is_open, state.num_rollouts_used))
    return SequentialState(wealth, passed, is_open, state.valid[0], used, thresholds, low, high, beta)


def _last(column: jax.Array) -> jax.Array:
    """From [t, ..., 1] to [..., t]."""
    return jnp.moveaxis(column[..., 0], 0, -1)
