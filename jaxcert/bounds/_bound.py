"""The description of a per-task bound."""

import dataclasses
from collections.abc import Callable

import jax


@dataclasses.dataclass(frozen=True)
class Bound:
    """A per-task lower bound as a static description; hashable, so that it can select a compiled function.

    Attributes:
        name: as in ``certify(bound=...)``.
        lower: from masked rollouts to a lower bound on the mean per task.
        min_rollouts: the fewest rollouts per task for which the bound is defined.
        needs_width: whether b must be finite.
        binary: whether the returns must be 0 or 1.
        from_moments: whether the mean and the standard deviation suffice to compute it.
    """

    name: str
    lower: Callable[..., jax.Array]
    min_rollouts: int = 1
    needs_width: bool = False
    binary: bool = False
    from_moments: bool = False
