"""BridgeWorld: rollout bounds and PAC-IMDP beside the exact safety, both policies, both worlds (figures 4a and 5).

n = 200 tasks, m = 1000 rollouts, delta = 0.01, seeds fixed beforehand; mean and one standard deviation over seeds.
"""

from collections.abc import Iterator
from typing import Any, Literal

import jax
import numpy as np

from benchmarks.paper.curves import (
    DELTA,
    PAPER_BETA,
    SEEDS,
    THRESHOLDS,
    Curve,
    adaptive,
    certificates,
    drawn,
    findings,
    panel,
)
from benchmarks.paper.experiment import Experiment, Findings
from jaxcert import certify_lower_bounds
from jaxcert.baselines import interval_mdp
from jaxcert.tasks import bridge_world

NUM_TASKS, NUM_ROLLOUTS, MAX_VISITS = 200, 1000, 100
Side = Literal["left", "right"]
WORLDS = {"standard": bridge_world.STANDARD, "large": bridge_world.LARGE}
POLICIES = {"left": bridge_world.left_policy, "right": bridge_world.right_policy}
ADAPTIVE: dict[Side, tuple[float, ...]] = {"left": (0.5, 0.6), "right": (0.7, 0.8)}
SIDES: tuple[Side, ...] = ("left", "right")


# Forms of PAC-IMDP by how many visits of a state count, and the certificates that are drawn for them.
VARIANTS: dict[str, tuple[int | None, tuple[str, ...]]] = {
    "all visits": (None, ("scenario", "binomial")),
    f"first {MAX_VISITS} visits": (MAX_VISITS, ("scenario",)),
}


def curves(size: str, side: Side, seeds: range = SEEDS) -> list[Curve]:
    """All methods in one world for one policy."""
    world, policy = WORLDS[size], POLICIES[side](world=WORLDS[size])
    exact = np.asarray(bridge_world.safety(THRESHOLDS, side, world=world))
    found = [_draw(seed, policy, world) for seed in seeds]
    returns = np.stack([returns for returns, _ in found])
    (rollouts,) = certificates(returns, ((NUM_TASKS, NUM_ROLLOUTS),))
    intervals = _interval_certificates([bounds for _, bounds in found])
    return panel(f"{size} world, {side} policy", returns, rollouts | intervals, exact)


def _draw(seed: int, policy: np.ndarray, world: bridge_world.World) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Returns, and the lower bounds of PAC-IMDP from the same episodes."""
    key_tasks, key_rollouts = jax.random.split(jax.random.key(seed))
    tasks = bridge_world.env(world=world).sample_tasks(key_tasks, NUM_TASKS)
    episodes = bridge_world.trajectories(key_rollouts, tasks, NUM_ROLLOUTS, policy, world=world)
    graph = bridge_world.chain(policy, world=world)
    bounds = {
        name: interval_mdp.lower_bound(episodes, PAPER_BETA, graph, max_visits=visits)
        for name, (visits, _) in VARIANTS.items()
    }
    follows = bridge_world.table_policy(policy, world=world)
    returns = drawn(bridge_world.env(world=world), follows, seed, NUM_TASKS, NUM_ROLLOUTS)
    return returns, {name: np.asarray(bound) for name, bound in bounds.items()}


def _interval_certificates(found: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    settings: dict[str, Any] = {"beta": PAPER_BETA, "delta": DELTA}

    def safety(name: str, method: str) -> np.ndarray:
        each = (certify_lower_bounds(bounds[name], THRESHOLDS, method=method, **settings) for bounds in found)
        return np.stack([np.asarray(one.safety) for one in each])

    pairs = [(name, method) for name, (_, methods) in VARIANTS.items() for method in methods]
    return {f"PAC-IMDP, {name}, {method}": safety(name, method) for name, method in pairs}


def run(full: bool) -> Findings:
    """With the paper's numbers of tasks and rollouts in any case, but fewer seeds."""
    seeds = SEEDS if full else SEEDS[:3]
    lines = [f"{side} policy, {line}" for side in SIDES for line in _adaptive(side, seeds)]
    return findings((curves(size, side, seeds) for size in WORLDS for side in SIDES), lines)


def _adaptive(side: Side, seeds: range) -> Iterator[str]:
    policy = bridge_world.table_policy(POLICIES[side]())
    return adaptive(bridge_world.ENV, policy, ADAPTIVE[side], seeds, (NUM_TASKS, NUM_ROLLOUTS))


EXPERIMENT = Experiment("bridge_world", "figures 4a and 5, BridgeWorld and PAC-IMDP beside the exact safety", run)
