"""Bounds, risks, tails and baselines, for the requirements on every public function on arrays."""

import functools

import numpy as np
from subject import HITS, LEVELS, NAMES, RETURNS, WORST, Subject, of

from jaxcert import (
    anytime_epsilon,
    baselines,
    binomial_epsilon,
    bounds,
    numerics,
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


class Density:
    """A density that increases with the task."""

    def __init__(self, rate) -> None:
        self.rate = rate

    def log_prob(self, x):
        return self.rate * x


TAILS["task_weights"] = Subject(
    lambda x, q, p: task_weights(Density(q), Density(p), x), (RETURNS[0], 1.0, 2.0), (RETURNS[1], 2.0, 1.5)
)
BASELINES = {
    "certify_known_performances": of(
        baselines.certify_known_performances, "performances thresholds delta", performances=WORST
    ),
    "certify_plug_in": of(
        baselines.certify_plug_in, "returns thresholds delta where", thresholds=(LEVELS[0] + 0.4, LEVELS[1] + 0.2)
    ),
}
