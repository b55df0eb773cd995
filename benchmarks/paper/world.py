"""A picture of BridgeWorld with episodes in it."""

from typing import Any

import jax
import numpy as np

from benchmarks.paper.experiment import Experiment, Findings
from jaxcert.tasks import bridge_world

COLOURS = {"ground": "#efe8d8", "abyss": "#3b4252", "bridge": "#c79a63", "goal": "#8fbf7f"}
TASK, NUM_EPISODES = np.array([0.25, 0.1]), 3


def picture(world: bridge_world.World, paths: dict[str, np.ndarray]) -> Any:
    """The map with one line per episode; paths are cells [episodes, steps], -1 after the end."""
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

    kinds = np.select([world.goal(), world.bridge_of() > 0, world.abyss()], [3, 2, 1], 0)
    shape = (world.num_rows, world.num_columns)
    figure = Figure(figsize=(6.5, 5.2), layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(kinds.reshape(shape), cmap=ListedColormap(list(COLOURS.values())), vmin=0, vmax=3)
    axes.set_xticks(np.arange(-0.5, shape[1]), labels=[])
    axes.set_yticks(np.arange(-0.5, shape[0]), labels=[])
    axes.grid(color="white", linewidth=0.8)
    axes.tick_params(length=0)
    for colour, (label, episodes) in zip(("#bf3b3b", "#2f5fa8"), paths.items(), strict=True):
        for number, cells in enumerate(episodes):
            row, column = np.divmod(cells[cells >= 0], world.num_columns)
            shift = 0.12 * (number - (len(episodes) - 1) / 2)
            axes.plot(column + shift, row + shift, color=colour, linewidth=1.4, label=label if number == 0 else None)
            axes.plot(column[-1] + shift, row[-1] + shift, "o", color=colour, markersize=5)
    axes.text(world.start[1], world.start[0] + 0.36, "start", ha="center", fontsize=8)
    axes.text(sum(world.goal_columns) / 2, -0.3, "goal", ha="center", fontsize=8)
    axes.legend(loc="lower right", fontsize=8)
    return figure


def run(full: bool) -> Findings:
    """Episodes of both policies in the standard world."""
    policies = {"left policy": bridge_world.left_policy(), "right policy": bridge_world.right_policy()}
    paths = {
        name: np.asarray(bridge_world.trajectories(jax.random.key(1), TASK[None], NUM_EPISODES, policy))[0]
        for name, policy in policies.items()
    }
    line = f"{NUM_EPISODES} episodes of each policy at slip probabilities {TASK[0]} and {TASK[1]}"
    return Findings([line], figure=picture(bridge_world.STANDARD, paths))


EXPERIMENT = Experiment("world", "the map of BridgeWorld, with episodes", run)
