"""Commands on files of other tools: what is told, and refusals that end with a command that works."""

import json
import re
import shlex

import numpy as np
import pytest
from cli_harness import command, refused
from tool_files import DROP, EVALPLUS, LEROBOT, TAU, TAU2, edited, monitor, written


def suggested(message):
    """The arguments of the command at the end of a refusal."""
    program, *arguments = shlex.split(re.fullmatch(r"error: .*; for example: (jaxcert .*)\n", message)[1])
    assert program == "jaxcert"
    return arguments


def worked(*arguments):
    status, out, err = command(*arguments)
    assert status == 0
    assert all(": all returns are 0 or 1, and the bound is betting" in line for line in err.splitlines())
    return out


@pytest.fixture
def runs(tmp_path):
    for task in "abc":
        monitor(tmp_path / "runs" / task / "monitor.csv", [1.5, 2.5])
    return tmp_path / "runs"


def test_what_was_read_is_told_on_one_line(tmp_path):
    path = written(tmp_path, LEROBOT)
    lines = worked("certify", path, "--sampled", "--delta", 0.5, "--threshold", 0.1).splitlines()
    assert lines[0] == f"{path}: 2 tasks, 2 rollouts each, support [0, 1]"
    assert lines[1] == "read as a LeRobot evaluation: 2 tasks, 4 episodes, value successes"
    own = tmp_path / "own.npz"
    np.savez(own, returns=np.full((2, 2), 0.5))
    assert "read as" not in worked("certify", own, "--support", 0, 1, "--delta", 0.5, "--threshold", 0.1)


@pytest.mark.parametrize(
    ("document", "given", "expected"),
    [
        (EVALPLUS, (), ["--delta", "0.05"]),
        (TAU, (), ["--delta", "0.05"]),
        (LEROBOT, ("--value", "sum_rewards", "--delta", "0.2"), ["--support", "LOW", "HIGH"]),
        (LEROBOT, ("--value", "reward", "--delta", "0.2"), ["--value", "successes"]),
    ],
)
def test_what_is_missing_is_answered_with_a_command(tmp_path, document, given, expected):
    """That works as it stands, unless nobody knows the support."""
    path = written(tmp_path, document)
    arguments = suggested(refused("certify", path, *given, "--sampled", "--threshold", 0.1))
    assert arguments[-len(expected) :] == expected
    assert arguments[:2] == ["certify", str(path)]
    assert arguments.count(expected[0]) == 1
    if "LOW" not in expected:
        assert "read as" in worked(*arguments)


@pytest.mark.parametrize("given", [(), ("--threshold", 0.1), ("--mean",)])
@pytest.mark.parametrize("document", [TAU, LEROBOT])
def test_the_tasks_of_a_benchmark_are_a_list_unless_it_is_said_that_they_were_drawn(tmp_path, document, given):
    """Both commands that the question offers work as they stand."""
    path = written(tmp_path, document)
    asked = refused("certify", path, *given)
    assert "its tasks are a list that somebody made" in asked
    for about, ending in ((r"these \d tasks", "--suite"), ("the same distribution|nothing is certified", "--sampled")):
        _, *arguments = shlex.split(re.search(rf"(jaxcert certify [^?]*{ending})\b", asked)[1])
        if ending == "--suite" and not given:  # a list has no curve
            assert arguments[-1] == "--suite"
            assert arguments[arguments.index("--threshold") + 1] == "X"
            continue
        out = " ".join(worked(*arguments).split())
        assert not given or re.search(about, out)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("my world,my reward", ["--task", "my world", "--trial", "", "--value", "my reward"]),
        ("task_id,my result", ["--trial", "", "--value", "my result"]),
        ("task,score,success", ["--value", "score"]),
    ],
)
def test_columns_that_are_not_named_are_answered_with_a_command(tmp_path, header, expected):
    path = tmp_path / "table.csv"
    width = header.count(",") - 1
    path.write_text(f"{header}\n" + "".join(f"{task}{',1' * width},0.{place}\n" for task in "xy" for place in range(2)))
    settings = ("--support", 0, 1, "--delta", 0.5, "--threshold", 0.01)
    arguments = suggested(refused("certify", path, *settings))
    assert arguments[-len(expected) :] == expected
    if "success" not in header:
        assert "2 tasks" in worked(*arguments)


def test_a_folder_is_read_with_the_tasks_from_the_paths(runs, tmp_path):
    settings = ("--support", 0, 3, "--delta", 0.5, "--threshold", 0.1)
    arguments = suggested(refused("certify", runs, *settings))
    assert arguments[-2:] == ["--task-from-path", "{task}/monitor.csv"]
    json_file, page = tmp_path / "certificate.json", tmp_path / "page.html"
    out = worked(*arguments, "--json", json_file, "--report", page)
    assert out.startswith(f"{runs}: 3 tasks, 2 rollouts each, support [0, 3]\nread as monitors of Stable-Baselines3: 3")
    assert worked("verify", json_file, runs) == "verified: 1 certificate, 1 statement\n"
    assert f"<pre>jaxcert verify certificate.json {runs.name}</pre>" in page.read_text()
    message = refused("certify", runs / "a" / "monitor.csv", *settings)
    assert f"on the command line {str(runs)!r} --task-from-path '{{task}}/monitor.csv'" in message


def test_unfinished_rollouts_are_counted_only_when_it_is_said(tmp_path):
    path = written(tmp_path, edited(TAU2, "simulations", 0, value=DROP))
    settings = ("certify", path, "--sampled", "--support", 0, 1, "--delta", 0.5, "--threshold", 0.1)
    assert "1 of 4 rollouts unfinished (not in the file)" in refused(*settings)
    assert "unfinished is 1; expected 0, the worst return that is possible" in refused(*settings, "--unfinished", 1)
    json_file = tmp_path / "certificate.json"
    out = worked(*settings, "--unfinished", 0, "--json", json_file)
    assert "1 of 4 rollouts unfinished (not in the file), counted as 0" in out
    told = "verified: 1 certificate, 1 statement; 1 without an outcome, counted as 0\n"
    assert worked("verify", json_file, path) == told
    document = json.loads(json_file.read_text())
    assert document["certificates"][0]["data"]["unfinished"] == {"num_rollouts": 1, "counted_as": 0.0}


def test_unfinished_rollouts_have_no_upper_end(tmp_path):
    """Counted as the worst return, they would make it too low."""
    path = written(tmp_path, edited(TAU2, "simulations", 0, value=DROP))
    settings = ("certify", path, "--sampled", "--support", 0, 1, "--delta", 0.5, "--threshold", 0.1, "--unfinished", 0)
    message = refused(*settings, "--question", "interval", "--complete")
    assert "1 of 4 rollouts unfinished (not in the file), counted as 0" in message
    assert "expected a file in which all are finished, or a question without an upper end" in message
    listed = (*settings[:2], "--suite", *settings[3:], "--each-task")
    assert "or an upper end is too low" in refused(*listed, "--complete")
    worked(*listed)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (
            "model,my instance,my resolved,my seed",
            ["--task", "my instance", "--trial", "my seed", "--value", "my resolved"],
        ),
        ("prompt,my try,my problem,my outcome", ["--task", "my problem", "--trial", "my try", "--value", "my outcome"]),
    ],
)
def test_columns_are_guessed_by_their_names(tmp_path, header, expected):
    path, names = tmp_path / "table.csv", header.split(",")
    values = {"seed": "{j}", "try": "{j}", "instance": "t{i}", "problem": "t{i}", "resolved": "true", "outcome": "true"}
    rows = [
        ",".join(values.get(name.split()[-1], "m").format(i=i, j=j) for name in names)
        for i in range(4)
        for j in range(3)
    ]
    path.write_text("\n".join([header, *rows, ""]))
    arguments = suggested(refused("certify", path, "--delta", 0.5, "--threshold", 0.01))
    assert arguments[-6:] == expected
    assert "4 tasks, 3 rollouts each" in worked(*arguments)


def test_files_without_what_is_needed_are_told_so(tmp_path):
    """No command is offered that would be refused."""
    (tmp_path / "notes.csv").write_text("task,seed,notes\na,0,x\na,1,y\n")
    told = refused("certify", tmp_path / "notes.csv", "--threshold", 0.5).strip()
    assert told.endswith(
        "found 'task', 'seed', 'notes'; expected --value with column names of a table with one row per trial"
    )
    assert (
        refused("certify", written(tmp_path, []))
        .strip()
        .endswith("is an empty list; expected runs with task_id, trial and reward")
    )
    without = edited(LEROBOT, "per_task", 0, "metrics", value={name: [] for name in LEROBOT["per_task"][0]["metrics"]})
    told = refused("certify", written(tmp_path, without)).strip()
    assert told.endswith("per_task[0].metrics has no episode; expected one or more of each task")


@pytest.mark.parametrize("names", ["s0,s1,s2", "success_1,success_2", "1,2,3"])
def test_a_table_with_a_column_for_each_trial_is_told_what_is_expected(tmp_path, names):
    """A command that names two of the columns would leave the others out."""
    count = names.count(",") + 1
    rows = "".join(f"t{i},{','.join('1' * count)}\n" for i in range(20))
    (tmp_path / "wide.csv").write_text(f"task,{names}\n{rows}")
    for options in ((), ("--trial", "")):
        told = refused("certify", tmp_path / "wide.csv", "--threshold", 0.5, *options)
        assert "which look like a column for each trial; expected one row per trial, with columns such as" in told
        assert "for example" not in told
    all_of_them = command("certify", tmp_path / "wide.csv", "--threshold", 0.5, "--support", 0, 1, "--delta", 0.1)
    assert all_of_them.status == 2
    assert f"all of these as value (--value '{names}')" in all_of_them.err


@pytest.mark.parametrize(
    "text",
    [
        "task,first,second\n" + "".join(f"t{i},1,0\n" for i in range(5)),
        "task,first,second\n" + "".join(f"t{i // 2},{i / 7},0.5\n" for i in range(8)),
        "task,first,second\na,yes,1\na,no,0\nb,yes,1\nb,no,0\n",
    ],
)
def test_returns_are_not_offered_as_episodes(tmp_path, text):
    (tmp_path / "r.csv").write_text(text)
    told = refused("certify", tmp_path / "r.csv", "--threshold", 0.5).strip()
    assert told.endswith("--value with column names of a table with one row per trial")
    assert "first" not in told.partition("expected")[2]


def test_a_log_of_trials_is_no_file_of_returns(tmp_path):
    log = tmp_path / "arm.jsonl"
    worked("trial", "start", log, "--tasks", "a,b", "--threshold", 0.5, "--delta", 0.1, "--successes")
    assert "is a log of single trials; jaxcert trial status says what it proves" in refused("certify", log)


def test_verify_says_which_files_it_needs(tmp_path):
    path, record = written(tmp_path, LEROBOT), tmp_path / "c.json"
    worked("certify", path, "--sampled", "--delta", 0.5, "--threshold", 0.1, "--json", record)
    assert "is no certificate file, which comes first, before the returns" in refused("verify", path, record)
    told = refused("verify", record, path, path).strip()
    assert told.endswith(f"is made from one file of returns, {path.name}; given are 2")
