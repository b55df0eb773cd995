"""Divergences of distributions of tasks beside integrals with 30 digits and sums over all values."""

import itertools
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxcert.tasks import task_divergence

pytestmark = pytest.mark.usefixtures("promoting")
NAMES = ("total_variation", "kl", "chi2", "ratio")


def divergences(q, p):
    return np.array([task_divergence(q, p, name) for name in NAMES])


class Density(NamedTuple):
    """A density on an interval, and twice its curvature and its slope at 0 as a logarithm, with 30 digits."""

    at: Callable[[Any], Any]
    curve: Any
    slope: Any
    low: Any
    high: Any


MP = mpmath.mp.clone()
MP.dps = 30
FAR = 24.0  # in place of infinite ends, beyond which less than 1e-30 of these distributions is


def law_of(tfd, parameters):
    """Two numbers are a uniform distribution, four a normal one, truncated unless its ends are infinite."""
    if len(parameters) == 2:
        return tfd.Uniform(*parameters)
    return tfd.TruncatedNormal(*parameters) if math.isfinite(parameters[2]) else tfd.Normal(*parameters[:2])


def density(parameters) -> Density:
    """By the float32 that the distribution holds."""
    *normal, low, high = (MP.mpf(float(np.float32(np.clip(x, -FAR, FAR)))) for x in parameters)
    if not normal:
        return Density(lambda x: 1 / (high - low), MP.zero, MP.zero, low, high)
    mean, std = normal
    kept = MP.ncdf(high, mean, std) - MP.ncdf(low, mean, std)
    return Density(lambda x: MP.npdf(x, mean, std) / kept, -1 / std**2, mean / std**2, low, high)


def by_integrals(q, p):
    """All four by their definitions: integrals between the crossings of the densities, and the ratio at its peak.

    Of distributions on the whole line those that may be infinite are replaced by closed forms.
    """
    whole_line = math.isinf(q[-1])
    q, p = density(q), density(p)
    low, high = max(q.low, p.low), min(q.high, p.high)
    log_ratio = lambda x: MP.log(q.at(x) / p.at(x))  # noqa: E731
    square, slope = (q.curve - p.curve) / 2, q.slope - p.slope
    level = log_ratio(low) - square * low**2 - slope * low
    width = MP.sqrt(slope**2 - 4 * square * level)
    roots = [(sign * width - slope) / (2 * square) for sign in (1, -1)] if square else [-level / slope] if slope else []
    inner = [MP.re(x) for x in roots if MP.im(x) == 0 and low < MP.re(x) < high]
    places = sorted([*MP.linspace(low, high, 17 if high - low > FAR else 3), *inner])
    distance = 1 - sum(MP.quad(lambda x: min(q.at(x), p.at(x)), piece) for piece in itertools.pairwise(places))
    if not (p.low <= q.low and q.high <= p.high):
        return distance, MP.inf, MP.inf, MP.inf
    peaks = [low, high, *([-slope / (2 * square)] if square < 0 and low < -slope / (2 * square) < high else [])]
    kl = MP.quad(lambda x: q.at(x) * log_ratio(x), places)
    if not whole_line:
        chi2 = MP.quad(lambda x: q.at(x) * MP.expm1(log_ratio(x)), places)
        return distance, kl, chi2, MP.exp(max(map(log_ratio, peaks)))
    variances = -1 / q.curve, -1 / p.curve
    room = 2 * variances[1] - variances[0]
    apart = (q.slope * variances[0] - p.slope * variances[1]) ** 2
    chi2 = variances[1] / MP.sqrt(variances[0] * room) * MP.exp(apart / room) - 1 if room > 0 else MP.inf
    return distance, kl, chi2, MP.inf if square >= 0 else MP.exp(max(map(log_ratio, peaks)))


INF = math.inf
PAIRS = {
    "narrower": ((0.25, 0.5, -INF, INF), (0.0, 1.0, -INF, INF)),
    "equal stds": ((0.5, 1.0, -INF, INF), (0.0, 1.0, -INF, INF)),
    "wider": ((0.1, 1.25, -INF, INF), (0.0, 1.0, -INF, INF)),
    "far": ((3.0, 0.75, -INF, INF), (0.0, 1.0, -INF, INF)),
    "same interval": ((0.3, 0.2, 0.0, 1.0), (0.4, 0.25, 0.0, 1.0)),
    "within": ((0.3, 0.5, 0.25, 0.75), (0.4, 0.25, 0.0, 1.0)),
    "wider on an interval": ((0.3, 2.0, 0.0, 1.0), (0.4, 0.5, 0.0, 1.0)),
    "outside the means": ((-0.5, 0.25, 0.0, 1.0), (1.5, 0.5, 0.0, 1.0)),
    "inside a uniform one": ((0.5, 0.15, 0.0, 1.0), (0.0, 1.0)),
    "narrower than a uniform one": ((0.25, 0.5, 0.25, 0.75), (-1.0, 1.0)),
    "a tail": ((-0.5, 0.25, 0.0, 1.0), (0.0, 1.5)),
    "beyond": ((0.5, 0.25, -0.5, 1.5), (0.0, 1.0)),
    "overlapping": ((0.5, 0.25, 0.5, 1.5), (0.0, 1.0)),
    "nearly flat": ((0.5, 8.0, 0.0, 1.0), (0.0, 1.0)),
}


def assert_met_from_above(found, wanted):
    """To the last bits of a float."""
    for name, value, exact in zip(NAMES, found, wanted, strict=True):
        if mpmath.isinf(exact):
            assert math.isinf(value), name
        else:
            assert exact * (1 - mpmath.mpf(1e-16)) - mpmath.mpf(1e-25) <= value <= exact * (1 + 1e-14) + 1e-24, name


@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
@pytest.mark.parametrize("name", PAIRS)
def test_integrals_are_met_from_above(tfd, name, back):
    q, p = reversed(PAIRS[name]) if back else PAIRS[name]
    found = divergences(law_of(tfd, q), law_of(tfd, p))
    assert_met_from_above(found, by_integrals(q, p))


def test_known_values_are_met_from_above(tfd):
    """Closed forms, on parameters that float32 holds."""
    one, e, uniform = MP.one, MP.e, tfd.Uniform(0.0, 1.0)
    coins = [one / 4, MP.log(2) + MP.log(one / 4) / 4 + 3 * MP.log(3 * one / 4) / 4, one / 4, 3 * one / 2]
    for q, p, wanted in (
        (tfd.Exponential(2.0), tfd.Exponential(1.0), [one / 4, MP.log(2) - one / 2, one / 3, 2 * one]),
        (tfd.Uniform(0.25, 0.5), uniform, [3 * one / 4, MP.log(4), 3 * one, 4 * one]),
        (uniform, tfd.Exponential(1.0), [1 / e, one / 2, e - 2, e]),
        (tfd.Bernoulli(probs=0.25), tfd.Bernoulli(probs=0.5), coins),
        (tfd.TruncatedNormal(0.5, 0.25, 0.0, 1.0), tfd.Uniform(2.0, 3.0), [one, *[MP.inf] * 3]),  # disjoint
    ):
        assert_met_from_above(divergences(q, p), wanted)


def test_tiny_shifts_keep_their_digits(tfd):
    """Neighbouring float32 parameters: KL is near 1e-14, the difference of numbers near 1/2."""
    mp = mpmath.mp.clone()
    mp.dps = 50
    near = float(np.nextafter(np.float32(1), np.float32(2)))
    for q, exact in (
        ((near, 1.0), (mp.mpf(near) - 1) ** 2 / 2),
        ((1.0, near), (mp.mpf(near) ** 2 - 1) / 2 - mp.log(near)),
    ):
        found = task_divergence(tfd.Normal(*q), tfd.Normal(1.0, 1.0), "kl")
        assert exact <= found <= exact * (1 + mp.mpf(10) ** -15)


@pytest.mark.parametrize("size", [1e10, 1e20, 1e37])
def test_normal_distributions_across_the_range_of_float32(tfd, size):
    """A point beside nearly all of float32: the closed forms subtract numbers of up to 1e148."""
    mp = mpmath.mp.clone()
    mp.dps = 400
    q, p = (np.float32(size), np.float32(1 / size)), (np.float32(0), np.float32(size))
    mean, std, wide = mp.mpf(float(q[0])), mp.mpf(float(q[1])), mp.mpf(float(p[1]))
    wanted = (
        mp.log(wide / std) + (std**2 + mean**2) / (2 * wide**2) - mp.mpf(1) / 2,
        wide**2 / (std * mp.sqrt(2 * wide**2 - std**2)) * mp.exp(mean**2 / (2 * wide**2 - std**2)) - 1,
        wide / std * mp.exp(mean**2 / (2 * (wide**2 - std**2))),
    )
    found = divergences(tfd.Normal(*q), tfd.Normal(*p))
    assert 1 - 2 / size <= found[0] <= 1
    for value, exact in zip(found[1:], wanted, strict=True):
        assert exact <= value <= exact * (1 + mp.mpf(10) ** -15)


def test_logits_whose_probability_is_no_float(tfd):
    """It is not zero: where both have it, the ratio is e^(1e37 - 1e30), not one of impossible values."""
    q, p = (tfd.Categorical(logits=np.float32([0, logit])) for logit in (-1e30, -1e37))
    found = divergences(q, p)
    assert np.all(found[:2] <= 1e-39)
    assert np.all(np.isinf(found[2:]))
    assert np.all(divergences(p, q) <= [1e-39, 1e-39, 1e-39, 1 + 1e-15])


def by_sums(q, p):
    """All four of probabilities [k]."""
    on = q > 0
    with np.errstate(divide="ignore"):
        ratio = q[on] / p[on]
    return np.array([np.maximum(q - p, 0).sum(), q[on] @ np.log(ratio), q[on] @ ratio - 1, ratio.max()])


def test_categories(tfd):
    """Probabilities in any proportion, logits, one-hot samples, a category that is missing on one side."""
    q, p = np.array([0.5, 0.25, 0.25, 0.0]), np.array([0.125, 0.25, 0.5, 0.125])
    for kind in (tfd.Categorical, tfd.OneHotCategorical):
        found = divergences(kind(probs=2 * q.astype(np.float32)), kind(probs=p.astype(np.float32)))
        np.testing.assert_allclose(found, by_sums(q, p), rtol=1e-14)
    found = divergences(
        tfd.Categorical(logits=np.log(p).astype(np.float32)),
        tfd.Categorical(probs=np.float32([0.25, 0.25, 0.25, 0.25])),
    )
    np.testing.assert_allclose(found, by_sums(p, np.full(4, 0.25)), rtol=1e-6)
    found = divergences(tfd.Categorical(probs=np.float32(p)), tfd.Categorical(probs=np.float32(q)))
    assert found[0] == pytest.approx(by_sums(q, p)[0], rel=1e-14)
    assert np.all(np.isinf(found[1:]))
    three = tfd.Categorical(probs=np.float32([0.5, 0.25, 0.25]))
    np.testing.assert_allclose(divergences(three, tfd.Categorical(probs=np.float32(q))), [0, 0, 0, 1], atol=1e-15)


WEIGHTS = st.lists(st.floats(0.015625, 1, width=32), min_size=3, max_size=3)


@given(*[WEIGHTS] * 4)
def test_products_beside_all_pairs(q_first, q_second, p_first, p_second):
    from tensorflow_probability.substrates import jax as tfp

    def joint(*parts):
        named = {f"part{place}": tfp.distributions.Categorical(probs=np.float32(w)) for place, w in enumerate(parts)}
        return tfp.distributions.JointDistributionNamed(named)

    def outer(first, second):
        return np.outer(np.float64(first) / sum(first), np.float64(second) / sum(second)).ravel()

    found = divergences(joint(q_first, q_second), joint(p_first, p_second))
    wanted = by_sums(outer(q_first, q_second), outer(p_first, p_second))
    np.testing.assert_allclose(found[1:], wanted[1:], rtol=1e-9, atol=1e-14)
    assert found[0] >= wanted[0] - 1e-15
    assert found[0] <= min(1, math.sqrt(wanted[1] / 2)) + 1e-9


@given(st.lists(WEIGHTS, min_size=6, max_size=6))
def test_what_divergences_imply_and_mixtures_beside_their_sum(rows):
    """A mixture of three categorical distributions is one, whose divergences the bounds have to cover."""
    from tensorflow_probability.substrates import jax as tfp

    from jaxcert.tasks.divergences._divergences import Divergences, _with_margin

    tfd = tfp.distributions
    normal = [np.float64(row) / sum(row) for row in rows]
    q, p = (normal[0] @ np.stack(normal[1:4]), normal[5] @ np.stack([normal[3], normal[4], normal[1]]))
    mixture = [
        tfd.MixtureSameFamily(tfd.Categorical(probs=np.float32(w)), tfd.Categorical(probs=np.float32(parts)))
        for w, parts in ((rows[0], rows[1:4]), (rows[5], [rows[3], rows[4], rows[1]]))
    ]
    wanted = by_sums(q, p)
    assert np.all(divergences(*mixture) >= wanted * (1 - 1e-12) - 1e-15)
    for place in range(4):  # each one alone implies bounds on others
        implied = _with_margin(Divergences()._replace(**{NAMES[place]: wanted[place]}))
        assert all(float(bound) >= value * (1 - 1e-9) - 1e-12 for bound, value in zip(implied, wanted, strict=True))


def test_an_image_has_the_divergences_of_its_argument(tfd):
    from tensorflow_probability.substrates import jax as tfp

    narrow, wide = tfd.Normal(0.0, 0.5), tfd.Normal(0.0, 1.0)
    wanted = divergences(narrow, wide)
    np.testing.assert_array_equal(divergences(tfd.LogNormal(0.0, 0.5), tfd.LogNormal(0.0, 1.0)), wanted)

    def image(distribution, scale):
        chain = tfp.bijectors.Chain([tfp.bijectors.Exp(), tfp.bijectors.Scale(scale)])
        return tfd.TransformedDistribution(distribution, chain)

    np.testing.assert_array_equal(divergences(image(narrow, 2.0), image(wide, jnp.float32(2))), wanted)
    with pytest.raises(ValueError, match=r"no divergence is known between images under .*state the radius"):
        divergences(image(narrow, 2.0), image(wide, 3.0))
    wide, half = (image(tfd.Uniform(low, 1.0), 2.0) for low in (-1.0, 0.0))
    same = tfd.JointDistributionNamed({"mass": wide, "length": wide})
    found = divergences(tfd.JointDistributionNamed({"mass": half, "length": wide}), same)
    np.testing.assert_allclose(found, [0.5, math.log(2), 1, 2], rtol=1e-15)
    assert np.all(found >= [0.5, math.log(2), 1, 2])


def test_products_of_every_form(tfd):
    """Independent, Sample and joint distributions, as a list, a dict or a named tuple; a product of three."""
    wanted = [1 - 0.5**3, 3 * math.log(2), 7, 8]
    half, whole = tfd.Uniform(0.0, 0.5), tfd.Uniform(0.0, 1.0)
    batches = [tfd.Uniform(np.zeros(3, np.float32), np.full(3, high, np.float32)) for high in (0.5, 1)]
    for q, p in (
        [tfd.Independent(batch, 1) for batch in batches],
        [tfd.Sample(part, (3,)) for part in (half, whole)],
        [tfd.JointDistributionSequential([part] * 3) for part in (half, whole)],
        [tfd.JointDistributionNamed({"a": part, "b": tfd.Sample(part, 2)}) for part in (half, whole)],
    ):
        found = divergences(q, p)
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
        assert np.all(found >= wanted)
        np.testing.assert_array_equal(divergences(p, p), [0, 0, 0, 1])


def test_an_untruncated_one_has_a_total_variation_alone(tfd):
    normal, uniform = tfd.Normal(0.5, 0.25), tfd.Uniform(0.0, 1.0)
    (distance, *others), back = divergences(normal, uniform), divergences(uniform, normal)
    assert others == [math.inf] * 3
    assert back[0] == pytest.approx(distance, rel=1e-14)
    assert back[3] == pytest.approx(0.25 * math.sqrt(2 * math.pi) * math.exp(2), rel=1e-12)


def test_a_half_normal_one_beside_an_exponential_one(tfd):
    """ln of |N|'s density over e^-x is x - x² / 2 + ln(2/π) / 2, largest at 1; the densities cross where it is 0."""
    mp, level = MP, MP.log(2 / MP.pi) / 2
    normal, exponential = tfd.HalfNormal(1.0), tfd.Exponential(1.0)
    mass = [mp.erf(x / mp.sqrt(2)) + mp.exp(-x) for x in (1 + sign * mp.sqrt(1 + 2 * level) for sign in (-1, 1))]
    square = 2 / mp.pi * mp.quad(lambda x: mp.exp(x - x**2), [0, 1, 4, mp.inf])
    wanted = [mass[1] - mass[0], level + mp.sqrt(2 / mp.pi) - mp.mpf(1) / 2, square - 1, mp.exp(level + mp.mpf(1) / 2)]
    assert_met_from_above(divergences(normal, exponential), wanted)
    back = divergences(exponential, normal)
    assert back[1] == pytest.approx(float(mp.quad(lambda x: mp.exp(-x) * (x**2 / 2 - x - level), [0, 1, 9, mp.inf])))
    assert list(back[2:]) == [math.inf] * 2


def test_bad_input_is_named(tfd):
    normal, batch = tfd.Normal(0.0, 1.0), tfd.Normal(np.zeros(2, np.float32), 1.0)
    joint = tfd.JointDistributionNamed({"a": normal, "b": lambda a: tfd.Normal(a, 1.0)})
    far = tfd.TruncatedNormal(0.0, 1.0, 20.0, 21.0)
    for q, p, name, message in (
        (normal, normal, "hellinger", "divergence is 'hellinger'; expected one of total_variation, kl"),
        (tfd.Gamma(1.0, 1.0), tfd.Gamma(1.0, 2.0), "kl", "no divergence is known for .*Gamma.*state the radius"),
        (
            normal,
            tfd.Bernoulli(probs=0.5),
            "kl",
            "between continuous and discrete .*certify_weighted.*share of the other tasks.*state the radius",
        ),
        (tfd.Bernoulli(probs=0.5), normal, "kl", "discrete and continuous distributions; where the density ratio is b"),
        (joint, joint, "kl", "no divergence is known for <function"),
        (batch, normal, "kl", "deployed is a batch of 2 distributions"),
        (normal, batch, "kl", "sampled is a batch of 2 distributions"),
        (tfd.Normal(np.nan, 1.0), normal, "kl", "loc of .* is nan, which no distribution has"),
        (tfd.Normal(0.0, 0.0), normal, "kl", "scale of .* is 0.0, which no distribution has"),
        (tfd.Uniform(1.0, 1.0), tfd.Uniform(0.0, 1.0), "kl", "an interval of .* is empty"),
        (tfd.Bernoulli(probs=1.5), tfd.Bernoulli(probs=0.5), "kl", "probs of .* is 1.5"),
        (tfd.Categorical(probs=[-1.0, 2.0]), tfd.Categorical(probs=[0.5, 0.5]), "kl", "probs of .* are"),
        (far, far, "kl", "keeps less than 1e-15"),
        (tfd.Sample(normal, 2), tfd.Sample(normal, 3), "kl", "tasks of the parts"),
        (tfd.JointDistributionSequential([batch]), normal, "kl", "a part of .* is a batch of distributions"),
    ):
        with pytest.raises(ValueError, match=message):
            task_divergence(q, p, name)


@pytest.mark.usefixtures("x64")
def test_normal_distributions_beyond_the_range_of_float32_are_refused(tfd):
    zero, one, small, large = map(np.float64, (0, 1, 1e-90, 1e50))
    with pytest.raises(ValueError, match=r"by a factor above 1e84, .* their sizes are 1.0e-90 to 1.0"):
        task_divergence(tfd.Normal(zero, small), tfd.Normal(zero, one), "kl")
    with pytest.raises(ValueError, match="of two distributions, one of them normal, differ by a factor above 1e84"):
        task_divergence(tfd.Normal(zero, 1 / large), tfd.Uniform(zero, large), "kl")


def test_without_mpmath_the_extra_is_named(tfd, monkeypatch):
    from jaxcert.tasks.divergences._divergences import mp

    mp.cache_clear()
    monkeypatch.setitem(sys.modules, "mpmath", None)
    with pytest.raises(ImportError, match=r"mpmath is needed for this: pip install '.\[exact\]'"):
        task_divergence(tfd.Normal(0.0, 1.0), tfd.Normal(0.5, 1.0), "kl")


def test_traced_parameters_are_refused(tfd):
    with pytest.raises(ValueError, match=r"loc of .* is traced; divergences are computed outside of jit"):
        jax.jit(lambda mean: task_divergence(tfd.Normal(mean, 1.0), tfd.Normal(0.0, 1.0), "kl"))(0.5)
