"""Divergences of distributions of tasks beside quadrature with mpmath and sums over all values."""

import itertools
import math
import sys

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from jaxcert import shifted_epsilon
from jaxcert.tasks import bridge_world, pendulum, simple_grid, task_divergence

pytestmark = pytest.mark.usefixtures("promoting")
NAMES = ("total_variation", "kl", "chi2", "ratio")


def divergences(q, p):
    return np.array([task_divergence(q, p, name) for name in NAMES])


def assert_tight(found, wanted, *, room=1e-12):
    """Never below, and above by rounding alone."""
    for name, value, exact in zip(NAMES, found, wanted, strict=True):
        assert mpmath.mpf(value) >= exact - mpmath.mpf(10) ** -18, name
        assert value <= exact * (1 + room) + room or value == exact, name


def truncated(mean, std, low=-mpmath.inf, high=mpmath.inf):
    """Density and support of a truncated normal distribution, whose parameters are float32."""
    mean, std, low, high = (mpmath.mpf(float(np.float32(x))) for x in (mean, std, low, high))
    kept = mpmath.ncdf(high, mean, std) - mpmath.ncdf(low, mean, std)
    return lambda x: mpmath.npdf(x, mean, std) / kept if low <= x <= high else mpmath.mpf(0), (low, high)


def quadrature(q, p, reach):
    """All four by integrals between the crossings of the densities; the ratio by the largest value on a grid."""
    (q, q_support), (p, p_support) = q, p
    ends = [float(min(max(end, -reach), reach)) for end in (*q_support, *p_support)]
    grid = np.linspace(min(ends), max(ends), 1001)
    more = [q(x) - p(x) for x in grid]
    crossings = [
        brentq(lambda x: float(q(x) - p(x)), a, b, xtol=1e-15)
        for (a, fa), (b, fb) in itertools.pairwise(zip(grid, more, strict=True))
        if fa * fb < 0
    ]
    places = sorted({*ends, *crossings, *grid[::100].tolist()})
    inside = sorted({place for place in places if float(q_support[0]) <= place <= float(q_support[1])})

    def log_ratio(x):
        return mpmath.log(q(x) / p(x))

    return (
        mpmath.quad(lambda x: abs(q(x) - p(x)) / 2, places),
        mpmath.quad(lambda x: q(x) * log_ratio(x), inside),
        mpmath.quad(lambda x: q(x) ** 2 / p(x), inside) - 1,
        max(q(x) / p(x) for x in grid if inside[0] <= x <= inside[-1]),
    )


NORMALS = {
    "narrower": ((0.25, 0.5), (0.0, 1.0)),
    "equal stds": ((0.5, 1.0), (0.0, 1.0)),
    "wider": ((0.1, 1.25), (0.0, 1.0)),
    "far": ((3.0, 0.75), (0.0, 1.0)),
}


@pytest.mark.parametrize(("q", "p"), NORMALS.values(), ids=NORMALS.keys())
def test_normal_distributions(tfd, q, p):
    found = divergences(tfd.Normal(*q), tfd.Normal(*p))
    wanted = quadrature(truncated(*q), truncated(*p), reach=16)
    np.testing.assert_allclose(found[:3], np.array(wanted[:3], float), rtol=1e-9)
    assert math.isinf(found[3]) == (q[1] >= p[1])
    if q[1] < p[1]:
        supremum = p[1] / q[1] * math.exp((q[0] - p[0]) ** 2 / (2 * (p[1] ** 2 - q[1] ** 2)))
        assert found[3] == pytest.approx(supremum, rel=1e-12)


TRUNCATED = {
    "same interval": ((0.3, 0.2, 0.0, 1.0), (0.4, 0.25, 0.0, 1.0)),
    "within": ((0.3, 0.5, 0.25, 0.75), (0.4, 0.25, 0.0, 1.0)),
    "wider": ((0.3, 2.0, 0.0, 1.0), (0.4, 0.5, 0.0, 1.0)),
    "outside the mean": ((-0.5, 0.25, 0.0, 1.0), (1.5, 0.5, 0.0, 1.0)),
}


@pytest.mark.parametrize(("q", "p"), TRUNCATED.values(), ids=TRUNCATED.keys())
def test_truncated_normal_distributions(tfd, q, p):
    found = divergences(tfd.TruncatedNormal(*q), tfd.TruncatedNormal(*p))
    wanted = np.array(quadrature(truncated(*q), truncated(*p), reach=16), float)
    np.testing.assert_allclose(found[:2], wanted[:2], rtol=1e-9)
    assert found[2] >= wanted[2] * (1 - 1e-9)
    if 2 / q[1] ** 2 > 1 / p[1] ** 2:
        assert found[2] == pytest.approx(wanted[2], rel=1e-9)
    assert wanted[3] * (1 - 1e-9) <= found[3] <= wanted[3] * (1 + 1e-3)


def with_30_digits(q, p, low, high):
    """All four of normal distributions truncated to the same interval, by integrals between the crossings."""
    mp = mpmath.mp.clone()
    mp.dps = 30
    low, high, mean, std, p_mean, p_std = map(mp.mpf, (low, high, *q, *p))
    kept = mp.quad(lambda x: mp.npdf(x, mean, std), [low, high])
    level = mp.log(mp.quad(lambda x: mp.npdf(x, p_mean, p_std), [low, high]) / kept)

    def log_ratio(x):
        return mp.log(mp.npdf(x, mean, std) / mp.npdf(x, p_mean, p_std)) + level

    def under_q(function, ends):
        return mp.quad(lambda x: mp.npdf(x, mean, std) / kept * function(log_ratio(x)), ends)

    square, slope = 1 / p_std**2 - 1 / std**2, mean / std**2 - p_mean / p_std**2
    width = mp.sqrt(slope**2 - 2 * square * log_ratio(mp.mpf(0)))
    roots = [(sign * width - slope) / square for sign in (1, -1)]
    places = sorted([low, high, *(mp.re(x) for x in roots if mp.im(x) == 0 and low < mp.re(x) < high)])
    more = [under_q(lambda value: -mp.expm1(-value), piece) for piece in itertools.pairwise(places)]
    peaks = [low, high, *([-slope / square] if square < 0 and low < -slope / square < high else [])]
    return (
        sum(value for value in more if value > 0),
        under_q(lambda value: value, places),
        under_q(mp.expm1, places),
        mp.exp(max(map(log_ratio, peaks))),
    )


@pytest.mark.slow
def test_random_normal_distributions_are_met_from_above(tfd):
    """To the last bits of a float."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        low = float(np.float32(rng.uniform(-1, 1)))
        high = float(np.float32(low + rng.uniform(0.1, 2)))
        q, p = rng.uniform((-1, 0.3), (2, 2), (2, 2)).astype(np.float32).astype(float).tolist()
        found = divergences(*(tfd.TruncatedNormal(*law, low, high) for law in (q, p)))
        wanted = with_30_digits(q, p, low, high)
        assert all(
            mpmath.mpf(value) >= exact * (1 - mpmath.mpf(1e-16)) for value, exact in zip(found, wanted, strict=True)
        )
        for place in range(4) if 2 * p[1] ** 2 > q[1] ** 2 else (0, 1, 3):  # where χ² is no bound
            assert found[place] <= wanted[place] * (1 + 1e-15)


def test_known_values_are_met_from_above(tfd):
    """Closed forms with 40 digits, on parameters that float32 holds."""
    mp = mpmath.mp.clone()
    mp.dps = 40
    half, one = mp.mpf(1) / 2, mp.mpf(1)
    assert_tight(
        divergences(tfd.Normal(0.5, 1.0), tfd.Normal(0.0, 1.0)),
        [2 * mp.ncdf(half / 2) - 1, half**2 / 2, mp.expm1(half**2), mp.inf],
    )
    assert_tight(
        divergences(tfd.Normal(0.0, 0.5), tfd.Normal(0.0, 1.0))[[1, 2, 3]].tolist() + [1.0],
        [mp.log(2) + half**3 - half, 4 / mp.sqrt(7) - 1, 2 * one, one],
    )
    assert_tight(divergences(tfd.Exponential(2.0), tfd.Exponential(1.0)), [one / 4, mp.log(2) - half, one / 3, 2 * one])
    assert_tight(divergences(tfd.Uniform(0.25, 0.5), tfd.Uniform(0.0, 1.0)), [3 * one / 4, mp.log(4), 3 * one, 4 * one])
    assert_tight(
        divergences(tfd.Bernoulli(probs=0.25), tfd.Bernoulli(probs=0.5)),
        [one / 4, mp.log(2) + mp.log(one / 4) / 4 + 3 * mp.log(3 * one / 4) / 4, one / 4, 3 * half],
    )
    assert_tight(
        divergences(tfd.HalfNormal(0.5), tfd.HalfNormal(1.0))[[1, 2, 3]].tolist() + [1.0],
        [mp.log(2) + half**3 - half, 4 / mp.sqrt(7) - 1, 2 * one, one],
    )


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


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_closed_form_of_tensorflow_probability_is_near(tfd):
    """Its float32 is no bound, but sees no other formula."""
    for q, p in (
        (tfd.Normal(0.5, 2.0), tfd.Normal(0.0, 1.0)),
        (tfd.Uniform(0.25, 0.5), tfd.Uniform(0.0, 1.0)),
        (tfd.Exponential(0.5), tfd.Exponential(3.0)),
        (tfd.Bernoulli(probs=0.1), tfd.Bernoulli(logits=0.5)),
        (tfd.HalfNormal(0.5), tfd.HalfNormal(0.75)),
        (tfd.LogNormal(0.5, 2.0), tfd.LogNormal(0.0, 1.0)),
    ):
        assert task_divergence(q, p, "kl") == pytest.approx(float(tfd.kl_divergence(q, p)), rel=1e-5)


@pytest.mark.parametrize("ends", [(0.5, 1.5), (-1.0, 0.5), (-1.0, 2.0), (2.0, 3.0)])
def test_uniform_beyond_the_support(tfd, ends):
    found = divergences(tfd.Uniform(*ends), tfd.Uniform(0.0, 1.0))
    common = max(min(ends[1], 1) - max(ends[0], 0), 0)
    assert found[0] == pytest.approx(1 - common / max(ends[1] - ends[0], 1), rel=1e-15)
    assert np.all(np.isinf(found[1:]))


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


def test_bernoulli_logits(tfd):
    found = divergences(tfd.Bernoulli(logits=1.0), tfd.Bernoulli(logits=-1.0))
    chance = 1 / (1 + math.exp(-1))
    wanted = by_sums(np.array([1 - chance, chance]), np.array([chance, 1 - chance]))
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


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


def test_the_same_components_in_other_proportions(tfd):
    """The ratio of such mixtures is at most that of the weights, and nearly attained where they are far apart."""
    paper = simple_grid.SimpleGridParams()
    other = simple_grid.SimpleGridParams(weights=(0.5, 0.5))
    found = divergences(simple_grid.task_distribution(params=other), simple_grid.task_distribution(params=paper))
    q, p = simple_grid.task_distribution(params=other), simple_grid.task_distribution(params=paper)
    grid = jnp.linspace(0.0, 0.2, 2001)
    ratio = float(np.max(np.exp(q.log_prob(grid) - p.log_prob(grid))))
    assert found[3] == pytest.approx(ratio, rel=1e-4)
    assert found[0] == pytest.approx(0.3, abs=1e-3)


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
    found = divergences(pendulum.task_distribution(mass=(1.0, 2.0)), pendulum.task_distribution())
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


def test_support_that_is_larger_is_infinitely_far():
    narrow = bridge_world.task_distribution(slip_ranges=((0.25, 0.3), (0.0, 0.2)))
    found = divergences(bridge_world.task_distribution(), narrow)
    assert found[0] == pytest.approx(0.5, rel=1e-6)
    assert np.all(np.isinf(found[1:]))


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
    ):
        with pytest.raises(ValueError, match=message):
            task_divergence(q, p, name)


def test_a_normal_beside_a_uniform_distribution_in_the_way_that_the_refusal_names():
    """The bad tasks that are most frequent in deployment: those near its mean, and all that were never sampled."""
    deployed, risk = stats.norm(0.5, 0.15), 0.0228
    share = 2 * deployed.cdf(0)
    within = shifted_epsilon(risk, deployed.pdf(0.5) / (1 - share), divergence="ratio")
    found = float(shifted_epsilon(within, share, divergence="total_variation"))
    worst = deployed.cdf(0.5 + risk / 2) - deployed.cdf(0.5 - risk / 2) + share
    assert worst <= found <= 1.01 * worst
    assert worst > float(within)  # so the share is needed


@pytest.mark.usefixtures("x64")
def test_normal_distributions_beyond_the_range_of_float32_are_refused(tfd):
    with pytest.raises(ValueError, match=r"by a factor above 1e84, .* their sizes are 1.0e-90 to 1.0"):
        task_divergence(tfd.Normal(np.float64(0), np.float64(1e-90)), tfd.Normal(np.float64(0), np.float64(1)), "kl")


def test_without_mpmath_the_extra_is_named(tfd, monkeypatch):
    from jaxcert.tasks.divergences._divergences import mp

    mp.cache_clear()
    monkeypatch.setitem(sys.modules, "mpmath", None)
    with pytest.raises(ImportError, match=r"mpmath is needed for this: pip install '.\[exact\]'"):
        task_divergence(tfd.Normal(0.0, 1.0), tfd.Normal(0.5, 1.0), "kl")


def test_traced_parameters_are_refused(tfd):
    with pytest.raises(ValueError, match=r"loc of .* is traced; divergences are computed outside of jit"):
        jax.jit(lambda mean: task_divergence(tfd.Normal(mean, 1.0), tfd.Normal(0.0, 1.0), "kl"))(0.5)


def test_a_batch_within_a_joint_distribution_is_refused(tfd):
    joint = tfd.JointDistributionSequential([tfd.Normal(np.zeros(2, np.float32), 1.0)])
    with pytest.raises(ValueError, match=r"a part of .* is a batch of distributions"):
        task_divergence(joint, joint, "kl")
