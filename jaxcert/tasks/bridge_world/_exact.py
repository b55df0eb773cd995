"""The Markov chain of a task, and its exact performance."""

import functools
from typing import Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert.numerics import clopper_pearson_upper
from jaxcert.tasks.bridge_world._rollouts import check_policy
from jaxcert.tasks.bridge_world._world import (
    DOWN,
    LARGE,
    LEFT,
    STANDARD,
    UP,
    Tasks,
    World,
    as_tasks,
    is_possible,
    slip_probability,
)


class Chain(NamedTuple):
    """The known structure of the Markov chain of a policy, as ``chain`` makes it.

    Attributes:
        successors: the one or two states that can follow each state, int32[S, 2]; -1 in place of the second one, and of
            both for a state that ends the episode.
        payoff: the return of an episode that ends in each state, there or at the horizon, [S], at least 0.
        initial: the state in which episodes begin.
        horizon: maximum number of steps of an episode.
    """

    successors: np.ndarray
    payoff: np.ndarray
    initial: int
    horizon: int

    def uncertain(self) -> np.ndarray:
        """A mask of the states with two successors that an episode can reach, bool[S]."""
        seen = np.arange(len(self.successors)) == self.initial
        for _ in range(self.horizon):
            following = self.successors[seen]
            seen[following[following >= 0]] = True
        return seen & (self.successors[:, 1] >= 0)


def chain(policy: Array, *, world: World = STANDARD) -> Chain:
    """The known structure of every task: the possible successors of each cell, and the payoff of ending there.

    Args:
        policy: the action in each cell, int [num_cells], not traced.
        world: the map.

    Returns:
        A ``Chain`` in which a cell has at most two successors: one by the action, and one by a slip.

    Raises:
        ValueError: if the policy does not have one action for each cell.

    Example:
        >>> from jaxcert.tasks.bridge_world import left_policy
        >>> chain(left_policy()).successors[52]
        array([42, 51], dtype=int32)
    """
    policy = check_policy(policy, world)
    neighbours, cell = world.neighbours(), np.arange(world.num_cells)
    moved = neighbours[cell, policy]
    slippery = (world.bridge_of() > 0) & ((policy == UP) | (policy == DOWN))
    slipped = np.where(slippery, neighbours[:, LEFT], -1)
    successors = np.stack([moved, slipped], axis=-1).astype(np.int32)
    successors[world.goal() | world.abyss()] = -1
    return Chain(successors, world.goal().astype(float), world.start_cell, world.horizon)


Side = Literal["left", "right"]


def performance(tasks: Tasks, policy: Array, *, world: World = STANDARD) -> jax.Array:
    r"""Success probability J of any policy in each task, by dynamic programming.

    .. math:: V_0 = 1_{\text{goal}}, \qquad V_{t+1}(s) = \sum_{s'} P(s' \mid s, \pi(s)) V_t(s') \text{ off the ends},
              \qquad J = V_{\text{horizon}}(\text{start})

    Args:
        tasks: slip probabilities of the left and the right bridge, [..., 2].
        policy: the action in each cell, int [num_cells], not traced.
        world: the map.

    Returns:
        Performance J, float [...], exact up to rounding; NaN where a slip probability is NaN or outside [0, 1].

    Raises:
        ValueError: if a task is not two numbers, or the policy does not have one action for each cell.

    Example:
        >>> from jaxcert.tasks.bridge_world import left_policy
        >>> print(f"{performance([0.25, 0.1], left_policy()):.4f}")
        0.6328
    """
    graph, tasks = chain(policy, world=world), as_tasks(tasks)
    probabilities = transition_probabilities(graph, tasks, world)
    value = _performance(probabilities, graph.successors, graph.payoff, world)
    return jnp.where(is_possible(tasks), value, jnp.nan)


def transition_probabilities(graph: Chain, tasks: jax.Array, world: World) -> jax.Array:
    """The true probabilities of the successors of a ``chain``, float [..., num_cells, 2]."""
    shape = (*tasks.shape[:-1], world.num_cells)
    slip = slip_probability(tasks[..., None, :], jnp.broadcast_to(world.bridge_of(), shape))
    slip = jnp.where(graph.successors[:, 1] >= 0, slip, 0)
    return jnp.stack([1 - slip, slip], axis=-1)


@functools.partial(jax.jit, static_argnums=3)
def _performance(probabilities: jax.Array, successors: jax.Array, payoff: jax.Array, world: World) -> jax.Array:
    start = jnp.broadcast_to(jnp.asarray(payoff, probabilities.dtype), probabilities.shape[:-1])
    goes_on = jnp.broadcast_to(successors[:, 0] >= 0, start.shape)

    def backup(_: jax.Array, value: jax.Array) -> jax.Array:
        expected = jnp.sum(probabilities * value[..., successors], axis=-1)
        return jnp.where(goes_on, expected, start)

    return jax.lax.fori_loop(0, world.horizon, backup, start)[..., world.start_cell]


def safety(threshold: Numeric, side: Side, *, world: World = STANDARD) -> jax.Array:
    r"""Exact safety S(B) = P[J >= B] of the left or the right policy.

    .. math:: S(B) = P[p \le p(B)], \qquad P[\mathrm{Bin}(\ell + w, p(B)) \le w] = B,

    with the slip probability p of that bridge uniform on its range. A crossing needs :math:`\ell` moves up and survives
    at most :math:`w` slips from the middle of a bridge that is :math:`2 w + 1` wide and :math:`\ell` long, so among
    :math:`\ell + w` attempts.

    Args:
        threshold: B, [...].
        side: "left" or "right", the policy.
        world: the map, ``STANDARD`` or ``LARGE``.

    Returns:
        Safety S(B), float [...], exact up to rounding; NaN where B is NaN.

    Raises:
        ValueError: for another side or world.

    Example:
        >>> print(f"{safety(0.6, 'left'):.4f} {safety(0.8, 'right'):.4f}")
        0.6557 0.8430
    """
    if side not in get_args(Side):
        raise ValueError(f"side is {side!r}; expected 'left' or 'right'")
    if world not in (STANDARD, LARGE):
        raise ValueError(f"world is {world!r}; expected STANDARD or LARGE")
    low, high = world.slip_ranges[side == "right"]
    threshold = jnp.asarray(threshold, jnp.result_type(float))
    inside = (threshold > 0) & (threshold < 1)
    spare = world.bridge_width // 2
    largest = clopper_pearson_upper(spare, world.bridge_length + spare, jnp.where(inside, threshold, 0.5))
    share = jnp.clip((largest - low) / (high - low), 0, 1)
    # Performance 1 needs a slip probability of 0, which has probability zero.
    share = jnp.where(inside, share, jnp.where(threshold <= 0, 1.0, 0.0))
    return jnp.where(jnp.isnan(threshold), jnp.nan, share)
