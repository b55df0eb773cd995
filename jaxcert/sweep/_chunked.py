"""A sweep in chunks that fit into memory, and kept on disk."""

import dataclasses
import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

import jaxcert._version as version
from jaxcert._archive import CHUNK, read_archive, write_archive
from jaxcert._contents import content_of, parsed
from jaxcert._files import write_new
from jaxcert._validation import require_real
from jaxcert.bounds._evaluate import lower_bounds_at
from jaxcert.bounds._prepare import prepare
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._registry import COUNTED
from jaxcert.returns._checks import check_axes
from jaxcert.returns._prepared import returns_dtype
from jaxcert.sweep._plan import Pass, Plan, Tile, tiles

_SETTINGS = "sweep.json"


def settings_of(plan: Plan, shape: tuple[int, ...], support: Any, validate: bool) -> dict[str, Any]:
    """Everything that must not change when a sweep is resumed, as values for JSON."""
    return {
        "jaxcert": version.__version__,
        "jax": jax.__version__,
        "device": jax.devices()[0].device_kind,
        "shape": list(shape),
        "dtype": str(plan.dtype),
        "support": [float(end) for end in support],
        "validate": validate,
        "grid": dataclasses.asdict(plan.grid),
    }


class Store:
    """A folder with the settings of one sweep and its finished chunks."""

    def __init__(self, folder: str | os.PathLike[str], settings: dict[str, Any], *, resume: bool) -> None:
        self._folder, self._settings = Path(folder), json.dumps(settings, indent=1).encode()
        if self._folder.exists() and not self._folder.is_dir():
            raise ValueError(f"{self._folder}: is not a folder; expected one for finished chunks")
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / _SETTINGS
        if not path.exists() and any(self._folder.glob("*.npz")):
            raise ValueError(f"{self._folder}: holds .npz files but no {_SETTINGS}; expected a folder of its own")
        try:
            write_new(path, self._settings)
        except FileExistsError:
            if not resume:
                raise ValueError(
                    f"{self._folder}: holds a sweep already; ask to resume it, or choose another folder (nothing was "
                    "changed)"
                ) from None
            _check_settings(path, json.loads(self._settings))

    def recall(self, each: Pass, chunk: Tile, x: Any, where: Any, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """The bounds or counts of a chunk with these returns and mask: from its file, else computed and stored."""
        seeds, tasks = chunk
        place = f"seeds{seeds.start}_{seeds.stop}-tasks{tasks.start}_{tasks.stop}"
        path = self._folder / f"{each.name}-m{each.num_rollouts}-{place}.npz"
        digest = self._digest(each, chunk, x, where)
        lower = _load(path, digest)
        if lower is None or lower.shape != (each.num_rows, seeds.stop - seeds.start, tasks.stop - tasks.start):
            lower = compute()
            write_archive(path, CHUNK, {"digest": digest, "checksum": _checksum(digest, lower)}, {"lower": lower})
        return lower

    def _digest(self, each: Pass, chunk: Tile, x: Any, where: Any) -> str:
        """A hash of everything that determines the lower bounds of a chunk: settings, place, returns and mask."""
        words = self._settings + f"{each.name} {each.num_rollouts} {chunk}".encode()
        state = hashlib.blake2b(digest_size=16)
        for array in (np.frombuffer(words, np.uint8), x, where):
            if array is None:
                state.update(b"none")
            else:
                host = np.ascontiguousarray(array)
                state.update(f"{host.dtype}{host.shape}".encode())
                state.update(host.reshape(-1).view(np.uint8).data)
        return state.hexdigest()


def _load(path: Path, digest: str) -> np.ndarray | None:
    """Lower bounds from a file; None if there is none, or not as it was written; ValueError if they are other ones."""
    try:
        head, arrays = read_archive(path, CHUNK, ["lower"])
    except (OSError, ValueError):
        return None
    if head.get("digest") != digest:
        raise ValueError(
            f"{path}: was computed from other returns, or for another chunk or sweep; expected what the sweep was "
            "started with (nothing was changed)"
        )
    lower = arrays["lower"]
    if lower.dtype.kind != "f" or np.isnan(lower).any():
        return None
    return lower if head.get("checksum") == _checksum(digest, lower) else None


def _checksum(digest: str, lower: np.ndarray) -> str:
    """A hash of lower bounds, with what they were computed from."""
    state = hashlib.blake2b(f"{digest}{lower.dtype}{lower.shape}".encode(), digest_size=16)
    state.update(np.ascontiguousarray(lower).tobytes())
    return state.hexdigest()


def _check_settings(path: Path, wanted: dict[str, Any]) -> None:
    """Raise ValueError that names the first setting in which the sweep in that folder differs."""
    content = content_of(path, "the settings of a sweep")
    try:
        found = parsed(content)
    except ValueError as error:
        raise ValueError(f"{path}: is damaged ({error}); expected the settings of a sweep") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path}: expected the settings of a sweep")
    found = _flat(found)
    for name, value in _flat(wanted).items():
        if found.get(name) != value:
            raise ValueError(
                f"{path.parent}: the sweep there has {name} = {found.get(name)!r}, this one {value!r}; expected "
                "the same (nothing was changed)"
            )


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, with the entries of the grid at the top level."""
    grid = settings.get("grid")
    return {**(grid if isinstance(grid, dict) else {}), **settings, "grid": None}


Progress = Callable[[int, int], None]


class Source:
    """Returns [seeds, n, m] or [n, m] with their mask and support, read by slices.

    Attributes:
        returns, where, support: as given by the user.
        validate: whether to check the values.
        shape: (seeds, n, m).
        dtype: type of the computation.
    """

    def __init__(self, returns: Any, where: Any, support: Any, validate: bool) -> None:
        self.returns = _sliceable("returns", returns)
        self.where: Any = None if where is None else _sliceable("where", where)
        self.support, self.validate = support, validate
        shape = tuple(self.returns.shape)
        if len(shape) not in (2, 3) or 0 in shape:
            raise ValueError(
                f"returns have shape {shape}; expected [num_seeds, num_tasks, num_rollouts] or [num_tasks, "
                "num_rollouts], nowhere 0"
            )
        if self.where is not None and tuple(self.where.shape) != shape:
            raise ValueError(f"where has shape {tuple(self.where.shape)}; expected that of the returns, {shape}")
        self.shape = shape if len(shape) == 3 else (1, *shape)
        self.dtype = returns_dtype(self.returns)

    def read(self, chunk: Tile, num_rollouts: int) -> tuple[Any, Any]:
        """Returns and mask of a chunk, [seeds, tasks, rollouts] or [tasks, rollouts], not converted."""
        place = (*chunk, slice(num_rollouts))[-len(self.returns.shape) :]
        return self.returns[place], None if self.where is None else self.where[place]


def _sliceable(name: str, array: Any) -> Any:
    """The array itself if it can be read by slices, otherwise a host array."""
    if not all(hasattr(array, attribute) for attribute in ("shape", "dtype", "__getitem__")):
        array = np.asarray(array)
    require_real(name, array)
    return array


def chunked_bounds(source: Source, plan: Plan, store: Store | None, progress: Progress) -> Iterator[np.ndarray]:
    """[betas or counts, seeds, tasks] on the host for each pass; finished chunks are loaded from a store."""
    done = 0
    progress(done, plan.num_chunks)
    for each in plan.passes:
        lower = np.empty((each.num_rows, plan.num_seeds, each.num_tasks), plan.dtype)
        for chunk in tiles((plan.num_seeds, each.num_tasks), each.chunk):
            x, where = source.read(chunk, each.num_rollouts)
            compute = functools.partial(_lower, source, plan, each, chunk, x, where)
            lower[:, *chunk] = compute() if store is None else store.recall(each, chunk, x, where, compute)
            done += 1
            progress(done, plan.num_chunks)
        yield lower


def _lower(source: Source, plan: Plan, each: Pass, chunk: Tile, x: Any, where: Any) -> np.ndarray:
    """[betas or counts, seeds, tasks] of a chunk."""
    bound, first = BOUNDS[each.bound], (*(axis.start for axis in chunk), 0)[-x.ndim :]
    prepared = prepare(bound, x, source.support, where, source.validate, first=first)
    if source.validate and each == plan.largest_pass:
        check_axes(prepared.returns, prepared.where)
    if each.counted_for is None:
        lower = np.asarray(lower_bounds_at(bound, *prepared, np.asarray(each.betas, plan.dtype)))
    else:
        lower = np.asarray(COUNTED[each.counted_for].counted(*prepared))
    return lower if x.ndim == 3 else lower[:, None]
