"""The state of a sequential experiment in a file, for rollouts that take minutes each."""

import io
import os
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxcert._files import read_arrays, write_whole
from jaxcert.sequential._wealth import BETS, SequentialState


def save(path: str | os.PathLike[str], state: SequentialState) -> None:
    """Write the state to an `.npz` file, completely or not at all.

    Args:
        path: the file; an existing one is replaced.
        state: of the experiment so far.

    Raises:
        ValueError: if no file can be written there.

    Example:
        >>> from jaxcert.sequential import init
        >>> save("experiment.npz", init(20, 0.5, support=(0, 1)))
        >>> load("experiment.npz").valid.shape
        (20,)
    """
    content = io.BytesIO()
    arrays: dict[str, Any] = {name: np.asarray(array) for name, array in state._asdict().items()}
    np.savez(content, **arrays)
    write_whole(path, content.getvalue())


def load(path: str | os.PathLike[str]) -> SequentialState:
    """Read a state that ``save`` wrote; nothing is ever unpickled.

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
    with open(path, "rb") as file:
        content = file.read()
    try:
        arrays = read_arrays(content, SequentialState._fields)
        _check(arrays)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error
    return SequentialState(**{name: jnp.asarray(arrays[name]) for name in SequentialState._fields})


def _check(arrays: dict[str, np.ndarray]) -> None:
    """Raise ValueError unless these can be the arrays of a state."""
    dtype = arrays["wealth"].dtype
    if dtype != np.float32 and dtype != np.float64:
        raise ValueError(f"array 'wealth' has dtype {dtype}, expected float32 or float64")
    if dtype == np.float64 and jnp.result_type(float) != np.float64:
        raise ValueError("holds numbers of 64 bits; expected jax_enable_x64 to be on, as when it was written")
    n, t = np.shape(arrays["valid"])[:1] or (0,), np.shape(arrays["thresholds"])[:1] or (0,)
    expected = {
        "wealth": (dtype, (*n, *t, len(BETS))),
        **dict.fromkeys(("passed", "is_open"), (np.dtype(bool), (*n, *t))),
        "valid": (np.dtype(bool), n),
        "num_rollouts_used": (np.dtype(np.int32), (*n, *t)),
        "thresholds": (dtype, t),
        **dict.fromkeys(("low", "high", "beta"), (dtype, ())),
    }
    for name, (kind, shape) in expected.items():
        if (arrays[name].dtype, arrays[name].shape) != (kind, shape):
            found = f"{arrays[name].dtype} of shape {arrays[name].shape}"
            raise ValueError(f"array {name!r} is {found}, expected {kind} of shape {shape}")
    wealth, low, high, beta = (arrays[name] for name in ("wealth", "low", "high", "beta"))
    if not (np.all((wealth >= 0) & np.isfinite(wealth)) and np.isfinite(low) and low < high and 0 < beta < 1):
        raise ValueError("holds numbers that no experiment gives")
