"""Two policies on the command line: their page, the words for usual questions, and unfinished rollouts."""

import functools
import html
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_harness import command, lines_of, refused, session, table
from report.alterations import altered_record, with_entries
from tool_files import DROP, TAU, TAU2, edited, written

from jaxcert.planning import plan_difference

RNG = np.random.default_rng(0)
A = RNG.beta(9, 1, (60, 20)).astype(np.float32)
B = (0.8 * A).astype(np.float32)
run = functools.partial(session, COMPARE="compare new.npz old.npz BASE", BASE="--support 0 1 --delta 0.1")


@pytest.fixture(autouse=True)
def folder(there):
    np.savez("new.npz", returns=A)
    np.savez("old.npz", returns=B)


def page() -> str:
    return html.unescape(Path("c.html").read_text())


@pytest.mark.parametrize("words", ["--mean", "--suite --mean"])
def test_a_page_of_two_policies_says_what_is_printed_and_which_is_which(words):
    out = run(f"COMPARE {words} --json c.json --report c.html -> With confidence")
    assert "Policy A is <strong>new.npz</strong>, policy B is <strong>old.npz</strong>." in page()
    assert "<h1>new.npz against old.npz</h1>" in page()
    assert all(line in page() for line in out.splitlines() if line.startswith("With confidence"))
    assert "<pre>jaxcert verify c.json new.npz old.npz</pre>" in page()
    run("verify c.json new.npz old.npz -> ^verified: 1 certificate")


def test_files_of_one_name_are_told_apart_by_their_folders():
    for folder, returns in (("a", A), ("b", B)):
        Path(folder).mkdir()
        np.savez(f"{folder}/r.npz", returns=returns)
    run("""
        compare a/r.npz b/r.npz BASE --mean -> a/r.npz minus that of b/r.npz
        compare a/r.npz b/r.npz BASE --mean --names new,old --report c.html --title 'A title' -> With confidence
    """)
    assert "Policy A is <strong>new</strong>, policy B is <strong>old</strong>." in page()
    assert "<h1>A title</h1>" in page()


def test_a_name_that_is_a_claim_stands_in_quotes():
    """On the terminal, in the file, which is verified, and on the page."""
    claim = "new is at least 0.9; the same for a"
    quotes, kinds = f'"{claim}" minus that of b is at least', [(i, j) for i in range(30) for j in range(3)]
    rows = [(f"s{i}", j, int((5 * i + 3 * j) % 11 > (n == "b")), n) for i, j in kinds for n in (claim, "b")]
    table("p.csv", "task,trial,success,agent", rows)
    how = "--policy agent --mean --delta 0.1 --json p.json --report c.html"
    run(f"""
        compare p.csv {how} -> the probability of success of {quotes}
        verify p.json p.csv -> ^verified: 1 certificate | of rows where agent = "{claim}"; of rows where agent = b
    """)
    assert quotes in page()
    document = Path("p.json").read_text()
    Path("p.json").write_text(document.replace(f'\\"{claim}\\"', claim))
    run("verify p.json p.csv !>")


@pytest.mark.slow
def test_rows_in_another_order_are_matched_on_the_page():
    """The difference of each task is shown, and not that of two tasks."""
    rows = {"push": (0.9, 0.2), "pull": (0.5, 0.4), "turn": (0.8, 0.1)}
    for place, name in enumerate(("new.csv", "old.csv")):
        ordered = [*rows.items()][:: -1 if place else 1]
        table(name, "task_id,episode_id,total_return", [(task, 1, values[place]) for task, values in ordered])
    run("compare new.csv old.csv BASE --suite --threshold 0.9 --report c.html --tasks-in-report -> With confidence")
    assert "pull (0.1), push (0.7), turn (0.7)" in page()


def test_it_says_why_nothing_is_certified_as_certify_does():
    said = "Why not more at margin 0.9: no lower bound can pass 0.7218 with 20 rollouts at beta 0.05"
    # At -0.5 more than nothing is certified.
    out = run(f"COMPARE --margin -0.5,0.9 --report c.html -> {said} | !at -0.5")
    (line,) = [each for each in out.splitlines() if each.startswith("Why not more")]
    assert line in re.sub("<[^>]+>", "", page())


@pytest.mark.parametrize(("kind", "what"), [("--suite", "trials of each task"), ("--sampled", "tasks")])
def test_what_would_show_a_difference_that_is_not_certified(kind, what):
    """The number is the smallest one that a plan gives, at the delta of the pair: if tasks are like these."""
    rng = np.random.default_rng(0)
    returns = {f"{name}.npz": rng.random((20, 10)) < skill for name, skill in (("a", 0.72), ("b", 0.6), ("c", 0.1))}
    for name, each in returns.items():
        np.savez(name, returns=each)

    def size(delta):
        sizes = {"listed": True} if kind == "--suite" else {"num_rollouts": [10]}
        found = plan_difference(returns["a.npz"], returns["b.npz"], 0.0, delta=delta, **sizes).designs
        least, ends = min(found, key=lambda each: each.cost, default=None), "for power 0.9, if they are like these)"
        if kind == "--sampled":
            return f"(about {least.num_tasks} new tasks × 10 trials {ends}"
        return f"({f'about {least.num_rollouts}' if least else 'more than 100'} new trials of each task {ends}"

    start = "Not shown: that a.npz is better than b.npz on average. In these data it is by 0.08"
    plan = f"jaxcert plan A --against B --threshold 0{' --suite' if kind == '--suite' else ''} (of one table"
    run(f"""
        compare a.npz b.npz {kind} --delta 0.05 -> {start} {size(0.05)}; how many new {what} it takes: {plan}
        compare b.npz a.npz {kind} --delta 0.05 -> it is worse by 0.08, so that more of the same would not show it
        compare b.npz a.npz c.npz {kind} --delta 0.05 -> apart: b.npz and a.npz {size(0.05 / 6)}; how many new {what}
        compare b.npz a.npz {kind} --delta 0.05 --question ranking -> apart: b.npz and a.npz {size(0.05)}; how many
    """)
    run(f"compare a.npz b.npz {kind} --mean --delta 0.05 --in-a-row 3 -> !Not shown")
    if kind == "--sampled":  # the plan is of another bound
        run(f"compare a.npz b.npz --mean --delta 0.05 --bound hoeffding -> !power 0.9 | {start}; how many")
    np.savez("b.npz", returns=np.zeros((20, 10), bool))
    run(f"compare a.npz b.npz {kind} --delta 0.05 -> !Not shown")


def test_what_is_asked_of_policies_together_is_an_error_with_strict():
    rows = [(f"k{i}", j, int(i + j > 3)) for i in range(12) for j in range(4)]
    for name, limit, unit in (("a", 500, 100), ("b", 200, 1)):
        first = ("k0", 0, int(name == "b"))
        table(f"{name}.csv", "task,trial,success,max_steps", [(*row, limit) for row in [first, *rows[1:]]])
        np.savez(f"{name}.npz", returns=np.full((6, 4), 0.9 * unit))
    both = [(*row, 500 + 9 * (who == "ours"), who) for who in ("ours", "base") for row in rows]
    table("both.csv", "task,trial,success,max_steps,who", both)
    told = "all rows of a policy have one entry in max_steps (500, 200)"
    assert run(f"compare a.csv b.csv --delta 0.1 --suite --mean ~> {told}").count("warning: ") == 1
    run("""
        compare a.csv b.csv --delta 0.1 --strict => in max_steps (500, 200)
        compare a.csv b.csv a.csv --delta 0.1 --strict => in max_steps (500, 200)
        compare a.csv b.csv --delta 0.1 --strict --ignore max_steps -> With confidence
        compare both.csv --policy who --delta 0.1 --strict => in max_steps (509, 500)
        compare a.npz b.npz --support 0 100 --delta 0.1 --strict => in other units
    """)


@pytest.mark.parametrize("names", ["a.csv a.csv", "a.csv b.csv", "a.csv c.csv", "all.csv all.csv"])
def test_a_policy_is_not_compared_with_its_copy(names):
    """Nor with the same returns in another order of tasks and other names, or with itself if it always succeeds."""
    frame = pd.DataFrame({"task": np.arange(40) // 4, "trial": np.arange(40) % 4, "success": np.arange(40) % 7 % 2})
    for name, each in {"a": frame, "b": frame, "all": frame.assign(success=1)}.items():
        each.to_csv(f"{name}.csv", index=False)
    frame[::-1].sort_values("trial").rename(columns={"success": "passed"}).to_csv("c.csv", index=False)
    told = f"{names.replace(' ', ' and ')} have equal returns in each trial: if one is a copy of the other"
    run(f"""
        compare {names} --delta 0.1 --mean ~> {told}
        compare {names} --delta 0.1 --mean --strict => have equal returns in each trial
    """)


def policies_with(name, num_trials, of_a, of_b, *parts):
    """Tables of two policies, each with a column whose entry is a function of task and trial; parts of what is said."""
    for path, entry in (("a.csv", of_a), ("b.csv", of_b)):
        rows = [(f"w{t}x", r, (t + r) % 2, entry(t, r)) for t in range(12) for r in range(num_trials)]
        table(path, f"task,trial,success,{name}", rows)
    run(f"compare a.csv b.csv --delta 0.1 --suite --mean ~> {' | '.join(parts)}")


@pytest.mark.parametrize("num_trials", [1, 4])
@pytest.mark.parametrize("name", ["layout_seed", "env_seed", "scene_id", "instruction", "goal"])
def test_tasks_of_one_label_that_differ_between_policies_are_asked_about(name, num_trials):
    told = f"tasks of the same label differ in {name} (task w0x has 'k100' in a.csv, 'k900' in"
    policies_with(name, num_trials, lambda t, _: f"k{100 + t}", lambda t, _: f"k{900 + t}", told, "12 of 12 tasks")
    policies_with(name, num_trials, lambda t, _: t, lambda t, _: f"{t}.0", "!the same label differ")


@pytest.mark.parametrize("name", ["seconds", "answer", "video", "seed", "note", "tokens", "mean_return", "commit"])
def test_what_became_of_tasks_may_differ_between_policies(name):
    for number, step in ((1, 0), (4, 3)):
        of_a, of_b = (lambda t, r, first=first, step=step: first + t + step * r for first in (100, 900))
        policies_with(name, number, of_a, of_b, "!the same label differ")


@pytest.mark.parametrize(("largest", "is_told"), [(5, True), (10, True), (2, False)])
def test_marks_and_shares_are_asked_about(largest, is_told):
    for name, unit in (("a.npz", largest), ("b.npz", 1)):
        np.savez(name, returns=np.linspace(0.5, 1, 24).reshape(6, 4) * unit)
    told = f"{'' if is_told else '!'}in other units"
    run(f"compare a.npz b.npz --support 0 {largest} --delta 0.1 --mean ~> {told}")


def test_unfinished_rollouts_count_as_the_worst_of_a_and_are_refused_of_b():
    """The worst return of B would make A look better."""
    written(Path(), TAU2, "whole.json")
    written(Path(), edited(TAU2, "simulations", 0, value=DROP), "cut.json")
    session(
        """
        compare cut.json whole.json ASK => 1 of 4 rollouts unfinished (not in the file)
        compare cut.json whole.json ASK --unfinished 0 --json c.json -> 1 of 4 rollouts unfinished (not in the file), \
counted as 0
        verify c.json cut.json whole.json -> = verified: 1 certificate, 1 statement; 1 without an outcome, counted as 0
        compare whole.json cut.json ASK --unfinished 0 => The worst return of B's unfinished rollouts would help A
        """,
        ASK="--sampled --support 0 1 --delta 0.5 --mean",
    )
    (held,) = json.loads(Path("c.json").read_text())["certificates"]
    assert held["data"]["unfinished"] == {"num_rollouts": 1, "counted_as": 0.0}


def test_trials_that_an_error_ended_help_no_other_policy():
    """A runner writes a reward of 0 for them, whatever the policy did."""
    for name in ("whole.json", "other.json"):
        written(Path(), TAU, name)
    ended = edited(edited(TAU, 1, "info", value={"error": "RateLimitError"}), 1, "reward", value=0.0)
    written(Path(), ended, "cut.json")
    session(
        """
        compare cut.json whole.json ASK -> 1 ended early, RateLimitError (1)
        compare whole.json cut.json ASK => RateLimitError (1). The worst return of B's unfinished rollouts would help A
        compare whole.json other.json cut.json ASK ~> at least as good as cut.json, since the worst return of its
        certify cut.json --sampled --delta 0.5 --support 0 1 --threshold 0.1 --question interval --complete => With com
        """,
        ASK="--sampled --support 0 1 --delta 0.5 --mean",
    )


def test_errors_of_a_runner_help_no_other_policy():
    trials = [{"task_id": x, "trial_name": f"{x}1", "is_resolved": True, "failure_mode": "unset"} for x in "abcd"]
    bench = {"results": trials, "n_resolved": 4}
    written(Path(), bench, "whole.json")
    ended = edited(edited(bench, "results", 0, "failure_mode", value="unknown_agent_error"), "n_resolved", value=3)
    written(Path(), edited(ended, "results", 0, "is_resolved", value=False), "cut.json")
    run("""
        compare cut.json whole.json --suite --mean --delta 0.5 ~> 1 ended by an error
        compare whole.json cut.json --suite --mean --delta 0.5 => B's unfinished rollouts would help A
    """)


def test_a_page_names_no_folder_by_its_path(tmp_path):
    for name in ("alice", "bob"):
        for task in range(6):
            table(f"{name}/runs/{task}x.csv", "success", [(1,), (int(task > len(name)),)])
    asked = "compare alice/runs bob/runs --task-from-path '{task}.csv' --trial '' --mean --suite --delta 0.1"
    session(f"""
        {asked} --report c.html => are paths, which a page does not show; expected others, of files by --names
        {asked} --report c.html --names a,b -> the probability of success of a minus that of b
    """)
    assert "alice" not in Path("c.html").read_text()


def test_both_ways_of_benchmarks_work():
    written(Path(), TAU, "a.json")
    written(Path(), edited(TAU, 0, "reward", value=0), "b.json")
    run("""
        compare a.json b.json --delta 0.05 --margin 0 => expected --suite, with --threshold in place of --margin, if
        compare a.json b.json --delta 0.05 --margin 0 --sampled -> With confidence 0.95
        compare a.json b.json --delta 0.05 --threshold 0 --suite -> With confidence 0.95
    """)


def test_policies_of_one_file_are_named_in_their_order():
    rows = [(agent, task, trial) for agent in ("old", "new", "mid") for task in range(40) for trial in range(4)]
    won = np.random.default_rng(0).random(len(rows)) < [0.95 if agent == "new" else 0.5 for agent, *_ in rows]
    columns = ("agent", "task", "trial", "success")
    lines_of(
        "runs.jsonl", [dict(zip(columns, (*row, bool(one)), strict=True)) for row, one in zip(rows, won, strict=True)]
    )
    ask = "compare runs.jsonl --policy agent --suite --mean --delta 0.05 --only"
    run(f"""
        {ask} new,old --json c.json -> the probability of success of new minus that of old is at least 0.
        verify c.json runs.jsonl -> verified: 1 certificate
        {ask} old,new -> the other way round, name new first.
        {ask} new => --only is 'new'; expected two or more of old, new, mid, with commas between them
        {ask} new,older => expected two or more of old, new, mid
        {ask} new,new => expected two or more of old, new, mid
    """)


def test_a_page_shows_no_paths(tmp_path):
    """Files of one name are told apart by their paths, and names that are paths go on no page."""
    places = (
        "host:/home/me/{}/m",
        "me@host:{}",
        "eval.py --ckpt /home/me/{}",
        "/home/me/{}/last.pt",
        "https://a.b/{}/m",
        "~me/{}",
        "./{}",
        "C:\\{}",
        "org/{}-7b",
    )
    told = "names of policies, groups, strata or columns are paths, which a page does not show"
    for place in places:
        policies = [place.format(each) for each in "ab"]
        rows = [(f"t{i}x", j, int((i + j) % 4 > 0), each) for i in range(20) for j in range(4) for each in policies]
        table(tmp_path / "c.csv", "task,trial,success,policy", rows)
        page = tmp_path / "p.html"
        for options in (("compare", "--policy"), ("certify", "--by")):
            asked = (options[0], tmp_path / "c.csv", options[1], "policy", "--mean", "--delta", 0.1, "--report", page)
            assert command(*asked, "--force").status == 0 if place == places[-1] else told in refused(*asked)
    for each in "ab":
        table(
            tmp_path / each / "eval.csv", "task,trial,success", [row[:3] for row in rows if row[3] == f"org/{each}-7b"]
        )
    compared = ("compare", *(tmp_path / each / "eval.csv" for each in "ab"), "--mean", "--delta", 0.1)
    assert "b/eval.csv" in command(*compared).out
    assert told in refused(*compared, "--report", page, "--force")
    assert command(*compared, "--report", page, "--force", "--names", "new,old").status == 0
    named = ("--names", "new,old", "--force", "--json", tmp_path / "c.json")
    assert command(*compared, "--report", page, *named).status == 0
    assert "verify c.json &#39;the file of new&#39; &#39;the file of old&#39;<" in page.read_text()
    assert str(tmp_path) not in page.read_text()


@pytest.mark.parametrize(
    ("header", "words"),
    [("task,policy,success", "has no rows"), ("policy,policy,success", "more than one column 'policy'")],
)
def test_a_table_without_rows_or_with_a_name_twice_has_no_policies(tmp_path, header, words):
    path = table(tmp_path / "t.csv", header, [("a", "b", 1)] * ("more" in words))
    for asked in (("compare", path, "--policy"), ("certify", path, "--by")):
        assert words in refused(*asked, "policy", "--mean", "--delta", 0.1)


def test_policies_that_a_sentence_shows_alike_are_not_compared(tmp_path):
    rows = [(task, policy, 1) for policy in ("it's a", "it`s a") for task in range(5)]
    path = table(tmp_path / "t.csv", "task,policy,success", rows)
    for asked in (("compare", path, "--policy"), ("certify", path, "--by")):
        assert "which a sentence shows alike" in refused(*asked, "policy", "--mean", "--delta", 0.1)
    files = [table(tmp_path / name, "task,success", [(0, 1)]) for name in ("a.csv", "a\ufe0f.csv")]
    assert "which a sentence shows alike" in refused("compare", *files, "--mean", "--delta", 0.1)


def test_policies_that_are_read_from_different_columns_of_one_table_are_no_comparison():
    """A file says of each policy from which columns it was read."""
    rows = [
        (f"t{i}x", f"t{19 - i}x", agent, j, int((i + j) % 3 > (agent == "old")), 1)
        for i in range(20)
        for agent in ("new", "old")
        for j in range(4)
    ]
    table("r.csv", "task,scene,agent,trial,success,graded", rows)
    run("""
        compare r.csv --policy agent --only new,old --value success --mean --delta 0.1 --json c.json -> With confidence
        verify c.json r.csv -> ^verified
    """)
    told = "its policies are read from different columns or records of one table"
    for change, words in (
        ({("data", "columns", "value"): "graded"}, told),
        ({("others", 0, "columns", "task"): "scene"}, told),
        ({("data", "called"): "x'", ("others", 0, "called"): "x`"}, "its statements name two policies alike"),
        (
            {("data", "roles", "where"): ["trial != 3"], ("data", "roles", "group"): "trial != 3"},
            "what is said of one policy's rows",
        ),
        ({("data", "called"): "a b", ("others", 0, "called"): "a b\ufe0f"}, "its statements name two policies alike"),
    ):
        other = altered_record(Path("c.json"), lambda record, to=change: record.update(with_entries(record, to)))
        status, out, err = command("verify", other, "r.csv")
        assert (status, words in out + err) == (1, True), out + err


def test_policies_are_read_from_one_place_in_json():
    """Records of two policies that are read at different places of one file are refused."""
    held = {agent: {"trial": 0, "agent": agent} for agent in ("new", "old")}
    tasks = {
        f"k{i}": {
            x: [{**held[a], "ok": (i + len(x + a)) % 3 > (a == "old") - 1 + i % 2} for a in held]
            for x in ("evals", "dev")
        }
        for i in range(20)
    }
    Path("j.json").write_text(json.dumps({"runs": tasks}))
    asked = "--records 'runs.*.evals' --task '$1' --trial trial --value ok --mean --delta 0.1"
    run(f"""
        compare j.json {asked} --policy agent --only new,old --json c.json -> With confidence
        verify c.json j.json -> ^verified
    """)
    other = altered_record(Path("c.json"), lambda record: record["others"][0]["roles"].update(records="runs.*.dev"))
    assert "different columns or records of one table" in command("verify", other, "j.json").out
