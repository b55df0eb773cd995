"""certify from returns to epsilon against loops in NumPy and SciPy that share no code with it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize, stats

from jaxcert import certify
from jaxcert.certificates._counting import SORT_FROM, count_violations

SHAPE = (2, 25, 40)
BETA, DELTA = 0.02, 0.1


def hoeffding(x: np.ndarray, beta: float) -> float:
    return x.mean() - 2 * np.sqrt(np.log(1 / beta) / (2 * len(x)))


def empirical_bernstein(x: np.ndarray, beta: float) -> float:
    log_term = np.log(2 / beta)
    return x.mean() - np.sqrt(2 * x.var(ddof=1) * log_term / len(x)) - 7 * 2 * log_term / (3 * (len(x) - 1))


def dkw(x: np.ndarray, beta: float) -> float:
    radius = np.sqrt(np.log(1 / beta) / (2 * len(x)))
    steps = np.diff(np.append(-1.0, np.sort(x)))
    return -1 + np.sum(np.maximum(1 - np.arange(len(x)) / len(x) - radius, 0) * steps)


def clopper_pearson(x: np.ndarray, beta: float) -> float:
    successes = x.sum()
    return stats.beta.ppf(beta, successes, len(x) - successes + 1) if successes else 0.0


def betting(x: np.ndarray, beta: float) -> float:
    def wealth(mean: float) -> float:
        loss = lambda bet: -np.sum(np.log1p(bet * ((x + 1) / mean - 1)))  # noqa: E731
        return -optimize.minimize_scalar(loss, bounds=(0, 1), method="bounded", options={"xatol": 1e-9}).fun

    return -1 + optimize.brentq(lambda mean: wealth(mean) + np.log(beta), 1e-6, np.mean(x + 1))


BOUNDS = {f.__name__: f for f in (hoeffding, empirical_bernstein, dkw, clopper_pearson, betting)}


def binomial(k: int, n: int, beta: float, delta: float) -> float:
    return min(1.0, stats.beta.isf(delta, k + 1, n - k) / (1 - beta)) if k < n else 1.0


def scenario(k: int, n: int, beta: float, delta: float) -> float:
    best = 1.0
    for num_valid in range(1, n - k + 1):
        level = delta / (n + 1) - stats.binom.sf(n - k - num_valid, n - k, beta)
        if level > 0:
            best = min(best, stats.beta.isf(level, n - num_valid + 1, num_valid))
    return max(best, binomial(k, n, beta, delta))


METHODS = {"binomial": binomial, "scenario": scenario}


def returns(bound: str) -> tuple[np.ndarray, tuple[float, float]]:
    rng = np.random.default_rng(7)
    skill = rng.beta(6, 1, (*SHAPE[:-1], 1))
    if bound == "clopper_pearson":
        return (rng.random(SHAPE) < skill).astype(float), (0.0, 1.0)
    return 2 * skill * rng.beta(20, 1, SHAPE) - 1, (-1.0, 1.0)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(
    ("bound", "method"),
    [
        *((bound, "binomial") for bound in BOUNDS),
        ("betting", "scenario"),
        pytest.param("dkw", "scenario", marks=pytest.mark.slow),
    ],
)
def test_certificates_agree_with_loops(bound, method):
    x, support = returns(bound)
    # Away from the bounds themselves by more than the rounding of either side.
    thresholds = np.linspace(*support, 14)[1:-1] + 1e-3
    got = certify(x, thresholds, support=support, delta=DELTA, beta=BETA, bound=bound, method=method)
    lower = np.array([[max(support[0], BOUNDS[bound](task, BETA)) for task in batch] for batch in x])
    np.testing.assert_allclose(np.asarray(got.lower_bounds), lower, atol=1e-6 if bound == "betting" else 1e-12)
    n = SHAPE[-2]
    violations = np.array([[n - sum(one >= level for one in batch) for level in thresholds] for batch in lower])
    np.testing.assert_array_equal(np.asarray(got.num_violations), violations)
    assert len(np.unique(violations)) > 3
    epsilon = [[METHODS[method](k, n, BETA, DELTA) for k in row] for row in violations]
    np.testing.assert_allclose(np.asarray(got.epsilon), epsilon, rtol=1e-9)
    assert np.all(np.asarray(got.epsilon) + np.asarray(got.safety) <= 1)


def test_levels_at_the_end_of_the_float_range_are_safe(precision):
    tiny = np.array([1e-30, 1e-38, 1e-40, 1e-45, 1e-60, 1e-300, 5e-324])
    beta = np.append(tiny, np.full_like(tiny, 0.05))
    delta = np.append(np.full_like(tiny, 0.1), tiny)
    x = jnp.full((30, 20), 0.9, precision)
    call = jax.vmap(lambda beta, delta: certify(x, 0.0, support=(0.0, 1.0), beta=beta, delta=delta))
    got = jax.jit(call)(jnp.asarray(beta, precision), jnp.asarray(delta, precision))
    # Both levels as they were after rounding; one below the smallest normal number counts as 0 and certifies nothing.
    beta, delta = (np.asarray(level, np.float64) for level in (got.beta, got.delta))
    epsilon = np.asarray(got.epsilon)[:, 0]
    with np.errstate(divide="ignore"):
        exact = -np.expm1(np.log(delta) / 30) / (1 - beta)
    assert np.all((epsilon == 1) | (epsilon >= exact * (1 - 1e-12)))
    bound = 0.9 * beta[:, None] ** (1 / 20) * (1 + 1e-12)
    assert np.all(np.asarray(got.lower_bounds) <= bound)
    says_something = (np.minimum(beta, delta) >= np.finfo(precision).tiny) & (exact < 1)
    assert says_something.sum() >= 2
    np.testing.assert_array_equal(epsilon < 1, says_something)


@pytest.mark.parametrize("count", [SORT_FROM - 1, SORT_FROM, 75])
def test_a_bound_that_is_the_threshold_is_no_violation(count):
    lower = np.random.default_rng(3).integers(1, 10, SHAPE[:-1]).astype(np.float32)
    lower[0, :2] = -np.inf, np.nan
    # Every bound, and floats beside them.
    values = np.arange(1, 10, dtype=np.float32)
    wanted = np.resize([-1, *values, *np.nextafter(values, 20)], (2, count))
    wanted = np.sort(wanted.astype(np.float32))
    expected = SHAPE[-2] - np.sum(lower[:, None, :] >= wanted[:, :, None], axis=-1)
    found = count_violations(jnp.asarray(lower), jnp.asarray(wanted), lower.shape[-1])
    np.testing.assert_array_equal(found, expected)
    assert len(np.unique(expected)) > 9
