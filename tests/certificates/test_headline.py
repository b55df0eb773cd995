"""The short line of each certificate: rounded to the safe side, and plain where nothing is certified."""

import dataclasses
import math
import re
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jaxcert
from jaxcert.certificates import certify_episode, certify_lower_bounds
from jaxcert.certificates._access import headline
from jaxcert.certificates._figures import at_least, in_hundred, short_figures

RETURNS = np.random.default_rng(0).beta(9, 1, (60, 20)).astype(np.float32)
PASSED = np.arange(30) < np.array([30, 29, 22, 9, 30])[:, None]
SETTINGS = {"support": (0, 1), "delta": 0.1}


@given(st.floats(0, 1))
def test_a_share_is_floored_to_whole_tasks_of_a_hundred(share):
    exact = 100 * Fraction(share)
    assert in_hundred(share) == math.floor(exact)
    assert in_hundred(share, up=True) == math.ceil(exact)


@given(st.floats(1e-12, 1, exclude_min=True))
def test_no_share_in_words_exceeds_the_share(share):
    claim, count = at_least(share)
    whole = re.fullmatch(r"At least (\d+) in 100 new tasks", claim)
    if whole:
        assert count == int(whole[1]) > 0
        assert Fraction(count, 100) <= Fraction(share)
    else:
        figure = re.fullmatch(r"At least a share of (\S+) of new tasks", claim)
        assert 0 < float(figure[1]) <= share < 0.01


@given(st.floats(-1e12, 1e12))
def test_no_mean_in_words_exceeds_the_mean(value):
    shown = float(short_figures(value))
    assert shown <= value
    assert value - shown <= max(1e-3 * abs(value), 1e-300)


@pytest.mark.parametrize("safety", [0.79, 0.789999, 0.8, np.nextafter(0.8, 0), 0.01])
def test_the_line_of_a_share(safety):
    found = certify_lower_bounds(np.linspace(0, 1, 50), 0.25, delta=0.1, beta=0.05)
    found = dataclasses.replace(found, safety=np.asarray([safety], np.float64))
    count = math.floor(100 * Fraction(float(safety)))
    line = headline(found, 0)
    assert line.claim == f"At least {count} in 100 new tasks"
    verb = "reaches" if count == 1 else "reach"
    assert line.about == f"from the same distribution {verb} an expected return of 0.25, with confidence 0.9"


@pytest.mark.parametrize("double", [False, True], ids=["float32", "float64"])
def test_each_kind_has_its_line(double):
    with jax.enable_x64(double):
        returns = jnp.asarray(RETURNS, jnp.float64 if double else jnp.float32)
        mean = jaxcert.certify_mean(returns, **SETTINGS)
        tail = jaxcert.certify_cvar(returns, alpha=[0.25, 1.0], cap=1.0, **SETTINGS)
        between = jaxcert.certify_interval(returns, 0.75, complete=True, **SETTINGS)
        several = certify_episode(returns, 0.5, num_episodes=2, delta=0.1)
    claims = [headline(found, 0).claim for found in (mean, tail, between, several)]
    assert claims[0] == f"At least {short_figures(float(mean.mean))} on average over new tasks"
    assert claims[1] == f"At least {short_figures(float(tail.mean[0]))} on average over the worst 25 % of new tasks"
    ends = math.floor(100 * between.safety[0].item()), math.ceil(100 * between.safety_upper[0].item())
    assert claims[2] == f"Between {ends[0]} and {ends[1]} in 100 new tasks"
    assert claims[3] == f"At least {math.floor(100 * several.safety[0].item())} times in 100,"
    assert headline(several, 0).about.startswith("all of the next 2 episodes on a new task from the same distribution")
    assert (
        headline(mean, 0).about == "is the expected return, for tasks from the same distribution, with confidence 0.9"
    )


def test_lines_of_a_list_speak_of_its_tasks():
    suite = jaxcert.certify_suite(PASSED, [0.6, 0.1], delta=0.05)
    assert suite.num_good.tolist() == [2, 5]
    assert [headline(suite, i).claim for i in (0, 1)] == ["At least 2 of these 5 tasks", "All of these 5 tasks"]
    assert headline(suite, 0).about == "reach a probability of success of 0.6, with confidence 0.95"
    each = jaxcert.certify_each_task(PASSED, [0.6, 0.99], delta=0.05, complete=True)
    assert (each.num_good.tolist(), each.num_bad.tolist()) == ([3, 0], [1, 2])
    assert headline(each, 0) == (
        "At least 3 of these 5 tasks",
        "reach a probability of success of 0.6, and 1 does not, with confidence 0.95",
    )
    assert headline(each, 1) == (
        "At least 2 of these 5 tasks",
        "do not reach a probability of success of 0.99, with confidence 0.95",
    )
    mean = jaxcert.certify_suite_mean(PASSED, delta=0.05)
    assert headline(mean, 0).claim == f"At least {short_figures(float(mean.mean))} on average over these 5 tasks"


def test_where_nothing_is_certified_it_says_so():
    bad = RETURNS[:3] * 0 + 0.25
    found = {
        "share": jaxcert.certify(bad, 0.9, **SETTINGS),
        "level": jaxcert.certify_safety_level(bad, 0.99, **SETTINGS),
        "mean": jaxcert.certify_mean(bad * 0, **SETTINGS),
        "between": jaxcert.certify_interval(bad * jnp.nan, 0.5, complete=True, validate=False, **SETTINGS),
        "episode": certify_episode(bad, 0.9, delta=0.1),
        "suite": jaxcert.certify_suite(bad, 0.9, **SETTINGS),
        "each": jaxcert.certify_each_task(bad, 0.9, **SETTINGS),
        "invalid": jaxcert.certify_mean(bad * jnp.nan, validate=False, **SETTINGS),
    }
    lines = {name: headline(answer, 0) for name, answer in found.items()}
    assert {line.claim for line in lines.values()} == {"Nothing is certified"}
    assert all(line.about.startswith("about ") for line in lines.values())
    assert "nothing is certified" in str(found["share"])
    assert lines["level"].about == "about more than the lower end of the support, with confidence 0.9"


def test_of_all_thresholds_together_and_of_every_moment_it_says_so():
    band = jaxcert.certify_band(RETURNS, [0.3], **SETTINGS)
    assert headline(band, 0).about.endswith(", with confidence 0.9 for all together")
    anytime = jaxcert.certify_anytime(RETURNS, [0.3], **SETTINGS)
    assert headline(anytime, 0).about.endswith("with confidence 0.9, at every moment of the sampling of tasks")
