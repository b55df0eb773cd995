"""The report as a page, of a policy, of two, of a list: its words and figures, and how a real browser takes it."""

import dataclasses
import functools
import html
import re
import sys

import jax
import numpy as np
import pytest
from browser import beyond_the_edge, printed_pages, visit

import jaxcert
from jaxcert.baselines import PlugInEstimate
from jaxcert.certificates import certify_lower_bounds_band
from jaxcert.diagnostics import Finding
from jaxcert.planning import advise
from jaxcert.report import write_report
from jaxcert.tables import read_returns

RETURNS = np.random.default_rng(0).beta(5, np.random.default_rng(1).uniform(1, 4, (40, 1)), (40, 20)).astype(np.float32)
LONG = "a_name_without_any_blank_" * 12
SETTINGS = {"support": (0.0, 1.0), "delta": 0.05}


@pytest.fixture(scope="module")
def certificate():
    return jaxcert.certify(RETURNS, [0.25, 0.5], **SETTINGS)


def write(folder, certificate, **options):
    write_report(
        folder / "report.html", certificate, **{"returns": RETURNS, "support": (0, 1), "replace": True, **options}
    )
    return folder / "report.html"


def test_a_browser_shows_it_without_errors_and_asks_nothing_of_the_network(tmp_path, certificate):
    seen = visit(write(tmp_path, certificate, title="Policy <one> & two"), tmp_path)
    assert seen.console == []
    assert seen.requests == []
    assert "<h1>Policy &lt;one&gt; &amp; two</h1>" in seen.dom
    assert seen.dom.count("<svg") == 1


def test_the_browser_would_tell(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text("<img src='http://jaxcert.test/a.png'><script>console.error('loud'); nothing()</script>")
    seen = visit(page, tmp_path)
    assert any("jaxcert.test/a.png" in line for line in seen.requests)
    assert len(seen.console) == 2


def test_nothing_is_cut_off_on_a_phone(tmp_path):
    """Whatever is long: the title, names, findings, digests, and the list of thresholds."""
    found = jaxcert.certify(RETURNS, np.linspace(0, 1, 40), **SETTINGS)
    np.savez(tmp_path / f"{LONG[:200]}.npz", returns=RETURNS)
    given = {"returns": read_returns(tmp_path / f"{LONG[:200]}.npz"), "findings": [Finding("trend", LONG)]}
    given |= {"protocol": LONG, "date": LONG, "verify_command": LONG}
    page = write(tmp_path, found, title=LONG, **given)
    assert beyond_the_edge([page], tmp_path, [320, 390, 1200], may_scroll=False) == ({}, [])


def test_no_column_is_off_the_screen_of_a_phone(tmp_path, certificate):
    """Of the widest table: as of successes, each threshold has a level of its own."""
    of_each = {"thresholds": np.array([0.02564102, 0.5641025]), "beta": np.array([0.343751, 0.420176])}
    page = write(tmp_path, dataclasses.replace(certificate, **of_each))
    assert beyond_the_edge([page], tmp_path, [320, 390, 540], may_scroll=False) == ({}, [])


def test_on_paper_a_usual_report_takes_two_pages(tmp_path):
    np.savez(tmp_path / "r.npz", returns=RETURNS)
    found = jaxcert.certify(RETURNS, [0.25, 0.5, 0.75], **SETTINGS)
    given = {"returns": read_returns(tmp_path / "r.npz"), "protocol": "ab" * 32, "date": "2026-01-31"}
    page = write(tmp_path, found, **given, verify_command="jaxcert verify out.json r.npz --protocol p.toml")
    assert printed_pages(page, tmp_path) <= 2


def test_it_names_no_other_file(tmp_path, certificate):
    text = write(tmp_path, certificate).read_text()
    links = re.findall(r'(?:href|src|url)\s*[=(]\s*["\']?([^"\'\s>)]+)', text)
    assert all(link.startswith(("#", "data:")) for link in links)
    assert "<script" not in text


def test_every_statement_and_setting_is_there(tmp_path, certificate):
    text = write(tmp_path, certificate, findings=[Finding("trend", "returns rise.")]).read_text()
    for line in str(certificate).splitlines():
        assert line in text
    for words in ("support of the returns", "[0, 1]", "0.95 (delta 0.05)", "betting", "returns rise.", "[trend]"):
        assert words in text
    assert "float32" in text
    assert "None was found" not in text
    for k in certificate.num_violations.tolist():
        assert f"{k} of 40" in text


def test_the_first_five_thresholds_have_a_sentence_as_they_were_given(tmp_path):
    """The best or the largest would be chosen after a look at the data."""
    found = jaxcert.certify(RETURNS, [0.5, 0.25, 0.999, 0.3, 0.2, 0.1], **SETTINGS)
    text = write(tmp_path, found).read_text()
    assert re.findall(r'class="claim">(.*?)</p>', text) == str(found).splitlines()[:5]
    assert "These are the first 5 of 6 rows, as they were fixed beforehand" in text
    assert "Each of them holds by itself with this confidence" in text
    assert "<title>Certificate: Certificate for new tasks" in text


def test_tasks_that_miss_are_named_the_worst_first_with_their_averages(tmp_path):
    found = jaxcert.certify(RETURNS, [0.75], **SETTINGS)
    names, means = [f"task <{i}>" for i in range(40)], RETURNS.astype(float).mean(axis=1)
    text = html.unescape(write(tmp_path, found, tasks=names).read_text())
    missing = [i for i in np.argsort(means) if found.lower_bounds[i] < 0.75]
    k = len(missing)
    assert 20 < k == found.num_violations[0]
    shown = ", ".join(f"task <{i}> ({float(f'{means[i]:.4g}')})" for i in missing[:20])
    assert f"<strong>0.75</strong> is not shown on {k} of 40 tasks: {shown} and {k - 20} more.</li>" in text
    assert "Not shown is not failed" in text
    assert "is not shown on" not in write(tmp_path, jaxcert.certify(RETURNS, [0.001], **SETTINGS)).read_text()
    with pytest.raises(ValueError, match="tasks are 39 names; expected one for each of 40 tasks"):
        write(tmp_path, found, tasks=names[1:])


def test_it_says_why_a_larger_safety_is_not_certified(tmp_path, certificate):
    (why,) = advise(certificate[0], safety=0.97, support=(0, 1), num_rollouts=20)
    for given in ({}, {"advice": [why]}):
        text = html.unescape(write(tmp_path, certificate[0], wanted=0.97, **given).read_text())
        assert f"<strong>Why not more at threshold 0.25:</strong> {why}.</li>" in text
    assert "cannot show" not in write(tmp_path, certificate[0]).read_text()
    level = jaxcert.certify_safety_level(RETURNS, [0.999], **SETTINGS)
    assert "Why not more at safety 0.9990:" in write(tmp_path, level).read_text()
    mean = jaxcert.certify_mean(RETURNS, **SETTINGS)
    assert "cannot show" not in write(tmp_path, mean).read_text()
    with pytest.raises(ValueError, match=r"wanted is 1\.5; expected"):
        write(tmp_path, certificate, wanted=1.5)


def test_a_curve_is_called_what_it_is(tmp_path, certificate):
    """A choice after a look at the curve is valid on a band alone."""
    together, single = "All its points hold together", "Each point holds for a threshold fixed beforehand"
    band = certify_lower_bounds_band(certificate.lower_bounds, None, delta=0.05, beta=certificate.beta)
    soft = jaxcert.certify(RETURNS, [0.25, 0.5], **SETTINGS, method="soft")
    for found, words in ((certificate, single), (band, together), (soft, single)):
        text = write(tmp_path, found).read_text()
        assert [one for one in (together, single) if one in text] == [words]


def test_what_has_no_report(tmp_path, certificate):
    fields = {field.name: getattr(certificate, field.name) for field in dataclasses.fields(certificate)}
    shift = jaxcert.certify_shift(certificate, divergence="kl", radius=0.1)
    with pytest.raises(ValueError, match=r"suffix '\.pdf'"):
        write_report(tmp_path / "a.pdf", certificate, returns=RETURNS, support=(0, 1))
    for found, given, message in (
        (certificate, {"returns": RETURNS[1:]}, r"certificate is of 40 tasks, returns have shape \(39, 20\)"),
        (jax.tree.map(lambda leaf: leaf[None], certificate), {}, r"a batch of 1; expected a single one, such as cert"),
        (shift, {}, "certificate is a Certificate that answers 'safety'; a page shows what one policy or two do"),
        (PlugInEstimate(**fields), {}, "certificate is a PlugInEstimate, which answers no known question"),
    ):
        with pytest.raises(ValueError, match=message):
            write(tmp_path, found, **given)
    assert list(tmp_path.iterdir()) == []


def test_missing_jinja_is_named_with_its_extra(tmp_path, certificate, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"jinja2.*pip install '.\[cli\]'"):
        write(tmp_path, certificate)


def test_a_page_of_two_policies_needs_the_returns_and_the_names_of_both(tmp_path, certificate):
    found, other = jaxcert.certify_improvement(RETURNS, 0.8 * RETURNS, [0.0], **SETTINGS), 0.8 * RETURNS
    both = {"against": RETURNS[1:], "policies": ("new", "old")}
    for asked, given, message in (
        (found, {}, "certificate is about two policies; expected the returns of policy B"),
        (certificate, {"against": other}, "certificate is about one policy; against is given"),
        (found, {"against": other}, "policies is None; expected two different names, those of A and B"),
        (found, {"against": other, "policies": ("same", "same")}, r"policies is \('same', 'same'\); expected two diff"),
        (found, both, r"certificate is of 40 tasks, returns have shape \(39, 20\)"),
    ):
        with pytest.raises(ValueError, match=message):
            write(tmp_path, asked, **given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("threshold", "trials"), [(0.8, 3), (0.5, 4)])
@pytest.mark.parametrize("certify", [jaxcert.certify_suite, jaxcert.certify_each_task])
def test_a_list_with_too_few_trials_says_so_and_how_many_it_takes(tmp_path, certify, threshold, trials):
    """The numbers are what the function itself says of results that are as good as can be."""
    ask = functools.partial(certify, thresholds=threshold, delta=0.05)
    passed = (np.arange(trials) + np.arange(40)[:, None]) % 4 == 0
    text = write(tmp_path, ask(passed), returns=passed).read_text()
    (found,) = re.findall(
        rf"all tasks at threshold {threshold}\d*:</strong> with {trials} trials of each at most (\d+) of 40 tasks can",
        text,
    )
    (needed,) = re.findall(r"for all of them it takes (\d+) trials of each, if these go as well as can be\.", text)
    least = int(needed)
    at_best = [int(ask(np.ones((40, m), bool)).num_good[0]) for m in range(trials, least + 1)]
    assert at_best[0] == int(found)
    assert max(at_best[:-1]) < at_best[-1] == 40
    enough = np.ones((40, least), bool)
    assert "trials of each" not in write(tmp_path, ask(enough), returns=enough).read_text()
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
