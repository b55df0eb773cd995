"""`jaxcert plan`, and the advice of `jaxcert certify`."""

import re
from pathlib import Path

import numpy as np
import pytest
from cli_harness import command, session, table
from tool_files import DROP, TAU2, edited, written

from jaxcert.planning import plan, plan_suite
from jaxcert.report import Protocol

RNG = np.random.default_rng(0)
PILOT = np.clip(RNG.beta(40, 10, (40, 1)) + RNG.uniform(-0.1, 0.1, (40, 10)), 0, 1).astype(np.float32)
SUPPORT = "--support 0 1"


@pytest.fixture(autouse=True)
def folder(there):
    np.savez("pilot.npz", returns=PILOT)
    return there


def check_said(out, found):
    """A plan is printed."""
    assert all(line in out for line in (found.heading, *found.remarks))


def test_a_table_from_nothing():
    out = session("plan --delta 0.01 ->")
    rows = [line.split() for line in out.splitlines() if line[:6].strip().startswith("0.")]
    assert rows[1] == ["0.9", "47", "68", "86", "103"]
    session("plan --delta 0.05 --threshold 0.5 --design attained -> safety 1 trial 2 trials | 0.8 29 21 22 | !none")


def test_a_plan_from_a_pilot():
    wish = "--delta 0.05 --threshold 0.6 --safety 0.8 --max-rollouts 16"
    out = session(f"plan pilot.npz {SUPPORT} {wish} ->")
    check_said(out, plan(PILOT, support=(0, 1), delta=0.05, threshold=0.6, safety=0.8, max_rollouts=16))


def test_trials_for_a_list_of_tasks():
    passed = np.random.default_rng(0).random((40, 10)) < 0.95
    np.savez("list.npz", returns=passed)
    out = session("plan list.npz --good 30 --threshold 0.7 --delta 0.05 ->")
    check_said(out, plan_suite(passed, 30, 0.7, delta=0.05))


def test_a_pilot_with_missing_rollouts_is_refused():
    np.savez("part.npz", returns=PILOT, where=np.arange(400).reshape(40, 10) > 0)
    asked = f"plan part.npz --delta 0.1 {SUPPORT} --threshold 0.5 --safety 0.8"
    assert "some tasks have fewer rollouts than others" in command(*asked.split()).err  # after a warning


@pytest.fixture
def trials():
    """Four trials of each of 60 tasks, as people have them; what is said of them."""
    rng = np.random.default_rng(1)
    passed = rng.random((60, 4)) < rng.beta(9, 1, (60, 1))
    table("trials.csv", "task,trial,success", [(*place, int(ok)) for place, ok in np.ndenumerate(passed)])
    return f"trials.csv {SUPPORT} --delta 0.05 --threshold 0.5 --task task --trial trial --value success"


def test_how_many_more_tasks_is_answered_by_one_command(trials):
    out = session(f"certify {trials} --method attained --wanted 0.8 ->")
    assert re.search(
        r"safety 0\.8 not reached\. For 0\.8 with power 0\.9: about \d+ new tasks × 4 trials, or 60 × \d+", out
    )
    assert re.search(r"attained +\d+ +\d+ +0\.\d+ ", session(f"plan {trials} --safety 0.8 --max-rollouts 16 ->"))


def test_how_many_tasks_show_that_one_policy_is_better():
    np.savez("worse.npz", returns=0.5 * PILOT)
    given = f"plan pilot.npz --against worse.npz --delta 0.05 {SUPPORT}"
    session(f"""
        {given} --threshold 0.2 -> Wanted: better by 0.2 on average | rollouts are of either policy
        {given} --threshold 0.2 --safety 0.8 => which a plan for two policies (--against, or --only A,B) does not take
        {given} => --threshold is not given
    """)


def test_how_many_trials_of_a_list_show_that_one_policy_is_better():
    rng = np.random.default_rng(0)
    for name, skill in (("a", 0.9), ("b", 0.5)):
        np.savez(f"{name}.npz", returns=rng.random((12, 8)) < skill)
    given, shown = "plan a.npz --against b.npz --delta 0.05 --suite", "better by 0 on average over these 12 tasks"
    out = session(f"{given} -> {shown}, in at least 0.9 of cases")
    trials, total = map(int, re.search(r"betting +12 +(\d+) +(\d+)", out).groups())
    assert 1 < trials < 20
    assert total == 24 * trials
    session(f"""
        {given} --threshold 0.6 --max-rollouts 5 -> no number of trials certifies more than the difference
        {given} --good 3 --threshold 0 => --good is given, which a plan for two policies
        plan a.npz --suite --delta 0.05 => a plan for two policies (--against, or --only A,B) does
        plan a.npz --against a.npz --delta 0.05 --suite => PILOT and --against are one file
    """)


def test_two_policies_of_one_table_are_planned_as_those_of_two_files(there):
    rng = np.random.default_rng(0)
    passed = {name: rng.random((12, 8)) < skill for name, skill in (("a", 0.9), ("b", 0.5), ("c", 0.4))}
    rows = [f"{name},t{i}x,{j},{ok}" for name, each in passed.items() for (i, j), ok in np.ndenumerate(each)]
    there.joinpath("all.csv").write_text("\n".join(["policy,task,trial,success", *rows, ""]))
    given = "plan all.csv --policy policy --delta 0.05"
    session(f"""
        {given} --only a,b --suite -> better by 0 on average over these 12 tasks
        {given} --only a,b,c --threshold 0 => --only names 3 policies; expected one, or two
    """)


def test_unfinished_rollouts_of_a_pilot_count_as_the_worst_when_it_is_said(folder):
    written(folder, TAU2, "whole.json"), written(folder, edited(TAU2, "simulations", 0, value=DROP), "cut.json")
    given, told = f"{SUPPORT} --delta 0.5 --threshold 0.1", "1 of 4 rollouts unfinished (not in the file)"
    session(f"""
        plan cut.json {given} --good 1 => {told}
        plan cut.json {given} --good 1 --unfinished 0 -> {told}, counted as 0
        plan cut.json {given} --against whole.json --unfinished 0 -> {told}, counted as 0
        plan whole.json {given} --against cut.json --unfinished 0 => The worst return of B's unfinished rollouts
        plan --delta 0.05 --unfinished 0 => --unfinished is given, which a table (without PILOT)
    """)
    rows = [f"{i},{j},{'' if j else 9},{j}" for i in range(20) for j in range(4)]
    Path("t.csv").write_text("\n".join(["task,trial,score,hits", *rows, ""]))
    session("""
        plan t.csv --value score --support 0 10 --threshold 5 --delta 0.05 --unfinished 9 => expected 0, the worst
        plan t.csv --requirement 'score >= 5 in 0 10' --delta 0.05 --unfinished 0 => expected a file in which all
    """)


def test_a_plan_says_how_many_tasks_to_draw_from_each_stratum():
    rng, kinds = np.random.default_rng(0), ("push", "pick", "push")
    rows = [f"{i},{j},{int(rng.random() < 0.9)},{kinds[i % 3]}" for i in range(60) for j in range(4)]
    Path("t.csv").write_text("\n".join(["task,trial,success,kind", *rows, ""]))
    asked = "plan t.csv --strata kind --delta 0.05"
    out = session(f"{asked} --threshold 0.5 --safety 0.7 --max-rollouts 3 --lock p.toml -> locked in | !sequential")
    num_tasks, push, pick = map(
        int, re.search(r"Of the (\d+) tasks draw (\d+) from push, (\d+) from pick", out).groups()
    )
    assert push + pick == num_tasks
    assert abs(push - 2 * num_tasks / 3) < 1
    assert f"num_tasks = {num_tasks}\n" in Path("p.toml").read_text()
    assert 'strata = "kind"' in Path("p.toml").read_text()
    assert f"[of_strata]\npush = {push}\npick = {pick}\n" in Path("p.toml").read_text()
    session(f"""
        {asked} --safety 0.8 => --threshold is not given
        {asked} --good 30 --threshold 0.5 => --strata is given, which a plan for the tasks of PILOT (--good)
        plan --strata kind --delta 0.05 --threshold 0.5 --design attained => a plan for new tasks of one policy
        plan t.csv --strata kind --delta 0.3 --threshold 0.5 --safety 0.7 => --delta is 0.3; for tasks drawn within
        plan t.csv --strata task --delta 0.05 --threshold 0.5 --safety 0.2 --power 0.5 => none of them from the
    """)


def test_a_plan_that_nothing_reaches_says_so_and_one_to_lock_has_fixed_rollouts():
    """The locked columns are those that were named."""
    rows = [f"{i},{j},{PILOT[i, j]}" for i in range(40) for j in range(10)]
    Path("pilot.csv").write_text("\n".join(["seed,run,ep_ret", *rows, ""]))
    named = "plan pilot.csv --task seed --trial run --value ep_ret --support 0 1 --delta 0.05 --max-rollouts 10"
    session(f"""
        {named} --threshold 1 --safety 0.8 -> No design considered certifies anything.
        {named} --threshold 0.6 --safety 0.8 --lock p.toml -> locked in p.toml
    """)
    status, _, err = command(*f"{named} --threshold 0.6 --safety 0.8 --lock q.toml --design sequential".split())
    assert (status, "such as --design betting" in err) == (2, True)
    locked = Protocol.read("p.toml")
    assert (locked.task, locked.value, locked.bound) == ("seed", "ep_ret", "betting")
