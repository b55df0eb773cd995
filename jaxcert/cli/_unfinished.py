"""The files of interrupted rollouts, and how to resume."""

import contextlib
import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jaxcert._archive import ROLLOUTS, read_archive, write_archive
from jaxcert._files import held_alone, in_file
from jaxcert.cli._outputs import check_new
from jaxcert.cli._run import Run
from jaxcert.report import read_certificate
from jaxcert.rollouts import adaptive_facts, load_adaptive, save_adaptive
from jaxcert.tables import returns_facts

# The seeds that the option takes; all that are drawn are among them.
_SEEDS = range(2**32)


class Kind(NamedTuple):
    """A kind of runs: what determines one, by a file of it so far or its output; how the former is read and written."""

    facts: Callable[[Path], dict[str, Any]]
    facts_of_output: Callable[[Path], dict[str, Any]]
    load: Callable[[Path], Any]
    save: Callable[[Path, Any, dict[str, Any]], None]


ADAPTIVE = Kind(
    adaptive_facts, adaptive_facts, load_adaptive, lambda path, run, facts: save_adaptive(path, run, facts=facts)
)
# The same number of rollouts of each task: the returns of the first tasks.
FIXED = Kind(
    lambda path: read_archive(path, ROLLOUTS)[0],
    returns_facts,
    lambda path: read_archive(path, ROLLOUTS, ["returns"])[1]["returns"],
    lambda path, returns, facts: write_archive(path, ROLLOUTS, facts, {"returns": returns}),
)


class Unfinished:
    """The run so far, or None for a new one, while this process holds its lock; and the facts that describe it."""

    def __init__(
        self,
        out: Path,
        json: Path | None,
        facts: Mapping[str, Any],
        seed: int | None,
        *,
        force: bool,
        kind: Kind = ADAPTIVE,
    ) -> None:
        self.path, self.force, self._kind = _file(out), force, kind
        self._readers = {out: kind.facts_of_output, **({} if json is None else {json: _record_facts})}
        begun = kind.facts(self.path) if self.path.exists() else None
        self.facts = {**facts, "seed": self._seed(begun) if seed is None else seed}
        if begun is not None:
            self._check(begun)
        # Whoever begins anew has written none of them.
        self._ours = set() if begun is None else {path for path in self._readers if self._is_ours(path)}
        check_new(*(path for path in self._readers if path not in self._ours), force=force)
        self.run = None if begun is None else kind.load(self.path)

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.facts["seed"]

    def may_replace(self, path: Path) -> bool:
        """Whether an output may replace the file that exists now: the one that existed when the run began, or any."""
        return self.force or (path in self._ours and self._is_ours(path))

    def save(self, so_far: Any) -> None:
        """Keep the run so far."""
        self._kind.save(self.path, so_far, self.facts)

    def remove(self) -> None:
        """Delete the file; the output is written."""
        self.path.unlink(missing_ok=True)

    def naming(self) -> contextlib.AbstractContextManager:
        """Errors of a run that goes on name the file from which it does so."""
        return contextlib.nullcontext() if self.run is None else in_file(self.path)

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
def unfinished(run: Run, settings: Mapping[str, Any], kind: Kind = ADAPTIVE) -> Iterator[Unfinished]:
    """The unfinished run of one output and its record, held by one process at a time."""
    asked, out, facts = run.asked, run.asked.out, {**run.facts, **settings}
    with held_alone(_lock_file(out)) as is_alone:
        if not is_alone:
            raise ValueError(f"{_file(out)}: in use by another process; wait for it, or choose another --out")
        yield Unfinished(out, asked.json, facts, asked.seed, force=asked.force, kind=kind)


def is_unfinished(out: Path) -> bool:
    """Whether there is a run that the same command goes on with."""
    return _file(out).exists()


def working_files(out: Path) -> dict[str, Path]:
    """The command's own files and folders beside an output, by purpose."""
    return {"the run so far": _file(out), "its lock": _lock_file(out)}


def _file(out: Path) -> Path:
    return out.with_name(f"{out.name}.unfinished")


def _lock_file(out: Path) -> Path:
    return out.with_name(f"{out.name}.unfinished.lock")


def _record_facts(path: Path) -> dict[str, Any]:
    """Entries of a certificate file about its rollouts."""
    (record,) = read_certificate(path)["certificates"]
    rollouts = record.get("rollouts")
    return rollouts if isinstance(rollouts, dict) else {}
