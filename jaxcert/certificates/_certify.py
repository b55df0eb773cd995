"""From returns, or from lower bounds, to certificates at given thresholds."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert._validation import choose
from jaxcert.certificates._certificate import Certificate, answer, origin_of, quantity_of
from jaxcert.certificates._counting import solved
from jaxcert.certificates._method import WITHIN_STRATA, Method
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import (
    METHODS,
    OF_WEIGHTED,
    defaults,
    given_bounds,
    levels_of,
    prepare_thresholds,
    proven,
    thresholds_of,
)
from jaxcert.returns._paired import Paired
from jaxcert.returns._prepared import Support, as_successes
from jaxcert.returns._sample import padded_rows, sample_of, sample_of_numbers
from jaxcert.returns._weighted import Weighted
from jaxcert.returns.summaries import Histogram

# From so many thresholds on, what is gone through for each of them is not padded.
_MANY = 512


def certify(
    returns: Array | Histogram | Paired | Weighted,
    thresholds: Numeric | Sequence[Numeric],
    *,
    support: Support | None = None,
    delta: Numeric,
    beta: Numeric | Literal["auto"] | None = None,
    bound: str | None = None,
    method: str | None = None,
    where: Array | None = None,
    validate: bool = True,
) -> Certificate:
    r"""Certify a policy from its returns on sampled tasks.

    At each threshold B, fixed before the data are seen:

    .. math:: P\big[\, P_{M \sim D}[J_M \ge B] \ge 1 - \hat\varepsilon(B) \,\big] \ge 1 - \delta,

    over the n sampled tasks and their rollouts together (one-sided), where J is a task's expected return. Each task
    gets a lower bound L on its J at level beta; k(B) counts the tasks with L < B; the method turns k into epsilon.
    For few rollouts per task, "soft" adds up the evidence E of each task against J < B instead: the mean of
    (1 - beta E)^+ / (1 - beta) is at least epsilon, and a betting bound at level delta covers the sampling of tasks.
    Successes and failures, an array of bool, are "attained": a task passes with enough successes, and the level is the
    probability of so many at J = B.

    Args:
        returns: float[..., n, m], m rollouts of a fixed policy on each of n i.i.d. tasks; leading axes are batched.
            bool for successes, whose support is (0, 1) and whose J is the probability of success; numbers that are all
            0 or 1 are successes, too, if no support is given and they can be read. Or a summary, a ``Histogram``
            of ``jaxcert.returns.summaries``; two policies, ``paired``; tasks with weights, ``weighted``.
        thresholds: float[t], or a scalar for one; wanted expected returns B.
        support: (a, b), declared before the data are seen; every return lies in it. b may be infinite for "betting"
            and "dkw". A summary has its own. By default (0, 1) for successes, for "clopper_pearson" and for "attained".
        delta: failure probability of each certificate, in (0, 1); a scalar.
        beta: failure probability of one lower bound, in (0, 1); a scalar. By default 0.05 for "binomial" and
            delta / n for "scenario". "auto" ("binomial"): the best of three levels for each threshold, at an exactly
            calibrated delta for each. With bound "clopper_pearson" and no method, "auto" is "attained". For "soft", the
            weight of the evidence, which is the same for E = 1{L >= B} / beta; by default 1 / (1 + 5/16 m^(3/4)), from
            0.76 at m = 1 to 0.09 at m = 100. For "attained", what the level must not exceed; by default, and for
            "auto", the best of four numbers of successes is taken.
        bound: the name of one of ``jaxcert.bounds``, "betting" by default; "clopper_pearson" is for binary returns, and
            the default for successes. "soft" and "attained" take their default alone.
        method: "binomial", or "scenario", the paper's Theorem 5.1. The latter reports the larger of both risks, which
            is sound for every beta; the theorem alone is only up to beta = sqrt(2 delta) / n. Or "soft", for returns
            themselves, not for a summary. Or "attained", for returns of 0 and 1: the default for successes. Tasks with
            weights, ``weighted``, have all but "scenario" and a beta of "auto" for "binomial".
        where: bool[..., n, m], which rollouts count; all by default. At least one per task.
        validate: raise for invalid values that are concrete. Otherwise, and for traced values, a return outside the
            support refutes it, so that nothing is certified (epsilon 1), and one that is NaN counts its task as a
            violation. The status says so.

    delta, beta, thresholds and support may be traced: other values do not trigger a recompilation. With beta "auto", a
    delta that can be read is divided among the levels exactly, and a traced one by the union bound. A traced Python
    number has been rounded to float32 unless 64-bit types are on, so it is moved by one float to its safe side. Nothing
    shows whether a float64 array was rounded in this way, so round it beforehand (``numerics.cast``).

    Returns:
        A ``Certificate`` with arrays [..., t].

    Raises:
        ValueError: for invalid shapes, names or values, with their name and index; also if the axes look swapped.

    Warns:
        UserWarning: a threshold above the support, which no policy reaches, or none above its lower end, which every
            policy reaches.

    Example:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> returns = jnp.linspace(0.5, 1.0, 200)[:, None] * jnp.ones((200, 50))
        >>> certificate = certify(returns, jnp.asarray([0.5, 0.7]), support=(0.0, 1.0), delta=0.01)
        >>> print(certificate.num_violations, np.asarray(certificate.safety, np.float64).round(3))
        [13 97] [0.876 0.401]
        >>> passed = np.arange(5) < np.tile([5, 5, 4, 5, 3], 12)[:, None]  # five trials of 60 tasks
        >>> print(certify(passed, 0.5, delta=0.05))
        With confidence 0.95: on a new task from the same distribution,
        the probability of success is at least 0.5 with probability at least 0.8806.

    Reference: Schnitzer et al. (2026), Theorem 5.1 ("scenario"); the theory page, sections 2 ("binomial"), 9 ("soft"),
    10 ("auto") and 12 ("attained").
    """
    if support is None:
        returns = as_successes(returns, support, where, bound, method)
    weighted = returns if isinstance(returns, Weighted) else None
    plain: Any = weighted.returns if weighted else returns
    methods = OF_WEIGHTED if weighted else METHODS
    if method is not None:
        # Differences of successes are no successes.
        counting = {name: each for name, each in methods.items() if not each.counts_successes}
        choose("method", method, counting if isinstance(plain, Paired) else methods)
    per_task, chosen = defaults(bound, method, plain, beta)
    # Evidence and weights are added up for each threshold; counting costs nothing more.
    adds_up = weighted is not None or chosen.tail is None
    many = adds_up and np.size(thresholds) > _MANY  # type: ignore[arg-type]
    needs = {"apart": chosen.bound is None, "weights": True, "padded": not many}
    sample = sample_of(dataclasses.replace(per_task, **needs), returns, support, where, validate)
    rounded = thresholds_of(sample, thresholds, validate)
    rows = padded_rows(rounded, sample, *((1,) if adds_up else ()))
    is_even = weighted and weighted.even and (sample.is_full or not chosen.counts_successes)
    if is_even:
        chosen = dataclasses.replace(chosen, tail=chosen.tail and WITHIN_STRATA)
        sample = sample.replace(weights=None)
    chooses = weighted is None or chosen.counts_successes
    delta, beta = levels_of(chosen, delta, beta, sample, validate, chooses=chooses)
    # Evidence is added up by a bound for any delta.
    used = proven(delta, validate) if is_even and chosen.tail else delta
    fields = solved(chosen, per_task, sample, rows, beta, used) | {"delta": delta}
    settings: dict[str, Any] = {}
    if weighted:
        settings = origin_of(weighted) | {"question": "stratified" if weighted.strata else "weighted"}
        if sample.weights is not None and not weighted.strata:
            fields["max_weight"] = sample.weights.largest
    name = chosen.name if sample.weights is None else f"weighted_{chosen.name}"
    settings |= {"bound": per_task.name, "method": name, "quantity": quantity_of(per_task.name, plain)}
    return answer(Certificate, fields, sample.num_tasks, len(rounded), **settings)


def certify_lower_bounds(
    lower_bounds: Array | Sequence[float],
    thresholds: Numeric | Sequence[Numeric],
    *,
    delta: Numeric,
    beta: Numeric,
    method: str = "binomial",
    validate: bool = True,
) -> Certificate:
    """Certify from lower bounds that were computed elsewhere.

    As ``certify``, with the lower bounds computed by the caller: each L is a lower confidence bound on its own task's J
    that fails with probability at most beta given the task, and the tasks are i.i.d. Where a bound that is NaN cannot
    be refused, nothing is certified: ``jaxcert.bounds`` says by NaN that a return refutes the declared support.

    Args:
        lower_bounds: float[..., n]; -inf where nothing is known.
        thresholds: float[t], or a scalar for one.
        delta: failure probability of each certificate, in (0, 1); a scalar.
        beta: failure probability of one lower bound, in (0, 1), or 0 for "binomial" if performances are known exactly.
        method: as in ``certify``, but for "soft", which needs returns.
        validate: as in ``certify``.

    Returns:
        A ``Certificate`` with arrays [..., t] and ``bound`` "given".

    Raises:
        ValueError: for invalid shapes, names or values (including NaN and +inf among the lower bounds).

    Example:
        >>> import jax.numpy as jnp
        >>> certificate = certify_lower_bounds(jnp.arange(100.0), 5.0, delta=0.01, beta=0.05)
        >>> print(int(certificate.num_violations[0]), f"{certificate.safety[0]:.4f}")
        5 0.8675
    """
    chosen = choose("method", method, METHODS)
    if chosen.bound is not None:
        raise ValueError(
            f"{method} derives the risk from the returns and counts no lower bounds; expected another method"
        )
    sample, delta, beta = given_bounds(lower_bounds, delta, beta, validate, zero_beta=chosen.zero_beta)
    levels: Any = prepare_thresholds(thresholds, sample.dtype, validate)
    fields = solved(chosen, None, sample, padded_rows(levels, sample), beta, delta)
    return answer(Certificate, fields, sample.num_tasks, len(levels), bound="given", method=method)


def curve_of_counts(
    certificate: Certificate, lower_bounds: Array, thresholds: Array, *, method: Method | None = None
) -> Certificate:
    """The certificate of other lower bounds [n] at thresholds [t], by the same settings; by default by its method."""
    sample, row = sample_of_numbers(np.asarray(lower_bounds)), np.asarray(thresholds)
    delta = certificate.delta if certificate.level is None else certificate.level
    by = method or METHODS[certificate.method]
    fields = solved(by, None, sample, padded_rows(row, sample), certificate.beta, delta)
    fields |= {name: getattr(certificate, name) for name in ("delta", "level", "low")}
    words = {name: getattr(certificate, name) for name in ("bound", "method", "quantity", "question", "simultaneous")}
    return answer(Certificate, fields, sample.num_tasks, len(row), **words)


SAFETY = Question(
    name="safety",
    words="on what share of new tasks is the performance at least a threshold?",
    function=certify,
    shortcut="",
    advised=True,
    curve=curve_of_counts,
    missing=Certificate.violated,
)
