"""Environments of Gymnasium that run side by side: one by one, or as a vector environment."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxcert.rollouts._host_policy import Actor, as_action


class Stepped(NamedTuple):
    """Results of a step: observations and infos as the environments return them, the others [n]."""

    obs: Any
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    infos: Any


class Separate:
    """Environments that are stepped one after the other, each as long as its episode lasts."""

    def __init__(self, make_env: Callable[[Any], Any], tasks: Sequence[Any]) -> None:
        self.envs = []
        try:
            for task in tasks:
                if not _is_one(env := make_env(task)):
                    raise ValueError(f"make_env gave a {type(env).__name__} for a task; expected a gymnasium.Env")
                self.envs.append(env)
        except BaseException:
            self.close()
            raise
        self.infos: list[Any] = [{}] * len(tasks)

    def reset(self, seeds: Sequence[int]) -> None:
        self.obs = [_pair(env.reset(seed=seed))[0] for env, seed in zip(self.envs, seeds, strict=True)]

    def act(self, actor: Actor, t: int, alive: np.ndarray) -> list[Any]:
        """An action for each that is alive."""
        if not actor.takes_batch:
            return [actor.act(obs, t) if lives else None for obs, lives in zip(self.obs, alive, strict=True)]
        return _rows(actor.act(_stacked(self.obs), t), len(self.envs))

    def step(self, actions: list[Any], alive: np.ndarray) -> Stepped:
        values = np.zeros((3, len(self.envs)))
        for i in np.flatnonzero(alive):
            found = self.envs[i].step(as_action(self.envs[i].action_space, actions[i]))
            if not isinstance(found, tuple) or len(found) != 5:
                raise ValueError(
                    f"step gave {_length(found)}; expected the five of Gymnasium: observation, reward, terminated,"
                    " truncated, info (the package shimmy converts an environment of gym)"
                )
            self.obs[i], values[0, i], values[1, i], values[2, i] = found[0], _reward(found[1]), found[2], found[3]
            self.infos[i] = found[4]
        return Stepped(self.obs, values[0], values[1].astype(bool), values[2].astype(bool), self.infos)

    def state(self, stepped: Stepped, i: int) -> tuple[Any, Any]:
        """The observation and the info of one environment."""
        return stepped.obs[i], stepped.infos[i]

    def close(self) -> None:
        for env in self.envs:
            env.close()


class Vector:
    """A vector environment, as its user has made it."""

    def __init__(self, envs: Any, expected: int) -> None:
        self.envs = envs
        if not hasattr(envs, "single_action_space"):
            raise ValueError(
                f"{type(envs).__name__} is no gymnasium.vector.VectorEnv; give a function from one task to one"
                " environment"
            )
        if envs.num_envs != expected:
            raise ValueError(f"make_env gave {envs.num_envs} environments for {expected} tasks")
        self.mode = getattr((envs.metadata or {}).get("autoreset_mode"), "name", None)
        if self.mode == "DISABLED":
            raise ValueError("the vector environment has AutoresetMode.DISABLED; expected NEXT_STEP or SAME_STEP")

    def reset(self, seeds: Sequence[int]) -> None:
        try:
            self.obs = self.envs.reset(seed=list(seeds))[0]
        except Exception as error:  # of any type, as the environment chose
            raise ValueError(
                f"the vector environment did not reset with a seed for each environment: {error}"
            ) from error

    def act(self, actor: Actor, t: int, alive: np.ndarray) -> Any:
        """A batch of actions."""
        return actor.act(self.obs, t)

    def step(self, actions: Any, alive: np.ndarray) -> Stepped:
        found = Stepped(*self.envs.step(as_action(self.envs.single_action_space, actions, alive)))
        self.obs = found.obs
        return found._replace(terminated=np.asarray(found.terminated), truncated=np.asarray(found.truncated))

    def state(self, stepped: Stepped, i: int) -> tuple[Any, Any]:
        """The observation and the info of one environment."""
        if self.mode == "SAME_STEP":
            raise ValueError(
                "with AutoresetMode.SAME_STEP the last state of an episode is not seen, which target and avoid need;"
                " give NEXT_STEP, or a function from one task to one environment"
            )
        infos = {key: values for key, values in stepped.infos.items() if not key.startswith("_")}
        held = {key: value for key, value in infos.items() if stepped.infos.get(f"_{key}", np.ones(i + 1))[i]}
        return jax.tree.map(lambda leaf: leaf[i], stepped.obs), {key: value[i] for key, value in held.items()}

    def close(self) -> None:
        self.envs.close()


Envs = Separate | Vector


def opener(make_env: Callable[[Any], Any], task: Any) -> Callable[[Sequence[Any]], Envs]:
    """From some tasks to their environments.

    Whether ``make_env`` takes a task or a list of them shows in what it gives for a task: one environment or not.
    """
    try:
        made = make_env(task)
    except Exception as error:  # of any type: a function of a list does not expect what a task is
        failed = error
    else:
        if hasattr(made, "close"):
            made.close()
        if _is_one(made):
            return lambda tasks: Separate(make_env, tasks)
        failed = ValueError(f"make_env gave a {type(made).__name__} for a task; {_EXPECTED}")

    def of_list(tasks: Sequence[Any]) -> Envs:
        try:
            made = make_env(tasks)
        except Exception as error:
            failed.add_note(f"make_env was called with one task; with a list of tasks, it failed by {error!r}")
            raise failed from None
        if not hasattr(made, "num_envs"):
            raise ValueError(f"make_env gave a {type(made).__name__}; {_EXPECTED}") from failed
        try:
            return Vector(made, len(tasks))
        except ValueError:
            made.close()
            raise

    return of_list


_EXPECTED = "expected a gymnasium.Env for a task, or a gymnasium.vector.VectorEnv for a list of tasks"


def _is_one(env: Any) -> bool:
    return hasattr(env, "step") and not hasattr(env, "num_envs")


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
