"""Errors of the epsilons, axes that look swapped, and values that count against a certificate where none is read."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert import anytime_epsilon, binomial_epsilon, certify, certify_lower_bounds, scenario_epsilon
from jaxcert.bounds import dkw, empirical_bernstein
from jaxcert.returns import _checks

X = np.linspace(0.2, 0.8, 20 * 30, dtype=np.float32).reshape(20, 30)
X = np.take_along_axis(X, np.random.default_rng(0).permuted(np.tile(np.arange(30), (20, 1)), axis=1), axis=1)
GOOD = {"support": (0.0, 1.0), "delta": 0.1}

EPSILONS = {
    "binomial": binomial_epsilon,
    "scenario": scenario_epsilon,
    "anytime": lambda k, n, beta, delta, **given: anytime_epsilon(k, n, beta=beta, delta=delta, **given),
}


@pytest.mark.parametrize("name", EPSILONS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 2, 0.1, 0.1), r"num_violations is 3; expected a whole number between 0 and num_tasks"),
        ((-1, 2, 0.1, 0.1), r"num_violations is -1"),
        ((0.5, 2, 0.1, 0.1), r"num_violations is 0.5"),
        ((0, 0, 0.1, 0.1), r"num_tasks is 0; expected a whole number of at least 1"),
        ((0, np.inf, 0.1, 0.1), r"num_tasks is inf; expected a whole number"),
        ((0, 2, 1.0, 0.1), r"beta is 1; expected a probability"),
        ((0, 9, np.nan, 0.1), r"beta is nan; expected a probability"),
        ((0, 2, 0.1, [0.1, 0.0]), r"delta\[1\] is 0; expected a probability"),
        ((0, 9, 0.1, 1.5), r"delta is 1.5; expected a probability"),
    ],
)
def test_epsilons_refuse_or_are_one(name, arguments, message):
    epsilon = EPSILONS[name]
    with pytest.raises(ValueError, match=message):
        epsilon(*arguments)
    traced = jax.jit(epsilon)(*map(jnp.float32, arguments))
    for found in (epsilon(*arguments, validate=False), traced):
        assert np.ravel(jax.tree.leaves(found)[0])[-1] == 1


@pytest.mark.parametrize("n", [2**24 + 3, 10**8, 10**20])
def test_more_tasks_than_the_type_can_count_certify_nothing(n):
    for epsilon in (binomial_epsilon, scenario_epsilon):
        with pytest.raises(ValueError, match="expected at most 16777216, to which float32 can count"):
            epsilon(1.0, np.float32(n), 1e-3, 0.1)
        result = epsilon(1.0, np.float32(n), 1e-3, 0.1, validate=False)
        assert float(jax.tree.leaves(result)[0]) == 1


def test_types_are_refused_whether_values_are_validated_or_not():
    for epsilon in (binomial_epsilon, scenario_epsilon):
        for bad in (1j, "1", None, np.ma.masked_equal([0.1, 0.2], 0.1)):
            with pytest.raises(ValueError, match="beta"):
                epsilon(1, 5, bad, 0.1, validate=False)


def test_no_problems_have_no_solutions():
    nothing = np.zeros((2, 0), np.float32)
    assert binomial_epsilon(0, 10, nothing, 0.1).shape == (2, 0)
    assert scenario_epsilon(0, 10, nothing, 0.1).num_valid.shape == (2, 0)


def test_beta_zero_is_for_the_binomial_certificate_alone():
    assert float(binomial_epsilon(0, 10, 0.0, 0.1)) < 1
    with pytest.raises(ValueError, match="beta is 0"):
        scenario_epsilon(0, 10, 0.0, 0.1)


def _look_swapped(returns, where=None) -> np.ndarray:
    """Checked by NumPy, as arrays of the host are, and compiled, as those of a device are."""
    eps = float(np.finfo(np.float32).eps)
    host = _checks._look_swapped(np, np.asarray(returns, float), None if where is None else np.asarray(where), eps)
    on_device = jax.jit(lambda x, where: _checks._look_swapped(jnp, x, where, eps))
    np.testing.assert_array_equal(on_device(jnp.asarray(returns), where), host)
    return host


def test_chance_never_looks_like_swapped_axes():
    """Exchangeable columns, whatever the rows: none of 900 arrays is refused."""

    def draw(key: jax.Array) -> jax.Array:
        rows, noise, heavy = jax.random.split(key, 3)
        flat = jax.random.normal(noise, (30, 12))
        tasks = flat + jax.random.normal(rows, (30, 1))
        rare = jnp.where(jax.random.bernoulli(heavy, 0.003, (30, 12)), 100.0, 0.0)
        return jnp.stack([flat, tasks, rare])

    assert not np.any(_look_swapped(jax.vmap(draw)(jax.random.split(jax.random.key(5), 300))))


def test_swapped_axes_are_noticed_in_any_batch_entry():
    batch = np.stack([X[:, :20], X[:, :20].T])
    for array in (np.asarray, jnp.asarray):
        with pytest.raises(ValueError, match="axes were swapped"):
            certify(array(batch), 0.5, **GOOD)
    certify(batch, 0.5, validate=False, **GOOD)


def _ragged(key: jax.Array, effect: jax.Array) -> tuple[jax.Array, jax.Array]:
    """30 tasks with 3 to 12 rollouts in an array with room for 15, and a difference between odd and even rollouts."""
    noise, sizes = jax.random.split(key)
    where = jnp.arange(15)[None] < jax.random.randint(sizes, (30, 1), 3, 13)
    return jax.random.normal(noise, (30, 15)) + 3 + effect * jnp.cos(jnp.pi * jnp.arange(15.0))[None], where


def test_masked_rollouts_do_not_look_like_swapped_axes():
    """Ragged rows, columns nobody filled, columns with a single rollout: none of 900 arrays is refused."""
    returns, where = jax.vmap(_ragged, (0, None))(jax.random.split(jax.random.key(7), 900), jnp.float32(0))
    assert not np.any(_look_swapped(returns, where))
    assert not np.any(_look_swapped(jnp.swapaxes(returns, -1, -2), jnp.swapaxes(where, -1, -2)))


def test_swapped_axes_are_noticed_behind_a_mask():
    returns, where = jax.vmap(_ragged, (0, None))(jax.random.split(jax.random.key(7), 100), jnp.float32(2))
    assert np.all(_look_swapped(returns, where))


@pytest.mark.parametrize("place", [np.asarray, jnp.asarray])
def test_rounding_that_depends_on_the_column_is_no_reason_to_refuse(place):
    """A deterministic policy whose last bits depend on the vector lane."""
    returns = np.full((20, 10), 1000, np.float32)
    returns[:, ::2] = np.nextafter(np.float32(1000), np.float32(0))
    assert int(certify(place(returns), 500.0, support=(0.0, 2000.0), delta=0.1).num_violations[0]) == 0


def test_a_rollout_that_no_task_has_is_no_reason_to_refuse():
    padded = np.concatenate([X, np.full((len(X), 10), 0.0)], axis=1)
    where = np.broadcast_to(np.arange(padded.shape[1]) < X.shape[1], padded.shape)
    got, plain = certify(padded, 0.5, where=where, **GOOD), certify(X, 0.5, **GOOD)
    assert got.num_violations[0] == plain.num_violations[0]


def test_a_level_per_threshold_is_refused_even_unvalidated():
    with pytest.raises(ValueError, match="beta has shape"):
        certify(X, [0.1, 0.2], beta=jnp.asarray([0.1, 0.2]), validate=False, **GOOD)


@pytest.mark.parametrize("shape", [(3, 1000), (100, 1000), (5, 500), (200, 100)])
def test_constant_returns_are_not_taken_for_swapped_axes(shape):
    values = jnp.asarray([0.7, 123.456, 1e-3, 999.9], jnp.float32)
    batch = jnp.broadcast_to(values[:, None, None], (4, *shape))
    assert not np.any(_look_swapped(batch))


@pytest.mark.filterwarnings("ignore:thresholds is .* below the support:UserWarning")
def test_whole_numbers_at_the_ends_of_the_support_are_allowed():
    returns = np.full((20, 5), 2**24)
    got = certify(returns, 2.0**24, support=(2.0**24, 2.0**25), delta=0.1)
    assert float(got.safety[0]) > 0


def test_beta_is_rounded_up_where_the_caller_computed_the_bounds():
    beta = 0.99427673
    got = certify_lower_bounds(np.arange(2000.0, dtype=np.float32), 3.0, beta=beta, delta=2.0**-7)
    assert float(got.beta) >= beta
    assert float(got.epsilon[0]) >= 0.9051611


def test_lists_with_traced_entries():
    x = np.random.default_rng(0).random((20, 30)).astype(np.float32)
    call = lambda b: certify(x, [b, 0.5], support=(0.0, 1.0), delta=0.1, bound="hoeffding")  # noqa: E731
    found = jax.jit(call)(0.7)
    assert np.all(np.asarray(found.thresholds, float) >= [0.7, 0.5])
    np.testing.assert_allclose(found.thresholds, [0.7, 0.5], rtol=1e-6)
    with pytest.raises(ValueError, match="returns is a list that holds traced values"):
        jax.jit(lambda r: certify([[r, 0.5]], 0.5, support=(0.0, 1.0), delta=0.1))(0.7)


def test_temporary_memory_stays_below_four_times_the_returns():
    x = jnp.zeros((200, 1000), jnp.float32)
    certified = jax.jit(lambda x: certify(x, 0.5, support=(0.0, 1.0), delta=0.1))
    bounded = [jax.jit(functools.partial(bound, beta=0.05, support=(0.0, 1.0))) for bound in (dkw, empirical_bernstein)]
    for call in (certified, *bounded):
        analysis = call.lower(x).compile().memory_analysis()
        assert analysis is None or analysis.temp_size_in_bytes < 4 * x.nbytes
