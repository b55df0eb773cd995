"""Tables and result files as people have them: each ends at the right statement, or at a reason and a remedy."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_harness import lines_of, session, table

DELTA = "--delta 0.1"
LIST, NEW = f"{DELTA} --suite --mean", f"{DELTA} --mean"
pytestmark = pytest.mark.usefixtures("there")


def stored(path, value):
    with open(path, "w") as file:
        json.dump(value, file)


def said(script):
    """The end of what a session says."""
    return session(script).splitlines()[-1]


def test_returns_of_several_seeds_have_a_way_on():
    np.savez("r.npz", returns=np.ones((5, 12, 30)))
    session(f"certify r.npz {NEW} --support 0 1 => certify it at delta / 5")


def test_counts_in_every_spelling_give_the_same():
    won = [31, 3, 28, 40, 45, 12]
    tasks = [(f"t{i}", k) for i, k in enumerate(won)]
    table("a.csv", "task,successes,trials", [(*each, 50) for each in tasks])
    table("b.csv", "task,result", [(name, f"{k}/50") for name, k in tasks])
    table("c.csv", "task,won,played", [(*each, 50) for each in tasks])
    table("d.csv", "task,success_rate,num_episodes", [(name, k / 50, 50) for name, k in tasks])
    roles = {
        "a": "",
        "b": "",
        "c": "--successes won --trials played",
        "d": "--value success_rate --trials num_episodes",
    }
    ends = {said(f"certify {name}.csv {LIST} {options} ~> With confidence") for name, options in roles.items()}
    assert len(ends) == 1
    table("e.csv", "task,rate,n", [("a", 0.333, 50), ("b", 0.5, 50)])
    session(f"certify e.csv {LIST} --value rate --trials n => expected a rate from 0 to 1, with digits enough")


def test_a_rate_is_verified_as_it_was_read():
    table("d.csv", "task,rate,n", [("a", 0.62, 50), ("b", 0.5, 50)])
    session(f"""
        certify d.csv {LIST} --value rate --trials n --json c.json ~> With confidence
        verify c.json d.csv -> ^verified: 1 certificate
    """)


def test_errored_trials_of_a_job_are_named_and_counted():
    names = {f"job-{t:02}__{i}": t % 3 != 0 for t in range(9) for i in range(3)}
    rewards = {"1.0": [n for n, ok in names.items() if ok], "0.0": [n for n, ok in names.items() if not ok][:-2]}
    lost = [n for n, ok in names.items() if not ok][-2:]
    held = {"reward_stats": {"reward": rewards}, "exception_stats": {"AgentTimeoutError": lost}}
    stored("result.json", {"n_total_trials": 27, "stats": {"evals": {"a__b": held}}})
    session(f"""
        certify result.json {LIST} => 2 of 27 rollouts unfinished (listed under AgentTimeoutError) | --unfinished
        certify result.json {LIST} --unfinished 0 ~> 9 tasks, 3 rollouts each | counted as 0 | With confidence
    """)


def test_runs_in_files_of_their_own_are_trials_where_the_pattern_says_so():
    for run in range(4):
        rows = [{"doc_id": i, "doc": {"q": "x"}, "exact_match": float((i + run) % 3 > 0)} for i in range(12)]
        lines_of(f"runs/samples_run{run}.jsonl", rows)
    pattern = "--task-from-path 'samples_run{trial}.jsonl'"
    session(f"""
        certify runs {NEW} => '{{trial}}.jsonl' if each is one more run
        certify runs {LIST} {pattern} --json c.json ~> 12 tasks, 4 rollouts each | With confidence
        verify c.json runs -> ^verified: 1 certificate
    """)


def test_results_of_bigcodebench_are_read():
    status = {True: "pass", False: "fail"}
    held = {f"B/{i}": [{"task_id": f"B/{i}", "status": status[(i + j) % 3 > 0]} for j in range(4)] for i in range(9)}
    stored("r.json", {"date": "2026", "eval": held})
    session(f"certify r.json {LIST} ~> 9 tasks, 4 rollouts each | With confidence")


def test_two_swe_bench_reports_are_compared():
    ids = [f"p-{i}" for i in range(60)]
    for name, share, total in (("a", 4, 60), ("b", 2, 60), ("short", 4, 90)):
        held = {"resolved_ids": ids[: share * 12], "unresolved_ids": ids[share * 12 : -2], "error_ids": ids[-2:]}
        stored(f"{name}.json", {"total_instances": total, "completed_ids": ids[:-2], **held})
    session(f"""
        compare a.json b.json --suite {DELTA} ~> errors are not resolved | With confidence
        compare short.json b.json --suite {DELTA} => total_instances is 90, and 60 rollouts are listed
    """)


def test_a_curve_is_refused_and_its_last_rows_are_read():
    for task in range(6):
        rows = [(step, (task + seed) % 3 / 2, seed) for seed in range(3) for step in (0, 500, 1000)]
        table(f"runs/mw-{task}.csv", "step,success,seed", rows)
    session(
        """
        READ => where=['step = 1000']
        READ --where 'step = 1000' --json c.json ~> 6 tasks, 3 rollouts each | With confidence
        verify c.json runs -> ^verified: 1 certificate
        READ --where 'step = 7' => has no entry '7'
        """,
        READ=f"certify runs {NEW} --support 0 1 --task-from-path '{{task}}.csv'",
    )


def test_evaluations_of_rllib_are_the_last_ones_and_no_iteration_is_a_task():
    for task in range(5):
        rewards = [{"hist_stats": {"episode_reward": [i + 0.5, task]}} for i in (1, 2)]
        lines_of(
            f"ray/s{task}/result.json", [{"training_iteration": i + 1, "evaluation": x} for i, x in enumerate(rewards)]
        )
    table("progress.csv", "training_iteration,episode_reward_mean,episodes_this_iter", [(1, 2, 3)])
    session(f"""
        certify ray {NEW} --support 0 10 => for example
        PROPOSED ~> 5 tasks, 2 rollouts each | With confidence
        certify progress.csv {NEW} --support 0 10 => as a learning curve has
    """)


def test_lists_of_messages_do_no_harm():
    rows = [
        {"example_id": i // 2, "trial": i % 2, "reward": i % 3 > 0, "prompt": [{"role": "user"}]} for i in range(20)
    ]
    pq.write_table(pa.Table.from_pylist(rows), "r.parquet")
    for path in ("r.parquet", lines_of("r.jsonl", rows)):
        read = "10 tasks from example_id, 2 trials from trial, success from reward"
        session(f"certify {path} {LIST} ~> {read} | With confidence")


def test_vanished_tasks_are_named():
    table("r.csv", "task,trial,reward", [(task, i, 1) for task in range(50) if task % 10 != 3 for i in range(4)])
    lines_of("list.txt", range(50))
    session(f"""
        certify r.csv {LIST} ~> labels of tasks go from 0 to 49 without 3, 13, 23, 33, 43
        certify r.csv {LIST} --tasks 50 => expected 50, as tasks says
        certify r.csv {LIST} --tasks list.txt => 5 of 50 tasks have no row: 3, 13, 23, 33, 43
        certify r.csv {LIST} --strict => without 3, 13
    """)


@pytest.mark.parametrize("lost", ["", "abandoned", "NaN", "error"])
def test_rows_without_an_outcome_are_refused_or_counted(lost):
    lost_ones = {(2, 1): lost, (5, 3): lost}
    rows = [(task, i, lost_ones.get((task, i), "success")) for task in range(8) for i in range(5)]
    table("r.csv", "task,episode,success", rows)
    counted = "success from success; 2 without an outcome, counted as 0"
    session(f"""
        certify r.csv {LIST} => row 12: success is | 2 of 40 rows have no outcome | --unfinished 0
        certify r.csv {LIST} --unfinished 0 --json c.json ~> {counted} | With confidence
        verify c.json r.csv -> ^verified: 1 certificate
        certify r.csv {LIST} --unfinished 1 => expected 0, the worst return
    """)


@pytest.mark.parametrize("column", ["arm", "condition", "perturbation", "checkpoint", "hand"])
def test_arms_in_one_table_are_never_one_policy(column):
    trials = [(task, i, arm) for task in range(20) for i in range(6) for arm in ("clean", "perturbed")]
    rows = [(task, f"{i}-{arm}", arm, (task + i) % 4 > (arm == "perturbed")) for task, i, arm in trials]
    table("r.csv", f"task,episode,{column},success", rows)
    one = session(f"certify r.csv {NEW} --where '{column} = clean' ~> With confidence")
    assert one == session(f"certify r.csv {NEW} --policy {column} --only clean ~> With confidence")
    session(f"""
        certify r.csv {NEW} --strict => '{column}' | ['{column} = clean']
        certify r.csv {NEW} --policy {column} => names 2 policies, clean, perturbed
        compare r.csv --policy {column} {DELTA} --json c.json ~> success of clean minus that of perturbed
        verify c.json r.csv r.csv -> ^verified: 1 certificate
    """)


def test_a_column_for_each_trial_has_a_remedy():
    rows = [(f"t{i}", *((i + j) % 3 for j in range(5))) for i in range(8)]
    table("wide.csv", "task,rep_1,rep_2,rep_3,rep_4,rep_5", rows)
    session(f"""
        certify wide.csv {LIST} --support 0 2 => --value 'rep_1,rep_2,rep_3,rep_4,rep_5'
        certify wide.csv {LIST} --support 0 2 --value rep_3,rep_4,rep_5 ~> 8 tasks, 3 rollouts each | With confidence
    """)


def test_episodes_of_an_older_lerobot_are_read():
    rewards = {"sum_reward": 1.0, "max_reward": 1.0}
    held = [{"episode_ix": i, **rewards, "success": i % 4 > 0, "seed": 1000 + i} for i in range(20)]
    stored("eval_info.json", {"per_episode": held, "aggregated": {}})
    session(f"certify eval_info.json {NEW} ~> 20 tasks, 1 rollout each | With confidence")


def test_copies_are_warned_of():
    table("r.csv", "task,trial,success", [(t, i, t % 3 // 2) for i in range(10) for t in range(32)])
    session(f"certify r.csv {NEW} ~> have the same return in all their rollouts")


def test_a_file_per_task_is_read_by_its_pattern():
    for task in range(6):
        table(f"runs/task_{task}.csv", "trial,success", [(i, (i + task) % 3 > 0) for i in range(5)])
    session(f"""
        certify runs {LIST} => '{{task}}.csv' if each is a task
        certify runs {LIST} --task-from-path '{{task}}.csv' ~> 6 tasks, 5 rollouts each | With confidence
    """)


def test_a_recipe_of_ones_own(there):
    held = [{"scene": f"s{i // 3}", "ok": "yes" if i % 4 else "no", "lost": ""} for i in range(18)]
    stored("mine.json", {"runs": held})
    (there / "mine.toml").write_text(
        'name = "my log"\nrecords = "runs.*"\ntask = "scene"\nunfinished = "lost"\nvalues = { ok = "ok = yes" }\n'
    )
    roles = "--records runs --task scene --trial '' --value ok"
    end = said(f"certify mine.json {LIST} --recipe mine.toml -> read as my log: 6 tasks, 18 rollouts, value ok")
    assert end == said(f"certify mine.json {LIST} {roles} ~> With confidence")
    session(f"""
        certify mine.json {LIST} => but of 'runs'; expected one object per trial, or the place of their list by records
        certify mine.json {LIST} --recipe {there}/mine.toml --json c.json ~> With confidence
    """)
    assert str(there) not in (there / "c.json").read_text()
    (there / "mine.toml").unlink()  # the certificate says itself how it was read
    session("verify c.json mine.json")
    (there / "c.json").write_text((there / "c.json").read_text().replace("ok = yes", "ok = no"))
    session("verify c.json mine.json !>")


def test_a_rate_and_its_number_of_trials_are_proposed():
    for header, roles in {
        "task,success_rate,num_episodes": "--value success_rate --trials num_episodes",
        "scene,success_rate,episodes": "--task scene --value success_rate --trials episodes",
    }.items():
        table("r.csv", header, [(f"t{i}x", (i % 5 + 5) / 10, 10) for i in range(30)])
        session(f"certify r.csv {DELTA} --threshold 0.5 => {roles}\nPROPOSED ~> With confidence")


@pytest.mark.parametrize("place", ["", "results", "*", "results.*"])
def test_counts_in_json_are_proposed_with_all_that_has_to_be_said(place):
    rows = [{"name": f"t{i}x", "passed": 9 + i % 2, "total": 10} for i in range(30)]
    held = {row.pop("name"): row for row in map(dict, rows)} if "*" in place else rows
    stored("r.json", {"results": held} if "results" in place else held)
    task = "--task '$1'" if "*" in place else "--task name"
    records = f"--records '{place}'" if place else ""
    session(f"""
        certify r.json {DELTA} --threshold 0.5 {records} => {task} --successes passed --trials total
        PROPOSED ~> 30 tasks | With confidence
    """)


def test_a_column_id_is_proposed_as_the_task():
    table("r.csv", "id,reward", [(i // 4, i % 3 > 0) for i in range(120)])
    session(f"certify r.csv {DELTA} --threshold 0.5 => --task id")


def test_labels_of_several_parts():
    rows = [(a, b, i, (a + b + i) % 3 > 0) for a in range(3) for b in range(3) for i in range(4)]
    table("r.csv", "layout,style,trial,success", rows)
    session(f"certify r.csv {LIST} --task layout,style ~> 9 tasks from layout,style | With confidence")


def test_a_column_of_failures_is_no_success():
    table("r.csv", "task,trial,failed", [(t, i, i > 2) for t in range(5) for i in range(4)])
    session(f"certify r.csv {NEW} --value failed => is named after failures, not successes")
