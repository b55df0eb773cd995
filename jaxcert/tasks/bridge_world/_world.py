"""The bridge: its places and parameters, and one step on it."""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric

RIGHT, DOWN, LEFT, UP = range(4)
_MOVES = np.array([(0, 1), (1, 0), (0, -1), (-1, 0)])


@dataclasses.dataclass(frozen=True)
class World:
    r"""Sizes of a world, which have to fit together: ``STANDARD`` is the paper's, ``LARGE`` ours.

    Cells are numbered row by row, row 0 at the top. Beside the bridges lies the abyss, which ends an episode
    without success. On a bridge a vertical move is replaced, with the slip probability of that bridge, by one
    step to the left. Moves end at the border. The goal lies in row 0.

    Attributes:
        num_rows, num_columns: size of the map.
        bridge_rows: first and last row of both bridges.
        bridge_width: cells across a bridge, an odd number.
        bridge_centres: middle columns of the left and the right bridge, which have abyss to their left.
        start: row and column.
        goal_columns: first and last column of the goal.
        horizon: maximum number of steps of an episode.
        slip_ranges: the ends of the uniform distributions of the left and the right slip probability.
    """

    num_rows: int = 8
    num_columns: int = 10
    bridge_rows: tuple[int, int] = (2, 5)
    bridge_width: int = 3
    bridge_centres: tuple[int, int] = (2, 7)
    start: tuple[int, int] = (7, 1)
    goal_columns: tuple[int, int] = (1, 3)
    horizon: int = 50
    slip_ranges: tuple[tuple[float, float], tuple[float, float]] = ((0.2, 0.3), (0.0, 0.2))

    @property
    def num_cells(self) -> int:
        """Number of states."""
        return self.num_rows * self.num_columns

    @property
    def bridge_length(self) -> int:
        """Rows of a bridge."""
        return self.bridge_rows[1] - self.bridge_rows[0] + 1

    @property
    def start_cell(self) -> int:
        """The cell in which episodes begin."""
        return self.start[0] * self.num_columns + self.start[1]

    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Row and column of each cell, int [num_cells] each."""
        return np.divmod(np.arange(self.num_cells), self.num_columns)

    def bridge_of(self) -> np.ndarray:
        """For each cell: 0 off the bridges, 1 on the left one, 2 on the right one."""
        row, column = self.cells()
        over = (row >= self.bridge_rows[0]) & (row <= self.bridge_rows[1])
        sides = [over & (abs(column - centre) <= self.bridge_width // 2) for centre in self.bridge_centres]
        return np.select(sides, [1, 2], 0)

    def goal(self) -> np.ndarray:
        """A mask of the cells that end an episode with success."""
        row, column = self.cells()
        return (row == 0) & (column >= self.goal_columns[0]) & (column <= self.goal_columns[1])

    def abyss(self) -> np.ndarray:
        """A mask of the cells that end an episode without success."""
        row, _ = self.cells()
        over = (row >= self.bridge_rows[0]) & (row <= self.bridge_rows[1])
        return over & (self.bridge_of() == 0)

    def neighbours(self) -> np.ndarray:
        """The cell that each action leads to, int [num_cells, 4]; moves end at the border."""
        places = np.stack(self.cells(), axis=-1)[:, None] + _MOVES
        row, column = np.clip(places, 0, (self.num_rows - 1, self.num_columns - 1)).transpose(2, 0, 1)
        return row * self.num_columns + column


STANDARD = World()

LARGE = World(
    num_rows=40,
    num_columns=44,
    bridge_rows=(2, 25),
    bridge_width=17,
    bridge_centres=(11, 32),
    start=(39, 5),
    goal_columns=(3, 19),
    horizon=200,
)


# Slip probabilities of the left and the right bridge.
Tasks = Array | Sequence[float] | Sequence[Sequence[float]]


def transition(
    chance: jax.Array, cell: jax.Array, action: Numeric, slip: jax.Array, world: World
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The next cell, the reward, and whether the episode is over, each [...]; ``chance`` is uniform on [0, 1).

    An action or a slip probability without meaning ends the episode where it is, with a reward of NaN.
    """
    bridge, neighbours = jnp.asarray(world.bridge_of()), jnp.asarray(world.neighbours(), jnp.int32)
    action = jnp.asarray(action)
    possible = is_possible(slip) & (action >= 0) & (action < 4)
    vertical = (action == UP) | (action == DOWN)
    slips = vertical & (chance < slip_probability(slip, bridge[cell]))
    after = jnp.where(possible, neighbours[cell, jnp.where(slips, LEFT, action)], cell)
    success, fallen = jnp.asarray(world.goal())[after], jnp.asarray(world.abyss())[after]
    return after, jnp.where(possible, success.astype(slip.dtype), jnp.nan), success | fallen | ~possible


def as_tasks(tasks: Tasks) -> jax.Array:
    """Slip probabilities as float[..., 2], or ValueError."""
    slip = jnp.asarray(tasks, jnp.result_type(float))
    if slip.ndim == 0 or slip.shape[-1] != 2:
        raise ValueError(f"slip probabilities have shape {slip.shape}; expected [..., 2], left and right bridge")
    return slip


def is_possible(slip: jax.Array) -> jax.Array:
    """A mask of the tasks that consist of two probabilities: from [..., 2] to bool[...]."""
    return jnp.all((slip >= 0) & (slip <= 1), axis=-1)


def slip_probability(slip: jax.Array, bridge: jax.Array) -> jax.Array:
    """The slip probability of an episode's bridge, 0 off the bridges: from [..., 2] and int[...] to [...]."""
    left, right = slip[..., 0], slip[..., 1]
    return jnp.where(bridge == 1, left, jnp.where(bridge == 2, right, jnp.zeros_like(left)))
