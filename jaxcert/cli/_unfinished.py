"""Rollouts in parts: what is left of a run that was stopped, and how it goes on."""

import contextlib
import hashlib
import io
import json
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxcert._files import held_alone, parsed, write_whole
from jaxcert.cli._settled import check_new
from jaxcert.report import read_certificate
from jaxcert.rollouts import AdaptiveCertificate, adaptive_facts, load_adaptive, save_adaptive
from jaxcert.tables import returns_facts

_SETTINGS, _LOCK = "settings.json", "lock"
_SIZE = "episodes_per_part"
_INSTEAD = "remove it, or choose another --out"


class Parts:
    """Parts of one output, as long as this process holds their folder.

    The name of a part has a hash of the settings, of its place and of its content, so that one that is damaged, was
    altered or belongs to other settings is noticed, and made again.

    Attributes:
        folder: where they are.
        seed: the parts' own, the given one, or a new one.
    """

    def __init__(self, folder: Path, facts: Mapping[str, Any], seed: int | None, episodes: int) -> None:
        self.folder = folder
        parts = sorted(folder.glob("*.npy"))
        begun = _read(folder / _SETTINGS) if parts else {}
        # A random seed, so that none repeats by accident: a policy must not be certified on the tasks it was chosen on.
        self.seed = (_seed(folder, begun) if parts else secrets.randbits(31)) if seed is None else seed
        wanted = {**facts, _SIZE: episodes, "seed": self.seed}
        self._settings = json.dumps(wanted).encode()
        if (begun and begun != wanted) or (parts and not any(map(self._is_own, parts))):
            raise ValueError(f"{folder} holds parts of other rollouts; {_INSTEAD}")
        write_whole(folder / _SETTINGS, self._settings)

    def load(self, i: int) -> np.ndarray | None:
        """A finished part; None if there is none, or another one than was written, so that it is made again."""
        for path in sorted(self.folder.glob(f"{i:06d}-*.npy")):
            content = path.read_bytes()
            if path.name == self._name(i, content):
                return np.load(io.BytesIO(content), allow_pickle=False)
            print(f"warning: {path}: damaged or altered, or of other settings; made again", file=sys.stderr)
            path.unlink()
        return None

    def save(self, i: int, returns: np.ndarray) -> None:
        """Keep a finished part."""
        content = io.BytesIO()
        np.save(content, returns, allow_pickle=False)
        write_whole(self.folder / self._name(i, content.getvalue()), content.getvalue())

    def remove(self) -> None:
        """Delete all of them; the output is complete."""
        shutil.rmtree(self.folder)

    def _is_own(self, part: Path) -> bool:
        """Whether a file is a part, as it was written, of these settings."""
        place = part.name.partition("-")[0]
        return place.isdecimal() and part.name == self._name(int(place), part.read_bytes())

    def _name(self, i: int, content: bytes) -> str:
        digest = hashlib.sha256(b"\0".join([self._settings, str(i).encode(), content])).hexdigest()
        return f"{i:06d}-{digest[:32]}.npy"


@contextlib.contextmanager
def parts_of(out: Path, facts: Mapping[str, Any], seed: int | None, episodes: int) -> Iterator[Parts]:
    """The parts of an output, which no other process has at the same time."""
    folder = parts_folder(out)
    with _held(folder) as is_alone:
        if not is_alone:
            raise ValueError(f"{folder}: in use by another process; wait for it, or choose another --out")
        yield Parts(folder, facts, seed, episodes)


def remove_parts_of_finished(out: Path) -> None:
    """Delete the parts from which a complete output was made, left by a process that ended before it did so itself."""
    folder = parts_folder(out)
    if not (out.exists() and folder.is_dir()):
        return
    with _held(folder) as is_alone, contextlib.suppress(OSError, ValueError):
        settings = _read(folder / _SETTINGS)
        settings.pop(_SIZE, None)
        if is_alone and settings and settings == returns_facts(out):
            shutil.rmtree(folder)


def parts_folder(out: Path) -> Path:
    """Where the parts of an output are."""
    return out.with_name(f"{out.name}.parts")


def _held(folder: Path) -> contextlib.AbstractContextManager[bool]:
    """Whether no other process has a folder, which is made if there is none."""
    _check_kinds(folder)
    folder.mkdir(exist_ok=True)
    return held_alone(folder / _LOCK)


def _check_kinds(folder: Path) -> None:
    """Raise ValueError for a folder that is none, or in which a file is none; links are neither."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise ValueError(f"{folder}: is no folder, expected the one for parts of the rollouts; {_INSTEAD}")
    for path in (folder / _SETTINGS, folder / _LOCK, *folder.glob("*.npy")):
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise ValueError(f"{path}: is no regular file, expected one of the parts of the rollouts; remove {folder}")


def _seed(folder: Path, begun: Mapping[str, Any]) -> int:
    """The seed of parts, by their settings."""
    seed = begun.get("seed")
    if type(seed) is int and 0 <= seed < 2**32:
        return seed
    found = f"holds no seed from 0 to {2**32 - 1}" if begun else "is damaged or missing"
    raise ValueError(f"{folder / _SETTINGS} {found}, so that {folder} holds parts of unknown rollouts; {_INSTEAD}")


def _read(file: Path) -> dict[str, Any]:
    try:
        found = parsed(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


# The seeds that the option takes; all that are drawn are among them.
_SEEDS = range(2**32)


class Unfinished:
    """The run so far, as long as this process holds its lock.

    Attributes:
        path: the file.
        facts: what the run is of, with its seed: the given one, the file's, or a new one.
        run: the run to go on with; None for a new one.
    """

    def __init__(
        self, out: Path, json: Path | None, facts: Mapping[str, Any], seed: int | None, *, force: bool
    ) -> None:
        self.path, self.force = unfinished_file(out), force
        self._readers = {out: adaptive_facts, **({} if json is None else {json: _record_facts})}
        begun = adaptive_facts(self.path) if self.path.exists() else None
        self.facts = {**facts, "seed": self._seed(begun) if seed is None else seed}
        if begun is not None:
            self._check(begun)
        # Whoever begins anew has written none of them.
        self._ours = set() if begun is None else {path for path in self._readers if self._is_ours(path)}
        check_new(*(path for path in self._readers if path not in self._ours), force=force)
        self.run = None if begun is None else load_adaptive(self.path)

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.facts["seed"]

    def may_replace(self, path: Path) -> bool:
        """Whether an output may take the place of what is there by now: of this run's when it began, or anything."""
        return self.force or (path in self._ours and self._is_ours(path))

    def save(self, so_far: AdaptiveCertificate) -> None:
        """Keep the run so far."""
        save_adaptive(self.path, so_far, facts=self.facts)

    def remove(self) -> None:
        """Delete the file; the output is written."""
        self.path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def naming(self) -> Iterator[None]:
        """Errors of a run that goes on name the file from which it does so."""
        try:
            yield
        except ValueError as error:
            if self.run is None:
                raise
            raise ValueError(f"{self.path}: {error}") from error

    def _seed(self, begun: Mapping[str, Any] | None) -> int:
        # A random seed, so that none repeats by accident: a policy must not be certified on the tasks it was chosen on.
        seed = secrets.randbits(31) if begun is None else begun.get("seed")
        if type(seed) is not int or seed not in _SEEDS:
            raise ValueError(f"{self.path}: its seed is {seed!r:.40}; expected a whole number from 0 to {_SEEDS[-1]}")
        return seed

    def _check(self, begun: Mapping[str, Any]) -> None:
        for name, value in self.facts.items():
            if begun.get(name) != value:
                raise ValueError(
                    f"{self.path} holds another run, with {name} = {begun.get(name)!r}, not {value!r}; "
                    "remove it, or choose another --out"
                )

    def _is_ours(self, path: Path) -> bool:
        """Whether a file is of this run, whose deadline came."""
        with contextlib.suppress(OSError, ValueError):
            return self._readers[path](path).items() >= self.facts.items()
        return False


@contextlib.contextmanager
def unfinished(
    out: Path, json: Path | None, facts: Mapping[str, Any], seed: int | None, *, force: bool
) -> Iterator[Unfinished]:
    """The run so far of one output and its record, which no other process has at the same time."""
    with held_alone(lock_file(out)) as is_alone:
        if not is_alone:
            raise ValueError(f"{unfinished_file(out)}: in use by another process; wait for it, or choose another --out")
        yield Unfinished(out, json, facts, seed, force=force)


def is_unfinished(out: Path) -> bool:
    """Whether there is a run that the same command goes on with."""
    return unfinished_file(out).exists()


def unfinished_file(out: Path) -> Path:
    """Where the run so far of an output is."""
    return out.with_name(f"{out.name}.unfinished")


def lock_file(out: Path) -> Path:
    """Which file is locked by the process that makes the run of an output."""
    path = unfinished_file(out)
    return path.with_name(f"{path.name}.lock")


def _record_facts(path: Path) -> dict[str, Any]:
    """What a certificate file says of the rollouts that it is of."""
    (record,) = read_certificate(path)["certificates"]
    rollouts = record.get("rollouts")
    return rollouts if isinstance(rollouts, dict) else {}
