"""Pilot returns, and the law of performances that is read from them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert._validation import as_numbers, refuse
from jaxcert.numerics import binomial_cdf
from jaxcert.planning._least_tasks import on_rows
from jaxcert.returns._prepared import Support, as_successes, is_successes, split_support
from jaxcert.returns._required import Side

# Success probabilities, [K]; a law of tasks says how likely each is.
CHANCES = np.linspace(0.0, 1.0, 201)
# Steps of the estimate, from a uniform law: more of them fit noise, in single points.
_STEPS = 50


class Estimate(NamedTuple):
    """The laws of all tasks, [K], and of tasks with the same successes, [kinds, K]; and the kind of each task, [n]."""

    law: np.ndarray
    posterior: np.ndarray
    kinds: np.ndarray


def estimated(successes: np.ndarray, num_trials: int) -> Estimate:
    """From the successes of tasks [n], and the number of trials of each."""
    kinds, place, counts = np.unique(successes.astype(np.int64), return_inverse=True, return_counts=True)
    s, m = kinds[:, None], num_trials
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(s > 0, s * np.log(CHANCES), 0) + np.where(m > s, (m - s) * np.log1p(-CHANCES), 0)
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    law = np.full(CHANCES.size, 1 / CHANCES.size)
    for _ in range(_STEPS):
        law = counts @ _posterior(likelihood, law) / counts.sum()
    return Estimate(law, _posterior(likelihood, law), place.reshape(-1))


def _posterior(likelihood: np.ndarray, law: np.ndarray) -> np.ndarray:
    joint = likelihood * law
    return joint / joint.sum(axis=1, keepdims=True)


# Returns, equally likely, that stand for some with weights.
_EQUAL = 256


class PilotReturns:
    """Resampled tasks, each with rollouts resampled from its own: a bootstrap at two levels.

    A few returns of 0 and 1 vary more than the tasks do. So for such returns, rollouts of a task are drawn with a
    success probability from its posterior under the law of all tasks.
    """

    is_doubted = False

    def __init__(self, returns: Any, support: Support, name: str = "pilot") -> None:
        low, high = map(float, split_support(support))
        array = as_numbers(name, returns)
        if array.ndim != 2 or array.shape[0] < 2 or array.shape[1] < 2:
            raise ValueError(
                f"{name} has shape {array.shape}; expected returns [num_tasks, num_rollouts], at least 2 of each"
            )
        refuse(name, array, (array >= low) & (array <= high) & np.isfinite(array), "a return in the support")
        self.returns, self.support = array.astype(np.float32), support
        self.num_tasks = array.shape[0]
        self.binary = (low, high) == (0.0, 1.0) and bool(np.all((array == 0) | (array == 1)))
        self.known = estimated(array.sum(axis=1), array.shape[1]) if self.binary else None

    def passing(self, num_rollouts: int, enough: np.ndarray) -> np.ndarray | None:
        """How likely a drawn task has at least so many successes, as ``rollouts_of`` draws them; None for others."""
        if self.known is None:
            return None
        weights = self.known.posterior[self.known.kinds].mean(axis=0)
        fewer = on_rows(binomial_cdf, enough[:, None] - 1, num_rollouts, CHANCES)
        return np.clip(1 - fewer @ weights / weights.sum(), 0, 1)

    def draw(self, rng: np.random.Generator, num_repeats: int, num_rollouts: int) -> np.ndarray:
        """Returns [repeats, tasks, rollouts]: every pilot task once in each repetition."""
        tasks = np.broadcast_to(np.arange(self.num_tasks)[:, None], (num_repeats, self.num_tasks, 1))
        return self.rollouts_of(rng, tasks, num_rollouts)

    def rollouts_of(self, rng: np.random.Generator, tasks: np.ndarray, num_rollouts: int) -> np.ndarray:
        """Rollouts [..., num_rollouts] of the tasks [..., 1]."""
        shape = (*tasks.shape[:-1], num_rollouts)
        if self.known is None:
            return self.returns[tasks, rng.integers(self.returns.shape[1], size=shape)]
        chances, kinds = np.empty(tasks.shape), self.known.kinds[tasks]
        for kind, below in enumerate(np.cumsum(self.known.posterior, axis=1)):
            drawn = rng.random(int(np.sum(kinds == kind))) * below[-1]
            chances[kinds == kind] = CHANCES[np.searchsorted(below, drawn)]
        return (rng.random(shape) < chances).astype(np.float32)

    def imagined(self, rng: np.random.Generator) -> "Chances | PilotReturns":
        """A list of tasks that may have given these returns: each has its own, and the lower end, as often as chance
        decides. Successes are then as likely as a lower Clopper-Pearson limit at a level drawn by chance.
        """
        low, n = float(split_support(self.support)[0]), self.num_tasks
        known = np.concatenate([np.full((n, 1), low, np.float32), self.returns], axis=1)
        weights = rng.exponential(size=known.shape)
        weights /= weights.sum(axis=1, keepdims=True)
        if self.binary:
            return Chances(np.clip((weights * known).sum(axis=1), 0, 1))
        places = (np.arange(_EQUAL) + 0.5) / _EQUAL
        chosen = [np.searchsorted(each, places).clip(0, known.shape[1] - 1) for each in np.cumsum(weights, axis=1)]
        return PilotReturns(np.take_along_axis(known, np.stack(chosen), axis=1), self.support)

    @property
    def less_varied(self) -> str:
        """The difference of resampled rollouts from new ones; empty for successes, which are drawn anew."""
        share = f"{100 / self.returns.shape[1]:.2g} %"
        return "" if self.binary else f"resampled rollouts of a task vary {share} less than new ones (variance)"

    def notes(self) -> list[str]:
        """Notes for the reader on plans from this pilot."""
        n, m = self.returns.shape[:2]
        unseen = 1 - 0.1 ** (1 / n)
        return [
            f"planned from {n} pilot tasks with {m} rollouts each. They chose the design, so they must not enter the "
            "certificate: it needs new tasks and new rollouts",
            f"up to {100 * unseen:.2g} % of the tasks may be of a kind that no pilot task shows (at 90 % confidence)"
            + (f", and {self.less_varied}" if self.less_varied else ""),
        ]


class PilotOfMetrics(PilotReturns):
    """Resampled tasks and rollouts, with all metrics of a rollout together; more is better in each."""

    def __init__(self, pilots: Any, sides: Sequence[Side]) -> None:
        if not isinstance(pilots, Mapping) or not {side.metric for side in sides} <= pilots.keys():
            raise ValueError(f"pilot has to hold the returns of {', '.join(dict.fromkeys(s.metric for s in sides))}")
        each = [PilotReturns(pilots[side.metric], side.support or (0, 1), side.metric) for side in sides]
        for side, one in zip(sides, each, strict=True):
            if side.support is None and not one.binary:
                raise ValueError(f"{side.metric} has other values than 0 and 1; expected its support in {str(side)!r}")
            if one.returns.shape != each[0].returns.shape:
                raise ValueError(f"{side.metric} has shape {one.returns.shape}; expected {each[0].returns.shape}")
        self.returns = np.stack([turned(side, one.returns) for side, one in zip(sides, each, strict=True)], axis=-1)
        self.support, self.num_tasks, self.binary, self.known = (0.0, 1.0), each[0].num_tasks, False, None


def turned(side: Side, values: Any) -> Any:
    """Values of a metric or its threshold, so that more is better."""
    low, high = side.support or (0.0, 1.0)
    if not side.is_least and not np.isfinite(high):
        raise ValueError(f"the support of {str(side)!r} has an infinite upper end; at most needs a finite one")
    return values if side.is_least else low + high - values


class Chances:
    """Tasks with known success probabilities, [n]."""

    binary, support = True, (0.0, 1.0)

    def __init__(self, chances: np.ndarray) -> None:
        self.chances, self.num_tasks = chances, chances.size

    def draw(self, rng: np.random.Generator, num_repeats: int, num_rollouts: int) -> np.ndarray:
        """Successes [repeats, tasks, rollouts]."""
        drawn = rng.random((num_repeats, self.num_tasks, num_rollouts), dtype=np.float32)
        return (drawn < self.chances[:, None]).astype(np.float32)


class ReorderedPilot:
    """The pilot's own rollouts, each task's in random orders. A law of tasks that is estimated could be too narrow.

    Up to the number of rollouts that each task has, ``most``, they are like new ones of it; of more they say nothing.
    By them plans allow for tasks that were luckier than tasks in general.
    """

    is_doubted = True

    def __init__(self, pilot: PilotReturns) -> None:
        self.returns = pilot.returns
        self.num_tasks, self.most = pilot.returns.shape[:2]

    def passing(self, num_rollouts: int, enough: np.ndarray) -> None:
        """None, as no law is estimated."""

    def draw(self, rng: np.random.Generator, num_repeats: int, num_rollouts: int) -> np.ndarray:
        """Returns [repeats, tasks, rollouts]: each pilot task once a repetition; anything beyond ``most``."""
        every = (num_repeats, self.num_tasks, self.most)
        order = rng.permuted(np.broadcast_to(np.arange(self.most), every), axis=-1)
        order = np.pad(order, [(0, 0), (0, 0), (0, max(num_rollouts - self.most, 0))])[..., :num_rollouts]
        return self.returns[np.arange(self.num_tasks)[:, None], order]


def support_of(pilot: Any, support: Support | None) -> Any:
    """The declared support, or (0, 1) for successes and failures: of type bool, or only 0 and 1."""
    return (0.0, 1.0) if support is None and is_successes(as_successes(pilot, None, None)) else support
