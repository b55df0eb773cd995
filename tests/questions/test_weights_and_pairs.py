"""Weighted tasks and two policies: from several files to a record that is verified."""

import numpy as np
import pytest
from asked_questions import REQUIRED, WEIGHTS, A, options_of, write_files
from cli_harness import command, refused, said

import jaxcert
from jaxcert.questions import QUESTIONS
from jaxcert.report import certificate_record, read_certificate, verify, write_certificates, write_report
from jaxcert.tables import read_returns

files = pytest.fixture(scope="module")(write_files)
IN = {"support": (0.0, 1.0)}
WEIGHTED = {
    "weighted": lambda sample: jaxcert.certify(sample, [0.1, 0.3], **IN, delta=0.1),
    "mean": lambda sample: jaxcert.certify_mean(sample, **IN, delta=0.1),
    "cvar": lambda sample: jaxcert.certify_cvar(sample, [0.25, 1.0], cap=[0.8, 1.0], **IN, delta=0.1),
    "requirements": lambda sample: jaxcert.certify_requirements(sample, **REQUIRED, delta=0.1),
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_weighted_sample_is_verified_with_the_file_of_its_weights(files, name, tmp_path):
    """Which files of returns alone do not repeat, nor a page shows."""
    metrics, question = QUESTIONS[name].metrics(options_of(name)), QUESTIONS[name]
    first, *more = [read_returns(files / "a.npz", value=each, metric=True) for each in metrics or ["returns"]]
    weights, support = read_returns(files / "w.npz"), IN if question.has_support else {}
    returns = dict(zip(metrics, (each.returns for each in (first, *more)), strict=True)) if metrics else first.returns
    found = WEIGHTED[name](jaxcert.weighted(returns, weights.returns[:, 0], max_weight=1.5))
    with_weights, alone = (
        certificate_record(found, **support, data=first, others=[*more, *last]) for last in ([weights], [])
    )
    again = [files / "a.npz"] * len(more)
    write_certificates(tmp_path / "c.json", [with_weights])
    assert verify(tmp_path / "c.json", files / "a.npz", others=[*again, files / "w.npz"]).ok
    with pytest.raises(ValueError, match=r"made from 2 files of returns, a.npz, w.npz; given are 1"):
        verify(tmp_path / "c.json", files / "a.npz")
    np.savez(tmp_path / "w.npz", returns=WEIGHTS[::-1, None])
    for other, words in ((tmp_path / "w.npz", "sha256"), (files / "b.npz", "several numbers for a task")):
        assert words in str(verify(tmp_path / "c.json", files / "a.npz", others=[*again, other]))
    assert alone["settings"]["max_weight"] == 1.5
    assert all("from the reweighted distribution" in row["sentence"] for row in alone["rows"])
    write_certificates(tmp_path / "c.json", [alone])
    assert "needs returns, weights; given: " in str(verify(tmp_path / "c.json", files / "a.npz"))
    del alone["settings"]["max_weight"]
    write_certificates(tmp_path / "c.json", [alone])
    assert not verify(tmp_path / "c.json", files / "a.npz").ok
    with pytest.raises(ValueError, match="a page shows what one policy or two do, on tasks like the sampled ones"):
        write_report(tmp_path / "c.html", found, returns=A, **support, title="")


@pytest.mark.parametrize("beta", [None, 0.5])
def test_weighted_successes_are_verified_at_the_levels_that_they_attain(files, beta, tmp_path):
    passed = np.random.default_rng(0).random((len(WEIGHTS), 8)) < 0.9
    np.savez(tmp_path / "s.npz", returns=passed)
    data, weights = read_returns(tmp_path / "s.npz"), read_returns(files / "w.npz")
    found = jaxcert.certify_weighted(passed, [0.3, 0.5], weights.returns[:, 0], max_weight=1.5, delta=0.1, beta=beta)
    held = certificate_record(found, support=(0.0, 1.0), data=data, others=[weights])
    write_certificates(tmp_path / "c.json", [held])
    assert float(found.safety[0]) > 0.2
    assert verify(tmp_path / "c.json", tmp_path / "s.npz", others=[files / "w.npz"]).ok


def test_missing_weights_are_refused(files, tmp_path):
    """What stands in their place is no weight."""
    data, where = read_returns(files / "a.npz"), np.arange(len(WEIGHTS))[:, None] > 0
    np.savez(tmp_path / "w.npz", returns=WEIGHTS[:, None], where=where)
    with pytest.warns(UserWarning, match="missing"):
        weights = read_returns(tmp_path / "w.npz")
    sample = jaxcert.weighted(data.returns, weights.returns[:, 0], max_weight=1.5)
    found = jaxcert.certify_mean(sample, support=(0, 1), delta=0.1)
    asked = {"support": (0.0, 1.0), "data": data}
    write_certificates(tmp_path / "c.json", [certificate_record(found, **asked, others=[weights])])
    told = str(verify(tmp_path / "c.json", files / "a.npz", others=[tmp_path / "w.npz"]))
    assert "the weights of some tasks are missing" in told


def test_weighted_pairs_are_verified_from_three_files(files, tmp_path):
    a, b, weights = (read_returns(files / f"{name}.npz") for name in "abw")
    pairs = jaxcert.weighted(jaxcert.paired(a.returns, b.returns), weights.returns[:, 0], max_weight=1.5)
    found = jaxcert.certify_cvar(pairs, [0.25, 1.0], cap=[0.8, 1.0], support=(0, 1), delta=0.1)
    held = certificate_record(found, support=(0.0, 1.0), data=a, others=[b, weights])
    write_certificates(tmp_path / "c.json", [held])
    paths = [files / "a.npz", files / "b.npz", files / "w.npz"]
    assert said("verify", tmp_path / "c.json", *paths) == "verified: 1 certificate, 2 statements\n"
    status, out, _ = command("verify", tmp_path / "c.json", paths[1], paths[0], paths[2])
    assert status == 1
    assert "sha256" in out
    message = refused("verify", tmp_path / "c.json", *paths[:2])
    assert "made from 3 files of returns, a.npz, b.npz, w.npz; given are 2" in message
    assert "--exact takes one CERTIFICATE and RETURNS" in refused("verify", tmp_path / "c.json", *paths, "--exact")


OF_TWO = [None, *(name for name in QUESTIONS if 2 in QUESTIONS[name].numbers_of_policies)]
NUMBERS = {"threshold": "-0.5,0", "safety": "0.5,0.8", "alpha": 0.5, "margin": 0.0}
HEADINGS = {"mean": "certified mean difference", "threshold": "certified difference", "num_good": "good tasks"}


@pytest.mark.parametrize("name", OF_TWO)
def test_two_files_ask_any_question_that_takes_pairs(files, name, tmp_path):
    question = QUESTIONS[name or "mean_difference"]
    words = ["--question", name] if name else []
    words += [f"--{question.each}", NUMBERS[question.each]] if question.each else []
    words += ["--strata", "strata"] if question.takes("strata") else []
    words += ["--cap", 0.3] if question.takes("cap") else ["--complete"] if question.takes("complete") else []
    required = ("--requirement", "reward >= -0.5 in 0 1", "--requirement", "cost <= 0.5 in 0 1")
    words += ["--support", 0, 1] if question.has_support else required
    made = command("compare", files / "a.npz", files / "b.npz", *words, "--delta", 0.1, "--json", tmp_path / "c.json")
    assert made.status == 0, made.err
    assert HEADINGS.get(question.rows.certified, question.rows.certified.replace("_", " ")) in made.out
    assert "performance" not in made.out
    held = read_certificate(tmp_path / "c.json")["certificates"][0]
    assert all("of a.npz minus that of b.npz" in row["sentence"] for row in held["rows"])
    assert len(held["others"]) == (1 if question.has_support else 3)
    checked = verify(tmp_path / "c.json", files / "a.npz", others=[files / "b.npz"])
    assert checked.ok, str(checked)
    with pytest.raises(ValueError, match=r"is made from 2 files of returns, a.npz, b.npz; given are 1"):
        verify(tmp_path / "c.json", files / "a.npz")
    assert not verify(tmp_path / "c.json", files / "b.npz", others=[files / "a.npz"]).ok


def test_a_record_is_about_as_many_policies_as_its_question_and_files():
    support = {"support": (0.0, 1.0)}
    x = np.full((20, 3), 0.5, np.float32)
    pairs = jaxcert.certify(jaxcert.paired(x, x), 0.0, delta=0.1, **support)
    with pytest.raises(ValueError, match="about two policies, the question 'safety' is not"):
        certificate_record(pairs, **support)


def test_compare_says_what_to_type_where_the_support_is_missing(files):
    told = refused("compare", files / "a.npz", files / "b.npz", "--delta", 0.1)
    assert "--support missing; expected --support LOW HIGH, the smallest and the largest" in told
    assert "--protocol" not in told
    assert "--method" not in told


def test_thresholds_of_two_policies_need_a_question_and_hear_which_take_them(files):
    words = ("--support", 0, 1, "--delta", 0.1, "--threshold", 0.1)
    err = refused("compare", files / "a.npz", files / "b.npz", *words)
    fitting = ", ".join(
        name
        for name, each in QUESTIONS.items()
        if 2 in each.numbers_of_policies and each.each == "threshold" and not each.listed
    )
    assert f"which the questions {fitting} take; expected one of them by --question, or --margin for improvement" in err
