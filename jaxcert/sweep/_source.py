"""The returns of a sweep: on the device, on the host, in a file, or sharded over a mesh."""

import hashlib
from typing import Any

import numpy as np

from jaxcert._validation import require_real
from jaxcert.returns._prepared import returns_dtype
from jaxcert.sweep._plan import Chunk


class Source:
    """Returns [seeds, n, m] or [n, m] and their mask, read by slices.

    Attributes:
        returns, where: as given by the user.
        shape: (seeds, n, m).
        dtype: type of the computation.
    """

    def __init__(self, returns: Any, where: Any) -> None:
        self.returns, self.where = _sliceable("returns", returns), None
        shape = tuple(self.returns.shape)
        if len(shape) not in (2, 3) or 0 in shape:
            raise ValueError(
                f"returns have shape {shape}; expected [num_seeds, num_tasks, num_rollouts] or [num_tasks, "
                "num_rollouts], nowhere 0"
            )
        if where is not None:
            self.where = _sliceable("where", where)
            if tuple(self.where.shape) != shape:
                raise ValueError(f"where has shape {tuple(self.where.shape)}; expected that of the returns, {shape}")
        self._seeds = len(shape) == 3
        self.shape = shape if self._seeds else (1, *shape)
        self.dtype = returns_dtype(self.returns)

    def read(self, chunk: Chunk, num_rollouts: int) -> tuple[Any, Any]:
        """Returns and mask of a chunk, [seeds, tasks, rollouts] or [tasks, rollouts], not converted."""
        where = None if self.where is None else self._slice(self.where, chunk, num_rollouts)
        return self._slice(self.returns, chunk, num_rollouts), where

    def _slice(self, array: Any, chunk: Chunk, m: int) -> Any:
        return array[chunk.seeds, chunk.tasks, :m] if self._seeds else array[chunk.tasks, :m]


def _sliceable(name: str, array: Any) -> Any:
    """The array itself if it can be read by slices, otherwise a host array."""
    if all(hasattr(array, attribute) for attribute in ("shape", "dtype", "__getitem__")):
        require_real(name, array)
        return array
    array = np.asarray(array)
    require_real(name, array)
    return array


def digest(*arrays: Any) -> str:
    """A hash of the values, to detect changes; None for no array."""
    state = hashlib.blake2b(digest_size=16)
    for array in arrays:
        if array is None:
            state.update(b"none")
        else:
            host = np.ascontiguousarray(array)
            state.update(f"{host.dtype}{host.shape}".encode())
            state.update(host.reshape(-1).view(np.uint8).data)
    return state.hexdigest()
