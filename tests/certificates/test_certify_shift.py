"""Certificates for new tasks that differ from the sampled ones."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxcert
from jaxcert import Status, certify_lower_bounds, certify_shift, shifted_epsilon
from jaxcert.baselines import certify_plug_in
from jaxcert.certificates._shift import DIVERGENCES
from jaxcert.planning import advise
from jaxcert.report import step_curve

CHEETAH = jaxcert.sample_returns("cheetah")
GOOD = {"support": (0.0, 1000.0), "delta": 0.01}
NAMES = sorted(DIVERGENCES)
RADII = {"chi2": 0.04, "kl": 0.02, "ratio": 2.0, "total_variation": 0.02}
KL = {"divergence": "kl", "radius": 0.02}
LOWER = np.linspace(400, 900, 200)


def sampled():
    """No violation at 400, many at 600, and nothing but violations at 950."""
    return certify_lower_bounds(LOWER, [400.0, 600.0, 950.0], delta=0.01, beta=0.05)


@pytest.mark.parametrize("name", NAMES)
def test_the_risk_is_that_within_the_radius_and_the_rest_stays(name):
    before = sampled()
    found = certify_shift(before, divergence=name, radius=RADII[name])
    np.testing.assert_array_equal(found.epsilon, shifted_epsilon(before.epsilon, RADII[name], divergence=name))
    assert np.all(np.asarray(found.safety) <= 1 - np.asarray(found.epsilon, float))
    for kept in ("thresholds", "lower_bounds", "num_violations", "num_valid", "beta", "delta"):
        np.testing.assert_array_equal(getattr(found, kept), getattr(before, kept))
    assert (found.num_tasks, found.bound, found.method, found.simultaneous) == (200, "given", "binomial", False)
    np.testing.assert_array_equal(found.status, np.where(found.epsilon < 1, Status.CERTIFIED, Status.VACUOUS))


SENTENCES = {
    "chi2": "from any distribution within chi-squared divergence 0.04 of the sampled one, the",
    "kl": "from any distribution within KL divergence 0.02 of the sampled one, the",
    "ratio": "from any distribution with a density of at most 2 times the sampled one, the",
    "total_variation": "from any distribution within total variation distance 0.02 of the sampled one, the",
}


@pytest.mark.parametrize("name", NAMES)
def test_the_sentence_says_which_distributions(name):
    text = str(certify_shift(sampled(), divergence=name, radius=RADII[name])).splitlines()
    assert text[0].startswith(f"With confidence 0.99: on a new task {SENTENCES[name]} expected return is at least 400 ")
    assert text[2] == "With confidence 0.99: nothing is certified about an expected return of at least 950."


def test_of_safety_levels_the_safety_becomes_smaller():
    levels = jaxcert.certify_safety_level(CHEETAH, [0.5, 0.9, 0.999], **GOOD)
    found = certify_shift(levels, divergence="ratio", radius=1.5)
    np.testing.assert_array_equal(found.thresholds, levels.thresholds)
    np.testing.assert_allclose(found.safety, [0.25, 0.85, 0.9985], rtol=1e-6)
    assert not found.simultaneous
    assert "no more than the lower end of the support" in str(found).splitlines()[2]
    np.testing.assert_array_equal(found.status, levels.status)


TV = {"divergence": "total_variation", "radius": 0.05}
NEAR = "within total variation distance 0.05 of the"


def test_each_kind_keeps_what_it_says_of_its_tasks():
    usual, one = sampled(), jnp.float32(1.5)
    always = "With confidence 0.99, at every moment of the sampling of tasks: on"
    of_pairs = "expected return of policy A minus that of policy B"
    for own, start, source, quantity in (
        ({}, "With confidence 0.99: on", "sampled", "expected return"),
        ({"source": "reweighted", "max_weight": one}, "With confidence 0.99: on", "reweighted", "expected return"),
        ({"quantity": of_pairs}, "With confidence 0.99: on", "sampled", of_pairs),
        ({"level": one, "low": one, "simultaneous": True}, "for all together: on", "sampled", "expected return"),
        ({"history": usual.epsilon[None]}, always, "sampled", "expected return"),
    ):
        found = certify_shift(dataclasses.replace(usual, **own), **TV)
        assert start in str(found)
        assert f"{NEAR} {source} one, the {quantity} is at least 400 with" in str(found)
        assert found.history is None  # what a shift does not move is not read from it
        with pytest.raises(ValueError, match=r"band is a Certificate that answers .*; expected one of certify_band"):
            jaxcert.certify_tail(found, 0.1)


def test_what_is_bad_under_a_tracer_certifies_nothing(precision):
    before = sampled()
    for name, bad in (("kl", -0.1), ("kl", np.nan), ("ratio", 0.5), ("total_variation", 1.5)):
        found = jax.jit(lambda radius, name=name: certify_shift(before, divergence=name, radius=radius))(bad)
        assert (float(found.epsilon[0]), float(found.safety[0])) == (1, 0)
        assert int(found.status[0]) == Status.INVALID_INPUT
        assert "nothing is certified" in str(found)
    assert certify_shift(before, divergence="kl", radius=np.nan, validate=False).safety[0] == 0


def test_bad_data_stay_bad():
    before = jaxcert.certify(np.full((20, 5), 2.0), 0.5, support=(0, 1), delta=0.1, validate=False)
    assert int(certify_shift(before, **KL).status[0]) == Status.INVALID_INPUT


REFUSED = [
    ({"divergence": "kl", "radius": -0.1}, "radius is -0.1; expected a finite number of at least 0"),
    ({"divergence": "kl", "radius": [0.1, 0.2]}, r"radius has shape \(2,\); expected a scalar \(use jax.vmap"),
    ({"divergence": "ratio", "radius": 0.5}, "radius is 0.5; expected a finite number of at least 1"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_refused_options(options, message):
    with pytest.raises(ValueError, match=message):
        certify_shift(sampled(), **options)


def test_refused_certificates():
    interval = jaxcert.certify_interval(CHEETAH, 400.0, **GOOD, complete=True)
    mean = jaxcert.certify_mean(CHEETAH, **GOOD)
    episode = jaxcert.certify_episode(CHEETAH, 400.0, delta=0.01)
    estimate = certify_plug_in(np.full((20, 5), 0.9), 0.5, delta=0.1)
    with_rollouts = jaxcert.PolicyCertificate(sampled(), returns=jnp.ones((200, 5)), tasks=None)
    for refused, message in (
        (interval, "of an interval, whose upper end would be lost"),
        (mean, "a MeanCertificate that answers 'mean'; expected one of a share of new tasks"),
        (episode, "an EpisodeCertificate that answers 'episode'; expected one of a share of new tasks"),
        (estimate, "certificate is a PlugInEstimate; expected one of a share of new tasks"),
        (with_rollouts, r"a PolicyCertificate with rollouts; expected its \.certificate"),
        (0.0228, "a float; expected one of a share of new tasks"),
    ):
        with pytest.raises(ValueError, match=message):
            certify_shift(refused, **KL)


def test_what_starts_from_the_lower_bounds_again_refuses_it():
    found = certify_shift(sampled(), **KL)
    with pytest.raises(
        ValueError, match="shifted; expected the certificate of the sampled tasks: shift its curve instead"
    ):
        step_curve(found)
    with pytest.raises(ValueError, match="one of a shift; expected the one of the sampled tasks, and a larger safety"):
        advise(found, support=(0, 1000), safety=0.9)
    curve = certify_shift(step_curve(sampled()), **KL)
    np.testing.assert_array_equal(curve.epsilon[0], found.epsilon[0])


def test_a_shift_is_of_the_sampled_tasks():
    found = certify_shift(sampled(), **KL)
    with pytest.raises(ValueError, match=r"shifted already; expected its \.sampled, and one shift by both"):
        certify_shift(found, **TV)
