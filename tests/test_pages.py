"""The pages of the docs, built and opened in a browser as people see them: from the disk, without a network."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from browser import beyond_the_edge, visit

ROOT = Path(__file__).parents[1]
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
def test_pages_fit_on_a_telephone_and_a_small_laptop(pages, tmp_path):
    assert beyond_the_edge(pages, tmp_path, [390, 1200], may_scroll=True) == ({}, [])


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
