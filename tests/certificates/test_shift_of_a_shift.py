"""One shift after another: what is exactly one shift again, and what is refused."""

import dataclasses
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert import Status, certify, certify_lower_bounds, certify_shift
from jaxcert.certificates._divergence import DIVERGENCES
from jaxcert.report import certificate_record, verify, write_certificates
from jaxcert.tables import read_returns
from tests.certificates.test_certify_shift import LOWER, RADII, sampled

CHAINS = {
    "total_variation": (0.05, 0.02, 0.07, "within total variation distance 0.07 of the sampled one, "),
    "ratio": (1.5, 2.0, 3.0, "with a density of at most 3 times the sampled one, "),
}


@pytest.mark.parametrize("name", CHAINS)
def test_two_shifts_of_a_kind_are_one_by_both(precision, name):
    first, second, both, words = CHAINS[name]
    before = certify_lower_bounds(LOWER.astype(precision), [400.0, 600.0, 950.0], delta=0.01, beta=0.05)
    found = certify_shift(
        certify_shift(before, divergence=name, radius=first, performance_shift=5.3),
        divergence=name,
        radius=second,
        performance_shift=20.1,
    )
    whole = certify_shift(before, divergence=name, radius=both, performance_shift=25.4)
    u = np.finfo(precision).eps
    np.testing.assert_allclose(found.epsilon, whole.epsilon, rtol=8 * u)
    np.testing.assert_allclose(found.thresholds, whole.thresholds, rtol=4 * u)
    np.testing.assert_array_equal(found.status, whole.status)
    np.testing.assert_allclose(found.radius, both, rtol=8 * u)
    assert str(found).startswith(f"With confidence 0.99: on a new task from any distribution {words}in an environment")
    assert "by at most 25.4, the" in str(found)
    assert found.quantity == "expected return"


def test_what_two_shifts_say_holds_for_the_radius_that_they_name(precision):
    """In exact arithmetic: neither the radius nor c that is held is larger than what was paid for."""
    rng, dtype = np.random.default_rng(6), np.dtype(precision)
    before = certify_lower_bounds(LOWER.astype(dtype), 400.0, delta=0.01, beta=0.05)
    risk, threshold = (Fraction(float(value[0])) for value in (before.epsilon, before.thresholds))
    for first, second in rng.random((20, 2)):
        c = {"performance_shift": 100 * float(first)}
        tv = certify_shift(before, divergence="total_variation", radius=first / 4, **c)
        tv = certify_shift(tv, divergence="total_variation", radius=second / 4, performance_shift=second)
        ratio = certify_shift(before, divergence="ratio", radius=1 + first)
        ratio = certify_shift(ratio, divergence="ratio", radius=1 + 3 * second)
        assert Fraction(float(tv.epsilon[0])) >= risk + Fraction(float(tv.radius))
        assert Fraction(float(tv.radius)) >= (Fraction(first) + Fraction(second)) / 4
        assert Fraction(float(ratio.epsilon[0])) >= risk * Fraction(float(ratio.radius))
        assert Fraction(float(ratio.radius)) >= Fraction(1 + first) * Fraction(1 + 3 * second)
        assert Fraction(float(tv.thresholds[0])) <= threshold - Fraction(float(tv.performance_shift))
        assert Fraction(float(tv.performance_shift)) >= Fraction(100 * float(first)) + Fraction(second)


@pytest.mark.parametrize("name", RADII)
def test_a_performance_shift_and_a_divergence_go_in_either_order(name):
    shift = {"divergence": name, "radius": RADII[name]}
    whole = certify_shift(sampled(), **shift, performance_shift=25.0)
    one_way = certify_shift(certify_shift(sampled(), **shift), performance_shift=25.0)
    other_way = certify_shift(certify_shift(sampled(), performance_shift=25.0), **shift)
    for found in (one_way, other_way):
        assert jax.tree.structure(found) == jax.tree.structure(whole)
        assert jax.tree.all(jax.tree.map(np.array_equal, found, whole))


def test_a_shift_by_nothing_changes_no_digit(precision):
    for name in CHAINS:
        least = DIVERGENCES[name].least
        once = certify_shift(sampled(), divergence=name, radius=1.5 * least + 0.1, performance_shift=0.3)
        found = certify_shift(once, divergence=name, radius=least, performance_shift=0.0)
        assert jax.tree.all(jax.tree.map(np.array_equal, found, once))
        first = certify_shift(sampled(), divergence=name, radius=least, performance_shift=0.0)
        found = certify_shift(first, divergence=name, radius=1.5 * least + 0.1, performance_shift=0.3)
        assert jax.tree.all(jax.tree.map(np.array_equal, found, once))


def test_a_chain_reaches_no_further_than_there_is():
    far = certify_shift(sampled(), divergence="total_variation", radius=0.7)
    found = certify_shift(far, divergence="total_variation", radius=0.7)
    assert (float(found.radius), float(found.epsilon[0])) == (1, 1)
    bad = jax.jit(lambda radius: certify_shift(sampled(), divergence="total_variation", radius=radius))(-0.1)
    for again in (
        certify_shift(bad, divergence="total_variation", radius=0.1),
        certify_shift(bad, performance_shift=1),
    ):
        assert (float(again.safety[0]), int(again.status[0])) == (0, Status.INVALID_INPUT)


@pytest.mark.parametrize(("first", "second"), [("kl", "kl"), ("chi2", "chi2"), ("ratio", "total_variation")])
def test_shifts_whose_radii_do_not_combine_are_refused(first, second):
    found = certify_shift(sampled(), divergence=first, radius=RADII[first])
    words = f"one of a shift in {first} already, and one in {second} from there .* apply shifted_epsilon to the epsilon"
    with pytest.raises(ValueError, match=words):
        certify_shift(found, divergence=second, radius=RADII[second])


def test_a_batch_of_shifts_is_refused():
    several = certify_shift(sampled(), divergence="kl", radius=0.02)
    several = dataclasses.replace(several, radius=jnp.asarray([0.01, 0.02]))
    with pytest.raises(ValueError, match="certificate is a batch of shifts; expected one of them"):
        certify_shift(several, performance_shift=1.0)


def test_files_of_several_shifts_and_of_none_are_verified(tmp_path):
    """Of many, the rounding does not pile up: they are one shift by all of them."""
    drawn = np.random.default_rng(0).uniform(0.4, 1, (40, 20)).astype(np.float32)
    np.savez(tmp_path / "returns.npz", returns=drawn)
    data, shift = read_returns(tmp_path / "returns.npz"), {"divergence": "total_variation", "radius": 0.03}
    found = certify(data.returns, [0.25, 0.5, 0.99], support=(0, 1), delta=0.05)
    many, none, twice = found, certify_shift(found, performance_shift=0.0), certify_shift(found, **shift)
    for _ in range(6):
        many = certify_shift(many, divergence="ratio", radius=1.1, performance_shift=0.013)
    assert many.sampled is found
    assert 1.1**6 <= float(many.radius) < 1.1**6 * (1 + 1e-5)
    each = (certify_shift(twice, **shift), many, none)
    records = [certificate_record(one, support=(0, 1), data=data) for one in each]
    assert records[0]["settings"]["radius"] == pytest.approx(0.06)
    assert "within total variation distance 0.06 of the sampled one" in records[0]["rows"][0]["sentence"]
    write_certificates(tmp_path / "c.json", records)
    assert verify(tmp_path / "c.json", tmp_path / "returns.npz").ok


def test_a_threshold_beyond_the_type_is_below_every_number():
    low = certify_lower_bounds(np.ones(40, np.float32), [-2e38], delta=0.1, beta=0.05)
    assert certify_shift(low, performance_shift=3e38).thresholds.tolist() == [-np.inf]
