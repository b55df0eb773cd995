"""Errors that certify raises, and values that count against the certificate if they cannot be read."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert import Status, binomial_epsilon, certify, certify_lower_bounds, certify_safety_level, scenario_epsilon
from jaxcert.bounds import dkw, empirical_bernstein
from jaxcert.returns import _checks

X = np.linspace(0.2, 0.8, 20 * 30, dtype=np.float32).reshape(20, 30)
X = np.take_along_axis(X, np.random.default_rng(0).permuted(np.tile(np.arange(30), (20, 1)), axis=1), axis=1)
GOOD = {"support": (0.0, 1.0), "delta": 0.1}


def changed(value: float, task: int = 3, rollout: int = 7) -> np.ndarray:
    x = X.copy()
    x[task, rollout] = value
    return x


REFUSED = [
    ({"returns": changed(np.nan)}, r"return of task 3, rollout 7 is nan; expected a finite number"),
    ({"returns": changed(np.inf)}, r"return of task 3, rollout 7 is inf; expected a finite number"),
    ({"returns": changed(1.5)}, r"return of task 3, rollout 7 is 1.5, outside the support \(0, 1\)"),
    ({"returns": changed(-0.5)}, r"return of task 3, rollout 7 is -0.5, outside the support \(0, 1\)"),
    ({"support": (1.0, 0.0)}, r"support is \(1, 0\); expected a < b"),
    ({"support": (0.0, 0.0)}, r"support is \(0, 0\); expected a < b"),
    ({"support": None}, r"support is None; expected a pair"),
    ({"support": (0.0,)}, r"support has 1 entries; expected a pair"),
    ({"support": (np.nan, 1.0)}, r"support is \(nan, 1\); expected a < b"),
    ({"bound": "clopper_pearson"}, r"task 0, rollout 0 is .*; Clopper-Pearson expects binary returns, 0 or 1"),
    ({"delta": 0.0}, r"delta is 0; expected a probability in \(0, 1\)"),
    ({"delta": 1.0}, r"delta is 1; expected a probability in \(0, 1\)"),
    ({"delta": np.nan}, r"delta is nan; expected a probability in \(0, 1\)"),
    ({"delta": [0.1, 0.2]}, r"delta has shape \(2,\); expected a scalar"),
    ({"beta": 0.0}, r"beta is 0; expected a probability in \(0, 1\)"),
    ({"beta": -0.1}, r"beta is -0.1; expected a probability in \(0, 1\)"),
    ({"beta": 1.0}, r"beta is 1; expected a probability in \(0, 1\)"),
    ({"returns": np.ones((0, 5))}, r"returns of shape \(0, 5\) hold no tasks"),
    ({"returns": np.ones((5, 0))}, r"returns of shape \(5, 0\) hold no rollouts"),
    (
        {"returns": X[:, :1], "bound": "empirical_bernstein"},
        r"1 rollout per task; empirical_bernstein needs at least 2",
    ),
    ({"where": np.arange(600).reshape(20, 30) >= 30}, r"task 0 has every rollout masked"),
    ({"where": np.ones((20, 29), bool)}, r"where has shape \(20, 29\); expected that of the returns, \(20, 30\)"),
    ({"returns": X[0]}, r"returns have shape \(30,\); expected \[..., num_tasks, num_rollouts\]"),
    ({"returns": X.T}, r"look as if their axes were swapped"),
    ({"returns": X.astype(complex)}, r"returns has dtype complex128; expected real numbers"),
    ({"thresholds": [0.1, np.nan]}, r"thresholds\[1\] is nan; expected a finite number"),
    ({"thresholds": np.inf}, r"thresholds is inf; expected a finite number"),
    ({"thresholds": []}, r"thresholds have shape \(0,\)"),
    ({"thresholds": [[0.1]]}, r"thresholds have shape \(1, 1\)"),
    ({"bound": "bernstein"}, r"bound is 'bernstein'; expected one of betting, clopper_pearson"),
    ({"method": "exact"}, r"method is 'exact'; expected one of binomial, scenario"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_certify_refuses(change, message):
    arguments = {"returns": X, "thresholds": [0.5]} | GOOD | change
    with pytest.raises(ValueError, match=message):
        certify(arguments.pop("returns"), arguments.pop("thresholds"), **arguments)


@pytest.mark.parametrize(("safety", "message"), [(0.0, "safety is 0"), (1.0, "safety is 1"), (np.nan, "safety is nan")])
def test_certify_safety_level_refuses(safety, message):
    with pytest.raises(ValueError, match=message):
        certify_safety_level(X, safety, **GOOD)


@pytest.mark.parametrize(
    ("lower", "message"),
    [
        ([0.1, np.nan], r"lower_bounds\[1\] is nan; expected a finite number, or -inf"),
        ([np.inf, 0.1], r"lower_bounds\[0\] is inf; expected a finite number, or -inf"),
        ([], r"lower_bounds have shape \(0,\)"),
    ],
)
def test_certify_lower_bounds_refuses(lower, message):
    with pytest.raises(ValueError, match=message):
        certify_lower_bounds(np.asarray(lower, np.float32), 0.5, delta=0.1, beta=0.05)


@pytest.mark.parametrize("epsilon", [binomial_epsilon, scenario_epsilon])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 2, 0.1, 0.1), r"num_violations is 3; expected a whole number between 0 and num_tasks"),
        ((-1, 2, 0.1, 0.1), r"num_violations is -1"),
        ((0.5, 2, 0.1, 0.1), r"num_violations is 0.5"),
        ((0, 0, 0.1, 0.1), r"num_tasks is 0; expected a whole number of at least 1"),
        ((0, 2, 1.0, 0.1), r"beta is 1; expected a probability"),
        ((0, 2, 0.1, [0.1, 0.0]), r"delta\[1\] is 0; expected a probability"),
    ],
)
def test_epsilons_refuse(epsilon, arguments, message):
    with pytest.raises(ValueError, match=message):
        epsilon(*arguments)


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


@pytest.mark.slow
def test_mixed_types_give_the_same_under_jit(x64):
    delta = np.float32(0.01)
    for epsilon in (binomial_epsilon, scenario_epsilon):
        eager = jax.tree.leaves(epsilon(3, 200, 1e-4, delta))[0]
        traced = jax.tree.leaves(jax.jit(epsilon)(3, 200, 1e-4, delta))[0]
        assert (eager.dtype, float(eager)) == (np.float32, float(traced))


def test_no_problems_have_no_solutions():
    nothing = np.zeros((2, 0), np.float32)
    assert binomial_epsilon(0, 10, nothing, 0.1).shape == (2, 0)
    assert scenario_epsilon(0, 10, nothing, 0.1).num_valid.shape == (2, 0)


def test_beta_zero_is_for_the_binomial_certificate_alone():
    assert float(binomial_epsilon(0, 10, 0.0, 0.1)) < 1
    with pytest.raises(ValueError, match="beta is 0"):
        scenario_epsilon(0, 10, 0.0, 0.1)


# --- values that cannot be read ---------------------------------------------------------------------------------------


# Compiled once for all the values below.
_certify_returns = jax.jit(
    lambda x, bound: certify(x, 0.0, support=(0.0, 1.0), delta=0.1, bound=bound), static_argnames="bound"
)


@jax.jit
def _certify_level(x, safety, low, high, beta, delta):
    return certify_safety_level(x, safety, support=(low, high), beta=beta, delta=delta)


@functools.partial(jax.jit, static_argnames="method")
def _certify_threshold(thresholds, beta, delta, method):
    return certify(X, thresholds, support=(0.0, 1.0), beta=beta, delta=delta, method=method)


@pytest.mark.filterwarnings("ignore:thresholds is .* below the support:UserWarning")
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1.5, -0.5])
@pytest.mark.parametrize("bound", ["betting", "dkw", "empirical_bernstein", "hoeffding"])
def test_a_bad_return_counts_against_its_task_or_the_certificate_under_jit(bad, bound):
    good, got = _certify_returns(X, bound), _certify_returns(changed(bad), bound)
    assert int(good.num_violations[0]) == 0
    assert int(got.num_violations[0]) == (1 if np.isnan(bad) else len(X))
    assert np.isneginf(got.lower_bounds[3])
    assert Status(int(got.status[0])) is Status.INVALID_INPUT
    assert float(got.safety[0]) < float(good.safety[0])


def test_a_value_that_is_not_binary_certifies_nothing_under_jit():
    x = np.ones((20, 30), np.float32)
    x[4, 2] = 0.5
    got = jax.jit(lambda x: certify(x, 0.1, support=(0, 1), delta=0.1, bound="clopper_pearson"))(x)
    assert (int(got.num_violations[0]), float(got.epsilon[0])) == (20, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"beta": np.nan}, {"beta": 0.0}, {"beta": 1.0}, {"beta": -1.0}, {"delta": np.nan}, {"delta": 0.0},
        {"delta": 1.0}, {"delta": 2.0}, {"thresholds": np.nan}, {"thresholds": np.inf}, {"thresholds": -np.inf},
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["binomial", "scenario"])
def test_a_bad_level_or_threshold_certifies_nothing_under_jit(change, method):
    arguments = {"thresholds": 0.1, "beta": 0.05, "delta": 0.1} | change
    got = _certify_threshold(**jax.tree.map(jnp.float32, arguments), method=method)
    assert float(got.epsilon[0]) == 1
    assert float(got.safety[0]) == 0
    assert Status(int(got.status[0])) is Status.INVALID_INPUT


@pytest.mark.parametrize(
    "bad", [(-1, 9, 0.1, 0.1), (10, 9, 0.1, 0.1), (0, 0, 0.1, 0.1), (0, 9, np.nan, 0.1), (0, 9, 0.1, 1.5)]
)
def test_epsilons_are_one_for_arguments_without_meaning(bad):
    arguments = [jnp.float32(v) for v in bad]
    assert float(jax.jit(binomial_epsilon)(*arguments)) == 1
    assert float(jax.jit(scenario_epsilon)(*arguments).epsilon) == 1


def test_validate_false_fails_closed_as_well():
    got = certify(changed(np.nan), 0.0, validate=False, **GOOD)
    assert int(got.num_violations[0]) == 1


# --- axes -------------------------------------------------------------------------------------------------------------


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
    with pytest.raises(ValueError, match="axes were swapped"):
        certify(batch, 0.5, **GOOD)
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


def test_swapped_axes_are_noticed_on_the_device():
    with pytest.raises(ValueError, match="axes were swapped"):
        certify(jnp.asarray(X.T), 0.5, **GOOD)


def test_a_rollout_that_no_task_has_is_no_reason_to_refuse():
    padded = np.concatenate([X, np.full((len(X), 10), 0.0)], axis=1)
    where = np.broadcast_to(np.arange(padded.shape[1]) < X.shape[1], padded.shape)
    got, plain = certify(padded, 0.5, where=where, **GOOD), certify(X, 0.5, **GOOD)
    assert got.num_violations[0] == plain.num_violations[0]


# --- found by trying to break it --------------------------------------------------------------------------------------

UNREADABLE = "a probability that float32 can tell from 0 and 1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"returns": X.astype(np.float64) * 0 + (1 + 1e-10)}, r"is 1\.0000000001, outside the support"),
        ({"returns": np.full((20, 5), 1 + 1e-10), "bound": "clopper_pearson"}, r"expects binary returns"),
        ({"delta": 1e-50}, rf"delta is 1e-50; expected {UNREADABLE}"),
        ({"beta": 1e-44}, rf"beta is 1e-44; expected {UNREADABLE}"),
        ({"beta": 1 - 1e-12}, rf"beta is 1; expected {UNREADABLE}"),
        ({"thresholds": 1e300}, r"thresholds is 1e\+300; expected a number within the range of float32"),
        ({"support": (-1e300, 1.0)}, r"support holds -1e\+300; expected numbers within the range of float32"),
        ({"delta": None}, r"delta has dtype object; expected real numbers"),
        ({"delta": "a"}, r"delta has dtype <U1; expected real numbers"),
        ({"returns": np.ma.masked_array(X, X > 0.5)}, r"returns is a masked array, whose mask would be lost"),
        ({"returns": X.astype("m8[s]")}, r"returns has dtype timedelta64\[s\]; expected real numbers"),
        ({"returns": X.T, "where": np.ones((30, 20), bool)}, r"look as if their axes were swapped"),
    ],
)
def test_certify_also_refuses(change, message):
    arguments = {"returns": X, "thresholds": [0.5]} | GOOD | change
    with pytest.raises(ValueError, match=message):
        certify(arguments.pop("returns"), arguments.pop("thresholds"), **arguments)


@pytest.mark.parametrize("epsilon", [binomial_epsilon, scenario_epsilon])
def test_infinitely_many_tasks_are_refused_and_certify_nothing(epsilon):
    with pytest.raises(ValueError, match="num_tasks is inf; expected a whole number"):
        epsilon(0, np.inf, 0.1, 0.1)
    for bad in ((0, np.inf), (2.5, 9.0)):
        got = jax.jit(epsilon)(*map(jnp.float32, (*bad, 0.1, 0.1)))
        assert float(jax.tree.leaves(got)[0]) == 1


def test_a_level_per_threshold_is_refused_even_unvalidated():
    with pytest.raises(ValueError, match="beta has shape"):
        certify(X, [0.1, 0.2], beta=jnp.asarray([0.1, 0.2]), validate=False, **GOOD)


@pytest.mark.parametrize(
    "change",
    [
        {"x": np.full_like(X, np.nan)}, {"x": X - 10}, {"low": 1.0, "high": 0.0}, {"low": np.nan}, {"low": -np.inf},
        {"safety": 1.5}, {"safety": np.nan}, {"delta": 0.0}, {"delta": np.nan}, {"beta": 0.0}, {"beta": 1.0},
    ],
)  # fmt: skip
def test_safety_level_claims_nothing_from_bad_values_under_jit(change):
    arguments = {"x": X, "safety": 0.5, "low": 0.0, "high": 1.0, "beta": 0.05, "delta": 0.1} | change
    got = _certify_level(**jax.tree.map(jnp.float32, arguments))
    assert float(got.safety[0]) == 0
    assert float(got.epsilon[0]) == 1
    assert np.isneginf(got.thresholds[0])
    assert Status(int(got.status[0])) is Status.INVALID_INPUT


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


def test_returns_whose_sum_overflows_are_refused():
    x = np.full((3, 50), 2e37, np.float32)
    with pytest.raises(ValueError, match="the returns of task 0 sum to more than float32 can hold"):
        certify(x, 1e37, support=(0.0, 3e37), delta=0.1)
    with pytest.raises(ValueError, match="the returns of task 1 sum"):
        certify(x * np.array([[0.01], [1], [1]], np.float32), 1e37, support=(0.0, 3e37), delta=0.1)
    where = np.arange(50) < 5
    found = certify(x, 1e36, support=(0.0, 3e37), delta=0.1, where=np.broadcast_to(where, x.shape))
    assert int(found.status[0]) != Status.INVALID_INPUT


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
