"""Two policies on the same tasks, for certificates of their difference."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import numpy as np

from jaxcert._types import Array
from jaxcert._validation import require_real
from jaxcert.returns._prepared import is_successes
from jaxcert.returns.summaries import Histogram


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
    def of_successes(self) -> bool:
        """Whether the returns of both are successes."""
        return is_successes(self.returns_a) and is_successes(self.returns_b)

    @property
    def swapped(self) -> "Paired":
        """The difference with the other sign."""
        return Paired(self.returns_b, self.returns_a, self.where_b, self.where_a)

    def _each(self, change: Callable[[Any, Any], Any]) -> "Paired":
        """Both policies with returns changed by a function of them and of which count, if both are successes then."""
        both = change(self.returns_a, self.where_a), change(self.returns_b, self.where_b)
        return Paired(*both, self.where_a, self.where_b) if all(map(is_successes, both)) else self


def paired(
    returns_a: Array,
    returns_b: Array,
    *,
    where_a: Array | None = None,
    where_b: Array | None = None,
) -> Paired:
    r"""Pair two policies on the same tasks. Passed instead of returns, the pair gives certificates about J^A - J^B.

    With equally many rollouts of both, rollout j of A is paired with rollout j of B. A pair has the difference x - y,
    in [a - b, b - a], and is as good as a rollout of one policy:

    .. math:: E[X_{ij} - Y_{ij} \mid M_i] = J^A_{M_i} - J^B_{M_i},

    so that every certificate for one policy becomes one for the difference; thresholds, levels and caps are then
    differences as well. Swap the arguments for the other direction.

    ``certify``, ``certify_safety_level``, ``certify_band``, ``certify_interval``, ``certify_anytime``,
    ``certify_mean``, ``certify_cvar``, ``certify_suite``, ``certify_suite_mean``, ``certify_each_task``,
    ``certify_weighted``, the bounds per task and, of each metric, ``certify_requirements`` take it; others refuse it by
    name. Their ``support`` holds the returns
    of both, with two finite ends, and ``where`` stays None.

    The average of a task is that of A minus that of B, whatever their numbers of rollouts. For other purposes, with
    other numbers of rollouts, a difference is at least a lower bound on A minus an upper bound on B, each at half of
    the level. Methods that need single rollouts, such as soft counts, refuse such pairs.

    Args:
        returns_a: float[..., n, m_a] or bool, rollouts of policy A, as in ``certify``. Returns must be of whole
            episodes: for B, a truncated return that only bounds an infinite one from below is not enough.
        returns_b: float[..., n, m_b] or bool, rollouts of policy B on the same tasks in the same order. Rollouts j of
            both may share their randomness, but with no other.
        where_a: bool[..., n, m_a], which rollouts of A count, fixed before the data are seen; all by default.
        where_b: the same for B; a pair counts if both do, and in averages each rollout that does.

    Returns:
        The pairs, a pytree of these arrays.

    Raises:
        ValueError: for tasks that do not match, or a summary, whose values are rounded down.

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
    tasks = np.shape(returns_a)[:-1], np.shape(returns_b)[:-1]
    if tasks[0] != tasks[1]:
        raise ValueError(f"returns_a and returns_b have tasks of shapes {tasks[0]} and {tasks[1]}; expected the same")
    return Paired(returns_a, returns_b, where_a, where_b)


def refuse_summary(name: str, returns: Any) -> None:
    """Raise ValueError for a summary, of which there is no difference."""
    if isinstance(returns, Histogram):
        raise ValueError(f"{name} are a summary, whose values are rounded down; a difference needs an array")


def refuse_mask(where: Any) -> None:
    """Raise ValueError for a mask beside a pair, which holds one for each policy."""
    if where is not None:
        raise ValueError("where is for returns of one policy; pairs hold where_a and where_b")
