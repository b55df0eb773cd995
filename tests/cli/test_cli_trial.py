"""`jaxcert trial`: declared, recorded, withdrawn, looked at; refused, cut short and killed."""

import functools
import json
import re
import shlex
from pathlib import Path

import cli_harness
import pytest
from cli_harness import command, refused

from jaxcert.report import read_certificate
from jaxcert.rollouts import Trials

pytest.importorskip("filelock")

ROOT = Path(__file__).parents[2]
LABELS = [f"p{i}" for i in range(1, 13)]
SETTINGS = ("--threshold", 0.8, "--delta", 0.05)
COINS = ("--tasks", ",".join(LABELS), *SETTINGS, "--successes")


@pytest.fixture
def log(tmp_path):
    outcome = command("trial", "start", tmp_path / "run.jsonl", *COINS)
    assert (outcome.status, outcome.err) == (0, "")
    return tmp_path / "run.jsonl"


said = functools.partial(cli_harness.said, "trial")


def test_a_line_for_each_trial(log):
    assert said("add", log, "--task", "p3", "--success") == "p3: 1 of 1; undecided, at least 16 more; next: p3\n"
    assert said("add", log, "--task", "p3", "--failure") == "p3: 1 of 2; undecided, at least 26 more; next: p1\n"
    out = said("undo", log, "--why", "gripper unplugged")
    assert out == "withdrawn: trial 2, of p3; 1 in all\np3: 1 of 1; undecided, at least 16 more; next: p3\n"
    assert said("next", log) == "p3\n"
    for _ in range(15):
        out = said("add", log, "--task", "p3", "--success")
    assert out == "p3: 16 of 16; undecided, at least 1 more; next: p3\n"
    assert said("add", log, "--task", "p3", "--success") == "p3: 17 of 17; passed; next: p1\n"
    assert len(Trials(log).trials) == 18


def test_a_number_of_tasks_is_no_label(tmp_path):
    log = tmp_path / "run.jsonl"
    assert f"declared in {log}: 12 tasks" in said("start", log, "--tasks", 12, *SETTINGS, "--successes")
    assert Trials(log).declared.tasks == tuple(map(str, range(12)))
    for number in (0, 10_001, "9" * 5000, "-3", "3.5", "+4", "1e3", "1_0", " -7"):
        message = refused("trial", "start", tmp_path / "x.jsonl", f"--tasks={number}", *SETTINGS, "--successes")
        assert "expected labels, A,B,..., or a number from 1 to 10000" in message
    assert not (tmp_path / "x.jsonl").exists()
    said("start", tmp_path / "two.jsonl", "--tasks", "7,12", *SETTINGS, "--successes")
    assert Trials(tmp_path / "two.jsonl").declared.tasks == ("7", "12")


def test_labels_are_looked_at_before_the_first_trial(tmp_path):
    start = ("trial", "start", tmp_path / "run.jsonl", *SETTINGS, "--successes", "--tasks")
    assert "tasks hold '1' and '1.0', which differ in spelling alone" in refused(*start, "1,1.0,2")
    other = ("trial", "start", tmp_path / "other.jsonl", *start[3:], "mug,mug.")
    assert "tasks hold 'mug' and 'mug.': if they are one task, it is counted twice" in command(*other).err
    assert "if these tell policies" in command(*start, "ckpt_1,ckpt_2,ckpt_3").err


@pytest.mark.parametrize(
    ("settings", "needed"),
    [
        (("--threshold", 0.99, "--successes"), 299),  # 0.99^298 > 0.05 >= 0.99^299
        (("--threshold", "0.5,0.9", "--successes", "--max-trials", 20), 29),
        (("--threshold", 0.95, "--support", 0, 1, "--max-trials", 76), 77),
    ],
)
def test_a_threshold_that_no_task_can_pass_is_refused_beforehand(tmp_path, settings, needed):
    start = ("trial", "start", tmp_path / "run.jsonl", "--tasks", 12, "--delta", 0.05, *settings)
    message = refused(*start)
    assert re.search(r"no task passes within (100|20|76) trials, the limit of each; expected a larger max_tr", message)
    assert not start[2].exists()
    assert "at which no task passes" in refused(*start, "--max-trials", needed - 1)
    out = command(*start, "--max-trials", needed).out
    assert f"a task passes after at least {needed} trials; if every task passes, 0.7674 of new tasks" in out


def test_scores_and_two_thresholds(tmp_path):
    log = tmp_path / "run.jsonl"
    out = said("start", log, "--tasks", "a,b", "--threshold", "0.2,0.5", "--delta", 0.5, "--support", 0, 1)
    assert "2 tasks, scores in [0, 1], any number of trials of each" in out
    for _ in range(3):
        out = said("add", log, "--task", "b", "--score", 0.9)
    assert out == "b: 3, mean 0.9; passed at 0.2, undecided, at least 4 more at 0.5; next: b\n"
    assert said("add", log, "--task", "a", "--score", 0).startswith("a: 1, mean 0; given up at 0.2, given up at 0.5; ")
    lines = said("status", log).splitlines()
    assert lines[0].split() == ["task", "trials", "at", "0.2", "at", "0.5"]
    assert lines[2].split("  ")[-1].strip() == "given up"
    assert "at 0.2: 1 of 2 tasks passed, 0 may still pass" in lines


def test_the_certificate_in_a_file_and_the_log_that_proves_it(log, tmp_path):
    trials, file = Trials(log), tmp_path / "c.json"
    for label in LABELS[:9]:
        for _ in range(17):
            trials.add(label, True)
    trials.undo("door opened")
    out = said("status", log, "--json", file)
    (record,) = read_certificate(file)["certificates"]  # counts what was withdrawn
    assert json.loads(said("status", log, "--json", "-"))["certificates"] == [record]
    run = trials.run(count_withdrawn=True)
    assert record["rows"][0]["num_violations"] == 4 == int(run.certificate.num_violations[0])
    assert record["rows"][0]["sentence"] in out
    assert record["rollouts"]["declared"]["tasks"] == LABELS
    withdrawn = {"number": 153, "task": "p9", "value": 1.0, "why": "door opened"}
    assert record["rollouts"]["withdrawn"] == [withdrawn]
    assert record["rollouts"]["num_trials"] == 152
    assert "the probability of success is at least 0.8" in record["rows"][0]["sentence"]
    assert "for whatever reason" in record["rollouts"]["withdrawn_are"]
    assert "1 withdrawn (door opened): the above holds only if none was withdrawn because of how it went." in out
    assert "at 0.8: 8 of 12 tasks passed, 4 may still pass, after at least 52 more trials; then 0.7674 is" in out
    assert record["rollouts"]["last_hash"] == trials.last_hash
    assert "stopped by themselves" in refused("verify", file, log)
    assert record["rows"][0]["witness"]["rollouts"] == [17] * 8 + [None] * 4
    assert record["settings"]["beta"] == 0.05
    trials.add("p10", False)
    status, out, err = command("verify", "--exact", file, log)
    assert (status, err) == (0, "")
    assert out.startswith(f"proven: certificate 1, row 1 of 1: {record['rows'][0]['sentence']}\nWhat remains")
    log.write_text(log.read_text().replace("true", "false", 40))
    assert "line 1 of the log has another hash" in refused("verify", "--exact", file, log)


@pytest.mark.parametrize(
    ("begin", "end", "num_commands", "num_shown"),
    [
        ("## A robot, trial by trial", "## Two policies, pair by pair", 7, 2),
        ("## Two policies, pair by pair", "## What must hold", 5, 1),
    ],
    ids=["tasks", "pairs"],
)
def test_the_page_shows_what_is_printed(tmp_path, monkeypatch, begin, end, num_commands, num_shown):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "few_rollouts.md").read_text()
    section = page[page.index(begin) : page.index(end)]
    lines = re.findall(r"^jaxcert trial (.*)$", section, re.MULTILINE)
    printed = "".join(said(*shlex.split(line)) for line in lines)
    shown = re.findall(r"^```text\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert (len(lines), len(shown)) == (num_commands, num_shown)
    assert all(text in printed for text in shown)
