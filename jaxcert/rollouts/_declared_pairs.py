"""Settings of an experiment with two policies before its first pair, and the order of the trials in a pair."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count
from jaxcert.numerics._rounding import cast
from jaxcert.rollouts._outlook import fewest_to_pass
from jaxcert.rollouts._single_trial import Trial, check_labels
from jaxcert.sequential import SequentialState, init_pairs, update, update_pairs
from jaxcert.sequential._pairs import MOST_PAIRS
from jaxcert.sequential._rule import calibrated_goals, probability_up, wealth_up

# By which trials are recorded if whoever runs them must not know which policy it is.
_BLIND = ("X", "Y")


class DeclaredPairs(NamedTuple):
    """Settings fixed before the first trial; numbers as given, in double precision."""

    policies: tuple[str, str]  # their names, A and B
    labels: tuple[str, str]  # by which their trials are recorded, in this order; of blinded ones X and Y, or Y and X
    support: tuple[float, float]  # (a, b), which holds every possible score
    successes: bool  # whether a trial succeeds or fails, in place of a score
    margin: float  # by how much a policy has to be better, on average
    delta: float  # probability with which a policy may be shown better that is not
    bets: tuple[float, ...]  # lambda, of the evidence
    goal: float | None  # of the evidence of successes without a margin; else None, for 2/delta
    max_pairs: int | None  # after which the experiment ends; None for no limit
    seed: int  # of the order within each pair

    @property
    def role(self) -> str:
        """The meaning of a label."""
        return "policy"

    @property
    def is_exact(self) -> bool:
        """Whether only discordant pairs count, so that the goal is exact."""
        return self.successes and self.margin == 0

    @property
    def is_blinded(self) -> bool:
        """Whether trials are recorded by other labels than the names of the policies."""
        return self.labels != self.policies

    def first(self, pair: int) -> int:
        """The place of the policy that is tried first in a pair, from 0."""
        return _drawn(self.seed, pair)

    def state(self) -> SequentialState:
        """The policies before their first pair; ValueError for what cannot be declared."""
        check_labels("policies", self.policies, "policy")
        if self.is_blinded and (sorted(self.labels) != [*_BLIND] or {*self.policies} & {*_BLIND}):
            raise ValueError(f"labels are {', '.join(self.labels)}; expected X and Y, for policies with other names")
        if self.successes and self.support != (0, 1):
            raise ValueError(f"its support is {self.support}; expected (0, 1), that of successes")
        support = None if self.successes else self.support
        settings = {"support": support, "margin": self.margin, "bets": self.bets, "max_pairs": self.max_pairs}
        state = init_pairs(delta=self.delta, **settings)
        if self.goal is None:
            return state
        if not self.goal > 1:
            raise ValueError(f"its goal is {self.goal:.9g}; expected a number above 1, the evidence at the beginning")
        # A goal that was computed elsewhere may differ in its last bits; these bets must reach it as rarely.
        evidence = wealth_up(0.5, np.asarray(state.bets, np.float64).tolist(), self.max_pairs or MOST_PAIRS)
        if not (self.is_exact and probability_up(evidence, 0.5, self.goal, 0.0) <= self.delta / 2):
            raise ValueError(f"its goal is {self.goal:.9g}, which equal policies reach too often")
        return state._replace(goal=jnp.full_like(state.goal, cast(self.goal, state.goal.dtype, "up")))

    def check_turn(self, before: Sequence[Trial], place: int) -> None:
        """Raise ValueError if a pair would have two trials of one policy."""
        if len(before) % 2 and before[-1].task == place:
            own, other = self.labels[place], self.labels[1 - place]
            raise ValueError(f"pair {len(before) // 2 + 1} has its trial of {own}; expected the one of {other}")

    def advanced(self, state: SequentialState, before: Sequence[Trial], trial: Trial) -> SequentialState:
        """The state after one more trial, which completes a pair or begins one."""
        if len(before) % 2 == 0:
            return state
        values = [each.value for each in sorted((before[-1], trial), key=lambda each: each.task)]
        return update_pairs(state, *map(np.float64, values))

    def lost(self, state: SequentialState) -> SequentialState:
        """The state after a pair that counts as lost by both policies, as nothing can be worse for either."""
        if np.any(state.passed):
            return state
        return update(state, np.full(2, np.asarray(state.low)), np.arange(2))


def settled(declared: DeclaredPairs) -> DeclaredPairs:
    """The declaration with the default number of pairs and its goal; ValueError for an invalid one."""
    if declared.max_pairs is not None:
        check_count("max_pairs", declared.max_pairs)
    if fewest_to_pass(declared.state())[0, 0] < 0:
        raise ValueError(
            f"max_pairs (--pairs) is {declared.max_pairs}, within which no policy is shown to be better even if it "
            "wins all; expected more"
        )
    return _with_goal(declared._replace(max_pairs=declared.max_pairs or MOST_PAIRS)) if declared.is_exact else declared


def drawn_labels(seed: int) -> tuple[str, str]:
    """The labels of A and B, by which nobody knows which is which."""
    one, other = _BLIND if _drawn(seed, "labels") else _BLIND[::-1]
    return one, other


def _with_goal(declared: DeclaredPairs) -> DeclaredPairs:
    """With the evidence that coins of 1/2 reach within the limit with a probability of at most delta/2."""
    rule = np.array(declared.bets), 0.0, declared.max_pairs or MOST_PAIRS
    return declared._replace(goal=float(calibrated_goals([0.5], declared.delta / 2, *rule)[0]))


def _drawn(seed: int, what: int | str) -> int:
    """Draw 0 or 1 for a pair or for the labels, reproducibly in every language that has this hash."""
    return hashlib.sha256(f"{seed}:{what}".encode()).digest()[0] % 2
