"""Returns on tasks that have weights, for tasks from another distribution."""

import dataclasses
from typing import Any, ClassVar

import chex
import jax

from jaxcert._validation import require_real
from jaxcert.returns._paired import Paired
from jaxcert.returns.summaries import Summary


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Weighted:
    """Returns on tasks that have weights, for tasks from another distribution; see ``weighted``.

    Attributes:
        returns: [..., n, m], or a summary, or pairs.
        weights: [n] or [..., n].
        max_weight: what no weight exceeds, a scalar.
    """

    returns: Any
    weights: Any
    max_weight: Any

    _in_words: ClassVar[str] = "weighted"


def weighted(returns: chex.Array | Summary | Paired, weights: chex.Array, *, max_weight: chex.Numeric) -> Weighted:
    """Returns whose tasks have weights, in place of returns: certificates are then for tasks from D'.

    ``certify``, ``certify_mean`` and ``certify_cvar`` take it; others refuse it by name.

    Args:
        returns: float[..., n, m], as in ``certify``, on tasks from D; or what stands in their place there.
        weights: w = dD'/dD of each sampled task, float[n] or float[..., n], or any larger number, as in
            ``certify_weighted``; ``task_weights`` computes them from two distributions.
        max_weight: what no task's weight exceeds, proved beforehand, at least 1; a scalar.

    Returns:
        The weighted returns, a pytree of these arrays.

    Raises:
        ValueError: for weights that are no real numbers. Their values are checked where they are used, as by
            ``certify_weighted``: traced ones fail closed if they are out of range, but whether their mean can be 1, as
            a density ratio's has to be, is tested only if they are concrete.

    Example:
        >>> import jaxcert
        >>> import numpy as np
        >>> weights = np.where(np.arange(200) % 2, 0.5, 1.5)  # every second kind of task three times as frequent
        >>> sample = jaxcert.weighted(jaxcert.sample_returns("cheetah"), weights, max_weight=1.5)
        >>> print(jaxcert.certify_mean(sample, support=(0, 1000), delta=0.01))
        With confidence 0.99: over new tasks from the reweighted distribution,
        the expected return is at least 761.79... on average.

    Reference: the theory page, equations (20.2) and (20.3).
    """
    require_real("weights", weights)
    return Weighted(returns, weights, max_weight)
