"""The state of a sequential experiment in a file, for rollouts that take minutes each."""

import os
from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np

from jaxcert._archive import EXPERIMENT, check_arrays, read_archive, write_archive
from jaxcert._contents import in_file
from jaxcert._validation import is_concrete
from jaxcert.sequential._rule import MOST_ROLLOUTS, calibrated_goals
from jaxcert.sequential._wealth import SequentialState


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


def _check(arrays: Mapping[str, np.ndarray]) -> None:
    """Raise ValueError unless these can be the arrays of a state."""
    dtype = arrays["wealth"].dtype
    if dtype != np.float32 and dtype != np.float64:
        raise ValueError(f"array 'wealth' has dtype {dtype}, expected float32 or float64")
    if dtype == np.float64 and jnp.result_type(float) != np.float64:
        raise ValueError("holds numbers of 64 bits; expected jax_enable_x64 to be on, as when it was written")
    n, t = arrays["valid"].shape, arrays["thresholds"].shape
    if len(n) != 1 or len(t) != 1 or arrays["bets"].ndim != 1 or 0 in (*n, *t, arrays["bets"].size):
        raise ValueError(f"holds tasks of shape {n} and thresholds of shape {t}; expected those of one experiment")
    whole, truth, g = np.dtype(np.int32), np.dtype(bool), arrays["bets"].shape
    predicted = arrays["bets"].dtype == dtype and np.isnan(arrays["bets"]).any()
    expected = {
        "wealth": (dtype, (*n, *t, *g)),
        **dict.fromkeys(("passed", "is_open"), (truth, (*n, *t))),
        "valid": (truth, n),
        "num_rollouts": (whole, n),
        "num_rollouts_used": (whole, (*n, *t)),
        "sums": (dtype, (*n, 2 if predicted else 0)),
        **dict.fromkeys(("thresholds", "goal"), (dtype, t)),
        **dict.fromkeys(("low", "high", "beta", "give_up"), (dtype, ())),
        "max_rollouts_per_task": (whole, ()),
        "is_binary": (truth, ()),
        "bets": (dtype, g),
    }
    check_arrays(arrays, expected)
    if not _is_possible(arrays):
        raise ValueError("holds numbers that no experiment gives")


def _is_possible(arrays: Mapping[str, np.ndarray]) -> bool:
    wealth, low, beta, used = (arrays[name] for name in ("wealth", "low", "beta", "num_rollouts_used"))
    numbers = np.all(np.isfinite(wealth) & (wealth >= 0)) and np.all(np.isfinite(arrays["thresholds"]))
    decided = not np.any(arrays["passed"] & arrays["is_open"])
    counted = np.all(used >= 0) and np.all(used <= arrays["num_rollouts"][:, None])
    bets = np.nan_to_num(arrays["bets"], nan=0.5)
    rule = np.all((bets > 0) & (bets <= 1)) and 0 <= arrays["give_up"] < 1
    ends = np.isfinite(low) and low < arrays["high"] and 0 < beta < 1
    return bool(numbers and decided and counted and rule and ends and _is_sound(arrays) and _is_decided(arrays))


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
        if not (coins and 0 < most <= MOST_ROLLOUTS and np.all(np.isfinite(arrays["bets"]))):
            return False
        least = calibrated_goals(arrays["thresholds"], arrays["beta"], *settings, most)
    return bool(np.all(arrays["goal"] >= least * (1 - 1e-6)))  # the exponential of another machine
