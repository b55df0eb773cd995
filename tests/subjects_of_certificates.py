"""Every certificate, for the requirements on every public function on arrays."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from subject import HITS, LEVELS, MASKS, NAMES, OTHERS, RETURNS, SAFETIES, WORST, Subject

from jaxcert import (
    at_least,
    at_most,
    certify,
    certify_anytime,
    certify_band,
    certify_cvar,
    certify_each_task,
    certify_episode,
    certify_improvement,
    certify_interval,
    certify_lower_bounds,
    certify_lower_bounds_band,
    certify_mean,
    certify_mean_difference,
    certify_ranking,
    certify_requirements,
    certify_safety_level,
    certify_sequential,
    certify_shift,
    certify_stratified,
    certify_suite,
    certify_suite_mean,
    certify_tail,
    certify_weighted,
)


def _certify(function: Callable, wanted: tuple, bound: str, method: str) -> Subject:
    def call(returns, wanted, beta, delta, low, high, **validate):
        options = {"bound": bound, "method": method, "beta": beta, "delta": delta}
        return function(returns, wanted, support=(low, high), **options, **validate)

    binary = bound == "clopper_pearson"
    first, second = HITS if binary else RETURNS
    low, high = (0.0, 1.0) if binary else (-1.0, 2.0)
    return Subject(call, (first, wanted[0], 0.01, 0.1, 0.0, 1.0), (second, wanted[1], 0.012, 0.2, low, high))


def _given(method: str) -> Subject:
    def call(lower, thresholds, beta, delta, **validate):
        return certify_lower_bounds(lower, thresholds, beta=beta, delta=delta, method=method, **validate)

    first, second = (x.min(axis=-1) for x in RETURNS)
    return Subject(call, (first, LEVELS[0], 0.01, 0.1), (second, LEVELS[1], 0.012, 0.2))


CERTIFICATES = {
    "certify_lower_bounds-binomial": _given("binomial"),
    "certify_lower_bounds-scenario": _given("scenario"),
}
# A method sees lower bounds alone, so one bound is enough for the second one.
for _method, _names in (("binomial", NAMES), ("scenario", ("betting",))):
    for _name in _names:
        CERTIFICATES[f"certify-{_name}-{_method}"] = _certify(certify, LEVELS, _name, _method)
        CERTIFICATES[f"certify_safety_level-{_name}-{_method}"] = _certify(
            certify_safety_level, SAFETIES, _name, _method
        )
CERTIFICATES["certify-betting-soft"] = _certify(certify, LEVELS, "betting", "soft")


def _one_after_another(returns, thresholds, beta, delta, low, high, **validate):
    settings = {"beta": beta, "delta": delta, "give_up": 0.1}
    return certify_sequential(returns, thresholds, support=(low, high), **settings, **validate)


CERTIFICATES["certify_sequential"] = Subject(
    _one_after_another, (RETURNS[0], LEVELS[0], 0.5, 0.1, 0.0, 1.0), (RETURNS[1], LEVELS[1], 0.3, 0.2, -1.0, 2.0)
)


def _chosen_from_the_data(returns, thresholds, low, high, **validate):
    return certify(returns, thresholds, support=(low, high), beta="auto", delta=0.2, **validate)


CERTIFICATES["certify-betting-auto"] = Subject(
    _chosen_from_the_data, (RETURNS[0], LEVELS[0], 0.0, 1.0), (RETURNS[1], LEVELS[1], -1.0, 2.0)
)


def _anytime(returns, thresholds, beta, delta, low, high, alpha, gamma, **validate):
    settings = {"beta": beta, "delta": delta, "prior": (alpha, gamma)}
    return certify_anytime(returns, thresholds, support=(low, high), **settings, **validate)


CERTIFICATES["certify_anytime"] = Subject(
    _anytime,
    (RETURNS[0], LEVELS[0], 0.5, 0.1, 0.0, 1.0, 1.0, 1.0),
    (RETURNS[1], LEVELS[1], 0.3, 0.2, -1.0, 2.0, 0.5, 3.0),
)


def _band(returns, thresholds, beta, low, high, **validate):
    return certify_band(returns, thresholds, support=(low, high), beta=beta, delta=0.2, **validate)


def _given_band(lower, beta, low, **validate):
    return certify_lower_bounds_band(lower, None, beta=beta, delta=0.2, low=low, **validate)


def _tail(lower, beta, low, shares, **validate):
    return certify_tail(_given_band(lower, beta, low, **validate), shares, **validate)


def _together(returns, low, high, **validate):
    options = {"beta": 0.125, "delta": 0.25, "simultaneous": True}
    return certify_safety_level(returns, [0.25, 0.5], support=(low, high), **options, **validate)


def _interval(returns, thresholds, beta, delta, low, high, **validate):
    settings = {"beta": beta, "delta": delta, "complete": True}
    return certify_interval(returns, thresholds, support=(low, high), **settings, **validate)


def _requirements(reward, cost, least, most, delta, high, **validate):
    wanted = {"reward": at_least(least, support=(0.0, high)), "cost": at_most(most, support=(0.0, high))}
    return certify_requirements({"reward": reward, "cost": cost}, wanted, delta=delta, complete=True, **validate)


CERTIFICATES |= {
    "certify_requirements": Subject(
        _requirements, (RETURNS[0], RETURNS[1], 0.2, 0.9, 0.1, 1.0), (RETURNS[1], RETURNS[0], 0.1, 1.5, 0.2, 2.0)
    ),
    "certify_band": Subject(_band, (RETURNS[0], LEVELS[0], 0.1, 0.0, 1.0), (RETURNS[1], LEVELS[1], 0.3, -1.0, 2.0)),
    "certify_lower_bounds_band": Subject(_given_band, (WORST[0], 0.1, 0.0), (WORST[1], 0.3, -1.0)),
    "certify_tail": Subject(_tail, (WORST[0], 0.1, 0.0, SAFETIES[0]), (WORST[1], 0.3, -1.0, SAFETIES[1])),
    "certify_safety_level-together": Subject(_together, (RETURNS[0], 0.0, 1.0), (RETURNS[1], -1.0, 2.0)),
    "certify_interval": Subject(
        _interval, (RETURNS[0], LEVELS[0], 0.1, 0.1, 0.0, 1.0), (RETURNS[1], LEVELS[1], 0.2, 0.2, -1.0, 2.0)
    ),
}
FUNCTIONALS = {
    "certify_mean": Subject(
        lambda x, delta, low, high, where, **validate: certify_mean(
            x, support=(low, high), delta=delta, where=where, **validate
        ),
        (RETURNS[0], 0.1, 0.0, 1.0, MASKS[0]),
        (RETURNS[1], 0.2, -1.0, 2.0, MASKS[1]),
    ),
    "certify_cvar": Subject(
        lambda x, alpha, cap, delta, low, high, **validate: certify_cvar(
            x, alpha, cap=cap, support=(low, high), delta=delta, **validate
        ),
        (RETURNS[0], LEVELS[0], 0.7, 0.5, 0.0, 1.0),
        (RETURNS[1], LEVELS[1], 0.8, 0.6, -1.0, 2.0),
    ),
    **{
        f"certify_episode-{rollouts}": Subject(
            functools.partial(
                lambda x, t, delta, rollouts, **validate: certify_episode(
                    x, t, delta=delta, rollouts=rollouts, **validate
                ),
                rollouts=rollouts,
            ),
            (RETURNS[0], LEVELS[0], 0.1),
            (RETURNS[1], LEVELS[1], 0.2),
        )
        for rollouts in ("all", "first")
    },
    **{
        f"certify_improvement-{name}": Subject(
            lambda a, b, c, beta, delta, low, high, **validate: certify_improvement(
                a, b, c, support=(low, high), delta=delta, beta=beta, **validate
            ),
            (RETURNS[0], second[0], LEVELS[0] - 0.7, 0.3, 0.2, 0.0, 1.0),
            (RETURNS[1], second[1], LEVELS[1] - 0.7, 0.4, 0.3, -0.1, 1.1),
        )
        for name, second in (("pairs", RETURNS[::-1]), ("unequal", OTHERS))
    },
    "certify_mean_difference": Subject(
        lambda a, b, delta, low, high, **validate: certify_mean_difference(
            a, b, support=(low, high), delta=delta, **validate
        ),
        (RETURNS[0], OTHERS[0], 0.1, 0.0, 1.0),
        (RETURNS[1], OTHERS[1], 0.2, -1.0, 2.0),
    ),
    "certify_ranking": Subject(
        lambda x, delta, low, high, **validate: certify_ranking(x, support=(low, high), delta=delta, **validate),
        (np.stack([RETURNS[0], 0.5 * RETURNS[0], RETURNS[1]]), 0.1, 0.0, 1.0),
        (np.stack([RETURNS[1], RETURNS[0], 0.4 * RETURNS[1]]), 0.2, 0.0, 1.1),
    ),
}
CERTIFICATES |= FUNCTIONALS


def _suite(bound: str, returns: list, high: float) -> Subject:
    def call(x, t, betas, delta, low, high, **validate):
        return certify_suite(x, t, support=(low, high), delta=delta, betas=betas, bound=bound, **validate)

    betas = (np.array([0.05, 0.3]), np.array([0.1, 0.4]))
    return Subject(
        call, (returns[0], LEVELS[0], betas[0], 0.1, 0.0, 1.0), (returns[1], LEVELS[1], betas[1], 0.2, 1.0 - high, high)
    )


def _each_task(bound: str, returns: list, high: float, **options: Any) -> Subject:
    def call(x, t, delta, low, high, **validate):
        return certify_each_task(x, t, support=(low, high), delta=delta, bound=bound, **options, **validate)

    return Subject(call, (returns[0], LEVELS[0], 0.9, 0.0, 1.0), (returns[1], LEVELS[1], 0.8, 1.0 - high, high))


def _suite_mean(bound: str, returns: list, high: float) -> Subject:
    def call(x, delta, low, high, **validate):
        return certify_suite_mean(x, support=(low, high), delta=delta, bound=bound, **validate)

    return Subject(call, (returns[0], 0.1, 0.0, 1.0), (returns[1], 0.2, 1.0 - high, high))


for _name, _returns, _high in (("betting", RETURNS, 2.0), ("clopper_pearson", HITS, 1.0)):
    CERTIFICATES[f"certify_suite-{_name}"] = _suite(_name, _returns, _high)
    CERTIFICATES[f"certify_each_task-{_name}"] = _each_task(_name, _returns, _high)
    CERTIFICATES[f"certify_each_task-{_name}-complete"] = _each_task(_name, _returns, _high, complete=True)
    CERTIFICATES[f"certify_suite_mean-{_name}"] = _suite_mean(_name, _returns, _high)


def _shift(returns, beta, delta, radius, performance_shift, thresholds, low, high, **validate):
    settings = {"support": (low, high), "beta": beta, "delta": delta, "bound": "hoeffding"}
    before = certify(returns, thresholds, **settings, **validate)
    shift = {"radius": radius, "performance_shift": performance_shift}
    return certify_shift(before, divergence="kl", **shift, **validate)


CERTIFICATES["certify_shift"] = Subject(
    _shift,
    (RETURNS[0], 0.3, 0.4, 0.01, 0.1, LEVELS[0], 0.0, 1.0),
    (RETURNS[1], 0.2, 0.5, 0.1, 0.2, LEVELS[1], -0.1, 1.1),
)


RATIOS = [np.array([0.5, 1.5] * 4), np.array([1.25, 0.75] * 4)]
CERTIFICATES |= {
    f"certify_weighted-{method}": Subject(
        functools.partial(
            lambda x, b, w, most, beta, delta, low, high, method, **validate: certify_weighted(
                x, b, w, max_weight=most, support=(low, high), beta=beta, delta=delta, method=method, **validate
            ),
            method=method,
        ),
        (RETURNS[0], LEVELS[0], RATIOS[0], 1.5, 0.3, 0.2, 0.0, 1.0),
        (RETURNS[1], LEVELS[1], RATIOS[1], 1.25, 0.4, 0.3, -0.1, 1.1),
    )
    for method in ("binomial", "soft")
}


CERTIFICATES |= {
    f"certify_stratified-{name}": Subject(
        functools.partial(
            lambda x, b, beta, delta, low, high, frequencies, **validate: certify_stratified(
                x,
                b,
                strata=np.arange(8) % 2,
                frequencies=frequencies,
                support=(low, high),
                beta=beta,
                delta=delta,
                **validate,
            ),
            frequencies=frequencies,
        ),
        (RETURNS[0], LEVELS[0], 0.3, 0.2, 0.0, 1.0),
        (RETURNS[1], LEVELS[1], 0.4, 0.15, -0.1, 1.1),
    )
    for name, frequencies in (("even", None), ("other", {0: 0.25, 1: 0.75}))
}
