"""How many tasks a safety needs: against exact arithmetic, and with ``certify`` as the judge."""

import re
from fractions import Fraction
from math import comb
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert import certify
from jaxcert.bounds._registry import BOUNDS
from jaxcert.planning import check, task_table

SAFETIES = [0.8, 0.9, 0.95, 0.99]


def suffices(n: int, k: int, safety: str, delta: str, beta: str) -> bool:
    """Whether U(k; n, delta)/(1 - beta) <= 1 - s, in fractions: P[Bin(n, (1 - s)(1 - beta)) <= k] <= delta."""
    p = (1 - Fraction(safety)) * (1 - Fraction(beta))
    tail = sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))
    return tail <= Fraction(delta)


@pytest.mark.parametrize("delta", ["0.05", "0.01"])
@pytest.mark.parametrize("beta", ["0.05", "0.3"])
def test_the_table_is_exact(delta, beta, precision):
    found = task_table(SAFETIES, delta=float(delta), beta=float(beta)).num_tasks
    assert found.shape == (4, 4)
    for row, safety in zip(found, SAFETIES, strict=True):
        for k, n in enumerate(row.tolist()):
            assert suffices(n, k, str(safety), delta, beta)
            assert not suffices(n - 1, k, str(safety), delta, beta)


def fewest(safety: float, k: int = 0, **settings) -> int:
    return int(task_table(safety, max_violations=k, **settings).num_tasks[0, k])


def test_the_default_beta_is_that_of_the_method():
    assert fewest(0.9, delta=0.01) == fewest(0.9, delta=0.01, beta=0.05) == 47


def test_what_a_million_tasks_cannot_do():
    assert fewest(1 - 1e-6, delta=0.01) == 0


def test_a_single_task_suffices_beside_what_needs_more():
    """A search that is over stays where it is while others go on."""
    assert task_table([0.3, 0.99], delta=0.5, beta=0.01).num_tasks[:, 0].tolist() == [1, 70]
    assert "> 1,000,000" in str(task_table(1 - 1e-6, delta=0.01))


# --- rollouts ----------------------------------------------------------------------------------------------------


def lower_bound(name: str, m: int, beta: float, support: tuple[float, float]) -> float:
    """As ``certify`` computes it for the best possible returns."""
    x = jnp.full((2, m), support[1], jnp.float32)
    found = certify(x, support[1], support=support, delta=0.1, beta=beta, bound=name)
    return float(found.lower_bounds[0])


def limits(threshold: float, num_rollouts: int, name: str, support: tuple[float, float]):
    [advice] = check(100, num_rollouts, thresholds=threshold, support=support, bound=name, beta=0.1, delta=0.1)
    return advice


@pytest.mark.parametrize("name", BOUNDS)
def test_the_fewest_rollouts_are_the_fewest(name):
    support = (0.0, 1.0) if BOUNDS[name].binary else (-20.0, 180.0)
    threshold = support[0] + 0.7 * (support[1] - support[0])
    found = limits(threshold, BOUNDS[name].min_rollouts, name, support)
    m = found.rollouts_needed
    assert lower_bound(name, m, 0.1, support) >= threshold
    assert m > BOUNDS[name].min_rollouts
    assert lower_bound(name, m - 1, 0.1, support) < threshold
    assert found.highest_threshold == lower_bound(name, BOUNDS[name].min_rollouts, 0.1, support)


def test_a_threshold_that_is_just_reached():
    """Where rounding decides, ``certify`` does."""
    for m in (3, 7):
        reached = lower_bound("betting", m, 0.1, (0.0, 1.0))
        assert limits(reached, 1, "betting", (0, 1)).rollouts_needed == m
        above = float(np.nextafter(np.float32(reached), np.float32(2)))
        assert limits(above, 1, "betting", (0, 1)).rollouts_needed == m + 1


def test_other_returns_do_not_get_higher():
    rng = np.random.default_rng(0)
    for name, bound in BOUNDS.items():
        x = rng.beta(20, 1, (200, 12)).astype(np.float32)
        x = np.ceil(x - 0.5) if bound.binary else np.maximum(x, rng.random((200, 1)) < 0.2)
        found = certify(x, 0.0, support=(0, 1), delta=0.1, beta=0.1, bound=name, validate=False)
        assert float(found.lower_bounds.max()) <= limits(0.999, 12, name, (0, 1)).highest_threshold + 1e-5


# --- the numbers on the front pages -----------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]


def test_the_readme_says_what_the_command_gives():
    text = " ".join((ROOT / "README.md").read_text().split())
    said = r"a safety of 0\.8, 0\.9, 0\.95 or 0\.99 takes (\d+), (\d+), (\d+) or (\d+) tasks"
    [numbers] = re.findall(said + r"; if one misses, (\d+), (\d+), (\d+) or (\d+)\.", text)
    wanted = task_table([0.8, 0.9, 0.95, 0.99], delta=0.05).num_tasks
    assert list(map(int, numbers)) == [*wanted[:, 0], *wanted[:, 1]]


def test_the_first_page_says_what_the_table_says():
    text = " ".join((ROOT / "docs" / "index.md").read_text().split())
    [number] = re.findall(r"0\.05\$, (\d+) tasks certify a safety of 0\.9", text)
    assert int(number) == task_table([0.9], delta=0.05).num_tasks[0, 0]
