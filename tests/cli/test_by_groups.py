"""`certify --by`: each group of rows by itself, all of them together at delta."""

import functools
import json
import re

import numpy as np
import pytest
from cli_harness import command, session, table
from report.alterations import altered

from jaxcert import certify
from jaxcert.certificates import floor_to
from jaxcert.tables import read_returns

GROUPS = ("kitchen", "office", "lab, wet")
SEEN = {"lab, wet": '"lab, wet"'}  # in a sentence
run = functools.partial(session, BY="certify trials.csv --by category --delta 0.06")


@pytest.fixture(autouse=True)
def folder(there):
    """Twenty tasks of each of three categories, five trials of each; a category succeeds more or less often."""
    rng, names = np.random.default_rng(0), [f'"{name}"' for name in GROUPS]
    kinds = [(g, name, i, j) for g, name in enumerate(names) for i in range(20) for j in range(5)]
    rows = [(3 * i + g, name, j, rng.random() < (0.95, 0.6, 0.99)[g]) for g, name, i, j in kinds]
    table("trials.csv", "task,category,trial,success", rows)
    return there


def records(folder):
    """Of each group, by the file that was written."""
    return zip(GROUPS, json.loads((folder / "g.json").read_text())["certificates"], strict=True)


def of_group(name):
    return read_returns("trials.csv", where=f"category = {name}").returns


def test_each_group_has_its_share_of_delta(folder):
    together = "All 3 groups together: with confidence 0.94, every statement holds."
    out = run(f"BY --threshold 0.5 --json g.json ~> {together}")
    for name, record in records(folder):
        expected = certify(of_group(name), 0.5, delta=np.nextafter(0.02, 0))
        assert record["rows"][0]["safety"] == pytest.approx(float(expected.safety[0]), abs=1e-7)
        assert f"With confidence 0.98, where category = {SEEN.get(name, name)}: " in out
        assert record["rows"][0]["sentence"] in out
    run("""
        verify g.json trials.csv -> 3 certificates
        BY --threshold 0.5 --json g.json --force --witness
        verify --exact g.json trials.csv -> row 1 of 1: With confidence 0.98, where category = "lab, wet": on a new task
    """)
    for change in (
        lambda one: one["rows"][0].update(sentence=one["rows"][0]["sentence"].replace(", where category = office", "")),
        lambda one: one["data"]["roles"].update(group="category = lab"),
    ):
        altered(folder / "g.json", lambda held, change=change: change(held["certificates"][1]), name="o.json")
        assert command("verify", "o.json", "trials.csv").status > 0
        assert command("verify", "--exact", "o.json", "trials.csv").status > 0
    document = json.loads((folder / "g.json").read_text())
    document["certificates"][1]["rows"][0]["safety"] = document["certificates"][0]["rows"][0]["safety"]
    (folder / "g.json").write_text(json.dumps(document))
    run("verify g.json trials.csv !>")


def test_a_group_is_no_task_not_even_where_there_is_one():
    table("one.csv", "task,trial,success", [("mug", 0, 1), ("mug", 1, 0), ("mug", 2, 1)])
    for name in ("trials", "one"):
        run(f"certify {name}.csv --by task --threshold 0.5 --delta 0.06 => expected --suite --each-task")


def test_groups_are_those_of_the_rows_that_are_read_and_each_has_to_reach_what_is_required():
    told = "All 2 groups together: with confidence 0.94 | in each row of the tables by itself"
    out = run(f"BY --where 'category != office' --threshold 0.5,0.6 ~> {told}")
    assert "office" not in out.replace("category != office", "")
    run("BY --where 'category != office' --threshold 0.5 --safety 0.6 ~> in each row of the tables by itself")
    run("BY --threshold 0.5 --require 0.5 !>\nBY --threshold 0.5 --require 0.5 --where 'category = kitchen'")


def test_a_name_that_is_not_printable_is_refused():
    """A line of its own would read as a sentence."""
    table(
        "odd.csv", "task,kind,trial,success", [(i, k, j, 1) for i in range(9) for k in ("a\x1b[2K", "b") for j in "pq"]
    )
    told = r"column kind holds 'a\x1b[2K'; expected names of printable characters"
    run(f"""
        certify odd.csv --by kind --threshold 0.5 --delta 0.06 => {told}
        compare odd.csv --policy kind --mean --delta 0.06 => {told}
    """)


def test_a_name_is_blank_or_reads_as_a_condition():
    """The sentence would name other rows, or no policy."""
    table(
        "odd.csv", "task,kind = a,kind,trial,success", [(i, "b", k, j, 1) for i in range(9) for k in "x " for j in "pq"]
    )
    run("""
        certify odd.csv --by 'kind = a' --threshold 0.5 --delta 0.06 => reads as a condition
        certify odd.csv --by 'made in' --threshold 0.5 --delta 0.06 => reads as a condition
        compare odd.csv --policy kind --mean --delta 0.06 => column kind has blank entries
    """)


def test_quotes_may_be_part_of_an_entry():
    """Of two groups that differ in quotes alone, none is read twice in place of the other."""
    rows = [(f"t{i}x", kind, j, int(kind == "a")) for i in range(30) for kind in ("'a'", "a") for j in range(4)]
    table("q.csv", "task,kind,trial,success", rows)
    run("certify q.csv --by kind --threshold 0.5 --delta 0.06 ~> 30 of 30 | where kind = \"'a'\": nothing is certified")
    run("""
        certify q.csv --where "kind = 'a'" --threshold 0.5 --delta 0.06 ~> 30 of 30
        certify q.csv --where 'kind = "a"' --threshold 0.5 --delta 0.06 ~> 0 of 30
    """)


def test_a_page_has_a_row_for_each_group(folder):
    together = run("BY --report g.html --threshold 0.5 --json g.json").splitlines()[-1]
    text = (folder / "g.html").read_text()
    for name, record in records(folder):
        safety = floor_to(record["rows"][0]["safety"], 4)
        assert re.search(rf"<td>category = {name}</td><td>20</td><td>0.5</td><td>{safety}</td>", text)
    assert together.startswith("All 3 groups together: with confidence 0.94")
    delta = '<th scope="row">delta of each group</th><td>0.02</td>'
    assert all(part in text for part in (together, delta, "jaxcert verify g.json trials.csv", "<svg"))
    run("""
        BY --report g.html --force --safety 0.5
        BY --report g.html --force --suite --mean
        BY --report g.html --force --suite --threshold 0.5,0.6 --each-task
        BY --report g.html --force --threshold 0.5 --safety 0.5 => shows thresholds or safeties
    """)


def test_records_of_nested_json_have_groups(there):
    runs = {f"t{i}": {"evals": [{"score": (i + j) % 3 > 0, "kind": "ab"[i % 2]} for j in range(6)]} for i in range(40)}
    (there / "n.json").write_text(json.dumps({"runs": runs}))
    session(
        "certify n.json --records runs.*.evals --task '$1' --trial '' --value score --threshold 0.5 --delta 0.1"
        " --by kind ~> With confidence 0.95, where kind = a: | With confidence 0.95, where kind = b:"
    )
