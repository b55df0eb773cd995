"""The certificate of adaptive rollouts."""

import dataclasses
from typing import Any

import jax
import numpy as np

from jaxcert.certificates import Certificate
from jaxcert.certificates._answer import holds_values
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
    """

    certificate: Certificate
    state: SequentialState
    tasks: Any
    num_started: jax.Array
    rollout_task: jax.Array
    rollout_return: jax.Array

    def __repr__(self) -> str:
        return f"{self.certificate!r}\n{_UNDECLARED}" if self._gave_up_successes() else repr(self.certificate)

    def _gave_up_successes(self) -> bool:
        """Whether tasks were given up by bets that are not made for the returns, all of which are 0 or 1."""
        state = self.state
        if not holds_values(self) or state.is_binary.ndim or state.is_binary or (state.low, state.high) != (0, 1):
            return False
        returns = np.asarray(self.rollout_return)[np.asarray(self.rollout_task) >= 0]
        was_given_up = ~np.asarray(state.passed) & ~np.asarray(state.is_open)
        return bool(np.all(np.isin(returns, (0, 1))) and was_given_up.any())
