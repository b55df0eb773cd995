"""The returns of a sweep, on the device, on the host or in a file, and their lower bounds chunk by chunk."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxcert._validation import require_real
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import evaluate, prepare
from jaxcert.bounds._registry import BOUNDS
from jaxcert.returns._checks import check_axes
from jaxcert.returns._prepared import returns_dtype
from jaxcert.sweep._plan import Chunk, Pass, Plan, chunks
from jaxcert.sweep._store import Store

Progress = Callable[[int, int], None]


class Source:
    """Returns [seeds, n, m] or [n, m] and their mask, read by slices.

    Attributes:
        returns, where: as given by the user.
        shape: (seeds, n, m).
        dtype: type of the computation.
    """

    def __init__(self, returns: Any, where: Any) -> None:
        self.returns, self.where = _sliceable("returns", returns), None
        shape = tuple(self.returns.shape)
        if len(shape) not in (2, 3) or 0 in shape:
            raise ValueError(
                f"returns have shape {shape}; expected [num_seeds, num_tasks, num_rollouts] or [num_tasks, "
                "num_rollouts], nowhere 0"
            )
        if where is not None:
            self.where = _sliceable("where", where)
            if tuple(self.where.shape) != shape:
                raise ValueError(f"where has shape {tuple(self.where.shape)}; expected that of the returns, {shape}")
        self._seeds = len(shape) == 3
        self.shape = shape if self._seeds else (1, *shape)
        self.dtype = returns_dtype(self.returns)

    def read(self, chunk: Chunk, num_rollouts: int) -> tuple[Any, Any]:
        """Returns and mask of a chunk, [seeds, tasks, rollouts] or [tasks, rollouts], not converted."""
        where = None if self.where is None else self._slice(self.where, chunk, num_rollouts)
        return self._slice(self.returns, chunk, num_rollouts), where

    def _slice(self, array: Any, chunk: Chunk, m: int) -> Any:
        return array[chunk.seeds, chunk.tasks, :m] if self._seeds else array[chunk.tasks, :m]


def _sliceable(name: str, array: Any) -> Any:
    """The array itself if it can be read by slices, otherwise a host array."""
    if all(hasattr(array, attribute) for attribute in ("shape", "dtype", "__getitem__")):
        require_real(name, array)
        return array
    array = np.asarray(array)
    require_real(name, array)
    return array


class ChunkedLowerBounds:
    """Lower bounds, one pass after another; finished chunks are loaded from the store, if there is one."""

    def __init__(
        self, source: Source, plan: Plan, support: Any, store: Store | None, progress: Progress, validate: bool
    ) -> None:
        self._source, self._plan, self._support = source, plan, support
        self._store, self._progress, self._validate = store, progress, validate
        self._done = 0
        progress(0, plan.num_chunks)

    def compute(self, each: Pass) -> np.ndarray:
        """[betas, seeds, tasks] on the host."""
        lower = np.empty((len(each.betas), self._plan.num_seeds, each.num_tasks), self._plan.dtype)
        for chunk in chunks(each, self._plan.num_seeds):
            lower[:, chunk.seeds, chunk.tasks] = self._chunk(each, chunk)
            self._done += 1
            self._progress(self._done, self._plan.num_chunks)
        return lower

    def _chunk(self, each: Pass, chunk: Chunk) -> np.ndarray:
        x, where = self._source.read(chunk, each.num_rollouts)
        if self._store is None:
            return self._evaluate(each, chunk, x, where)
        code = self._store.digest(each, chunk, x, where)
        lower = self._store.load(each, chunk, code)
        if lower is None:
            lower = self._evaluate(each, chunk, x, where)
            self._store.save(each, chunk, code, lower)
        return lower

    def _evaluate(self, each: Pass, chunk: Chunk, x: Any, where: Any) -> np.ndarray:
        bound, first = BOUNDS[each.bound], (chunk.first_seed, chunk.first_task, 0)[-x.ndim :]
        betas = np.asarray(each.betas, self._plan.dtype)
        prepared = prepare(bound, x, self._support, where, self._validate, first=first)
        if self._validate and each == self._plan.largest_pass:
            check_axes(prepared.returns, prepared.where)
        lower = np.asarray(lower_bounds(bound, *prepared, betas))
        return lower if x.ndim == 3 else lower[:, None]


@functools.partial(jax.jit, static_argnums=0)
def lower_bounds(bound: Bound, x, low, high, where, betas) -> jax.Array:
    """The bound at every beta, from [..., n, m] and [betas] to [betas, ..., n]; parts without beta are shared."""
    return jax.vmap(lambda beta: evaluate(bound, x, beta, low, high, where))(betas)
