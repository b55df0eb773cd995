"""The risk over distributions near the sampled one: exact, attained, on the safe side."""

import functools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from conftest import x64_context

from jaxcert import shifted_epsilon
from jaxcert.certificates._shift import DIVERGENCES

NAMES = sorted(DIVERGENCES)
mpf = mpmath.mpf


@pytest.fixture(autouse=True)
def _many_digits():
    with mpmath.workdps(60):
        yield


def total_variation(other, sampled):
    return mpmath.fsum(abs(a - b) for a, b in zip(other, sampled, strict=True)) / 2


def kl(other, sampled):
    return mpmath.fsum(a * mpmath.log(a / b) for a, b in zip(other, sampled, strict=True) if a > 0)


def chi2(other, sampled):
    return mpmath.fsum((a - b) ** 2 / b for a, b in zip(other, sampled, strict=True))


def ratio(other, sampled):
    return max(a / b for a, b in zip(other, sampled, strict=True))


DISTANCES = {"chi2": chi2, "kl": kl, "ratio": ratio, "total_variation": total_variation}


def exponential_weights(p, radius):
    """Of a tilted distribution: the tilt at which its divergence is the radius."""

    def of(tilt):
        total = p * mpmath.exp(tilt) + (1 - p)
        return mpmath.exp(tilt) / total, 1 / total

    low, high = mpf(0), mpf(200)
    for _ in range(200):
        tilt = (low + high) / 2
        other = [w * mass for w, mass in zip(of(tilt), (p, 1 - p), strict=True)]
        low, high = (tilt, high) if kl(other, [p, 1 - p]) < radius else (low, tilt)
    return of(low)


# dD'/dD on the bad and on the good tasks, of probabilities p and 1 - p.
WEIGHTS = {
    "chi2": lambda p, r: (1 + mpmath.sqrt(r * (1 - p) / p), 1 - mpmath.sqrt(r * p / (1 - p))),
    "kl": exponential_weights,
    "ratio": lambda p, r: (r, (1 - r * p) / (1 - p)),
    "total_variation": lambda p, r: (1 + r / p, 1 - r / (1 - p)),
}


LARGEST = {"chi2": 0.2681, "kl": 0.0739, "ratio": 4.3931, "total_variation": 0.0772}


@pytest.mark.parametrize("name", NAMES)
def test_largest_radii_of_the_docs(x64, name):
    """Up to which the risk is at most 0.1, by the divergence of two laws on two points."""
    p = 1 - 0.01 ** (1 / 200)
    radius = float(DISTANCES[name]([mpf(0.1), mpf(0.9)], [mpf(p), 1 - mpf(p)]))
    assert np.floor(radius * 1e4) / 1e4 == LARGEST[name]
    np.testing.assert_allclose(shifted_epsilon(p, radius, divergence=name), 0.1, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("p", [0.0227627790441895, 0.3, 1e-6])
def test_attained_by_a_reweighting_of_two_points(x64, name, p):
    """A distribution D' within the radius whose probability of the bad task is the bound."""
    for radius in {"ratio": (1.001, 1.5, 3.0)}.get(name, (1e-5, 0.02, 0.3)):
        sampled = [mpf(p), 1 - mpf(p)]
        weights = WEIGHTS[name](mpf(p), mpf(radius))
        other = [w * mass for w, mass in zip(weights, sampled, strict=True)]
        assert min(other) >= 0
        assert abs(sum(other) - 1) < 1e-40
        assert abs(DISTANCES[name](other, sampled) / radius - 1) < 1e-25
        found = float(shifted_epsilon(p, radius, divergence=name))
        assert 0 <= found / other[0] - 1 < 1e-13


@pytest.mark.parametrize("name", NAMES)
def test_where_it_is_1_a_distribution_within_the_radius_has_only_bad_tasks(x64, name):
    p, only_bad = mpf(0.25), [mpf(1), mpf(0)]
    radius = float(DISTANCES[name](only_bad, [p, 1 - p]))
    assert shifted_epsilon(0.25, radius * (1 + 1e-12), divergence=name) == 1
    assert 0.999 < shifted_epsilon(0.25, radius * (1 - 1e-6), divergence=name) < 1


@pytest.mark.parametrize("name", NAMES)
def test_holds_for_every_event_of_random_distributions(x64, name):
    rng, cases = np.random.default_rng(1), []
    for _ in range(300):
        size = rng.integers(2, 7)
        sampled, other = rng.dirichlet(np.full(size, rng.choice([0.3, 1, 20])), 2)
        other = rng.choice([1, 0.1, 0.01]) * (other - sampled) + sampled
        event = rng.random(size) < rng.uniform(0.1, 0.9)
        if min(*sampled, *other) < 1e-12:
            continue
        radius = float(DISTANCES[name](list(map(mpf, other)), list(map(mpf, sampled)))) * (1 + 1e-12)
        cases.append((min(sampled[event].sum(), 1), other[event].sum(), radius))
    mass, wanted, radius = np.array(cases).T
    found = shifted_epsilon(mass, np.minimum(radius, 1) if name == "total_variation" else radius, divergence=name)
    assert len(cases) > 150
    assert np.all(np.asarray(found) >= wanted - 1e-12)
    assert np.mean(np.asarray(found)) < 0.95


def problems(name: str, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Risks and radii of all sizes that the type holds."""
    rng, small, size = np.random.default_rng(0), float(np.finfo(dtype).tiny) * 1.01, 150
    tail = 10 ** rng.uniform(np.log10(small), 0, size)
    epsilon = np.concatenate([10 ** rng.uniform(-5, 0, 2 * size), 1 - 10 ** rng.uniform(-6, -0.3, size), tail])
    radius = np.concatenate([10 ** rng.uniform(-6, 0, 2 * size), 10 ** rng.uniform(-14, 1.5, size), tail[::-1]])
    if name == "ratio":
        radius = 1 + radius
    return epsilon.astype(dtype), np.minimum(radius, DIVERGENCES[name].largest).astype(dtype)


def is_at_least_exact(name: str, q, p, radius) -> bool:
    """Whether q >= the largest probability within the radius."""
    q, p, radius = mpf(float(q)), mpf(float(p)), mpf(float(radius))
    if name == "kl":
        with mpmath.workdps(60 - 2 * int(mpmath.log10(p))):
            return q > p and kl([q, 1 - q], [p, 1 - p]) >= radius
    exact = {"total_variation": p + radius, "ratio": p * radius, "chi2": p + mpmath.sqrt(radius * p * (1 - p))}
    return q >= exact[name]


@pytest.mark.parametrize("name", NAMES)
def test_never_below_the_exact_value_and_close(name, precision):
    u, tiny = float(np.finfo(precision).eps) / 2, float(np.finfo(precision).tiny)
    epsilon, radius = problems(name, precision)
    found = np.asarray(shifted_epsilon(epsilon, radius, divergence=name))
    assert found.dtype == precision
    inner = found < 1
    assert inner.sum() > len(found) / 2
    for q, p, r in zip(found[inner], epsilon[inner], radius[inner], strict=True):
        assert is_at_least_exact(name, q, p, r)
        lower = float(q) * (1 - 80 * u) - 2 * tiny
        # The smaller terms of a divergence near the smallest number are lost.
        assert not is_at_least_exact(name, lower, p, float(r) + 4 * tiny * (name == "kl")), (q, p, r)
    for p, r in zip(epsilon[~inner], radius[~inner], strict=True):
        assert p == 1 or not is_at_least_exact(name, 1 - 80 * u, p, r)


@functools.cache
def compiled(name: str):
    return jax.jit(functools.partial(shifted_epsilon, divergence=name))


@pytest.mark.parametrize("name", NAMES)
def test_at_the_least_radius_and_at_both_ends(name, precision):
    least = DIVERGENCES[name].least
    epsilon = np.array([0, 1e-30, 0.0228, 0.5, 1], precision)
    np.testing.assert_array_equal(shifted_epsilon(epsilon, least, divergence=name), epsilon)
    ends = shifted_epsilon(np.array([0, 1], precision), least + 0.25, divergence=name)
    np.testing.assert_array_equal(ends, [0.25 if name == "total_variation" else 0, 1])


NO_RADIUS = [(name, bad, "expected a (finite )?number") for name in NAMES for bad in (-0.1, np.nan, np.inf)]
NO_RADIUS += [("total_variation", 1.01, "expected "), ("ratio", 0.99, "expected ")]


@pytest.mark.parametrize(("name", "bad", "words"), NO_RADIUS)
def test_a_radius_out_of_range(name, bad, words, precision):
    with pytest.raises(ValueError, match=rf"radius\[1\] is {bad:g}; {words}"):
        shifted_epsilon(0.1, [1.0, bad], divergence=name)
    unchecked = shifted_epsilon(0.1, bad, divergence=name, validate=False)
    assert unchecked == compiled(name)(0.1, bad) == 1


@pytest.mark.parametrize("bad", [-0.1, 1.1, np.nan])
def test_a_risk_out_of_range(bad, precision):
    with pytest.raises(ValueError, match=r"epsilon is .*; expected a probability in \[0, 1\]"):
        shifted_epsilon(bad, 0.1, divergence="kl")
    for name in NAMES:
        assert compiled(name)(bad, 1.0) == 1


@pytest.mark.parametrize(
    ("epsilon", "radius", "name", "message"),
    [
        (0.1, 1e60, "kl", r"radius is 1e\+60; expected a finite number"),
        (0.1, 0.1, "js", "divergence is 'js'; expected one of chi2, kl, ratio, total_variation"),
        ([0.1, 0.2], [0.1, 0.2, 0.3], "kl", r"shapes do not broadcast: epsilon \(2,\), radius \(3,\)"),
        (0.1, "much", "kl", "radius has dtype"),
    ],
)
def test_other_arguments_are_refused(epsilon, radius, name, message):
    with x64_context(False), pytest.raises(ValueError, match=message):
        shifted_epsilon(epsilon, radius, divergence=name)


def test_numbers_are_rounded_up_on_their_way_to_float32():
    with x64_context(False):
        for name in NAMES:
            radius = DIVERGENCES[name].least + 0.1
            found = [float(shifted_epsilon(0.1, radius, divergence=name)), float(compiled(name)(0.1, radius))]
            with x64_context(True):
                exact = float(shifted_epsilon(0.1, radius, divergence=name))
            assert min(found) >= exact
            assert max(found) < exact * (1 + 1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives(x64, name):
    least = DIVERGENCES[name].least
    epsilon, radius, step = np.array([1e-4, 0.0228, 0.3]), least + np.array([1e-3, 0.02, 0.3]), 1e-7
    slopes = jax.vmap(jax.grad(functools.partial(shifted_epsilon, divergence=name), (0, 1)))(epsilon, radius)
    for slope, (in_epsilon, in_radius) in zip(slopes, [(step * epsilon, 0), (0, step * (radius - least))], strict=True):
        above = shifted_epsilon(epsilon + in_epsilon, radius + in_radius, divergence=name)
        below = shifted_epsilon(epsilon - in_epsilon, radius - in_radius, divergence=name)
        np.testing.assert_allclose(slope, (above - below) / (2 * (in_epsilon + in_radius)), rtol=1e-5)
    ends = jnp.array([0.0, 0.5, 1.0, 0.9]), least + jnp.array([0, 0, 0.5, 0.9])
    edges = jax.vmap(jax.grad(compiled(name), (0, 1)))(*ends)
    assert np.all(np.isfinite(edges))
