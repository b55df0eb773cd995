"""`jaxcert choose`: every command that it offers works as it stands."""

import shlex

import numpy as np
import pytest
from cli_harness import command, lines_of, table
from tool_files import DROP, LEROBOT, TAU, TAU2, edited, written

from jaxcert.questions import QUESTIONS

WORDS = {question.words: name for name, question in QUESTIONS.items()}


def _chosen(*arguments):
    """The offered commands, and the names of the questions that they ask."""
    lines = command("choose", *arguments).out.splitlines()
    return [line.strip() for line in lines if line.startswith("    ")], {WORDS.get(line.strip()) for line in lines}


def _run_all(found):
    """Every command, with numbers in place of X, LOW and HIGH."""
    for each in found[0]:
        words = [{"X": "0.5", "LOW": "0", "HIGH": "1"}.get(word, word) for word in shlex.split(each)]
        status, out, err = command(*words[1:])
        assert status == 0, (each, err)
        assert "With confidence 0.95" in " ".join(out.split())


@pytest.fixture
def passes(tmp_path):
    rows = [(task, trial, "pass" if (task + trial) % 4 else "fail") for task in range(20) for trial in range(4)]
    return table(tmp_path / "pass fail.csv", "task,trial,passed", rows)


@pytest.fixture
def scores(tmp_path):
    path = tmp_path / "scores.npz"
    np.savez(path, returns=np.linspace(0, 1, 80).reshape(20, 4))
    return path


@pytest.fixture
def others(passes, scores, tmp_path):
    """Files by which all commands are tried; two of them with the same tasks."""
    passes.with_name("other.csv").write_text(passes.read_text().replace("0,0,fail", "0,0,pass"))
    np.savez(scores.with_name("b.npz"), returns=np.linspace(0, 0.5, 80).reshape(20, 4))
    return {"successes": [passes], "numbers": [scores], "another tool": [written(tmp_path, LEROBOT, "eval_info.json")],
            "two of successes": [passes, passes.with_name("other.csv")],
            "two of numbers": [scores, scores.with_name("b.npz")]}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["successes", "numbers", "another tool", "two of successes", "two of numbers"])
def test_every_command_that_is_offered_works(others, kind):
    found = _chosen(*others[kind])
    assert found[0]
    assert kind != "successes" or not any("LOW" in each for each in found[0])
    _run_all(found)


def test_it_says_what_is_there_and_for_which_tasks_each_question_is(passes, tmp_path):
    out = command("choose", passes).out
    head, _, others = out.partition("If the tasks are a random")
    first, columns, _, *holds = head.splitlines()
    new, _, words, line = f"If the tasks are a random{others}".splitlines()[:4]
    assert " ".join(holds).startswith(
        "Every command below holds only if each of these tasks, 0 to 19, is a task that you"
    )
    assert first == f"{passes}: 20 tasks, 4 rollouts each, successes and failures"
    assert columns == "  20 tasks from task, 4 trials from trial, success from passed"
    assert (new, words.strip()) == (
        "If the tasks are a random sample and new tasks have the same distribution:",
        QUESTIONS["safety"].words,
    )
    assert line == f"    jaxcert certify '{passes}' --threshold X --delta 0.05"
    path = written(tmp_path, TAU)
    listed = command("choose", path).out
    assert "read as tau-bench results: 3 tasks, 6 rollouts, value reward" in listed
    assert listed.index("If the tasks are a fixed list") < listed.index("If the tasks are a random sample")
    assert "2 rollouts each, successes and failures" in " ".join(listed.split())
    assert f"jaxcert certify {path} --suite --threshold X --delta 0.05\n" in listed
    assert f"jaxcert certify {path} --sampled --threshold X --delta 0.05\n" in listed


def test_what_a_tool_fixes_is_not_said_of_a_table(tmp_path):
    """The support of one file is not that of another; a list stays one."""
    rows = [{"task": i, "trial": j, "score": 40 * j} for i in range(3) for j in range(2)]
    path, other = written(tmp_path, TAU), lines_of(tmp_path / "t.jsonl", rows)
    for files in ((path, other), (other, path)):
        found, _ = _chosen(*files)
        assert any("--support LOW HIGH" in each for each in found)
        assert not any("--support 0 1" in each for each in found)
        assert all("--suite" in each or "--sampled" in each for each in found)


def test_returns_are_not_told(tmp_path):
    printed = []
    for top in (1.0, 2.0):
        np.savez(tmp_path / "a.npz", returns=np.linspace(0, top, 80).reshape(20, 4))
        printed.append(command("choose", tmp_path / "a.npz"))
    assert printed[0] == printed[1]
    assert printed[0].status == 0


def test_unfinished_rollouts_are_asked_for_no_upper_end(tmp_path):
    """Which would be refused."""
    path = written(tmp_path, edited(TAU2, "simulations", 0, value=DROP))
    found = _chosen(path, "--unfinished", 0)
    assert all("--unfinished 0" in each for each in found[0])
    assert not any("--complete" in each for each in found[0])
    assert any("--complete" in each for each in _chosen(written(tmp_path, TAU2))[0])
    assert not {"interval", "requirements", "suite_requirements"} & found[1]
    assert "interval" in _chosen(written(tmp_path, TAU2))[1]


def test_requirements_are_offered_without_the_name_of_a_metric(tmp_path):
    """Nobody but the user knows which column measures each trial."""
    rows = [(i // 4, i % 4, i % 3, i % 7) for i in range(80)]
    path = table(tmp_path / "t.csv", "task,trial,score,num_envs", rows)
    commands, _ = _chosen(path)
    offered = [each for each in commands if "--requirement" in each]
    assert len(offered) == 2
    assert all("--requirement 'score >= X in LOW HIGH' --requirement 'METRIC <= X in LOW HIGH'" in x for x in offered)
    table(path, "task,trial,score", [row[:3] for row in rows])
    assert not any("--requirement" in each for each in _chosen(path)[0])
    table(path, "task,trial,score ,score", rows)  # a requirement would name the other one
    assert not any("--requirement" in each for each in _chosen(path, "--value", "score ")[0])
