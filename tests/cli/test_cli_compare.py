"""Two policies on the command line: their page, the words for usual questions, and unfinished rollouts."""

import html
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_harness import command, refused, said, session
from tool_files import DROP, TAU, TAU2, edited, written

RNG = np.random.default_rng(0)
A = RNG.beta(9, 1, (60, 20)).astype(np.float32)
B = (0.8 * A).astype(np.float32)
SETTINGS = ("--support", 0, 1, "--delta", 0.1)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    np.savez(folder / "new.npz", returns=A)
    np.savez(folder / "old.npz", returns=B)
    return folder / "new.npz", folder / "old.npz"


def sentences(out: str) -> list[str]:
    return [line for line in out.splitlines() if line.startswith("With confidence")]


@pytest.mark.parametrize("words", [("--mean",), ("--suite", "--mean")])
def test_a_page_of_two_policies_says_what_is_printed_and_which_is_which(files, tmp_path, words):
    made = ("--json", tmp_path / "c.json", "--report", tmp_path / "c.html")
    out = said("compare", *files, *SETTINGS, *words, *made)
    text = html.unescape((tmp_path / "c.html").read_text())
    assert "Policy A is <strong>new.npz</strong>, policy B is <strong>old.npz</strong>." in text
    assert "<h1>new.npz against old.npz</h1>" in text
    told = sentences(out)
    assert told
    assert all(line in text for line in told)
    (shown,) = re.findall("<pre>(jaxcert verify .*)</pre>", text)
    program, *arguments = shlex.split(shown)
    assert (program, arguments) == ("jaxcert", ["verify", "c.json", "new.npz", "old.npz"])
    assert said("verify", tmp_path / "c.json", *files).startswith("verified: 1 certificate")


def test_files_of_one_name_are_told_apart_by_their_folders(files, tmp_path):
    for folder, returns in (("a", A), ("b", B)):
        (tmp_path / folder).mkdir()
        np.savez(tmp_path / folder / "r.npz", returns=returns)
    both = tmp_path / "a" / "r.npz", tmp_path / "b" / "r.npz"
    said("compare", *both, *SETTINGS, "--mean", "--report", tmp_path / "c.html", "--title", "A title")
    text = (tmp_path / "c.html").read_text()
    assert f"Policy A is <strong>{both[0]}</strong>, policy B is <strong>{both[1]}</strong>." in text
    assert "<h1>A title</h1>" in text


@pytest.mark.slow
def test_rows_in_another_order_are_matched_on_the_page(tmp_path):
    """The difference of each task is shown, and not that of two tasks."""
    rows = {"push": (0.9, 0.2), "pull": (0.5, 0.4), "turn": (0.8, 0.1)}
    for place, name in enumerate(("new.csv", "old.csv")):
        lines = [f"{task},1,{values[place]}" for task, values in list(rows.items())[:: -1 if place else 1]]
        (tmp_path / name).write_text("\n".join(["task_id,episode_id,total_return", *lines, ""]))
    made = ("--suite", "--threshold", 0.9, "--report", tmp_path / "c.html", "--tasks-in-report")
    said("compare", tmp_path / "new.csv", tmp_path / "old.csv", *SETTINGS, *made)
    assert "pull (0.1), push (0.7), turn (0.7)" in (tmp_path / "c.html").read_text()


def test_words_ask_what_their_questions_do(files):
    for words, question in (
        (("--mean",), ("--question", "mean_difference")),
        (("--suite", "--mean"), ("--question", "suite_mean")),
        (("--suite", "--each-task", "--threshold", 0.1), ("--question", "each_task", "--threshold", 0.1)),
    ):
        assert said("compare", *files, *SETTINGS, *words) == said("compare", *files, *SETTINGS, *question)


@pytest.mark.parametrize("margin", [("--margin", 0), ("--margin=0",), ("--margin", 0, "--margin", 0)])
def test_a_margin_of_a_list_is_answered_with_a_command_that_works(files, margin):
    message = refused("compare", *files, *margin, *SETTINGS, "--suite")
    assert "of a fixed list --threshold is the difference that a task has to reach" in message
    program, *arguments = shlex.split(message.split("for example: ")[1])
    assert program == "jaxcert"
    assert "--margin" not in " ".join(arguments)
    assert "of these 60 tasks" in said(*arguments)


def test_it_says_why_nothing_is_certified_as_certify_does(files, tmp_path):
    made = ("--json", tmp_path / "c.json", "--report", tmp_path / "c.html")
    out = said("compare", *files, *SETTINGS, "--margin", "-0.5,0.9", *made)
    assert "at -0.5" not in out  # more than nothing is certified there
    (line,) = [line for line in out.splitlines() if line.startswith("Why not more")]
    assert line.startswith("Why not more at margin 0.9: no lower bound can pass 0.7218 with 20 rollouts at beta 0.05")
    advice = [row["advice"] for row in json.loads((tmp_path / "c.json").read_text())["certificates"][0]["rows"]]
    assert advice[0] is None
    assert line == f"Why not more at margin 0.9: {advice[1]['text']}."
    text = re.sub("<[^>]+>", "", html.unescape((tmp_path / "c.html").read_text()))
    assert line in text


@pytest.mark.parametrize(("kind", "what"), [("--suite", "trials of each task"), ("--sampled", "tasks")])
def test_what_would_show_a_difference_that_is_not_certified(tmp_path, kind, what):
    rng, files = np.random.default_rng(0), [tmp_path / "a.npz", tmp_path / "b.npz"]
    for file, skill in zip(files, (0.72, 0.6), strict=True):
        np.savez(file, returns=rng.random((20, 10)) < skill)
    start = "Not shown: that a.npz is better than b.npz on average. In these data it is by 0.08"
    suite = " --suite" if kind == "--suite" else ""
    expected = f"{start}; how many new {what} it takes: jaxcert plan A --against B --threshold 0{suite}.\n"
    assert expected in said("compare", *files, kind, "--delta", 0.05)
    out = said("compare", *files[::-1], kind, "--delta", 0.05)
    assert "In these data it is worse by 0.08, so that more of the same would not show it" in out
    np.savez(files[1], returns=np.zeros((20, 10), bool))
    assert "Not shown" not in said("compare", *files, kind, "--delta", 0.05)


def test_what_is_asked_of_policies_together_is_an_error_with_strict(tmp_path):
    rows = [f"k{i},{j},{int(i + j > 3)}" for i in range(12) for j in range(4)]
    for name, limit, unit in (("a", 500, 100), ("b", 200, 1)):
        first = f"k0,0,{int(name == 'b')}"
        text = "\n".join(["task,trial,success,max_steps", *(f"{row},{limit}" for row in [first, *rows[1:]]), ""])
        (tmp_path / f"{name}.csv").write_text(text)
        np.savez(tmp_path / f"{name}.npz", returns=np.full((6, 4), 0.9 * unit))
    tables, arrays = ([tmp_path / f"{name}.{kind}" for name in "ab"] for kind in ("csv", "npz"))
    told = command("compare", *tables, "--delta", 0.1, "--suite", "--mean")
    assert told.status == 0
    assert told.err.count("warning: ") == 1
    assert "all rows of a policy have one entry in max_steps (500, 200)" in told.err
    assert "in max_steps (500, 200)" in refused("compare", *tables, "--delta", 0.1, "--strict")
    assert "in max_steps (500, 200)" in refused("compare", *tables, tables[0], "--delta", 0.1, "--strict")
    both = tmp_path / "both.csv"
    both.write_text("".join(f"{row},{500 + 9 * (who == 'ours')},{who}\n" for who in ("ours", "base") for row in rows))
    both.write_text(f"task,trial,success,max_steps,who\n{both.read_text()}")
    assert "in max_steps (509, 500)" in refused("compare", both, "--policy", "who", "--delta", 0.1, "--strict")
    assert "in other units" in refused("compare", *arrays, "--support", 0, 100, "--delta", 0.1, "--strict")


@pytest.mark.parametrize("names", [["a.csv", "a.csv"], ["a.csv", "b.csv"], ["a.csv", "c.csv"], ["all.csv", "all.csv"]])
def test_a_policy_is_not_compared_with_its_copy(tmp_path, names):
    """Nor with the same returns in another order of tasks and other names, or with itself if it always succeeds."""
    frame = pd.DataFrame({"task": np.arange(40) // 4, "trial": np.arange(40) % 4, "success": np.arange(40) % 7 % 2})
    for name, each in {"a": frame, "b": frame, "all": frame.assign(success=1)}.items():
        each.to_csv(tmp_path / f"{name}.csv", index=False)
    frame[::-1].sort_values("trial").rename(columns={"success": "passed"}).to_csv(tmp_path / "c.csv", index=False)
    paths = [tmp_path / name for name in names]
    told = command("compare", *paths, "--delta", 0.1, "--mean")
    assert f"{paths[0]} and {paths[1]} have equal returns in each trial: if one is a copy of the other" in told.err
    assert "have equal returns in each trial" in refused("compare", *paths, "--delta", 0.1, "--mean", "--strict")


def policies_with(folder, name, num_trials, of_a, of_b):
    """Tables of two policies, each with a column whose entry is a function of task and trial."""
    paths = [folder / f"{each}.csv" for each in "ab"]
    for path, entry in zip(paths, (of_a, of_b), strict=True):
        rows = (f"w{t}x,{r},{(t + r) % 2},{entry(t, r)}\n" for t in range(12) for r in range(num_trials))
        path.write_text(f"task,trial,success,{name}\n" + "".join(rows))
    return command("compare", *paths, "--delta", 0.1, "--suite", "--mean")


@pytest.mark.parametrize("num_trials", [1, 4])
@pytest.mark.parametrize("name", ["layout_seed", "env_seed", "scene_id", "instruction", "goal"])
def test_tasks_of_one_label_that_differ_between_policies_are_asked_about(tmp_path, name, num_trials):
    found = policies_with(tmp_path, name, num_trials, lambda t, _: f"k{100 + t}", lambda t, _: f"k{900 + t}")
    told = f"tasks of the same label differ in {name} (task w0x has 'k100' in {tmp_path / 'a.csv'}, 'k900' in"
    assert told in found.err
    assert "12 of 12 tasks" in found.err
    found = policies_with(tmp_path, name, num_trials, lambda t, _: t, lambda t, _: f"{t}.0")
    assert "the same label differ" not in found.err


@pytest.mark.parametrize("name", ["seconds", "answer", "video", "seed", "note", "tokens", "mean_return", "commit"])
def test_what_became_of_tasks_may_differ_between_policies(tmp_path, name):
    found = policies_with(tmp_path, name, 1, lambda t, _: 100 + t, lambda t, _: 900 + t)
    assert "the same label differ" not in found.err
    found = policies_with(tmp_path, name, 4, lambda t, r: 100 + t + 3 * r, lambda t, r: 900 + t + 3 * r)
    assert "the same label differ" not in found.err


@pytest.mark.parametrize(("largest", "is_told"), [(5, True), (10, True), (2, False)])
def test_marks_and_shares_are_asked_about(tmp_path, largest, is_told):
    paths = [tmp_path / f"{name}.npz" for name in "ab"]
    for path, unit in zip(paths, (largest, 1), strict=True):
        np.savez(path, returns=np.linspace(0.5, 1, 24).reshape(6, 4) * unit)
    said = command("compare", *paths, "--support", 0, largest, "--delta", 0.1, "--mean").err
    assert ("in other units" in said) == is_told


def test_unfinished_rollouts_count_as_the_worst_of_a_and_are_refused_of_b(tmp_path):
    """The worst return of B would make A look better."""
    whole, cut = written(tmp_path, TAU2, "whole.json"), written(tmp_path, edited(TAU2, "simulations", 0, value=DROP))
    settings = ("--sampled", "--support", 0, 1, "--delta", 0.5, "--mean")
    assert "1 of 4 rollouts unfinished (not in the file)" in refused("compare", cut, whole, *settings)
    made = ("--unfinished", 0, "--json", tmp_path / "c.json")
    out = said("compare", cut, whole, *settings, *made)
    assert "1 of 4 rollouts unfinished (not in the file), counted as 0" in out
    told = "verified: 1 certificate, 1 statement; 1 without an outcome, counted as 0\n"
    assert said("verify", tmp_path / "c.json", cut, whole) == told
    (held,) = json.loads((tmp_path / "c.json").read_text())["certificates"]
    assert held["data"]["unfinished"] == {"num_rollouts": 1, "counted_as": 0.0}
    message = refused("compare", whole, cut, *settings, "--unfinished", 0)
    assert "The worst return of B's unfinished rollouts would help A" in message


def test_both_commands_that_are_offered_for_benchmarks_work(tmp_path):
    files = written(tmp_path, TAU, "a.json"), written(tmp_path, edited(TAU, 0, "reward", value=0), "b.json")
    asked = refused("compare", *files, "--delta", 0.05, "--margin", 0)
    for ending in ("--suite", "--sampled"):
        _, *arguments = shlex.split(re.search(rf"(jaxcert compare [^?]*?{ending})\b", asked)[1])
        assert ("--margin" in arguments) == (ending == "--sampled")
        assert "With confidence 0.95" in " ".join(said(*arguments).split())


def test_policies_of_one_file_are_named_in_their_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(agent, task, trial) for agent in ("old", "new", "mid") for task in range(40) for trial in range(4)]
    won = np.random.default_rng(0).random(len(rows)) < [0.95 if agent == "new" else 0.5 for agent, *_ in rows]
    columns = ("agent", "task", "trial", "success")
    lines = [json.dumps(dict(zip(columns, (*row, bool(one)), strict=True))) for row, one in zip(rows, won, strict=True)]
    Path("runs.jsonl").write_text("\n".join([*lines, ""]))
    ask = "compare runs.jsonl --policy agent --suite --mean --delta 0.05 --only"
    session(f"""
        {ask} new,old --json c.json -> the probability of success of new minus that of old is at least 0.
        verify c.json runs.jsonl -> verified: 1 certificate
        {ask} old,new -> the other way round, name B first.
        {ask} new => --only is 'new'; expected two or more of old, new, mid, with commas between them
        {ask} new,older => expected two or more of old, new, mid
        {ask} new,new => expected two or more of old, new, mid
    """)
