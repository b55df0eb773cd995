"""Why a certificate says less than wanted, and what would help; the same before any rollout."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxcert._types import Numeric
from jaxcert._validation import check_count, check_finite, check_open_unit, choose, is_concrete, kind_of
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates import Certificate, Status
from jaxcert.certificates._batch_axes import check_single
from jaxcert.certificates._certificate import of_two
from jaxcert.certificates._method import BINOMIAL
from jaxcert.certificates._registry import COUNTING, METHODS, counts_bounds
from jaxcert.planning._advice_on_bounds import Advice, Setting, advice_on, impossible, too_few_tasks
from jaxcert.planning._advice_on_requirements import advice_on_requirements
from jaxcert.planning._successes import advice_on_successes
from jaxcert.questions import QUESTIONS, question_of
from jaxcert.questions._answers import sampled
from jaxcert.returns._prepared import Support


def advise(
    certificate: Any,
    *,
    support: Support | None = None,
    num_rollouts: int | None = None,
    safety: float | None = None,
    limit: int | None = None,
) -> tuple[Advice | None, ...]:
    """Explain why a certificate says less than wanted, and what would help.

    Every number was computed with the certificate's own arithmetic: "0.9 needs 47 tasks" is true of 47, and not of 46.
    Of a safety level it only says if there are too few tasks, whatever the level of the bounds is.
    For an interval the advice is about the lower end, which has half of delta; for two policies it is about their
    difference, which lies in [a - b, b - a].

    Args:
        certificate: a ``Certificate``, or one of several requirements; concrete, for one set of tasks.
        support: (a, b), as it was declared; of requirements, each has its own.
        num_rollouts: m, the most rollouts that a task has (of either policy); without it, nothing is said about
            rollouts.
        safety: the wanted safety at each threshold; by default, any above 0. For ``certify_safety_level``, it is the
            certificate's safety; that certificate says nothing if its threshold is the lower end of the support.
        limit: the most thresholds to explain, the first ones that miss; by default all. Each may take a second.

    Returns:
        For each threshold, or for all requirements together, an ``Advice``, or None where as much is certified as
        wanted. Of requirements it names the one without which most tasks more would pass. For successes with equally
        many trials in every task, it compares more tasks with more trials; with unequal numbers it is only about the
        number of tasks, and None if that number could be enough. It is None for soft counts and a beta that the
        data chose. With more misses than ``limit``, the list ends with the last explained one.

    Raises:
        ValueError: for a certificate that answers a question without advice (``Question.advised``), such as a band or
            a mean, a batch or a traced one, one of a shift, or arguments out of range.

    Example:
        >>> import jaxcert
        >>> from jaxcert.planning import advise
        >>> returns = jaxcert.sample_returns("cheetah")[:20]
        >>> certificate = jaxcert.certify(returns, 200.0, support=(0, 1000), delta=0.01)
        >>> print(advise(certificate, support=(0, 1000), num_rollouts=100, safety=0.9)[0])
        20 tasks can certify 0.7835 at most, even if none is a violation: 0.9 needs 47
    """
    if sampled(certificate) is not certificate:
        raise ValueError("certificate is one of a shift; expected the one of the sampled tasks, and a larger safety")
    question = question_of(certificate)
    if not question.advised:
        known = ", ".join(name for name, each in QUESTIONS.items() if each.advised)
        raise ValueError(f"certificate is {kind_of(certificate)}, on which there is no advice; expected one of {known}")
    if not is_concrete(certificate.safety):
        raise ValueError("certificate is traced; expected one with values, outside of jit and vmap")
    check_single(certificate)
    if limit is not None:
        check_count("limit", limit)
    wanted = _wanted(safety)
    if certificate.metrics:
        return (advice_on_requirements(certificate, num_rollouts, wanted),)
    if support is None:
        raise ValueError("support is not given; expected (a, b), as it was declared")
    explain = _explanation(certificate, support, num_rollouts, wanted, finds=question.finds_threshold)
    if explain is None:
        return (None,) * len(certificate)
    missed = np.flatnonzero(misses(certificate, safety=safety)).tolist()
    found = {place: explain(place) for place in missed[:limit]}
    size = len(certificate) if len(found) == len(missed) else max(found) + 1
    return tuple(found.get(place) for place in range(size))


def misses(certificate: Any, *, safety: float | None = None) -> np.ndarray:
    """The places at which less is certified than wanted, which ``advise`` explains; arguments as there."""
    achieved, code = np.asarray(certificate.safety, np.float64), np.asarray(certificate.status)
    if question_of(certificate).finds_threshold:
        return code == Status.VACUOUS
    wanted = _wanted(safety)
    return (achieved < wanted if wanted > 0 else achieved <= 0) & (code != Status.INVALID_INPUT)


def is_explained(certificate: Certificate) -> bool:
    """Whether ``advise`` looks for what a miss needs.

    It does not for a band, weighted tasks, soft counts or a beta that the data chose.
    """
    method = METHODS.get(certificate.method)
    return method is not None and (method.counts_successes or counts_bounds(certificate))


def _explanation(
    certificate: Certificate, support: Support, num_rollouts: int | None, wanted: float, *, finds: bool
) -> Callable[[int], Advice | None] | None:
    """A function that explains a miss at one place; None if no miss can be explained."""
    thresholds = np.asarray(certificate.thresholds)
    if not is_explained(certificate):
        return None
    if finds:
        method, safeties = COUNTING.get(certificate.method, BINOMIAL), np.asarray(certificate.safety).tolist()
        level = None if method.free_beta else float(certificate.beta)
        return lambda i: few if (few := too_few_tasks(certificate, method, level, safeties[i])).text else None
    if METHODS[certificate.method].counts_successes:
        if not num_rollouts:
            return None
        return lambda i: advice_on_successes(certificate, num_rollouts, thresholds[i].item(), wanted)
    low, high = map(float, support)
    ends = (low - high, high - low) if of_two(certificate) else (low, high)
    setting = Setting(
        COUNTING[certificate.method],
        certificate.num_tasks,
        num_rollouts,
        float(certificate.beta),
        float(certificate.delta) * (1.0 if certificate.safety_upper is None else 0.5),  # the part of that end
        certificate.bound if certificate.bound in BOUNDS else None,
        ends,
        certificate.safety.dtype,
        difference=of_two(certificate),
    )
    violations = np.asarray(certificate.num_violations)
    return lambda i: advice_on(setting, thresholds[i].item(), wanted, violations[i].item())


def check(
    num_tasks: int,
    num_rollouts: int,
    *,
    delta: float,
    thresholds: Numeric | Sequence[float] = (),
    safety: float | None = None,
    support: Support | None = None,
    beta: float | None = None,
    bound: str = "betting",
    method: str = "binomial",
) -> tuple[Advice, ...]:
    """Limits of a planned experiment that hold for all returns; call it before the rollouts.

    Args:
        num_tasks: n.
        num_rollouts: m, of each task.
        delta: failure probability of the certificate, in (0, 1).
        thresholds: B; without any, only the number of tasks is checked.
        safety: the wanted safety; by default, any above 0.
        support: (a, b), needed for thresholds.
        beta: failure probability of one lower bound; by default the method's own.
        bound: the name of a bound, as in ``certify``.
        method: "binomial", "scenario", or "attained" for successes, as in ``certify``.

    Returns:
        An ``Advice`` for each threshold at which the wish cannot come true, or one if there are no thresholds; empty
        if nothing stands in the way.

    Raises:
        ValueError: for arguments out of range, thresholds without a support, or attained levels without thresholds.

    Example:
        >>> from jaxcert.planning import check
        >>> for advice in check(100, 10, thresholds=150.0, support=(0, 200), delta=0.01):
        ...     print(advice)
        no lower bound can pass 148.3 with 10 rollouts at beta 0.05, even if all returns were 200: 150 needs 11 \
rollouts, or rollouts one after another (jaxcert.sequential)
    """
    check_count("num_tasks", num_tasks)
    check_count("num_rollouts", num_rollouts)
    for name, value in (("delta", delta), ("beta", beta)):
        if value is not None:
            check_open_unit(name, value)
    known = {name: each for name, each in METHODS.items() if name in COUNTING or each.counts_successes}
    chosen, wanted = choose("method", method, known), _wanted(safety)
    choose("bound", bound, BOUNDS)
    asked: list[Any] = np.atleast_1d(np.asarray(thresholds, np.float64)).tolist() or [None]
    if asked != [None]:
        check_finite("thresholds", thresholds)
        if support is None:
            raise ValueError("support is not given; expected (a, b), which thresholds are compared with")
    if chosen.counts_successes:
        if asked == [None] or beta is not None:
            raise ValueError(f"method is {method!r}, whose levels follow from thresholds; expected some, and no beta")
        each = [advice_on_successes(num_tasks, num_rollouts, threshold, wanted, delta) for threshold in asked]
        return tuple(advice for advice in each if advice is not None)
    level = float(chosen.default_beta(delta, num_tasks)) if beta is None else float(beta)
    ends = None if support is None else (float(support[0]), float(support[1]))
    setting = Setting(chosen, num_tasks, num_rollouts, level, float(delta), bound, ends, None)
    found = [impossible(setting, threshold, wanted) for threshold in asked]
    return tuple(advice for advice in found if advice.text)


def _wanted(safety: float | None) -> float:
    if safety is None:
        return 0.0
    check_open_unit("safety", safety)
    return float(safety)
