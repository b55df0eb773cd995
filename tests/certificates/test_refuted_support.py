"""A return outside the declared support that cannot be refused: no certificate of any kind."""

import jax
import numpy as np
import pytest
from asked import ways

import jaxcert
from jaxcert import Status
from jaxcert.returns.summaries import Histogram
from jaxcert.sequential import certificate, init, update

N, M = 40, 4
GOOD = np.random.default_rng(0).beta(30, 2, (N, M)).astype(np.float32)
LOW, HIGH, INFINITE, MISSING = (GOOD.copy() for _ in range(4))
LOW[3, 1], HIGH[3, 1], INFINITE[3, 1], MISSING[3, 1] = -1000, 1.5, np.inf, np.nan
OPTIONS = {"support": (0.0, 1.0), "delta": 0.05, "validate": False}


def passed(x: np.ndarray) -> np.ndarray:
    """Successes for the binary methods, with the values that are none."""
    return np.where((x >= 0) & (x <= 1), (x > 0.5).astype(np.float32), x)


def counted(x, name: str = "betting", **settings):
    return jaxcert.certify(x, [0.1], bound=name, **OPTIONS, **settings)


def summarised(x):
    summary = Histogram.empty(N, support=(0.0, 1.0), num_bins=100).update(x, validate=False)
    return jaxcert.certify(summary, [0.1], delta=0.05, validate=False)


def by_given_bounds(x):
    lower = jaxcert.bounds.betting(x, 0.05, support=(0.0, 1.0), validate=False)
    return jaxcert.certify_lower_bounds(lower, [0.1], delta=0.05, beta=0.05, validate=False)


def in_steps(x):
    state = init(N, [0.1], support=(0.0, 1.0))
    for rollout in x.T:
        state = update(state, rollout, np.arange(N), validate=False)
    return certificate(state, 0.05)


WAYS = ways([0.1])
# Those of other questions are refused or certify nothing by test_bad_input.py.
CALLS = {
    **{name: lambda x, way=WAYS[name]: way(x, **OPTIONS) for name in ("safety", "soft", "interval", "weighted")},
    "hoeffding": lambda x: counted(x, "hoeffding", beta=0.5),
    "clopper_pearson": lambda x: counted(passed(x), "clopper_pearson"),
    "scenario": lambda x: counted(x, method="scenario", beta=0.1),
    "attained": lambda x: jaxcert.certify(passed(x), [0.1], method="attained", **OPTIONS),
    "attained safety level": lambda x: jaxcert.certify_safety_level(passed(x), [0.5], method="attained", **OPTIONS),
    "improvement on the other": lambda x: jaxcert.certify_improvement(GOOD, x, [-0.9], **OPTIONS),
    "improvement with fewer": lambda x: jaxcert.certify_improvement(x, GOOD[:, :3], [-0.95], **OPTIONS),
    "soft sequential": lambda x: jaxcert.certify_sequential(x, [0.1], method="soft", **OPTIONS),
    "histogram": summarised,
    "given": by_given_bounds,
    "steps": in_steps,
}


@pytest.mark.parametrize("name", CALLS)
def test_one_return_outside_the_support_leaves_nothing(name):
    """A task without a value counts on its own: what is certified of the others rests on no support that it refutes."""
    call = CALLS[name]
    assert float(call(GOOD).safety[0]) > 0.4
    for returns in (LOW, HIGH, INFINITE):
        found = call(returns)
        assert (float(found.safety[0]), float(found.epsilon[0])) == (0, 1)
        assert int(found.status[0]) == Status.INVALID_INPUT
        assert np.all(~np.isfinite(found.lower_bounds))
    assert 0.3 < float(call(MISSING).safety[0]) <= float(call(GOOD).safety[0])


@pytest.mark.parametrize("method", ["binomial", "soft"])
def test_in_a_batch_and_under_jit_only_that_entry_is_refused(method):
    batch = np.stack([GOOD, LOW, MISSING, GOOD])

    def certified(x):
        return jaxcert.certify(x, [0.1], support=(0.0, 1.0), delta=0.05, method=method)

    for found in (jax.jit(certified)(batch), jax.jit(jax.vmap(certified))(batch)):
        safety = np.asarray(found.safety)[:, 0]
        assert safety[1] == 0 < safety[2] < safety[0] == safety[3]
        assert np.asarray(found.status)[:, 0].tolist() == [0, Status.INVALID_INPUT, found.status[2, 0], 0]


@pytest.mark.parametrize("method", ["binomial", "soft"])
def test_weights_alone_certify_nothing(method):
    """Those of the sampled tasks have a mean of 0.7 here, which says that the others weigh more, and no more."""
    found = jaxcert.certify_weighted(LOW, [0.1], np.full(N, 0.7), max_weight=1.5, method=method, **OPTIONS)
    assert (float(found.safety[0]), float(found.epsilon[0])) == (0, 1)


def test_an_open_end_is_refuted_by_infinity_alone():
    large = GOOD.copy()
    large[3, 1] = 1e30
    options = OPTIONS | {"support": (0.0, np.inf)}
    assert int(jaxcert.certify(large, [0.1], **options).status[0]) == Status.CERTIFIED
    assert float(jaxcert.certify(INFINITE, [0.1], **options).epsilon[0]) == 1


def test_rare_returns_far_below_are_not_seen_in_most_tasks():
    """The case of the theory page: J is -10.2 in every task, and most tasks show returns of 10 alone."""
    rng = np.random.default_rng(1)
    returns = np.where(rng.random((200, 50, 3)) < 0.02, -1000.0, 10.0).astype(np.float32)
    found = jaxcert.certify(returns, [3.0], support=(0.0, 10.0), delta=0.05, validate=False)
    hit = (returns < 0).any((1, 2))
    assert hit.mean() > 0.9
    np.testing.assert_array_equal(np.asarray(found.safety)[hit, 0], 0)
    assert np.all(np.asarray(found.safety)[~hit, 0] > 0.8)  # nothing in the returns shows that the support is wrong
