"""The experiments by name, in the order in which they run."""

from benchmarks.paper import (
    bounds,
    bridge_world,
    distributions,
    levels,
    robots,
    simple_grid,
    timing,
    world,
    zones,
)

_ALL = (
    simple_grid.EXPERIMENT,
    world.EXPERIMENT,
    bridge_world.EXPERIMENT,
    robots.EXPERIMENT,
    robots.ROLLOUTS,
    zones.EXPERIMENT,
    levels.EXPERIMENT,
    bounds.EXPERIMENT,
    timing.EXPERIMENT,
    distributions.EXPERIMENT,
)
EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}
