"""The log of a monitor: what was declared before the first deployed task, and a line for each of them."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxcert._chained import line_of, linked
from jaxcert._files import parsed
from jaxcert.monitoring._claims import MonitoredClaim
from jaxcert.monitoring._monitor_loop import BETS, WEIGHTS, init
from jaxcert.monitoring._monitor_state import MonitorState, Task
from jaxcert.monitoring._task_test import SUCCESSES, UPPER_BOUND

_FORMAT = "jaxcert-monitor-1"


class Declared(NamedTuple):
    """What is fixed before the first deployed task.

    Attributes:
        claim: what is monitored.
        support: (a, b); (0, 1) for successes.
        successes: whether rollouts succeed or fail.
        num_rollouts: m, of each task.
        alpha: probability of ever raising a false alarm.
        beta: the level of upper bounds; None where there are none.
        most_successes: the number up to which a task is flagged; None where successes do not count.
        bets, weights: of the evidence.
        certificate_sha256: of the certificate's file; None for a claim that is from no file.
    """

    claim: MonitoredClaim
    support: tuple[float, float]
    successes: bool
    num_rollouts: int
    alpha: float
    beta: float | None
    most_successes: int | None
    bets: tuple[float, ...]
    weights: tuple[float, ...]
    certificate_sha256: str | None = None

    def state(self) -> MonitorState:
        """Before the first task; ValueError for what cannot be monitored."""
        support = None if self.successes else self.support
        settings: dict[str, Any] = {"beta": self.beta, "most_successes": self.most_successes}
        settings |= {"bets": self.bets, "weights": self.weights, "alpha": self.alpha, "successes": self.successes}
        threshold, epsilon = self.claim.threshold, self.claim.epsilon
        return init(threshold, epsilon, support=support, num_rollouts=self.num_rollouts, complete=True, **settings)


def declare(claim: MonitoredClaim, certificate_sha256: str | None, **settings: Any) -> Declared:
    """What a new monitor with these settings of ``init`` declares; ValueError for what cannot be monitored."""
    test, alpha, beta = init(claim.threshold, claim.epsilon, **settings).test, settings["alpha"], settings["beta"]
    if not claim.delta + alpha < 1:
        raise ValueError(f"alpha is {alpha:g}, and delta {claim.delta:g}; expected less than 1 together")
    low, high = map(float, settings["support"] or (0, 1))
    return Declared(
        claim,
        (low, high),
        settings["successes"],
        settings["num_rollouts"],
        float(alpha),
        (float(test.beta) if beta is None else float(beta)) if test.kind == UPPER_BOUND else None,
        int(test.most_successes) if test.kind == SUCCESSES else None,
        BETS,
        WEIGHTS,
        certificate_sha256,
    )


def check_same(declared: Declared, given: dict[str, Any]) -> None:
    """Raise ValueError for a setting that is not the declared one; None is a setting that is not given.

    ``given`` has names of ``Declared``, and "threshold" and "epsilon" of its claim.
    """
    known = {**declared._asdict(), "threshold": declared.claim.threshold, "epsilon": declared.claim.epsilon}
    for name, value in given.items():
        if value is not None and not _is_same(value, known[name]):
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


def first_line(declared: Declared) -> str:
    """The line with which a log begins."""
    fields = {**declared._asdict(), "claim": declared.claim._asdict()}
    return line_of({"number": 0, "format": _FORMAT, **fields}, [])[0]


def task_line(task: Task, number: int, chain: str) -> tuple[str, str]:
    """The line of a task after the entry with this hash, and its own hash."""
    return line_of({"number": number, "task": task.label, "returns": list(task.returns)}, [chain])


def read_declared(line: bytes) -> tuple[Declared, str]:
    """What the first line says, and its hash."""
    entry = _entry(line, 0)
    chain = linked(entry, [], is_chained=True)
    if entry.get("format") != _FORMAT:
        raise ValueError(f"its format is {entry.get('format')!r:.40}; expected {_FORMAT!r}")
    try:
        fields = {
            name: entry[name] for name in Declared._fields if name in entry or name not in Declared._field_defaults
        }
        claim = MonitoredClaim(**{name: fields["claim"][name] for name in MonitoredClaim._fields})
        tuples = {name: tuple(fields[name]) for name in ("support", "bets", "weights")}
        declared = Declared(**{**fields, **tuples, "claim": claim})
        declared.state()
    except (KeyError, TypeError) as error:
        raise ValueError(f"its first entry does not declare a monitor ({error})") from error
    return declared, chain


def read_task(line: bytes, number: int, chain: str) -> tuple[Task, str]:
    """The task of a line after the entry with this hash, and its own hash."""
    entry = _entry(line, number)
    found = linked(entry, [chain], is_chained=True)
    label, returns = entry.get("task"), entry.get("returns")
    if not (isinstance(label, str) and isinstance(returns, list) and all(map(_is_number, returns))):
        raise ValueError("expected a task with its label and its returns")
    return Task(label, tuple(map(float, returns))), found


def _entry(line: bytes, number: int) -> Mapping[str, Any]:
    entry = parsed(line)
    if not isinstance(entry, dict) or entry.get("number") != number:
        raise ValueError(f"expected an object of JSON with the number {number}, as lines are neither lost nor repeated")
    return entry


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
