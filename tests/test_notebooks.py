"""The notebooks: as they lie in the checkout, and run again from a copy."""

import copy
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

nbformat = pytest.importorskip("nbformat", reason="needs the extra notebooks")
pytest.importorskip("nbclient", reason="needs the extra notebooks")

from notebooks.run import FOLDER, NEEDS, NOTEBOOKS, cleaned, executed, missing  # noqa: E402

PAGE = FOLDER.parent / "docs" / "notebooks.md"
RUN_TIME = re.compile(r"^Run time: (about \d+ s) on two CPU cores", re.MULTILINE)
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d*)?(?:e[+-]?\d+)?")
each = pytest.mark.parametrize("name", NOTEBOOKS)


def read(name: str):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def code(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def printed(cell) -> str:
    """Text that a cell has written or shown, but for figures."""
    texts = [output.get("text") or output.data["text/plain"] for output in cell.outputs]
    return "\n".join(text for text in texts if not text.startswith("<Figure"))


def figures(cell) -> int:
    return sum("image/png" in output.get("data", {}) for output in cell.outputs)


def assert_alike(text: str, committed: str) -> None:
    """The same words, and nearly the same numbers: their last digits depend on the processor."""
    assert NUMBER.sub("#", text) == NUMBER.sub("#", committed)
    numbers = [[float(found.replace(",", "")) for found in NUMBER.findall(each)] for each in (text, committed)]
    np.testing.assert_allclose(*numbers, rtol=0.01, atol=0.002, err_msg=text)


def test_every_notebook_is_known():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(NOTEBOOKS)
    assert set(NEEDS) <= set(NOTEBOOKS)


def test_the_page_lists_them_and_each_says_how_long_it_runs():
    listed = re.findall(r"^\| `notebooks/(\w+)\.ipynb` \|.*\|$", PAGE.read_text(), re.MULTILINE)
    assert listed == list(NOTEBOOKS)
    assert all(RUN_TIME.search(read(name).cells[0].source) for name in NOTEBOOKS)


@each
def test_begins_with_a_title_and_what_to_install(name):
    notebook = read(name)
    title, _, paragraph, *_ = notebook.cells[0].source.split("\n", 3)
    assert title.startswith("# ")
    assert paragraph
    _, package = NEEDS.get(name, ("jaxcert", ".[notebooks]"))
    first = code(notebook)[0].source.split("\n")[0]
    assert first.startswith("# pip install ")
    assert package in first


@each
def test_was_run_from_top_to_bottom(name):
    notebook = read(name)
    nbformat.validate(notebook)
    assert [cell.execution_count for cell in code(notebook)] == list(range(1, len(code(notebook)) + 1))
    outputs = [output for cell in code(notebook) for output in cell.outputs]
    assert not any(output.output_type == "error" or output.get("name") == "stderr" for output in outputs)
    assert sum(figures(cell) for cell in code(notebook)) >= 1
    assert sum(bool(printed(cell)) for cell in code(notebook)) >= 3


@each
def test_is_small_and_has_nothing_of_the_machine(name):
    assert (FOLDER / f"{name}.ipynb").stat().st_size < 150_000
    notebook = read(name)
    assert cleaned(copy.deepcopy(notebook)) == notebook
    assert not re.search(r"/(?:home|root|Users|tmp)/", nbformat.writes(notebook))


@each
def test_links_lead_to_notebooks(name):
    text = "\n".join(cell.source for cell in read(name).cells if cell.cell_type == "markdown")
    assert all((FOLDER / target).is_file() for target in re.findall(r"\]\(([^)]+)\)", text))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of what runs kernels
@each
def test_runs_again(name, tmp_path):
    if reason := missing(name):
        pytest.skip(reason)
    again = executed(Path(shutil.copy(FOLDER / f"{name}.ipynb", tmp_path)))
    for cell, committed in zip(code(again), code(read(name)), strict=True):
        assert not any(output.get("name") == "stderr" for output in cell.outputs), printed(cell)
        assert figures(cell) == figures(committed)
        if "varies" not in committed.metadata.get("tags", ()):
            assert_alike(printed(cell), printed(committed))
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.ipynb"]
