"""The certificate of adaptive rollouts."""

import dataclasses
from typing import Any

import jax
import numpy as np

from jaxcert.certificates import Certificate
from jaxcert.certificates._answer import holds_values
from jaxcert.certificates._method import binomial_epsilon
from jaxcert.numerics._rounding import complement_down
from jaxcert.sequential import SequentialState

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
        num_started: rollouts in all: the cost, with those that were not needed in the end.
        rollout_task: the task of each rollout, in the order in which they were taken in, int32[r]; -1 after the last.
        rollout_return: the return of each, float[r]; NaN after the last.
        deterministic: whether the policy declares itself deterministic; None if it does not say.
    """

    certificate: Certificate
    state: SequentialState
    tasks: Any
    num_started: jax.Array
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
