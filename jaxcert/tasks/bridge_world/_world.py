"""BridgeWorld: its map, and the distribution of environments on it."""

import dataclasses
import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.tasks._state import State

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


@dataclasses.dataclass(frozen=True)
class BridgeWorld:
    """One task: the slip probabilities of the left and the right bridge, float[2], on a map."""

    slip: Array
    world: World = STANDARD

    def reset(self, rng: jax.Array) -> State:
        """In the start cell."""
        nothing = jnp.zeros((), jnp.result_type(float))
        return State(jnp.int32(self.world.start_cell), nothing, jnp.zeros((), bool), rng)

    def step(self, state: State, action: Numeric) -> State:
        """A step to the right, down, left or up, for an action from 0 to 3.

        An action or a slip probability without meaning ends the episode where it is, with a reward of NaN.
        """
        world, cell, slip, action = self.world, state.obs, as_tasks(self.slip), jnp.asarray(action)
        key, now = jax.random.split(state.key)
        possible = is_possible(slip) & (action >= 0) & (action < 4)
        chance = slip_probability(slip, jnp.asarray(world.bridge_of())[cell])
        slips = ((action == UP) | (action == DOWN)) & (jax.random.uniform(now, (), slip.dtype) < chance)
        neighbours = jnp.asarray(world.neighbours(), jnp.int32)
        after = jnp.where(possible, neighbours[cell, jnp.where(slips, LEFT, action)], cell)
        success, fallen = jnp.asarray(world.goal())[after], jnp.asarray(world.abyss())[after]
        reward = jnp.where(possible, success.astype(slip.dtype), jnp.nan)
        return State(after, reward, success | fallen | ~possible, key)


def env(*, world: World = STANDARD) -> MultiTaskEnv:
    """BridgeWorld as a distribution of environments; ``ENV`` has the paper's world.

    A task is float[2], the slip probabilities of the left and the right bridge, uniform and independent. An observation
    is the number of the cell, an action 0 (right), 1 (down), 2 (left) or 3 (up), the return 1 for an episode that
    reaches the goal and 0 for any other.

    Args:
        world: the map, ``STANDARD`` or ``LARGE``.

    Returns:
        A ``MultiTaskEnv``, the same object for the same world.

    Example:
        >>> import jax
        >>> from jaxcert.rollouts import collect
        >>> from jaxcert.tasks.bridge_world import right_policy, table_policy
        >>> tasks = jax.numpy.array([[0.3, 0.0], [0.3, 1.0]])
        >>> print(collect(env(), table_policy(right_policy()), tasks, jax.random.key(0), num_rollouts=3))
        [[1. 1. 1.]
         [0. 0. 0.]]
    """
    return _env(world)


@functools.cache
def _env(world: World) -> MultiTaskEnv:
    def sample_task(key: jax.Array) -> jax.Array:
        low, high = jnp.asarray(world.slip_ranges, jnp.result_type(float)).T
        return low + (high - low) * jax.random.uniform(key, (2,))

    environment = functools.partial(BridgeWorld, world=world)
    return MultiTaskEnv(environment, sample_task, world.horizon, (0.0, 1.0), binary=True)


ENV = env()
