"""`certify --by`: each group of rows by itself, all of them together at delta."""

import json
import re

import numpy as np
import pytest
from cli_harness import command, refused
from matplotlib.pyplot import figure

from jaxcert import certify, certify_suite_mean
from jaxcert.certificates import floor_to
from jaxcert.cli import _answer_files
from jaxcert.tables import read_returns

GROUPS = ("kitchen", "office", "lab, wet")


@pytest.fixture
def trials(tmp_path):
    """Twenty tasks of each of three categories, five trials of each; a category succeeds more or less often."""
    rng, path = np.random.default_rng(0), tmp_path / "trials.csv"
    rows = [
        f'{3 * i + g},"{name}",{j},{rng.random() < (0.95, 0.6, 0.99)[g]}'
        for g, name in enumerate(GROUPS)
        for i in range(20)
        for j in range(5)
    ]
    path.write_text("\n".join(["task,category,trial,success", *rows, ""]))
    return path


def test_each_group_has_its_share_of_delta(trials, tmp_path):
    out = tmp_path / "groups.json"
    found = command("certify", trials, "--by", "category", "--threshold", "0.5", "--delta", 0.06, "--json", out)
    assert found.status == 0, found.err
    records = json.loads(out.read_text())["certificates"]
    for name, record in zip(GROUPS, records, strict=True):
        data = read_returns(trials, where=f"category = {name}")
        expected = certify(data.returns, 0.5, delta=np.nextafter(0.02, 0))
        assert record["rows"][0]["safety"] == pytest.approx(float(expected.safety[0]), abs=1e-7)
        assert f"category = {name}" in found.out
    assert found.out.count("With confidence 0.98: ") == 3
    assert "All 3 groups together: with confidence 0.94, every statement holds." in found.out


def test_the_file_of_all_groups_is_verified_and_an_altered_one_is_not(trials, tmp_path):
    out = tmp_path / "groups.json"
    assert (
        command("certify", trials, "--by", "category", "--threshold", "0.5", "--delta", 0.06, "--json", out).status == 0
    )
    assert "3 certificates" in command("verify", out, trials).out
    document = json.loads(out.read_text())
    document["certificates"][1]["rows"][0]["safety"] = document["certificates"][0]["rows"][0]["safety"]
    out.write_text(json.dumps(document))
    assert command("verify", out, trials).status != 0


def test_a_group_is_no_task_not_even_where_there_is_one(trials, tmp_path):
    asked = ("--by", "task", "--threshold", "0.5", "--delta", 0.06)
    assert "expected --suite --each-task" in refused("certify", trials, *asked)
    (tmp_path / "one.csv").write_text("task,trial,success\nmug,0,1\nmug,1,0\nmug,2,1\n")
    assert "expected --suite --each-task" in refused("certify", tmp_path / "one.csv", *asked)


def test_groups_are_those_of_the_rows_that_are_read(trials):
    found = command(
        *("certify", trials, "--by", "category", "--where", "category != office"),
        *("--threshold", "0.5,0.6", "--delta", 0.06),
    )
    assert "office" not in found.out.replace("category != office", "")
    assert "All 2 groups together: with confidence 0.94" in found.out
    assert "in each row of the tables by itself" in found.out


def test_lists_have_groups_too(trials):
    found = command("certify", trials, "--by", "category", "--suite", "--threshold", "0.5", "--delta", 0.06)
    assert found.out.count("of these 20 tasks") >= 3


def test_every_group_has_to_reach_what_is_required(trials):
    needed = ("--threshold", "0.5", "--delta", 0.06, "--require", 0.5)
    assert command("certify", trials, "--by", "category", *needed).status == 1
    assert command("certify", trials, "--by", "category", "--where", "category = kitchen", *needed).status == 0


def test_a_page_has_a_row_for_each_group(trials, tmp_path):
    page, out = tmp_path / "groups.html", tmp_path / "groups.json"
    asked = ("certify", trials, "--by", "category", "--delta", 0.06, "--report", page, "--force")
    status, said, _ = command(*asked, "--threshold", "0.5", "--json", out)
    text = page.read_text()
    assert status == 0
    for name, record in zip(GROUPS, json.loads(out.read_text())["certificates"], strict=True):
        safety = floor_to(record["rows"][0]["safety"], 4)
        assert re.search(rf"<td>category = {name}</td><td>20</td><td>0.5</td><td>{safety}</td>", text)
    together = said.splitlines()[-1]
    assert together.startswith("All 3 groups together: with confidence 0.94")
    assert together in text
    assert '<th scope="row">delta of each group</th><td>0.02</td>' in text
    assert "jaxcert verify groups.json trials.csv" in text
    assert "<svg" in text
    for others in (("--safety", 0.5), ("--suite", "--mean"), ("--suite", "--threshold", "0.5,0.6", "--each-task")):
        assert command(*asked, *others).status == 0
    assert "expected a setting of the question" in refused(*asked)
    assert "shows thresholds or safeties" in refused(*asked, "--threshold", 0.5, "--safety", 0.5)


def test_a_plot_of_groups_has_what_is_certified_and_what_was_observed(trials, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(_answer_files, "plot_intervals", lambda rows, **_: drawn.append(rows) or figure().gca())
    asked = ("certify", trials, "--by", "category", "--delta", 0.06, "--plot", tmp_path / "a.png", "--force")
    assert command(*asked, "--threshold", "0.5", "--json", tmp_path / "a.json").status == 0
    records = json.loads((tmp_path / "a.json").read_text())["certificates"]
    for name, record in zip(GROUPS, records, strict=True):
        rates = read_returns(trials, where=f"category = {name}").returns.mean(axis=1)
        assert drawn[0][name][:2] == pytest.approx((record["rows"][0]["safety"], np.mean(rates >= 0.5)))
    assert command(*asked, "--suite", "--mean").status == 0
    for name, row in drawn[1].items():
        passed = read_returns(trials, where=f"category = {name}").returns
        mean = float(certify_suite_mean(passed, delta=np.nextafter(0.02, 0)).mean)
        assert row[:2] == pytest.approx((mean, passed.mean()))
    assert command(*asked).status == 0  # curves
    assert len(drawn) == 2
