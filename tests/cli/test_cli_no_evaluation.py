"""Tables that are no evaluation of one policy: nothing is said of them, also if every proposed command is followed."""

import re
import shlex

import numpy as np
import pandas
import pytest
from cli_harness import command, refused, table

from jaxcert import from_frame

ASKED = ("--sampled", "--mean", "--support", 0, 1, "--delta", 0.1)
CURVES = {
    "step": ["step", "reward", "seed"],
    "RLlib": ["training_iteration", "episodes_total", "episodes_this_iter", "episode_reward_mean", "trial_id"],
    "Weights & Biases": ["Step", "run_a - eval/return", "run_a - eval/return__MIN", "run_a - eval/return__MAX"],
    "steps of tasks": ["task", "global_step", "success_rate"],
    "timesteps": ["total_timesteps", "seed", "score"],
}


def followed(path, *asked):
    """Statements that are made of a file, also by all commands that are proposed, one after another."""
    said, left, seen = [], [("certify", path, *asked)], set()
    while left:
        arguments = left.pop()
        status, out, err = command(*arguments)
        assert "Traceback" not in err
        said += [line for line in out.splitlines() if line.startswith("With confidence") and "nothing" not in line]
        for line in re.findall(r"jaxcert (\w+ .*?)(?:$|\n|; )", out + err):
            words = tuple(shlex.split(line)) if line.count("'") % 2 == 0 else ()
            if words and words not in seen and words[0] in ("certify", "choose"):
                seen.add(words)
                left.append(words)
        assert status in (0, 1, 2)
    return said


@pytest.mark.parametrize("name", CURVES)
def test_a_learning_curve_is_refused_and_no_command_is_proposed(tmp_path, name):
    names, rng = CURVES[name], np.random.default_rng(0)
    rows = [[i * 1000 if "tep" in x or "iter" in x else i % 5 for x in names[:-1]] + [rng.random()] for i in range(30)]
    path = table(tmp_path / "curve.csv", ",".join(names), rows)
    message = refused("certify", path, *ASKED)
    assert "as a learning curve has" in message
    assert followed(path, *ASKED) == []
    column = next(x for x in names if "tep" in x or "iter" in x)
    chosen = ("--task", column, "--trial", "", "--value", names[-1])
    assert "moments of a training run are no tasks" in refused("certify", path, *ASKED, *chosen)


def test_lists_and_dictionaries_in_cells_are_no_error(tmp_path):
    cells = [["a"], {"b": 1}, np.arange(2), None]
    for name in ("prompt", "model", "config", "category", "dataset"):
        frame = pandas.DataFrame({"task": np.repeat(np.arange(4), 2), "success": [1, 0] * 4})
        frame[name] = [cells[i // 2] for i in range(8)]
        assert from_frame(frame, trial=None).returns.shape == (4, 2)
        frame[name] = [["a"], ["b"]] * 4
        frame.to_parquet(tmp_path / "t.parquet")
        message = refused("certify", tmp_path / "t.parquet", *ASKED, "--trial", "")
        assert f"rows of the same task differ in column '{name}'" in message
        with pytest.raises(ValueError, match="expected integers or text"):
            from_frame(frame, task=name, trial=None, value="success")


NAMES = ["task", "step", "seed", "arm", "score", "success", "id", "policy", "iteration", "note", "env", "value", "run"]


@pytest.mark.parametrize("seed", range(100))
def test_no_traceback_and_no_statement_of_pooled_rows(tmp_path, seed):
    """Tables of made-up columns; a statement is made only of those without moments, policies and conditions."""
    rng = np.random.default_rng(seed)
    names = list(rng.permutation(NAMES)[: rng.integers(2, 6)])
    cells = {
        "seed": lambda i: i % 3,
        "run": lambda i: i % 3,
        "arm": lambda i: "ab"[i % 2],
        "policy": lambda i: "xy"[i % 2],
        "step": lambda i: 100 * (i % 4),
        "iteration": lambda i: i % 4,
        "score": lambda i: round(rng.random(), 3),
        "value": lambda i: rng.choice(["", "0.5", "nan", "1"], p=[0.02, 0.9, 0.02, 0.06]),
        "success": lambda i: rng.choice(["true", "false"]),
        "note": lambda i: "[1, 2]" if i % 5 else "",
    }
    rows = [[cells.get(name, lambda i: i // 12)(i) for name in names] for i in range(36)]
    mixed = [rows[i] for i in rng.permutation(len(rows))]
    said = followed(table(tmp_path / "t.csv", ",".join(names), mixed), *ASKED)
    if {"step", "iteration", "arm", "policy"} & set(names):
        assert said == []
