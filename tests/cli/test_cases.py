"""Tables and result files as people have them: each ends at the right statement, or at a reason and a remedy."""

import json

import numpy as np
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


def test_evaluations_of_rllib_are_the_last_ones_and_no_iteration_is_a_task():
    for task in range(5):
        rewards = [{"hist_stats": {"episode_reward": [i + 0.5, task]}} for i in (1, 2)]
        lines_of(
            f"ray/s{task}/result.json", [{"training_iteration": i + 1, "evaluation": x} for i, x in enumerate(rewards)]
        )
    table("progress.csv", "training_iteration,episode_reward_mean,episodes_this_iter", [(1, 2, 3)])
    session(f"""
        certify ray {NEW} --support 0 10 => is a directory, expected a file, or the pattern of its files
        certify ray {NEW} --support 0 10 --task-from-path '{{task}}/result.json' ~> 5 tasks, 2 rollouts each
        certify progress.csv {NEW} --support 0 10 => as a learning curve has
    """)


def test_vanished_tasks_are_named():
    table("r.csv", "task,trial,reward", [(task, i, 1) for task in range(50) if task % 10 != 3 for i in range(4)])
    lines_of("list.txt", range(50))
    session(f"""
        certify r.csv {LIST} ~> labels of tasks go from 0 to 49 without 3, 13, 23, 33, 43
        certify r.csv {LIST} --tasks 50 => expected 50, as tasks says
        certify r.csv {LIST} --tasks list.txt => 5 of 50 tasks have no row: 3, 13, 23, 33, 43
        certify r.csv {LIST} --strict => without 3, 13
    """)


def test_episodes_of_an_older_lerobot_are_read():
    rewards = {"sum_reward": 1.0, "max_reward": 1.0}
    held = [{"episode_ix": i, **rewards, "success": i % 4 > 0, "seed": 1000 + i} for i in range(20)]
    stored("eval_info.json", {"per_episode": held, "aggregated": {}})
    session(f"certify eval_info.json {NEW} ~> 20 tasks, 1 rollout each | With confidence")


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


def test_a_rate_and_its_number_of_trials_are_named():
    table("r.csv", "scene,success_rate,episodes", [(f"t{i}x", (i % 5 + 5) / 10, 10) for i in range(30)])
    session(f"""
        certify r.csv {DELTA} --threshold 0.5 => of their rate (--value), and that of trials (--trials)
        certify r.csv {DELTA} --threshold 0.5 --task scene --value success_rate --trials episodes ~> With confidence
    """)


@pytest.mark.parametrize("place", ["", "results", "*", "results.*"])
def test_counts_in_json(place):
    rows = [{"name": f"t{i}x", "passed": 9 + i % 2, "total": 10} for i in range(30)]
    held = {row.pop("name"): row for row in map(dict, rows)} if "*" in place else rows
    stored("r.json", {"results": held} if "results" in place else held)
    records = f"--records '{place}'" if place else ""
    task = "'$1'" if "*" in place else "name"
    session(
        f"""
        certify r.json {DELTA} --threshold 0.5 {records} => 'passed' and 'passed/total' | and no number of tests
        ASKED --task {task} --successes passed --trials total --json c.json ~> 30 tasks | With confidence
        verify c.json r.json
    """,
        ASKED=f"certify r.json {DELTA} --threshold 0.5 {records}",
    )


def test_columns_of_trials_that_are_copies_or_never_fall_are_asked_about():
    copies = [(f"t{i}x", 1, int(i % 3 > 0), 1, int(i % 3 > 0)) for i in range(30)]
    tries = [(f"t{i}x", int(i % 4 > 2), int(i % 4 > 1), int(i % 4 > 0)) for i in range(30)]
    for columns, rows, told in (
        ("s1,s2,s3,s4", copies, "the outcomes of each task repeat 2 times"),
        ("try1,try2,try3", tries, "never fall from trial to trial"),
    ):
        table("w.csv", f"task,{columns}", rows)
        session(f"certify w.csv {DELTA} --threshold 0.5 --value {columns} ~> {told}")


def test_the_metrics_of_requirements_are_looked_at_as_returns_are():
    rng = np.random.default_rng(0)
    rows = [(f"t{i}x", j, rng.random(), cost) for i, cost in enumerate(rng.random(30) / 3) for j in range(10)]
    table("m.csv", "task,trial,reward,mean_cost", rows)
    asked = "--requirement 'reward >= 0.3 in 0 1' --requirement 'mean_cost <= 0.5 in 0 1' --complete"
    session(f"""
        certify m.csv {DELTA} {asked} ~> m.csv: mean_cost: | [constant-tasks] | With confidence
        certify m.csv {DELTA} {asked} --strict => m.csv: mean_cost: | [constant-tasks]
    """)
