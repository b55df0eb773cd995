"""How few rollouts certify the sample returns: sequential certificates beside those of all rollouts.

    python -m benchmarks.few_rollouts

For each sample and threshold: the risk that the default and the paper's method certify from all rollouts, and that of
``certify_sequential`` with the rollouts per task that it used, as means over permutations of the rollouts of each task.
"""

import numpy as np

import jaxcert
from jaxcert.sequential import certify_sequential

THRESHOLDS = {"cheetah": (400.0, 500.0, 600.0), "walker": (500.0, 600.0, 650.0)}
SETTINGS = {"support": (0, 1000), "delta": 0.01}
PAPER = {"bound": "empirical_bernstein", "method": "scenario", "beta": 1e-4}
NUM_ORDERS = 20


def main() -> None:
    """Print a row per threshold."""
    print("| sample | rollouts | B | the paper, all | default, all | sequential | rollouts used per task |")
    print("|---|---|---|---|---|---|---|")
    for name, thresholds in THRESHOLDS.items():
        returns = jaxcert.sample_returns(name)
        paper = jaxcert.certify(returns, thresholds, **SETTINGS, **PAPER).epsilon
        default = jaxcert.certify(returns, thresholds, **SETTINGS).epsilon
        sequential, used = _sequential(returns, thresholds)
        for row in zip(thresholds, paper, default, sequential, used, strict=True):
            figures = [f"{row[0]:g}", *(f"{float(value):.3f}" for value in row[1:4]), f"{row[4]:.1f}"]
            print(f"| {name} | {' × '.join(map(str, returns.shape))} | {' | '.join(figures)} |")


def _sequential(returns: np.ndarray, thresholds: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Mean risk and mean rollouts per task at each threshold, each certified on its own."""
    rng = np.random.default_rng(0)
    orders = np.stack([rng.permuted(returns, axis=1) for _ in range(NUM_ORDERS)])
    found = [certify_sequential(orders, threshold, **SETTINGS) for threshold in thresholds]
    risk = np.array([np.mean(each.epsilon) for each in found])
    return risk, np.array([np.mean(each.num_rollouts_used) for each in found])


if __name__ == "__main__":
    main()
