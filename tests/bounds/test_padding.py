"""Returns padded to few shapes: the same results up to rounding, and no program for a shape whose size was met."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import compilations

import jaxcert
from jaxcert.returns._sample import Needs, sample_of

RNG = np.random.default_rng(0)
SETTINGS = {"support": (0.0, 1.0), "delta": 0.05}


def returns(*shape: int) -> np.ndarray:
    return RNG.beta(4, 1, shape).astype(np.float32)


def sample(x, where=None, **options):
    return sample_of(Needs("a test"), x, (0, 1), where, of_tasks=False, **options)


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ((20, 30), (512, 128)),
        ((1, 5), (512, 128)),
        ((7,), (128,)),
        ((2, 20, 33), (2, 512, 128)),
        ((512, 129), (512, 256)),
        ((900, 100), (1024, 128)),
    ],
)
def test_shapes(shape, wanted):
    x = returns(*shape)
    found = sample(x)
    assert found.values.shape == np.shape(found.mask) == wanted
    assert found.num_rollouts == shape[-1]
    np.testing.assert_array_equal(np.asarray(found.values)[np.asarray(found.mask)], x.ravel())


def test_large_arrays_are_left_alone():
    for shape in ((200, 1100), (200_000,), (2, 700, 100)):
        large = returns(*shape)
        assert sample(large).values.shape == shape
        assert sample(large).mask is None


def test_a_mask_is_padded_with_the_returns():
    where = RNG.random((20, 30)) < 0.7
    where[:, 0] = True
    found = sample(returns(20, 30), where)
    np.testing.assert_array_equal(found.where[:20, :30], where)
    assert np.asarray(found.where).sum() == where.sum()


CALLS = {
    "certify": lambda x: jaxcert.certify(x, 0.5, **SETTINGS),
    "auto": lambda x: jaxcert.certify(x, [0.4, 0.5], beta="auto", **SETTINGS),
    "soft": lambda x: jaxcert.certify(x, 0.5, method="soft", **SETTINGS),
    "successes": lambda x: jaxcert.certify(x > 0.6, 0.5, delta=0.05),
    "Clopper-Pearson": lambda x: jaxcert.certify(np.round(x), 0.5, bound="clopper_pearson", **SETTINGS),
    "safety level": lambda x: jaxcert.certify_safety_level(x, 0.7, **SETTINGS),
    "mean": lambda x: jaxcert.certify_mean(x, **SETTINGS),
}


@pytest.mark.parametrize("name", CALLS)
def test_another_shape_finds_its_programs(name):
    call = CALLS[name]
    call(returns(20, 30))
    assert compilations(lambda: call(returns(23, 27))) == 0


def test_what_lies_in_the_padding_is_nobodys_task():
    """Of many sizes, with tasks that all pass, all fail, or one of which refutes the support."""
    for n in (1, 2, 15, 16, 17, 31):
        good, bad = np.ones((n, 3), np.float32), np.zeros((n, 3), np.float32)
        found = jaxcert.certify(np.stack([good, bad]), 0.3, **SETTINGS, beta=0.4, bound="dkw")
        np.testing.assert_array_equal(found.num_violations[:, 0], [0, n])
        np.testing.assert_array_equal(found.num_valid[:, 0], [n, 0])
        assert found.lower_bounds.shape == (2, n)
        spoilt = good.copy()
        spoilt[-1, -1] = 2.0
        status = jaxcert.certify(spoilt, 0.3, **SETTINGS, validate=False).status
        assert status.tolist() == [jaxcert.Status.INVALID_INPUT]


@pytest.mark.parametrize("num_thresholds", [1, 100])
def test_what_no_bound_can_miss_is_missed_by_no_padding(num_thresholds):
    """Thresholds of -inf certify nothing, and a safety level has them where it says nothing."""
    thresholds = np.full(num_thresholds, -np.inf, np.float32)
    given = jaxcert.certify(returns(20, 30), thresholds, validate=False, **SETTINGS)
    spoilt = returns(20, 30)
    spoilt[3, 4] = 2.0
    wanted = np.linspace(0.5, 0.9, num_thresholds, dtype=np.float32)
    level = jaxcert.certify_safety_level(spoilt, wanted, validate=False, **SETTINGS)
    for found in (given, level):
        assert set(found.num_violations.tolist()) == {0}
        assert set(found.num_valid.tolist()) == {20}
        assert set(found.safety.tolist()) == {0.0}


def test_nothing_is_padded_within_a_compiled_function():
    shapes = set()

    def call(x):
        shapes.add(sample(x, validate=False).values.shape)
        return jaxcert.certify(x, 0.5, validate=False, **SETTINGS).safety

    jax.jit(call)(returns(20, 30))
    assert shapes == {(20, 30)}


@pytest.mark.parametrize("num_thresholds", [2, 70])
def test_bounds_that_are_no_numbers_are_violations_even_of_a_threshold_of_minus_infinity(num_thresholds):
    """One that is none voids all of a certificate; a padding is no violation, and hides none."""
    thresholds = jnp.asarray([-jnp.inf, *[0.5] * (num_thresholds - 1)])

    def certify(lower):
        return jaxcert.certify_lower_bounds(lower, thresholds, delta=0.05, beta=0.05, validate=False).num_violations

    for lower, missed in (([jnp.nan, 0.5, jnp.inf], [3, 3]), ([-jnp.inf, 0.6, 0.4], [0, 2])):
        bounds = jnp.asarray(lower)
        assert certify(bounds)[:2].tolist() == jax.jit(certify)(bounds)[:2].tolist() == missed
