"""`jaxcert plan`, and the advice of `jaxcert certify` and `jaxcert rollout`."""

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from cli_harness import command, refused, said
from rich.console import Console
from tool_files import DROP, TAU2, edited, written

from jaxcert.cli._tables import plain_table
from jaxcert.planning import plan, plan_suite, task_table

SUPPORT = ("--support", 0, 1)
RNG = np.random.default_rng(0)
PILOT = np.clip(RNG.beta(40, 10, (40, 1)) + RNG.uniform(-0.1, 0.1, (40, 10)), 0, 1).astype(np.float32)


@pytest.fixture
def pilot(tmp_path) -> Path:
    np.savez(tmp_path / "pilot.npz", returns=PILOT)
    return tmp_path / "pilot.npz"


def test_a_table_from_nothing(tmp_path):
    out = said("plan", "--delta", 0.01, "--json", tmp_path / "table.json")
    rows = [line.split() for line in out.splitlines() if line[:6].strip().startswith("0.")]
    assert rows[1] == ["0.9", "47", "68", "86", "103"]
    wanted = task_table([0.8, 0.9, 0.95, 0.99], delta=0.01)
    assert json.loads((tmp_path / "table.json").read_text()) == wanted.to_dict()
    assert "31" in command("plan", "--delta", 0.05, "--safety", 0.9, "--beta", 0.05, "--max-violations", 0).out


def test_a_plan_from_a_pilot(pilot, tmp_path):
    wish = ("--delta", 0.05, "--safety", 0.8, "--budget", 300, "--max-rollouts", 16)
    outputs = ("--json", tmp_path / "plan.json", "--plot", tmp_path / "plan.svg")
    out = said("plan", pilot, *SUPPORT, *wish, *outputs)
    found = plan(PILOT, support=(0, 1), delta=0.05, safety=0.8, budget=300, max_rollouts=16)
    assert found.heading in out
    assert all(remark in out for remark in found.remarks)
    assert json.loads((tmp_path / "plan.json").read_text()) == json.loads(found.to_json())
    assert "<svg" in (tmp_path / "plan.svg").read_text()


def test_a_plan_with_soft_counts(pilot, tmp_path):
    wish = ("--delta", 0.05, "--threshold", 0.6, "--budget", 60, "--design", "soft", "--max-rollouts", 2)
    out = said("plan", pilot, *SUPPORT, *wish, "--json", tmp_path / "plan.json")
    [first, *_] = json.loads((tmp_path / "plan.json").read_text())["designs"]
    assert first["arguments"] == {"method": "soft"}
    assert f"alpha {first['beta']:.4g}" in out


def test_trials_for_a_list_of_tasks(tmp_path):
    passed = np.random.default_rng(0).random((40, 10)) < 0.95
    np.savez(tmp_path / "list.npz", returns=passed)
    asked = ("--suite", 30, "--threshold", 0.7, "--delta", 0.05)
    out = said("plan", tmp_path / "list.npz", *asked, "--json", tmp_path / "plan.json")
    found = plan_suite(passed, 30, 0.7, delta=0.05)
    assert found.heading in out
    assert all(remark in out for remark in found.remarks)
    assert json.loads((tmp_path / "plan.json").read_text()) == found.to_dict()


def test_a_plan_from_assumptions(tmp_path):
    wish = ("--delta", 0.05, "--safety", 0.8, "--threshold", 0.6, "--design", "betting", "--max-rollouts", 16)
    outputs = ("--plot", tmp_path / "plan.png")
    out = said("plan", "--assume", 0.8, 0.05, 0.1, *SUPPORT, *wish, *outputs)
    assert "at least 0.6 certified with safety 0.8" in out
    assert (tmp_path / "plan.png").stat().st_size > 1000


def test_a_pilot_with_missing_rollouts_is_refused(tmp_path):
    where = np.ones(PILOT.shape, bool)
    where[0, 0] = False
    np.savez(tmp_path / "part.npz", returns=PILOT, where=where)
    wish = ("--delta", 0.1, *SUPPORT, "--safety", 0.8, "--budget", 9)
    assert "some tasks have fewer rollouts than others" in command("plan", tmp_path / "part.npz", *wish).err


def test_certify_says_why(pilot, tmp_path):
    asked = ("--threshold", 0.5, "--threshold", 0.99, "--wanted", 0.95, "--safety", 0.5)
    out = said("certify", pilot, *SUPPORT, "--delta", 0.01, *asked, "--json", tmp_path / "c.json")
    assert "Why not more at threshold 0.5: 40 tasks can certify 0.8855 at most" in out
    assert "0.95 needs 95" in out
    assert "no lower bound can pass 0.7412 with 10 rollouts at beta 0.05" in out
    assert "at safety" not in out
    by_threshold, by_safety = json.loads((tmp_path / "c.json").read_text())["certificates"]
    assert [row["advice"]["tasks_needed"] for row in by_threshold["rows"]] == [95, 95]
    assert by_safety["rows"][0]["advice"] is None


def test_a_vacuous_certificate_says_why_unasked(pilot):
    out = command("certify", pilot, *SUPPORT, "--delta", 0.01, "--threshold", 0.5, "--threshold", 0.9).out
    assert "at threshold 0.5:" not in out
    assert "Why not more at threshold 0.9: no lower bound can pass" in out
    out = command("certify", pilot, *SUPPORT, "--delta", 0.01, "--safety", 0.99).out
    assert "Why not more at safety 0.99: 40 tasks can certify 0.8912 at most" in out


def test_rollout_warns_beforehand(tmp_path):
    size = ("--tasks", 10, "--rollouts", 4, "--out", tmp_path / "r.npz", "--seed", 0)
    status, _, err = command("rollout", "bridge_world_left", *size, "--threshold", 0.6, "--safety", 0.9)
    assert status == 0
    assert err.startswith("warning: 10 tasks can certify")
    assert "0.9 needs 47" in err
    assert command("rollout", "bridge_world_left", *size[:-1], 1, "--force").err == ""


def test_a_narrow_terminal_cuts_nothing_off_a_plan():
    found = plan(PILOT, support=(0, 1), delta=0.05, threshold=0.6, safety=0.8, max_rollouts=16)
    console = Console(width=80, file=io.StringIO())
    console.print(plain_table(found.table, is_wide=True))
    out = console.file.getvalue()
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= 80
    assert all(str(option.num_tasks) in out for option in found.designs)


def test_a_pilot_with_columns_of_other_names(tmp_path):
    rows = [f"{task},{value}" for task, values in enumerate(PILOT) for value in values]
    (tmp_path / "pilot.csv").write_text("\n".join(["world,score", *rows, ""]))
    columns = ("--task", "world", "--trial", "", "--value", "score")
    wish = ("--delta", 0.05, "--safety", 0.8, "--budget", 300, "--max-rollouts", 8)
    out = said("plan", tmp_path / "pilot.csv", *SUPPORT, *wish, *columns)
    np.save(tmp_path / "pilot.npy", PILOT)
    read = "40 tasks from world, 10 trials, value from score\n"
    assert read in out
    assert command("plan", tmp_path / "pilot.npy", *SUPPORT, *wish).out == out.replace(read, "")


@pytest.fixture
def trials(tmp_path) -> tuple[object, ...]:
    """Four trials of each of 60 tasks, as people have them."""
    rng = np.random.default_rng(1)
    passed = rng.random((60, 4)) < rng.beta(9, 1, (60, 1))
    rows = [f"{task},{trial},{int(ok)}" for (task, trial), ok in np.ndenumerate(passed)]
    (tmp_path / "trials.csv").write_text("\n".join(["task,trial,success", *rows, ""]))
    columns = ("--task", "task", "--trial", "trial", "--value", "success")
    return tmp_path / "trials.csv", *SUPPORT, "--delta", 0.05, "--threshold", 0.5, *columns


def test_how_many_more_tasks_is_answered_by_one_command(trials):
    out = said("certify", *trials, "--method", "attained", "--wanted", 0.8)
    assert re.search(
        r"safety 0\.8 not reached\. For 0\.8 with power 0\.9: about \d+ new tasks × 4 trials, or 60 × \d+", out
    )
    out = said("plan", *trials, "--safety", 0.8, "--max-rollouts", 16)
    assert re.search(r"attained +\d+ +\d+ +0\.\d+ ", out)


def test_the_table_for_successes():
    given = ("plan", "--delta", 0.05, "--threshold", 0.5, "--design", "attained")
    out = said(*given)
    assert "safety   1 trial   2 trials" in out
    assert "0.8        29         21         22" in out
    assert "none" not in out


def test_a_design_of_successes_can_be_locked(trials, tmp_path):
    wish = ("--safety", 0.8, "--max-rollouts", 4, "--lock", tmp_path / "p.toml", "--design", "attained")
    assert command("plan", *trials, *wish).status == 0
    assert 'method = "attained"' in (tmp_path / "p.toml").read_text()


def test_how_many_tasks_show_that_one_policy_is_better(pilot, tmp_path):
    np.savez(tmp_path / "worse.npz", returns=0.5 * PILOT)
    given = ("plan", pilot, "--against", tmp_path / "worse.npz", "--delta", 0.05, *SUPPORT)
    out = said(*given, "--threshold", 0.2)
    assert "Wanted: better by 0.2 on average" in out
    assert "rollouts of either" in out
    assert "expected --threshold alone" in refused(*given, "--threshold", 0.2, "--safety", 0.8)
    assert "--threshold is not given" in refused(*given)


def test_how_many_trials_of_a_list_show_that_one_policy_is_better(tmp_path):
    rng, files = np.random.default_rng(0), [tmp_path / "a.npz", tmp_path / "b.npz"]
    for file, skill in zip(files, (0.9, 0.5), strict=True):
        np.savez(file, returns=rng.random((12, 8)) < skill)
    given = ("plan", files[0], "--against", files[1], "--delta", 0.05)
    out = said(*given, "--suite", "--json", tmp_path / "plan.json")
    assert "better by 0 on average over these 12 tasks, in at least 0.9 of cases" in out
    trials = json.loads((tmp_path / "plan.json").read_text())["designs"][0]["num_rollouts"]
    assert 1 < trials < 20
    assert re.search(rf"{trials} +12 +{24 * trials}\b", out)
    out = said(*given, "--suite", "--threshold", 0.6, "--max-rollouts", 5)
    assert "no number of trials certifies more than the difference" in out
    assert "--against is given with --suite" in refused(*given, "--suite", 3, "--threshold", 0)
    assert "--suite has no number of tasks" in refused("plan", files[0], "--suite", "--delta", 0.05)


def test_unfinished_rollouts_of_a_pilot_count_as_the_worst_when_it_is_said(tmp_path):
    whole, cut = written(tmp_path, TAU2, "whole.json"), written(tmp_path, edited(TAU2, "simulations", 0, value=DROP))
    given = (*SUPPORT, "--delta", 0.5, "--threshold", 0.1)
    assert "1 of 4 rollouts unfinished (not in the file)" in refused("plan", cut, *given, "--suite", 1)
    for wish in (("--suite", 1), ("--safety", 0.3, "--max-rollouts", 2), ("--against", whole)):
        out = said("plan", cut, *given, *wish, "--unfinished", 0)
        assert "1 of 4 rollouts unfinished (not in the file), counted as 0" in out
    message = refused("plan", whole, *given, "--against", cut, "--unfinished", 0)
    assert "The worst return of B's unfinished rollouts would help A" in message
    assert "--unfinished is about rollouts of PILOT" in refused("plan", "--delta", 0.05, "--unfinished", 0)
