"""Certificates for a grid of settings."""

import dataclasses
import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding

from jaxcert._validation import check_count, check_finite, check_open_unit, is_traced, require_real
from jaxcert.bounds._bound import evaluate_at, rollouts_of, successes_of
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._attained import Successes, fields_of_successes, usual_tried
from jaxcert.certificates._counting import fields_of_bounds
from jaxcert.certificates._method import table_of
from jaxcert.certificates._registry import COUNTING, METHODS, defaults
from jaxcert.numerics._rounding import cast_host
from jaxcert.returns._prepared import Support, as_successes, returns_dtype, split_support
from jaxcert.returns._sample import Sample, declared_support, placed
from jaxcert.sweep._grid import FIELDS, Grid, SweepResult, check_pairs
from jaxcert.sweep._slices import Slices


def sweep(
    returns: Any,
    grid: Grid,
    *,
    support: Support | None = None,
    where: Any = None,
    sharding: NamedSharding | None = None,
    max_bytes: int = 2**30,
    validate: bool = True,
) -> SweepResult:
    r"""Certify every combination of a grid, for every seed.

    Each entry of the result is what ``certify`` gives for those settings, that seed, its first n tasks and the first m
    rollouts of each:

    .. math:: P\big[\, P_{M \sim D}[J_M \ge B] \ge 1 - \hat\varepsilon(B) \,\big] \ge 1 - \delta
              \quad \text{for each entry by itself (one-sided).}

    There is no correction for the size of the grid: an entry chosen for its good result is not covered.

    A lower bound is computed once per bound, beta and m, for all seeds and tasks; a table of epsilon once per method,
    n, beta and delta, for all seeds, bounds and thresholds. Other values of the same shapes do not trigger a
    recompilation. For "attained", the default for successes, each task is counted once per m.

    Args:
        returns: float[seeds, n, m], or [n, m] for one seed: an array on the host or the device, or anything with
            ``shape``, ``dtype`` and slicing (``numpy.memmap``, HDF5, Zarr), which is then read in chunks. bool for
            successes.
        grid: the settings, a ``Grid``.
        support: (a, b), as in ``certify``, which says where it may be left out.
        where: bool, shaped like the returns: which rollouts count; all by default.
        sharding: how to shard the returns over the devices of a mesh, by seeds or by tasks; each of several processes
            passes the same returns and gets the same result. By default the sharding of the returns, if they have
            one.
        max_bytes: about how much memory of the device one call may take; returns on the host are read in slices.
        validate: as in ``certify``.

    Returns:
        A ``SweepResult`` with arrays [seeds, budgets, bounds, methods, betas, deltas, thresholds] on the host.

    Raises:
        ValueError: for what ``certify`` refuses, and for budgets beyond the returns.

    Example:
        >>> import jaxcert
        >>> from jaxcert.sweep import Grid, sweep
        >>> grid = Grid([400, 500], bounds=("betting", "empirical_bernstein"), budgets=[(50, 100), (200, 50)])
        >>> result = sweep(jaxcert.sample_returns("cheetah"), grid, support=(0, 1000))
        >>> result.safety.shape
        (1, 2, 2, 1, 1, 1, 2)
        >>> result.safety[0, :, 0, 0, 0, 0, :].round(3)
        array([[0.907, 0.803],
               [0.976, 0.904]], dtype=float32)
    """
    if any(is_traced(leaf) for leaf in jax.tree.leaves((returns, where, support))):
        raise ValueError("sweep takes values that can be read; inside jit, vmap or grad use certify")
    check_count("max_bytes", max_bytes)
    returns, where = _sliceable("returns", returns), None if where is None else _sliceable("where", where)
    if not isinstance(grid, Grid):
        raise ValueError(f"grid is {grid!r}; expected a jaxcert.sweep.Grid")
    returns = as_successes(returns, support, where, *(grid.bounds or ()), *(grid.methods or ()))
    shape, dtype = _checked_shape(returns, where), returns_dtype(returns)
    grid = settled(grid, returns)
    ends = [declared_support(BOUNDS[name], returns, support) for name in grid.bounds]
    support = split_support(None if None in ends else ends[0])
    result = _empty(grid, shape, dtype, support)
    slices = Slices(returns, where, sharding, support, max_bytes, validate)
    for m in dict.fromkeys(m for _, m in result.budgets):
        _fill(result, slices, m)
    return result


def _sliceable(name: str, array: Any) -> Any:
    """The array itself if it can be read by slices, otherwise a host array."""
    if not all(hasattr(array, attribute) for attribute in ("shape", "dtype", "__getitem__")):
        array = np.asarray(array)
    require_real(name, array)
    return array


def _checked_shape(returns: Any, where: Any) -> tuple[int, int, int]:
    """(seeds, n, m)."""
    shape = tuple(returns.shape)
    if len(shape) not in (2, 3) or 0 in shape:
        raise ValueError(
            f"returns have shape {shape}; expected [num_seeds, num_tasks, num_rollouts] or [num_tasks, "
            "num_rollouts], nowhere 0"
        )
    if where is not None and tuple(where.shape) != shape:
        raise ValueError(f"where has shape {tuple(where.shape)}; expected that of the returns, {shape}")
    seeds, n, m = (1, *shape)[-3:]
    return seeds, n, m


def _empty(grid: Grid, shape: tuple[int, int, int], dtype: np.dtype, support: Any) -> SweepResult:
    """A result without values; ValueError for settings that do not fit the returns, or the type."""
    seeds, tasks, rollouts = shape
    budgets = ((tasks, rollouts),) if grid.budgets is None else grid.budgets
    for n, m in budgets:
        if n > tasks or m > rollouts:
            raise ValueError(
                f"budgets of the grid holds ({n}, {m}); the returns have {tasks} tasks with {rollouts} rollouts"
            )
    check_finite("thresholds", grid.thresholds, dtype=dtype)
    check_open_unit("deltas", grid.deltas, dtype=dtype)
    beta = np.stack([_betas(grid, n, dtype) for n, _ in budgets])
    check_open_unit("betas", np.where(np.isnan(beta), 0.5, beta), dtype=dtype)
    axes = (grid.bounds, grid.methods, grid.betas, grid.deltas, grid.thresholds)
    size = (seeds, len(budgets), *map(len, axes))
    whole = ("num_violations", "num_valid", "status")
    arrays = {name: np.empty(size, np.int32 if name in whole else dtype) for name in FIELDS}
    return SweepResult(grid, (float(support[0]), float(support[1])), tuple(budgets), beta, **arrays)


def _betas(grid: Grid, num_tasks: int, dtype: np.dtype) -> np.ndarray:
    """The betas in use, [methods, betas, deltas], rounded as ``certify`` does; NaN where the method chooses them."""
    deltas = cast_host(np.asarray(grid.deltas), dtype, "down")
    values = np.empty((len(grid.methods), len(grid.betas), len(deltas)), dtype)
    for (i, method), (j, beta) in itertools.product(enumerate(grid.methods), enumerate(grid.betas)):
        used = METHODS[method].default_beta(deltas, num_tasks) if beta is None else beta
        values[i, j] = np.nan if used is None else used
    return values


def settled(grid: Grid, returns: Any) -> Grid:
    """The grid with the names of its bounds and methods; ValueError if they differ between entries."""
    given = itertools.product(grid.bounds or (None,), grid.methods or (None,))
    pairs = dict.fromkeys(tuple(each.name for each in defaults(*names, returns)) for names in given)
    bounds, methods = (tuple(dict.fromkeys(names)) for names in zip(*pairs, strict=True))
    if len(pairs) < len(bounds) * len(methods):
        missing = "methods" if grid.methods is None else "bounds"
        found = ", ".join(f"{method} with {bound}" for bound, method in pairs)
        raise ValueError(f"{missing} of the grid are left out, and differ by default ({found}); expected their names")
    check_pairs(bounds, methods)
    return dataclasses.replace(grid, bounds=bounds, methods=methods)


# --- the cells -----------------------------------------------------------------------------------------------------


def _fill(result: SweepResult, slices: Slices, m: int) -> None:
    """The cells of the first m rollouts of each task, each made of one or two numbers for each task.

    The returns are read once for each bound, for all methods that count it, and once for the methods of successes.
    """
    grid, dtype = result.grid, result.epsilon.dtype
    thresholds = cast_host(np.asarray(grid.thresholds), dtype, "up")
    deltas = cast_host(np.asarray(grid.deltas), dtype, "down")
    budgets = [i for i, (_, each) in enumerate(result.budgets) if each == m]
    counting = [name in COUNTING for name in grid.methods]
    betas = np.unique(result.beta[budgets][:, counting])
    for place, bound in enumerate(BOUNDS[name] for name in grid.bounds):
        run = functools.partial(_bounds_at, bound, betas=placed(betas))
        lower: Any = slices.numbers(bound, m, run, len(betas)) if any(counting) else None
        counts: Any = None if all(counting) else slices.numbers(CLOPPER_PEARSON, m, _counts, 2)
        for budget, index, (i, given), (j, delta) in itertools.product(
            budgets, range(len(counting)), enumerate(grid.betas), enumerate(deltas)
        ):
            n, beta = result.budgets[budget][0], result.beta[budget, index, i, j]
            if counting[index]:
                method = METHODS[grid.methods[index]]
                numbers = _usable(lower[np.searchsorted(betas, beta), :, :n], -np.inf)
                table = table_of(method.tail, n, n, delta, beta)
                fields = _of_bounds(method, *placed((numbers, np.int32(n), thresholds, beta, delta, table)))
            else:
                level = None if given is None else beta
                held: Any = Successes(_usable(counts[0, :, :n], -1), counts[1, :, :n])  # type: ignore[arg-type]
                is_full, most = slices.where is None, np.asarray(m, dtype)
                tried = usual_tried(most, thresholds, level, delta, n, n) if is_full else None
                fields = _of_counts(*placed((held, np.int32(n), thresholds, level, delta, tried)))
            for name in FIELDS:
                getattr(result, name)[:, budget, place, index, i, j] = fields[name]


_bounds_at = jax.jit(evaluate_at, static_argnums=0)
_of_bounds = jax.jit(fields_of_bounds, static_argnums=0)
_of_counts = jax.jit(fields_of_successes)


def _usable(numbers: np.ndarray, none: float) -> np.ndarray:
    """The numbers of tasks [seeds, n]; ``none`` for all tasks if one return refutes the support."""
    return np.where(np.isnan(numbers).any(axis=-1, keepdims=True), none, numbers)


@jax.jit
def _counts(sample: Sample) -> jax.Array:
    """Successes and rollouts of each task, [2, ..., n]: -1 for an invalid task, NaN for one that refutes the
    support.
    """
    data: Any = rollouts_of(sample, binary=True)
    count, num_rollouts = successes_of(data)
    count = jnp.where(data.refuted, jnp.nan, jnp.where(data.valid, count, -1))
    return jnp.stack([count, num_rollouts])
