"""The log of a monitor: what was declared before the first deployed task, and a line for each of them."""

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxcert.monitoring._claims import MonitoredClaim
from jaxcert.monitoring._monitor_loop import init
from jaxcert.monitoring._monitor_state import MonitorState, Task
from jaxcert.monitoring._task_test import SUCCESSES, UPPER_BOUND
from jaxcert.rollouts._chained import fields_of

FORMAT, _NUMBERS = "jaxcert-monitor-1", ("threshold", "epsilon", "delta")
# Blocks of tasks with more rollouts each would take gigabytes.
_MOST_ROLLOUTS = 100_000


class Declared(NamedTuple):
    """Settings fixed before the first deployed task."""

    claim: MonitoredClaim  # what is monitored; its words are those of the certificate that was given, and in no file
    support: tuple[float, float]  # (a, b); (0, 1) for successes
    successes: bool  # whether rollouts succeed or fail
    num_rollouts: int  # m, of each task
    alpha: float  # probability of ever raising a false alarm
    beta: float | None  # the level of upper bounds, as it followed from the claim; None where there are none
    most_successes: int | None  # likewise the number up to which a task is flagged; None where successes do not count
    certificate_sha256: str | None = None  # of the certificate's file; None for a claim that is from no file

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> "Declared":
        """The declaration in an entry; ValueError for an invalid one."""
        claim = entry.get("claim")
        if not isinstance(claim, dict):
            raise ValueError(f"its claim is {claim!r:.40}; expected its numbers {', '.join(_NUMBERS)}")
        numbers = fields_of(claim, MonitoredClaim, _NUMBERS, "of its claim ")
        fields = fields_of(entry, cls, [name for name in cls._fields if name != "claim"])
        found = cls(**{**fields, "claim": MonitoredClaim(**numbers)})
        if found.certificate_sha256 is not None and not re.fullmatch("[0-9a-f]{64}", found.certificate_sha256):
            raise ValueError(f"certificate_sha256 is {found.certificate_sha256!r:.40}; expected 64 hexadecimal digits")
        check_same(found, declare(found.claim, found.certificate_sha256, **found.settings)._asdict())
        return found

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of ``init`` beside the claim."""
        settings = {name: getattr(self, name) for name in ("successes", "num_rollouts", "alpha")}
        return {"support": None if self.successes else self.support, "complete": True, **settings}

    def state(self) -> MonitorState:
        """Before the first task."""
        return init(self.claim.threshold, self.claim.epsilon, **self.settings)


def declare(claim: MonitoredClaim, certificate_sha256: str | None = None, **settings: Any) -> Declared:
    """The declaration of a new monitor with these settings of ``init``; ValueError if they cannot be monitored."""
    given = {**(init.__kwdefaults__ or {}), **settings}
    if isinstance(given["num_rollouts"], int) and given["num_rollouts"] > _MOST_ROLLOUTS:
        raise ValueError(f"num_rollouts is {given['num_rollouts']}; expected at most {_MOST_ROLLOUTS} of a task")
    test = init(claim.threshold, claim.epsilon, **settings).test
    claim = claim._replace(**{name: float(getattr(claim, name)) for name in _NUMBERS})
    alpha, (low, high) = float(given["alpha"]), map(float, given["support"] or (0, 1))
    if not 0 <= claim.delta < 1:
        raise ValueError(f"delta of its claim is {claim.delta:g}; expected a number in [0, 1)")
    if not claim.delta + alpha < 1:
        raise ValueError(f"alpha is {alpha:g}, and delta {claim.delta:g}; expected less than 1 together")
    return Declared(
        claim=claim,
        support=(low, high),
        successes=given["successes"],
        num_rollouts=given["num_rollouts"],
        alpha=alpha,
        beta=float(test.beta) if test.kind == UPPER_BOUND else None,
        most_successes=int(test.most_successes) if test.kind == SUCCESSES else None,
        certificate_sha256=certificate_sha256,
    )


def as_declared(found: Declared, claim: MonitoredClaim, settings: Mapping[str, Any] | None = None) -> Declared:
    """The found declaration with the words of the claim; ValueError if its numbers differ.

    ``settings``: those of a new monitor, which has to declare the same.
    """
    known = found.certificate_sha256 is not None  # a monitor that began in Python may have no file of a certificate
    given = (settings or {}).items()
    check_same(found, {name: value for name, value in given if known or name != "certificate_sha256"})
    for name in _NUMBERS:
        held, stated = getattr(found.claim, name), getattr(claim, name)
        if held != stated:
            raise ValueError(
                f"{name} of its claim is {held:.17g}; the claim that was given has {float(stated):.17g}: expected the "
                "claim that it began with"
            )
    found = found._replace(claim=claim)
    if settings is not None:
        own = declare(claim, **{**settings, "complete": True, "certificate_sha256": found.certificate_sha256})
        check_same(found, own._replace(claim=claim)._asdict())
    return found


def check_same(declared: Declared, given: dict[str, Any]) -> None:
    """Raise ValueError for a setting that is not the declared one.

    ``given`` has names of ``Declared``, and "threshold" and "epsilon" of its claim.
    """
    known = {**declared._asdict(), "threshold": declared.claim.threshold, "epsilon": declared.claim.epsilon}
    for name, value in given.items():
        if not _is_same(value, known[name]):
            raise ValueError(
                f"{name} is {value}; the monitor began with {known[name]}, which is fixed: expected the same, none, "
                "or a new file"
            )


def _is_same(value: Any, known: Any) -> bool:
    """Numbers may be given in the figures that are printed."""
    if isinstance(value, float) and isinstance(known, float):
        return math.isclose(value, known, rel_tol=1e-6)
    return tuple(value) == tuple(known) if isinstance(value, list | tuple) else value == known


# --- lines ----------------------------------------------------------------------------------------------------------


def first_entry(declared: Declared) -> dict[str, Any]:
    """The entry with which a log begins.

    It omits the words of the claim: readers would trust them, yet anyone who alters a file can recompute its hashes.
    """
    claim = {name: getattr(declared.claim, name) for name in _NUMBERS}
    fields = {**declared._asdict(), "claim": claim}
    return {"format": FORMAT, **fields}


def read_task(entry: Mapping[str, Any]) -> Task:
    """The task of an entry."""
    try:
        return Task(**fields_of({**entry, "label": entry.get("task")}, Task, Task._fields))
    except ValueError as error:
        raise ValueError(f"expected a task with its label and its returns: {error}") from None
