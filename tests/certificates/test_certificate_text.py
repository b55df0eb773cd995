"""Every figure that a certificate prints is rounded to its safe side."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jaxcert import Status, certify_lower_bounds
from jaxcert.certificates import floor_to, sentence

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
    confidence, stated, probability = figures(sentence(certificate, 0))
    if not float(certificate.safety[0]) > 0:
        return
    held = float(certificate.thresholds[0])
    assert float(stated) <= held or np.float32(stated) == np.float32(held)
    assert Fraction(probability) <= Fraction(float(certificate.safety[0]))
    assert float(confidence) <= 1 - float(certificate.delta) * (1 - 1e-6) + 1e-10


def test_the_usual_levels_look_like_themselves():
    for delta, text in ((0.01, "0.99"), (0.05, "0.95"), (0.1, "0.9"), (0.001, "0.999"), (1e-6, "0.999999")):
        certificate = certify_lower_bounds(LOWER, [20.1], delta=delta, beta=0.05)
        assert figures(str(certificate))[:2] == (text, "20.1")


def test_a_certificate_within_a_larger_computation_is_a_pytree():
    @jax.jit
    def worst(lower):
        certificate = certify_lower_bounds(lower, [10.0, 20.0], delta=0.1, beta=0.05)
        return jax.tree.map(lambda leaf: leaf[..., :1], certificate.safety), certificate

    safety, certificate = worst(jnp.asarray(LOWER))
    assert safety.shape == (1,)
    assert (certificate.num_tasks, certificate.bound, certificate.method) == (200, "given", "binomial")
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), certificate, certificate)
    assert stacked.safety.shape == (2, 2)
    assert repr(stacked) == "Certificate(safety of shape (2, 2), num_tasks=200, bound='given', method='binomial')"


def test_a_certificate_goes_through_scan_and_grad():
    def step(total, lower):
        certificate = certify_lower_bounds(lower, 50.0, delta=0.1, beta=0.05)
        return total + certificate.safety[0], certificate

    _, history = jax.lax.scan(step, jnp.float32(0), jnp.stack([jnp.asarray(LOWER), jnp.asarray(LOWER) + 30]))
    assert history.safety.shape == (2, 1)
    assert np.all(np.diff(np.asarray(history.safety)[:, 0]) > 0)
    slope = jax.grad(lambda beta: certify_lower_bounds(LOWER, 50.0, delta=0.1, beta=beta).safety[0])(0.05)
    epsilon = float(certify_lower_bounds(LOWER, 50.0, delta=0.1, beta=0.05).epsilon[0])
    assert float(slope) == pytest.approx(-epsilon / 0.95, rel=1e-5)


def test_repr_of_a_concrete_certificate_has_its_numbers():
    text = repr(certify_lower_bounds(LOWER, [10.0, 250.0], delta=0.1, beta=0.05))
    assert "thresholds=[ 10., 250.]" in text
    assert text.endswith("beta=0.05, delta=0.1, num_tasks=200, bound='given', method='binomial')")


def test_every_status_has_its_own_advice():
    assert len({status.advice for status in Status}) == len(Status) == 5
    assert [int(status) for status in Status] == list(range(5))


@pytest.mark.parametrize("threshold", [10.0, 150.0, 500.0])
def test_no_advice_where_none_is_needed(threshold):
    text = str(certify_lower_bounds(LOWER, threshold, delta=0.1, beta=0.05))
    assert "(" not in text
    assert ("nothing is certified" in text) == (threshold == 500)


def test_an_invalid_bound_is_noted_beside_what_is_still_certified():
    lower = jnp.asarray(LOWER).at[199].set(jnp.nan)
    certificate = certify_lower_bounds(lower, 10.0, delta=0.1, beta=0.05, validate=False)
    assert Status.INVALID_INPUT.advice in str(certificate)
    assert float(certificate.safety[0]) > 0.8
