"""The first episode of each of some environments, step by step."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxcert.rollouts._host_envs import Envs, Stepped
from jaxcert.rollouts._host_metric import Event, Metric, Record, Step
from jaxcert.rollouts._host_policy import Actor

# Without a limit of its own or of its environment, an episode ends here with an error.
_MANY_STEPS = 100_000


def episode_returns(
    envs: Envs, actor: Actor, metric: Metric, seeds: Sequence[int], episode_length: int | None
) -> np.ndarray:
    """The returns of the first episode of every environment.

    Raises:
        ValueError: for a reward that is not finite, or an episode that does not end.
    """
    envs.reset(seeds)
    alive, terminated = np.ones(len(seeds), bool), np.zeros(len(seeds), bool)
    lengths, steps = np.zeros(len(seeds), int), []
    while alive.any() and len(steps) != episode_length:
        t = len(steps)
        if t == _MANY_STEPS and episode_length is None:
            raise ValueError(f"an episode has not ended after {t} steps; give episode_length")
        stepped = envs.step(envs.act(actor, t, alive), alive)
        steps.append(_recorded(envs, metric, stepped, alive, t))
        lengths += alive
        terminated |= alive & stepped.terminated
        alive &= ~(stepped.terminated | stepped.truncated)
    rewards, target, avoid = (np.stack(part, axis=1) for part in zip(*steps, strict=True))
    return metric.returns(Record(rewards, target, avoid, lengths, terminated))


def _recorded(envs: Envs, metric: Metric, stepped: Stepped, alive: np.ndarray, t: int) -> tuple[np.ndarray, ...]:
    rewards = np.where(alive, stepped.rewards, 0.0)
    if not np.all(np.isfinite(rewards)):
        raise ValueError(f"an environment gave a reward that is not finite, in step {t + 1}")
    events = np.zeros((2, len(alive)), bool)
    for i in np.flatnonzero(alive).tolist() if metric.target is not None else ():
        obs, info = envs.state(stepped, i)
        ends = bool(stepped.terminated[i]), bool(stepped.truncated[i])
        step = Step(obs, float(rewards[i]), *ends, info)
        events[:, i] = _happened("target", metric.target, step), _happened("avoid", metric.avoid, step)
    return rewards, *events


def _happened(name: str, event: Event | None, step: Step) -> bool:
    found: Any = False if event is None else event(step)
    if np.size(found) != 1 or np.asarray(found).dtype != bool:
        raise ValueError(f"{name} gives {found!r} for a step; expected a bool")
    return bool(np.reshape(found, ()))
