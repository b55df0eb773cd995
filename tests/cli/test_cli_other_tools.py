"""Commands on files of other tools: what is told, and refusals that end with a command that works."""

import json
import re

import pytest
from cli_harness import proposed, session, table
from tool_files import DROP, EVALPLUS, LEROBOT, TAU, TAU2, edited, monitor, written

HALF = "--delta 0.5 --threshold 0.1"


@pytest.fixture(autouse=True)
def folder(there):
    """Files of tools, of which one lacks a rollout, and a folder with a file per task."""
    documents = {
        "lerobot": LEROBOT,
        "tau": TAU,
        "evalplus": EVALPLUS,
        "cut": edited(TAU2, "simulations", 0, value=DROP),
    }
    for name, document in documents.items():
        written(there, document, f"{name}.json")
    for task in "abc":
        monitor(there / "runs" / task / "monitor.csv", [1.5, 2.5])
    return there


@pytest.mark.parametrize(
    ("given", "ending"),
    [
        ("evalplus.json", "--delta 0.05"),
        ("tau.json", "--delta 0.05"),
        ("lerobot.json --value sum_rewards --delta 0.2", "--support LOW HIGH"),
        ("lerobot.json --value reward --delta 0.2", "--value successes"),
    ],
)
def test_what_is_missing_is_answered_with_a_command(given, ending):
    """That works as it stands, unless nobody knows the support."""
    command = proposed(session(f"certify {given} --sampled --threshold 0.1 => for example: jaxcert certify"))
    assert command.endswith(ending)
    assert command.count(ending.split()[0]) == 1
    if "LOW" not in ending:
        session(f"{command} ~> read as")


@pytest.mark.parametrize("given", ["--threshold 0.1", "--mean"])
@pytest.mark.parametrize("name", ["tau", "lerobot"])
def test_the_tasks_of_a_benchmark_are_a_list_unless_it_is_said_that_they_were_drawn(name, given):
    """Both commands that the question offers work as they stand."""
    asked = session(f"certify {name}.json {given} => its tasks are a list that somebody made")
    for about, ending in ((r"these \d tasks", "--suite"), ("the same distribution|nothing is certified", "--sampled")):
        command, *_ = re.findall(rf"jaxcert (certify [^?]*{ending})\b", asked)
        assert re.search(about, " ".join(session(command).split()))


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("my world,my reward", "--task 'my world' --trial '' --value 'my reward'"),
        ("task_id,my result", "--trial '' --value 'my result'"),
        ("task,score,success", "--value score"),
    ],
)
def test_columns_that_are_not_named_are_answered_with_a_command(header, expected):
    table("r.csv", header, [(task, *"1" * (header.count(",") - 1), f"0.{place}") for task in "xy" for place in "01"])
    told = session("certify r.csv --support 0 1 --delta 0.5 --threshold 0.01 => for example")
    assert proposed(told).endswith(expected)
    if "success" not in header:
        session(f"{proposed(told)} ~> 2 tasks")


def test_a_folder_is_read_with_the_tasks_from_the_paths(folder):
    asked = f"--support 0 3 {HALF}"
    told = session(f"certify runs {asked} => for example")
    assert proposed(told).endswith("--task-from-path '{task}/monitor.csv'")
    session(f"""
        {proposed(told)} --json c.json --report p.html -> ^runs: 3 tasks, 2 rollouts each | read as monitors of Stable
        verify c.json runs -> = verified: 1 certificate, 1 statement
        certify runs/a/monitor.csv {asked} => --task-from-path), such as '{{task}}/monitor.csv'
    """)
    assert "<pre>jaxcert verify c.json runs</pre>" in (folder / "p.html").read_text()


def test_unfinished_rollouts_are_counted_only_when_it_is_said_and_have_no_upper_end(folder):
    """Counted as the worst return, they would make it too low."""
    told = "1 of 4 rollouts unfinished (not in the file)"
    session(
        f"""
        ASKED --sampled => {told}
        ASKED --sampled --unfinished 0 --json c.json ~> {told}, counted as 0 | [weaker-bound]
        verify c.json cut.json -> = verified: 1 certificate, 1 statement; 1 without an outcome, counted as 0
        ASKED --sampled --unfinished 0 --question interval --complete => {told}, counted as 0 | or a question without an
        ASKED --suite --unfinished 0 --each-task --complete => or an upper end is too low
        ASKED --suite --unfinished 0 --each-task
        """,
        ASKED=f"certify cut.json --support 0 1 {HALF}",
    )
    document = json.loads((folder / "c.json").read_text())
    assert document["certificates"][0]["data"]["unfinished"] == {"num_rollouts": 1, "counted_as": 0.0}


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("model,my instance,my resolved,my seed", "--task 'my instance' --trial 'my seed' --value 'my resolved'"),
        ("prompt,my try,my problem,my outcome", "--task 'my problem' --trial 'my try' --value 'my outcome'"),
    ],
)
def test_columns_are_guessed_by_their_names(header, expected):
    entries = {
        "seed": "{j}",
        "try": "{j}",
        "instance": "t{i}",
        "problem": "t{i}",
        "resolved": "true",
        "outcome": "true",
    }
    cells = [entries.get(name.split()[-1], "m") for name in header.split(",")]
    table("r.csv", header, [[cell.format(i=i, j=j) for cell in cells] for i in range(4) for j in range(3)])
    told = session("certify r.csv --delta 0.5 --threshold 0.01 => for example")
    assert expected in told
    session(f"{proposed(told)} -> 4 tasks, 3 rollouts each")


def test_files_without_what_is_needed_are_told_so(folder):
    """No command is offered that would be refused."""
    table("notes.csv", "task,seed,notes", ["a0x", "a1y"])
    written(folder, [], "empty.json")
    none = {name: [] for name in LEROBOT["per_task"][0]["metrics"]}
    written(folder, edited(LEROBOT, "per_task", 0, "metrics", value=none), "none.json")
    for name, ending in (
        ("notes.csv", "'seed', 'notes'; expected --value with column names of a table with one row per trial"),
        (
            "empty.json",
            "found none; expected --task, --trial and --value with column names of a table with one row per trial",
        ),
        (
            "none.json",
            "per_task[0] has 0 successes, 0 sum_rewards, 0 max_rewards; expected as many of each, one or more",
        ),
    ):
        assert session(f"certify {name} --threshold 0.5 =>").strip().endswith(ending)


@pytest.mark.parametrize("names", ["s0,s1,s2", "success_1,success_2", "1,2,3"])
def test_a_table_with_a_column_for_each_trial_is_told_what_is_expected(names):
    """A command that names two of the columns would leave the others out."""
    table("wide.csv", f"task,{names}", [(f"t{i}", *"1" * len(names.split(","))) for i in range(20)])
    told = "which look like a column for each trial; expected one row per trial, with columns such as"
    session(f"""
        certify wide.csv --threshold 0.5 => {told} | !for example
        certify wide.csv --threshold 0.5 --trial '' => {told} | !for example
        certify wide.csv --threshold 0.5 --support 0 1 --delta 0.1 => all of these as value (--value '{names}')
    """)


def test_a_log_of_trials_is_no_file_of_returns_and_verify_says_which_files_it_needs():
    session(f"""
        trial start arm.jsonl --tasks a,b --threshold 0.5 --delta 0.1 --successes ->
        certify arm.jsonl --mean => is a log of single trials; jaxcert trial status says what it proves
        certify lerobot.json --sampled {HALF} --json c.json ->
        verify lerobot.json c.json => is no certificate file, which comes first, before the returns
        verify c.json lerobot.json lerobot.json => is made from one file of returns, lerobot.json; given are 2
    """)
