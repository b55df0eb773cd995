"""The state of a sequential experiment in a file, for rollouts that take minutes each."""

import os
from collections.abc import Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._archive import EXPERIMENT, check_arrays, read_archive, write_archive
from jaxcert._files import in_file
from jaxcert._validation import is_concrete
from jaxcert.sequential._experiment import init
from jaxcert.sequential._rule import NO_LIMIT, Settings
from jaxcert.sequential._wealth import SequentialState, advance

# What is fixed before the first rollout.
FIXED = ("thresholds", "low", "high", "beta", *Settings._fields)
_IMPOSSIBLE = "holds numbers that no experiment gives"


def save(path: str | os.PathLike[str], state: SequentialState) -> None:
    """Write the state to an `.npz` file, completely or not at all.

    Args:
        path: the file; an existing one is replaced.
        state: of the experiment so far.

    Raises:
        ValueError: if no file can be written there, or for anything else than one concrete state.

    Example:
        >>> import tempfile
        >>> from jaxcert.sequential import init
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(f"{folder}/experiment.npz", init(20, 0.5, support=(0, 1)))
        ...     load(f"{folder}/experiment.npz").valid.shape
        (20,)
    """
    write_archive(path, EXPERIMENT, {}, to_arrays(state))


def load(path: str | os.PathLike[str]) -> SequentialState:
    """Read a state that ``save`` wrote; nothing is ever unpickled.

    The file has no rollouts, so that its numbers are believed as far as they fit together: only a run of
    ``rollouts.save_adaptive`` is computed again.

    Args:
        path: the file.

    Returns:
        The same state.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is damaged or holds something else, or numbers of 64 bits while those are off.

    Example:
        >>> load("README.md")
        Traceback (most recent call last):
        ValueError: README.md: not an .npz file: it does not start as a zip archive does
    """
    _, arrays = read_archive(path, EXPERIMENT, SequentialState._fields)
    with in_file(path):
        return from_arrays(arrays)


def to_arrays(state: SequentialState) -> dict[str, np.ndarray]:
    """The fields of a state by name, on the host; ValueError for anything else than one concrete state."""
    if not isinstance(state, SequentialState) or not is_concrete(state):
        raise ValueError(f"state is a {type(state).__name__}, or traced; expected a concrete SequentialState")
    arrays = {name: np.asarray(array) for name, array in state._asdict().items()}
    from_arrays(arrays)
    return arrays


def from_arrays(arrays: Mapping[str, np.ndarray]) -> SequentialState:
    """The state that has these fields; ValueError if there is none."""
    if arrays["valid"].ndim != 1 or not arrays["valid"].size:
        raise ValueError(f"holds tasks of shape {arrays['valid'].shape}; expected those of one experiment")
    begun = _begun(arrays, arrays["valid"].size)
    _check_types(arrays, begun, SequentialState._fields)
    if not _is_possible(arrays):
        raise ValueError(_IMPOSSIBLE)
    return SequentialState(**{name: jnp.asarray(arrays[name]) for name in SequentialState._fields})


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
    count = np.bincount(task, minlength=num_tasks).astype(np.int32)
    first = np.cumsum(count, dtype=np.int32) - count
    in_order = np.append(returns[np.argsort(task, kind="stable")], fixed["low"])  # one more, where there are none
    return _after(_begun(fixed, num_tasks), in_order, first, count)


@jax.jit
def _after(state: SequentialState, returns: jax.Array, first: jax.Array, count: jax.Array) -> SequentialState:
    """The state after the rollouts of each task, which stand one after the other from its first one on."""

    def one(number: jax.Array, state: SequentialState) -> SequentialState:
        is_there = number < count
        return advance(state, returns[jnp.where(is_there, first + number, 0)], is_there)

    return jax.lax.fori_loop(0, jnp.max(count), one, state)


def _begun(fixed: Mapping[str, np.ndarray], num_tasks: int) -> SequentialState:
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
    _check_types(fixed, state, FIXED)
    if np.any(fixed["goal"] < np.asarray(state.goal, np.float64) * (1 - 1e-6)):  # the exponential of another machine
        raise ValueError(_IMPOSSIBLE)
    return state._replace(goal=jnp.asarray(fixed["goal"]))


def _check_types(arrays: Mapping[str, np.ndarray], state: SequentialState, names: Sequence[str]) -> None:
    """Raise ValueError unless arrays of these names have the types and shapes that they have in a state."""
    fields = state._asdict()
    check_arrays(arrays, {name: (np.dtype(fields[name].dtype), fields[name].shape) for name in names})


def _is_possible(arrays: Mapping[str, np.ndarray]) -> bool:
    """Whether those that passed have the wealth for it, and those that are open have seen all rollouts."""
    wealth, used, seen = arrays["wealth"], arrays["num_rollouts_used"], arrays["num_rollouts"][:, None]
    passed, is_open = arrays["passed"], arrays["is_open"]
    mean = wealth.astype(np.float64).mean(axis=-1)
    has_wealth = (mean >= arrays["goal"] * (1 - 1e-5)) | (arrays["thresholds"] <= arrays["low"])
    decided = ~(passed & is_open) & (has_wealth | ~passed) & ((used == seen) | ~is_open)
    return bool(np.all(np.isfinite(wealth) & (wealth >= 0)) and np.all(decided & (used >= 0) & (used <= seen)))
