"""What a sample is: returns, also without a support, of two policies on the same tasks, or of tasks with weights."""

import dataclasses
from typing import Any, ClassVar

import chex
import jax
import numpy as np

from jaxcert._validation import require_real
from jaxcert.returns._checks import check_axes, check_values
from jaxcert.returns._prepared import Prepared, to_device
from jaxcert.returns.summaries import Summary


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Paired:
    """Returns of two policies on the same tasks, of which a certificate is about the difference; see ``paired``.

    Attributes:
        returns_a: [..., n, m], of policy A.
        returns_b: [..., n, m], of policy B.
        where_a: which of them count, [..., n, m], or None.
        where_b: the same for B.
    """

    returns_a: Any
    returns_b: Any
    where_a: Any = None
    where_b: Any = None

    _in_words: ClassVar[str] = "pairs of two policies"

    @property
    def swapped(self) -> "Paired":
        """The difference with the other sign."""
        return Paired(self.returns_b, self.returns_a, self.where_b, self.where_a)


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


def paired(
    returns_a: chex.Array,
    returns_b: chex.Array,
    *,
    where_a: chex.Array | None = None,
    where_b: chex.Array | None = None,
) -> Paired:
    r"""Two policies on the same tasks, in place of returns: certificates are then about J^A - J^B.

    Rollout j of A is paired with rollout j of B. A pair has the difference x - y, in [a - b, b - a], and is as good as
    a rollout of one policy:

    .. math:: E[X_{ij} - Y_{ij} \mid M_i] = J^A_{M_i} - J^B_{M_i},

    so that every certificate of one policy is one of the difference, with thresholds, levels and caps that are
    differences, too. Swap the arguments for the other direction.

    ``certify``, ``certify_safety_level``, ``certify_band``, ``certify_interval``, ``certify_anytime``,
    ``certify_mean``, ``certify_cvar``, ``certify_weighted`` and the bounds per task take it; others refuse it by name.
    Their ``support`` holds the returns of both, with two finite ends, and ``where`` stays None. ``certify_improvement``
    and ``certify_mean_difference`` take policies with other numbers of rollouts as well.

    Args:
        returns_a: float[..., n, m] or bool, rollouts of policy A, as in ``certify``. Those of whole episodes: a
            truncated return that only bounds an infinite one from below is not enough for B.
        returns_b: float[..., n, m] or bool, rollouts of policy B on the same tasks in the same order. Rollouts j of
            both may share their randomness, but with no other.
        where_a: bool[..., n, m], which rollouts of A count, fixed before the data are seen; all by default.
        where_b: the same for B; a pair counts if both do.

    Returns:
        The pairs, a pytree of these arrays.

    Raises:
        ValueError: for arrays of different shapes, or a summary, whose values are rounded down.

    Example:
        >>> import jaxcert
        >>> better = jaxcert.sample_returns("cheetah")
        >>> pairs = jaxcert.paired(better, 0.9 * better[:, ::-1])
        >>> print(jaxcert.certify_safety_level(pairs, 0.9, support=(0, 1000), delta=0.01))
        With confidence 0.99: on a new task from the same distribution,
        the expected return of policy A minus that of policy B is at least 27.49... with probability at least 0.9000.

    Reference: the theory page, section 18.1.
    """
    for name, returns in (("returns_a", returns_a), ("returns_b", returns_b)):
        refuse_summary(name, returns)
        require_real(name, returns)
    shapes = np.shape(returns_a), np.shape(returns_b)
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"returns_a and returns_b have shapes {shapes[0]} and {shapes[1]}; pairs need the same tasks and as many "
            "rollouts of both (certify_improvement and certify_mean_difference take other numbers of rollouts)"
        )
    return Paired(returns_a, returns_b, where_a, where_b)


def refuse_summary(name: str, returns: Any) -> None:
    """Raise ValueError for a summary, of which there is no difference."""
    if isinstance(returns, Summary):
        raise ValueError(f"{name} are a summary, whose values are rounded down; a difference needs an array")


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


def prepare_without_support(returns: Any, where: Any, validate: bool, *, needed_by: str) -> Prepared:
    """Returns [..., n, m] rounded down, in a support that holds every number; ``needed_by`` is for the message."""
    if isinstance(returns, Summary):
        raise ValueError(f"returns are a summary, without single rollouts; {needed_by} needs an array")
    # An explicit transfer, which a guard allows.
    low, high = jax.device_put((np.float32(-np.inf), np.float32(np.inf)))
    prepared = to_device(returns, low, high, where, certificate=True)
    if validate:
        values = returns if isinstance(returns, jax.Array) else np.asarray(returns)
        check_values(values, -np.inf, np.inf, prepared.where, binary=False)
        check_axes(prepared.returns, prepared.where)
    return prepared
