"""The most that tasks can certify if every trial of theirs succeeds, by attained levels."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.certificates import Certificate, floor_figures
from jaxcert.certificates._binomial import inflate, upper_risk
from jaxcert.certificates.attained._levels import attained, divided_by_levels, enough_successes
from jaxcert.numerics._rounding import complement_down
from jaxcert.planning._limits import MOST_TASKS
from jaxcert.planning._most import Most, advice_by
from jaxcert.planning._reasons import Advice


def advice_on_successes(certificate: Certificate, num_rollouts: int, threshold: float, wanted: float) -> Advice | None:
    """That there are too few tasks with so many rollouts, if so."""
    if threshold >= 1:
        shown = floor_figures(threshold)
        text = f"no number of successes certifies a probability of success of {shown}: expected a threshold below 1"
        return Advice(threshold, wanted, 0.0, text=text)
    most = _of_successes(*_levels(certificate, num_rollouts, threshold))
    sizes = f" with {num_rollouts} rollout{'s' * (num_rollouts > 1)} each"
    return advice_by(most, certificate.num_tasks, sizes, threshold, wanted)


def _levels(certificate: Certificate, num_rollouts: int, threshold: float) -> tuple[jax.Array, jax.Array]:
    """The levels, and the delta of each."""
    dtype = certificate.safety.dtype
    m: Any = np.asarray(num_rollouts, dtype)
    row = jnp.asarray([threshold], dtype)
    enough, parts = enough_successes(m, row, None if certificate.beta.ndim else certificate.beta)
    sets, each = divided_by_levels(enough, jnp.asarray(certificate.delta), parts)
    # No task has more successes than trials.
    levels = jnp.where(enough <= m, attained(enough, m, row[:, None]), 1)
    return levels[0], each[sets[0]]


def _of_successes(levels: jax.Array, deltas: jax.Array) -> Most:
    """Of tasks without a failure."""
    none, dtype = jnp.zeros_like(levels), levels.dtype

    def safety(n: int) -> float:
        risk = inflate(upper_risk(none, jnp.asarray(n, dtype), deltas), levels)
        return float(jnp.max(complement_down(risk)))

    def tasks(wanted: float) -> int:
        risks = (1 - max(wanted, 1e-6)) * (1 - np.asarray(levels, float))
        good = risks > 0
        # (1 - risk)^n is delta at the limit for no violation.
        needed = np.ceil(np.log(np.asarray(deltas, float)[good]) / np.log1p(-risks[good]))
        return int(min(needed, default=0)) if min(needed, default=np.inf) <= MOST_TASKS else 0

    return Most(safety, tasks)
