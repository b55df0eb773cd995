"""What is fixed before the first deployed task, and whether who opens the monitor again means the same."""

import math
from typing import Any, NamedTuple

from jaxcert.monitoring._claims import MonitoredClaim
from jaxcert.monitoring._evidence import BETS, WEIGHTS
from jaxcert.monitoring._monitor_loop import init
from jaxcert.monitoring._monitor_state import MonitorState
from jaxcert.monitoring._task_test import SUCCESSES, UPPER_BOUND


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


def declare(
    claim: MonitoredClaim,
    *,
    support: tuple[float, float] | None,
    complete: bool,
    successes: bool,
    num_rollouts: int,
    alpha: float,
    beta: float | None,
    most_successes: int | None,
    certificate_sha256: str | None,
) -> Declared:
    """The settings of a new monitor, with what they leave open chosen; ValueError for what cannot be monitored."""
    settings: dict[str, Any] = {"support": support, "successes": successes, "num_rollouts": num_rollouts}
    settings |= {"alpha": alpha, "beta": beta, "most_successes": most_successes, "complete": complete}
    test = init(claim.threshold, claim.epsilon, **settings).test
    if not claim.delta + alpha < 1:
        raise ValueError(f"alpha is {alpha:g}, and delta {claim.delta:g}; expected less than 1 together")
    low, high = (0.0, 1.0) if support is None else map(float, support)
    return Declared(
        claim,
        (low, high),
        successes,
        num_rollouts,
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
