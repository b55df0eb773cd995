"""Environments of Gymnasium that run side by side, each as long as its episode lasts."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxcert.rollouts._host_policy import Actor, as_action


class Step(NamedTuple):
    """Result of a step of one environment: the observed state after it.

    Attributes:
        obs: the observation after the step.
        reward: the reward of the step.
        terminated: whether the episode has come to its end.
        truncated: whether it was cut, by a time limit for example.
        info: the dict that the environment adds.
    """

    obs: Any
    reward: float
    terminated: bool
    truncated: bool
    info: Any


class Envs:
    """One environment for each task."""

    def __init__(self, make_env: Callable[[Any], Any], tasks: Sequence[Any]) -> None:
        self.envs, self.obs = [], []
        try:
            for task in tasks:
                env = make_env(task)
                if not hasattr(env, "step") or hasattr(env, "num_envs"):
                    raise ValueError(f"make_env gave a {type(env).__name__} for a task; expected a gymnasium.Env")
                self.envs.append(env)
        except BaseException:
            self.close()
            raise

    def reset(self, seeds: Sequence[int]) -> None:
        self.obs = [_pair(env.reset(seed=seed))[0] for env, seed in zip(self.envs, seeds, strict=True)]

    def step(self, actor: Actor, t: int, alive: np.ndarray) -> dict[int, Step]:
        """A step of each environment whose episode goes on, by its place."""
        places = np.flatnonzero(alive).tolist()
        if actor.takes_batch:
            actions = _rows(actor.act(_stacked(self.obs), t), len(self.envs))
        else:
            actions = {i: actor.act(self.obs[i], t) for i in places}
        taken = {i: _step(self.envs[i].step(as_action(self.envs[i].action_space, actions[i]))) for i in places}
        for i, step in taken.items():
            self.obs[i] = step.obs
        return taken

    def close(self) -> None:
        for env in self.envs:
            env.close()


def _step(found: Any) -> Step:
    if not isinstance(found, tuple) or len(found) != 5:
        raise ValueError(
            f"step gave {_length(found)}; expected the five of Gymnasium: observation, reward, terminated,"
            " truncated, info (the package shimmy converts an environment of gym)"
        )
    return Step(found[0], _reward(found[1]), bool(found[2]), bool(found[3]), found[4])


def _pair(found: Any) -> tuple[Any, Any]:
    if not isinstance(found, tuple) or len(found) != 2:
        raise ValueError(f"reset gave {_length(found)}; expected the two of Gymnasium: observation, info")
    return found


def _length(found: Any) -> str:
    return f"{len(found)} values" if isinstance(found, tuple) else f"a {type(found).__name__}"


def _reward(reward: Any) -> float:
    number = np.asarray(reward)
    if number.size != 1 or number.dtype.kind not in "biuf":
        raise ValueError(f"an environment gave the reward {reward!r}; expected one number")
    return float(number.reshape(()))


def _stacked(obs: list[Any]) -> Any:
    try:
        return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *obs)
    except ValueError as error:
        raise ValueError(
            "the tasks have observations of several shapes, which this policy cannot take together; give num_envs=1,"
            " or a policy that is a function of the observation alone"
        ) from error


def _rows(actions: Any, num_envs: int) -> list[Any]:
    """The action of each environment, from a batch of them."""
    leaves, structure = jax.tree.flatten(actions)
    for leaf in leaves:
        if np.shape(leaf)[:1] != (num_envs,):
            raise ValueError(f"the policy gives actions of shape {np.shape(leaf)} for {num_envs} observations")
    return [structure.unflatten([leaf[i] for leaf in leaves]) for i in range(num_envs)]
