"""Every usual mistake is found, with what it costs; sound data are left in peace."""

import re
from pathlib import Path

import numpy as np
import pytest

import jaxcert
from jaxcert.diagnostics import diagnose
from jaxcert.diagnostics._diagnose import CHECKS

PAGE = Path(__file__).parents[2] / "docs" / "usual_mistakes.md"


def sound(n: int = 60, m: int = 40, seed: int = 0) -> np.ndarray:
    """Independent tasks and rollouts, in (0, 1)."""
    rng = np.random.default_rng(seed)
    return rng.beta(5, rng.uniform(1, 6, (n, 1)), (n, m))


def names(returns, **settings) -> list[str]:
    return [found.name for found in diagnose(returns, **{"support": (0, 1), **settings})]


@pytest.mark.parametrize("seed", range(20))
def test_sound_data_are_left_in_peace(seed):
    rng = np.random.default_rng(seed)
    tails = np.minimum(rng.exponential(rng.uniform(0.01, 0.05, (40, 1)), (40, 25)), 0.99)
    rare = (rng.random((50, 100)) < 0.02).astype(float)
    counts = rng.binomial(6, 0.5, (30, 20)) / 8 + 0.1
    rounded = np.clip(sound(seed=seed).round(3), 0.001, 0.999)
    steps = rng.integers(20, 500, (60, 40)) / 500  # lengths of episodes
    for returns in (
        sound(seed=seed),
        tails,
        counts,
        steps,
        rounded,
        sound(n=12, m=2, seed=seed),
        sound(n=3, m=5, seed=seed),
    ):
        assert names(returns) == []
    assert names(rare, bound="clopper_pearson") == []
    where = rng.random((60, 40)) < rng.uniform(0.2, 1, (60, 1))
    assert names(np.where(where, sound(seed=seed), np.nan), where=where) == []


@pytest.mark.parametrize("name", ["cheetah", "walker"])
def test_the_samples_are_left_in_peace(name):
    assert names(jaxcert.sample_returns(name), support=(0, 1000)) == []


def laws(shape: tuple[int, int], seed: int) -> dict[str, tuple[np.ndarray, tuple[float, float]]]:
    """Independent returns and their support, as rounding, integers and few digits make them."""
    n, m = shape
    rng = np.random.default_rng(seed)
    middle, share = rng.uniform(10, 190, (n, 1)), rng.uniform(0.2, 0.8, (n, 1))
    normal, chance = rng.normal(size=(n, m)), rng.random((n, m))
    lengths = np.round(rng.uniform(20, 400, (n, 1)) + rng.exponential(10, (n, m)))
    score = np.clip(np.round(rng.uniform(20, 180, (n, 1)) + 4 * normal), 0, 200)
    return {
        "uniform": (chance, (0, 1)),
        "beta, three decimals": (rng.beta(0.5, rng.uniform(0.4, 3, (n, 1)), (n, m)).round(3), (0, 1)),
        "integers": (rng.integers(0, 101, (n, m)).astype(float), (0, 100)),
        "scores": (score, (0, 200)),
        "nearly constant scores": (np.round(middle + 0.3 * normal), (0, 200)),
        "two decimals": (np.round(middle + 0.5 * normal, 2), (0, 200)),
        "three decimals": (np.round(share + 0.002 * normal, 3), (0, 1)),
        "four decimals": (np.round(share + 0.002 * normal, 4), (0, 1)),
        "float32": ((middle + 1e-3 * normal).astype(np.float32), (0, 200)),
        "pareto": (np.round(rng.pareto(1.5, (n, m)), 2), (0, 1e9)),
        "two modes": (np.where(chance < 0.3, share, share + 0.1) + 1e-3 * normal, (0, 1)),
        "a time-out": (np.where(chance < 0.3, share, share + 0.01 * normal), (0, 1)),
        "0 and 1": ((chance < share).astype(float), (0, 1)),
        "discounted": (0.99**lengths, (0, 1)),
        "multiples": (rng.uniform(1, 2, (n, 1)) * rng.binomial(30, 0.5, (n, m)), (0, 60)),
        "initial states": (np.take_along_axis(rng.random((n, 20)), rng.integers(0, 20, (n, m)), 1), (0, 1)),
    }


@pytest.mark.parametrize(("shape", "sets"), [((20, 6), 40), ((50, 20), 10), ((200, 3), 4)])
def test_returns_on_a_grid_are_left_in_peace(shape, sets):
    """The page promises at most about one alarm in 200 sets of each law; here a few of each, at fixed seeds."""
    found = [
        (law, name)
        for seed in range(sets)
        for law, (returns, support) in laws(shape, seed).items()
        for name in names(returns, support=support, bound="clopper_pearson")
    ]
    assert len(found) <= 1, found


FOUND_ON = ["uniform", "scores", "two decimals", "four decimals", "float32", "pareto"]


@pytest.mark.parametrize("law", FOUND_ON)
@pytest.mark.parametrize("shape", [(20, 6), (50, 20), (200, 4)])
def test_copied_rollouts_are_found_on_a_grid(law, shape):
    returns, support = laws(shape, 0)[law]
    half = shape[1] // 2
    returns[:, half:] = returns[:, :half]
    assert "repeated-rollouts" in names(returns, support=support, bound="clopper_pearson")


@pytest.mark.parametrize("law", FOUND_ON)
@pytest.mark.parametrize("shape", [(20, 6), (50, 20)])
def test_copied_tasks_are_found_on_a_grid(law, shape):
    returns, support = laws(shape, 0)[law]
    returns[7] = returns[3]
    assert names(returns, support=support, bound="clopper_pearson") == ["equal-tasks"]


@pytest.mark.parametrize("decimals", [2, 15])
def test_clipped_returns_that_are_rounded(decimals):
    returns = np.random.default_rng(0).normal(100, 20, (50, 20)).round(decimals)
    assert names(np.minimum(returns, 120), support=(0, 120)) == ["edge-of-support"]
    assert names(np.minimum(returns.round(), 120), support=(0, 120)) == []  # an outcome like others


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e-310, 1e-300, 1e-160, 1e160, 1e300, 1.7e308])
def test_returns_of_any_size(unit):
    luck = np.random.default_rng(1).uniform(0, 0.2, (1, 40))
    settings = {"support": (-unit, unit), "bound": "clopper_pearson"}
    assert names(unit * (2 * sound() - 1), **settings) == []
    assert names(unit * (1.6 * sound() - 1 + luck), **settings) == ["common-seeds"]


def test_the_same_seeds_in_every_task():
    luck = np.random.default_rng(1).uniform(-0.1, 0.1, (1, 40))
    assert names(sound() + luck, support=(-1, 2)) == ["common-seeds"]
    hits = np.random.default_rng(2).random((60, 1)) * 0.5 + 0.25 > np.random.default_rng(3).random((1, 40))
    assert "common-seeds" in names(hits.astype(float), bound="clopper_pearson")


@pytest.mark.parametrize("bound", ["betting", "clopper_pearson"])
def test_common_seeds_of_successes_are_a_finding_and_no_error(bound):
    """Tasks hardly differ here, so that ``certify`` refuses such returns, by a name that fits."""
    hits = np.random.default_rng(2).uniform(0.7, 0.8, (60, 1)) > np.random.default_rng(3).random((1, 40))
    assert "common-seeds" in names(hits.astype(float), bound=bound)
    with pytest.raises(ValueError, match="axes were swapped, or as if rollout j had the same seed in every task"):
        jaxcert.certify(hits, 0.5, support=(0, 1), delta=0.05)


def test_tasks_with_too_few_rollouts_for_the_bound_are_no_error():
    assert names((sound(m=1) > 0.5).astype(float), bound="empirical_bernstein") == []
    assert names(sound(m=1), support=(0, 100), bound="empirical_bernstein") == []


def test_seeds_that_do_not_reach_the_environment():
    assert names(np.repeat(sound()[:, :1], 10, axis=1)) == ["constant-tasks"]
    assert names(np.repeat([[0.0], [1.0]] * 20, 10, axis=1), bound="clopper_pearson") == ["constant-tasks"]
    assert names(np.ones((40, 10)), bound="clopper_pearson") == []  # a policy that never fails


@pytest.mark.parametrize(("slope", "word"), [(0.2, "rise"), (-0.2, "fall")])
def test_a_trend(slope, word):
    (found,) = diagnose(sound() * 0.6 + 0.2 + np.linspace(0, slope, 40), support=(-0.5, 1.5))
    assert found.name == "trend"
    assert found.message.startswith(f"returns {word} with the number of the rollout")


def test_clipped_returns():
    (found,) = diagnose(np.minimum(sound(), 0.8), support=(0, 0.8))
    assert re.match(r"of 2400 returns, \d+ are exactly 0\.8: clipped to the support\?", found.message)


def test_a_support_far_wider_than_the_returns_and_its_cost():
    returns = sound()
    (found,) = diagnose(returns, support=(0, 100), bound="hoeffding")
    assert found.name == "wide-support"
    narrow = (0.0, float(2 * returns.max() - returns.min()))
    wide, tight = (jaxcert.bounds.hoeffding(returns, 0.05, support=ends).mean() for ends in ((0, 100), narrow))
    assert f"would be {tight - wide:.3g} higher on average" in found.message
    assert f"{returns.min():g}" not in found.message  # a page shows this to others
    assert f"{returns.max():g}" not in found.message
    assert names(returns, support=(0, np.inf)) == []


def test_a_weaker_bound_for_zeros_and_ones():
    hits = (np.random.default_rng(0).random((100, 20)) < 0.9).astype(float)
    (found,) = diagnose(hits, support=(0, 1), bound="hoeffding", delta=0.01)
    assert 'method="attained" (--method attained)' in found.message
    assert names(hits, bound="clopper_pearson") == []
    assert names(hits, support=(0, 2)) == []


def test_a_weaker_bound_on_the_tasks_of_a_list():
    hits = (np.random.default_rng(0).random((100, 20)) < 0.9).astype(float)
    (found,) = diagnose(hits, support=(0, 1), bound="hoeffding", delta=0.01, listed=True)
    assert 'bound="clopper_pearson" (--bound clopper_pearson)' in found.message
    assert "attained" not in found.message
    assert diagnose(hits, support=(0, 1), bound="clopper_pearson", listed=True) == ()


def test_a_confidence_in_place_of_delta():
    (found,) = diagnose(sound(), support=(0, 1), delta=0.99)
    assert "for a confidence of 0.99, give 0.01" in found.message


@pytest.mark.parametrize(
    ("returns", "settings", "words"),
    [
        (np.ones(3), {}, r"shape \(3,\); expected \[n, m\]"),
        (np.full((2, 2), 2.0), {}, "task 0, rollout 0 is 2, outside the support"),
        (np.full((2, 2), np.nan), {}, "task 0, rollout 0 is nan"),
        (np.ones((2, 2)), {"where": np.zeros((2, 2), bool)}, "where is False everywhere; expected at least one"),
        (np.ones((2, 2)), {"bound": "best"}, "bound is 'best'"),
        (np.ones((2, 2)), {"delta": 0.0}, "delta is 0.0; expected a probability"),
        (np.ones((2, 2)), {"method": "best"}, "method is 'best'"),
    ],
)
def test_bad_input(returns, settings, words):
    with pytest.raises(ValueError, match=words):
        diagnose(returns, **{"support": (0, 1), **settings})


def test_every_check_has_its_section():
    if not PAGE.exists():
        pytest.skip("needs the checkout")
    assert re.findall(r"^## ([a-z-]+)$", PAGE.read_text(), re.MULTILINE) == list(CHECKS)
