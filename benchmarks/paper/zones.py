"""Zones: the shipped policy, certified at the three budgets of the paper (figure 4d).

    python -m benchmarks.paper.zones [--out zones.csv] [--plot zones.png]

The policy acts by samples. delta = 0.01, ten seeds fixed beforehand, each with its own tasks, of which the smaller
budgets take the first; mean and one standard deviation over seeds. In place of the exact safety there is that of an
independent set of 2000 tasks with 250 rollouts each. After the curves: the policy's success, how often certificates
fail for tasks with these performances, and adaptive rollouts. Half an hour on two cores.
"""

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from scipy import stats

from benchmarks.paper.curves import (
    DEFAULT_BETA,
    DELTA,
    PAPER_BETA,
    SEEDS,
    THRESHOLDS,
    Curve,
    empirical,
    rollout_certificates,
    run,
)
from jaxcert import certify, certify_adaptive, certify_lower_bounds
from jaxcert.bounds import betting, clopper_pearson
from jaxcert.rollouts import collect
from jaxcert.tasks import zones
from jaxcert.training import sample_policy

BUDGETS = ((50, 100), (100, 300), (200, 1000))
EVALUATION, EVALUATION_SEED = (2000, 250), 1000
NEWER: dict[str, dict[str, Any]] = {
    "binomial, beta from the data": {"bound": "clopper_pearson", "beta": "auto"},
    "soft counts": {"method": "soft"},
}
ADAPTIVE, NUM_DRAWS = (0.7, 0.8, 0.9), 10_000


def returns_of(seed: int, num_tasks: int, num_rollouts: int) -> np.ndarray:
    """Successes on fresh tasks, [n, m]."""
    key_tasks, key_rollouts = jax.random.split(jax.random.key(seed))
    tasks, policy = zones.ENV.sample_tasks(key_tasks, num_tasks), sample_policy("zones", deterministic=False)
    return np.asarray(collect(zones.ENV, policy, tasks, key_rollouts, num_rollouts=num_rollouts))


@functools.cache
def evaluation() -> np.ndarray:
    """The mean returns of the evaluation set."""
    return returns_of(EVALUATION_SEED, *EVALUATION).mean(axis=1)


def panels() -> Iterator[list[Curve]]:
    """One panel per budget; the smaller ones use the first tasks and rollouts of the largest."""
    exact = safety_of(evaluation())
    returns = np.stack([returns_of(seed, *BUDGETS[-1]) for seed in SEEDS])
    for (n, m), found in zip(BUDGETS, rollout_certificates(returns, BUDGETS), strict=True):
        first = returns[:, :n, :m]
        newer = {name: _certified(first, settings) for name, settings in NEWER.items()}
        methods = {"empirical": empirical(first), **found, **newer}
        yield [Curve(f"n = {n}, m = {m}", method, safety, exact) for method, safety in methods.items()]


def safety_of(means: np.ndarray) -> np.ndarray:
    """The share of tasks at or above each threshold, [t]."""
    return empirical(means[None, :, None])[0]


def _certified(returns: np.ndarray, settings: dict[str, Any]) -> np.ndarray:
    found = [certify(one, THRESHOLDS, support=(0, 1), delta=DELTA, **settings) for one in returns]
    return np.stack([np.asarray(one.safety) for one in found])


def success(means: np.ndarray) -> str:
    """The mean over tasks with its lower bound, from the independent means of tasks."""
    lower = float(betting(means, DELTA, support=(0, 1)))
    return (
        f"success {means.mean():.4f}, with confidence {1 - DELTA:g} at least {lower:.4f}; worst task {means.min():.3f}"
    )


def failures(means: np.ndarray, num_draws: int = NUM_DRAWS) -> Iterator[str]:
    """How often a certificate says too much at the threshold where that is most frequent, and an exact binomial test.

    Tasks are drawn from those of the evaluation set, whose means are their performances here.
    """
    rng, exact = np.random.default_rng(0), safety_of(means)
    for n, m in BUDGETS:
        successes = rng.binomial(m, rng.choice(means, (num_draws, n)))
        for method, beta in (("scenario", PAPER_BETA), ("binomial", PAPER_BETA), ("binomial", DEFAULT_BETA)):
            table = clopper_pearson(np.tri(m + 1, m, -1, dtype=np.float32), beta)
            bounds = np.asarray(table)[successes]
            found = certify_lower_bounds(bounds, THRESHOLDS, delta=DELTA, beta=beta, method=method)
            most = int((np.asarray(found.safety) > exact + 1e-6).sum(axis=0).max())
            p_value = stats.binomtest(most, num_draws, DELTA, alternative="greater").pvalue
            yield f"n = {n}, m = {m}, {method}, beta {beta:g}: {most} of {num_draws:,} fail; p-value {p_value:.3g}"


def adaptive() -> Iterator[str]:
    """As many rollouts as each of the tasks of the largest budget needs."""
    policy, (num_tasks, most) = sample_policy("zones", deterministic=False), BUDGETS[-1]
    for b in ADAPTIVE:
        settings = {"num_tasks": num_tasks, "max_rollouts": num_tasks * most, "delta": DELTA}
        runs = [certify_adaptive(zones.ENV, policy, jax.random.key(seed), b, **settings) for seed in SEEDS]
        safety = np.mean([float(one.certificate.safety[0]) for one in runs])
        spent = np.mean([int(one.num_started) for one in runs]) / num_tasks
        yield f"B = {b:g}: adaptive rollouts certify {safety:.3f} with {spent:.0f} rollouts per task"


def main() -> None:
    """The curves, then what else is measured."""
    run(panels(), __doc__)
    print(success(evaluation()), flush=True)
    for line in itertools.chain(failures(evaluation()), adaptive()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
