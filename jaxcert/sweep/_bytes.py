"""Bytes of a call, bounds on XLA's allocations: a test compares them with its own analysis of each compiled call."""

import numpy as np

from jaxcert.certificates._compiled import SORT_FROM
from jaxcert.numerics._batches import block_size


def bound_bytes(rows: int, m: int, num_betas: int, dtype: np.dtype) -> int:
    """Bytes for one evaluation of a bound, for ``rows`` tasks of m rollouts: some copies of the returns a beta."""
    return rows * dtype.itemsize * (m * (5 + 4 * num_betas) + 64 * num_betas)


def table_bytes(pairs: int, size: int, dtype: np.dtype) -> int:
    """Bytes to solve for epsilon at ``size`` values of k for each pair of beta and delta, a block at a time."""
    return dtype.itemsize * (80 * min(pairs * size, block_size()) + 12 * pairs * size)


def lookup_bytes(seeds: int, thresholds: int, n: int, num_betas: int, pairs: int, size: int, dtype: np.dtype) -> int:
    """Bytes to count violations of bounds [num_betas, seeds, n] and look epsilon up in tables [pairs, size]."""
    # Each bound is compared with each of a few thresholds, or sorted.
    counting = num_betas * (n * (4 + min(thresholds, SORT_FROM)) + 3 * thresholds)
    return dtype.itemsize * (seeds * (counting + 12 * pairs * thresholds) + 4 * pairs * size)


def counted_bytes(seeds: int, thresholds: int, n: int, dtype: np.dtype) -> int:
    """Bytes for the risks of counts [seeds, n] at a few levels for each threshold, a block of them at a time."""
    levels = 4 * thresholds
    # One problem per entry, or one per k and set of levels, whichever are fewer, and as many again to pad them.
    problems = 2 * max(128, levels, min(seeds * levels, 16 * (n + 1)))
    entries = seeds * (n * (4 + min(levels, SORT_FROM)) + 16 * levels)
    return dtype.itemsize * (entries + 16 * problems + 80 * min(problems, block_size()))


def masked_bytes(thresholds: int, n: int, dtype: np.dtype) -> int:
    """Bytes for the risks of tasks with unequal numbers of rollouts, one seed, a block of thresholds at a time."""
    block = min(thresholds, max(1, 2**19 // n))
    return dtype.itemsize * (block * n * 4 * 40 + 64 * (n + thresholds))
