"""Settings of an experiment with policies before their first pair, its blocks, and the order of the trials in them."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count
from jaxcert.numerics._rounding import cast
from jaxcert.returns._labels import enumerated
from jaxcert.rollouts._declared import Trial, check_labels, fewest_to_pass
from jaxcert.sequential import SequentialState, init_pairs, update, update_pairs
from jaxcert.sequential._pairs import MOST_PAIRS, orders_of
from jaxcert.sequential._rule import calibrated_goals, probability_up, wealth_up
from jaxcert.tables._entries import closely

# By which trials are recorded if whoever runs them must not know which policy it is.
_BLIND = "XYZWVUTSRQPONMLKJIHGFEDCBA"


class Blocks(NamedTuple):
    """Trials as they stand: a block is one trial of each policy that is still in, on one scene; of two it is a pair."""

    whole: list[dict[int, float]]  # the outcomes by the places of the policies, in the order of their trials
    begun: dict[int, float]  # of the block that is not complete
    policies: list[int]  # the places of the policies that are still in


class DeclaredPairs(NamedTuple):
    """Settings fixed before the first trial; numbers as given, in double precision."""

    policies: tuple[str, ...]  # their names, A, B, ...
    labels: tuple[str, ...]  # by which their trials are recorded, in this order; of blinded ones X, Y, ... as drawn
    support: tuple[float, float]  # (a, b), which holds every possible score
    successes: bool  # whether a trial succeeds or fails, in place of a score
    margin: float  # by how much a policy has to be better, on average
    delta: float  # probability with which any policy may be shown better than another that is not
    bets: tuple[float, ...]  # lambda, of the evidence
    goal: float | None  # of the evidence of successes without a margin; else None, for k (k - 1)/delta
    max_pairs: int | None  # after which the experiment ends; None for no limit
    seed: int  # of the order within each pair

    role = "policy"  # what a label means

    @property
    def noun(self) -> str:
        """What trials on one scene are called."""
        return "pair" if len(self.policies) == 2 else "block"

    @property
    def is_exact(self) -> bool:
        """Whether only discordant pairs count, so that the goal is exact."""
        return self.successes and self.margin == 0

    @property
    def is_blinded(self) -> bool:
        """Whether trials are recorded by other labels than the names of the policies."""
        return self.labels != self.policies

    def listed(self, places: Iterable[int]) -> list[int]:
        """Places of policies as they may be listed: blinded ones by their labels, since the order reveals them."""
        return sorted(places, key=self.labels.__getitem__) if self.is_blinded else [*places]

    @property
    def delta_of_each(self) -> float:
        """The share of delta of each ordered pair of policies."""
        return self.delta / (len(self.policies) * (len(self.policies) - 1))

    def order(self, block: int) -> list[int]:
        """The places of the policies in the order in which they are tried in a block."""
        return _drawn(self.seed, block, len(self.policies))

    def blocks(self, trials: Iterable[Trial]) -> Blocks:
        """The blocks of trials that count, with policies that were dropped between them."""
        whole: list[dict[int, float]] = []
        begun: dict[int, float] = {}
        policies = [*range(len(self.policies))]
        for trial in trials:
            if trial.value is None:
                policies.remove(trial.task)
                continue
            begun[trial.task] = trial.value
            if len(begun) == len(policies):
                whole.append(begun)
                begun = {}
        return Blocks(whole, begun, policies)

    def state(self) -> SequentialState:
        """The policies before their first pair; ValueError for what cannot be declared."""
        check_labels("policies", self.policies, "policy")
        if len({*map(closely, self.policies)}) < len(self.policies):
            raise ValueError(
                f"policies are {self.policies!r:.120}, which look alike; expected names to tell them apart"
            )
        blind = _BLIND[: len(self.policies)]
        alike = {*map(closely, self.policies)} & {*map(closely, blind)}
        if self.is_blinded and (sorted(self.labels) != sorted(blind) or alike):
            others = f"expected {enumerated(blind)}, for policies with other names"
            raise ValueError(f"labels are {', '.join(self.labels)}; {others}")
        if self.successes and self.support != (0, 1):
            raise ValueError(f"its support is {self.support}; expected (0, 1), that of successes")
        support = None if self.successes else self.support
        settings = {"support": support, "margin": self.margin, "bets": self.bets, "max_pairs": self.max_pairs}
        state = init_pairs(delta=self.delta, num_policies=len(self.policies), **settings)
        if self.goal is None:
            return state
        if not self.goal > 1:
            raise ValueError(f"its goal is {self.goal:.9g}; expected a number above 1, the evidence at the beginning")
        # A goal that was computed elsewhere may differ in its last bits; these bets must reach it as rarely.
        evidence = wealth_up(0.5, np.asarray(state.bets, np.float64).tolist(), self.max_pairs or MOST_PAIRS)
        if not (self.is_exact and probability_up(evidence, 0.5, self.goal, 0.0) <= self.delta_of_each):
            raise ValueError(f"its goal is {self.goal:.9g}, which equal policies reach too often")
        return state._replace(goal=jnp.full_like(state.goal, cast(self.goal, state.goal.dtype, "up")))

    def turn(self, before: Sequence[Trial], place: int) -> int:
        """The block of a trial after these; ValueError for a second one of a policy, or if that was dropped."""
        found, own = self.blocks(before), self.labels[place]
        where = f"{self.noun} {len(found.whole) + 1}"
        others = [self.labels[i] for i in self.listed(found.policies) if i not in found.begun]
        if place not in found.policies:
            raise ValueError(f"{own} was dropped before {where}; expected a trial of {' or '.join(others)}")
        if place in found.begun:
            raise ValueError(f"{where} has its trial of {own}; expected the one of {' or '.join(others)}")
        return len(found.whole)

    def drop(self, before: Sequence[Trial], place: int) -> int:
        """The block before which a policy is dropped; ValueError where it cannot be."""
        found, own = self.blocks(before), self.labels[place]
        if place not in found.policies:
            raise ValueError(f"{own} was dropped before; expected one that is still in")
        if found.begun:
            others = [self.labels[i] for i in self.listed(found.policies) if i not in found.begun]
            raise ValueError(
                f"{self.noun} {len(found.whole) + 1} lacks its trial of {' and '.join(others)}; expected whole ones "
                "before a policy is dropped"
            )
        if len(found.policies) < 3:
            raise ValueError(f"{own} is one of the last two policies; expected one of more, or simply no more trials")
        return len(found.whole)

    def advanced(self, state: SequentialState, before: Sequence[Trial], after: Sequence[Trial]) -> SequentialState:
        """The state after more trials than before, of which whole blocks count."""
        found = self.blocks(after)
        for block in found.whole[len(self.blocks(before).whole) :]:
            state = self.after_block(state, block)
        return self._open_for(state, found.policies)

    def after_block(self, state: SequentialState, block: dict[int, float]) -> SequentialState:
        """The state after one more block."""
        places = range(len(self.policies))
        where = np.array([place in block for place in places])
        return update_pairs(state, *(np.float64(block.get(place, self.support[0])) for place in places), where=where)

    def lost(self, state: SequentialState) -> SequentialState:
        """The state after a block that counts as lost by every policy, as nothing can be worse for any."""
        size = state.valid.shape[-1]
        return update(state, np.full(size, np.asarray(state.low)), np.where(is_undecided(state), np.arange(size), -1))

    def _open_for(self, state: SequentialState, policies: Sequence[int]) -> SequentialState:
        """The state in which policies that were dropped are compared no more."""
        if len(policies) == len(self.policies):
            return state
        goes_on = np.all(np.isin(orders_of(len(self.policies)), policies), axis=-1, keepdims=True)
        return state._replace(is_open=state.is_open & goes_on)


def is_undecided(state: SequentialState) -> np.ndarray:
    """Of which ordered pairs of policies more trials are evidence, bool[k (k - 1)]."""
    return np.any(np.asarray(state.is_open), axis=-1)


def settled(declared: DeclaredPairs) -> DeclaredPairs:
    """The declaration with the default number of pairs and its goal; ValueError for an invalid one."""
    if declared.max_pairs is not None:
        check_count("max_pairs", declared.max_pairs)
    if fewest_to_pass(declared.state())[0, 0] < 0:
        raise ValueError(
            f"max_pairs (--pairs) is {declared.max_pairs}, within which no policy is shown to be better even if it "
            "wins all; expected more"
        )
    if not declared.is_exact:
        return declared
    # The evidence that coins of 1/2 reach within the limit with a probability of at most the share of delta.
    most = declared.max_pairs or MOST_PAIRS
    goals = calibrated_goals([0.5], declared.delta_of_each, np.array(declared.bets), 0.0, most)
    return declared._replace(max_pairs=most, goal=float(goals[0]))


def drawn_labels(seed: int, number: int) -> tuple[str, ...]:
    """The labels of A, B, ..., by which nobody knows which is which."""
    if number > len(_BLIND):
        raise ValueError(f"policies are {number}; expected at most {len(_BLIND)} that are blinded")
    return tuple(_BLIND[place] for place in _drawn(seed, "labels", number))


def _drawn(seed: int, what: int | str, number: int) -> list[int]:
    """Draw an order of that many for a block or for the labels, reproducibly in every language that has this hash."""
    left, found = [*range(number)], []
    code = int.from_bytes(hashlib.sha256(f"{seed}:{what}".encode()).digest(), "little")
    while left:
        code, place = divmod(code, len(left))
        found.append(left.pop(place))
    return found
