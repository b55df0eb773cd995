"""Commands on files of other tools: what is told, and refusals that end with a command that works."""

import json

import pytest
from cli_harness import session, table
from tool_files import DROP, EVALPLUS, LEROBOT, TAU, TAU2, edited, monitor, written

BY_NAME = "the columns of tasks (--task), of trials (--trial) and of outcomes by name"
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


def test_what_is_missing_is_named():
    session("""
        certify tau.json --sampled --threshold 0.1 => --delta missing; expected --delta D, such as 0.05
        certify lerobot.json --value sum_rewards --sampled --threshold 0.1 => --support and --delta missing; expected
    """)


@pytest.mark.parametrize("given", ["--threshold 0.1", "--mean"])
@pytest.mark.parametrize("name", ["tau", "lerobot"])
def test_the_tasks_of_a_benchmark_are_a_list_unless_it_is_said_that_they_were_drawn(name, given):
    asked = f"certify {name}.json {given} --delta 0.05"
    session(
        f"""
        {asked} => its tasks are a list that somebody made | expected --suite, if the list itself | or --sampled, if
        {asked} --suite ~> over these 3 tasks
        {asked} --sampled ~> delta 0.05
        certify {name}.json --safety 0.5 --delta 0.05 => somebody made | expected --sampled, if they were drawn
    """.replace("over these 3 tasks", "delta 0.05")
    )


def test_a_folder_is_read_with_the_tasks_from_the_paths(folder):
    asked = f"--support 0 3 {HALF}"
    session(
        f"""
        certify runs {asked} => or the pattern of its files (--task-from-path)
        ASKED --json c.json --report p.html -> ^runs: 3 tasks, 2 rollouts each | read as monitors of Stable
        verify c.json runs -> = verified: 1 certificate, 1 statement
        certify runs/a/monitor.csv {asked} => --task-from-path), such as '{{task}}/monitor.csv'
    """,
        ASKED=f"certify runs {asked} --task-from-path '{{task}}/monitor.csv'",
    )
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


def test_files_without_what_is_needed_are_told_so(folder):
    """No command is offered that would be refused."""
    table("notes.csv", "task,seed,notes", ["a0x", "a1y"])
    written(folder, [], "empty.json")
    none = {name: [] for name in LEROBOT["per_task"][0]["metrics"]}
    written(folder, edited(LEROBOT, "per_task", 0, "metrics", value=none), "none.json")
    for name, ending in (
        ("notes.csv", f"'seed', 'notes'; expected {BY_NAME}"),
        ("empty.json", f"found none; expected {BY_NAME}"),
        (
            "none.json",
            "per_task[0] has 0 successes, 0 sum_rewards, 0 max_rewards; expected as many of each, one or more",
        ),
    ):
        session(f"certify {name} --threshold 0.5 => {ending}")


@pytest.mark.parametrize("names", ["s0,s1,s2", "success_1,success_2", "1,2,3"])
def test_a_table_with_a_column_for_each_trial_is_told_what_is_expected(names):
    table("wide.csv", f"task,{names}", [(f"t{i}", *"1" * len(names.split(","))) for i in range(20)])
    session(f"""
        certify wide.csv --threshold 0.5 => several, with commas, if each holds one more trial of the same policy
        certify wide.csv --threshold 0.5 --delta 0.1 --value '{names}' ~> With confidence
    """)


def test_a_log_of_trials_is_no_file_of_returns_and_verify_says_which_files_it_needs():
    session(f"""
        trial start arm.jsonl --tasks a,b --threshold 0.5 --delta 0.1 --successes ->
        certify arm.jsonl --mean => is a log of single trials; jaxcert trial status says what it proves
        certify lerobot.json --sampled {HALF} --json c.json ->
        verify lerobot.json c.json => is no certificate file, which comes first, before the returns
        verify c.json lerobot.json lerobot.json => is made from one file of returns, lerobot.json; given are 2
    """)
