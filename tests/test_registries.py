"""Requirements on every bound and every method: each entry of a registry is tested without further code."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxcert import Status, binomial_epsilon, certify, certify_lower_bounds, certify_safety_level
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._registry import COUNTING, METHODS

NUM_TASKS, NUM_ROLLOUTS, BETA, DELTA = 60, 40, 0.1, 0.05
SUPPORT = (0.0, 1.0)


def returns(name: str, means: np.ndarray, rng: np.random.Generator, *, binary: bool = False) -> np.ndarray:
    """Returns [..., m] with these means: 0 or 1 if wanted, or if the bound needs that, otherwise between."""
    if binary or BOUNDS[name].binary:
        return (rng.random((*means.shape, NUM_ROLLOUTS)) < means[..., None]).astype(np.float32)
    draws = rng.beta(3 * means[..., None], 3 * (1 - means[..., None]), (*means.shape, NUM_ROLLOUTS))
    return draws.astype(np.float32)


# --- bounds -------------------------------------------------------------------------------------------------------


def lower_bounds(name: str, x, **options) -> np.ndarray:
    """The lower bounds that ``certify`` computes."""
    return np.asarray(certify(x, 0.5, support=SUPPORT, beta=BETA, delta=DELTA, bound=name, **options).lower_bounds)


MEANS = (0.02, 0.3, 0.7, 0.95, 0.99)


@pytest.mark.parametrize("binary", [False, True], ids=["between", "binary"])
@pytest.mark.parametrize("name", BOUNDS)
def test_a_bound_fails_no_more_often_than_beta(name, binary):
    """Also where the spread of the sample says little about the mean: rare failures among returns of 1."""
    means = np.repeat(MEANS, 500)
    found = lower_bounds(name, returns(name, means, np.random.default_rng(0), binary=binary)).reshape(-1, 500)
    failures = dict(zip(MEANS, np.sum(found > means.reshape(-1, 500), axis=1).tolist(), strict=True))
    most = stats.binom.isf(1e-6, 500, BETA)
    assert max(failures.values()) <= most, f"failures of 500 at each mean: {failures}; expected at most {most:.0f}"
    assert np.all(np.isfinite(found)), "a bound on valid returns is not finite"
    assert found.min() >= SUPPORT[0], "a bound lies below the support; does it end with `finish`?"


@pytest.mark.parametrize("name", BOUNDS)
def test_a_bound_grows_with_the_returns_and_with_their_number(name):
    means = np.full(NUM_TASKS, 0.8)
    rng = np.random.default_rng(1)
    x = returns(name, means, rng)
    assert np.mean(lower_bounds(name, np.concatenate([x] * 10, axis=1))) > np.mean(lower_bounds(name, x)) + 0.02
    worse = x * (rng.random(x.shape) < 0.8)
    assert np.all(lower_bounds(name, worse) <= lower_bounds(name, x) + 1e-6)
    assert np.mean(lower_bounds(name, worse)) < np.mean(lower_bounds(name, x))


@pytest.mark.parametrize("name", BOUNDS)
def test_a_bound_says_nothing_about_returns_without_a_meaning(name):
    x = returns(name, np.full(NUM_TASKS, 0.8), np.random.default_rng(2))
    x[3, 7], x[5, 2] = np.nan, np.nan
    call = jax.jit(lambda x: certify(x, 0.0, support=SUPPORT, beta=BETA, delta=DELTA, bound=name))
    found = call(x)
    assert np.flatnonzero(np.isneginf(found.lower_bounds)).tolist() == [3, 5]
    assert (int(found.num_violations[0]), int(found.status[0])) == (2, Status.INVALID_INPUT)
    x[5, 2] = 1.5
    assert float(call(x).epsilon[0]) == 1
    with pytest.raises(ValueError, match="task 3, rollout 7"):
        certify(x, 0.0, support=SUPPORT, delta=DELTA, bound=name)


@pytest.mark.parametrize("name", BOUNDS)
def test_what_is_masked_does_not_count(name):
    x = returns(name, np.full(NUM_TASKS, 0.8), np.random.default_rng(3))
    where = np.arange(NUM_ROLLOUTS) < 30
    masked = lower_bounds(name, np.where(where, x, np.nan), where=np.broadcast_to(where, x.shape))
    np.testing.assert_allclose(masked, lower_bounds(name, x[:, :30]), atol=1e-5)


# --- methods ------------------------------------------------------------------------------------------------------


def epsilons(name: str, beta: float, delta: float, n: int = NUM_TASKS) -> np.ndarray:
    """The certified risk at k = 0, ..., n."""
    lower, thresholds = np.arange(n, dtype=np.float32), np.arange(n + 1) - 0.5
    found = certify_lower_bounds(lower, thresholds, beta=beta, delta=delta, method=name)
    np.testing.assert_array_equal(found.num_violations, np.arange(n + 1))
    return np.asarray(found.epsilon, float)


@pytest.mark.filterwarnings("ignore:.* at beta")
@pytest.mark.parametrize(("beta", "delta"), [(None, 0.05), (0.05, 0.05), (0.3, 0.2), (1e-3, 0.01)])
@pytest.mark.parametrize("name", COUNTING)
def test_a_method_fails_no_more_often_than_delta(name, beta, delta):
    """Exactly: in the worst case the number of violations is Bin(n, (1 - beta) risk) (theory page, section 2.2)."""
    beta = float(METHODS[name].default_beta(delta, NUM_TASKS)) if beta is None else beta
    epsilon = epsilons(name, beta, delta)
    # The chance of a certified risk below the true one is largest just above a certified risk.
    for risk in np.nextafter(epsilon[epsilon < 1], 2):
        misses = stats.binom.pmf(np.arange(NUM_TASKS + 1), NUM_TASKS, (1 - beta) * risk)
        assert misses[epsilon < risk].sum() <= delta * (1 + 1e-6)


@pytest.mark.filterwarnings("ignore:.* at beta")
@pytest.mark.parametrize("name", COUNTING)
def test_a_risk_rises_with_violations_and_beta(name):
    least, more = (epsilons(name, beta, DELTA) for beta in (1e-4, 0.2))
    assert np.all(np.diff(least) >= 0)
    assert np.all(more >= least)
    assert least[0] < 0.3
    assert least[-1] == 1
    exact = np.asarray(binomial_epsilon(np.arange(NUM_TASKS + 1), NUM_TASKS, 0.0, DELTA))
    assert np.all(least >= exact * (1 - 1e-5))


@pytest.mark.parametrize("name", COUNTING)
def test_a_method_works_in_every_call(name):
    x = returns("betting", np.linspace(0.5, 0.9, NUM_TASKS), np.random.default_rng(4))
    options = {"support": SUPPORT, "delta": DELTA, "method": name, "bound": "hoeffding"}
    for call, wanted in ((certify, [0.2, 0.4]), (certify_safety_level, [0.5, 0.7])):
        eager = call(x, wanted, **options)
        traced = jax.jit(lambda x, call=call, wanted=wanted: call(x, jnp.asarray(wanted), **options))(x)
        assert eager.method == traced.method == name
        np.testing.assert_allclose(eager.safety, traced.safety, rtol=1e-5)
        np.testing.assert_allclose(eager.thresholds, traced.thresholds, rtol=1e-5)
        assert np.all(np.asarray(eager.safety) > 0)


@pytest.mark.parametrize("name", COUNTING)
def test_beyond_its_range_a_method_says_so(name):
    method = METHODS[name]
    x = np.full((NUM_TASKS, NUM_ROLLOUTS), 0.9, np.float32)
    options = {"support": SUPPORT, "delta": DELTA, "beta": 0.2, "method": name, "bound": "hoeffding"}
    if method.is_sound(0.2, DELTA, NUM_TASKS):
        assert int(certify(x, 0.3, **options).status[0]) == Status.CERTIFIED
        return
    assert int(certify(x, 0.3, **options).status[0]) in (Status.OUT_OF_RANGE, Status.INFEASIBLE)


FROM_RETURNS = [name for name in METHODS if name not in COUNTING]


@pytest.mark.parametrize("name", FROM_RETURNS)
def test_a_method_from_returns_fails_no_more_often_than_delta(name):
    """Tasks just below the threshold, which give all the evidence that they may, beside good ones."""
    rng, risk, repetitions = np.random.default_rng(5), 0.3, 1000
    means = np.where(rng.random((repetitions, NUM_TASKS)) < risk, 0.4999, 0.95)
    x = returns(METHODS[name].bound.name, means, rng, binary=True)[..., :5]
    found = certify(x, 0.5, support=SUPPORT, delta=DELTA, method=name, validate=False)
    assert np.sum(np.asarray(found.epsilon) < risk) <= stats.binom.isf(1e-6, repetitions, DELTA)
    assert np.mean(found.epsilon) < 1


@pytest.mark.parametrize("name", FROM_RETURNS)
def test_a_method_from_returns_works_in_the_calls_that_have_them(name):
    bound = METHODS[name].bound
    x = returns(bound.name, np.linspace(0.5, 0.9, NUM_TASKS), np.random.default_rng(4))
    options = {"support": SUPPORT, "delta": DELTA, "method": name}
    eager = certify(x, [0.2, 0.4], **options)
    traced = jax.jit(lambda x: certify(x, [0.2, 0.4], **options))(x)
    assert eager.method == traced.method == name
    np.testing.assert_allclose(eager.safety, traced.safety, rtol=1e-5)
    assert np.all(np.asarray(eager.safety) > 0)
    with pytest.raises(ValueError, match=name):
        certify_lower_bounds(x[:, 0], 0.5, beta=BETA, delta=DELTA, method=name)


def test_a_wanted_safety_needs_a_bound_for_each_task():
    x = returns("clopper_pearson", np.linspace(0.5, 0.9, NUM_TASKS), np.random.default_rng(4))
    options = {"support": SUPPORT, "delta": DELTA}
    assert float(certify_safety_level(x, 0.5, method="attained", **options).thresholds[0]) > 0.5
    with pytest.raises(ValueError, match="soft"):
        certify_safety_level(x, 0.5, method="soft", **options)
