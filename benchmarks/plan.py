"""Planned designs beside a grid of designs, for the same number of rollouts.

    python -m benchmarks.plan

With the cheetah sample as pilot and 2,000 rollouts to spend: the designs that ``plan`` finds for a return certified on
90 % of tasks, and for the risk certified at a return of 500, and the best of a grid of fixed designs, in hindsight.
Each is judged by ``certify`` on 100 resampled data sets, which no plan has seen.
"""

import dataclasses
import itertools
import time

import numpy as np

import jaxcert
from jaxcert.planning import Design, plan, simulate

BUDGET, SAFETY, THRESHOLD = 2000, 0.9, 500.0
ROLLOUTS = (1, 2, 5, 10, 20, 50)
BETAS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
SETTINGS = {"support": (0, 1000), "delta": 0.01}
QUESTIONS = {"return certified on 90 %": {"safety": SAFETY}, "risk at 500": {"threshold": THRESHOLD}}
# Neither those of the search nor each other's.
NUM_REPEATS, SEED = 100, 7


@dataclasses.dataclass(frozen=True)
class Judged:
    """A design, and the mean over data sets with its standard error."""

    design: Design
    mean: float
    error: float


def judge(pilot: np.ndarray, design: Design, question: dict[str, float]) -> Judged:
    found = simulate(pilot, design, num_repeats=NUM_REPEATS, seed=SEED, **question, **SETTINGS)
    values = np.asarray(found.thresholds if "safety" in question else found.epsilon, np.float64)
    return Judged(design, float(values.mean()), float(values.std(ddof=1) / np.sqrt(NUM_REPEATS)))


def grid() -> list[Design]:
    """All fixed designs of the grid."""
    return [Design("betting", BUDGET // m, m, beta) for m, beta in itertools.product(ROLLOUTS, BETAS)]


def best_of_grid(pilot: np.ndarray, question: dict[str, float]) -> list[Judged]:
    """The best design for each number of rollouts, best first."""
    sign = -1 if "safety" in question else 1
    found = sorted((judge(pilot, design, question) for design in grid()), key=lambda one: sign * one.mean)
    return [next(one for one in found if one.design.num_rollouts == m) for m in ROLLOUTS]


def main() -> None:
    """Print a row per design."""
    pilot = jaxcert.sample_returns("cheetah")
    for name, question in QUESTIONS.items():
        begin = time.perf_counter()
        found = plan(pilot, budget=BUDGET, **question, **SETTINGS)
        seconds = time.perf_counter() - begin
        print(f"\n{name}: planned in {seconds:.1f} s, compilation included\n")
        print(f"| design | cost | {name} | planned |\n|---|---|---|---|")
        first = {design.name: design for design in reversed(found.designs)}
        for design in sorted(first.values(), key=found.designs.index):
            one = judge(pilot, design, question)
            print(f"| plan: {one.design} | {design.cost:,.0f} | {_shown(one)} | {design.value:.4g} |")
        for one in best_of_grid(pilot, question):
            print(f"| grid: {one.design} | {BUDGET:,} | {_shown(one)} | |")


def _shown(one: Judged) -> str:
    return f"{one.mean:.4g} ± {one.error:.2g}"


if __name__ == "__main__":
    main()
