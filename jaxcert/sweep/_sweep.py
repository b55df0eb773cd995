"""Certificates for a grid of settings."""

import dataclasses
import itertools
import os
from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import NamedSharding

from jaxcert._validation import is_traced
from jaxcert.bounds._prepare_array import declared_support
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._arguments import defaults
from jaxcert.returns._prepared import Support, split_support
from jaxcert.sweep._chunked import Source, Store, chunked_bounds, settings_of
from jaxcert.sweep._grid import Grid, check_pairs
from jaxcert.sweep._mesh import is_sharded, sharded_bounds
from jaxcert.sweep._plan import Plan, make_plan
from jaxcert.sweep._result import SweepResult, certificates


def settled(grid: Grid, returns: Any) -> Grid:
    """The grid with the names of its bounds and methods, or ValueError where they are not the same in every entry."""
    if not isinstance(grid, Grid):
        raise ValueError(f"grid is {grid!r}; expected a jaxcert.sweep.Grid")
    given = itertools.product(grid.bounds or (None,), grid.methods or (None,))
    pairs = dict.fromkeys(defaults(bound, method, returns) for bound, method in given)
    bounds, methods = (tuple(dict.fromkeys(names)) for names in zip(*pairs, strict=True))
    if len(pairs) < len(bounds) * len(methods):
        missing = "methods" if grid.methods is None else "bounds"
        found = ", ".join(f"{method} with {bound}" for bound, method in pairs)
        raise ValueError(f"{missing} of the grid are left out, and differ by default ({found}); expected their names")
    check_pairs(bounds, methods)
    return dataclasses.replace(grid, bounds=bounds, methods=methods)


def settled_support(grid: Grid, returns: Any, support: Support | None) -> Support:
    """The support that is given, or (0, 1) where every bound of the grid knows it, or ValueError."""
    ends = [declared_support(BOUNDS[name], returns, support) for name in grid.bounds]
    return split_support(None if None in ends else ends[0])


def sweep(
    returns: Any,
    grid: Grid,
    *,
    support: Support | None = None,
    where: Any = None,
    sharding: NamedSharding | None = None,
    max_bytes: int = 2**30,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Callable[[int, int], None] | None = None,
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
            one. Swapped axes are not detected on a mesh. Not for "attained".
        max_bytes: device memory that one call may take; the work is split into pieces that fit. On a mesh, each
            device also holds its part of the returns and the bounds of all tasks.
        checkpoint: folder that keeps finished chunks; one folder per sweep.
        resume: continue the sweep in that folder. The result is bitwise the same as without interruption.
        progress: called with (finished chunks, all chunks), the first time with 0 finished.
        validate: as in ``certify``.

    Returns:
        A ``SweepResult`` with arrays [seeds, budgets, bounds, methods, betas, deltas, thresholds] on the host.

    Raises:
        ValueError: for what ``certify`` refuses, budgets beyond the returns, a ``max_bytes`` that does not hold one
            task, or a checkpoint of other returns or settings. Finished chunks are never lost.

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
    if checkpoint is not None and not os.fspath(checkpoint):
        raise ValueError("checkpoint is empty; expected the name of a folder")
    if resume and checkpoint is None:
        raise ValueError("resume goes on with the chunks in a checkpoint; expected its folder")
    source, plan = _planned(returns, where, grid, support, max_bytes, validate)
    support = source.support
    step = progress or (lambda done, total: None)
    if sharding is not None or is_sharded(returns):
        if checkpoint is not None:
            raise ValueError("checkpoint keeps chunks, and sharded returns are not chunked; expected one of the two")
        _refuse_counts(plan)
        return certificates(plan, support, sharded_bounds(source, sharding, plan, step))
    store = None
    if checkpoint is not None:
        store = Store(checkpoint, settings_of(plan, source.shape, support, validate), resume=resume)
    return certificates(plan, support, chunked_bounds(source, plan, store, step))


def plan_sweep(
    returns: Any, grid: Grid, *, support: Support | None = None, where: Any = None, max_bytes: int = 2**30
) -> Plan:
    """The plan of ``sweep`` for these arguments: numbers of certificates, chunks and bytes; nothing is computed.

    Args:
        returns: as in ``sweep``; no values are read.
        grid: the settings.
        support: (a, b), as in ``sweep``.
        where: as in ``sweep``; only "attained" takes other memory with it.
        max_bytes: as in ``sweep``.

    Returns:
        A ``Plan``.

    Raises:
        ValueError: as ``sweep``, except for errors in the values of the returns.

    Example:
        >>> import numpy as np
        >>> plan = plan_sweep(np.zeros((10, 200, 1000)), Grid([0.5, 0.7], bounds=("dkw", "betting")), support=(0, 1))
        >>> plan.num_certificates, plan.num_chunks
        (40, 2)
    """
    return _planned(returns, where, grid, support, max_bytes, validate=False)[1]


def _planned(
    returns: Any, where: Any, grid: Grid, support: Support | None, max_bytes: int, validate: bool
) -> tuple[Source, Plan]:
    """The returns and the plan, with the names and the support that were left out."""
    source = Source(returns, where, support, validate)
    grid = settled(grid, source.returns)
    source.support = settled_support(grid, source.returns, support)
    masked = where is not None
    return source, make_plan(source.shape, source.dtype, grid, source.support, max_bytes, masked=masked)


def _refuse_counts(plan: Plan) -> None:
    for each in plan.passes:
        if each.counted_for is not None:
            raise ValueError(
                f"returns are sharded, and {each.name} counts them on one device; expected returns on one device or "
                "the host, without a sharding"
            )
