"""Several requirements of tasks with weights, from strata, and at every moment: as one requirement, and exactly."""

import dataclasses
import functools
import itertools

import jax
import numpy as np
import pytest
from lists import chances, multisets
from scipy import stats
from test_requirements import metrics

from jaxcert import (
    Status,
    at_least,
    at_most,
    certify,
    certify_anytime,
    certify_requirements,
    certify_suite_requirements,
    certify_weighted,
    paired,
    stratified,
    weighted,
)

RNG = np.random.default_rng(0)
REWARD = (RNG.beta(6, 2, (60, 1)) * RNG.uniform(0.8, 1, (60, 12))).astype(np.float32)
PASSED = RNG.random((60, 12)) < RNG.beta(9, 1, (60, 1))
MASK = np.arange(12) < RNG.integers(8, 13, (60, 1))
WEIGHTS = np.where(np.arange(60) % 2, 0.5, 1.5)
STRATA = np.arange(60) % 3
SHARES = {0: 0.5, 1: 0.25, 2: 0.25}
TWO = ["reward >= 0 in 0 1", "b >= 0 in 0 1"]
BOTH = {"reward": at_least(0.5, support=(0, 1)), "passed": at_least(0.5)}


def kinds(x, where=None, **settings):
    """One metric with weights, from strata, at every moment, and of pairs; what the function for one metric says."""
    given = {"delta": 0.1, "where": where, **settings}
    weights = certify_weighted(x, 0.5, WEIGHTS, max_weight=1.5, **given)
    yield "weights", weighted({"x": x}, WEIGHTS, max_weight=1.5), {}, weights
    for name, frequencies in (("even strata", None), ("strata", SHARES)):
        of = functools.partial(stratified, strata=STRATA, frequencies=frequencies)
        yield name, of({"x": x}), {}, certify(of(x), 0.5, **given)
    yield "moments", {"x": x}, {"method": "anytime"}, certify_anytime(x, 0.5, **given)


@pytest.mark.parametrize("where", [None, MASK])
@pytest.mark.parametrize("of", ["returns", "successes"])
def test_one_requirement_is_what_the_function_for_one_metric_says(precision, of, where):
    x, settings = (REWARD.astype(precision), {"support": (0, 1)}) if of == "returns" else (PASSED, {})
    for name, data, own, wanted in kinds(x, where, **settings):
        found = certify_requirements(data, {"x": at_least(0.5, **settings)}, delta=0.1, where=where, **own)
        for field in ("safety", "epsilon", "num_violations", "status"):
            got, expected = np.asarray(getattr(found, field)), np.asarray(getattr(wanted, field))[0]
            np.testing.assert_allclose(got, expected, rtol=1e-6, err_msg=f"{name} {field}")
        assert (found.method, found.source) == (wanted.method, wanted.source), name
        assert float(found.safety) > 0.2
        if wanted.history is not None:
            np.testing.assert_allclose(found.history, np.asarray(wanted.history)[:, 0], rtol=1e-6)


SETTINGS = [{}, {"beta": "auto"}, {"method": "soft"}, {"method": "anytime", "beta": 0.1}, {"listed": True}]


@pytest.mark.parametrize("settings", SETTINGS)
def test_of_two_policies_it_is_about_the_differences(precision, settings):
    """Which are exact here: all returns are multiples of 1/64."""
    a, b = ({"x": x, "y": 1 - x} for x in np.round(64 * np.stack([REWARD, REWARD[::-1] / 2])).astype(precision) / 64)
    narrow = {"x": at_least(0.0625, support=(0, 1)), "y": at_most(-0.125, support=(0, 1))}
    asked = {"delta": 0.1, "complete": True, **settings}
    ask = certify_suite_requirements if asked.pop("listed", False) else certify_requirements
    wide = {name: dataclasses.replace(each, support=(-1, 1)) for name, each in narrow.items()}
    wanted = ask({name: a[name] - b[name] for name in a}, wide, **asked)
    found = jax.jit(lambda *both: ask(jax.tree.map(paired, *both), narrow, **asked))(a, b)
    np.testing.assert_array_equal(found.missed, wanted.missed)
    assert 0 < float(wanted.safety) == pytest.approx(float(found.safety), rel=1e-5)
    assert int(wanted.num_violations) > 0
    assert "the expected y of policy A minus that of policy B is at most -0.1" in str(found)


def test_one_requirement_of_unequal_pairs_or_of_successes_is_what_certify_says():
    for a, b, given in ((REWARD, REWARD[:, :4] / 2, {"support": (0, 1)}), (PASSED, PASSED[::-1], {})):
        wanted = certify(paired(a, b), -0.25, **given, delta=0.1, method="binomial")
        for pair, wish in ((paired(a, b), at_least(-0.25, **given)), (paired(b, a), at_most(0.25, **given))):
            found = certify_requirements({"x": pair}, {"x": wish}, delta=0.1, complete=True)
            assert 0 < float(found.safety) == pytest.approx(float(wanted.safety[0]), rel=1e-6)
    assert found.requirements == ("x <= 0.25",)
    assert "the probability of x of policy A minus that of policy B is at most 0.25 with" in str(found)


# --- exactly ----------------------------------------------------------------------------------------------------------

M, DELTA = 3, 0.2
COIN = stats.binom.pmf(np.arange(M + 1), M, 0.5)


@pytest.mark.parametrize("of_returns", [(), ("b",)])
def test_every_moment_together_fails_with_at_most_delta(precision, of_returns):
    """Every order of good tasks and of bad ones, which miss one requirement or both at once by a hair."""
    n, outcomes = 4, [(M, M), *((s, M) for s in range(M)), *((s, s) for s in range(M))]
    rows = np.asarray(list(itertools.product(range(len(outcomes)), repeat=n)))
    data, wanted = metrics(np.asarray(outcomes)[rows], M, of_returns, precision)
    settings = {"delta": DELTA, "method": "anytime", "beta": 0.4, "validate": False}
    history = np.asarray(certify_requirements(data, wanted, **settings).history)
    smallest = history[:, -1]  # so far
    worst = 0.0
    for both in (0.0, 0.5, 1.0):
        for risk in np.unique(smallest[smallest < 1]).tolist():
            law = _law(risk + 1e-6, both)
            worst = max(worst, float(np.sum(np.prod(law[rows], axis=1)[smallest <= risk])))
    assert 0.01 < worst <= DELTA * (1 + 1e-5)


@pytest.mark.parametrize("kind", ["weights", "strata", "soft"])
def test_tasks_with_weights_fail_with_at_most_delta(precision, kind):
    """Tasks of two kinds, of which one is bad and has another weight or share; one metric or both are missed."""
    n, outcomes = 6, [(M, M), *((s, M) for s in range(M)), *((s, s) for s in range(M))]
    per_kind = [multisets(n // 2, len(outcomes))] * 2
    first, second = (each.reshape(-1, n // 2) for each in np.broadcast_arrays(per_kind[0][:, None], per_kind[1][None]))
    rows = np.concatenate([first, second], axis=1)
    data, wanted = metrics(np.asarray(outcomes)[rows], M, () if kind != "soft" else ("a", "b"), precision)
    labels, shares = ["a"] * (n // 2) + ["b"] * (n // 2), {"a": 0.75, "b": 0.25}
    frequencies = None if kind == "strata" else shares
    sample = stratified(data, labels, frequencies=frequencies)
    if kind == "weights":  # the same as a density ratio
        sample = weighted(data, sample.weights, max_weight=sample.max_weight)
    method = {"method": "soft"} if kind == "soft" else {}
    risks = np.asarray(certify_requirements(sample, wanted, delta=DELTA, validate=False, **method).epsilon)
    worst, share = 0.0, 0.5 if frequencies is None else 0.75
    for both, bad_a, bad_b in itertools.product((0.0, 1.0), np.linspace(0, 1, 9), np.linspace(0, 1, 9)):
        true = share * bad_a + (1 - share) * bad_b
        chance = chances(first, _law(bad_a, both)) * chances(second, _law(bad_b, both))
        worst = max(worst, float(np.sum(chance[risks < true - 1e-6])))
    assert np.min(risks) < 1
    assert worst <= DELTA


def _law(bad, both):
    law = bad * np.asarray([COIN[M], *(1 - both) * COIN[:M], *both * COIN[:M]])
    law[0] += 1 - bad
    return law


# --- as arrays, in words, and bad input -------------------------------------------------------------------------------


def test_under_jit_and_vmap():
    def ask(reward, weights, *, moments=False):
        data = {"reward": reward, "passed": PASSED}
        if moments:
            return certify_requirements(data, BOTH, delta=0.1, method="anytime", where=MASK)
        return certify_requirements(weighted(data, weights, max_weight=1.5), BOTH, delta=0.1, where=MASK)

    for moments in (False, True):
        alone = ask(REWARD, WEIGHTS, moments=moments)
        traced = jax.jit(lambda x, w, m=moments: ask(x, w, moments=m))(REWARD, WEIGHTS)
        many = jax.vmap(lambda x, m=moments: ask(x, WEIGHTS, moments=m))(np.stack([REWARD, REWARD[::-1]]))
        assert float(alone.safety) > 0
        assert float(traced.epsilon) == pytest.approx(float(alone.epsilon), rel=1e-6)
        assert float(many.epsilon[0]) == pytest.approx(float(alone.epsilon), rel=1e-6)
        assert many[0].status.shape == ()
    bad = jax.jit(ask)(REWARD, -WEIGHTS)
    assert (float(bad.safety), int(bad.status)) == (0.0, Status.INVALID_INPUT)


@pytest.mark.parametrize(
    ("data", "settings", "words"),
    [
        (weighted({"reward": REWARD}, WEIGHTS[1:], max_weight=1.5), {}, "weights have shape"),
        (weighted({"reward": REWARD}, WEIGHTS, max_weight=1.2), {}, "weights"),
        (weighted({"reward": REWARD}, WEIGHTS, max_weight=1.5), {"beta": "auto"}, "beta is 'auto'"),
        (weighted({"reward": REWARD}, WEIGHTS, max_weight=1.5), {"method": "anytime"}, "method is 'anytime'"),
        (stratified({"reward": REWARD}, STRATA), {"delta": 0.3}, "at most 0.25 is proved"),
        (stratified({"reward": REWARD}, STRATA), {"method": "anytime"}, "method is 'anytime'"),
        ({"reward": weighted(REWARD, WEIGHTS, max_weight=1.5)}, {}, "reward: returns are no array"),
        ({"reward": REWARD}, {"method": "anytime", "beta": "auto"}, "beta is 'auto'"),
        ({"reward": paired(REWARD, REWARD[:, :4])}, {"method": "soft"}, "reward: returns_a have 12 rollouts per task"),
        ({"reward": paired(REWARD, REWARD)}, {"where": MASK}, "reward: where is for returns of one policy"),
        ({"reward": paired(REWARD, REWARD)}, {"bound": "clopper_pearson"}, "reward: bound is 'clopper_pearson', which"),
        ({"reward": paired(REWARD, REWARD), "b": REWARD}, {"requirements": TWO}, "some of the metrics are pairs"),
    ],
)
def test_bad_input_is_named(data, settings, words):
    with pytest.raises(ValueError, match=words):
        certify_requirements(data, **{"requirements": {"reward": BOTH["reward"]}, "delta": 0.1, **settings})


def test_a_list_has_no_weights():
    with pytest.raises(ValueError, match="the tasks of a fixed list have no weights"):
        certify_suite_requirements(stratified({"reward": REWARD}, STRATA), {"reward": BOTH["reward"]}, delta=0.1)
