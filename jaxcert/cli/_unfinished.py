"""The run of `jaxcert rollout --threshold` so far, in a file beside the output, until the output is written."""

import contextlib
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxcert._leftovers import held_alone
from jaxcert.cli._settled import check_new
from jaxcert.report import read_certificate
from jaxcert.rollouts import AdaptiveCertificate, adaptive_facts, load_adaptive, save_adaptive

# Those that the option takes, among them all that are drawn.
_SEEDS = range(2**32)


class Unfinished:
    """The run so far, as long as this process holds its lock.

    Attributes:
        path: the file.
        facts: what the run is of, with its seed: the given one, that of the file, or a new one.
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
