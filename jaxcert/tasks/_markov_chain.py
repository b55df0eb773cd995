"""A finite Markov chain with a known graph and unknown probabilities."""

import dataclasses

import numpy as np

from jaxcert._validation import is_count


@dataclasses.dataclass(frozen=True, eq=False)
class Chain:
    """The known structure of the Markov chain of a fixed policy on a finite task.

    Attributes:
        successors: the one or two states that can follow each state, int[S, 2]; -1 in place of the second one, and of
            both for a state that ends the episode.
        payoff: the return of an episode that ends in each state, there or at the horizon, float[S], at least 0.
        initial: the state in which episodes begin.
        horizon: maximum number of steps of an episode.

    The arrays are copied and read-only.

    Raises:
        ValueError: for an invalid graph, payoff, initial state or horizon.

    Example:
        >>> chain = Chain(np.array([[1, 2], [-1, -1], [-1, -1]]), np.array([0.0, 1.0, 0.0]), initial=0, horizon=5)
        >>> print(chain.uncertain())
        [ True False False]
    """

    successors: np.ndarray
    payoff: np.ndarray
    initial: int
    horizon: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "successors", _graph(np.asarray(self.successors)))
        object.__setattr__(self, "payoff", _kept(np.array(self.payoff, np.float64)))
        num_states = len(self.successors)
        if self.payoff.shape != (num_states,) or not np.all(np.isfinite(self.payoff) & (self.payoff >= 0)):
            raise ValueError(
                f"payoff is {self.payoff!r}; expected a return of at least 0 for each of {num_states} states"
            )
        if isinstance(self.initial, bool) or self.initial not in range(num_states):
            raise ValueError(f"initial is {self.initial!r}; expected one of {num_states} states")
        if not (is_count(self.horizon) and self.horizon < 2**31):
            raise ValueError(f"horizon is {self.horizon!r}; expected a whole number from 1 to 2**31 - 1")

    def reachable(self) -> np.ndarray:
        """A mask of the states that an episode can reach, bool[S]."""
        seen = np.zeros(len(self.successors), bool)
        seen[self.initial] = True
        for _ in range(self.horizon):
            following = self.successors[seen]
            before = seen.sum()
            seen[following[following >= 0]] = True
            if seen.sum() == before:
                break
        return seen

    def uncertain(self) -> np.ndarray:
        """Reachable states with two successors, bool[S]."""
        return self.reachable() & (self.successors[:, 1] >= 0)


def _graph(successors: np.ndarray) -> np.ndarray:
    """The graph as int32[S, 2], or ValueError."""
    if successors.shape != (len(successors), 2) or successors.size == 0 or successors.dtype.kind not in "iu":
        raise ValueError(f"successors have shape {successors.shape}, {successors.dtype}; expected int[S, 2]")
    first, second = successors.T
    bad = ((successors < -1) | (successors >= len(successors))).any(axis=1)
    wrong = np.flatnonzero(bad | ((second >= 0) & ((first < 0) | (first == second))))
    if wrong.size:
        raise ValueError(
            f"successors of state {wrong[0]} are {successors[wrong[0]].tolist()}; expected different states below "
            f"{len(successors)}, then -1"
        )
    return _kept(successors.astype(np.int32))


def _kept(array: np.ndarray) -> np.ndarray:
    """Make the array read-only, so that it cannot change after the check."""
    array.setflags(write=False)
    return array
