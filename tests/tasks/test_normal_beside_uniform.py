"""Divergences of normal, uniform and exponential distributions from each other, beside integrals with 30 digits."""

import itertools
import math

import jax
import mpmath
import numpy as np
import pytest

from jaxcert.tasks import task_divergence
from jaxcert.tasks.divergences._divergences import OTHER_WAYS

pytestmark = pytest.mark.usefixtures("promoting")
NAMES = ("total_variation", "kl", "chi2", "ratio")


def divergences(q, p):
    return [task_divergence(q, p, name) for name in NAMES]


def law_of(tfd, parameters):
    """Two numbers are a uniform distribution, four a truncated normal one."""
    return (tfd.Uniform if len(parameters) == 2 else tfd.TruncatedNormal)(*parameters)


def density(mp, parameters):
    """The density in its support, and that; by the float32 that the distribution holds."""
    *normal, low, high = (mp.mpf(float(np.float32(x))) for x in parameters)
    if not normal:
        return (lambda x: 1 / (high - low)), low, high
    kept = mp.quad(lambda x: mp.npdf(x, *normal), [low, high])
    return (lambda x: mp.npdf(x, *normal) / kept), low, high


def by_integrals(q, p):
    """All four by their definitions, between the ends of both supports and the crossings of the densities."""
    mp = mpmath.mp.clone()
    mp.dps = 30
    (q, q_low, q_high), (p, p_low, p_high) = density(mp, q), density(mp, p)
    low, high = max(q_low, p_low), min(q_high, p_high)
    grid = [low + (high - low) * i / 200 for i in range(201)]
    pairs = itertools.pairwise(grid)
    crossings = [
        mp.findroot(lambda x: mp.log(q(x) / p(x)), (a, b), solver="anderson", tol=1e-50)
        for a, b in pairs
        if (q(a) - p(a)) * (q(b) - p(b)) < 0
    ]
    places = sorted([low, *crossings, high])
    both = sum(mp.quad(lambda x: min(q(x), p(x)), piece) for piece in itertools.pairwise(places))
    if not (p_low <= q_low and q_high <= p_high):
        return 1 - both, mp.inf, mp.inf, mp.inf
    log_ratio = lambda x: mp.log(q(x) / p(x))  # noqa: E731
    ends = mp.linspace(low, high, 9)
    return (
        1 - both,
        mp.quad(lambda x: q(x) * log_ratio(x), ends),
        mp.quad(lambda x: q(x) * mp.expm1(log_ratio(x)), ends),
        max(q(x) / p(x) for x in grid),
    )


# The mean of each normal distribution, or the point of its interval that is nearest, is on the grid of 200 parts.
PAIRS = {
    "inside": ((0.5, 0.15, 0.0, 1.0), (0.0, 1.0)),
    "narrower": ((0.25, 0.5, 0.25, 0.75), (-1.0, 1.0)),
    "a tail": ((-0.5, 0.25, 0.0, 1.0), (0.0, 1.5)),
    "beyond": ((0.5, 0.25, -0.5, 1.5), (0.0, 1.0)),
    "overlapping": ((0.5, 0.25, 0.5, 1.5), (0.0, 1.0)),
    "nearly flat": ((0.5, 8.0, 0.0, 1.0), (0.0, 1.0)),
}


@pytest.mark.parametrize("back", [False, True], ids=["normal from uniform", "uniform from normal"])
@pytest.mark.parametrize("name", PAIRS)
def test_integrals_are_met_from_above(tfd, name, back):
    q, p = reversed(PAIRS[name]) if back else PAIRS[name]
    found, wanted = divergences(law_of(tfd, q), law_of(tfd, p)), by_integrals(q, p)
    for value, exact in zip(found, wanted, strict=True):
        if mpmath.isinf(exact):
            assert math.isinf(value)
        else:
            assert exact * (1 - mpmath.mpf(1e-16)) - mpmath.mpf(1e-25) <= value <= exact * (1 + 1e-14) + 1e-24


def test_an_untruncated_one_has_a_total_variation_alone(tfd):
    normal, uniform = tfd.Normal(0.5, 0.25), tfd.Uniform(0.0, 1.0)
    distance, *others = divergences(normal, uniform)
    assert others == [math.inf] * 3
    back = divergences(uniform, normal)
    assert back[0] == pytest.approx(distance, rel=1e-14)
    assert back[3] == pytest.approx(0.25 * math.sqrt(2 * math.pi) * math.exp(2), rel=1e-12)
    half = divergences(tfd.HalfNormal(0.25), uniform)
    assert half[1:] == [math.inf] * 3
    assert 0 < half[0] < 1


def test_an_exponential_one_beside_the_others(tfd):
    mp = mpmath.mp.clone()
    mp.dps = 30
    exponential, e = tfd.Exponential(1.0), mp.e
    wanted = [1 / e, mp.mpf(1) / 2, e - 2, e]
    for value, exact in zip(divergences(tfd.Uniform(0.0, 1.0), exponential), wanted, strict=True):
        assert exact <= value <= exact * (1 + mp.mpf(1e-15))
    # ln of the density of |N| over e^-x is x - x² / 2 + ln(2/π) / 2, largest at 1; the densities cross where it is 0.
    level = mp.log(2 / mp.pi) / 2
    places = [1 + sign * mp.sqrt(1 + 2 * level) for sign in (-1, 1)]
    mass = [mp.erf(x / mp.sqrt(2)) + mp.exp(-x) for x in places]
    square = 2 / mp.pi * mp.quad(lambda x: mp.exp(x - x**2), [0, 1, 4, mp.inf])
    wanted = [mass[1] - mass[0], level + mp.sqrt(2 / mp.pi) - mp.mpf(1) / 2, square - 1, mp.exp(level + mp.mpf(1) / 2)]
    for value, exact in zip(divergences(tfd.HalfNormal(1.0), exponential), wanted, strict=True):
        assert exact <= value <= exact * (1 + mp.mpf(1e-15))
    back = divergences(exponential, tfd.HalfNormal(1.0))
    assert back[1] == pytest.approx(float(mp.quad(lambda x: mp.exp(-x) * (x**2 / 2 - x - level), [0, 1, 9, mp.inf])))
    assert back[2:] == [math.inf] * 2


def test_disjoint_supports_are_as_far_apart_as_can_be(tfd):
    found = divergences(tfd.TruncatedNormal(0.5, 0.25, 0.0, 1.0), tfd.Uniform(2.0, 3.0))
    assert found == [1, *[math.inf] * 3]


def test_the_part_inside_and_the_mass_outside_bound_the_share_of_a_set(tfd):
    """What the page says: the ratio of the truncated distribution, then the total variation from it."""
    inside = tfd.TruncatedNormal(0.5, 0.15, 0.0, 1.0)
    share = task_divergence(tfd.Normal(0.5, 0.15), inside, "total_variation")
    assert share == pytest.approx(math.erfc(0.5 / float(np.float32(0.15)) / math.sqrt(2)), rel=1e-12)
    ratio = task_divergence(inside, tfd.Uniform(0.0, 1.0), "ratio")
    for width in (0.01, 0.1, 0.5):  # the densest set of deployed tasks that the sampled ones have so much of
        deployed = math.erf(width / 2 / 0.15 / math.sqrt(2))
        assert deployed <= ratio * width + share


def test_products_of_both_kinds(tfd):
    def joint(first, second):
        return tfd.JointDistributionSequential([first, second])

    normal, uniform = tfd.TruncatedNormal(0.5, 0.25, 0.0, 1.0), tfd.Uniform(0.0, 1.0)
    one = divergences(normal, uniform)
    found = divergences(joint(normal, uniform), joint(uniform, uniform))
    np.testing.assert_allclose(found, one, rtol=1e-14)
    twice = divergences(joint(normal, normal), joint(uniform, uniform))
    assert twice[3] == pytest.approx(one[3] ** 2, rel=1e-14)


def test_other_pairs_are_refused_with_the_ways_that_are_left(tfd):
    assert OTHER_WAYS.index("certify_weighted") < OTHER_WAYS.index("shifted_epsilon")
    with pytest.raises(
        ValueError, match=r"between discrete and continuous distributions; where the density ratio is bounded, weight"
    ):
        task_divergence(tfd.Bernoulli(probs=0.5), tfd.Uniform(0.0, 1.0), "kl")
    words = "of two distributions, one of them normal, differ by a factor above 1e84"
    with jax.enable_x64(), pytest.raises(ValueError, match=words):
        task_divergence(
            tfd.Normal(np.float64(0), np.float64(1e-50)), tfd.Uniform(np.float64(0), np.float64(1e50)), "kl"
        )
