"""Soft counts in plans: against simulations of whole experiments, with ``certify`` as the judge."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from simulated import simulate

import jaxcert
from jaxcert.certificates._soft import soft_epsilon
from jaxcert.planning import Design, plan

WISH = {"support": (0.0, 1000.0), "delta": 0.01}
FEW = {"max_rollouts": 16}  # one length of programs
REPEATS = 300


@pytest.fixture(scope="module")
def cheetah() -> np.ndarray:
    return np.asarray(jaxcert.sample_returns("cheetah"))


@pytest.fixture(scope="module")
def least_risk(cheetah):
    """With few rollouts."""
    return plan(cheetah, threshold=400.0, budget=150, max_rollouts=2, designs=("betting", "soft"), **WISH)


def simulated(pilot: np.ndarray, design: Design) -> np.ndarray:
    """The risks of whole data sets."""
    found = simulate(pilot, design, threshold=400.0, num_repeats=REPEATS, **WISH)
    return np.asarray(found.epsilon, np.float64)


def best(found, name: str):
    return next(option for option in found.designs if option.name == name)


def test_the_expected_risk_is_that_of_whole_experiments(least_risk, cheetah):
    option = best(least_risk, "soft")
    risk = simulated(cheetah, option)
    error = np.hypot(risk.std() / np.sqrt(REPEATS), option.standard_error)
    assert abs(risk.mean() - option.value) < 4 * error
    assert error < 0.02
    assert option.pessimistic > option.value


def test_the_cheapest_certificate(cheetah):
    settings = {"threshold": 400.0, "safety": 0.8, "max_rollouts": 3, **WISH}
    found = plan(cheetah, designs=("betting", "soft"), **settings)
    soft, betting = best(found, "soft"), best(found, "betting")
    assert soft.value >= 0.9
    assert soft.cost < 0.5 * betting.cost
    assert np.mean(1 - simulated(cheetah, soft) >= 0.8) > 0.9 - 4 * (soft.standard_error + 0.3 / np.sqrt(REPEATS))
    fewer = dataclasses.replace(soft, num_tasks=int(0.8 * soft.num_tasks))
    assert np.mean(1 - simulated(cheetah, fewer) >= 0.8) < 0.9
    alone = plan(cheetah, designs=("soft",), **settings)
    assert alone.designs[0].num_tasks == soft.num_tasks


@pytest.mark.parametrize(
    "wish",
    [
        {"threshold": 400.0, "budget": 3},
        pytest.param({"threshold": 990.0, "safety": 0.5, "budget": 60}, marks=pytest.mark.slow),
        pytest.param({"threshold": 5.0, "safety": 0.5, "budget": 60}, marks=pytest.mark.slow),
    ],
)
def test_what_is_reported_can_be_certified(cheetah, wish):
    found = plan(cheetah, designs=("soft",), max_rollouts=3, **wish, **WISH)
    for option in {option.name: option for option in found.designs}.values():
        assert option.cost == option.num_tasks * option.num_rollouts <= wish["budget"]
        certificate = simulate(cheetah, option, num_repeats=2, threshold=wish["threshold"], **WISH)
        assert certificate.epsilon.shape == (2, 1)


def test_what_needs_a_threshold_is_left_out_without_one():
    pilot = np.random.default_rng(0).uniform(0.5, 1, (20, 10)).astype(np.float32)
    found = plan(pilot, support=(0, 1), delta=0.05, safety=0.8, budget=100, **FEW)
    assert {option.name for option in found.considered} == {"betting"}
    assert "sequential, soft" in str(found)


def test_tasks_that_do_not_exist_do_not_count():
    """A mask over tasks gives what the others alone give, up to the error of longer sums."""
    wealth = jnp.asarray(np.random.default_rng(0).exponential(3, (40, 1)), jnp.float32)
    settings = jnp.float32(0.5), jnp.float32(0.05), 0.01
    risk = jax.jit(soft_epsilon)
    alone, masked = risk(wealth[:25], *settings), risk(wealth, *settings, jnp.arange(40) < 25)
    np.testing.assert_allclose(masked, alone, rtol=1e-5)
    assert abs(float(risk(wealth, *settings, jnp.arange(40) < 40)[0] - alone[0])) > 1e-3
