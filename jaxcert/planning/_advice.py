"""Why a certificate says less than wanted, and what would help; the same before any rollout."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import chex
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count, check_finite, check_open_unit, is_concrete
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates import Certificate, Status, ceil_figures, floor_figures, floor_to
from jaxcert.certificates._arguments import choose
from jaxcert.certificates._method import Method
from jaxcert.certificates._registry import METHODS
from jaxcert.numerics._rounding import complement_down
from jaxcert.planning._highest import MOST_ROLLOUTS, best_of, least_beta
from jaxcert.planning._limits import MOST_TASKS, least_true, most_violations, reaches, safety_of
from jaxcert.returns._prepared import Support

# Smaller betas that are proposed.
_TINY_BETA = 1e-7
_BETAS = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 1e-4, 1e-5, 1e-6)


@dataclasses.dataclass(frozen=True)
class Advice:
    """Why less is certified than was wanted at one threshold; as text, the sentences to print.

    Attributes:
        threshold: B; None before it is known, for a safety level.
        safety: the wanted safety; 0 for any above it.
        max_safety: the most that so many tasks certify at these levels, without any violation.
        tasks_needed: if that is too little, the fewest tasks that can certify the wanted safety.
        max_beta: if that is too little, a beta at which these tasks can.
        highest_threshold: if no task can pass the threshold, the lower bound of the best possible returns.
        rollouts_needed: if so, the fewest rollouts with which the best possible returns pass.
        min_beta: if so, the least beta, in steps of 0.01, at which they pass with these rollouts.
        num_violations: k, and how many are allowed, if it is only for their number.
        violations_allowed: see ``num_violations``.
        tasks_at_this_share: as many tasks would do if the same share of them were violations.
        text: all of this in words.

    Example:
        >>> from jaxcert.planning import check
        >>> [advice] = check(20, 30, safety=0.9, delta=0.01)
        >>> advice.tasks_needed
        47
    """

    threshold: float | None
    safety: float
    max_safety: float
    tasks_needed: int | None = None
    max_beta: float | None = None
    highest_threshold: float | None = None
    rollouts_needed: int | None = None
    min_beta: float | None = None
    num_violations: int | None = None
    violations_allowed: int | None = None
    tasks_at_this_share: int | None = None
    text: str = ""

    def __str__(self) -> str:
        return self.text


def advise(
    certificate: Certificate,
    *,
    support: Support,
    num_rollouts: int | None = None,
    safety: float | None = None,
    fixed: Literal["threshold", "safety"] = "threshold",
) -> tuple[Advice | None, ...]:
    """Why a certificate says nothing, or less than wanted, and what would help.

    Every number was computed with the certificate's own arithmetic: "0.9 needs 47 tasks" is true of 47, and not of 46.

    Args:
        certificate: concrete, for one set of tasks.
        support: (a, b), as it was declared.
        num_rollouts: m, the most rollouts that a task has; without it, nothing is said about rollouts.
        safety: the wanted safety at each threshold; by default, any above 0.
        fixed: ``"safety"`` for a certificate of ``certify_safety_level``, which says nothing where its threshold is the
            lower end of the support; the wanted safety is that of the certificate.

    Returns:
        For each threshold an ``Advice``, or None where as much is certified as wanted.

    Raises:
        ValueError: for a batched or traced certificate, or arguments out of range.

    Example:
        >>> import jaxcert
        >>> from jaxcert.planning import advise
        >>> returns = jaxcert.sample_returns("cheetah")[:20]
        >>> certificate = jaxcert.certify(returns, 200.0, support=(0, 1000), delta=0.01)
        >>> print(advise(certificate, support=(0, 1000), num_rollouts=100, safety=0.9)[0])
        20 tasks can certify 0.7835 at most, even if none is a violation: 0.9 needs 47
    """
    if not is_concrete(certificate.safety) or certificate.safety.ndim != 1:
        raise ValueError("certificate is batched or traced; expected safety of shape [t] with values")
    wanted = _wanted(safety)
    setting = _Setting(
        METHODS[certificate.method],
        certificate.num_tasks,
        num_rollouts,
        float(certificate.beta),
        float(certificate.delta),
        certificate.bound if certificate.bound in BOUNDS else None,
        _ends(support),
        certificate.safety.dtype,
    )
    rows = zip(*(np.asarray(x).tolist() for x in _columns(certificate)), strict=True)
    if fixed == "safety":
        setting = _with_free_beta(setting, certificate)
        low = np.sum(np.asarray(certificate.lower_bounds) <= setting.low)
        return tuple(_advice(setting, None, s, int(low)) if c == Status.VACUOUS else None for _, s, _, c in rows)
    return tuple(
        None if _enough(achieved, wanted) or code == Status.INVALID_INPUT else _advice(setting, threshold, wanted, k)
        for threshold, achieved, k, code in rows
    )


def check(
    num_tasks: int,
    num_rollouts: int,
    *,
    delta: float,
    thresholds: chex.Numeric | Sequence[float] = (),
    safety: float | None = None,
    support: Support | None = None,
    beta: float | None = None,
    bound: str = "betting",
    method: str = "binomial",
) -> tuple[Advice, ...]:
    """What a planned experiment cannot certify, whatever its returns are: to be called before the rollouts.

    Args:
        num_tasks: n.
        num_rollouts: m, of each task.
        delta: failure probability of the certificate, in (0, 1).
        thresholds: B; without any, only the number of tasks is checked.
        safety: the wanted safety; by default, any above 0.
        support: (a, b), needed for thresholds.
        beta: failure probability of one lower bound; by default that of the method.
        bound: the name of a bound, as in ``certify``.
        method: the name of a method, as in ``certify``.

    Returns:
        An ``Advice`` for each threshold at which the wish cannot come true, or one if there are no thresholds; empty
        if nothing stands in the way.

    Raises:
        ValueError: for arguments out of range, or thresholds without a support.

    Example:
        >>> from jaxcert.planning import check
        >>> for advice in check(100, 10, thresholds=150.0, support=(0, 200), delta=0.01):
        ...     print(advice)
        no lower bound can pass 148.3 with 10 rollouts at beta 0.05, even if all returns were 200: 150 needs 11 \
rollouts, or a beta of at least 0.06, or rollouts one after another (jaxcert.sequential)
    """
    check_count("num_tasks", num_tasks)
    check_count("num_rollouts", num_rollouts)
    for name, value in (("delta", delta), ("beta", beta)):
        if value is not None:
            check_open_unit(name, value)
    chosen, wanted = choose("method", method, METHODS), _wanted(safety)
    choose("bound", bound, BOUNDS)
    asked: list[Any] = np.atleast_1d(np.asarray(thresholds, np.float64)).tolist() or [None]
    if asked != [None]:
        check_finite("thresholds", thresholds)
        if support is None:
            raise ValueError("support is not given; expected (a, b), which thresholds are compared with")
    level = float(chosen.default_beta(delta, num_tasks)) if beta is None else float(beta)
    ends = None if support is None else _ends(support)
    setting = _Setting(chosen, num_tasks, num_rollouts, level, float(delta), bound, ends, None)
    found = [_impossible(setting, threshold, wanted) for threshold in asked]
    return tuple(advice for advice in found if advice.text)


# --- the reasons --------------------------------------------------------------------------------------------------


class _Setting(NamedTuple):
    method: Method
    num_tasks: int
    num_rollouts: int | None
    beta: float
    delta: float
    bound: str | None
    support: tuple[float, float] | None
    dtype: Any
    free_beta: bool = False

    @property
    def low(self) -> float:
        """a."""
        return -np.inf if self.support is None else self.support[0]

    def reach(self, wanted: float, k: Any, n: Any, beta: Any = None) -> np.ndarray:
        """Whether k violations of n certify the wanted safety."""
        level = self.level(n) if beta is None else beta
        return reaches(self.method, wanted, k, n, level, self.delta, self.dtype)

    def level(self, n: Any) -> Any:
        """Beta; one that was the method's default stays that for another number of tasks."""
        dtype = np.float32 if self.dtype is None else self.dtype
        default = np.asarray(self.method.default_beta(np.asarray(self.delta, dtype), self.num_tasks), dtype)
        return np.nan if default == np.asarray(self.beta, dtype) else self.beta


def _advice(setting: _Setting, threshold: float | None, wanted: float, k: int) -> Advice:
    found = _impossible(setting, threshold, wanted)
    return found if found.text else _too_many(setting, found, k)


def _impossible(setting: _Setting, threshold: float | None, wanted: float) -> Advice:
    """What stands in the way whatever the returns are; without text if nothing does."""
    n = setting.num_tasks
    most = float(safety_of(setting.method, 0, n, setting.level(n), setting.delta, setting.dtype))
    found, texts = Advice(threshold, wanted, most), []
    if not setting.reach(wanted, 0, n):
        found = _with_tasks(setting, found)
        texts.append(_tasks_text(setting, found))
    if threshold is not None and setting.num_rollouts and setting.bound and setting.support:
        found = _with_rollouts(setting, found)
        if found.highest_threshold is not None:
            texts.append(_rollouts_text(setting, found))
    return dataclasses.replace(found, text="; ".join(texts))


def _with_tasks(setting: _Setting, found: Advice) -> Advice:
    needed = int(least_true(lambda n: setting.reach(found.safety, 0, n), np.asarray([0]), MOST_TASKS)[0])
    if setting.free_beta and needed:
        # Between a beta of nearly 0 and none, rounding decides.
        near = [n for n in range(max(needed - 2, 1), needed + 3) if _free(setting, found.safety, n)]
        needed = min(near, default=needed)
    smaller = np.asarray([beta for beta in _BETAS if beta < setting.beta] or [setting.beta])
    good = setting.reach(found.safety, np.zeros_like(smaller), setting.num_tasks, smaller)
    return dataclasses.replace(
        found,
        tasks_needed=needed or None,
        max_beta=float(smaller[np.argmax(good)]) if good.any() else None,
    )


def _with_free_beta(setting: _Setting, certificate: Certificate) -> _Setting:
    """With a beta of nearly 0, if it was chosen for the safety: then it is as small as the safety needs."""
    best = setting.method.best_beta
    if best is None or best(setting.num_tasks, certificate.delta, certificate.safety)[0] != certificate.beta:
        return setting
    return setting._replace(beta=_TINY_BETA, free_beta=True)


def _free(setting: _Setting, safety: float, n: int) -> bool:
    """Whether ``certify_safety_level`` finds a beta at which n tasks certify the safety."""
    assert setting.method.best_beta is not None
    delta, wanted = (jnp.asarray(value, setting.dtype) for value in (setting.delta, [safety]))
    _, solution = setting.method.best_beta(n, delta, wanted)
    return bool(complement_down(solution.epsilon[0]) >= wanted[0])


def _tasks_text(setting: _Setting, found: Advice) -> str:
    n = setting.num_tasks
    most = f"can certify {floor_to(found.max_safety, 4)} at most" if found.max_safety > 0 else "can certify nothing"
    tasks = "1 task" if n == 1 else f"{n} tasks"
    needed = f"{found.tasks_needed:,}" if found.tasks_needed else f"more than {MOST_TASKS:,}"
    smaller = f", or a beta of at most {found.max_beta:g}" if found.max_beta else ""
    return f"{tasks} {most}, even if none is a violation: {_wish(found.safety)} needs {needed}{smaller}"


def _with_rollouts(setting: _Setting, found: Advice) -> Advice:
    assert setting.bound
    assert setting.support
    assert setting.num_rollouts
    assert found.threshold is not None
    low, high = setting.support
    if found.threshold <= low:
        return found
    if found.threshold > high:
        return dataclasses.replace(found, highest_threshold=high)
    few = setting.num_rollouts < BOUNDS[setting.bound].min_rollouts
    if not np.isfinite(high) or few:
        return found
    best = best_of(setting.bound, setting.support, setting.dtype)
    highest = best.one_by_one(setting.num_rollouts, setting.beta)
    if highest >= best.up(found.threshold):
        return found
    beta = least_beta(best, found.threshold, setting.num_rollouts)
    good = beta is not None and bool(setting.reach(found.safety, 0, setting.num_tasks, beta))
    return dataclasses.replace(
        found,
        highest_threshold=highest,
        rollouts_needed=best.least_rollouts(found.threshold, setting.beta) or None,
        min_beta=beta if good else None,
    )


def _rollouts_text(setting: _Setting, found: Advice) -> str:
    assert setting.support
    assert found.threshold is not None
    assert found.highest_threshold is not None
    low, high = setting.support
    shown = floor_figures(found.threshold)
    if found.highest_threshold == high:
        return f"{shown} lies above the support: no return exceeds {high:g}"
    # Other returns may give as much more by rounding.
    above = ceil_figures(found.highest_threshold + 1e-5 * (high - low), 4)
    needed = f"{found.rollouts_needed:,}" if found.rollouts_needed else f"more than {MOST_ROLLOUTS:,}"
    larger = f", or a beta of at least {found.min_beta:g}" if found.min_beta else ""
    m = setting.num_rollouts
    rollouts = "1 rollout" if m == 1 else f"{m} rollouts"
    return (
        f"no lower bound can pass {above} with {rollouts} at beta {setting.beta:.4g}, even if all returns were "
        f"{high:g}: {shown} needs {needed} rollouts{larger}, or rollouts one after another (jaxcert.sequential)"
    )


def _too_many(setting: _Setting, found: Advice, k: int) -> Advice:
    """Nothing stands in the way but the violations."""
    n, wanted = setting.num_tasks, found.safety
    levels = setting.level(n), setting.delta, setting.dtype
    allowed = int(most_violations(setting.method, wanted, np.asarray([n]), *levels)[0])
    more = least_true(lambda size: setting.reach(wanted, -(-k * size // n), size), np.asarray([n]), MOST_TASKS)[0]
    text = f"{k} of {n} tasks are violations: {_wish(wanted)} allows {allowed}"
    text += f", or as large a share of {int(more):,} tasks" if more else ", and more tasks like these do not help"
    text += "; a lower threshold, or more rollouts per task, makes fewer violations"
    return dataclasses.replace(
        found, num_violations=k, violations_allowed=allowed, tasks_at_this_share=int(more) or None, text=text
    )


def _wish(safety: float) -> str:
    """In six figures: in the certificate it has been rounded up."""
    return floor_figures(safety, 6) if safety > 0 else "anything"


def _enough(achieved: float, wanted: float) -> bool:
    return achieved >= wanted if wanted > 0 else achieved > 0


def _wanted(safety: float | None) -> float:
    if safety is None:
        return 0.0
    check_open_unit("safety", safety)
    return float(safety)


def _ends(support: Support) -> tuple[float, float]:
    low, high = support
    return float(low), float(high)


def _columns(certificate: Certificate) -> tuple:
    return certificate.thresholds, certificate.safety, certificate.num_violations, certificate.status
