"""Which certificates can be monitored, and by which claim."""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxcert
from jaxcert.monitoring import MonitoredClaim, claim_of, claim_of_record
from jaxcert.questions import QUESTIONS
from jaxcert.report import certificate_record, read_certificate, write_certificates
from jaxcert.rollouts import Trials

RETURNS = jaxcert.sample_returns("cheetah")[:60, :8]
SETTINGS = {"support": (0, 1000), "delta": 0.05}


def test_the_claim_of_a_certificate_is_that_of_its_record():
    found = jaxcert.certify(RETURNS, [200.0, 300.0], **SETTINGS)
    for threshold, epsilon in zip([200.0, 300.0], np.asarray(found.epsilon, np.float64).tolist(), strict=True):
        claim = claim_of(found, threshold=threshold)
        assert (claim.threshold, claim.epsilon, claim.delta) == (threshold, epsilon, 2 * float(found.delta))
        assert claim.words in found._sentence([200.0, 300.0].index(threshold))
        assert claim_of_record(certificate_record(found, support=(0, 1000)), threshold=threshold) == claim
    with pytest.raises(ValueError, match="has 2 thresholds; expected threshold, one of 200, 300"):
        claim_of(found)
    with pytest.raises(ValueError, match="threshold is 250; expected one of the certificate's, 200, 300"):
        claim_of(found, threshold=250)


def test_thresholds_that_hold_together_may_be_chosen_at_no_cost():
    for found in (
        jaxcert.certify_band(RETURNS, [200.0, 300.0], **SETTINGS),
        jaxcert.certify_band(RETURNS > 300, [0.2, 0.4], delta=0.05),
    ):
        one = float(found.thresholds[0])
        claim = claim_of(found, threshold=one)
        assert claim.delta == float(found.delta)
        assert (
            claim_of_record(certificate_record(found, support=(0, 1) if one < 1 else (0, 1000)), threshold=one) == claim
        )
    each = jaxcert.certify_safety_level(RETURNS, [0.3, 0.5], **SETTINGS)
    assert claim_of(each, threshold=float(each.thresholds[0])).delta == 2 * float(each.delta)
    many = jaxcert.certify(RETURNS, np.linspace(100.0, 300.0, 30), **SETTINGS)
    with pytest.raises(ValueError, match="30 thresholds, each certified separately at delta 0"):
        claim_of(many, threshold=100)


def test_an_adaptive_run_is_monitored_by_its_certificate(tmp_path):
    pytest.importorskip("filelock")
    trials = Trials.start(tmp_path / "log", [f"task {i}" for i in range(20)], 0.5, successes=True, delta=0.1)
    for i in range(90):
        trials.add(f"task {i // 6}", True)
    run = trials.run()
    assert 0 < float(run.certificate.epsilon[0]) < 1
    claim = claim_of(run)
    assert claim == claim_of(run.certificate) == claim_of_record(certificate_record(run.certificate, support=(0, 1)))
    assert (claim.threshold, claim.epsilon) == (0.5, float(run.certificate.epsilon[0]))
    for _ in range(2):
        trials.add("task 19", False)
    assert claim_of(trials.run()).epsilon == claim.epsilon  # a task that was not decided counted as one that fails


def test_certificates_of_other_tasks_are_monitored_by_what_they_claim_from_files_as_from_memory(tmp_path):
    sampled = jaxcert.certify(RETURNS, 200.0, **SETTINGS)
    strata = jaxcert.certify_stratified(
        RETURNS, 200.0, strata=["a, the b", "c"] * 30, frequencies=["a, the b=0.3", "c=0.7"], **SETTINGS
    )
    for words, found in {
        "within KL divergence 0.02": jaxcert.certify_shift(sampled, divergence="kl", radius=0.02),
        "reweighted": jaxcert.certify_weighted(RETURNS, 200.0, weights=jnp.ones(60), max_weight=2.0, **SETTINGS),
        'from "a, the b"': strata,
        'that of tasks from "a, the b"': jaxcert.certify_shift(strata, divergence="kl", radius=0.02),
    }.items():
        claim = claim_of(found)
        assert claim.epsilon == float(found.epsilon[0]) > float(sampled.epsilon[0])
        assert words in claim.words
        if hasattr(found, "divergence"):  # which has no record
            continue
        write_certificates(tmp_path / words, [certificate_record(found, support=(0, 1000))])
        (record,) = read_certificate(tmp_path / words)["certificates"]
        assert claim_of_record(record) == claim
    whole = jaxcert.certify_shift(sampled, divergence="kl", radius=50.0)
    with pytest.raises(ValueError, match=r"at the threshold 200 the risk is 1; expected one in \(0, 1\)"):
        claim_of(whole)


def test_a_sentence_that_its_numbers_do_not_say_is_refused():
    sampled = jaxcert.certify(RETURNS, 200.0, **SETTINGS)
    for found in (
        sampled,
        jaxcert.certify_interval(RETURNS, 200.0, complete=True, **SETTINGS),
    ):
        record = certificate_record(found, support=(0, 1000))
        assert claim_of_record(record) == claim_of(found)
        (row,) = record["rows"]
        for old, new in {
            "a new task": "any task",
            "at least": "at least 3",
            "expected return": "return",
            "the expected return": "the probability of success",
            "distribution": "distribution or any other",
            "probability": "probability 0.9, and",
        }.items():
            altered = {**row, "sentence": row["sentence"].replace(old, new)}
            with pytest.raises(ValueError, match=r"its numbers say that on a new task from .* expected them to agree"):
                claim_of_record({**record, "rows": [altered]})
        with pytest.raises(ValueError, match=r"expected 'With confidence 0\.999', by its delta"):
            claim_of_record({**record, "settings": {**record["settings"], "delta": 0.001}})
        with pytest.raises(ValueError, match=r"its safety is .* epsilon 0\.01; expected 1 as their sum"):
            claim_of_record({**record, "rows": [{**row, "epsilon": 0.01}]})


def test_what_is_watched_follows_from_the_settings_of_a_file():
    """Its sentence names strata that no setting knows, or in another order; others than the settings' are refused."""
    given, labels = ["c=0.7", "a, the b=0.3"], ["a, the b", "c"] * 30
    for frequencies, source in (
        (given, 'c (0.7) or "a, the b" (0.3)'),
        (None, "strata as frequent as in the sample"),
        (["a, the b=0.5", "c=0.5"], '"a, the b" or c, each as likely'),
    ):
        found = jaxcert.certify_stratified(RETURNS, 200.0, strata=labels, frequencies=frequencies, **SETTINGS)
        record = certificate_record(found, support=(0, 1000))
        assert claim_of_record(record).words.startswith(f"on a new task from {source}, the expected return is at least")
        (row,) = record["rows"]
        forged = {**row, "sentence": row["sentence"].replace("from", "from every task in the world,")}
        if frequencies:
            with pytest.raises(ValueError, match=r"its numbers say that on a new task from .* expected them to agree"):
                claim_of_record({**record, "rows": [forged]})
        else:
            assert "world" not in claim_of_record({**record, "rows": [forged]}).words


def test_the_other_questions_are_refused_in_words():
    shares = {name for name, each in QUESTIONS.items() if {"threshold", "epsilon"} <= set(each.rows.columns)}
    monitored = shares - {"episode"}
    of_one = {"safety", "safety_level", "band", "anytime", "interval", "sequential"}
    assert monitored == of_one | {"weighted", "stratified"}
    reached = "the expected return is at least 0.5 with probability at least 0.9000"
    words = dict.fromkeys(monitored, f"on a new task from the same distribution, {reached}")
    between = words["interval"].replace("probability at least 0.9000", "a probability between 0.9000 and 0.9500")
    words["weighted"] = words["weighted"].replace("same", "reweighted")
    words["stratified"] = words["stratified"].replace("the same distribution", "strata as frequent as in the sample")
    row = {"threshold": 0.5, "epsilon": 0.1, "safety": 0.9, "sentence": "With confidence 0.95: it is."}
    for name, question in QUESTIONS.items():
        record = {"question": name, "settings": {"delta": 0.05}, "rows": [row]}
        if name in monitored:
            with pytest.raises(ValueError, match="says 'it is', but its numbers say that on a new task from"):
                claim_of_record(record)
            stated = between if name == "interval" else words[name]
            said = {**row, "sentence": f"With confidence 0.95: {stated}. (More tasks would say more.)"}
            said |= {"safety_upper": 0.95} if name == "interval" else {}
            assert claim_of_record({**record, "rows": [said]}).words == words[name]
            continue
        with pytest.raises(ValueError, match=r"has no answer that is monitored; expected .*: safety, ") as caught:
            claim_of_record(record)
        assert question.words in str(caught.value)
    with pytest.raises(ValueError, match=r"question 'mean' .* has no answer that is monitored"):
        claim_of(jaxcert.certify_mean(RETURNS, **SETTINGS))
    interval = {
        "question": "interval",
        "settings": {"delta": 0.05},
        "rows": [{**row, "sentence": f"With confidence 0.95: {between}."}],
    }
    interval["rows"][0]["safety_upper"] = None
    with pytest.raises(ValueError, match="but its numbers say that on a new task"):
        claim_of_record(interval)
    with pytest.raises(ValueError, match="its rows have no epsilon, as answers to 'safety' have"):
        claim_of_record(
            {"question": "safety", "settings": {"delta": 0.05}, "rows": [{"threshold": 0.5, "safety": 0.9}]}
        )
    with pytest.raises(ValueError, match="the question 'other' is not known"):
        claim_of_record({"question": "other", "settings": {}, "rows": []})


def test_two_policies_and_empty_claims_are_refused():
    pair = jaxcert.certify_band(jaxcert.paired(RETURNS[:, :4], RETURNS[:, 4:]), [-200.0], **SETTINGS)
    with pytest.raises(ValueError, match="about the difference of two policies"):
        claim_of(pair)
    record = {"question": "band", "settings": {"delta": 0.05}, "others": [{}], "rows": []}
    with pytest.raises(ValueError, match="about the difference of two policies"):
        claim_of_record(record)
    with pytest.raises(ValueError, match=r"at the threshold 999 the risk is 1; expected one in \(0, 1\)"):
        claim_of(jaxcert.certify(RETURNS, 999.0, **SETTINGS))


def test_words_of_a_claim_of_ones_own_round_its_risk_up():
    assert str(MonitoredClaim(0.5, 0.1)).endswith("is below 0.5 with probability at most 0.1")
    assert str(MonitoredClaim(0.5, 1 / 3)).endswith("probability at most 0.333334")
