"""The state of an experiment from what was fixed beforehand and the log of its rollouts, as files hold them."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._archive import check_arrays
from jaxcert.sequential._experiment import init
from jaxcert.sequential._rule import NO_LIMIT, Settings
from jaxcert.sequential._wealth import SequentialState, advance

# What is fixed before the first rollout.
FIXED = ("thresholds", "low", "high", "beta", *Settings._fields)
_IMPOSSIBLE = "holds numbers that no experiment gives"


def rebuilt(fixed: Mapping[str, np.ndarray], num_tasks: int, task: np.ndarray, returns: np.ndarray) -> SequentialState:
    """The state of so many tasks after their rollouts, by what was fixed beforehand; nothing else is believed.

    Args:
        fixed: the arrays of ``FIXED`` by name.
        num_tasks: n.
        task: of each rollout, in the order in which they were taken in, int[r].
        returns: of each rollout, float[r].

    Raises:
        ValueError: nothing of the kind was fixed by any experiment.
    """
    state = begun(fixed, num_tasks)
    count = np.bincount(task, minlength=num_tasks).astype(np.int32)
    first = np.cumsum(count, dtype=np.int32) - count
    in_order = np.append(returns[np.argsort(task, kind="stable")], fixed["low"])  # one more, where there are none
    return _after(state, in_order, first, count)


@jax.jit
def _after(state: SequentialState, returns: jax.Array, first: jax.Array, count: jax.Array) -> SequentialState:
    """The state after the rollouts of each task, which stand one after the other from its first one on."""

    def one(number: jax.Array, state: SequentialState) -> SequentialState:
        is_there = number < count
        return advance(state, returns[jnp.where(is_there, first + number, 0)], is_there)

    return jax.lax.fori_loop(0, jnp.max(count), one, state)


def begun(fixed: Mapping[str, np.ndarray], num_tasks: int) -> SequentialState:
    """The state of so many tasks before their first rollout, as ``init`` makes it of these arrays, or ValueError."""
    thresholds, bets = fixed["thresholds"], fixed["bets"]
    if thresholds.dtype == np.float64 and jnp.result_type(float) != np.float64:
        raise ValueError("holds numbers of 64 bits; expected jax_enable_x64 to be on, as when it was written")
    if thresholds.ndim != 1 or bets.ndim != 1:
        shapes = f"thresholds of shape {thresholds.shape} and bets of shape {bets.shape}"
        raise ValueError(f"holds {shapes}; expected those of one experiment")
    try:
        low, high, beta, give_up = (float(fixed[name]) for name in ("low", "high", "beta", "give_up"))
        most, rule = int(fixed["max_rollouts_per_task"]), {"bets": bets.tolist(), "give_up": give_up}
        rule |= {"binary": bool(fixed["is_binary"]), "max_rollouts_per_task": None if most == NO_LIMIT else most}
        state = init(num_tasks, thresholds, support=(low, high), beta=beta, **rule)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(_IMPOSSIBLE) from error
    fields = state._asdict()
    check_arrays(fixed, {name: (np.dtype(fields[name].dtype), fields[name].shape) for name in FIXED})
    least = np.asarray(state.goal, np.float64) * (1 - 1e-6)  # the exponential of another machine
    if not np.all(fixed["goal"] >= least):
        raise ValueError(_IMPOSSIBLE)
    return state._replace(goal=jnp.asarray(fixed["goal"]))
