"""The report as a page: its words and figures, and how a real browser takes it."""

import dataclasses
import itertools
import re
import sys

import jax
import numpy as np
import pytest
from browser import needed_widths, printed_pages, visit
from vision import VISION, as_seen

import jaxcert
from jaxcert.baselines import PlugInEstimate
from jaxcert.certificates import (
    ImprovementCertificate,
    certify_lower_bounds_band,
)
from jaxcert.diagnostics import Finding
from jaxcert.report import read_returns, step_curve, write_report
from jaxcert.report.html import _report_tables

RETURNS = np.random.default_rng(0).beta(5, np.random.default_rng(1).uniform(1, 4, (40, 1)), (40, 20)).astype(np.float32)
LONG = "a_name_without_any_blank_" * 12
FACTS = {
    "policy": "my <policy>",
    "policy_sha256": "cd" * 32,
    "environment": "cheetah",
    "deterministic": True,
    "num_tasks": 40,
    "episode_length": 1000,
    "precision": "float32",
    "versions": {"jaxcert": "0.1.0", "jax": "0.10.2", "mujoco-mjx": "3.3.0"},
    "seed": 7,
}
SETTINGS = {"support": (0.0, 1.0), "delta": 0.05}


@pytest.fixture(scope="module")
def certificate():
    return jaxcert.certify(RETURNS, [0.25, 0.5], **SETTINGS)


def write(folder, certificate, **options):
    write_report(folder / "report.html", certificate, **{"returns": RETURNS, "support": (0, 1), **options})
    return folder / "report.html"


def test_a_browser_shows_it_without_errors_and_asks_nothing_of_the_network(tmp_path, certificate):
    seen = visit(write(tmp_path, certificate, title="Policy <one> & two"), tmp_path)
    assert seen.console == []
    assert seen.requests == []
    assert "<h1>Policy &lt;one&gt; &amp; two</h1>" in seen.dom
    assert seen.dom.count("<svg") == 2


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
    given = {"data": read_returns(tmp_path / f"{LONG[:200]}.npz"), "findings": [Finding("trend", LONG)]}
    given |= {"facts": {"policy": LONG, LONG: LONG}, "protocol": LONG, "date": LONG, "verify_command": LONG}
    page = write(tmp_path, found, title=LONG, **given)
    widths = [320, 390, 1200]
    assert needed_widths(page, tmp_path, widths) == widths


def test_no_column_is_off_the_screen_of_a_phone(tmp_path, certificate):
    """Of the widest table: as of successes, each threshold has a level of its own."""
    of_each = {"thresholds": np.array([0.02564102, 0.5641025]), "beta": np.array([0.343751, 0.420176])}
    widths = [320, 390, 540]
    assert needed_widths(write(tmp_path, dataclasses.replace(certificate, **of_each)), tmp_path, widths) == widths


def test_a_page_that_is_cut_off_would_tell(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(f"<h1>{LONG}</h1>")
    assert needed_widths(page, tmp_path, [390])[0] > 390


def test_on_paper_a_usual_report_takes_two_pages(tmp_path):
    np.savez(tmp_path / "r.npz", returns=RETURNS)
    found = jaxcert.certify(RETURNS, [0.25, 0.5, 0.75], **SETTINGS)
    given = {"data": read_returns(tmp_path / "r.npz"), "facts": FACTS, "protocol": "ab" * 32, "date": "2026-01-31"}
    page = write(tmp_path, found, **given, verify_command="jaxcert verify out.json r.npz --protocol p.toml")
    assert printed_pages(page, tmp_path) == 2


def test_it_names_no_other_file(tmp_path, certificate):
    text = write(tmp_path, certificate).read_text()
    links = re.findall(r'(?:href|src|url)\s*[=(]\s*["\']?([^"\'\s>)]+)', text)
    assert all(link.startswith(("#", "data:")) for link in links)
    assert "<script" not in text


def test_every_statement_and_setting_is_there(tmp_path, certificate):
    text = write(tmp_path, certificate, findings=[Finding("trend", "returns rise.")]).read_text()
    for line in str(certificate).splitlines():
        assert line in text
    for words in (
        "support of the returns",
        "[0, 1]",
        "0.95 (delta 0.05)",
        "betting",
        "returns rise.",
        "[trend]",
        "float32",
    ):
        assert words in text
    assert "None was found" not in text
    for k in certificate.num_violations.tolist():
        assert f"{k} of 40" in text


def test_the_file_of_the_returns_is_named(tmp_path, certificate):
    np.savez(tmp_path / "r.npz", returns=RETURNS)
    data = read_returns(tmp_path / "r.npz")
    assert data.sha256 in write(tmp_path, certificate, data=data).read_text()


def test_the_origin_of_the_returns_is_shown_as_it_was_recorded(tmp_path, certificate):
    text = write(tmp_path, certificate, facts={**FACTS, "notes": None}, date="2026-01-31").read_text()
    shown = dict(re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', text))
    assert shown["policy"] == "my &lt;policy&gt;"
    assert (shown["environment"], shown["seed"], shown["deterministic policy"]) == ("cheetah", "7", "yes")
    assert shown["versions"] == "jaxcert 0.1.0, jax 0.10.2, mujoco-mjx 3.3.0"
    assert "2026-01-31" in text
    assert "notes" not in shown
    long = write(tmp_path, certificate, facts={"configuration": list(range(1000))}).read_text()
    assert "… (4888 characters)" in long


def test_what_is_not_known_is_not_shown(tmp_path, certificate):
    known = write(tmp_path, certificate, facts=FACTS, date="2026-01-31", verify_command="jaxcert verify").read_text()
    text = write(tmp_path, certificate).read_text()
    for words in ("Where the returns come from", "How to check it", "for new tasks, 2026"):
        assert words in known
        assert words not in text


def test_many_rows_scroll_and_very_many_are_left_out(tmp_path):
    found = jaxcert.certify(RETURNS, np.linspace(0, 1, 1001), **SETTINGS)
    text = write(tmp_path, found).read_text()
    assert "981 rows left out" in text
    assert text.count("<tr><td>") == 21
    assert "996 more in the table below" in text
    assert 'class="rows many" tabindex="0"' in text


def test_a_curve_is_called_what_it_is(tmp_path, certificate):
    """A choice after a look at the curve is valid on one of them alone."""
    together = "All its points hold together"
    single, both = "Each point holds for a threshold fixed beforehand", "Only the curve for all"
    band = certify_lower_bounds_band(certificate.lower_bounds, None, delta=0.05, beta=certificate.beta, low=0.0)
    soft = jaxcert.certify(RETURNS, [0.25, 0.5], **SETTINGS, method="soft")
    for found, words in ((certificate, both), (band, together), (soft, single)):
        text = write(tmp_path, found).read_text()
        assert [one for one in (together, single, both) if one in text] == [words]
        assert ("each threshold by itself" in text) == (found is not band)


def test_a_threshold_from_the_data_gets_no_sentence(tmp_path, certificate):
    """It is certified only where all thresholds hold together."""
    band = certify_lower_bounds_band(certificate.lower_bounds, None, delta=0.05, beta=certificate.beta, low=0.0)
    for found, said in ((step_curve(certificate), False), (band, True)):
        text = write(tmp_path, found, is_curve=True).read_text()
        assert ("on a new task from the same distribution" in text) == said
        assert ("not for one chosen after a look at them" in text) != said
        assert ">requested<" not in text


def test_requested_points_do_not_hide_the_curve(tmp_path, certificate):
    many = jaxcert.certify(RETURNS, np.linspace(0, 1, 40), **SETTINGS)
    assert ">requested<" in write(tmp_path, certificate).read_text()
    assert ">requested<" not in write(tmp_path, many).read_text()


def test_colours_are_told_apart_on_a_dark_screen_too(tmp_path, certificate):
    text = write(tmp_path, certificate).read_text()
    light, dark = (dict(re.findall(r"--([\w-]+): (#\w{6})", part)) for part in text.split("@media", 2)[:2])
    assert set(light) - {"curve-1"} <= set(dark)
    for vision in VISION:
        seen = [as_seen(dark[name], vision) for name in ("curve-1", "curve-2", "page")]
        assert all(np.linalg.norm(one - other) >= 30 for one, other in itertools.combinations(seen, 2))
    figures = "".join(re.findall("<svg.*?</svg>", text, flags=re.DOTALL))
    assert "var(--curve-1)" in figures
    assert not re.findall("#[0-9a-f]{6}", figures)  # each would stay as it is on a dark screen


@pytest.mark.parametrize("options", [{"method": "soft"}, {"beta": "auto"}, {"method": "scenario", "beta": 1e-4}])
def test_every_method_has_a_report(tmp_path, options):
    certificate = jaxcert.certify(RETURNS, [0.25, 0.5], **SETTINGS, **options)
    assert write(tmp_path, certificate).read_text().count("<svg") == 2


def test_missing_rollouts_are_counted(tmp_path):
    where = np.ones(RETURNS.shape, bool)
    where[3, 5:] = False
    certificate = jaxcert.certify_safety_level(RETURNS, [0.8], where=where, **SETTINGS)
    assert "5 to 20, 785 in all" in write(tmp_path, certificate, where=where).read_text()


def test_the_same_certificate_gives_the_same_page(tmp_path, certificate):
    first = write(tmp_path, certificate).read_bytes()
    assert write(tmp_path, certificate).read_bytes() == first


def _fields(certificate):
    return {field.name: getattr(certificate, field.name) for field in dataclasses.fields(certificate)}


def test_what_has_no_report(tmp_path, certificate):
    with pytest.raises(ValueError, match=r"suffix '\.pdf'"):
        write_report(tmp_path / "a.pdf", certificate, returns=RETURNS, support=(0, 1))
    with pytest.raises(ValueError, match=r"certificate is of 40 tasks, returns have shape \(39, 20\)"):
        write(tmp_path, certificate, returns=RETURNS[1:])
    with pytest.raises(ValueError, match=r"batched: thresholds has shape \(1, 2\)"):
        write(tmp_path, jax.tree.map(lambda leaf: leaf[None], certificate))
    # Of two policies, of other tasks, and no certificate.
    improvement = ImprovementCertificate(**_fields(certificate))
    shift = jaxcert.certify_shift(certificate, performance_shift=0.1)
    for other in (improvement, shift):
        with pytest.raises(
            ValueError, match=f"certificate is an? {type(other).__name__}; a page shows what one policy"
        ):
            write(tmp_path, other)
    with pytest.raises(ValueError, match="certificate is a PlugInEstimate, which answers no question that is known"):
        write(tmp_path, PlugInEstimate(**_fields(certificate)))
    assert list(tmp_path.iterdir()) == []


def test_missing_jinja_is_named_with_its_extra(tmp_path, certificate, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"jinja2.*pip install 'jaxcert\[cli\]'"):
        write(tmp_path, certificate)


def test_a_page_of_very_many_tasks_and_thresholds_is_short(tmp_path, monkeypatch):
    """Points of a million tasks took a browser's memory, and the tighter band hours."""
    for name, limit in (("_MOST_POINTS", 20), ("_MOST_EQUAL", 39)):
        monkeypatch.setattr(_report_tables, name, limit)
    for name, limit in (("_MOST_ROWS", 6), ("_ENDS", 2)):
        monkeypatch.setattr(_report_tables, name, limit)
    sizes, plot = [], _report_tables.plot_certificates

    def drawn(curves, **options):
        sizes.extend(len(curve) for curve in curves.values())
        return plot(curves, **options)

    monkeypatch.setattr(_report_tables, "plot_certificates", drawn)
    found = jaxcert.certify_lower_bounds(RETURNS.mean(axis=1), np.linspace(0.1, 0.9, 7), delta=0.05, beta=0.05)
    text = write(tmp_path, found).read_text()
    assert sizes == [20, 20]
    assert "<td>3 rows left out</td>" in text
    shown = [float(value) for value in re.findall(r"<tr><td>([0-9]+\.[0-9]+)</td>", text)]
    assert shown == pytest.approx([0.1, 0.7 / 3, 2.3 / 3, 0.9], abs=1e-6)
    assert "2 more in the table below" in text
    assert "20 of 40 tasks, from the worst" in text


def test_bands_are_the_tighter_ones_unless_there_are_very_many_tasks(tmp_path, certificate, monkeypatch):
    kinds, band = [], _report_tables.certify_lower_bounds_band

    def certified(*arguments, kind, **settings):
        kinds.append(kind)
        return band(*arguments, kind=kind, **settings)

    monkeypatch.setattr(_report_tables, "certify_lower_bounds_band", certified)
    write(tmp_path, certificate)
    monkeypatch.setattr(_report_tables, "_MOST_EQUAL", 39)
    write(tmp_path, certificate)
    assert kinds == ["equal_local_levels", "dkw"]
