"""The page of two policies, and the page of a fixed list."""

import html
import re

import numpy as np
import pytest
from test_html_report import RETURNS, SETTINGS, write

import jaxcert
from jaxcert.tables import Returns


def from_array(returns):
    return Returns(returns, None, np.arange(len(returns)))


@pytest.fixture(scope="module")
def certificate():
    return jaxcert.certify(RETURNS, [0.25, 0.5], **SETTINGS)


def test_a_page_of_two_policies_needs_the_returns_and_the_names_of_both(tmp_path, certificate):
    found, other = jaxcert.certify_improvement(RETURNS, 0.8 * RETURNS, [0.0], **SETTINGS), from_array(0.8 * RETURNS)
    both = {"against": from_array(RETURNS[1:]), "policies": ("new", "old")}
    for asked, given, message in (
        (found, {}, "certificate is about two policies; expected the returns of policy B"),
        (certificate, {"against": other}, "certificate is about one policy; against is given"),
        (found, {"against": other}, "policies is not given; expected the names of A and B"),
        (found, {"against": other, "policies": ("same", "same")}, r"policies is \('same', 'same'\); expected two diff"),
        (found, both, r"certificate is of 40 tasks, returns have shape \(39, 20\)"),
    ):
        with pytest.raises(ValueError, match=message):
            write(tmp_path, asked, **given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_page_of_two_policies_says_which_is_which(tmp_path):
    pairs, other = jaxcert.paired(RETURNS, 0.8 * RETURNS), from_array(0.8 * RETURNS)
    found = jaxcert.certify_interval(pairs, [0.1], complete=True, **SETTINGS)
    text = html.unescape(write(tmp_path, found, against=other, policies=("new <one>", "old")).read_text())
    assert "Policy A is <strong>new <one></strong>, policy B is <strong>old</strong>." in text
    assert str(found).replace("policy A minus that of policy B", "new <one> minus that of old") in text
    shown = dict(re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', text))
    assert (shown["rollouts per task of A"], shown["rollouts per task of B"]) == ("20", "20")
    differences = RETURNS.astype(float).mean(axis=1) - (0.8 * RETURNS).astype(float).mean(axis=1)
    worst = int(np.argmin(differences))
    assert found.lower_bounds[worst] < 0.1
    assert f"tasks: {worst} ({float(f'{differences[worst]:.4g}')})" in text
    assert re.search(r"average difference of each, in brackets,\s+certifies nothing", text)
    assert "Mean difference and lower bound of each sampled task" in text
    for words in (">difference<", ">mean difference<", ">lower bound<"):
        assert words in text
    assert "mean return" not in text


@pytest.mark.parametrize("certify", [jaxcert.certify_suite, jaxcert.certify_each_task])
def test_a_list_with_too_few_trials_says_so_and_how_many_it_takes(tmp_path, certify):
    """The numbers are what the function itself says of results that are as good as can be."""
    passed = np.arange(3) < np.tile([3, 2, 0, 3], 10)[:, None]
    text = write(tmp_path, certify(passed, 0.8, delta=0.05), returns=passed).read_text()
    (found,) = re.findall(
        "all tasks at threshold 0.8[0-9]*:</strong> with 3 trials of each at most (\\d+) of 40 tasks can", text
    )
    (needed,) = re.findall(r"for all of them it takes (\d+) trials of each, if these go as well as can be\.", text)
    least = int(needed)
    at_best = [int(certify(np.ones((40, m), bool), 0.8, delta=0.05).num_good[0]) for m in (3, least - 1, least)]
    assert at_best[0] == int(found)
    assert at_best[1] < at_best[2] == 40
    enough = np.ones((40, least), bool)
    assert "trials of each" not in write(tmp_path, certify(enough, 0.8, delta=0.05), returns=enough).read_text()
    never = write(tmp_path, certify(passed, 1.0, delta=0.05), returns=passed).read_text()
    assert "; 200 trials are too few for all of them" in never


def test_a_page_of_a_list_or_a_mean_says_nothing_of_sampling_or_of_bounds_that_it_has_not(tmp_path, certificate):
    mean = jaxcert.certify_suite_mean(RETURNS, **SETTINGS)
    text = write(tmp_path, mean).read_text()
    assert "every moment of their sampling" not in text
    assert '<th scope="row">bound</th>' in text
    assert "bound of a task" not in text
    text = write(tmp_path, certificate).read_text()
    assert "every moment of their sampling" in text
    assert '<th scope="row">bound of a task</th>' in text
