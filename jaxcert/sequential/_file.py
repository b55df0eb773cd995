"""The state of a sequential experiment in a file, for rollouts that take minutes each."""

import os
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._archive import EXPERIMENT, check_arrays, read_archive, write_archive
from jaxcert._contents import in_file
from jaxcert._validation import is_concrete
from jaxcert.sequential._rule import MOST_ROLLOUTS, Settings, calibrated_goals
from jaxcert.sequential._wealth import SequentialState, advance, start

# What is fixed before the first rollout.
FIXED = ("thresholds", "low", "high", "beta", *Settings._fields)


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
    _check(arrays)
    return arrays


def from_arrays(arrays: Mapping[str, np.ndarray]) -> SequentialState:
    """The state that has these fields; ValueError if there is none."""
    _check(arrays)
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
    _check_fixed(fixed)
    thresholds, low, high, beta, *rule = (jnp.asarray(fixed[name]) for name in FIXED)
    count = np.bincount(task, minlength=num_tasks).astype(np.int32)
    first = np.cumsum(count, dtype=np.int32) - count
    begun = start((num_tasks,), thresholds, low, high, beta, Settings(*rule))
    in_order = np.append(returns[np.argsort(task, kind="stable")], fixed["low"])  # one more, where there are none
    return _after(begun, in_order, first, count)


@jax.jit
def _after(state: SequentialState, returns: jax.Array, first: jax.Array, count: jax.Array) -> SequentialState:
    """The state after the rollouts of each task, which stand one after the other from its first one on."""

    def one(number: jax.Array, state: SequentialState) -> SequentialState:
        is_there = number < count
        return advance(state, returns[jnp.where(is_there, first + number, 0)], is_there)

    return jax.lax.fori_loop(0, jnp.max(count), one, state)


def _check_fixed(arrays: Mapping[str, np.ndarray]) -> None:
    """Raise ValueError unless an experiment can have fixed these arrays beforehand."""
    dtype, t, g = arrays["thresholds"].dtype, arrays["thresholds"].shape, arrays["bets"].shape
    if dtype != np.float32 and dtype != np.float64:
        raise ValueError(f"array 'thresholds' has dtype {dtype}, expected float32 or float64")
    if dtype == np.float64 and jnp.result_type(float) != np.float64:
        raise ValueError("holds numbers of 64 bits; expected jax_enable_x64 to be on, as when it was written")
    if len(t) != 1 or len(g) != 1 or 0 in (*t, *g):
        raise ValueError(f"holds thresholds of shape {t} and bets of shape {g}; expected those of one experiment")
    expected = {
        **dict.fromkeys(("thresholds", "goal"), (dtype, t)),
        **dict.fromkeys(("low", "high", "beta", "give_up"), (dtype, ())),
        "max_rollouts_per_task": (np.dtype(np.int32), ()),
        "is_binary": (np.dtype(bool), ()),
        "bets": (dtype, g),
    }
    check_arrays(arrays, expected)
    low, beta, bets = arrays["low"], arrays["beta"], arrays["bets"]
    rule = np.all((bets > 0) & (bets <= 1)) and 0 <= arrays["give_up"] < 1
    ends = np.isfinite(low) and low < arrays["high"] and 0 < beta < 1
    if not (rule and ends and np.all(np.isfinite(arrays["thresholds"])) and _is_sound(arrays)):
        raise ValueError("holds numbers that no experiment gives")


def _check(arrays: Mapping[str, np.ndarray]) -> None:
    """Raise ValueError unless these can be the arrays of a state."""
    _check_fixed(arrays)
    n, t, g = arrays["valid"].shape, arrays["thresholds"].shape, arrays["bets"].shape
    if len(n) != 1 or 0 in n:
        raise ValueError(f"holds tasks of shape {n}; expected those of one experiment")
    dtype, whole, truth = arrays["thresholds"].dtype, np.dtype(np.int32), np.dtype(bool)
    expected = {
        "wealth": (dtype, (*n, *t, *g)),
        **dict.fromkeys(("passed", "is_open"), (truth, (*n, *t))),
        "valid": (truth, n),
        "num_rollouts": (whole, n),
        "num_rollouts_used": (whole, (*n, *t)),
    }
    check_arrays(arrays, expected)
    if not _is_possible(arrays):
        raise ValueError("holds numbers that no experiment gives")


def _is_possible(arrays: Mapping[str, np.ndarray]) -> bool:
    wealth, used = arrays["wealth"], arrays["num_rollouts_used"]
    numbers = np.all(np.isfinite(wealth) & (wealth >= 0))
    decided = not np.any(arrays["passed"] & arrays["is_open"])
    counted = np.all(used >= 0) and np.all(used <= arrays["num_rollouts"][:, None])
    return bool(numbers and decided and counted and _is_decided(arrays))


def _is_decided(arrays: Mapping[str, np.ndarray]) -> bool:
    """Whether those that passed have the wealth for it, and those that are open have seen all rollouts."""
    mean, low = arrays["wealth"].astype(np.float64).mean(axis=-1), arrays["low"]
    has_wealth = (mean >= arrays["goal"] * (1 - 1e-5)) | (arrays["thresholds"] <= low)
    saw_all = arrays["num_rollouts_used"] == arrays["num_rollouts"][:, None]
    return bool(np.all(has_wealth | ~arrays["passed"]) and np.all(saw_all | ~arrays["is_open"]))


def _is_sound(arrays: Mapping[str, np.ndarray]) -> bool:
    """Whether tasks with J < B reach the goals with probability beta at most."""
    least, settings = 1 / np.float64(arrays["beta"]), (arrays["bets"], float(arrays["give_up"]))
    if arrays["is_binary"]:
        most, coins = int(arrays["max_rollouts_per_task"]), (arrays["low"], arrays["high"]) == (0, 1)
        if not (coins and 0 < most <= MOST_ROLLOUTS):
            return False
        least = calibrated_goals(arrays["thresholds"], arrays["beta"], *settings, most)
    return bool(np.all(arrays["goal"] >= least * (1 - 1e-6)))  # the exponential of another machine
