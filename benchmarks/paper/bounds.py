"""All bounds and methods on the same returns: the safety at one threshold, and the return on 90 % of new tasks."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

import jaxcert
from benchmarks.paper.curves import DEFAULT_BETA, DELTA, PAPER_BETA
from benchmarks.paper.experiment import Experiment, Findings, markdown
from jaxcert import certify, certify_safety_level, certify_sequential
from jaxcert.bounds._registry import BOUNDS
from jaxcert.rollouts import collect
from jaxcert.tasks import bridge_world

WANTED = 0.9
METHODS = {"scenario": PAPER_BETA, "binomial": DEFAULT_BETA}


class World(NamedTuple):
    """Returns, their support, and a threshold fixed beforehand."""

    returns: np.ndarray
    support: tuple[float, float]
    threshold: float

    @property
    def binary(self) -> bool:
        """Whether every return is 0 or 1."""
        return self.support == (0.0, 1.0)


def worlds() -> dict[str, World]:
    """The samples, and BridgeWorld's right policy."""
    key_tasks, key = jax.random.split(jax.random.key(0))
    tasks = bridge_world.ENV.sample_tasks(key_tasks, 200)
    policy = bridge_world.table_policy(bridge_world.right_policy())
    right = collect(bridge_world.ENV, policy, tasks, key, num_rollouts=1000)
    samples = {"cheetah": 500.0, "walker": 600.0}
    found = {name: World(jaxcert.sample_returns(name), (0.0, 1000.0), b) for name, b in samples.items()}
    return {**found, "BridgeWorld, right": World(np.asarray(right), (0.0, 1.0), 0.7)}


def compared(world: World) -> Iterator[tuple[str, str, str, float, float]]:
    """Bound, method, beta, the safety at the threshold, and the return on 90 % of new tasks."""
    for method, beta in METHODS.items():
        for bound in BOUNDS:
            if bound == "clopper_pearson" and not world.binary:
                continue
            settings: dict[str, Any] = {"support": world.support, "delta": DELTA, "beta": beta}
            settings |= {"bound": bound, "method": method}
            safety = certify(world.returns, world.threshold, **settings).safety[0]
            level = certify_safety_level(world.returns, WANTED, **settings).thresholds[0]
            yield bound, method, f"{beta:g}", float(safety), float(level)


def run(full: bool) -> Findings:
    """At the size of the samples in any case."""
    lines, rows = [], []
    for name, world in worlds().items():
        found = list(compared(world))
        rows += [(name, world.threshold, *row) for row in found]
        settings: dict[str, Any] = {"support": world.support, "delta": DELTA, "binary": world.binary}
        few = certify_sequential(world.returns, world.threshold, **settings)
        lines.append(f"{name}, {' × '.join(map(str, world.returns.shape))}, delta = {DELTA:g}")
        lines += markdown(("bound", "method", "beta", f"safety at {world.threshold:g}", "return on 90 %"), found)
        used = float(np.mean(few.num_rollouts_used))
        lines.append(f"as many rollouts as each task needs: {float(few.safety[0]):.3f} with {used:.1f} per task")
    columns = ("returns", "threshold", "bound", "method", "beta", "safety", "return_on_90_percent")
    return Findings(lines, columns, rows)


EXPERIMENT = Experiment("bounds", "the comparison of bounds and methods", run)
