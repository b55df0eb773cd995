"""The description of a method, which turns the number of violations, or the returns, into the certified risk."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from jaxcert.bounds._bound import Bound


class Solution(NamedTuple):
    """What a method gives for each number of violations, elementwise.

    Attributes:
        epsilon: certified risk in (0, 1]; 1 where nothing is certified.
        num_valid: how many valid lower bounds the risk is derived from; n - k where the method does not choose.
        feasible: whether the method has a solution at all.
    """

    epsilon: jax.Array
    num_valid: jax.Array
    feasible: jax.Array


class Choice(NamedTuple):
    """A choice among levels that are fixed before the data are seen.

    Attributes:
        betas: the levels, in increasing order, each a number that every float type holds.
        delta_each: (n, delta, betas) -> the delta of each level's certificate, with which the best of them fails with
            probability at most delta; on the host.
    """

    betas: tuple[float, ...]
    delta_each: Callable[[int, float, tuple[float, ...]], float]


class Derived(NamedTuple):
    """What a method derives from the returns themselves.

    Attributes:
        lower: what it says of each task alone, [..., n]; -inf for a task with invalid returns.
        violations: tasks that count in full, or more, [..., t].
        solution: a row with one entry per certificate.
        levels: the beta of each certificate, [..., t], where the method chose it; None for the beta of the call.
    """

    lower: jax.Array
    violations: jax.Array
    solution: Solution
    levels: jax.Array | None = None


class FromCounts(NamedTuple):
    """How a method derives the risk where each task was counted before, in pieces of the returns or all at once.

    Attributes:
        counted: (prepared returns [..., n, m]) -> counts [2, ..., n], of each task by itself: neither thresholds nor
            levels matter. -1 for a task with invalid returns, NaN for one that refutes the support.
        solve: (counts, m or None, thresholds, beta, delta) -> ``Derived``, what the returns would give; None for
            returns with a mask. ``lower`` then says only which tasks are invalid.
    """

    counted: Callable[..., jax.Array]
    solve: Callable[..., Derived]


class FromReturns(NamedTuple):
    """How a method derives the risk from the returns, where no lower bounds are counted.

    Attributes:
        bound: the only bound that it uses.
        default_beta: (m) -> beta if the user gives none, from the planned number of rollouts; None if ``solve`` then
            chooses it.
        solve: (prepared returns, thresholds, beta, delta) -> ``Derived``; epsilon never below the exact risk.
        summaries: whether a summary of the returns suffices.
        chooses: whether ``solve`` chooses a beta for each threshold where none is given; "auto" asks for the same.
        counts: how it goes on from counts of the returns; None if it needs the returns themselves.
    """

    bound: Bound
    default_beta: Callable[[int], float | None]
    solve: Callable[..., Derived]
    summaries: bool = False
    chooses: bool = False
    counts: FromCounts | None = None


@dataclasses.dataclass(frozen=True)
class Method:
    """A certificate as a static description; hashable, so that it can select a compiled function.

    Attributes:
        name: as in ``certify(method=...)``.
        solve: (k, n, beta, delta) -> ``Solution``, elementwise: a row of k, integers in the type of the levels, to
            which the others broadcast. Never below the exact risk, increasing in k and beta, 1 for invalid arguments.
        default_beta: (delta, n) -> beta if the user gives none.
        best_beta: (n, delta, wanted) -> the default beta for wanted safeties [t], and the solutions with it for a
            padded row of k = 0, ..., n; None where the default is ``default_beta``.
        choice: how ``certify(beta="auto")`` chooses the level; None where it needs one.
        zero_beta: whether beta may be 0.
        is_sound: (beta, delta, n) -> where the method is sound by itself.
        caveat: (beta, delta, n) -> the text of the warning where it is not; ``solve`` must be sound there, too.
        chooses_valid: whether ``num_valid`` says more than n - k.
        from_returns: how it derives the risk from the returns; None if from violations. Then ``solve`` and
            ``default_beta`` refuse, and so does every call that has lower bounds alone.
    """

    name: str
    solve: Callable[..., Solution]
    default_beta: Callable[[Any, int], Any]
    best_beta: Callable[[int, jax.Array, jax.Array], tuple[jax.Array, Solution]] | None = None
    choice: Choice | None = None
    zero_beta: bool = False
    is_sound: Callable[[Any, Any, Any], Any] = lambda beta, delta, n: True
    caveat: Callable[[float, float, int], str] | None = None
    chooses_valid: bool = False
    from_returns: FromReturns | None = None

    @property
    def counts_successes(self) -> bool:
        """Whether it derives the risk from how many rollouts of each task succeeded: returns are 0 or 1."""
        return self.from_returns is not None and self.from_returns.bound.binary
