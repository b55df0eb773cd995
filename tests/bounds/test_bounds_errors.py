"""Every error of the bounds, by its message."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert import bounds

X = np.linspace(0.1, 0.9, 6, dtype=np.float32).reshape(2, 3)
HITS = (X > 0.5).astype(np.float32)
PLAIN = ("hoeffding", "empirical_bernstein", "dkw", "betting")


def spoil(bad: float, place: tuple[int, ...]) -> np.ndarray:
    x = X.copy()
    x[place] = bad
    return x


def refuses(message: str, name: str, **change) -> None:
    """What a bound says of returns, a level, a support or a mask in place of good ones."""
    given = {"x": X, "beta": 0.05, "support": (0, 1)} if name in PLAIN else {"x": HITS, "beta": 0.05}
    with pytest.raises(ValueError, match=message):
        getattr(bounds, name)(**given | change)


VALUES = [
    (spoil(np.nan, (1, 2)), "^the return of task 1, rollout 2 is nan; expected a finite number$"),
    (spoil(np.inf, (0, 1)), "^the return of task 0, rollout 1 is inf; expected a finite number$"),
    (spoil(-np.inf, (1, 0)), "^the return of task 1, rollout 0 is -inf; expected a finite number$"),
    (spoil(1.5, (1, 1)), r"^the return of task 1, rollout 1 is 1\.5, outside the support \(0, 1\)$"),
    (spoil(-0.25, (0, 0)), r"^the return of task 0, rollout 0 is -0\.25, outside the support \(0, 1\)$"),
    (spoil(1.5, (1, 1))[None], r"^the return of task \(0, 1\), rollout 1 is 1\.5, outside"),
    (spoil(1.5, (1, 1))[1], r"^the return of rollout 1 is 1\.5, outside"),
]
# Refused without validation, too.
KINDS = [
    (np.float32(0.5), r"^returns of shape \(\) hold no rollouts; expected \[\.\.\., num_rollouts\]"),
    (np.zeros((2, 0)), r"^returns of shape \(2, 0\) hold no rollouts"),
    (np.zeros((0, 3)), r"^returns of shape \(0, 3\) hold no rollouts"),
    ([], r"^returns of shape \(0,\) hold no rollouts"),
    (X.astype(complex), "^returns has dtype complex128; expected real numbers$"),
    (jnp.asarray(X, jnp.complex64), "^returns has dtype complex64; expected real numbers$"),
    (np.array(["0.5", "0.6"]), "^returns has dtype <U3; expected real numbers$"),
    (None, "^returns has dtype object; expected real numbers$"),
    (np.array(["2026-01-01"], "M8[D]"), r"^returns has dtype datetime64\[D\]; expected real numbers$"),
    ([[0.5, 0.6], [0.7]], "^returns is not a rectangular array of numbers$"),
    (np.ma.masked_array(X, X > 0.5), "^returns is a masked array, whose mask would be lost; .* where= for a mask$"),
]
BETAS = [
    (0, r"^beta is 0; expected a probability in \(0, 1\)$"),
    (1, r"^beta is 1; expected a probability in \(0, 1\)$"),
    (-0.1, r"^beta is -0\.1; expected"),
    (math.nan, "^beta is nan; expected"),
    (1e300, r"^beta is 1e\+300; expected a probability in \(0, 1\)$"),
    (1e-60, "^beta is 1e-60; expected a probability that float32 can tell from 0 and 1$"),
    (1 - 1e-9, "^beta is 1; expected a probability that float32 can tell from 0 and 1$"),
    (np.array([0.1, 1.0]), r"^beta\[1\] is 1; expected"),
    (jnp.asarray([jnp.nan, 0.1]), r"^beta\[0\] is nan; expected"),
    (np.full(3, 0.1), r"^beta has shape \(3,\); expected one that broadcasts to the tasks, \(2,\)$"),
    (np.full((2, 1), 0.1), r"^beta has shape \(2, 1\); expected"),
    (None, "^beta has dtype object; expected real numbers$"),
    (0.05 + 0j, "^beta has dtype complex128; expected real numbers$"),
]
SUPPORTS = [
    (None, r"^support is None; expected a pair \(a, b\) that holds every possible return; successes need none as an "),
    (5, r"^support is 5; expected a pair \(a, b\) that holds every possible return$"),
    ((0,), r"^support has 1 entries; expected a pair \(a, b\)$"),
    ((1, 0), r"^support is \(1, 0\); expected a < b, both numbers, a finite$"),
    ((1, 1), r"^support is \(1, 1\); expected a < b"),
    ((math.nan, 1), r"^support is \(nan, 1\); expected a < b"),
    ((0, math.nan), r"^support is \(0, nan\); expected a < b"),
    ((-math.inf, 1), r"^support is \(-inf, 1\); expected a < b, both numbers, a finite$"),
    ((None, 1), "^support has dtype object; expected real numbers$"),
    (("0", "1"), "^support has dtype <U1; expected real numbers$"),
    ((0j, 1), "^support has dtype complex128; expected real numbers$"),
    ((np.zeros(2), np.ones(2)), r"^support has an end of shape \(2,\); expected a pair \(a, b\) of scalars$"),
    ((jnp.zeros(2), jnp.ones(2)), r"^support has an end of shape \(2,\); expected"),
]
MASKS = [
    (np.ones((2, 2), bool), r"^where has shape \(2, 2\); expected that of the returns, \(2, 3\)$"),
    (True, r"^where has shape \(\); expected"),
    (np.ones((2, 3)), "^where has dtype float64; expected bool$"),
    (jnp.ones((2, 3), jnp.int32), "^where has dtype int32; expected bool$"),
    (np.zeros((2, 3), bool), "^task 0 has every rollout masked; expected at least one per task$"),
    ([[True, False, False], [False, False, False]], "^task 1 has every rollout masked; expected"),
]


@pytest.mark.parametrize("name", PLAIN)
def test_a_bound_refuses(name):
    for argument, rows in {"x": VALUES + KINDS, "support": SUPPORTS, "where": MASKS}.items():
        for bad, message in rows:
            refuses(message, name, **{argument: bad})
            if rows is SUPPORTS:
                refuses(message, name, support=bad, validate=False)
    for support in ((-1e60, 1), (0, 1e60)):
        refuses(r"^support holds -?1e\+60; expected numbers within the range of float32$", name, support=support)


@pytest.mark.parametrize("name", [*PLAIN, "clopper_pearson"])
def test_a_level_is_refused(name):
    for beta, message in BETAS:
        refuses(message, name, beta=beta)


@pytest.mark.parametrize(("x", "message"), KINDS)
def test_shapes_and_types_are_refused_without_validation_and_for_binary_returns(x, message):
    refuses(message, "hoeffding", x=x, validate=False)
    refuses(message, "clopper_pearson", x=x)


@pytest.mark.parametrize("name", PLAIN)
def test_host_returns_are_looked_at_before_they_are_rounded(name):
    # Between 0.1 and the next float32 above it.
    refuses("outside the support", name, x=np.full((1, 3), 0.1 + 1e-10), beta=0.5, support=(0, 0.1))
    assert np.isfinite(getattr(bounds, name)(np.full((1, 3), 0.1), 0.5, support=(0, 0.1))).all()


@pytest.mark.parametrize("dtype", ["int8", "float16"])
def test_narrow_host_returns_in_a_wide_support(dtype):
    x = np.array([[3, 100, 7]], dtype)
    wanted = bounds.betting(x.astype(np.float32), 0.5, support=(-1e6, 1e6))
    np.testing.assert_array_equal(bounds.betting(x, 0.5, support=(-1e6, 1e6)), wanted)
    refuses("rollout 1 is 100, outside", "betting", x=x, beta=0.5, support=(0, 99.99))


def test_what_is_known_under_jit_is_refused():
    with pytest.raises(ValueError, match="hold no rollouts"):
        jax.jit(lambda x: bounds.betting(x, 0.1, support=(0, 1)))(jnp.zeros((2, 0)))
    with pytest.raises(ValueError, match=r"^beta is 2; expected"):
        jax.jit(lambda x: bounds.hoeffding(x, 2.0, support=(0, 1)))(X)


@pytest.mark.parametrize("name", ["hoeffding", "empirical_bernstein"])
def test_support_without_an_upper_end(name):
    refuses(rf"^support is \(0, inf\); {name} needs a finite upper end$", name, support=(0, math.inf))


def test_where_of_a_batch_names_the_task():
    where = np.ones((2, 2, 3), bool)
    where[1, 0] = False
    refuses(r"^task \(1, 0\) has every", "dkw", x=np.stack([X, X]), where=where)


def test_empirical_bernstein_needs_two_rollouts():
    message = "^returns have 1 rollout per task; empirical_bernstein needs at least 2$"
    for checks in ({}, {"validate": False}):
        refuses(message, "empirical_bernstein", x=X[:, :1], **checks)
    where = np.array([[True, True, True], [False, True, False]])
    message = "^task 1 has 1 rollout that is not masked; empirical_bernstein needs at least 2$"
    refuses(message, "empirical_bernstein", where=where)
    message = r"^task \(0, 1\) has 1 rollout that is not masked"
    refuses(message, "empirical_bernstein", x=X[None], where=where[None])


def test_clopper_pearson_needs_binary_returns_and_has_its_support():
    for bad in (0.5, 2.0, -1.0):
        x = HITS.copy()
        x[1, 0] = bad
        message = rf"^the return of task 1, rollout 0 is {bad:g}; expected binary returns, 0 or 1$"
        refuses(message, "clopper_pearson", x=x)
    for low, high in [(0, 2), (-1, 1), (0.5, 1), (0, math.inf)]:
        message = rf"^support is \({low:g}, {high:g}\); clopper_pearson expects binary returns"
        refuses(message, "clopper_pearson", support=(low, high))
