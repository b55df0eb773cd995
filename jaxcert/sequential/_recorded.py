"""Sequential certificates of returns that were recorded in their order."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert._validation import require_real
from jaxcert.bounds._betting import BETTING
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._certify import curve_of_counts
from jaxcert.certificates._method import BINOMIAL
from jaxcert.certificates._question import Option, Question
from jaxcert.certificates._registry import levels_of, thresholds_of
from jaxcert.returns._prepared import Support, as_successes, is_successes
from jaxcert.returns._sample import Sample, placed, sample_of
from jaxcert.returns.summaries import Histogram
from jaxcert.sequential._rule import Settings, check_give_up, prepare_rule, takes_table
from jaxcert.sequential._wealth import SequentialState, advance, certificate_of, start


def certify_sequential(
    returns: Array,
    thresholds: Numeric | Sequence[Numeric],
    *,
    support: Support | None = None,
    delta: Numeric,
    beta: Numeric | None = None,
    where: Array | None = None,
    give_up: float | None = None,
    validate: bool = True,
) -> Certificate:
    r"""Certify with as many of the recorded rollouts as each task needs, in their order.

    .. math:: W_j = \frac13 \sum_{\lambda} \prod_{i \le j} \Big(1 - \lambda + \lambda \frac{X_i - a}{B - a}\Big),
              \qquad \lambda \in \{\tfrac14, \tfrac12, 1\}

    A task passes a threshold B when its wealth W reaches 1/beta, and is left when W falls to ``give_up``; a task that
    has not passed is a violation, and k violations give the risk of ``binomial_epsilon``. With probability at least
    1 - delta, that holds at all moments of the experiment at once, whichever task was continued, and whenever and why
    it stopped. So rollouts beyond ``num_rollouts_used`` need not be made.

    For an array of bool, the goal 1/beta is replaced by the smallest wealth that tasks with J < B reach with
    probability beta, which is computed exactly for m rollouts and this ``give_up``; the bets are 0.03, 0.08, 0.2, 0.45
    and 0.9. Not where thresholds or beta are traced, or for more than 2000 rollouts per task.

    Args:
        returns: float[..., n, m] or bool, in the order in which the rollouts were started; one that broke off counts as
            a.
        thresholds: float[t], or a scalar for one; fixed before the data are seen.
        support: (a, b), which holds every possible return, declared before the data are seen; b may be infinite. For
            an array of bool it is (0, 1).
        delta: failure probability of each certificate, in (0, 1); a scalar.
        beta: probability with which a task with J < B may pass, in (0, 1), fixed before the data; 0.05 by default.
        where: bool[..., n, m], which rollouts were made; all by default. At least one per task. It is not for rollouts
            that broke off.
        give_up: the wealth at which a task is left, in [0, 1); 0 leaves none. By default 0.5, for successes 0.1. With
            0.5, a task whose first return is a is left at once.
        validate: as in ``certify``, which warns of the same thresholds.

    Returns:
        A ``Certificate`` with arrays [..., t].

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
    if isinstance(returns, Histogram):
        raise ValueError("a summary keeps no order of rollouts; expected returns [..., num_tasks, num_rollouts]")
    require_real("returns", returns)
    returns = as_successes(returns, support, where)
    successes, most = is_successes(returns), (np.shape(returns) or (0,))[-1]
    binary = successes and takes_table(most, (thresholds, beta, support))
    # These bounds have the same needs.
    sample = sample_of(CLOPPER_PEARSON if binary else BETTING, returns, support, where, validate)
    ends, m = (sample.low, sample.high), int(sample.num_rollouts)
    share, level = levels_of(BINOMIAL, delta, beta, sample, validate)
    rows: Any = thresholds_of(sample, thresholds, validate)
    limits = {"give_up": give_up, "max_rollouts_per_task": m, "binary": binary}
    rule = prepare_rule(rows, level, ends, bets=None, **limits)
    state = _run(*placed((sample, rows, level, rule)))
    return certificate_of(state, share, successes, int(sample.num_tasks))


@jax.jit
def _run(sample: Sample, thresholds, beta, settings: Settings) -> SequentialState:
    """All rollouts in their order."""
    x, low, high, where = jnp.asarray(sample.values), jnp.asarray(sample.low), jnp.asarray(sample.high), sample.mask
    mask = jnp.ones(x.shape, bool) if where is None else where
    begin = start(x.shape[:-1], thresholds, low, high, beta, settings)
    # Under `shard_map` the initial values of a loop must already be marked as differing between devices.
    same = jnp.zeros_like(x.ravel()[0]) == 0
    begin = jax.tree.map(lambda leaf: jnp.where(same, leaf, leaf), begin)
    rollouts = jnp.moveaxis(x, -1, 0), jnp.moveaxis(mask, -1, 0)
    return jax.lax.scan(lambda state, each: (advance(state, *each), None), begin, rollouts)[0]


SEQUENTIAL = Question(
    name="sequential",
    words="on what share of new tasks is the performance at least a threshold, with as few rollouts as a task needs?",
    function=certify_sequential,
    options=(Option("give_up", float, "Give a task up when its evidence falls below this", check=check_give_up),),
    advised=True,
    curve=curve_of_counts,
    missing=Certificate.violated,
)
