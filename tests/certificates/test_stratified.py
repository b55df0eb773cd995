"""Tasks drawn within strata: exact failure at the worst laws, and what each allocation certifies."""

import itertools

import jax
import numpy as np
import pytest
from scipy import stats

import jaxcert
from jaxcert import certify, certify_stratified, stratified

BETA = 0.05


def outcomes(sizes):
    """Returns 0.9 or 0.1 [combinations, n, m] with every number of violations of each stratum."""
    counts = np.asarray(list(itertools.product(*(range(size + 1) for size in sizes))))
    bad = [np.arange(size) < counts[:, [h]] for h, size in enumerate(sizes)]
    values = np.where(np.concatenate(bad, axis=1), 0.1, 0.9)
    return np.repeat(values[..., None], 60, axis=2)


def failure(sizes, frequencies, epsilon):
    """The largest probability that the true risk exceeds epsilon [combinations], over the risks of two strata.

    A task below the threshold is a violation with probability 1 - beta, as little as a lower bound allows. The worst
    laws have a true risk next to a certified one.
    """
    epsilon, (w, v), worst = epsilon.reshape(np.asarray(sizes) + 1), frequencies, 0.0
    for certified in np.unique(epsilon[epsilon < 1]):
        first = np.linspace(0, min(1, certified / w), 201)
        risks = np.stack([first, (certified - w * first) / v])
        risks = risks[:, risks[1] <= 1]
        masses = [
            stats.binom.pmf(np.arange(n + 1), n, r[:, None] * (1 - BETA)) for n, r in zip(sizes, risks, strict=True)
        ]
        mass = masses[0][:, :, None] * masses[1][:, None]
        worst = max([worst, *mass[:, epsilon <= certified].sum(axis=1)])
    return worst


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("method", ["binomial", "soft"])
@pytest.mark.parametrize(
    ("sizes", "frequencies"),
    [
        ((1, 1), None),
        ((3, 9), None),
        ((6, 6), None),
        ((2, 10), (0.5, 0.5)),
        ((9, 3), (0.1, 0.9)),
        ((1, 12), (0.3, 0.7)),
    ],
)
@pytest.mark.parametrize("delta", [0.25, 0.05])
def test_it_fails_with_probability_at_most_delta_whatever_the_strata(sizes, frequencies, delta, method, double):
    labels = np.repeat(["a", "b"], sizes)
    values = outcomes(sizes)
    given = None if frequencies is None else dict(zip("ab", frequencies, strict=True))
    with jax.enable_x64(double):
        x = values.astype(np.float64 if double else np.float32)
        settings = {"support": (0, 1), "delta": delta, "beta": BETA, "method": method}
        found = certify_stratified(x, 0.5, strata=labels, frequencies=given, **settings)
    epsilon = np.asarray(found.epsilon[..., 0], np.float64)
    frequencies = np.asarray(sizes) / sum(sizes) if frequencies is None else frequencies
    assert failure(sizes, frequencies, epsilon) <= delta


def test_a_binomial_tail_above_a_quarter_is_none_of_strata():
    """Where the ordinary certificate is false; traced, a delta above 1/4 counts as 1/4."""
    sizes, delta = (3, 9), 0.4
    values = outcomes(sizes)
    settings = {"support": (0, 1), "beta": BETA}
    plain = certify(values, 0.5, delta=delta, **settings)
    assert failure(sizes, np.asarray(sizes) / 12, np.asarray(plain.epsilon[..., 0], np.float64)) > delta
    sample = stratified(values, np.repeat([0, 1], sizes))
    with pytest.raises(ValueError, match=r"delta is 0\.4; for tasks drawn within strata at most 0\.25 is proved"):
        certify(sample, 0.5, delta=delta, **settings)
    assert np.all(certify(sample, 0.5, delta=delta, method="soft", support=(0, 1)).epsilon > 0)  # for any delta
    traced = jax.jit(lambda level: certify(sample, 0.5, delta=level, **settings).epsilon)
    np.testing.assert_array_equal(traced(delta), traced(0.25))
    assert np.all(traced(1.5) == 1)


def passed(bad, n=200, m=20):
    """Successes of n tasks, of which so many always fail."""
    return np.broadcast_to((np.arange(n) >= bad)[:, None], (n, m))


@pytest.mark.parametrize("method", ["binomial", "attained", "soft"])
def test_as_many_as_the_frequencies_say_certify_what_one_distribution_does(method):
    x, kinds = passed(7), np.tile(["a", "b", "c", "d"], 50)
    of_one = certify(x, [0.5, 0.8], delta=0.05, method=method)
    for frequencies in (None, dict.fromkeys("abcd", 0.25), [f"{kind}=0.25" for kind in "abcd"]):
        found = certify_stratified(x, [0.5, 0.8], strata=kinds, frequencies=frequencies, delta=0.05, method=method)
        np.testing.assert_array_equal(found.epsilon, of_one.epsilon)
        assert (found.question, found.method, found.num_tasks) == ("stratified", method, 200)


@pytest.mark.parametrize("method", ["binomial", "attained", "soft"])
@pytest.mark.parametrize("question", ["certify", "certify_mean", "certify_cvar"])
def test_other_frequencies_are_the_weights_that_follow_from_them(method, question):
    x, kinds = passed(7), np.asarray(["a"] * 50 + ["b"] * 150)
    settings = {"certify": {"thresholds": 0.5, "method": method}, "certify_cvar": {"alpha": 0.2, "cap": 1.0}}
    ask = {"delta": 0.05, **settings.get(question, {})}
    sample, weights = stratified(x, kinds, frequencies={"a": 0.5, "b": 0.5}), np.where(kinds == "a", 2, 2 / 3)
    np.testing.assert_allclose(sample.weights, weights, rtol=1e-12)
    assert sample.max_weight == max(sample.weights)
    found = getattr(jaxcert, question)(sample, **ask)
    weighted = getattr(jaxcert, question)(jaxcert.weighted(x, weights, max_weight=2.0), **ask)
    name = "safety" if question == "certify" else "mean"
    np.testing.assert_allclose(getattr(found, name), getattr(weighted, name), rtol=1e-5)
    assert found.max_weight is None
    assert "from a or b, each as likely" in str(found)


def test_successes_that_are_masked_are_counted_with_weights():
    x, where = passed(3), np.arange(20) < np.where(np.arange(200) % 2, 20, 12)[:, None]
    found = certify_stratified(x, 0.5, strata=np.arange(200) % 4, delta=0.05, where=where)
    assert found.method == "weighted_attained"
    assert 0 < found.safety[0] < certify(x, 0.5, delta=0.05, where=where).safety[0]


@pytest.mark.parametrize(
    ("kinds", "frequencies", "words"),
    [
        (["push", "pick"] * 20, None, "push or pick, each as likely"),
        (["push", "push", "push", "pick"] * 10, None, "push (0.75) or pick (0.25)"),
        (["push"] * 40, None, "the stratum push"),
        (["listed"] * 40, None, "the stratum listed"),
        (["p" * 50, "p" * 60] * 20, None, "one of 2 strata, each as likely"),
        ([*range(18), 0, 0] * 2, None, "one of 18 strata, as frequent as in the sample"),
        ([*range(20)] * 2, None, "one of 20 strata, each as likely"),
        (
            [*range(20)] * 2,
            {0: 0.05 + 0.019, **dict.fromkeys(range(1, 20), 0.049)},
            "one of 20 strata, with the frequencies that were declared",
        ),
    ],
)
def test_the_sentence_names_the_strata(kinds, frequencies, words):
    found = certify_stratified(np.ones((40, 4), bool), 0.2, strata=kinds, frequencies=frequencies, delta=0.05)
    assert f"on a new task from {words}, the probability of success" in str(found)


def test_frequencies_are_written_one_by_one_or_with_commas_between_them():
    kinds = ["a", "b, c", "d=e"]
    sample = stratified(np.ones((3, 2)), kinds, frequencies=dict(zip(kinds, (0.5, 0.2, 0.3), strict=True)))
    for texts in (["a=0.5", "b, c=0.2", "d=e=0.3"], ["a = 0.5,b, c=2e-1, d=e=0.3"], sample.frequencies):
        again = stratified(np.ones((3, 2)), kinds, frequencies=texts)
        assert (again.strata, again.weights.tolist()) == (sample.strata, sample.weights.tolist())


@pytest.mark.parametrize(
    ("strata", "frequencies", "message"),
    [
        ([[1, 2]], None, "expected a label for each task"),
        ("ab", None, "expected a label for each task"),
        ([1.5, 2.5], None, "expected a label for each task"),
        ([], None, "expected a label for each task"),
        (["a", " "], None, "the label of a stratum is blank"),
        (["a", "b", "b"], None, r"weights have shape \(3,\); expected one for each task, \(2,\)"),
        (["a", "b"], {"a": 1.0}, "the stratum 'b' has tasks and no frequency"),
        (["a", "b"], {"a": 0.5, "b": 0.3, "c": 0.2}, "the stratum 'c' has a frequency and no task"),
        (["a", "b"], {"a": 0.5, "b": 0.6}, "frequencies are 1.1 together; expected 1"),
        (["a", "b"], {"a": 0.0, "b": 1.0}, "frequencies are 0, 1; expected positive numbers"),
        (["a", "b"], {"a": np.nan, "b": 1.0}, "frequencies are nan, 1; expected positive numbers"),
        (["a", "b"], ["a=0.5", "b"], r"frequencies \(--frequency\) hold 'b'; expected a label and its number"),
        (["a", "b"], ["a=0.5,b"], r"frequencies \(--frequency\) hold 'a=0.5,b'; expected a label and its number"),
        (["a", "b"], ["a=0.5,b:0.5"], r"frequencies \(--frequency\) hold 'a=0.5,b:0.5'; expected a label"),
        (["a", "b"], ["a=half", "b=0.5"], "the frequency of 'a' is 'half'; expected a number"),
        (["push", "pick"], ["x=0.5"], r"'x' has a frequency and no task; .* \(the strata are 'push', 'pick'\)"),
        (["a", "b"], ["a=0.5", "a=0.5"], "expected one per stratum label"),
        (["a", "b"], "a=0.5", "expected numbers by labels of strata"),
        (["a", "b"], 0.5, "expected numbers by labels of strata"),
    ],
)
def test_bad_strata_are_refused_by_name(strata, frequencies, message):
    with pytest.raises(ValueError, match=message):
        certify_stratified(np.ones((2, 4), bool), 0.2, strata=strata, frequencies=frequencies, delta=0.05)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda x: certify(x, 0.5, delta=0.1, method="scenario"), "expected one of binomial, soft, attained"),
        (lambda x: certify(x, 0.5, delta=0.1, method="binomial", beta="auto"), "beta is .auto.; expected a number"),
        (lambda x: jaxcert.certify_band(x, 0.5, delta=0.1), "certify, certify_mean and certify_cvar take"),
        (lambda x: certify(jaxcert.weighted(x, np.ones(8), max_weight=1.0), 0.5, delta=0.1), "take weights"),
    ],
)
def test_what_is_not_proved_for_strata_is_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask(stratified(np.ones((8, 4), bool), np.arange(8) % 2))


@pytest.mark.parametrize("ask", [jaxcert.certify_mean, lambda x, **how: jaxcert.certify_cvar(x, 0.2, cap=1.0, **how)])
def test_a_mean_of_strata_has_a_record_with_their_frequencies_and_file(ask, tmp_path):
    kinds = ["a", "b"] * 100
    np.savez(tmp_path / "r.npz", returns=passed(3), kind=kinds)
    with_strata, without = (jaxcert.tables.read_returns(tmp_path / "r.npz", strata=name) for name in ("kind", None))
    found = ask(stratified(passed(3), kinds), delta=0.05)
    record = jaxcert.report.certificate_record(found, support=(0, 1), data=with_strata)
    assert "from a or b, each as likely" in record["rows"][0]["sentence"]
    other = ask(stratified(passed(3), kinds, frequencies={"a": 0.9, "b": 0.1}), delta=0.05)
    record = jaxcert.report.certificate_record(other, support=(0, 1), data=with_strata)
    assert "from a (0.9) or b (0.1)" in record["rows"][0]["sentence"]
    assert record["settings"]["frequencies"] == ["a=0.9", "b=0.1"]
    for answer, data in ((found, None), (found, without), (other, None), (other, without)):
        with pytest.raises(ValueError, match=r"has a record of these with their frequencies in a file that names"):
            jaxcert.report.certificate_record(answer, support=(0, 1), data=data)


@pytest.mark.parametrize("method", ["binomial", "attained", "soft"])
def test_advice_is_that_of_one_distribution_and_none_for_unequal_weights(method):
    x, kinds, ask = passed(30), np.tile(["a", "b"], 100), {"delta": 0.05, "method": method}
    wanted = {"support": (0, 1), "num_rollouts": 20, "safety": 0.95}
    same = jaxcert.planning.advise(certify(x, 0.5, **ask), **wanted)
    assert jaxcert.planning.advise(certify_stratified(x, 0.5, strata=kinds, **ask), **wanted) == same
    uneven = certify_stratified(x, 0.5, strata=kinds, frequencies={"a": 0.9, "b": 0.1}, **ask)
    assert jaxcert.planning.advise(uneven, **wanted) == (None,)


@pytest.mark.parametrize("bad", [0, 10, 20])
def test_equally_many_tasks_of_each_stratum_certify_nearly_as_much_as_a_sample_drawn_by_the_frequencies(bad):
    frequencies = dict(zip("abcde", (0.5, 0.2, 0.1, 0.1, 0.1), strict=True))
    equal, drawn = np.ones((5, 40, 20), bool), np.ones((200, 20), bool)
    equal[:, : bad // 5], drawn[np.linspace(0, 199, bad).astype(int)] = False, False
    strata = np.repeat(list("abcde"), 40)
    found = certify_stratified(equal.reshape(200, 20), 0.6, strata=strata, frequencies=frequencies, delta=0.05)
    usual = certify(drawn, 0.6, delta=0.05)
    assert usual.safety.item() - 0.05 <= found.safety.item() < usual.safety.item()
