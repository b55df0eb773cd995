"""Every figure that a certificate prints, in its sentence or its short line, is rounded to its safe side."""

import dataclasses
import math
import re
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import jaxcert
from jaxcert import Status, certify
from jaxcert.certificates import certify_episode, certify_lower_bounds, confidence, floor_to
from jaxcert.certificates._figures import at_least, in_hundred, short_figures
from jaxcert.report.html._report_parts import headline

LOWER = np.arange(200, dtype=np.float32)


@given(st.floats(0, 1), st.integers(1, 8))
@example(0.29, 2)
@example(0.57, 2)
@example(1 - 2.0**-24, 4)
@example(0.1 + 0.2, 1)
def test_floor_to_never_rounds_up(value, digits):
    text = floor_to(value, digits)
    assert len(text.split(".")[1]) == digits
    unit = Fraction(1, 10**digits)
    assert Fraction(text) <= Fraction(value) < Fraction(text) + 2 * unit
    if Fraction(value) >= Fraction(text) + unit:  # only where the next figure is the float's own decimal name
        assert math.isclose(float(Fraction(text) + unit), value)


def figures(text: str) -> tuple[str, str, str]:
    """Confidence, threshold and probability of a sentence."""
    words = text.replace(":", "").split()
    return words[2], words[words.index("least") + 1], words[-1].rstrip(".")


@given(st.floats(-200, 199, allow_subnormal=False), st.floats(1e-9, 0.5))
@settings(deadline=None)
def test_sentence_promises_no_more_than_the_certificate(threshold, delta):
    certificate = certify_lower_bounds(LOWER, [threshold], delta=delta, beta=0.05)
    confident, stated, probability = figures(str(certificate))
    if not float(certificate.safety[0]) > 0:
        return
    held = float(certificate.thresholds[0])
    assert Fraction(stated) <= Fraction(held)
    assert float(stated) == pytest.approx(held, rel=1.1e-6)
    assert Fraction(probability) <= Fraction(float(certificate.safety[0]))
    assert Fraction(confident) <= 1 - Fraction(float(certificate.delta))
    assert float(confident) >= 1 - 1.00001 * float(certificate.delta)


@pytest.mark.parametrize("value", [0.52048677, 0.7, 0.9, 123.456789, -0.3, 1e-20])
def test_a_threshold_in_single_precision_is_shown_rounded_down(value):
    held = np.float32(value)
    certificate = certify_lower_bounds(np.full(50, held + 1), jnp.asarray(held), delta=0.1, beta=0.05)
    text = figures(str(certificate))[1]
    assert Fraction(text) <= Fraction(float(held))
    assert float(text) == pytest.approx(value, rel=1.1e-6)


def test_what_is_not_exact_in_its_type_is_shown_on_its_side(x64):
    levels = jnp.asarray([0.05, 0.1], jnp.float32)  # each a little more than the decimal
    assert [confidence(float(level)) for level in levels] == ["0.9499999", "0.899999"]
    assert confidence(0.05) == "0.95"


def test_the_usual_levels_look_like_themselves():
    for delta, text in ((0.01, "0.99"), (0.05, "0.95"), (0.1, "0.9"), (0.001, "0.999"), (1e-6, "0.999999")):
        certificate = certify_lower_bounds(LOWER, [20.1], delta=delta, beta=0.05)
        assert figures(str(certificate))[:2] == (text, "20.1")


def test_every_status_has_its_own_advice():
    assert len({status.advice for status in Status}) == len(Status) == 6
    assert [int(status) for status in Status] == list(range(6))


@pytest.mark.parametrize("threshold", [10.0, 150.0, 500.0])
def test_no_advice_where_none_is_needed(threshold):
    text = str(certify_lower_bounds(LOWER, threshold, delta=0.1, beta=0.05))
    assert "(" not in text
    assert ("nothing is certified" in text) == (threshold == 500)


def test_a_missing_return_is_noted_beside_what_is_still_certified():
    returns = np.ones((60, 20), np.float32)
    returns[59, 3] = np.nan
    certificate = certify(returns, 0.3, support=(0, 1), delta=0.05, validate=False)
    assert Status.INVALID_INPUT.advice in str(certificate)
    assert float(certificate.safety[0]) > 0.8


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
    assert headline(each, 0)[1:] == (
        "At least 3 of these 5 tasks",
        "reach a probability of success of 0.6, and 1 does not, with confidence 0.95",
    )
    assert headline(each, 1)[1:] == (
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
