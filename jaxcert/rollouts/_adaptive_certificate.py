"""The certificate of adaptive rollouts, what was fixed before them, and their proof."""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.certificates import Certificate
from jaxcert.certificates._access import holds_values
from jaxcert.certificates._method import binomial_epsilon
from jaxcert.numerics._rounding import complement_down
from jaxcert.rollouts._declared import fields_in
from jaxcert.sequential import SequentialState
from jaxcert.sequential._rule import NO_LIMIT

_UNDECLARED = (
    "All returns are 0 or 1: a new run with binary=True, or of an environment that declares it, would give up fewer "
    "tasks that fail at first."
)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, repr=False)
class AdaptiveCertificate:
    """A certificate with the rollouts behind it, at one moment of an adaptive run.

    The returns are no sample of a fixed size, since each was asked for because of those before: ``certify`` does not
    hold for them.

    Attributes:
        certificate: the certificate at the thresholds, with ``num_rollouts_used`` for each task.
        state: of the experiment, with ``passed`` and ``num_rollouts``.
        tasks: a pytree of arrays [n, ...].
        num_started: rollouts that began, in all: the cost, with those that were not needed in the end.
        num_unfinished: how many of them were under way at the end, for open tasks.
        rollout_task: the task of each rollout, in the order in which they were taken in, int32[r]; -1 after the last.
            Rollouts that were taken in at the same moment are listed task by task.
        rollout_return: the return of each, float[r]; NaN after the last.
        deterministic: whether the policy declares itself deterministic; None if it does not say.
    """

    certificate: Certificate
    state: SequentialState
    tasks: Any
    num_started: jax.Array
    num_unfinished: jax.Array
    rollout_task: jax.Array
    rollout_return: jax.Array
    deterministic: bool | None = dataclasses.field(metadata={"static": True})

    def __str__(self) -> str:
        return f"{self.certificate}\n{_UNDECLARED}" if self._gave_up_successes() else str(self.certificate)

    def __repr__(self) -> str:
        binary = self.state.is_binary
        rule = f", binary={bool(binary)}" if holds_values(self) and not binary.ndim else ""
        return f"{type(self).__name__}({self.certificate!r}{rule})"

    def _gave_up_successes(self) -> bool:
        """Whether tasks were given up by bets that are not made for the returns, all of which are 0 or 1."""
        state = self.state
        if not holds_values(self) or state.is_binary.ndim or state.is_binary or (state.low, state.high) != (0, 1):
            return False
        returns = np.asarray(self.rollout_return)[np.asarray(self.rollout_task) >= 0]
        was_given_up = ~np.asarray(state.passed) & ~np.asarray(state.is_open)
        return bool(np.all(np.isin(returns, (0, 1))) and was_given_up.any())

    def growth(self, index: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """How the certificate grew: rollouts taken in, and the safety certified from then on.

        With many more slots than tasks, many rollouts are taken in at the same moment, in the order of the tasks.

        Args:
            index: which threshold.

        Returns:
            (int[p + 1], float[p + 1]) for p tasks that passed, beginning at 0 rollouts.
        """
        thresholds, n = np.asarray(self.state.thresholds), self.certificate.num_tasks
        counts = np.asarray(self.certificate.lower_bounds) >= thresholds[index]
        after = np.sort(self._counted_after(thresholds, index)[counts])
        k = n - np.arange(np.sum(after == 0), after.size + 1)
        epsilon = binomial_epsilon(k, n, self.state.beta, self.certificate.delta)
        return np.concatenate([[0], after[after > 0]]), np.asarray(complement_down(epsilon))

    def _counted_after(self, thresholds: np.ndarray, index: int) -> np.ndarray:
        """When each task began to count: by the first larger threshold passed, or by the last of all up to it."""
        after, passed = self._passed_after(), np.asarray(self.state.passed)
        never = np.iinfo(after.dtype).max
        if bool(self.state.is_binary):
            return np.max(np.where(thresholds <= thresholds[index], after, 0), axis=1)
        return np.min(np.where(passed & (thresholds >= thresholds[index]), after, never), axis=1)

    def _passed_after(self) -> np.ndarray:
        """How many rollouts had been taken in when a task passed, with the last one that it used, int[n, t]."""
        task, used = np.asarray(self.rollout_task), np.asarray(self.state.num_rollouts_used)
        order = np.argsort(task, kind="stable")
        before = np.searchsorted(task[order], np.arange(len(used)))[:, None]
        return np.append(0, order + 1)[np.where(self.state.passed & (used > 0), before + used, 0)]


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
    if array.dtype.kind == "V" and jnp.issubdtype(array.dtype, jnp.floating):  # bfloat16, a type that files lose
        array = array.astype(np.float32)
    return array.reshape(len(array), -1)


class Fixed(NamedTuple):
    """What is fixed before the first rollout, as ``sequential.init`` takes it."""

    thresholds: tuple[float, ...]
    support: tuple[float, float]
    beta: float
    bets: tuple[float, ...]
    give_up: float
    max_rollouts_per_task: int | None
    binary: bool


def fixed_in(state: SequentialState) -> Fixed:
    """What a state holds that was fixed beforehand; its floats are rounded to its type."""
    lists = (tuple(np.asarray(values, float).tolist()) for values in (state.thresholds, state.bets))
    ends, most = (float(state.low), float(state.high)), int(state.max_rollouts_per_task)
    limit = None if most == NO_LIMIT else most
    thresholds, bets = lists
    return Fixed(thresholds, ends, float(state.beta), bets, float(state.give_up), limit, bool(state.is_binary))


# --- proof in exact arithmetic ------------------------------------------------------------------------------------


def stops_of(run: AdaptiveCertificate, index: int) -> dict[str, Any] | None:
    """After how many rollouts each task passes a threshold, None where it does not; None where nothing is claimed.

    With fixed bets the wealth falls in B, so that a task that passes a larger threshold has passed this one then. For
    successes, `goal` is the wealth at which tasks pass.
    """
    thresholds, lower = np.asarray(run.certificate.thresholds), np.asarray(run.certificate.lower_bounds)
    if not run.certificate.safety[index] > 0 or not thresholds[index] > run.state.low:
        return None
    is_binary = bool(run.state.is_binary)
    at = np.full(lower.shape, index) if is_binary else np.argmax(thresholds == lower[:, None], axis=1)
    used = np.take_along_axis(np.asarray(run.certificate.num_rollouts_used), at[:, None], axis=1)[:, 0]
    passed = (lower >= thresholds[index]).tolist()
    stops = [count if ok else None for count, ok in zip(used.tolist(), passed, strict=True)]
    return {"rollouts": stops, **({"goal": float(run.state.goal[index])} if is_binary else {})}


def declared_by(run: AdaptiveCertificate) -> dict[str, Any]:
    """The settings fixed beforehand, under their names in a log of trials."""
    fields = {**fields_in(fixed_in(run.state)), "delta": float(run.certificate.delta)}
    names = {"max_rollouts_per_task": "max_trials", "binary": "successes"}
    return {names.get(name, name): value for name, value in fields.items()}


def returns_by_task(run: AdaptiveCertificate) -> list[list[float]]:
    """The returns of each task in order, also for tasks without rollouts."""
    tasks = np.asarray(run.rollout_task)
    order = np.argsort(tasks, kind="stable")[np.sum(tasks < 0) :]  # without what follows the last one
    ends = np.cumsum(np.bincount(tasks[order], minlength=run.certificate.num_tasks))
    return [part.tolist() for part in np.split(np.asarray(run.rollout_return)[order], ends[:-1])]
