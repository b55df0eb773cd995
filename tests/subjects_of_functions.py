"""Bounds, risks, tails, metrics and baselines, for the requirements on every public function on arrays."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from subject import EVENTS, HITS, LEVELS, MASKS, NAMES, RETURNS, REWARDS, WORST, Subject

from jaxcert import (
    anytime_epsilon,
    baselines,
    binomial_epsilon,
    bounds,
    consecutive_successes_threshold,
    numerics,
    rollouts,
    scenario_epsilon,
    shifted_epsilon,
    task_weights,
)


def _bound(function: Callable, data: list = RETURNS, *, support: bool = True, **options: Any) -> Subject:
    def call(x, beta, low, high, where, **validate):
        ends = {"support": (low, high)} if support else {}
        return function(x, beta, where=where, **ends, **options, **validate)

    return Subject(call, (data[0], 0.3, 0.0, 1.0, MASKS[0]), (data[1], 0.2, -1.0 * support, 1.0 + support, MASKS[1]))


def _metric(function: Callable, *names: str, values: tuple = (-1.0, -2.0)) -> Subject:
    def call(r_t, done_t, *options):
        return function(r_t, done_t, **dict(zip(names, options, strict=True)))

    settings = [{"discount": 0.9, "min_reward": values[0]}, {"discount": 0.5, "min_reward": values[1]}]
    chosen = [tuple(s[name] for name in names) for s in settings]
    return Subject(call, (REWARDS[0], EVENTS[0], *chosen[0]), (REWARDS[1], EVENTS[1], *chosen[1]))


BOUNDS = {
    **{name: _bound(getattr(bounds, name)) for name in NAMES if name != "clopper_pearson"},
    "clopper_pearson": _bound(bounds.clopper_pearson, HITS, support=False),
}
EPSILONS = {
    "binomial_epsilon": Subject(binomial_epsilon, (np.arange(5), 20, 0.1, 0.01), (np.arange(3, 8), 30, 0.0, 0.2)),
    "scenario_epsilon": Subject(scenario_epsilon, (np.arange(5), 20, 1e-3, 0.01), (np.arange(3, 8), 30, 1e-2, 0.2)),
}
SHIFTS = {
    f"shifted_epsilon-{name}": Subject(
        functools.partial(shifted_epsilon, divergence=name),
        (np.array([0.01, 0.1, 0.5]), radii[0]),
        (np.array([0.02, 0.2, 0.6]), radii[1]),
    )
    for name, radii in {
        "chi2": (0.1, 0.2),
        "kl": (0.1, 0.2),
        "ratio": (1.1, 1.2),
        "total_variation": (0.1, 0.2),
    }.items()
}


def _anytime_epsilon(k, n, beta, delta, alpha, gamma, **validate):
    return anytime_epsilon(k, n, beta=beta, delta=delta, prior=(alpha, gamma), **validate)


EPSILONS["anytime_epsilon"] = Subject(
    _anytime_epsilon, (np.arange(5), 20, 0.1, 0.01, 1.0, 1.0), (np.arange(3, 8), 30, 0.0, 0.2, 0.5, 3.0)
)
TAILS = {
    name: Subject(getattr(numerics, name), (np.arange(5), 20, 0.1), (np.arange(3, 8), 30, 0.3))
    for name in ("binomial_cdf", "binomial_sf", "clopper_pearson_lower", "clopper_pearson_upper")
}
TAILS["consecutive_successes_threshold"] = Subject(
    consecutive_successes_threshold, (np.array([0.5, 0.9]), 5), (np.array([0.3, 1.0]), 2)
)


class Density:
    """A density that increases with the task."""

    def __init__(self, rate) -> None:
        self.rate = rate

    def log_prob(self, x):
        return self.rate * x


TAILS["task_weights"] = Subject(
    lambda x, q, p: task_weights(Density(q), Density(p), x), (RETURNS[0], 1.0, 2.0), (RETURNS[1], 2.0, 1.5)
)
METRICS = {
    "undiscounted_return": _metric(rollouts.undiscounted_return),
    "discounted_return": _metric(rollouts.discounted_return, "discount"),
    "truncated_return": _metric(rollouts.truncated_return, "discount", "min_reward"),
    "reach": Subject(rollouts.reach, (EVENTS[0], EVENTS[1]), (EVENTS[2], EVENTS[3]), dtype="float32"),
    "reach_avoid": Subject(rollouts.reach_avoid, tuple(EVENTS[:3]), tuple(EVENTS[1:]), dtype="float32"),
}
BASELINES = {
    "certify_known_performances": Subject(
        lambda known, thresholds, delta, **validate: baselines.certify_known_performances(
            known, thresholds, delta=delta, **validate
        ),
        (WORST[0], LEVELS[0], 0.1),
        (WORST[1], LEVELS[1], 0.2),
    ),
    "certify_plug_in": Subject(
        lambda x, thresholds, delta, where, **validate: baselines.certify_plug_in(
            x, thresholds, delta=delta, where=where, **validate
        ),
        (RETURNS[0], LEVELS[0] + 0.4, 0.1, MASKS[0]),
        (RETURNS[1], LEVELS[1] + 0.2, 0.2, MASKS[1]),
    ),
}
