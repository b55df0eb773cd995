"""Tasks of a fixed list on which k trials in a row succeed: the question at the k-th root of the threshold."""

from fractions import Fraction

import jax
import numpy as np
import pytest
from cli_harness import command, refused

import jaxcert
from jaxcert import certify_each_task, certify_suite, consecutive_successes_threshold, paired
from jaxcert.report import verify

PASSED = np.random.default_rng(3).random((30, 50)) < np.linspace(0.7, 1, 30)[:, None]
TAUS = [0.1, 0.5, 0.9]


@pytest.mark.parametrize("k", [2, 4, 8])
@pytest.mark.parametrize("name", ["suite", "each_task"])
def test_it_is_the_question_at_the_root_which_is_rounded_up(k, name):
    ask = {"suite": certify_suite, "each_task": certify_each_task}[name]
    found = ask(PASSED, TAUS, num_episodes=k, delta=0.05)
    roots = np.asarray(consecutive_successes_threshold(found.thresholds, k))
    for tau, root in zip(TAUS, roots, strict=True):
        assert Fraction(float(root)) ** k >= Fraction(tau)
    same = ask(PASSED, roots, delta=0.05)
    assert found.num_good.tolist() == same.num_good.tolist()
    assert found.num_good.tolist() != ask(PASSED, TAUS, delta=0.05).num_good.tolist()
    assert found.to_dict()["thresholds"] == TAUS
    traced = jax.jit(lambda x: ask(x, found.thresholds, num_episodes=k, delta=0.05))(PASSED)
    assert traced.num_good.tolist() == found.num_good.tolist()
    assert f"the probability that the next {k} trials all succeed is at least 0.1" in str(found)
    assert str(ask(PASSED, TAUS, num_episodes=1, delta=0.05)) == str(ask(PASSED, TAUS, delta=0.05))


@pytest.mark.slow
def test_too_many_tasks_are_named_no_more_often_than_delta():
    """Half of the tasks reach the threshold just so, the others miss it."""
    rng, k, delta = np.random.default_rng(0), 4, 0.2
    rate = np.r_[np.full(10, 0.5**0.25), np.full(10, 0.8)]
    passed = rng.random((2000, 20, 40)) < rate[:, None]
    assert float(np.mean(certify_suite(passed, 0.5, num_episodes=k, delta=delta).num_good[..., 0] > 10)) <= delta
    good = np.asarray(certify_each_task(passed, 0.5, num_episodes=k, delta=delta).good)[..., 0]
    assert good[:, 10:].any(axis=1).mean() <= delta


@pytest.mark.filterwarnings("ignore:thresholds is 1.5, above the support")
@pytest.mark.parametrize("ask", [certify_suite, certify_each_task])
@pytest.mark.parametrize(
    ("returns", "thresholds", "settings", "message"),
    [
        (PASSED, 1.5, {"num_episodes": 4}, r"thresholds\[0\] is 1.5; expected a probability in \(0, 1\]"),
        (PASSED, 0.0, {"num_episodes": 4}, r"thresholds\[0\] is 0; expected a probability"),
        (PASSED, 0.5, {"num_episodes": 0}, "num_episodes is 0; expected a whole number of at least 1"),
        (PASSED, 0.5, {"num_episodes": 2.5}, "num_episodes is 2.5; expected a whole number"),
        (PASSED * 0.5, 0.5, {"num_episodes": 4, "support": (0, 1)}, "expected successes of one policy"),
        (paired(PASSED, PASSED), 0.5, {"num_episodes": 4, "support": (0, 1)}, "expected successes of one policy"),
    ],
)
def test_what_has_no_trials_in_a_row_is_refused(ask, returns, thresholds, settings, message):
    with pytest.raises(ValueError, match=message):
        ask(returns, thresholds, delta=0.05, **settings)


def test_files_and_pages_of_it(tmp_path):
    file, out, page = tmp_path / "a.npz", tmp_path / "c.json", tmp_path / "c.html"
    np.savez(file, returns=PASSED)
    asked = ("certify", file, "--suite", "--in-a-row", 4, "--threshold", 0.5, "--delta", 0.05)
    status, said, err = command(*asked, "--json", out, "--report", page)
    assert (status, err) == (0, "")
    expected = str(jaxcert.certify_suite(PASSED, 0.5, num_episodes=4, delta=0.05))
    assert expected in said
    assert expected in page.read_text()
    assert verify(out, file).ok
    assert "no exact proof" in refused(*asked, "--witness", "--json", out, "--force")
    assert "num_episodes is 4" in refused(
        "compare", file, file, "--suite", "--in-a-row", 4, "--threshold", 0.5, "--delta", 0.05
    )
