"""Elementwise problems as rows of few distinct lengths, so that new shapes do not recompile their solver."""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete

# The shortest row: fewer problems take as long as that many.
_SHORTEST = 256


def padded_length(size: int, *arrays: Any) -> int:
    """The length at which a program is compiled: a power of two, or the size itself within a user's program."""
    return max(_SHORTEST, 1 << (size - 1).bit_length()) if is_concrete(*arrays) else size


def counts_from_zero(n: int, *levels: jax.Array) -> tuple[jax.Array, jax.Array]:
    """k = 0, ..., n as a row padded with n, and n itself, both in the type of the levels."""
    k = np.minimum(np.arange(padded_length(n + 1, *levels)), n).astype(levels[0].dtype)
    return jax.device_put((k, np.asarray(n, k.dtype)))  # an explicit transfer, which a transfer guard allows


def elementwise(solve: Callable[..., Any], shape: tuple[int, ...], *arrays: jax.Array) -> Any:
    """``solve`` on rows made of arrays that broadcast to ``shape``; all but the first may stay scalars."""
    length = padded_length(math.prod(shape), *arrays)
    return solve(*_rows(arrays, shape=shape, length=length))


@functools.partial(jax.jit, static_argnames=("shape", "length"))
def _rows(arrays: tuple[jax.Array, ...], *, shape: tuple[int, ...], length: int) -> list[jax.Array]:
    def row(array: jax.Array) -> jax.Array:
        flat = jnp.broadcast_to(array, shape).reshape(-1)
        return jnp.pad(flat, (0, length - flat.size))

    return [row(arrays[0]), *(array if array.ndim == 0 else row(array) for array in arrays[1:])]


def unpadded(row: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """The array of that shape from which a row was made."""
    return row[: math.prod(shape)].reshape(shape)
