"""What an episode on the host is worth."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxcert._validation import check_number
from jaxcert.numerics._compensated import add, lower_end_host, nothing
from jaxcert.returns import discounted_return, reach_avoid, truncated_return


class Step(NamedTuple):
    """What a step of one environment gave: the state after it, as far as it is observed.

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


Event = Callable[[Step], Any]


class Record(NamedTuple):
    """Episodes of T steps at most: rewards and events [n, T], number of steps and whether it terminated [n]."""

    rewards: np.ndarray
    target: np.ndarray
    avoid: np.ndarray
    lengths: np.ndarray
    terminated: np.ndarray


@dataclasses.dataclass(frozen=True)
class Metric:
    """Which return; by default the sum of the rewards."""

    discount: float | None
    min_reward: float | None
    target: Event | None
    avoid: Event | None

    def __post_init__(self) -> None:
        if self.target is not None and (self.discount is not None or self.min_reward is not None):
            raise ValueError("target counts successes, without rewards; expected no discount and no min_reward with it")
        if self.avoid is not None and self.target is None:
            raise ValueError("avoid is given without a target; expected both")
        if self.min_reward is not None and self.discount is None:
            raise ValueError("min_reward bounds what follows at a discount; expected a discount with it")
        for name, event in {"target": self.target, "avoid": self.avoid}.items():
            if event is not None and not callable(event):
                raise ValueError(f"{name} is {event!r}; expected a function of a step to a bool")
        if self.min_reward is not None:
            check_number("discount", self.discount, lambda g: 0 <= g < 1, "a number in [0, 1)")
            check_number("min_reward", self.min_reward, lambda r: -np.inf < r <= 0, "finite and not positive")
        elif self.discount is not None:
            check_number("discount", self.discount, lambda g: 0 <= g <= 1, "a number in [0, 1]")

    def returns(self, record: Record) -> np.ndarray:
        """The return of each episode, never above its exact value."""
        if self.target is not None:
            record, last = _padded(record)
            # Where nothing is to be avoided, this is the same as reach.
            return np.asarray(reach_avoid(record.target, record.avoid, last))
        if self.discount is None:
            return _added_up(record.rewards)
        record, last = _padded(record)
        if self.min_reward is None:
            return np.asarray(discounted_return(record.rewards, last, discount=self.discount))
        return _with_worst_tail(record, last, self.discount, self.min_reward)


def _added_up(rewards: np.ndarray) -> np.ndarray:
    total = nothing(np.zeros(len(rewards)))
    for reward in rewards.T:
        total = add(total, reward)
    return lower_end_host(total)


def _with_worst_tail(record: Record, last: np.ndarray, discount: float, min_reward: float) -> np.ndarray:
    # Steps after the end of an episode that was cut, of the lowest reward, are a part of its tail.
    cut = (np.arange(last.shape[1]) >= record.lengths[:, None]) & ~record.terminated[:, None]
    rewards = np.where(cut, min_reward, record.rewards)
    done = last & record.terminated[:, None]
    found = np.asarray(truncated_return(rewards, done, discount=discount, min_reward=min_reward))
    if np.any(np.isnan(found)):
        raise ValueError(f"an environment gave the reward {record.rewards.min()}, below min_reward")
    return found


def _padded(record: Record) -> tuple[Record, np.ndarray]:
    """With a power of two as number of steps, so that few lengths are compiled; and which step is the last."""
    num_steps = record.rewards.shape[1]
    more = ((0, 0), (0, 2 ** (num_steps - 1).bit_length() - num_steps))
    wide = {name: np.pad(getattr(record, name), more) for name in ("rewards", "target", "avoid")}
    record = record._replace(**wide)
    return record, np.arange(record.rewards.shape[1]) == record.lengths[:, None] - 1
