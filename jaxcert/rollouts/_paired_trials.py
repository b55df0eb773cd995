"""Policies tried in pairs, as with a robot, until one is shown to be better, in a log that outlives the process."""

import itertools
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxcert.returns._labels import quoted
from jaxcert.rollouts._chained import ChainedLog
from jaxcert.rollouts._declared import Trial, one_number, two_ends
from jaxcert.rollouts._declared_pairs import Blocks, DeclaredPairs, drawn_labels, is_undecided, settled
from jaxcert.rollouts._recorded_trials import RecordedTrials
from jaxcert.rollouts._trial_log import first_entry, trial_entry
from jaxcert.rollouts._trials import Trials
from jaxcert.sequential import SequentialState
from jaxcert.sequential._pairs import PAIR_BETS, orders_of, shown_better
from jaxcert.tables._files import in_file


class PairedTrials(RecordedTrials[DeclaredPairs]):
    """Policies tried in pairs until one is shown to be better: a log of single trials, and its result.

    Each pair is a trial of each policy on one scene, drawn anew for the pair; the order is drawn as well. With
    probability at least 1 - delta no policy is shown to be better that is not, whenever and why the trials end. Every
    pair that was begun counts; a trial that broke off is a failure, or has the lowest score.

    Of more than two policies, a block is a trial of each on one scene, and each policy is compared with each other one:
    all that is shown holds together. A policy whose comparisons are all decided is left out of later blocks, as is one
    that was dropped (``drop``), for whatever reason.

    The log, the lock, interruptions and withdrawals work as in ``Trials``. After a withdrawal the answer holds only if
    no trial was withdrawn because of how it went; with ``count_withdrawn=True`` a pair with a withdrawn trial counts as
    lost by both policies, and the answer holds for whatever reason it was withdrawn.

    Args:
        path: a log of ``PairedTrials.start``.

    Raises:
        ImportError: without filelock (extra ``io``).
        OSError: if the file cannot be read.
        ValueError: for anything else than such a log, as ``Trials``.

    Warns:
        UserWarning: for a last line that is incomplete.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     trials = PairedTrials.start(f"{folder}/ab.jsonl", ["new", "old"], delta=0.05)
        ...     while (policy := trials.next_policy()) and trials.num_pairs < 40:
        ...         trials.add(policy, policy == "new" or trials.num_pairs % 2 == 0)
        >>> trials.num_pairs, trials.better()
        (14, 'new')

    Reference: the theory page, section 18.4.
    """

    _declares = DeclaredPairs
    _instead = "is a log of tasks; expected one of policies in pairs (Trials opens it)"

    @classmethod
    def start(
        cls,
        path: str | os.PathLike[str],
        policies: Sequence[str],
        *,
        delta: float,
        support: tuple[float, float] | None = None,
        margin: float = 0.0,
        max_pairs: int | None = None,
        seed: int | None = None,
        blinded: bool = False,
    ) -> "PairedTrials":
        """Declare an experiment, in a new file.

        Args:
            path: the file; one that exists is kept.
            policies: the names of A and B, or of more.
            delta: probability with which a policy may be shown better that is not, in (0, 1).
            support: (a, b), which holds every possible score; None if a trial succeeds or fails.
            margin: by how much a policy has to be better, on average.
            max_pairs: the largest number of pairs, or blocks; by default 200, and no limit for scores or with a margin.
            seed: of the order within the pairs; by default drawn.
            blinded: record the policies as X, Y, ...; which is which stands in the first line of the log.

        Returns:
            The experiment before its first trial.

        Raises:
            FileExistsError: for a file that exists.
            ImportError: without filelock (extra ``io``).
            ValueError: for what cannot be declared; or if no file can be written there.
        """
        number = secrets.randbits(32) if seed is None else int(seed)
        if isinstance(policies, str) or len(names := tuple(policies)) < 2:
            raise ValueError(f"policies are {policies!r:.60}; expected the names of two or more")
        declared = DeclaredPairs(
            policies=names,
            labels=drawn_labels(number, len(names)) if blinded else names,
            support=two_ends(support),
            successes=support is None,
            margin=one_number("margin", margin),
            delta=one_number("delta", delta),
            bets=PAIR_BETS,
            goal=None,
            max_pairs=max_pairs,
            seed=number,
        )
        ChainedLog.start(path, first_entry(settled(declared)))
        return cls(path)

    @property
    def _blocks(self) -> Blocks:
        return self.declared.blocks(self._log.counted)

    @property
    def num_pairs(self) -> int:
        """The number of complete pairs, or of blocks of more policies, that count."""
        return len(self._blocks.whole)

    @property
    def begun(self) -> Trial | None:
        """The last trial of a pair that has begun; None if every pair is complete."""
        return self._log.counted[-1] if self._blocks.begun else None

    @property
    def is_over(self) -> bool:
        """Whether another trial is no evidence any more: all comparisons are decided, or all pairs are made."""
        most = self.declared.max_pairs
        return len(self._going) < 2 or (most is not None and self.num_pairs >= most)

    @property
    def _going(self) -> list[int]:
        """The places of the policies of the next block: those with a comparison that is not decided."""
        pairs = orders_of(len(self.declared.policies))[is_undecided(self.state)]
        return [place for place in self._blocks.policies if place in pairs]

    def pairs(self) -> list[tuple[Any, ...]]:
        """The outcomes of A, B and each other policy in each pair that is complete; None of one that was dropped."""
        places = range(len(self.declared.policies))
        return [tuple(block.get(place) for place in places) for block in self._blocks.whole]

    def num_out_of_order(self) -> int:
        """The number of pairs that were not tried in the order that was drawn."""
        found = self._blocks
        tried = [*((block, block) for block in found.whole), (found.begun, found.policies)]
        drawn = ([p for p in self.declared.order(i) if p in policies] for i, (_, policies) in enumerate(tried))
        return sum([*block] != order[: len(block)] for (block, _), order in zip(tried, drawn, strict=True))

    def next_policy(self) -> str | None:
        """The label of the policy whose trial comes next; None after the last one."""
        if self.is_over:
            return None
        found = self._blocks
        policies = found.policies if found.begun else self._going
        left = (place for place in self.declared.order(len(found.whole)) if place in policies)
        return self.declared.labels[next(place for place in left if place not in found.begun)]

    next_label = next_policy

    def drop(self, label: str) -> None:
        """Leave a policy out of all later blocks, for whatever reason; what was shown of it stays.

        Args:
            label: of the policy; ``undo`` takes it back if no trial came after it.

        Raises:
            ValueError: for one that is not in, while a block is not complete, or if only two are in.
            TimeoutError: if another process does not release the lock.
        """
        with self._file.adding() as add:
            place = self._place(label)
            with in_file(self.path):
                self.declared.drop(self._log.counted, place)
            add([trial_entry(self._log, place, None)])

    def better(self, *, count_withdrawn: bool = False) -> str | None:
        """The name of the policy that has been shown to be better than each other one, None so far.

        Args:
            count_withdrawn: count each pair with a withdrawn trial as lost by both policies.
        """
        names = self.declared.policies
        found = self.shown(count_withdrawn=count_withdrawn)
        return next((name for name in names if len(found.get(name, ())) == len(names) - 1), None)

    def shown(self, *, count_withdrawn: bool = False) -> dict[str, list[str]]:
        """The policies that have been shown to be better than others, each with the names of these.

        Args:
            count_withdrawn: as in ``better``.
        """
        names = self.declared.policies
        state = self.state_with_withdrawn() if count_withdrawn else self.state
        than = [[names[j] for j in np.flatnonzero(row)] for row in np.asarray(shown_better(state))]
        return {name: others for name, others in zip(names, than, strict=True) if others}

    def evidence(self) -> np.ndarray:
        """The evidence before the first pair, and after each one that counts, that a policy is better than another.

        It is float[pairs + 1, k (k - 1)], in the order of ``itertools.permutations`` of the k policies.
        """
        states = itertools.accumulate(self._blocks.whole, self.declared.after_block, initial=self.declared.state())
        return np.stack([np.asarray(state.mean_wealth)[:, 0] for state in states])

    def state_with_withdrawn(self) -> SequentialState:
        """The state in which each pair with a withdrawn trial counts as lost by both policies, at its place."""
        declared, whole = self.declared, self._blocks.whole
        # The last trial that counts is withdrawn first, so that each stood where it was recorded.
        state, lost = declared.state(), {each.before for each in self.withdrawn}
        for pair in range(max([len(whole), *(place + 1 for place in lost)])):
            if pair in lost:
                state = declared.lost(state)
            elif pair < len(whole):
                state = declared.after_block(state, whole[pair])
        return state

    def _decided(self) -> list[int]:
        found = self._blocks
        return [] if found.begun else [place for place in found.policies if place not in self._going]

    def _check_open(self, place: int) -> None:
        if self.is_over:
            shown, noun = self.better(), self.declared.noun
            ended = (
                f"all {self.num_pairs} {noun}s are made" if shown is None else f"{quoted(shown)} is shown to be better"
            )
            if len(self.declared.policies) > 2 and len(self._going) < 2:
                ended = "no comparison is left to decide"
            raise ValueError(f"{ended}, and another trial is no evidence; expected a new log for new {noun}s")
        if place in self._decided():
            others = " or ".join(self.declared.labels[i] for i in self.declared.listed(self._going))
            raise ValueError(f"{self.declared.labels[place]} is compared with all that are still in; expected {others}")


def open_trials(path: str | os.PathLike[str]) -> Trials | PairedTrials:
    """A log of single trials, of whichever kind."""
    begins = Path(path).read_bytes()[:200] if Path(path).is_file() else b""
    return PairedTrials(path) if b'"jaxcert-pairs-' in begins else Trials(path)
