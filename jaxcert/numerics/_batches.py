"""Elementwise solvers on arrays of any shape, a block at a time; known numbers meet one program for all shapes."""

import contextlib
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Numeric
from jaxcert._validation import is_concrete
from jaxcert.numerics._programs import quickly

Result = TypeVar("Result")

# Elements per block: on a CPU their temporaries should stay in its cache, elsewhere they should keep it busy.
_ON_CPU, _ELSEWHERE = 2**11, 2**20


def block_size() -> int:
    """Elements per block on this device."""
    return _ON_CPU if jax.default_backend() == "cpu" else _ELSEWHERE


def in_blocks(solve: Callable[..., Result], *arrays: jax.Array, block: int | None = None) -> Result:
    """Compute ``solve(*arrays)`` for arrays of one shape block by block: the same bits as at once, with the memory of
    one block.

    A block's search ends when its own last element is done: for 20,000 elements this halves the time on a CPU. Results
    may have axes of their own behind that shape; a block then has a size, and the arrays one axis.
    """
    shape, size, block = arrays[0].shape, arrays[0].size, block or block_size()
    if size <= block:
        return solve(*arrays)
    rows = -(-size // block)

    def cut(array: jax.Array) -> jax.Array:
        return jnp.pad(array.reshape(-1), (0, rows * block - size), mode="edge").reshape(rows, block)

    solved = jax.lax.map(lambda pieces: solve(*pieces), tuple(cut(array) for array in arrays))

    def joined(column: jax.Array) -> jax.Array:
        more = column.shape[2:]
        return column.reshape(-1, *more)[:size].reshape(*shape, *more)

    return jax.tree.map(joined, solved)


# About how much memory all entries that are computed at a time may take.
_BYTES = 2**28


def as_memory_allows(compute: Callable[[Any], Result], entries: Any, bytes_each: int) -> Result:
    """Apply ``compute`` to each entry of arrays within a program, as many at a time as fit in memory."""
    return jax.lax.map(compute, entries, batch_size=max(1, _BYTES // bytes_each))


def elementwise(solve: Callable[..., Result], **arrays: Any) -> Result:
    """A jitted ``solve`` of arrays that broadcast, by their names in the message if they do not.

    Known numbers are solved for in rows of one length, so that no new shape compiles a program; traced ones as they
    are.
    """
    shape = common_shape(**arrays)
    if not is_concrete(arrays):
        return solve(*jnp.broadcast_arrays(*arrays.values()))
    known = [np.broadcast_to(np.asarray(array), shape).reshape(-1) for array in arrays.values()]
    rows = on_rows(solve, *known)
    return jax.device_put(jax.tree.map(lambda row: row.reshape(shape), rows))


def kept_rows(solve: Callable[..., Result], *rows: np.ndarray) -> Result:
    """``on_rows`` for a table that is kept, by a program that compiles fast if the table is small."""
    return on_rows(solve, *rows) if rows[0].size > _FEW else on_rows(_solved_once(solve), *rows, length=_SHORT)


# Without optimisations, up to this many numbers take a millisecond or two; shorter rows make up for part of it.
_FEW, _SHORT = 2**10, 2**8
_solved_once = functools.cache(functools.partial(quickly, once=True))


def on_rows(solve: Callable[..., Result], *rows: np.ndarray, length: int = _ON_CPU) -> Result:
    """A jitted ``solve`` of known numbers [r], on the host: one program, of rows of one length, for all r."""
    size = rows[0].size
    pieces = [np.resize(row, (-(-max(size, 1) // length), length)) for row in rows]
    # While another function is traced, known values are computed now. Else the context would only compute each constant
    # of a first call by a program of its own.
    is_tracing = isinstance(jax.device_put(np.float32(0)), jax.core.Tracer)
    with jax.ensure_compile_time_eval() if is_tracing else contextlib.nullcontext():
        # Explicit transfers, which a transfer guard allows.
        solved = [jax.device_get(solve(*jax.device_put(piece))) for piece in zip(*pieces, strict=True)]
    return jax.tree.map(lambda *parts: np.concatenate(parts)[:size], *solved)


def common_shape(**arrays: Any) -> tuple[int, ...]:
    """The shape to which the arrays broadcast; raises ValueError with their names if there is none."""
    shapes = {name: np.shape(array) for name, array in arrays.items()}
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"shapes do not broadcast: {listed}") from None


def in_front(values: jax.Array, n: Numeric) -> jax.Array:
    """A mask of the first n of the values [..., n or more]."""
    return jax.lax.broadcasted_iota(np.int32, values.shape, values.ndim - 1) < n
