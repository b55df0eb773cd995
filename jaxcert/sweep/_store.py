"""Finished chunks of a long sweep on disk, written completely or not at all and checked on reading."""

import dataclasses
import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

import jax
import numpy as np

import jaxcert._version as version
from jaxcert._files import whole_file, write_whole
from jaxcert.sweep._grid import Grid
from jaxcert.sweep._plan import Chunk, Pass, Plan

_SETTINGS = "sweep.json"


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
            with whole_file(path, replace=False) as file:
                file.write(self._settings)
        except FileExistsError:
            self._join(path, settings, resume)

    def _join(self, path: Path, settings: dict[str, Any], resume: bool) -> None:
        """Resume the sweep in the folder, or raise ValueError."""
        if not resume:
            raise ValueError(
                f"{self._folder}: holds a sweep already; ask to resume it, or choose another folder (nothing was "
                "changed)"
            )
        _compare(self._folder, _read_settings(path), json.loads(json.dumps(settings)))

    def digest(self, each: Pass, chunk: Chunk, x: Any, where: Any) -> str:
        """A hash of everything that determines the lower bounds of a chunk: settings, position, returns and mask."""
        place = f"{each.bound} {each.num_rollouts} {chunk}".encode()
        return _digest(np.frombuffer(self._settings + place, np.uint8), x, where)

    def load(self, each: Pass, chunk: Chunk, digest: str) -> np.ndarray | None:
        """The lower bounds of a finished chunk; None if there are none, or if their file is damaged.

        Raises:
            ValueError: if they were computed from other returns, or for another chunk or sweep.
        """
        path = self._path(each, chunk)
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as archive:
                stored, lower = str(archive["digest"]), archive["lower"]
        except Exception:  # any error of the parsers, for a missing or truncated file
            return None
        if stored != digest:
            raise ValueError(
                f"{path}: was computed from other returns, or for another chunk or sweep; expected what the sweep was "
                "started with (nothing was changed)"
            )
        fits = lower.shape == (len(each.betas), *chunk.shape) and lower.dtype.kind == "f" and not np.isnan(lower).any()
        return lower if fits else None

    def save(self, each: Pass, chunk: Chunk, digest: str, lower: np.ndarray) -> None:
        """Store the lower bounds of a finished chunk."""
        content = io.BytesIO()
        np.savez(content, digest=np.asarray(digest), lower=lower)
        write_whole(self._path(each, chunk), content.getvalue())

    def _path(self, each: Pass, chunk: Chunk) -> Path:
        seeds, tasks = (f"{part.start}_{part.stop}" for part in (chunk.seeds, chunk.tasks))
        return self._folder / f"{each.bound}-m{each.num_rollouts}-seeds{seeds}-tasks{tasks}.npz"


def settings_of(grid: Grid, plan: Plan, shape: tuple[int, ...], support: Any, validate: bool) -> dict[str, Any]:
    """Everything that must not change when a sweep is resumed, as values for JSON."""
    return {
        "jaxcert": version.__version__,
        "jax": jax.__version__,
        "device": jax.devices()[0].device_kind,
        "shape": list(shape),
        "dtype": str(plan.dtype),
        "support": [float(end) for end in support],
        "validate": validate,
        "grid": dataclasses.asdict(grid),
    }


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: is damaged ({error}); expected the settings of a sweep") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path}: expected the settings of a sweep")
    return found


def _compare(folder: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name, value in _flat(wanted).items():
        if _flat(found).get(name) != value:
            raise ValueError(
                f"{folder}: the sweep there has {name} = {_flat(found).get(name)!r}, this one {value!r}; expected "
                "the same (nothing was changed)"
            )


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, with the entries of the grid at the top level."""
    grid = settings.get("grid")
    return {**(grid if isinstance(grid, dict) else {}), **settings, "grid": None}


def _digest(*arrays: Any) -> str:
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
