"""What single trials come to: the state of the experiment, computed from the log one trial after the other."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxcert.numerics._rounding import convert_host
from jaxcert.rollouts._declared import Declared
from jaxcert.rollouts._declared_pairs import DeclaredPairs
from jaxcert.rollouts._resumption import AdaptiveCertificate
from jaxcert.rollouts._single_trial import Trial
from jaxcert.sequential import SequentialState, certificate


class Counted(NamedTuple):
    """The trials that count, taken in one by one.

    Attributes:
        state: after them.
        passed_after: how many had been taken in when a task passed; 0 if it did not, int32[n, t].
        trials: which.
    """

    state: SequentialState
    passed_after: np.ndarray
    trials: tuple[Trial, ...]


def counted(declared: Declared | DeclaredPairs, trials: Iterable[Trial]) -> Counted:
    """What these trials come to.

    It is computed in the precision that JAX has now: in each, a wealth is at most its exact value (theory page,
    section 8), so that a log may be read in another one than it was written in.
    """
    state = declared.state()
    found = Counted(state, np.zeros(state.passed.shape, np.int32), ())
    for trial in trials:
        found = with_trial(declared, found, trial)
    return found


def with_trial(declared: Declared | DeclaredPairs, before: Counted, trial: Trial) -> Counted:
    """With one more trial."""
    state = declared.advanced(before.state, before.trials, trial)
    trials = (*before.trials, trial)
    is_new = np.asarray(state.passed) & ~np.asarray(before.state.passed)
    return Counted(state, np.where(is_new, np.int32(len(trials)), before.passed_after), trials)


def run_of(declared: Declared, found: Counted, *, num_started: int) -> AdaptiveCertificate:
    """The certificate of these trials, with them, as an adaptive run has it."""
    state, trials = found.state, found.trials
    return AdaptiveCertificate(
        certificate=certificate(state, declared.delta),
        state=state,
        tasks={"label": np.array(declared.tasks)},
        num_started=jnp.asarray(num_started, jnp.int32),
        num_unfinished=jnp.asarray(0, jnp.int32),
        passed_after=jnp.asarray(found.passed_after),
        rollout_task=jnp.asarray([trial.task for trial in trials], jnp.int32),
        rollout_return=jnp.asarray(_rounded([trial.value for trial in trials], state)),
        deterministic=None,
    )


def _rounded(values: Sequence[float], state: SequentialState) -> np.ndarray:
    """Values in the precision of the state, rounded down."""
    return convert_host(np.array(values, np.float64), np.dtype(state.wealth.dtype), "down")
