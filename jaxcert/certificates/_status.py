"""The outcome of a certificate, with what to do about it."""

import enum


class Status(enum.IntEnum):
    """Outcome of one certificate. The certificate holds whatever its status, but for UNSOUND; some say nothing.

    Example:
        >>> print(Status.VACUOUS.advice)
        nothing is certified at this threshold: lower it, or sample more tasks or rollouts
    """

    CERTIFIED = 0
    VACUOUS = 1
    INFEASIBLE = 2
    INVALID_INPUT = 3
    OUT_OF_RANGE = 4
    UNSOUND = 5

    @property
    def advice(self) -> str:
        """One line on what the status means and what to change."""
        return _ADVICE[self]


_ADVICE = {
    Status.CERTIFIED: "the certificate holds as stated",
    Status.VACUOUS: "nothing is certified at this threshold: lower it, or sample more tasks or rollouts",
    Status.INFEASIBLE: "the scenario certificate has no solution: choose beta at most delta / num_tasks, or more tasks",
    Status.INVALID_INPUT: "some values were not finite, outside the support or out of range, and counted against the "
    "certificate: call outside of jit and vmap to have them named",
    Status.OUT_OF_RANGE: "beta > sqrt(2 delta) / num_tasks, where the scenario theorem alone may not be sound: the "
    "value reported is the larger of it and the binomial certificate, which holds",
    Status.UNSOUND: "no certificate: an estimate for comparison, which holds with no stated confidence",
}
