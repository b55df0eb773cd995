"""Bounds, risks, tails, metrics and baselines, for the requirements on every public function on arrays."""

import functools

import numpy as np
from subject import EVENTS, HITS, LEVELS, NAMES, RETURNS, WORST, Subject, of

from jaxcert import (
    anytime_epsilon,
    baselines,
    binomial_epsilon,
    bounds,
    consecutive_successes_threshold,
    numerics,
    returns,
    scenario_epsilon,
    shifted_epsilon,
    task_weights,
)

BOUNDS = {
    name: of(getattr(bounds, name), "x beta low high where", beta=(0.3, 0.2))
    for name in NAMES
    if name != "clopper_pearson"
}
BOUNDS["clopper_pearson"] = of(bounds.clopper_pearson, "x beta where", x=HITS, beta=(0.3, 0.2))
EPSILONS = {
    "binomial_epsilon": Subject(binomial_epsilon, (np.arange(5), 20, 0.1, 0.01), (np.arange(3, 8), 30, 0.0, 0.2)),
    "scenario_epsilon": Subject(scenario_epsilon, (np.arange(5), 20, 1e-3, 0.01), (np.arange(3, 8), 30, 1e-2, 0.2)),
}
SHIFTS = {
    f"shifted_epsilon-{name}": Subject(
        functools.partial(shifted_epsilon, divergence=name),
        (np.array([0.01, 0.1, 0.5]), least + 0.1),
        (np.array([0.02, 0.2, 0.6]), least + 0.2),
    )
    for name, least in {"chi2": 0, "kl": 0, "ratio": 1, "total_variation": 0}.items()
}


def _anytime_epsilon(k, n, beta, delta, **validate):
    return anytime_epsilon(k, n, beta=beta, delta=delta, **validate)


EPSILONS["anytime_epsilon"] = Subject(_anytime_epsilon, (np.arange(5), 20, 0.1, 0.01), (np.arange(3, 8), 30, 0.0, 0.2))
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
    "undiscounted_return": of(returns.undiscounted_return, "r_t done_t"),
    "discounted_return": of(returns.discounted_return, "r_t done_t discount"),
    "truncated_return": of(returns.truncated_return, "r_t done_t discount min_reward"),
    "reach": Subject(returns.reach, (EVENTS[0], EVENTS[1]), (EVENTS[2], EVENTS[3]), dtype="float32"),
    "reach_avoid": Subject(returns.reach_avoid, tuple(EVENTS[:3]), tuple(EVENTS[1:]), dtype="float32"),
}
BASELINES = {
    "certify_known_performances": of(
        baselines.certify_known_performances, "performances thresholds delta", performances=WORST
    ),
    "certify_plug_in": of(
        baselines.certify_plug_in, "returns thresholds delta where", thresholds=(LEVELS[0] + 0.4, LEVELS[1] + 0.2)
    ),
}
