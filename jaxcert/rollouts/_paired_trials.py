"""Two policies tried in pairs, as with a robot, until one is shown to be better, in a log that outlives the process."""

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from jaxcert._chained import ChainedLog
from jaxcert.rollouts._declared_pairs import DeclaredPairs, drawn_labels, settled
from jaxcert.rollouts._recorded_trials import RecordedTrials
from jaxcert.rollouts._single_trial import Trial, one_number, two_ends
from jaxcert.rollouts._trial_log import first_entry
from jaxcert.rollouts._trials import Trials
from jaxcert.sequential import SequentialState, better_policy
from jaxcert.sequential._pairs import PAIR_BETS


class PairedTrials(RecordedTrials[DeclaredPairs]):
    """Two policies tried in pairs until one is shown to be better: a log of single trials, and its result.

    Each pair is a trial of each policy on one scene, drawn anew for the pair; the order is drawn as well. With
    probability at least 1 - delta no policy is shown to be better that is not, whenever and why the trials end. Every
    pair that was begun counts; a trial that broke off is a failure, or has the lowest score.

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
    _instead = "is a log of tasks; expected one of two policies in pairs (Trials opens it)"

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
            policies: the names of A and B.
            delta: probability with which a policy may be shown better that is not, in (0, 1).
            support: (a, b), which holds every possible score; None if a trial succeeds or fails.
            margin: by how much a policy has to be better, on average.
            max_pairs: the largest number of pairs; by default 200, and no limit for scores or with a margin.
            seed: of the order within the pairs; by default drawn.
            blinded: record the policies as X and Y; which is which stands in the first line of the log.

        Returns:
            The experiment before its first trial.

        Raises:
            FileExistsError: for a file that exists.
            ImportError: without filelock (extra ``io``).
            ValueError: for what cannot be declared; or if no file can be written there.
        """
        number = secrets.randbits(32) if seed is None else int(seed)
        if isinstance(policies, str) or len(names := tuple(policies)) != 2:
            raise ValueError(f"policies are {policies!r:.60}; expected the names of two")
        declared = DeclaredPairs(
            policies=names,
            labels=drawn_labels(number) if blinded else names,
            support=two_ends((0, 1) if support is None else support),
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
    def num_pairs(self) -> int:
        """The number of complete pairs that count."""
        return len(self._log.counted) // 2

    @property
    def begun(self) -> Trial | None:
        """The trial of a pair that has begun; None if every pair is complete."""
        return self._log.counted[-1] if len(self._log.counted) % 2 else None

    @property
    def is_over(self) -> bool:
        """Whether another trial is no evidence any more: one policy is shown to be better, or all pairs are made."""
        most = self.declared.max_pairs
        return self.better() is not None or (most is not None and self.num_pairs >= most)

    def pairs(self) -> list[tuple[float, float]]:
        """The outcomes of A and of B in each pair that is complete."""
        values = [each.value for each in self._log.counted]
        places = [each.task for each in self._log.counted]
        both = zip(places[::2], values[::2], values[1::2], strict=False)
        return [(one, other) if place == 0 else (other, one) for place, one, other in both]

    def num_out_of_order(self) -> int:
        """The number of pairs that did not begin with the drawn policy."""
        first = [each.task for each in self._log.counted[::2]]
        return sum(place != self.declared.first(pair) for pair, place in enumerate(first))

    def next_policy(self) -> str | None:
        """The label of the policy whose trial comes next; None after the last one."""
        if self.is_over:
            return None
        place = self.declared.first(self.num_pairs) if self.begun is None else 1 - self.begun.task
        return self.declared.labels[place]

    next_label = next_policy

    def better(self, *, count_withdrawn: bool = False) -> str | None:
        """The name of the policy that has been shown to be better, None so far.

        Args:
            count_withdrawn: count each pair with a withdrawn trial as lost by both policies.
        """
        state = self.state_with_withdrawn() if count_withdrawn else self.state
        found = int(better_policy(state))
        return self.declared.policies[0 if found > 0 else 1] if found else None

    def state_with_withdrawn(self) -> SequentialState:
        """The state in which each pair with a withdrawn trial counts as lost by both policies, at its place."""
        declared, trials, pairs = self.declared, self._log.counted, self.num_pairs
        # The last trial that counts is withdrawn first, so that each stood where it was recorded.
        state, lost = declared.state(), {each.counted_before // 2 for each in self.withdrawn}
        for pair in range(max([pairs, *(place + 1 for place in lost)])):
            if pair in lost:
                state = declared.lost(state)
            elif pair < pairs:
                state = declared.advanced(state, trials[2 * pair : 2 * pair + 1], trials[2 * pair + 1])
        return state

    def _check_open(self, place: int) -> None:
        if self.is_over:
            shown = self.better()
            ended = f"all {self.num_pairs} pairs are made" if shown is None else f"{shown} is shown to be better"
            raise ValueError(f"{ended}, and another trial is no evidence; expected a new log for new pairs")


def open_trials(path: str | os.PathLike[str]) -> Trials | PairedTrials:
    """A log of single trials, of whichever kind."""
    begins = Path(path).read_bytes()[:200] if Path(path).is_file() else b""
    return PairedTrials(path) if b'"jaxcert-pairs-' in begins else Trials(path)
