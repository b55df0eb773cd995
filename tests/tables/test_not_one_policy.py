"""Tables that would be taken for trials of one policy, and ways of reading that choose rows by their outcome."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_harness import command, refused

ASK = ("--threshold", 0.5, "--delta", 0.1)


def written(path, **columns):
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def task_and_trial(num_tasks=40, num_trials=5):
    return {
        "task": [f"t{i // num_trials:03}x" for i in range(num_tasks * num_trials)],
        "trial": np.tile(np.arange(num_trials), num_tasks),
    }


@pytest.mark.parametrize("name", ["policy", "arm", "checkpoint", "model_name", "agent"])
def test_policies_on_tasks_of_their_own_are_asked_about(tmp_path, name):
    rows = task_and_trial()
    which = np.repeat(np.arange(40) % 4 > 0, 5)
    path = written(tmp_path / "t.csv", **rows, **{name: np.where(which, "a", "b")}, success=which)
    assert f"differ in column '{name}'" in command("certify", path, *ASK).err
    assert f"differ in column '{name}'" in refused("certify", path, *ASK, "--strict")
    assert command("certify", path, *ASK, "--strict", "--where", f"{name} = a").status == 0


@pytest.mark.parametrize(
    "name", ["version", "method", "control_mode", "object_model", "num_steps", "ref_policy", "agent_start_x"]
)
def test_what_tasks_have_of_their_own_is_no_policy(tmp_path, name):
    rows = task_and_trial()
    path = written(tmp_path / "t.csv", **rows, **{name: np.repeat(np.arange(40) % 4, 5)}, success=True)
    assert command("certify", path, *ASK, "--strict").status == 0


@pytest.mark.parametrize("name", ["noise_seed", "group_size", "control_effort", "model_calls", "policy_loss"])
def test_what_is_measured_of_a_trial_is_no_policy(tmp_path, name):
    path = written(tmp_path / "t.csv", **task_and_trial(), **{name: np.arange(200) % 7}, success=True)
    assert command("certify", path, *ASK, "--strict").status == 0


def test_groups_of_tasks_are_no_policies(tmp_path):
    rows = task_and_trial()
    path = written(tmp_path / "t.csv", **rows, category=np.repeat(np.arange(40) % 4, 5), success=True)
    assert command("certify", path, *ASK, "--strict").status == 0


def test_rows_are_not_chosen_by_how_they_ended(tmp_path):
    rng = np.random.default_rng(0)
    won = rng.random(200) < 0.4
    rows = {**task_and_trial(), "success": won, "status": np.where(won, "ok", "crashed"), "copy": won.astype(int)}
    path = written(tmp_path / "t.csv", **rows)
    plain = command("certify", path, *ASK)
    assert plain.status == 0
    assert "--where" not in plain.err
    for condition in ("status = ok", "status != crashed"):
        assert "not chosen by their outcome" in refused("certify", path, *ASK, "--where", condition)
    joint = ("--where", "status = ok", "--where", "trial != 4")
    assert "not chosen by their outcome" in refused("certify", path, *ASK, *joint)
    assert "not chosen by their outcome" in refused("certify", path, *ASK, "--policy", "status", "--only", "ok")
    assert "not chosen by their outcome" in refused("certify", path, *ASK, "--by", "status")
    assert "leaves out trials that all went badly" in command("certify", path, *ASK, "--where", "copy = 1").err
    some = np.where(won | (np.arange(200) % 3 == 0), "ok", "lost")
    timeouts = written(tmp_path / "u.csv", **{**rows, "status": some})
    assert "leaves out trials that all went badly" in command("certify", timeouts, *ASK, "--where", "status = ok").err


@pytest.mark.parametrize("name", ["failure_category", "arm_status", "agent_state", "model_output", "stop_condition"])
def test_no_hint_chooses_rows_by_how_they_ended(tmp_path, name):
    won = np.random.default_rng(0).random(200) < 0.5
    path = written(tmp_path / "t.csv", **task_and_trial(), success=won, **{name: np.where(won, "right", "fall")})
    assert "--where" not in command("certify", path, *ASK).err


def test_rows_of_another_measure_are_left_out(tmp_path):
    """Numbers of another kind are larger throughout, which says nothing of how trials ended."""
    rows = task_and_trial()
    both = pd.concat(
        [
            pd.DataFrame({**rows, "metric": "return", "value": 200.0}),
            pd.DataFrame({**rows, "metric": "success", "value": 1}),
        ]
    )
    both.to_csv(tmp_path / "t.csv", index=False)
    assert command("certify", tmp_path / "t.csv", *ASK, "--value", "value", "--where", "metric = success").status == 0


@pytest.mark.parametrize(
    "stem", ["policy{}", "ckpt_{}00", "arm{}_success", "agent{}", "epoch{}", "step_{}", "noise{}", "pass@{}"]
)
def test_columns_of_several_policies_are_no_trials(tmp_path, stem):
    names = [stem.format(i) for i in (1, 2, 3)]
    path = written(tmp_path / "t.csv", task=np.arange(30), **dict.fromkeys(names, True))
    assert "--value" not in refused("certify", path, *ASK)
    assert "no trials of one" in refused("certify", path, *ASK, "--value", ",".join(names))


def test_columns_of_several_trials_are(tmp_path):
    path = written(tmp_path / "t.csv", task=np.arange(30), **{f"try{i}": True for i in range(3)})
    assert command("certify", path, *ASK, "--value", "try0,try1,try2").status == 0


@pytest.mark.parametrize("name", ["ckpt", "noise", "version", "temperature"])
def test_conditions_that_are_numbers_are_conditions(tmp_path, name):
    rows = task_and_trial(20, 6)
    path = written(tmp_path / "t.csv", **rows, **{name: np.tile([0, 1, 2, 0, 1, 2], 20)}, success=True)
    assert f"differ in column '{name}'" in refused("certify", path, *ASK)


@pytest.mark.parametrize("label", ["TOTAL", "average", "Mean", "Grand total", "Total:"])
def test_a_row_that_sums_up_others_is_no_task(tmp_path, label):
    path = written(tmp_path / "t.csv", task=[*(f"t{i}x" for i in range(30)), label], success=[*["pass"] * 30, "30/30"])
    assert f"ends with the entry '{label}'" in refused("certify", path, *ASK)
    assert command("certify", path, *ASK, "--where", f"task != {label}").status == 0


@pytest.mark.parametrize("label", ["mean", "mean_field", "total_variation"])
def test_a_task_may_have_the_name_of_a_mean(tmp_path, label):
    path = written(tmp_path / "t.csv", task=[label, *(f"t{i}x" for i in range(30))], success=True)
    assert command("certify", path, *ASK, "--strict").status == 0


def test_rows_that_stand_for_several_trials_are_told(tmp_path):
    path = written(tmp_path / "t.csv", task=np.arange(30), success=True, count=7)
    assert "column 'count' is not read" in command("certify", path, *ASK).err
    assert "column 'count' is not read" in refused("certify", path, *ASK, "--strict")


@pytest.mark.parametrize(
    "name",
    ["opponent_score", "expected_outcome", "success_threshold", "pass@5", "pass_at_10", "best_return", "any_success"]
    + ["return_code", "reward_hacking", "success_so_far", "pass^5", "demo_success"],
)
def test_what_is_no_outcome_is_not_proposed_as_one(tmp_path, name):
    path = written(tmp_path / "t.csv", task=np.arange(30), **{name: 1})
    assert f"--value '{name}'" not in refused("certify", path, *ASK).replace(f"--value {name}", f"--value '{name}'")


@pytest.mark.parametrize(
    "name", ["goal_reached", "curriculum_level", "task_duration", "train_env", "env_idx", "task_success"]
)
def test_what_is_no_task_is_not_proposed_as_one(tmp_path, name):
    path = written(tmp_path / "t.csv", **{name: np.arange(30)}, success=True)
    assert f"--task {name}" not in refused("certify", path, *ASK)


# --- folders of Parquet files ---------------------------------------------------------------------------------------


def parts(folder, *tables):
    folder.mkdir()
    for i, columns in enumerate(tables):
        pq.write_table(pa.table(columns), folder / f"{i}.parquet")
    return folder


def rows_of(**more):
    return {"task": np.repeat(np.arange(30), 20), "success": np.tile(np.arange(20) < 14, 30), **more}


@pytest.mark.parametrize(
    ("name", "entries"),
    [
        ("arm", np.tile(np.where(np.arange(20) < 14, "clean", "perturbed"), 30)),
        ("global_step", np.tile(np.arange(20), 30)),
    ],
)
def test_a_folder_is_of_one_policy(tmp_path, name, entries):
    folder = parts(tmp_path / "mixed", rows_of(**{name: entries}))
    assert f"differ in column '{name}'" in refused("certify", folder, *ASK)
    single = parts(tmp_path / "single", rows_of(**{name: np.repeat(entries[:1], 600)}))
    assert command("certify", single, *ASK).status == 0
    two = [rows_of(**{name: np.repeat(entries[i : i + 1], 600)}) for i in (0, 19)]
    assert "expected, as in the first file" in refused("certify", parts(tmp_path / "two", *two), *ASK)


def test_a_folder_has_what_tasks_and_trials_have(tmp_path):
    more = {"num_steps": np.arange(600) % 90, "version": np.repeat(np.arange(30) % 3, 20), "model": [None] * 600}
    more |= {"agent": pa.array([{"x": 1}] * 600), "model_latency": np.arange(600.0)}
    folder = parts(tmp_path / "more", rows_of(**more), rows_of(part=np.ones(600)))
    assert command("certify", folder, *ASK).status == 0


@pytest.mark.parametrize("name", ["condition", "perturbation", "noise", "prompt", "group"])
def test_a_folder_pools_no_conditions(tmp_path, name):
    folder = parts(tmp_path / "mixed", rows_of(**{name: np.arange(600) % 2}))
    assert f"differ in column '{name}'" in refused("certify", folder, *ASK)


def test_partitions_of_policies_are_not_pooled(tmp_path):
    for name in "AB":
        folder = tmp_path / "runs" / f"policy={name}"
        folder.parent.mkdir(exist_ok=True)
        parts(folder, {"task": np.repeat(np.arange(30), 20), "success": np.arange(600) % 3 > (name == "A")})
    assert "which across may not name" in refused("certify", tmp_path / "runs", *ASK, "--across", "policy")
    assert command("certify", tmp_path / "runs" / "policy=A", *ASK).status == 0


def test_a_folder_says_what_it_cannot_read(tmp_path):
    twice = pa.table([*rows_of().values(), ["a"] * 600, ["b"] * 600], names=["task", "success", "model", "model"])
    (tmp_path / "twice").mkdir()
    pq.write_table(twice, tmp_path / "twice" / "0.parquet")
    assert command("certify", tmp_path / "twice", *ASK).status == 0
    folder = parts(tmp_path / "damaged", rows_of(model=np.repeat([f"m{i}" for i in range(600)], 1)))
    file = folder / "0.parquet"
    content = bytearray(file.read_bytes())
    place = content.index(b"m0")
    content[place : place + 400] = bytes(400)
    file.write_bytes(content)
    assert refused("certify", folder, *ASK)


def test_a_task_in_a_partition_has_one_policy(tmp_path):
    for task in range(12):
        folder = tmp_path / "runs" / f"task={task}"
        folder.parent.mkdir(exist_ok=True)
        parts(folder, {"success": np.ones(6, bool), "policy": ["a", "b"] * 3})
    assert "differ in column 'policy'" in refused("certify", tmp_path / "runs", *ASK)
