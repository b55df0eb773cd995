"""Experiments trial by trial to begin, of tasks and of two policies."""

import functools

import jax
import numpy as np

from jaxcert.rollouts import PairedTrials, Trials

LABELS = ["shelf", "table", "floor"]
COINS = functools.partial(Trials.start, tasks=LABELS, thresholds=[0.3, 0.6], successes=True, delta=0.2)
SCORES = functools.partial(Trials.start, tasks=LABELS, thresholds=[0.3, 0.6], support=(-1.0, 1.0), delta=0.2)
WINS = functools.partial(PairedTrials.start, policies=["new", "old"], delta=0.05, seed=0)
PAIR_SCORES = functools.partial(WINS, support=(-1.0, 2.0), margin=0.1)
THREE = functools.partial(WINS, policies=["new", "old", "tiny"])
BLIND = functools.partial(WINS, blinded=True)


def assert_same(one, other):
    """The same to the bit."""
    (ours, shape), (theirs, other_shape) = jax.tree.flatten(one), jax.tree.flatten(other)
    assert shape == other_shape
    for a, b in zip(ours, theirs, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
