"""Trials that were withdrawn: counted as the worst return, they let no task pass that did not; left out, they may.

All sequences of eight trials, with all choices of which of them are withdrawn (theory page, section 8).
"""

import itertools

import numpy as np
import pytest

from jaxcert.sequential import certify_sequential

NUM, BETA, THRESHOLD = 8, 0.3, 0.4
EACH = np.array(list(itertools.product([False, True], repeat=NUM)))  # [256, 8]
STREAMS, CHOSEN = np.repeat(EACH, len(EACH), axis=0), np.tile(EACH, (len(EACH), 1))
RULES = pytest.mark.parametrize("binary", [True, False], ids=["successes", "scores"])


def passes(streams: np.ndarray, binary: bool) -> np.ndarray:
    """Whether each sequence of trials passes, by the exact rule for successes or by Ville's inequality."""
    rule = {"support": (0.0, 1.0), "beta": BETA, "give_up": 0.1}
    returns = streams if binary else streams.astype(np.float32)
    # All sequences are no sample, which a check of the axes notices.
    found = certify_sequential(returns, THRESHOLD, delta=0.1, **rule, validate=False)
    return np.asarray(found.lower_bounds) >= np.float32(THRESHOLD)


def with_gaps(streams: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """The trials in their order, after a failure at each gap; the last ones fall off."""
    place = np.cumsum(~gaps, axis=1) - 1
    return np.take_along_axis(streams, np.maximum(place, 0), axis=1) & ~gaps


@RULES
def test_counted_as_the_worst_they_let_no_other_task_pass(binary):
    honest = passes(STREAMS, binary)
    in_place = passes(STREAMS & ~CHOSEN, binary)
    never_made = passes(with_gaps(STREAMS, CHOSEN), binary)
    for counted in (in_place, never_made):
        assert not np.any(counted & ~honest)
        assert 0 < counted.sum() < honest.sum()


@RULES
def test_left_out_because_of_how_they_went_they_void_the_guarantee(binary):
    """A task at the threshold passes with probability beta at most, and more often without its failures."""

    def probability(passed: np.ndarray) -> float:
        successes = EACH.sum(axis=1)
        return float(np.sum(THRESHOLD**successes * (1 - THRESHOLD) ** (NUM - successes) * passed))

    assert probability(passes(EACH, binary)) <= BETA
    # Two failures are withdrawn, and the trials made again.
    again = EACH | (np.cumsum(~EACH, axis=1) <= 2)
    assert probability(passes(again, binary)) > BETA
