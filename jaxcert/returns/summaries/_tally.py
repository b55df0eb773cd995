"""The histogram of rows in any order, counted on the host."""

import jax.numpy as jnp
import numpy as np

from jaxcert.returns.summaries._histogram import Histogram

# Counts in a histogram are int32.
_MOST = 2**31 - 1


class Tally:
    """The counts of a histogram: for the same rows those of ``Histogram.update``, in any order."""

    def __init__(self, empty: Histogram) -> None:
        """Without tasks, for the values of a histogram."""
        self.values, self.dtype = np.asarray(empty.values, np.float64), empty.dtype
        self.num_rollouts = np.zeros(0, np.int64)
        self.counts = np.zeros((0, len(self.values)), np.int32)

    def add(self, tasks: np.ndarray, x: np.ndarray) -> None:
        """Add rows: the index of the task of each, int64 [rows], and returns in the support, float64 [rows]."""
        new = np.bincount(tasks, minlength=len(self.num_rollouts))
        for array in (self.num_rollouts, self.counts):  # in place, without a second copy of what there is
            array.resize((len(new), *array.shape[1:]), refcheck=False)
        self.num_rollouts += new
        if (most := self.num_rollouts.max(initial=0)) > _MOST:
            raise ValueError(f"a task has {most} rollouts; expected at most 2**31 - 1, which a histogram counts")
        place = tasks * len(self.values) + np.searchsorted(self.values, x, side="right") - 1
        np.add.at(self.counts.reshape(-1), place, np.int32(1))

    def histogram(self) -> Histogram:
        """The histogram of all rows; it needs at least one task, and one row of each."""
        values = jnp.asarray(self.values.astype(self.dtype))
        return Histogram(values, values[-1], jnp.asarray(self.counts), jnp.ones(len(self.counts), bool))
