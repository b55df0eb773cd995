"""Tables and result files as people have them: each ends at the right statement, or at a reason and a remedy."""

import json
import shlex

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_harness import command, refused

WORDS = {True: "True", False: "False"}
DELTA = ("--delta", 0.1)


def table(path, header, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows), ""]))
    return path


def said(*arguments):
    found = command(*arguments)
    assert found.status == 0, found.err
    assert "With confidence" in found.out
    return found.out


def in_arms(path, column="arm"):
    rows = [
        (task, f"{i}-{arm}", arm, WORDS[(task + i) % 4 > (arm == "perturbed")])
        for task in range(20)
        for i in range(6)
        for arm in ("clean", "perturbed")
    ]
    return table(path, f"task,episode,{column},success", rows)


def test_returns_of_several_seeds_have_a_way_on(tmp_path):
    np.savez(tmp_path / "r.npz", returns=np.ones((5, 12, 30)))
    assert "certify it at delta / 5" in refused("certify", tmp_path / "r.npz", *DELTA, "--support", 0, 1, "--mean")


def test_counts_in_every_spelling_give_the_same(tmp_path):
    won = [31, 3, 28, 40, 45, 12]
    files = {
        table(tmp_path / "a.csv", "task,successes,trials", [(f"t{i}", k, 50) for i, k in enumerate(won)]): (),
        table(tmp_path / "b.csv", "task,result", [(f"t{i}", f"{k}/50") for i, k in enumerate(won)]): (),
        table(tmp_path / "c.csv", "task,won,played", [(f"t{i}", k, 50) for i, k in enumerate(won)]): (
            *("--successes", "won"),
            *("--trials", "played"),
        ),
        table(
            tmp_path / "d.csv", "task,success_rate,num_episodes", [(f"t{i}", k / 50, 50) for i, k in enumerate(won)]
        ): (*("--value", "success_rate"), *("--trials", "num_episodes")),
    }
    ends = {
        said("certify", file, *DELTA, "--suite", "--mean", *roles).splitlines()[-1] for file, roles in files.items()
    }
    assert len(ends) == 1
    rough = table(tmp_path / "e.csv", "task,rate,n", [("a", 0.333, 50), ("b", 0.5, 50)])
    assert "expected a rate from 0 to 1, with digits enough" in refused(
        "certify", rough, *DELTA, "--suite", "--mean", "--value", "rate", "--trials", "n"
    )


def test_a_rate_is_verified_as_it_was_read(tmp_path):
    file = table(tmp_path / "d.csv", "task,rate,n", [("a", 0.62, 50), ("b", 0.5, 50)])
    roles = ("--value", "rate", "--trials", "n")
    said("certify", file, *DELTA, "--suite", "--mean", *roles, "--json", tmp_path / "c.json")
    assert command("verify", tmp_path / "c.json", file).out.startswith("verified: 1 certificate")


def test_errored_trials_of_a_job_are_named_and_counted(tmp_path):
    names = {f"job-{t:02}__{i}": t % 3 != 0 for t in range(9) for i in range(3)}
    rewards = {"1.0": [n for n, ok in names.items() if ok], "0.0": [n for n, ok in names.items() if not ok][:-2]}
    lost = [n for n, ok in names.items() if not ok][-2:]
    held = {"reward_stats": {"reward": rewards}, "exception_stats": {"AgentTimeoutError": lost}}
    (tmp_path / "result.json").write_text(json.dumps({"n_total_trials": 27, "stats": {"evals": {"a__b": held}}}))
    told = refused("certify", tmp_path / "result.json", *DELTA, "--suite", "--mean")
    assert "2 of 27 rollouts unfinished (listed under AgentTimeoutError)" in told
    assert "--unfinished" in told
    out = said("certify", tmp_path / "result.json", *DELTA, "--suite", "--mean", "--unfinished", 0)
    assert "9 tasks, 3 rollouts each" in out
    assert "counted as 0" in out


def test_runs_in_files_of_their_own_are_trials_where_the_pattern_says_so(tmp_path):
    for run in range(4):
        rows = [{"doc_id": i, "doc": {"q": "x"}, "exact_match": float((i + run) % 3 > 0)} for i in range(12)]
        (tmp_path / "runs").mkdir(exist_ok=True)
        (tmp_path / "runs" / f"samples_run{run}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "'{trial}.jsonl' if each is one more run" in refused("certify", tmp_path / "runs", *DELTA, "--mean")
    pattern = ("--task-from-path", "samples_run{trial}.jsonl")
    out = said("certify", tmp_path / "runs", *DELTA, "--suite", "--mean", *pattern, "--json", tmp_path / "c.json")
    assert "12 tasks, 4 rollouts each" in out
    assert command("verify", tmp_path / "c.json", tmp_path / "runs").out.startswith("verified: 1 certificate")


def test_results_of_bigcodebench_are_read(tmp_path):
    held = {
        f"B/{i}": [{"task_id": f"B/{i}", "status": "pass" if (i + j) % 3 else "fail"} for j in range(4)]
        for i in range(9)
    }
    (tmp_path / "r.json").write_text(json.dumps({"date": "2026", "eval": held}))
    assert "9 tasks, 4 rollouts each" in said("certify", tmp_path / "r.json", *DELTA, "--suite", "--mean")


def test_two_swe_bench_reports_are_compared(tmp_path):
    for name, share in (("a", 4), ("b", 2)):
        ids = [f"p-{i}" for i in range(60)]
        held = {"resolved_ids": ids[: share * 12], "unresolved_ids": ids[share * 12 : -2], "error_ids": ids[-2:]}
        (tmp_path / f"{name}.json").write_text(json.dumps({"total_instances": 60, "completed_ids": ids[:-2], **held}))
    out = said("compare", tmp_path / "a.json", tmp_path / "b.json", "--suite", *DELTA)
    assert "errors are not resolved" in out
    short = (tmp_path / "a.json").read_text().replace('"total_instances": 60', '"total_instances": 90')
    (tmp_path / "a.json").write_text(short)
    told = refused("compare", tmp_path / "a.json", tmp_path / "b.json", "--suite", *DELTA)
    assert "total_instances is 90, and 60 rollouts are listed" in told


def test_a_curve_is_refused_and_its_last_rows_are_read(tmp_path):
    for task in range(6):
        rows = [(step, (task + seed) % 3 / 2, seed) for seed in range(3) for step in (0, 500, 1000)]
        table(tmp_path / "runs" / f"mw-{task}.csv", "step,success,seed", rows)
    pattern = (tmp_path / "runs", *DELTA, "--mean", "--support", 0, 1, "--task-from-path", "{task}.csv")
    told = refused("certify", *pattern)
    assert "where=['step = 1000']" in told
    out = said("certify", *pattern, "--where", "step = 1000", "--json", tmp_path / "c.json")
    assert "6 tasks, 3 rollouts each" in out
    assert command("verify", tmp_path / "c.json", tmp_path / "runs").out.startswith("verified: 1 certificate")
    assert "has no entry '7'" in refused("certify", *pattern, "--where", "step = 7")


def test_evaluations_of_rllib_are_the_last_ones_and_no_iteration_is_a_task(tmp_path):
    for task in range(5):
        path = tmp_path / "ray" / f"s{task}" / "result.json"
        path.parent.mkdir(parents=True)
        lines = [
            {"training_iteration": i, "evaluation": {"hist_stats": {"episode_reward": [i + 0.5, task]}}} for i in (1, 2)
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = refused("certify", tmp_path / "ray", *DELTA, "--mean", "--support", 0, 10)
    proposed = shlex.split(told.split("for example: jaxcert ")[1])
    assert "5 tasks, 2 rollouts each" in said(*proposed)
    curve = table(tmp_path / "progress.csv", "training_iteration,episode_reward_mean,episodes_this_iter", [(1, 2, 3)])
    assert "as a learning curve has" in refused("certify", curve, *DELTA, "--mean", "--support", 0, 10)


def test_lists_of_messages_do_no_harm(tmp_path):
    rows = [
        {"example_id": i // 2, "trial": i % 2, "reward": i % 3 > 0, "prompt": [{"role": "user"}]} for i in range(20)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "r.parquet")
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("r.parquet", "r.jsonl"):
        out = said("certify", tmp_path / name, *DELTA, "--suite", "--mean")
        assert "10 tasks from example_id, 2 trials from trial, success from reward" in out


def test_vanished_tasks_are_named(tmp_path):
    rows = [(task, i, 1) for task in range(50) if task % 10 != 3 for i in range(4)]
    file = table(tmp_path / "r.csv", "task,trial,reward", rows)
    found = command("certify", file, *DELTA, "--suite", "--mean")
    assert "labels of tasks go from 0 to 49 without 3, 13, 23, 33, 43" in found.err
    assert "expected 50, as tasks says" in refused("certify", file, *DELTA, "--suite", "--mean", "--tasks", 50)
    (tmp_path / "list.txt").write_text("".join(f"{i}\n" for i in range(50)))
    told = refused("certify", file, *DELTA, "--suite", "--mean", "--tasks", tmp_path / "list.txt")
    assert "5 of 50 tasks have no row: 3, 13, 23, 33, 43" in told
    assert "without 3, 13" in refused("certify", file, *DELTA, "--suite", "--mean", "--strict")


@pytest.mark.parametrize("lost", ["", "abandoned", "NaN", "error"])
def test_rows_without_an_outcome_are_refused_or_counted(tmp_path, lost):
    rows = [(task, i, lost if (task, i) in ((2, 1), (5, 3)) else "success") for task in range(8) for i in range(5)]
    file = table(tmp_path / "r.csv", "task,episode,success", rows)
    told = refused("certify", file, *DELTA, "--suite", "--mean")
    assert "row 12: success is" in told
    assert "2 of 40 rows have no outcome" in told
    assert "--unfinished 0" in told
    counted = ("certify", file, *DELTA, "--suite", "--mean", "--unfinished")
    out = said(*counted, 0, "--json", tmp_path / "c.json")
    assert "success from success; 2 without an outcome, counted as 0" in out
    assert command("verify", tmp_path / "c.json", file).out.startswith("verified: 1 certificate")
    assert "expected 0, the worst return" in refused(*counted, 1)


@pytest.mark.parametrize("column", ["arm", "condition", "perturbation", "checkpoint", "hand"])
def test_arms_in_one_table_are_never_one_policy(tmp_path, column):
    file = in_arms(tmp_path / "r.csv", column)
    told = command("certify", file, *DELTA, "--mean", "--strict").err
    assert f"{column!r}" in told
    assert f"['{column} = clean']" in told
    one = said("certify", file, *DELTA, "--mean", "--where", f"{column} = clean")
    assert one == said("certify", file, *DELTA, "--mean", "--policy", column, "--only", "clean")
    assert "names 2 policies, clean, perturbed" in refused("certify", file, *DELTA, "--mean", "--policy", column)
    made = ("--json", tmp_path / "c.json")
    out = said("compare", file, "--policy", column, *DELTA, *made)
    assert "probability of success of clean minus that of perturbed" in " ".join(out.split())
    assert command("verify", tmp_path / "c.json", file, file).out.startswith("verified: 1 certificate")


def test_a_column_for_each_trial_has_a_remedy(tmp_path):
    rows = [(f"t{i}", *((i + j) % 3 for j in range(5))) for i in range(8)]
    file = table(tmp_path / "wide.csv", "task,rep_1,rep_2,rep_3,rep_4,rep_5", rows)
    told = refused("certify", file, *DELTA, "--suite", "--mean", "--support", 0, 2)
    assert "--value 'rep_1,rep_2,rep_3,rep_4,rep_5'" in told
    out = said("certify", file, *DELTA, "--suite", "--mean", "--support", 0, 2, "--value", "rep_3,rep_4,rep_5")
    assert "8 tasks, 3 rollouts each" in out


def test_episodes_of_an_older_lerobot_are_read(tmp_path):
    held = [
        {"episode_ix": i, "sum_reward": 1.0, "max_reward": 1.0, "success": i % 4 > 0, "seed": 1000 + i}
        for i in range(20)
    ]
    (tmp_path / "eval_info.json").write_text(json.dumps({"per_episode": held, "aggregated": {}}))
    assert "20 tasks, 1 rollout each" in said("certify", tmp_path / "eval_info.json", *DELTA, "--mean")


def test_copies_are_warned_of(tmp_path):
    file = table(tmp_path / "r.csv", "task,trial,success", [(t, i, t % 3 // 2) for i in range(10) for t in range(32)])
    assert "have the same return in all their rollouts" in command("certify", file, *DELTA, "--mean").err


def test_a_file_per_task_is_read_by_its_pattern(tmp_path):
    for task in range(6):
        table(
            tmp_path / "runs" / f"task_{task}.csv", "trial,success", [(i, WORDS[(i + task) % 3 > 0]) for i in range(5)]
        )
    told = refused("certify", tmp_path / "runs", *DELTA, "--suite", "--mean")
    assert "'{task}.csv' if each is a task" in told
    out = said("certify", tmp_path / "runs", *DELTA, "--suite", "--mean", "--task-from-path", "{task}.csv")
    assert "6 tasks, 5 rollouts each" in out


def test_a_recipe_of_ones_own(tmp_path):
    held = {"runs": [{"scene": f"s{i // 3}", "ok": "yes" if i % 4 else "no", "lost": ""} for i in range(18)]}
    (tmp_path / "mine.json").write_text(json.dumps(held))
    (tmp_path / "mine.toml").write_text(
        'name = "my log"\nrecords = "runs.*"\ntask = "scene"\nunfinished = "lost"\nvalues = { ok = "ok = yes" }\n'
    )
    out = said("certify", tmp_path / "mine.json", *DELTA, "--suite", "--mean", "--recipe", tmp_path / "mine.toml")
    assert "read as my log: 6 tasks, 18 rollouts, value ok" in out
    plain = ("certify", tmp_path / "mine.json", *DELTA, "--suite", "--mean")
    assert "--records runs" in refused(*plain)
    roles = ("--records", "runs", "--task", "scene", "--trial", "", "--value", "ok")
    assert said(*plain, *roles).splitlines()[-1] == out.splitlines()[-1]
    file = tmp_path / "c.json"
    said(*plain, "--recipe", tmp_path / "mine.toml", "--json", file)
    assert str(tmp_path) not in file.read_text()
    (tmp_path / "mine.toml").unlink()  # the certificate says itself how it was read
    assert command("verify", file, tmp_path / "mine.json").status == 0
    file.write_text(file.read_text().replace("ok = yes", "ok = no"))
    assert command("verify", file, tmp_path / "mine.json").status == 1


def test_a_rate_and_its_number_of_trials_are_proposed(tmp_path):
    rows = [(f"t{i}x", (i % 5 + 5) / 10, 10) for i in range(30)]
    file = table(tmp_path / "r.csv", "task,success_rate,num_episodes", rows)
    told = refused("certify", file, *DELTA, "--threshold", 0.5)
    assert "--value success_rate --trials num_episodes" in told
    assert said(*shlex.split(told.split("for example: jaxcert ")[1]))
    file.write_text(file.read_text().replace("task,success_rate,num_episodes", "scene,success_rate,episodes"))
    told = refused("certify", file, *DELTA, "--threshold", 0.5)
    assert "--task scene --value success_rate --trials episodes" in told
    assert said(*shlex.split(told.split("for example: jaxcert ")[1]))


def test_a_column_id_is_proposed_as_the_task(tmp_path):
    file = table(tmp_path / "r.csv", "id,reward", [(i // 4, i % 3 > 0) for i in range(120)])
    assert "--task id" in refused("certify", file, *DELTA, "--threshold", 0.5)


def test_lists_of_records_are_named_by_their_whole_place(tmp_path):
    rows = [{"task": i, "trial": j, "success": True} for i in range(12) for j in range(3)]
    (tmp_path / "a.json").write_text(json.dumps({"results": {"runs": rows}, "version": 3}))
    told = refused("certify", tmp_path / "a.json", *DELTA, "--records", "results")
    assert "(--records results.runs)" in told
    (tmp_path / "b.json").write_text(json.dumps({"train": rows, "test": rows}))
    assert "one of their lists by records (--records): train, test" in refused("certify", tmp_path / "b.json", *DELTA)


def test_labels_of_several_parts(tmp_path):
    rows = [(a, b, i, (a + b + i) % 3 > 0) for a in range(3) for b in range(3) for i in range(4)]
    file = table(tmp_path / "r.csv", "layout,style,trial,success", rows)
    assert "9 tasks from layout,style" in said("certify", file, *DELTA, "--suite", "--mean", "--task", "layout,style")


def test_a_column_of_failures_is_no_success(tmp_path):
    file = table(tmp_path / "r.csv", "task,trial,failed", [(t, i, WORDS[i > 2]) for t in range(5) for i in range(4)])
    assert "is named after failures, not successes" in refused("certify", file, *DELTA, "--mean", "--value", "failed")
