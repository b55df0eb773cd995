"""The report as a page: its words and figures, and how a real browser takes it."""

import dataclasses
import re
import sys

import jax
import numpy as np
import pytest
from browser import visit

import jaxcert
from jaxcert.baselines import PlugInEstimate
from jaxcert.certificates import ImprovementCertificate, IntervalCertificate, ShiftCertificate
from jaxcert.diagnostics import Finding
from jaxcert.report import read_returns, write_report
from jaxcert.report.html import _report_figures, _report_page

RETURNS = np.random.default_rng(0).beta(5, np.random.default_rng(1).uniform(1, 4, (40, 1)), (40, 20)).astype(np.float32)
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


@pytest.mark.parametrize("width", [320, 390, 1200])
def test_nothing_is_cut_off_on_a_phone(tmp_path, certificate, width):
    page = write(tmp_path, certificate)
    script = "<script>document.title = document.documentElement.scrollWidth + ' of ' + innerWidth</script></body>"
    page.write_text(page.read_text().replace("</body>", script))
    seen = visit(page, tmp_path, f"--window-size={width},800")
    needed, there = map(int, re.search(r"<title>(\d+) of (\d+)</title>", seen.dom).groups())
    assert needed <= there


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


def test_what_has_no_report(tmp_path, certificate):
    with pytest.raises(ValueError, match=r"suffix '\.pdf'"):
        write_report(tmp_path / "a.pdf", certificate, returns=RETURNS, support=(0, 1))
    with pytest.raises(ValueError, match=r"returns \(39, 20\); expected \[t\], \[n\] and \[n, m\]"):
        write(tmp_path, certificate, returns=RETURNS[1:])
    with pytest.raises(ValueError, match=r"safety \(1, 2\)"):
        write(tmp_path, jax.tree.map(lambda leaf: leaf[None], certificate))
    # Of two policies, from both sides, of other tasks, and no certificate.
    for kind in (ImprovementCertificate, IntervalCertificate, ShiftCertificate, PlugInEstimate):
        other = kind(**dict.fromkeys(field.name for field in dataclasses.fields(kind)))
        with pytest.raises(ValueError, match=f"certificate is an? {kind.__name__}; a page shows what one policy does"):
            write(tmp_path, other)
    assert list(tmp_path.iterdir()) == []


def test_missing_jinja_is_named_with_its_extra(tmp_path, certificate, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"jinja2.*pip install 'jaxcert\[cli\]'"):
        write(tmp_path, certificate)


def test_a_page_of_very_many_tasks_and_thresholds_is_short(tmp_path, monkeypatch):
    """Points of a million tasks took a browser's memory, and the tighter band hours."""
    for name, limit in (("_MOST_POINTS", 20), ("_MOST_EQUAL", 39)):
        monkeypatch.setattr(_report_figures, name, limit)
    for name, limit in (("_MOST_ROWS", 6), ("_ENDS", 2)):
        monkeypatch.setattr(_report_page, name, limit)
    sizes, plot = [], _report_figures.plot_certificates

    def drawn(curves, **options):
        sizes.extend(len(curve) for curve in curves.values())
        return plot(curves, **options)

    monkeypatch.setattr(_report_figures, "plot_certificates", drawn)
    found = jaxcert.certify_lower_bounds(RETURNS.mean(axis=1), np.linspace(0.1, 0.9, 7), delta=0.05, beta=0.05)
    text = write(tmp_path, found).read_text()
    assert sizes == [20, 20]
    assert "<td>3 rows left out</td>" in text
    shown = [float(value) for value in re.findall(r"<tr><td>([0-9]+\.[0-9]+)</td>", text)]
    assert shown == pytest.approx([0.1, 0.7 / 3, 2.3 / 3, 0.9], abs=1e-6)
    assert "2 more in the table below" in text
    assert "20 of 40 tasks, from the worst" in text


def test_bands_are_the_tighter_ones_unless_there_are_very_many_tasks(tmp_path, certificate, monkeypatch):
    kinds, band = [], _report_figures.certify_lower_bounds_band

    def certified(*arguments, kind, **settings):
        kinds.append(kind)
        return band(*arguments, kind=kind, **settings)

    monkeypatch.setattr(_report_figures, "certify_lower_bounds_band", certified)
    write(tmp_path, certificate)
    monkeypatch.setattr(_report_figures, "_MOST_EQUAL", 39)
    write(tmp_path, certificate)
    assert kinds == ["equal_local_levels", "dkw"]
