"""How many bytes a call takes, and how much work fits into one call for a given number of bytes.

The factors bound XLA's allocations; a test compares them with XLA's own analysis of each compiled call.
"""

from collections.abc import Callable
from typing import NoReturn

import numpy as np

from jaxcert.certificates._compiled import SORT_FROM
from jaxcert.numerics._batches import block_size

# Memory for temporary arrays of a bound, as a multiple of its input: once, and once more for every beta.
_BOUND = 4
# Temporary numbers for each epsilon that is solved for.
_SOLVER = 80
# Arrays as long as the tables: arguments split into blocks, and joined results.
_TABLE = 12


def bound_bytes(rows: int, m: int, num_betas: int, dtype: np.dtype) -> int:
    """Bytes of one evaluation of a bound, for ``rows`` tasks with m rollouts."""
    return rows * dtype.itemsize * (m * (1 + _BOUND * (1 + num_betas)) + 64 * num_betas)


def table_bytes(pairs: int, size: int, dtype: np.dtype) -> int:
    """Bytes of solving for epsilon at ``size`` values of k for each pair of beta and delta, and of the tables."""
    return dtype.itemsize * (_SOLVER * min(pairs * size, block_size()) + _TABLE * pairs * size)


def lookup_bytes(seeds: int, thresholds: int, n: int, num_betas: int, pairs: int, size: int, dtype: np.dtype) -> int:
    """Bytes of counting violations of bounds [num_betas, seeds, n] and looking up epsilon in tables [pairs, size]."""
    compared = thresholds if thresholds < SORT_FROM else 0
    bounds = num_betas * seeds * (n * (4 + compared) + 3 * thresholds)
    return dtype.itemsize * (bounds + pairs * (12 * seeds * thresholds + 4 * size))


def bound_size(seeds: int, n: int, m: int, num_betas: int, dtype: np.dtype, max_bytes: int) -> tuple[int, int, int]:
    """Seeds and tasks per evaluation of a bound, and its bytes: whole seeds if they fit, else some tasks of one.

    Raises:
        ValueError: if one task does not fit.
    """
    per_task = bound_bytes(1, m, num_betas, dtype)
    if per_task > max_bytes:
        _refuse(max_bytes, per_task, f"one task with {m} rollouts at {num_betas} betas")
    tasks = min(seeds * n, max_bytes // per_task)
    seeds, tasks = (1, tasks) if tasks < n else (tasks // n, n)
    return seeds, tasks, bound_bytes(seeds * tasks, m, num_betas, dtype)


def check_table(pairs: int, size: int, dtype: np.dtype, max_bytes: int) -> int:
    """Bytes of solving for the tables of epsilon.

    Raises:
        ValueError: if they do not fit.
    """
    needed = table_bytes(pairs, size, dtype)
    if needed > max_bytes:
        _refuse(max_bytes, needed, f"epsilon for each number of violations among {size - 1} tasks")
    return needed


def lookup_size(
    seeds: int, thresholds: int, n: int, num_betas: int, pairs: int, size: int, dtype: np.dtype, max_bytes: int
) -> tuple[int, int, int]:
    """Seeds and thresholds per call that looks up epsilon, and its bytes: whole seeds if they fit, else part of one.

    Raises:
        ValueError: if one threshold does not fit.
    """

    def needed(s: int, t: int) -> int:
        return lookup_bytes(s, t, n, num_betas, pairs, size, dtype)

    if needed(1, 1) > max_bytes:
        _refuse(max_bytes, needed(1, 1), f"one threshold for {n} tasks")
    seeds = _most(seeds, lambda s: needed(s, thresholds) <= max_bytes) or 1
    thresholds = _most(thresholds, lambda t: needed(seeds, t) <= max_bytes)
    return seeds, thresholds, needed(seeds, thresholds)


def _most(upper: int, fits: Callable[[int], bool]) -> int:
    """The largest of upper, upper / 2, upper / 4, ... that fits; 0 if none does."""
    while upper and not fits(upper):
        upper //= 2
    return upper


def _refuse(max_bytes: int, needed: int, what: str) -> NoReturn:
    raise ValueError(f"max_bytes is {max_bytes}; expected at least {needed}, what {what} needs")
