"""A protocol that was locked beforehand, and what contradicts it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert.cli._asking import Asking
from jaxcert.cli._options import option
from jaxcert.questions import QUESTIONS
from jaxcert.report import Protocol
from jaxcert.report._protocol_check import of_origin
from jaxcert.tables import ReturnsFile
from jaxcert.tables._returns import how_many

PROTOCOL = option("FILE", "Settings that were locked beforehand; others are refused.", "--protocol")
_SETTLED = ("support", "delta", "beta", "bound", "method", "question", "options")
_NOT_LOCKED = ("where", "only", "strata", "successes", "trials")


class Locked(NamedTuple):
    """A protocol, and its file."""

    path: Path
    protocol: Protocol

    def check(self, found: Mapping[str, Any], words: str = "{}") -> None:
        """Raise ValueError for settings or facts, by their names, that are not the protocol's; ``words`` tell each."""
        self.refuse([words.format(line) for line in self.protocol.contradictions(found)])

    def refuse(self, differences: Sequence[str]) -> None:
        """Raise ValueError if anything differs from the protocol."""
        if differences:
            raise ValueError(f"{self.path}: {'; '.join(differences)}")

    def settle(self, asking: Asking) -> Asking:
        """The protocol's question and settings; a contradiction is an error."""
        given = {name: getattr(asking, name) for name in _SETTLED}
        self.check({"thresholds": asking.threshold, "safeties": asking.safety, **given})
        settled = {name: getattr(self.protocol, name) for name in _SETTLED}
        asking = asking._replace(threshold=self.protocol.thresholds, safety=self.protocol.safeties, **settled)
        return asking if QUESTIONS[self.protocol.asked].takes("method") else asking._replace(method=None)

    def roles(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The roles of columns, which an option must not contradict."""
        self.check({"task": given["task"], "value": given["value"]})
        picked = [f"--{name}" for name in _NOT_LOCKED if given[name]]
        self.refuse([f"{' and '.join(picked)} given, which a protocol does not lock"] if picked else [])
        return {**given, **{name: given[name] or getattr(self.protocol, name) for name in ("task", "value")}}

    def check_design(self, data: ReturnsFile) -> None:
        """Raise ValueError where the data, or what their file says of their origin, do not fit the design."""
        counts, wanted = data.num_rollouts, self.protocol.num_rollouts
        different = self.protocol.contradictions({"num_tasks": len(counts), "num_rollouts": int(counts.max())})
        different += of_origin(self.protocol, data)
        short = int(np.sum(counts < wanted))
        lacking = f"{how_many(short, 'task')} {'has' if short == 1 else 'have'} fewer rollouts than the protocol says"
        self.refuse(different or ([lacking] if short else []))


def locked_in(path: Path | None) -> Locked | None:
    """The protocol in a file, if one is given."""
    return None if path is None else Locked(path, Protocol.read(path))
