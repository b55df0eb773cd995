"""Several requirements at once: on what share of new tasks, or on how many of a list, all of them are met."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert._validation import choose, is_concrete
from jaxcert.bounds._clopper_pearson import CLOPPER_PEARSON
from jaxcert.certificates._anytime import EVERY_MOMENT
from jaxcert.certificates._attained import ATTAINED
from jaxcert.certificates._certificate import A_MINUS_B, answer, origin_of
from jaxcert.certificates._figures import LISTED
from jaxcert.certificates._intersection import solved_together
from jaxcert.certificates._method import BINOMIAL, WITHIN_STRATA
from jaxcert.certificates._question import COUNT_ROWS, COUNTED, FREQUENCIES, Option, Question, Rows
from jaxcert.certificates._registry import OF_WEIGHTED, levels_of, proven
from jaxcert.certificates._required_metrics import check_declared, metrics_of
from jaxcert.certificates._requirements_certificate import SIDES, RequirementsCertificate
from jaxcert.certificates._soft import SOFT
from jaxcert.numerics._rounding import known
from jaxcert.returns._paired import Paired
from jaxcert.returns._required import Requirement, sides_of
from jaxcert.returns._weighted import Weighted

_METHODS = {method.name: method for method in (BINOMIAL, ATTAINED, SOFT, EVERY_MOMENT)}


def certify_requirements(
    returns: Mapping[str, Array | Paired] | Weighted,
    requirements: Mapping[str, Requirement] | Sequence[str],
    *,
    delta: Numeric,
    beta: Numeric | Literal["auto"] | None = None,
    bound: str | None = None,
    method: str | None = None,
    complete: bool = False,
    where: Array | Mapping[str, Any] | None = None,
    validate: bool = True,
) -> RequirementsCertificate:
    r"""Certify that a policy meets several requirements at once: reward and cost, success and collisions.

    With metrics X^r of the same tasks, their expected values J^r on a task, and thresholds B_r that are fixed
    before the data are seen:

    .. math:: P\big[\, P_{M \sim D}[J^r_M \ge B_r \text{ for all } r] \ge 1 - \hat\varepsilon \,\big] \ge 1 - \delta,

    one-sided; for a metric that is to be at most a number the inequality is J^r <= B_r. A task passes if each
    requirement is shown to be met by a bound of its own, at one level beta. A bad task misses one requirement, and
    passes only if the bound for it fails. So the number k of tasks that do not pass gives the risk as in ``certify``.
    Neither delta nor beta is divided, and metrics may depend on one another in any way.

    Args:
        returns: by the name of each metric, float[..., n, m] or bool, as in ``certify``: the same tasks in the same
            order; the number of rollouts may differ. Or of each two policies, ``paired``: the requirements are then of
            A minus B, with the support of the returns of both. Or all of them with weights of the tasks, ``weighted``,
            or on tasks from strata, ``stratified``.
        requirements: by the name of each metric ``at_least`` or ``at_most``, or a ``Requirement`` with both ends, with
            the support of returns that are no successes; or lines such as "reward >= 300 in 0 1000", "success >= 0.9".
        delta: failure probability, in (0, 1); a scalar.
        beta: level of each bound, in (0, 1); a scalar. For "binomial" 0.05 by default, and "auto" takes the best of
            three levels. For "attained" what no level must exceed; by default the best of four is taken. For "soft" as
            in ``certify``.
        bound: per-task bound of returns, as in ``certify``; "betting" by default. Successes are counted.
        method: "attained" if any metric is of successes, else "binomial". Or "soft": the evidence of a task is the
            smallest of those against each requirement. Or "anytime": by bounds at beta, at every moment of the
            sampling, as ``certify_anytime``.
        complete: True declares that each return is that of a whole rollout, of a finite horizon, which ``at_most``
            needs: after a prefix the cost may still grow.
        where: which rollouts count, bool[..., n, m] for all metrics, or by the name of each.
        validate: as in ``certify``.

    Returns:
        A ``RequirementsCertificate`` with arrays [...].

    Raises:
        ValueError: as ``certify``, with the name of the metric; metrics without requirements or the other way round,
            other numbers of tasks, or ``at_most`` without complete=True.

    Example:
        >>> import numpy as np
        >>> passed = np.arange(10) < np.tile([10, 10, 9, 10, 7], 16)[:, None]  # ten trials of each of 80 tasks
        >>> hit = (np.arange(80)[:, None] + 3 * np.arange(10)) % 20 == 0  # half a collision of each task
        >>> lines = ["success >= 0.5", "collision <= 0.5"]
        >>> found = certify_requirements({"success": passed, "collision": hit}, lines, delta=0.05, complete=True)
        >>> print(found)
        With confidence 0.95: on a new task from the same distribution, the probability of success is at least 0.5
        and the probability of collision is at most 0.5, all at once, with probability at least 0.9354.
        >>> print(found.num_missed)
        [0 0]

    Reference: the theory page, section 2.4; Berger (1982) on intersection-union tests.
    """
    settings = {"delta": delta, "beta": beta, "bound": bound, "method": method, "complete": complete}
    return required(returns, requirements, **settings, where=where, validate=validate)


def required(
    returns: Any,
    requirements: Any,
    *,
    delta: Any,
    beta: Any = None,
    bound: str | None,
    method: str | None = None,
    complete: bool,
    where: Any,
    validate: bool,
    listed: bool = False,
) -> RequirementsCertificate:
    """The answer about new tasks, or about the tasks of a list."""
    sides = sides_of(requirements)
    check_declared(sides, complete)
    weights = returns if isinstance(returns, Weighted) else None
    if weights and listed:
        raise ValueError("returns are weighted; the tasks of a fixed list have no weights, and are from no strata")
    plain: Any = weights.returns if weights else returns
    metrics = metrics_of(sides, returns, where, bound, method, validate)
    usual = ATTAINED if any(each.bound.binary for each in metrics) else BINOMIAL
    chosen = choose("method", method or usual.name, _METHODS)
    if chosen is ATTAINED and usual is BINOMIAL:
        raise ValueError("method is 'attained', which counts successes; none of the metrics is of them")
    dtype = np.result_type(*(each.sample.dtype for each in metrics))
    longest = max(metrics, key=lambda each: int(each.sample.num_rollouts)).sample
    common = longest.replace(low=longest.low.astype(dtype))
    name, chooses = chosen.name, not weights or chosen is ATTAINED
    if weights:
        choose("method", name, OF_WEIGHTED)
        if weights.even and (chosen is SOFT or all(each.has_one_level for each in metrics)):
            metrics[0] = dataclasses.replace(metrics[0], sample=metrics[0].sample.replace(weights=None))
            chosen = dataclasses.replace(chosen, tail=chosen.tail and WITHIN_STRATA)
        else:
            name = f"weighted_{name}"
    delta, level = levels_of(chosen, delta, beta, common, validate, chooses=chooses)
    used = proven(delta, validate) if chosen.tail is WITHIN_STRATA else delta
    fields = solved_together(chosen, metrics, None if listed else level, used, listed=listed) | {"delta": delta}
    ends, bounds = [each.support or (0, 1) for each in sides], [each.bound for each in metrics]
    rows = {
        "thresholds": [each.rounded(dtype) for each in sides],
        "low": [known(low, dtype, "down") for low, _ in ends],
        "high": [known(high, dtype, "up") for _, high in ends],
    }
    fields |= {name: (np if is_concrete(row) else jnp).stack(row) for name, row in rows.items()}
    settings: dict[str, Any] = {
        "metrics": tuple(each.metric for each in sides),
        "sides": tuple(SIDES[not each.is_least] for each in sides),
        "of_successes": tuple(one.support is None or each.binary for one, each in zip(sides, bounds, strict=True)),
        "bound": next((each.name for each in bounds if not each.binary), CLOPPER_PEARSON.name),
        "question": "suite_requirements" if listed else "requirements",
        **({"source": LISTED} if listed else origin_of(returns)),
        "quantity": A_MINUS_B if any(isinstance(each, Paired) for each in plain.values()) else "",
    }
    if weights and not weights.strata:
        fields["max_weight"] = known(weights.max_weight, dtype, "up")
    return answer(RequirementsCertificate, fields, common.num_tasks, method=name, complete=complete, **settings)


def certify_suite_requirements(
    returns: Mapping[str, Array | Paired],
    requirements: Mapping[str, Requirement] | Sequence[str],
    *,
    delta: Numeric,
    bound: str | None = None,
    complete: bool = False,
    where: Array | Mapping[str, Any] | None = None,
    validate: bool = True,
) -> RequirementsCertificate:
    r"""Certify on how many tasks of a fixed list a policy meets several requirements at once.

    The tasks are those of ``certify_suite``, and a task passes as in ``certify_requirements``: if each of its
    requirements is shown by a bound of its own, all at one of a few levels, each of which has a share of delta.

    .. math:: P\big[\, \#\{i : J^r_i \ge B_r \text{ for all } r\} \ge n - k - x \,\big] \ge 1 - \delta,

    one-sided, with k the tasks that do not pass, and x, how many others may be bad, as for ``certify_suite``: a bad
    task passes with a probability of at most its level, whichever requirement it misses.

    Args:
        returns, requirements, delta, bound, complete, where, validate: as in ``certify_requirements``.

    Returns:
        A ``RequirementsCertificate`` with arrays [...].

    Raises:
        ValueError: as ``certify_requirements``.

    Example:
        >>> import numpy as np
        >>> passed = np.arange(20) < np.tile([20, 20, 19, 20, 9], 10)[:, None]  # twenty trials of each of 50 tasks
        >>> hit = (np.arange(50)[:, None] + 3 * np.arange(20)) % 20 == 0
        >>> lines = ["success >= 0.7", "collision <= 0.2"]
        >>> returns = {"success": passed, "collision": hit}
        >>> print(certify_suite_requirements(returns, lines, delta=0.05, complete=True))
        With confidence 0.95: on at least 36 of these 50 tasks, the probability of success is at least 0.7
        and the probability of collision is at most 0.2, all at once.

    Reference: the theory page, sections 2.4 and 22.
    """
    settings = {"delta": delta, "bound": bound, "complete": complete, "where": where, "validate": validate}
    return required(returns, requirements, **settings, listed=True)


_REQUIREMENT = (
    "A metric, the column of its values, with what it has to be and its support: 'reward >= 300 in 0 1000', or "
    "'success >= 0.9' for successes"
)
_COMPLETE = "Declare that each return is that of a whole rollout, of a finite horizon, which an upper limit needs"

_OPTIONS = (
    Option("requirements", tuple, _REQUIREMENT, True, "requirement", check=lambda _, value: sides_of(value)),
    Option("complete", bool, _COMPLETE),
)

REQUIREMENTS = Question(
    name="requirements",
    words="on what share of new tasks are several requirements met at once, such as a reward and a cost?",
    function=certify_requirements,
    rows=Rows(
        {name: COUNTED[name] for name in ("safety", "epsilon", "num_violations", "status")},
        claims={"safety": min},
        risks=COUNT_ROWS.risks,
    ),
    each=None,
    options=(*_OPTIONS, FREQUENCIES),
    paired=True,
    advised=True,
)

SUITE_REQUIREMENTS = Question(
    name="suite_requirements",
    words="on how many tasks of this fixed list are several requirements met at once?",
    function=certify_suite_requirements,
    rows=Rows({name: name for name in ("num_good", "num_violations", "status")}, "num_good", {"num_good": min}, {}),
    each=None,
    options=_OPTIONS,
    paired=True,
    listed=True,
)
