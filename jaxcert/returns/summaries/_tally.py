"""Summaries of rows in any order, added up on the host in whole numbers."""

import jax.numpy as jnp
import numpy as np

from jaxcert.numerics._rounding import cast_host
from jaxcert.returns.summaries._histogram import Histogram
from jaxcert.returns.summaries._moments import Moments, fixed_point

# Counts in a summary are int32.
_MOST = 2**31 - 1
# y in units of 2**-52, cut into halves; each product of two halves is cut, too, so that no sum leaves int64.
_DIGITS, _HALF = 52, 26


class Tally:
    """What rows are added to: arrays with an entry for each task, in the order of their indices."""

    def __init__(self, *arrays: np.ndarray) -> None:
        """Without tasks: arrays [0, ...] of integers."""
        self.count = np.zeros(0, np.int64)
        self.arrays = arrays

    def add(self, tasks: np.ndarray, x: np.ndarray) -> None:
        """Add rows: the index of the task of each, int64 [rows], and returns in the support, float64 [rows]."""
        self._add_count(np.bincount(tasks, minlength=len(self.count)))
        self._add(tasks, x)

    def _add_count(self, new: np.ndarray) -> None:
        """Make room for these tasks in place, without a second copy of what there is, and count their rows."""
        for array in (self.count, *self.arrays):
            array.resize((len(new), *array.shape[1:]), refcheck=False)
        self.count += new
        if (most := self.count.max(initial=0)) > _MOST:
            raise ValueError(f"a task has {most} rollouts; expected at most 2**31 - 1, which a summary counts")

    def _add(self, tasks: np.ndarray, x: np.ndarray) -> None:
        raise NotImplementedError

    def summary(self) -> Histogram | Moments:
        """The summary of all rows; it needs at least one task, and one row of each."""
        raise NotImplementedError


class BinTally(Tally):
    """The counts of a histogram: for the same rows those of ``Histogram.update``, in any order."""

    def __init__(self, values: np.ndarray, dtype: np.dtype) -> None:
        self.values, self.dtype = values, dtype
        super().__init__(np.zeros((0, len(self.values)), np.int32))

    def _add(self, tasks: np.ndarray, x: np.ndarray) -> None:
        """Counts cannot leave int32, since the rows of a task do not."""
        place = tasks * len(self.values) + np.searchsorted(self.values, x, side="right") - 1
        np.add.at(self.arrays[0].reshape(-1), place, np.int32(1))

    def summary(self) -> Histogram:
        values = jnp.asarray(self.values.astype(self.dtype))
        return Histogram(values, values[-1], jnp.asarray(self.arrays[0]), jnp.ones(len(self.count), bool))


class MomentTally(Tally):
    r"""The sums of y and y^2 of moments, as whole numbers: the same for any order and split.

    y = (x - a) / (b - a) has four roundings, each of a relative size of at most u = 2**-53; times 1 - 6 u it is at most
    the exact one, and at least that times 1 - 10 u. With the floor, Y = floor(2**52 y) / 2**52 is at most 12 u below.
    """

    def __init__(self, low: float, high: float, dtype: np.dtype) -> None:
        self.low, self.high, self.dtype = low, high, dtype
        # Of Y, of the squares of its upper and lower half, and between them of their product; each in two halves.
        super().__init__(*(np.zeros(0, np.int64) for _ in range(8)))

    def _add(self, tasks: np.ndarray, x: np.ndarray) -> None:
        """A sum of 2**31 terms below 2**27 stays within int64."""
        y = (x - self.low) / (self.high - self.low) * (1 - 6 * 2.0**-53)
        upper, lower = _halves((y * 2.0**_DIGITS).astype(np.int64))
        products = upper * upper, upper * lower, lower * lower
        parts = upper, lower, *(half for product in products for half in _halves(product))
        for total, part in zip(self.arrays, parts, strict=True):
            np.add.at(total, tasks, part)

    def summary(self) -> Moments:
        """Whole numbers of Python are exact, and only the last steps round."""
        sums = [total.astype(object) for total in self.arrays]
        total, upper, mixed, lower = (sums[i] * 2**_HALF + sums[i + 1] for i in range(0, 8, 2))
        squares = upper * 2**_DIGITS + mixed * 2 ** (_HALF + 1) + lower
        m = self.count
        spread = (m * squares - total * total) / (m.astype(object) * 2 ** (2 * _DIGITS))
        # Of y itself: each is within 2**-52 of Y, which moves the root of the sum by no more than sqrt(m) 2**-52.
        root = np.sqrt(spread.astype(np.float64)) + np.sqrt(m) * 2.0**-_DIGITS
        # Fewer than 16 roundings of a relative size of 2**-53 each.
        up = cast_host(root * root * (1 + 2.0**-48), self.dtype, "up")
        low, high = (jnp.asarray(np.asarray(end, self.dtype)) for end in (self.low, self.high))
        whole = {"num_rollouts": jnp.asarray(m.astype(np.int32)), "total": jnp.asarray(_words(total, self.dtype))}
        return Moments(low=low, high=high, **whole, squares=jnp.asarray(up), valid=jnp.ones(len(m), bool))


def tally_for(empty: Histogram | Moments) -> Tally:
    """What rows are added to for a summary of that kind."""
    if isinstance(empty, Moments):
        return MomentTally(float(empty.low), float(empty.high), empty.dtype)
    return BinTally(np.asarray(empty.values, np.float64), empty.dtype)


def _halves(whole: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The upper and the lower digits of numbers below 2**52."""
    return whole >> _HALF, whole & (2**_HALF - 1)


def _words(total: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The sum of Y in the two words of ``Moments``, the low one first: for float32 in units of 2**-24, rounded down."""
    word, bits, digits = fixed_point(dtype)
    kept = total // 2 ** (_DIGITS - digits)
    return np.stack([kept % 2**bits, kept // 2**bits], axis=-1).astype(word)
