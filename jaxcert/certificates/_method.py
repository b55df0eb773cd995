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


class Tail(NamedTuple):
    """From a number of violations to a risk: what takes a search, and what follows from it.

    Attributes:
        search: (k, n, beta, delta) -> arrays, elementwise, of numbers of one float type that broadcast. Never
            below the exact risk, increasing in k and beta, 1 for invalid arguments.
        finish: (these arrays, k, n, beta) -> ``Solution``.
        of_beta: whether the search depends on beta.
    """

    search: Callable[..., Any]
    finish: Callable[..., Solution]
    of_beta: bool = False


class Choice(NamedTuple):
    """A choice among levels that are fixed before the data are seen.

    Attributes:
        betas: the levels, in increasing order, each a number that every float type holds.
        delta_each: (n, delta, betas) -> the delta of each level's certificate, with which the best of them fails with
            probability at most delta; on the host.
    """

    betas: tuple[float, ...]
    delta_each: Callable[[int, float, tuple[float, ...]], float]


class FromReturns(NamedTuple):
    """What a method that counts no lower bounds has in their place.

    Attributes:
        bound: the only bound that it uses.
        default_beta: (m) -> beta if the user gives none, from the planned number of rollouts; None if the method then
            chooses one for each threshold; "auto" asks for the same.
        summaries: whether a summary of the returns suffices.
    """

    bound: Bound
    default_beta: Callable[[int], float | None]
    summaries: bool = False


@dataclasses.dataclass(frozen=True)
class Method:
    """A rule that counts tasks, and the tail that turns the count into a risk; hashable.

    Attributes:
        name: as in ``certify(method=...)``.
        count: (method, bound, sample, thresholds, beta, delta, validate) -> the fields of a ``Certificate``.
        tail: from the number of violations to the risk; None for a method that adds up evidence.
        default_beta: (delta, n) -> beta if the user gives none.
        choice: how ``certify(beta="auto")`` chooses the level; None where it needs one.
        zero_beta: whether beta may be 0.
        free_beta: whether ``certify_safety_level`` takes the largest beta that costs nothing if the user gives none.
        is_sound: (beta, delta, n) -> where the method is sound by itself.
        caveat: (beta, delta, n) -> the text of the warning where it is not; the tail must be sound there, too.
        chooses_valid: whether ``num_valid`` says more than n - k.
        from_returns: what it has in place of lower bounds; None if it counts these.
    """

    name: str
    count: Callable[..., dict[str, Any]]
    tail: Tail | None
    default_beta: Callable[[Any, int], Any] = lambda delta, num_tasks: 0.05
    choice: Choice | None = None
    zero_beta: bool = False
    free_beta: bool = False
    is_sound: Callable[[Any, Any, Any], Any] = lambda beta, delta, n: True
    caveat: Callable[[float, float, int], str] | None = None
    chooses_valid: bool = False
    from_returns: FromReturns | None = None

    def solve(self, k: jax.Array, n: jax.Array, beta: jax.Array, delta: jax.Array) -> Solution:
        """The solutions of arrays of one float type that broadcast."""
        assert self.tail is not None
        return self.tail.finish(self.tail.search(k, n, beta, delta), k, n, beta)

    @property
    def counts_successes(self) -> bool:
        """Whether it derives the risk from how many rollouts of each task succeeded: returns are 0 or 1."""
        return self.from_returns is not None and self.from_returns.bound.binary

    @property
    def chooses_beta(self) -> bool:
        """Whether it chooses a beta for each threshold where none is given."""
        return self.counts_successes
