"""The pages of the docs, built and opened in a browser as people see them: from the disk, without a network."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from browser import visit
from framed import BEYOND_THE_EDGE, FIGURES, ON_PAPER, PRINTED_LINES, looked_at

ROOT = Path(__file__).parents[1]
WIDTHS = [390, 1200]  # a telephone, a small laptop
PAPER = 718  # A4 with margins of one centimetre
# Where a dollar does not mark a formula.
_CODE = re.compile(r"<(script|style|pre|code)\b.*?</\1>", re.DOTALL)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The pages, built strictly: a broken link fails. Not with --quiet, which hides warnings from --strict."""
    for module in ("mkdocs", "material", "mkdocstrings", "latex2mathml"):
        if importlib.util.find_spec(module) is None:
            pytest.skip("needs the extra docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    """All pages but the one for an address that does not exist."""
    found = sorted(page for page in site.glob("*.html") if page.name != "404.html")
    assert len(found) == len(list((ROOT / "docs").glob("*.md")))
    return found


@pytest.mark.slow
def test_pages_look_as_they_should_on_a_screen(pages, tmp_path):
    assert looked_at(pages, tmp_path, WIDTHS, BEYOND_THE_EDGE, FIGURES, PRINTED_LINES) == ({}, [])


@pytest.mark.slow
def test_pages_look_as_they_should_on_paper(pages, tmp_path):
    assert looked_at(pages, tmp_path, [PAPER], ON_PAPER) == ({}, [])


@pytest.mark.slow
def test_every_formula_is_drawn(pages):
    left = {page.name: marks for page in pages if (marks := re.findall(r".*[$].*", _CODE.sub("", page.read_text())))}
    assert not left


@pytest.mark.slow
def test_the_search_finds_from_the_disk(site, tmp_path):
    typed = """<script>
      const query = document.querySelector(".md-search__input");
      const type = () => { query.focus(); query.value = "Clopper-Pearson"; query.dispatchEvent(new Event("keyup")); };
      setTimeout(type, 1000);
    </script></body>"""
    page = site / "searched.html"
    page.write_text((site / "index.html").read_text().replace("</body>", typed))
    seen = visit(page, tmp_path, "--virtual-time-budget=10000")
    page.unlink()
    found = re.findall(r'<a href="([^"]*)" class="md-search-result__link"', seen.dom)
    assert any("theory.html" in address for address in found), seen.console
    assert (seen.console, seen.requests) == ([], [])


@pytest.mark.slow
def test_links_lead_to_files(pages):
    """Of a folder, a browser that reads from the disk shows the list of its files."""
    for page in pages:
        assert re.findall(r'href="((?!\w+:)[^"#]*/|\.*)"', page.read_text()) == [], page.name
