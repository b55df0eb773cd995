"""What a run of adaptive rollouts goes on from, and the parameters of its tasks as columns."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.rollouts._adaptive_certificate import AdaptiveCertificate
from jaxcert.rollouts._slots import Run


def task_columns(tasks: Any) -> dict[str, np.ndarray]:
    """The parameters of tasks, a pytree of arrays [n, ...], by name, each [n]; one without a name is called `task`."""
    columns: dict[str, np.ndarray] = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(tasks):
        name = jax.tree_util.keystr(path, simple=True, separator="_") or "task"
        rows = _rows(name, leaf)
        for i, column in enumerate(rows.T):
            full = f"{name}_{i}" if rows.shape[1] > 1 else name
            if full in columns:
                raise ValueError(f"two parameters of the tasks are called {full}; expected different names")
            columns[full] = column
    return columns


def _rows(name: str, leaf: Any) -> np.ndarray:
    """The leaf as [n, columns]."""
    is_key = isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    array = np.asarray(jax.random.key_data(leaf) if is_key else leaf)
    if not array.ndim or array.dtype == object:
        raise ValueError(f"parameter {name} of the tasks is {array.dtype} of shape {array.shape}; expected [n, ...]")
    return array.reshape(len(array), -1)


def resumed(run: Run, tasks: Any, earlier: AdaptiveCertificate) -> Run:
    """The run where the earlier one ended; rollouts that were under way begin again, with the same keys."""
    fixed = ("thresholds", "low", "high", "beta", "goal", "bets", "give_up", "max_rollouts_per_task", "is_binary")
    for name in fixed:
        ours, theirs = np.asarray(getattr(run.state, name)), np.asarray(getattr(earlier.state, name))
        if ours.dtype != theirs.dtype:
            raise ValueError(f"resume has {name} of {theirs.dtype}; expected {ours.dtype}, the type of this call")
        if not np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f"):
            raise ValueError(f"resume has {name} {theirs}; expected that of this call, {ours}")
    if earlier.state.passed.shape != run.state.passed.shape:
        raise ValueError(f"resume has {earlier.state.passed.shape[0]} tasks; expected {run.state.passed.shape[0]}")
    if earlier.tasks is not None and not _are_same(task_columns(tasks), task_columns(earlier.tasks)):
        raise ValueError("resume has other tasks than this key draws; expected the key of the earlier call")
    length = run.log_task.size
    if int(earlier.num_started) > length:
        raise ValueError(f"resume has {int(earlier.num_started)} rollouts, more than max_rollouts")
    return run._replace(
        state=earlier.state,
        started=earlier.state.num_rollouts,
        num_started=jnp.asarray(earlier.num_started, jnp.int32),
        num_counted=jnp.sum(earlier.state.num_rollouts, dtype=jnp.int32),
        passed_after=jnp.asarray(earlier.passed_after),
        log_task=_of_length(earlier.rollout_task, length, -1),
        log_return=_of_length(earlier.rollout_return, length, jnp.nan),
    )


def _are_same(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> bool:
    """Up to what another device computes differently, far less than what another key changes."""
    return ours.keys() == theirs.keys() and all(_is_same(ours[name], theirs[name]) for name in ours)


def _is_same(ours: np.ndarray, theirs: np.ndarray) -> bool:
    numbers = all(np.issubdtype(column.dtype, np.number) for column in (ours, theirs)) and ours.shape == theirs.shape
    return np.allclose(ours, theirs, rtol=1e-3, atol=1e-6, equal_nan=True) if numbers else np.array_equal(ours, theirs)


def _of_length(log: jax.Array, length: int, filler: float) -> jax.Array:
    return jnp.pad(log[:length], (0, max(0, length - log.size)), constant_values=filler)
