"""Whole experiments by a design, drawn from a pilot and certified: the judge of what a plan promises."""

from typing import Any

import numpy as np

from jaxcert import certify, certify_safety_level
from jaxcert.planning import Design
from jaxcert.planning._pilot import PilotReturns, support_of
from jaxcert.sequential import certify_sequential


def simulate(pilot: Any, design: Design, *, delta: float, num_repeats: int = 100, seed: int = 0, **wish: Any) -> Any:
    """Certificates of so many data sets at the threshold, or without one at the safety; plans draw other numbers."""
    support, threshold = wish.get("support"), wish.get("threshold")
    source, rng = PilotReturns(pilot, support_of(pilot, support)), np.random.default_rng([seed, 1])
    n, m = design.num_tasks, design.num_rollouts
    drawn = source.rollouts_of(rng, rng.integers(source.num_tasks, size=(num_repeats, n, 1)), m)
    rule = {"support": support_of(pilot, support), "delta": delta, "beta": design.beta, **design.kind.arguments}
    if threshold is None:
        return certify_safety_level(drawn, wish["safety"], **rule)
    return (certify if design.kind.stopped is None else certify_sequential)(drawn, threshold, **rule)
