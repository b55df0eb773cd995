"""Lower bounds of returns that are read chunk by chunk."""

from collections.abc import Callable
from typing import Any

import numpy as np

from jaxcert.bounds._evaluate import prepare
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._axes import check_axes
from jaxcert.sweep import _stages
from jaxcert.sweep._plan import Chunk, Pass, Plan, chunks
from jaxcert.sweep._source import Source
from jaxcert.sweep._store import Store

Progress = Callable[[int, int], None]


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
        prepared = prepare(bound, x, betas, self._support, where, self._validate, first=first)
        if self._validate and each == self._plan.largest_pass:
            check_axes(prepared.returns, prepared.where)
        lower = np.asarray(_stages.lower_bounds(bound, *prepared))
        return lower if x.ndim == 3 else lower[:, None]
