"""The returns of a sweep, on the device, on the host or in a file, and their bounds or counts chunk by chunk."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jaxcert._validation import require_real
from jaxcert.bounds._evaluate import lower_bounds_at, prepare
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._registry import COUNTED
from jaxcert.returns._checks import check_axes
from jaxcert.returns._prepared import returns_dtype
from jaxcert.sweep._plan import Pass, Plan, Tile, tiles
from jaxcert.sweep._store import Store

Progress = Callable[[int, int], None]


class Source:
    """Returns [seeds, n, m] or [n, m] with their mask and support, read by slices.

    Attributes:
        returns, where, support: as given by the user.
        validate: whether to check the values.
        shape: (seeds, n, m).
        dtype: type of the computation.
    """

    def __init__(self, returns: Any, where: Any, support: Any, validate: bool) -> None:
        self.returns = _sliceable("returns", returns)
        self.where: Any = None if where is None else _sliceable("where", where)
        self.support, self.validate = support, validate
        shape = tuple(self.returns.shape)
        if len(shape) not in (2, 3) or 0 in shape:
            raise ValueError(
                f"returns have shape {shape}; expected [num_seeds, num_tasks, num_rollouts] or [num_tasks, "
                "num_rollouts], nowhere 0"
            )
        if self.where is not None and tuple(self.where.shape) != shape:
            raise ValueError(f"where has shape {tuple(self.where.shape)}; expected that of the returns, {shape}")
        self.shape = shape if len(shape) == 3 else (1, *shape)
        self.dtype = returns_dtype(self.returns)

    def read(self, chunk: Tile, num_rollouts: int) -> tuple[Any, Any]:
        """Returns and mask of a chunk, [seeds, tasks, rollouts] or [tasks, rollouts], not converted."""
        place = (*chunk, slice(num_rollouts))[-len(self.returns.shape) :]
        return self.returns[place], None if self.where is None else self.where[place]


def _sliceable(name: str, array: Any) -> Any:
    """The array itself if it can be read by slices, otherwise a host array."""
    if not all(hasattr(array, attribute) for attribute in ("shape", "dtype", "__getitem__")):
        array = np.asarray(array)
    require_real(name, array)
    return array


def chunked_bounds(source: Source, plan: Plan, store: Store | None, progress: Progress) -> Iterator[np.ndarray]:
    """[betas or counts, seeds, tasks] on the host for each pass; finished chunks are loaded from a store."""
    done = 0
    progress(done, plan.num_chunks)
    for each in plan.passes:
        lower = np.empty((each.num_rows, plan.num_seeds, each.num_tasks), plan.dtype)
        for chunk in tiles((plan.num_seeds, each.num_tasks), each.chunk):
            x, where = source.read(chunk, each.num_rollouts)
            compute = functools.partial(_lower, source, plan, each, chunk, x, where)
            lower[:, *chunk] = compute() if store is None else store.recall(each, chunk, x, where, compute)
            done += 1
            progress(done, plan.num_chunks)
        yield lower


def _lower(source: Source, plan: Plan, each: Pass, chunk: Tile, x: Any, where: Any) -> np.ndarray:
    """[betas or counts, seeds, tasks] of a chunk."""
    bound, first = BOUNDS[each.bound], (*(axis.start for axis in chunk), 0)[-x.ndim :]
    prepared = prepare(bound, x, source.support, where, source.validate, first=first)
    if source.validate and each == plan.largest_pass:
        check_axes(prepared.returns, prepared.where)
    if each.counted_for is None:
        lower = np.asarray(lower_bounds_at(bound, *prepared, np.asarray(each.betas, plan.dtype)))
    else:
        lower = np.asarray(COUNTED[each.counted_for].counted(*prepared))
    return lower if x.ndim == 3 else lower[:, None]
