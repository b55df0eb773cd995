"""Parts of certificates, and certificates as tables and plain values."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from asked import ways

import jaxcert
import jaxcert.training  # every kind of certificate is a subclass of Certificate by then
from jaxcert import certify_lower_bounds

RETURNS = np.random.default_rng(0).uniform(0, 1, (60, 20)).astype(np.float32)
SETTINGS = {"support": (0, 1), "delta": 0.05}
THRESHOLDS = [0.1, 0.3, 0.7]


NAMES = ("safety", "auto", "soft", "band", "interval", "improvement", "anytime", "weighted", "sequential", "episode")


def asked(name: str):
    """Of three thresholds."""
    if name == "shift":
        return jaxcert.certify_shift(asked("safety"), divergence="kl", radius=0.02)
    way = ways(THRESHOLDS)[name]
    return way(jnp.asarray(RETURNS), **way.among(SETTINGS))


@pytest.mark.parametrize("name", [*NAMES, "shift"])
def test_a_part_says_what_the_whole_says_there_and_its_plain_values_survive_json(name):
    whole = asked(name)
    sentences = str(whole).splitlines()
    assert len(whole) == len(sentences) == 3
    for i, line in enumerate(sentences):
        assert str(whole[i]) == str(whole[i - 3]) == line
        assert len(whole[i]) == 1
        assert str(whole.at(THRESHOLDS[i])) == line
    assert str(whole[1:]).splitlines() == sentences[1:]
    assert str(whole[::-1]).splitlines() == sentences[::-1]
    assert [str(part) for part in whole] == sentences
    assert type(whole[0]) is type(whole[:2])
    parts = zip(jax.tree.leaves(whole[1]), jax.tree.leaves(whole), strict=True)
    for part, full in parts:  # of all arrays those at the threshold, or whole without an axis of thresholds
        np.testing.assert_array_equal(part, full[..., 1:2] if np.shape(full)[-1:] == (3,) else full)
    values = whole.to_dict()
    assert list(values) == [each.name for each in dataclasses.fields(whole) if getattr(whole, each.name) is not None]
    assert values["thresholds"] == THRESHOLDS
    assert values["safety"] == np.asarray(whole.safety).tolist()
    assert all(status in ("certified", "vacuous") for status in values["status"])
    assert json.loads(whole.to_json()) == values
    assert "\n" in whole.to_json(indent=2)


def test_what_is_not_finite_is_null_in_json():
    found = certify_lower_bounds(np.array([-np.inf, 0.5]), [0.2], delta=0.1, beta=0.05)
    assert found.to_dict()["lower_bounds"] == [-np.inf, 0.5]
    assert json.loads(found.to_json())["lower_bounds"] == [None, 0.5]


@pytest.mark.parametrize("given", [0.7, np.float32(0.7), np.float64(0.7), jnp.float32(0.7)])
@pytest.mark.parametrize("held", [[0.1, 0.7], np.array([0.1, 0.7], np.float32), jnp.asarray([0.1, 0.7])])
def test_at_finds_a_threshold_as_a_number_of_its_type(precision, held, given):
    if precision == "float64" and np.asarray(given).dtype != np.asarray(held).dtype:
        return
    found = certify_lower_bounds(np.linspace(0, 1, 50), held, delta=0.1, beta=0.05)
    assert str(found.at(given)) == str(found.at(found.thresholds[1])) == str(found[1])


def test_a_threshold_that_was_not_certified():
    lower = jnp.linspace(0, 1, 50)
    with pytest.raises(ValueError, match=r"^0.62 is none of the 3 thresholds; expected one of them"):
        certify_lower_bounds(lower, [0.1, 0.3, 0.7], delta=0.1, beta=0.05).at(0.62)
    some = certify_lower_bounds(lower, [np.nan, 0.3], delta=0.1, beta=0.05, validate=False)
    for number in (np.nan, np.inf, -np.inf, 0.62):
        with pytest.raises(ValueError, match="is none of the 2 thresholds"):
            some.at(number)
    assert str(some.at(0.3)) == str(some[1])
    levels = jax.vmap(lambda level: certify_lower_bounds(lower, level, delta=0.1, beta=0.05))(jnp.array([0.1, 0.3]))
    with pytest.raises(ValueError, match="the same for all"):
        levels.at(0.1)


def test_parts_under_transformations():
    lower = jnp.linspace(0, 1, 50)
    many = certify_lower_bounds(jnp.stack([lower, lower / 2]), [0.1, 0.3], delta=0.1, beta=0.05)
    assert str(many.at(0.1)[1]) == str(many[1, 0])
    assert many.to_dict()["status"] == [["certified", "certified"]] * 2
    with pytest.raises(ValueError, match="has no values here; expected it outside of jit"):
        jax.jit(lambda lower: certify_lower_bounds(lower, 0.1, delta=0.1, beta=0.05).to_json())(lower)


def test_many_thresholds_are_printed_briefly():
    levels = np.linspace(0, 1, 10_000)
    found = certify_lower_bounds(np.linspace(0, 1, 50), levels, delta=0.1, beta=0.05)
    lines = str(found).splitlines()
    assert lines[:5] == [str(found[i]) for i in range(5)]
    assert lines[5] == "... 9990 more ..."
    assert lines[-1] == str(found[-1])
    assert len(lines) == 11
    cvar = jaxcert.certify_cvar(RETURNS, levels[1:-1:50], support=(0, 1), delta=0.1, cap=1.0)
    for each in (found, cvar):
        assert len(str(each)) < 4000
    assert len(str(found[:20]).splitlines()) == 20
