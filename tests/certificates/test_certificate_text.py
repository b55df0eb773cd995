"""Every figure that a certificate prints, is rounded to its safe side."""

import math
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jaxcert import Status, certify
from jaxcert.certificates import certify_lower_bounds, confidence, floor_to

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
