"""Several requirements at once: one is `certify`, and several fail no more often than delta, whatever the laws are."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from lists import chances, multisets
from scipy import stats

from jaxcert import (
    Status,
    at_least,
    at_most,
    binomial_epsilon,
    bounds,
    certify,
    certify_requirements,
    certify_suite,
    certify_suite_requirements,
)
from jaxcert.returns import Requirement

RNG = np.random.default_rng(0)
REWARD = (RNG.beta(6, 2, (60, 1)) * RNG.uniform(0.8, 1, (60, 12))).astype(np.float32)
COST = (RNG.beta(2, 6, (60, 1)) * RNG.uniform(0.8, 1, (60, 12))).astype(np.float32)
PASSED = RNG.random((60, 6)) < RNG.beta(9, 1, (60, 1))
HIT = RNG.random((60, 6)) < RNG.beta(1, 9, (60, 1))
MASK = np.arange(12) < RNG.integers(8, 13, (60, 1))
WANTED = {"reward": at_least(0.5, support=(0, 1)), "cost": at_most(0.5, support=(0, 1))}
FIELDS = ("safety", "epsilon", "num_violations", "status")


def both(**settings):
    return certify_requirements({"reward": REWARD, "cost": COST}, WANTED, delta=0.1, complete=True, **settings)


# --- one requirement ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"beta": 0.2}, {"method": "soft"}, {"beta": "auto"}, {"bound": "hoeffding"}])
@pytest.mark.parametrize("masked", [False, True])
def test_one_requirement_is_what_certify_says(precision, settings, masked):
    kinds = (REWARD.astype(precision), MASK, {"support": (0, 1)}), (PASSED, MASK[:, 6:], {})
    for x, where, support in kinds[: 1 if "bound" in settings else 2]:
        asked = {"delta": 0.1, "where": where if masked else None, **settings}
        found = certify_requirements({"r": x}, {"r": at_least(0.5, **support)}, **asked)
        wanted = certify(x, 0.5, **support, **asked)
        rtol = 4 * np.finfo(found.epsilon.dtype).eps
        for name in FIELDS:
            np.testing.assert_allclose(getattr(found, name), getattr(wanted, name)[0], rtol=rtol)


def test_at_most_is_at_least_of_what_is_left():
    for returns, most, least in ((COST, WANTED["cost"], at_least(-0.5, support=(-1, 0))), (HIT, at_most(0.5), None)):
        for method in (None, "anytime"):
            found = certify_requirements({"c": returns}, {"c": most}, delta=0.1, complete=True, method=method)
            other = {"c": -returns if least else ~returns}
            wanted = certify_requirements(other, {"c": least or at_least(0.5)}, delta=0.1, method=method)
            assert float(found.safety) == float(wanted.safety) > 0


# --- several --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [0.02, 0.05, 0.3])
def test_tasks_are_counted_that_miss_any_requirement(precision, beta):
    reward, cost = REWARD.astype(precision), COST.astype(precision)
    found = certify_requirements({"reward": reward, "cost": cost}, WANTED, delta=0.1, beta=beta, complete=True)
    missed = [bounds.betting(reward, beta, support=(0, 1)) < 0.5, bounds.betting(-cost, beta, support=(-1, 0)) < -0.5]
    np.testing.assert_array_equal(found.missed, missed)
    assert int(found.num_violations) == np.sum(np.any(missed, axis=0)) > max(found.num_missed.tolist())
    assert float(found.epsilon) == pytest.approx(float(binomial_epsilon(found.num_violations, 60, beta, 0.1)), rel=1e-6)


@pytest.mark.parametrize(("same", "k", "safety"), [(True, 6, 0.849), (False, 12, 0.756)])
def test_six_bad_tasks_for_each_of_two_metrics(same, k, safety):
    """By hand and by the call, and against two certificates at delta / 2 that are added."""
    bad = np.arange(80) < 6
    reached = {"a": ~bad, "b": ~(bad if same else bad[::-1])}
    returns = {name: np.broadcast_to(x[:, None], (80, 20)).astype(float) for name, x in reached.items()}
    wanted = {name: at_least(0.8, support=(0, 1)) for name in returns}
    found = certify_requirements(returns, wanted, delta=0.05, beta=0.05)
    assert int(found.num_violations) == k
    by_hand = 1 - stats.beta.isf(0.05, k + 1, 80 - k) / 0.95
    assert float(found.safety) == pytest.approx(by_hand, rel=1e-6)
    assert int(1000 * by_hand) == 1000 * safety
    apart = [certify(x, 0.8, support=(0, 1), delta=0.025, beta=0.05) for x in returns.values()]
    added = 1 - sum(float(each.epsilon[0]) for each in apart)
    assert round(added, 3) == 0.671 < safety


def metrics(counts, m, of_returns, precision):
    """Successes [..., n, 2] of the two metrics as bool or numbers, and what is required of them."""
    data = {name: np.arange(m) < counts[..., i, None] for i, name in enumerate("ab")}
    data = {name: x.astype(precision) if name in of_returns else x for name, x in data.items()}
    return data, {name: at_least(0.5, support=(0, 1) if name in of_returns else None) for name in "ab"}


@pytest.mark.parametrize("of_returns", [(), ("b",), ("a", "b")])
@pytest.mark.parametrize("settings", [{}, {"beta": "auto"}, {"method": "soft"}])
def test_failure_is_at_most_delta_at_the_worst_laws(precision, settings, of_returns):
    """Every sample of tasks that miss one requirement of two, or both with metrics that depend on one another."""
    n, m, delta = 6, 3, 0.2
    # Successes of the two metrics: the second one perfect, the first one perfect, or both the same.
    outcomes = [(s, m) for s in range(m + 1)] + [(m, s) for s in range(m)] + [(s, s) for s in range(m)]
    rows = multisets(n, len(outcomes))
    counts = np.asarray(outcomes)[rows]
    data, wanted = metrics(counts, m, of_returns, precision)
    safety = np.asarray(certify_requirements(data, wanted, delta=delta, validate=False, **settings).safety)
    coin = stats.binom.pmf(np.arange(m + 1), m, 0.5)
    laws = {
        "a": {(s, m): coin[s] for s in range(m + 1)},
        "b": {(m, s): coin[s] for s in range(m + 1)},
        "both": {(s, s): coin[s] for s in range(m + 1)},
    }
    worst = 0.0
    for shares in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (0.5, 0.5, 0), (0.3, 0.3, 0.4)):
        bad = np.asarray(
            [sum(w * law.get(o, 0) for w, law in zip(shares, laws.values(), strict=True)) for o in outcomes]
        )
        for risk in np.unique(1 - safety[safety > 0]).tolist()[:12]:
            # The true risk is a hair above a certified one.
            law = bad * (risk + 1e-6) + np.asarray([o == (m, m) for o in outcomes]) * (1 - risk - 1e-6)
            worst = max(worst, float(np.sum(chances(rows, law)[1 - safety <= risk])))
    assert worst <= delta * (1 + 1e-5)
    says_much = not of_returns and settings != {"method": "soft"}  # bounds of three returns say less
    assert worst > 0.1 or not says_much


# --- a list ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of_returns", [(), ("b",), ("a", "b")])
def test_on_a_list_failure_is_at_most_delta_for_any_number_of_bad_tasks(precision, of_returns):
    """Every sample of bad tasks, which miss one requirement of two by a hair, or both at once; the others pass."""
    n, m, delta = 8, 4, 0.2
    coin, parts = stats.binom.pmf(np.arange(m + 1), m, 0.5), []
    for num_bad, how in itertools.product(range(1, 5), ("one or the other", "one", "both")):
        rows = np.asarray(list(itertools.product(range(m + 1), repeat=num_bad)))
        counts, places = np.full((len(rows), n, 2), m), np.arange(num_bad)
        counts[:, places, places % 2 if how == "one or the other" else 0] = rows
        if how == "both":
            counts[:, places, 1] = rows
        parts.append((num_bad, counts, np.prod(coin[rows], axis=1)))
    counts = np.concatenate([counts for _, counts, _ in parts])
    data, wanted = metrics(counts, m, of_returns, precision)
    good = np.asarray(certify_suite_requirements(data, wanted, delta=delta, validate=False).num_good)
    each = np.split(good, np.cumsum([len(counts) for _, counts, _ in parts])[:-1])
    fails = [np.sum(weights[good > n - bad]) for good, (bad, _, weights) in zip(each, parts, strict=True)]
    assert max(fails) <= delta * (1 + 1e-5)
    assert max(fails) > 0.02 or of_returns


@pytest.mark.parametrize("where", [None, {"reward": MASK, "passed": MASK[:, 6:]}])
def test_on_a_list_it_counts_tasks_that_meet_all(where):
    data, wanted = {"reward": REWARD, "passed": PASSED}, {"reward": WANTED["reward"], "passed": at_least(0.5)}
    found = certify_suite_requirements(data, wanted, delta=0.1, where=where)
    good, k = int(found.num_good), int(np.any(found.missed, axis=0).sum())
    assert (int(found.num_violations), int(found.num_valid)) == (k, 60 - k)
    assert 0 < good <= 60 - k
    assert float(found.safety) <= good / 60 <= float(found.safety) + 1e-6
    alone = [certify_suite(x, 0.5, support=(0, 1), delta=0.1, where=where and where[name]) for name, x in data.items()]
    assert good <= 2 + min(int(each.num_good[0]) for each in alone)
    words = "the expected reward is at least 0.5 and the probability of passed is at least 0.5, all at once."
    assert str(found) == f"With confidence 0.9: on at least {good} of these 60 tasks, {words}"
    traced = jax.jit(lambda data: certify_suite_requirements(data, wanted, delta=0.1, where=where))(data)
    assert (int(traced.num_good), int(traced.status)) == (good, Status.CERTIFIED)
    nothing = certify_suite_requirements({"passed": PASSED & False}, {"passed": at_least(0.5)}, delta=0.1)
    assert (int(nothing.num_good), float(nothing.safety), int(nothing.status)) == (0, 0.0, Status.VACUOUS)
    assert "nothing is certified about the number of these 60 tasks on which" in str(nothing)


@pytest.mark.parametrize("masked", [False, True])
def test_on_a_list_one_requirement_is_a_suite(precision, masked):
    """At one of the same levels; so the whole list may be good."""
    for returns in (REWARD, PASSED, np.maximum(REWARD, 0.9), PASSED | True):
        support = None if returns.dtype == bool else (0, 1)
        given = returns if support is None else returns.astype(precision)
        where = MASK[:, -returns.shape[1] :] if masked else None
        found = certify_suite_requirements({"x": given}, {"x": at_least(0.5, support=support)}, delta=0.1, where=where)
        alone = certify_suite(given, 0.5, support=support, delta=0.1, where=where)
        assert int(found.num_good) == int(alone.num_good[0])
    assert masked or int(found.num_good) == 60


# --- mixed, and bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [None, {"reward": MASK, "passed": MASK[:, 6:]}])
@pytest.mark.parametrize("settings", [{"beta": 0.1}, {}, {"beta": "auto"}, {"method": "binomial", "beta": "auto"}])
def test_returns_and_successes_may_be_mixed(settings, where):
    """The task passes both in one of the ways that were fixed beforehand, of which the best counts."""
    wanted = {"reward": WANTED["reward"], "passed": at_least(0.5)}
    found = certify_requirements({"reward": REWARD, "passed": PASSED}, wanted, delta=0.1, where=where, **settings)
    alone = [
        float(certify_requirements({"x": x}, {"x": wanted[name]}, delta=0.1, where=where and where[name]).safety)
        for name, x in (("reward", REWARD), ("passed", PASSED))
    ]
    assert 0 < float(found.safety) <= max(alone) + 0.02
    k, level = int(found.num_violations), float(found.level)
    assert float(found.epsilon) >= 0.999 * float(binomial_epsilon(k, 60, 0.0, 0.1))
    assert k == int(np.any(found.missed, axis=0).sum())
    assert 0 < level < 1
    if settings == {"beta": 0.1} and where is None:  # of returns the level itself, of successes the one they attain
        assert float(found.epsilon) == pytest.approx(float(binomial_epsilon(k, 60, 0.1, 0.1)), rel=1e-6)


def test_an_event_is_a_zero_or_a_one_alone():
    tiny = jnp.full((60, 20), 1e-40, jnp.float32)
    settings = {"bound": "clopper_pearson", "complete": True, "validate": False}
    found = certify_requirements({"e": tiny}, {"e": at_most(0.5)}, delta=0.1, **settings)
    assert (float(found.safety), int(found.status)) == (0.0, Status.INVALID_INPUT)


def test_a_threshold_beyond_the_support_is_asked_about():
    for requirement, words in (
        (at_least(70, support=(0, 1)), "no policy meets that; is it in another unit"),
        (at_most(1.5, support=(0, 1)), "every policy meets that"),
        (at_least(-0.1, support=(0, 1)), "every policy meets that"),
    ):
        with pytest.warns(UserWarning, match=words):
            certify_requirements({"r": REWARD}, {"r": requirement}, delta=0.1, complete=True)


# --- as arrays, and in words ----------------------------------------------------------------------------------------


def test_lines_are_read_and_written():
    lines = ["expected return >= 3e-1 in -1 1000", "cost <= 25 in 0 inf", "cost >= 0 in 0 inf", "success>=.9"]
    data = {"expected return": REWARD, "cost": 50 * COST, "success": PASSED}
    lines[1:3] = ["cost <= 25 in 0 500", "cost >= 0.1 in 0 500"]
    found = certify_requirements(data, lines, delta=0.1, complete=True)
    assert found.requirements == (
        "expected return >= 0.3 in -1 1000",
        "cost >= 0.1 in 0 500",
        "cost <= 25 in 0 500",
        "success >= 0.9",
    )
    again = certify_requirements(data, found.requirements, delta=0.1, complete=True)
    assert again.requirements == found.requirements
    assert float(again.safety) == float(found.safety)


def test_a_sentence_names_all_of_them():
    assert "the expected reward is at least 0.5 and the expected cost is at most 0.5, all at once, with" in str(both())
    nothing = certify_requirements({"r": REWARD}, ["r >= 0.999 in 0 1"], delta=0.1)
    assert "nothing is certified about whether the expected r is at least 0.999" in str(nothing)
    assert nothing.status == Status.VACUOUS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"complete": False}, "cost is to be at most a number; expected complete=True"),
        ({"complete": "yes"}, "complete is 'yes'; expected True or False"),
        ({"where": {"reward": MASK, "costs": MASK}}, "there are no where of 'cost'"),
        ({"where": {"reward": MASK, "cost": MASK, "costs": MASK}}, "nothing is required of 'costs'"),
        ({"requirements": {"reward": WANTED["reward"], 3: WANTED["cost"]}}, "a metric is called 3"),
        ({"requirements": {**WANTED, "cost": at_most(0.5, support=(0, np.inf))}}, "cost: support has no upper end"),
        ({"requirements": {}}, "there are no requirements"),
        ({"requirements": "reward >= 1"}, "expected them by their metrics, or lines"),
        ({"requirements": ["reward > 1 in 0 1"]}, "requirement 'reward > 1 in 0 1'; expected a line such as"),
        ({"requirements": ["reward >= 0.1 in 0 1", "reward >= 0.2 in 0 1"]}, "'reward' is required twice"),
        ({"requirements": ["reward >= 0.1 in 0 1", "reward <= 0.2 in 0 2"]}, "have supports"),
        ({"requirements": ["reward >= 0.3 in 0 1", "reward <= 0.2 in 0 1"]}, "expected the smaller number first"),
        ({"requirements": {"reward": Requirement()}}, "expected at_least"),
        ({"requirements": {"reward": at_least(0.5)}}, "nothing is required of 'cost'"),
        ({"requirements": {**WANTED, "time": at_least(1)}}, "there are no returns of 'time'"),
        ({"requirements": {**WANTED, "cost": at_most(0.5)}}, "cost: a support is missing"),
        ({"requirements": {**WANTED, "cost": at_most([0.5, 0.6], support=(0, 1))}}, "cost: threshold has shape"),
        ({"requirements": {**WANTED, "cost": at_most(np.nan, support=(0, 1))}}, "cost: threshold"),
        ({"returns": REWARD}, "returns are no mapping"),
        ({"returns": {"reward": REWARD, "cost": COST[1:]}}, "cost has 59 tasks, reward has 60"),
        ({"returns": {"reward": REWARD, "cost": 2 + COST}}, "cost: the return of task 0"),
        ({"method": "scenario"}, "method is 'scenario'; expected one of binomial, attained, soft"),
        ({"method": "attained"}, "none of the metrics is of them"),
    ],
)
def test_bad_input_is_named(change, message):
    settings = {"returns": {"reward": REWARD, "cost": COST}, "requirements": WANTED, "delta": 0.1, "complete": True}
    with pytest.raises(ValueError, match=message):
        certify_requirements(**{**settings, **change})
