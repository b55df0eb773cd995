"""Returns of rollouts against a plain loop over the steps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert.rollouts import discounted_return, reach, reach_avoid, truncated_return, undiscounted_return

GAMMA, LOWEST = 0.9, -1.5
RETURNS = {
    undiscounted_return: {},
    discounted_return: {"discount": GAMMA},
    truncated_return: {"discount": GAMMA, "min_reward": LOWEST},
}
BY_METRIC = pytest.mark.parametrize("metric", RETURNS, ids=lambda metric: metric.__name__)


def loop(metric, rewards, done, discounts):
    """One rollout, step by step, with Python floats."""
    total, weight = 0.0, 1.0
    for reward, last, discount in zip(rewards, done, discounts, strict=True):
        total += (1.0 if metric is undiscounted_return else weight) * float(reward)
        weight *= float(discount)
        if last:
            return total
    return total + (weight * LOWEST / (1 - GAMMA) if metric is truncated_return else 0.0)


def batch(dtype="float32", shape=(40, 3, 7)):
    """Rewards of at least LOWEST, and dones of which some come at once, some never, some twice."""
    rng = np.random.default_rng(0)
    return rng.uniform(LOWEST, 2, shape).astype(dtype), rng.random(shape) < 0.15


def expected(metric, r_t, done_t, discount_t=None):
    discount_t = np.full(r_t.shape, GAMMA) if discount_t is None else discount_t
    flat = [array.reshape(-1, r_t.shape[-1]) for array in (r_t, done_t, discount_t)]
    return np.reshape([loop(metric, *rollout) for rollout in zip(*flat, strict=True)], r_t.shape[:-1])


@BY_METRIC
def test_matches_loop(metric, precision):
    r_t, done_t = batch(precision)
    for dones, wanted in (((done_t,), done_t), ((), np.zeros_like(done_t))):
        result = metric(r_t, *dones, **RETURNS[metric])
        assert result.dtype == precision
        np.testing.assert_allclose(result, expected(metric, r_t, wanted), rtol=0, atol=_tolerance(precision))


def _tolerance(precision):
    return 2e-5 if precision == "float32" else 1e-13


def test_discount_per_step_matches_loop(precision):
    r_t, done_t = batch(precision)
    discount_t = np.random.default_rng(1).choice([0.0, 0.5, 0.9, 1.0], r_t.shape).astype(precision)
    result = discounted_return(r_t, done_t, discount=discount_t)
    want = expected(discounted_return, r_t, done_t, discount_t)
    np.testing.assert_allclose(result, want, rtol=0, atol=_tolerance(precision))


@BY_METRIC
def test_steps_after_done_do_not_count(metric, precision):
    r_t, _ = batch(precision, (4, 6))
    done_t = np.zeros(r_t.shape, dtype=bool)
    done_t[:, 2] = True
    clean = metric(r_t, done_t, **RETURNS[metric])
    for rubbish in (np.nan, np.inf, -np.inf, -1e30):
        r_t[:, 3:] = rubbish
        np.testing.assert_array_equal(metric(r_t, done_t, **RETURNS[metric]), clean)
        gradient = jax.grad(lambda r: metric(r, done_t, **RETURNS[metric]).sum())(jnp.asarray(r_t))
        assert (gradient[:, :3] > 0).all()
        assert (gradient[:, 3:] == 0).all()


@BY_METRIC
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("step", [0, 2])
def test_bad_reward_that_counts_shows(metric, bad, step):
    r_t, _ = batch(shape=(3, 5))
    r_t[1, step] = bad
    done_t = np.zeros(r_t.shape, dtype=bool)
    done_t[:, 2] = True
    np.testing.assert_array_equal(np.isfinite(metric(r_t, done_t, **RETURNS[metric])), [True, False, True])


def test_discounts_after_done_do_not_count():
    r_t, done_t = jnp.array([1.0, 2.0, jnp.nan, 4.0]), jnp.array([False, True, False, False])
    discount_t = jnp.array([0.5, jnp.nan, 2.0, jnp.nan])
    value, gradient = jax.value_and_grad(lambda r: discounted_return(r, done_t, discount=discount_t))(r_t)
    assert value == 2.0
    np.testing.assert_array_equal(gradient, [1, 0.5, 0, 0])


def test_gradient_in_the_discount_ignores_what_does_not_count():
    r_t, done_t = jnp.array([1.0, 2.0, 3.0, jnp.nan]), jnp.array([False, False, True, False])
    gradient = jax.grad(lambda g: discounted_return(r_t, done_t, discount=g))
    np.testing.assert_allclose(gradient(0.5), 2 + 3, rtol=1e-6)
    np.testing.assert_allclose(gradient(jnp.array([0.5, 0.25, jnp.nan, 2.0])), [2.75, 1.5, 0, 0], rtol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, -0.1, 1.1])
def test_bad_discount_that_counts_gives_nan(bad):
    discount_t = np.full((2, 3), 0.5, np.float32)
    discount_t[1, 1] = bad
    np.testing.assert_array_equal(discounted_return(np.ones((2, 3)), discount=discount_t), [1.75, np.nan])
    discount_t[1] = [0.5, 0.5, bad]  # nothing comes after the last step
    np.testing.assert_array_equal(discounted_return(np.ones((2, 3)), discount=discount_t), [1.75, 1.75])


def test_reward_below_declared_minimum_gives_nan():
    r_t = np.array([[0.0, -2.0, 0.0], [0.0, -1.5, 0.0], [0.0, 0.0, -2.0]], np.float32)
    done_t = np.array([[False] * 3, [False] * 3, [False, True, False]])
    result = truncated_return(r_t, done_t, **RETURNS[truncated_return])
    np.testing.assert_array_equal(np.isnan(result), [True, False, False])


def test_bad_traced_numbers_give_nan():
    done_t = np.array([[False, False], [True, False]])
    call = jax.jit(lambda g, low: truncated_return(np.ones((2, 2)), done_t, discount=g, min_reward=low))
    for discount, lowest in [(-0.1, 0.0), (1.0, 0.0), (np.nan, 0.0), (0.5, 0.1), (0.5, -np.inf), (0.5, np.nan)]:
        assert np.isnan(call(discount, lowest)).all()
    assert np.isnan(jax.jit(lambda g: discounted_return(np.ones(1), discount=g))(1.5))


@pytest.mark.parametrize(
    ("r_t", "done_t", "message"),
    [
        (1.0, None, r"r_t must have shape \[\.\.\., T\] with at least one step, got \(\)"),
        (np.ones((3, 0)), None, r"r_t must have shape .* got \(3, 0\)"),
        (np.ones(3, complex), None, "r_t must be real, got complex"),
        (np.ones((3, 2)), np.zeros(2, bool), r"done_t must have shape \(3, 2\), time last, got \(2,\)"),
        (np.ones((3, 2)), np.zeros((2, 3), bool), r"done_t must have shape \(3, 2\), time last"),
        (np.ones((3, 2)), np.zeros((3, 2)), "done_t must be bool, got float32"),
    ],
)
@BY_METRIC
def test_bad_arrays_raise(metric, r_t, done_t, message):
    with pytest.raises(ValueError, match=message):
        metric(r_t, done_t, **RETURNS[metric])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: discounted_return(np.ones(3), discount=1.1), r"discount must be in \[0, 1\], got 1\.1"),
        (lambda: discounted_return(np.ones(3), discount=np.nan), r"discount must be in \[0, 1\], got nan"),
        (lambda: discounted_return(np.ones((2, 3)), discount=np.ones(3)), r"discount must have shape \(2, 3\)"),
        (lambda: truncated_return(np.ones(3), discount=1, min_reward=0), r"discount must be in \[0, 1\), got 1"),
        # In float32 the nearest number to 1 - 1e-9 is 1, for which the tail has no bound.
        (lambda: truncated_return(np.ones(3), discount=1 - 1e-9, min_reward=-1), r"discount must be in \[0, 1\)"),
        (lambda: truncated_return(np.ones(3), discount=-1, min_reward=0), r"discount must be in \[0, 1\), got -1"),
        (lambda: truncated_return(np.ones(3), discount=np.ones(3), min_reward=0), "discount must be a scalar"),
        (lambda: truncated_return(np.ones(3), discount=0.5, min_reward=0.1), "min_reward must be finite and not"),
        (lambda: truncated_return(np.ones(3), discount=0.5, min_reward=-np.inf), "min_reward must be finite and not"),
        (lambda: truncated_return(np.ones(3), discount=0.5, min_reward=np.zeros(2)), "min_reward must be a scalar"),
    ],
)
def test_bad_numbers_raise(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def prefixes(metric, lowest):
    """Values of ever longer prefixes of the same trajectories, [prefix, rollout]."""
    rng = np.random.default_rng(2)
    done_t = rng.random((500, 10)) < 0.08
    events = rng.random((2, 500, 10)) < 0.15
    r_t = rng.uniform(lowest, 1, (500, 10)).astype(np.float32)
    first = {reach: (events[0],), reach_avoid: (events[0], events[1])}.get(metric, (r_t,))
    return np.stack(
        [metric(*(x[:, :h] for x in first), done_t[:, :h], **RETURNS.get(metric, {})) for h in (1, 2, 5, 10)]
    )


@pytest.mark.parametrize("metric", [*RETURNS, reach, reach_avoid], ids=lambda metric: metric.__name__)
def test_monotone_as_stated(metric):
    always = "Monotone in the prefix: always" in metric.__doc__
    assert always != ("Monotone in the prefix: only with non-negative rewards" in metric.__doc__)
    assert (np.diff(prefixes(metric, LOWEST if always else 0.0), axis=0) >= -1e-5).all()
    if not always:
        assert (np.diff(prefixes(metric, LOWEST), axis=0) < -0.1).any()


def test_upper_bounds_as_stated():
    """On finished episodes a metric with upper bounds is the performance; the others stay below it."""
    r_t = np.ones((1, 4), np.float32)
    whole = {metric: float(metric(r_t, **RETURNS[metric])[0]) for metric in RETURNS}
    assert whole[undiscounted_return] == 4
    assert whole[discounted_return] == pytest.approx((1 - GAMMA**4) / (1 - GAMMA))
    assert whole[truncated_return] < whole[discounted_return] - 1
    for metric in (*RETURNS, reach, reach_avoid):
        never = metric is truncated_return
        assert f"Upper bounds: {'never allowed' if never else 'allowed on whole rollouts only'}" in metric.__doc__
