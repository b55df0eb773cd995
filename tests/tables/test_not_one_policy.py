"""Tables that would be taken for trials of one policy, and ways of reading that choose rows by their outcome."""

import functools
import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_harness import command, refused, session
from saved_files import check_said

from jaxcert.tables import from_frame, read_returns, read_summary

ASK = ("--threshold", 0.5, "--delta", 0.1)


def written(path, **columns):
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def task_and_trial(num_tasks=40, num_trials=5):
    return {
        "task": [f"t{i // num_trials:03}x" for i in range(num_tasks * num_trials)],
        "trial": np.tile(np.arange(num_trials), num_tasks),
    }


TASK, TRIAL = np.repeat(np.arange(40), 5), np.tile(np.arange(5), 40)
KITCHENS = [f"open the {'left' if i % 20 < 10 else 'right'} drawer of kitchen {i // 20}" for i in range(200)]
OWN = "policies of their own tasks are named as not read, and so are counts of attempts"
# Columns beside tasks and trials: their names, their entries, and what is said of them; what is asked is in brackets.
BESIDE = [
    ("version control_mode object_model num_steps ref_policy agent_start_x category", TASK % 4, ""),
    ("noise_seed group_size control_effort model_calls policy_loss", np.arange(200) % 7, ""),
    ("prompt", [f"do {task}" for task in TASK], ""),
    ("prompt", KITCHENS, ""),
    ("date", [f"2026-04-0{trial + 1}" for trial in TRIAL], ""),
    ("policy", np.where(TASK < 20, "human", "pi0"), OWN),
    ("policy", np.where(TASK < 20, "ok", "finish"), OWN),
    ("policy", np.where(TASK < 20, "{a}", "{b}"), OWN),
    ("policy arm checkpoint model_name agent method system approach_id system_prompt", np.where(TASK % 4, *"ab"), OWN),
    ("policy_a policy_version checkpoint_path agent.agent_name modelName", np.where(TASK % 2, *"ab"), OWN),
    ("ckpt noise version temperature checkpoint_steps", TRIAL % 3, "rows of the same task differ in column '{}'"),
    ("filter", np.where(TRIAL % 2, "flexible", "strict"), "of one of them (--where, --policy)"),
    ("model_size num_epochs temp is_ours", TRIAL * 10, "(of few entries)"),
    ("policy_seed training_seed", TRIAL * 10, "(seeds of a policy or of its training)"),
    ("count cnt multiplicity occurrences n_rows #", 7, ""),
    ("#", np.arange(200), ""),
    ("#", TRIAL, ""),
    ("best_of attempts num_tries max_attempts retries majority_of reruns n_samples num_candidates k", 3, OWN),
]


@pytest.mark.parametrize(("names", "entries", "said"), BESIDE, ids=lambda each: each if isinstance(each, str) else "")
def test_a_column_beside_tasks_and_trials(names, entries, said):
    for name in names.split():
        table = {**task_and_trial(), name: entries, "success": np.arange(200) % 7 > 1}
        table |= {"trial": np.arange(200)} if "few entries" in said else {}
        if said != OWN:
            check_said(said.format(name), functools.partial(from_frame, pd.DataFrame(table)))
            continue
        told = from_frame(pd.DataFrame(table), strict=True)
        assert name in "|".join([*told.unread, *told.constant])


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


STEMS = ("policy{}", "ckpt_{}00", "arm{}_success", "agent{}", "epoch{}", "step_{}", "noise{}", "pass@{}")
NUMBERED = [",".join(stem.format(i) for i in (1, 2, 3)) for stem in STEMS]
# Columns as trials of their rows: those of several policies are none, those that may be versions are asked about.
WIDE = [
    *((names, "no trials of one") for names in NUMBERED),
    *((names, "no trials of one") for names in ("pi0,OpenVLA,ACT", "score_a,score_b", "max_success,mean_success")),
    *((names, "no trials of one") for names in ("ep100,ep200", "100,200,300", "k1,k5", "temp0.0,temp0.7")),
    *((names, "(several policies, versions)") for names in ("v1,v2", "gpt3,gpt4", "pi0,pi1")),
    ("try0,try1,try2", ""),
]


@pytest.mark.parametrize(("names", "said"), WIDE)
def test_columns_that_are_trials_and_those_of_several_policies(tmp_path, names, said):
    path = written(tmp_path / "t.csv", task=np.arange(30), **dict.fromkeys(names.split(","), True))
    assert names not in refused("certify", path, *ASK)  # nothing is proposed that a name does not say
    check_said(said, functools.partial(read_returns, path, value=names))


def test_labels_of_rows_of_an_array_that_repeat_are_asked_about(tmp_path):
    path, labels = tmp_path / "r.npz", np.asarray([f"w{i % 10}" for i in range(20)])
    np.savez(path, returns=np.full((20, 5), 0.5), tasks=labels)
    with pytest.warns(UserWarning, match="array 'tasks' has 10 labels for 20 rows of returns"):
        read_returns(path)
    for name, array in (("tasks", np.arange(20)), ("level", labels), ("task", np.arange(20) // 2 / 7)):
        np.savez(path, returns=np.full((20, 5), 0.5), **{name: array})
        read_returns(path)


# --- what is proposed, and what is not --------------------------------------------------------------------------------


def of(names, rows, **more):
    return dict(zip(names.split(","), zip(*rows, strict=True), strict=True)) | more


def grouped(*, is_before, is_grand):
    """Counts of the tasks of two rooms, with those of each room, and of both."""
    rng, rows = np.random.default_rng(0), []
    for room in "ab":
        group = [(f"{room}{i}x", int(rng.integers(3, 9)), 10) for i in range(15)]
        total = (room, sum(each[1] for each in group), 150)
        rows += [total, *group] if is_before else [*group, total]
    grand = [("rooms", *np.sum([each[1:] for each in rows if len(each[0]) > 1], axis=0))] * is_grand
    return of("task,successes,trials", [*grand, *rows] if is_before else [*rows, *grand])


RNG = np.random.default_rng(0)
HALF, SHORT = RNG.random(200) < 0.5, task_and_trial(30, 3)
LOST = SHORT["trial"] == 2
ENDED = SHORT | {"success": ~LOST}
ENDS = [("ok", "crashed"), ("done", "aborted"), ("finished", "timed out")]
IN_ANY = ("condition", "group", "setting", "variant", "suite", "robot_condition", "domain")
UNKNOWN = ("my score", "demo", "goal_reached", "lr", "pass@5", "task_duration")
PEOPLE = [(f"t{i}x", who, trial, 1) for i in range(10) for who in "abcd" for trial in range(3)]
SUITES = [(s, i, j, i + j > 2) for s in ("goal", "object") for i in range(10) for j in range(5)]
ARMS_AND_ALL = [(who, f"t{i}x", 1) for who in ("a", "b", "Average") for i in range(30)]
SCENES = {"task": [*"abcabd"], "trial": 0, "success": [True, True, True, True, True, False]}
# A table, and a session about it: no rows are chosen by their outcome, and no column is proposed for a role.
HINTS = [
    *(
        (
            ENDED | {x: np.where(LOST, lost, ok)},
            f"""
        ASK --where '{x} = {ok}' => not chosen by their outcome
        ASK --by {x} => not chosen by their outcome
        """,
        )
        for x in IN_ANY
        for ok, lost in ENDS
    ),
    *(
        (ENDED | {x: np.where(LOST, 57, 200)}, f"ASK --strict --where '{x} = 200' => all went badly")
        for x in ("last_step", "iteration")
    ),
    *(
        (
            task_and_trial() | {"pi0": (RNG.random(200) < 0.9) * 1, x: (RNG.random(200) < 0.2) * 1},
            f"ASK --value pi0 => differ in column '{x}'",
        )
        for x in ("diffusion policy", "baseline")
    ),
    *(({"task": np.arange(30), x: 1}, f"ASK => !--value '{x}' | !--value {x} | by name") for x in UNKNOWN),
    *(({x: np.arange(30), "success": True}, f"ASK => !--task {x} | by name") for x in UNKNOWN),
    *(({"task": SHORT["task"], x: SHORT["trial"], "success": True}, f"ASK => !--trial {x}") for x in UNKNOWN),
    (of("task,operator,trial,success", PEOPLE), "ASK => operator, of which each task has every entry"),
    # Names of tasks that occur in each suite may be of the same tasks, under other conditions.
    (of("suite,task_id,episode,success", SUITES), "ASK => in column 'suite' | both columns as task"),
    (of("policy,task,success", ARMS_AND_ALL), "compare t.csv --policy policy --delta 0.1 => holds the entry 'Average'"),
    (
        {"task": [*"abcdef"], "pass_rate": [0.8, 1, 0.4, 1, 1, 0.2], "n": 10},
        "ASK => if each row is a task of one policy, and says how often the task was tried, and no number of tests",
    ),
    (SCENES | {"scene": [*"xxxyyy"]}, "ASK => both as task, where the other numbers tasks of its own (--task)"),
    (grouped(is_before=True, is_grand=False), "ASK ~> rows 1, 17 have the successes and trials of"),
    (grouped(is_before=False, is_grand=False), "ASK ~> rows 16, 32 have the successes and trials of"),
    *((grouped(is_before=x, is_grand=True), "ASK => those of all other rows together") for x in (True, False)),
]


@pytest.mark.parametrize(("columns", "script"), HINTS)
def test_what_is_said_of_a_table(there, columns, script):
    written("t.csv", **columns)
    session(script, ASK="certify t.csv --threshold 0.5 --delta 0.1")


# --- folders of Parquet files ---------------------------------------------------------------------------------------


def parts(folder, *tables):
    folder.mkdir()
    for i, columns in enumerate(tables):
        pq.write_table(pa.table(columns), folder / f"{i}.parquet")
    return folder


def rows_of(**more):
    return {"task": np.repeat(np.arange(30), 20), "success": np.tile(np.arange(20) < 14, 30), **more}


OF_TASKS, OF_TRIALS = np.repeat(np.arange(30), 20), np.tile(np.arange(20), 30)
ARMS, STEPS = np.tile(np.where(np.arange(20) < 14, "clean", "perturbed"), 30), OF_TRIALS
ALIKE = {"num_steps": np.arange(600) % 90, "version": OF_TASKS % 3, "model": [None] * 600}
ALIKE |= {"agent": pa.array([{"x": 1}] * 600), "model_latency": np.arange(600.0)}
ANOTHER = "expected, as in the first file"
CONDITIONS = ("condition", "perturbation", "noise", "prompt", "group")
HELPED = [pa.array([x, *[type(x or 1.0)(1)] * 599]) for x in (np.nan, None, np.float16("nan"))]
# What the files of a folder hold beside tasks and successes, and what is said of it.
FOLDERS = [
    *(([{name: entries}], f"differ in column '{name}'") for name, entries in (("arm", ARMS), ("global_step", STEPS))),
    *(([{name: np.repeat(entries[:1], 600)}], "") for name, entries in (("arm", ARMS), ("global_step", STEPS))),
    *(([{n: np.repeat(x[i], 600)} for i in (0, 19)], ANOTHER) for n, x in (("arm", ARMS), ("global_step", STEPS))),
    *(([{n: [i] * 600} for i in range(2)], f"differ in column '{n}'") for n in ("condition", "noise")),
    ([{"condition": OF_TASKS // 10, "time": [i + 0.5] * 600} for i in range(2)], ""),
    ([{"model": OF_TASKS // 10, "task": OF_TASKS + 30 * i} for i in range(2)], ""),
    ([{"model": [i] * 600, "task": OF_TASKS + 30 * i} for i in range(2)], ANOTHER),
    # The smallest and the largest number of a column are the same, and not all of its entries.
    *(([{"human": x}], "column 'human' sets trials aside") for x in HELPED),
    ([{"train_iter": OF_TASKS}], "rows differ in column 'train_iter'"),
    ([{"num_env_steps": OF_TASKS}], ""),
    ([ALIKE], ""),
    *(([{}, {n: ["y"] * 600}], f"has other columns than the first file, {n}") for n in ("agent", "policy", "zz")),
    *(([{"policy": pa.nulls(600, kind)}, {"policy": ["y"] * 600}], ANOTHER) for kind in (pa.string(), pa.null())),
    *(([{name: np.arange(600) % 2}], f"differ in column '{name}'") for name in CONDITIONS),
]


@pytest.mark.parametrize(("files", "said"), FOLDERS)
def test_what_is_said_of_a_folder(tmp_path, files, said):
    folder = parts(tmp_path / "runs", *(rows_of(**more) for more in files))
    check_said(said, functools.partial(read_summary, folder))


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


def test_every_column_that_is_not_read_is_named_if_rows_differ_in_it(tmp_path):
    """Neither a planner on tasks of its own nor help under another name can be seen in entries: the reader is told."""
    rng, n, m = np.random.default_rng(0), 20, 4
    frame = pd.DataFrame({"task": [f"t{i}x" for i in range(n) for _ in range(m)], "success": rng.random(n * m) < 0.8})
    others = {
        "planner": np.repeat(["rrt", "prm"], n * m // 2),
        "touched": rng.random(n * m) < 0.2,
        "policy_loss": rng.random(n * m),
        "env_frames": rng.permutation(n * m),
        "video": [f"v/{i}.mp4" for i in range(n * m)],
        "extra": [{"lr": i % 3, "site": "lab"} for i in range(n * m)],
    }
    frame = frame.assign(**others, aggregation="any of 5")
    named = (*[*others][:-1], "extra.lr")
    assert {*from_frame(frame, trial=None).unread} == {*named}
    path = recipe_and(tmp_path, frame)
    assert {*read_returns(path, recipe=tmp_path / "r.toml").unread} == {*named}
    told = command("certify", path, "--recipe", tmp_path / "r.toml", "--sampled", *ASK).out
    _, unread, same = re.split("not read, (?:so all rows count as one policy|the same in all rows): ", told)
    assert {*unread.strip().split(", ")} == {*named}
    assert {*same.split("\n")[0].split(", ")} == {"aggregation any of 5", "extra.site lab"}


def recipe_and(folder, frame):
    """The records of a frame in a file, and a recipe for it."""
    (folder / "r.toml").write_text(
        'name = "my log"\nrecords = "runs.*"\ntask = "at.task"\nvalues = { success = "success" }\n'
    )
    records = [{"at": {"task": each.pop("task")}, **each} for each in json.loads(frame.to_json(orient="records"))]
    (folder / "r.json").write_text(json.dumps({"runs": records}))
    return folder / "r.json"


@pytest.mark.parametrize("num_trials", [1, 4])
@pytest.mark.parametrize(
    ("name", "is_sorted"),
    [("global_step", False), ("training_iteration", False), ("ppo_update", True), ("iteration", True)]
    + [("step", True), ("timesteps", True), ("num_env_steps", True), ("total_timesteps", True)],
)
def test_a_log_of_training_is_refused_where_no_moment_repeats(tmp_path, name, is_sorted, num_trials):
    rng = np.random.default_rng(0)
    moments = np.cumsum(rng.integers(100, 900, 60))
    rows = {"task": [f"t{i // num_trials}x" for i in range(60)], "success": np.arange(60) % 7 > 1}
    for each in (moments, np.arange(60) * 2048, rng.permutation(60)) if is_sorted else (rng.permutation(moments),):
        frame = pd.DataFrame(rows | {name: each})
        with pytest.raises(ValueError, match=f"column '{name}'"):
            from_frame(frame, trial=None)
        path = recipe_and(tmp_path, frame)
        with pytest.raises(ValueError, match=name) as error:
            read_returns(path, recipe=tmp_path / "r.toml")
        assert "--where" not in str(error.value)
    # The same moment in all rows; and lengths of episodes, or what a planner took.
    assert from_frame(pd.DataFrame(rows | {name: 1_000_000}), trial=None).unread == ()
    if is_sorted:
        assert from_frame(pd.DataFrame(rows | {name: rng.permutation(moments)}), trial=None).unread == (name,)


def test_records_of_a_recipe_are_looked_at_as_rows_of_a_table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"task": np.repeat(np.arange(20), 4), "success": rng.random(80) < 0.8, "place": ["x"] * 80})
    path, recipe = recipe_and(tmp_path, frame), tmp_path / "r.toml"
    assert read_returns(path, recipe=recipe).unread == ()
    assert read_returns(path, recipe=recipe).constant == {"place": "x"}
    recipe_and(tmp_path, frame.assign(human=rng.random(80) < 0.3))
    with pytest.warns(UserWarning, match=r"column 'human' sets [0-9]+ of 80 trials aside"):
        read_returns(path, recipe=recipe)
    recipe_and(tmp_path, frame.assign(mode=["left", "right"] * 40))
    with pytest.warns(UserWarning, match="differ in column 'mode', of few entries: .* of one of them$"):
        read_returns(path, recipe=recipe)
    recipe_and(tmp_path, frame.assign(condition=["left", "right"] * 40))
    with pytest.raises(ValueError, match="differ in column 'condition'"):
        read_returns(path, recipe=recipe)


def test_columns_of_a_folder_are_named(tmp_path):
    frame = pd.DataFrame({**task_and_trial(), "success": np.arange(200) % 4 > 0, "nudges": 1})
    (tmp_path / "runs").mkdir()
    frame.drop(columns="trial").to_parquet(tmp_path / "runs" / "part.parquet")
    assert read_summary(tmp_path / "runs").unread == ("nudges",)
    assert "all rows count as one policy: nudges\n" in command("certify", tmp_path / "runs", *ASK).out


def test_other_arrays_are_named_and_moments_of_training_refused(tmp_path):
    path, returns = tmp_path / "runs.npz", np.random.default_rng(0).random((30, 4))
    np.savez(path, returns=returns, intervention=returns > 0.5)
    with pytest.warns(UserWarning, match="column 'intervention' sets"):
        assert read_returns(path).unread == ("intervention",)
    np.savez(path, returns=returns, about="of May", net=np.arange(30) % 2, names=["ppo", "sac"] * 15)
    assert read_returns(path).unread == ("net", "names")
    np.savez(path, returns=returns, task_names=[f"{('ppo', 'sac')[i % 2]}/s{i}" for i in range(30)])
    with pytest.warns(UserWarning, match=TASKS_TELL):
        read_returns(path)
    np.savez(path, returns=returns, timesteps=np.arange(30) * 1000)
    with pytest.raises(ValueError, match="holds the array 'timesteps', as a learning curve does"):
        read_returns(path)


TASKS_TELL, TRIALS_TELL = (f"labels of {of} are such as .* if these tell policies" for of in ("tasks", "trials"))


@pytest.mark.parametrize(
    ("label", "trial", "message"),
    [
        ("ckpt_{0}", "{0}", "such as 'ckpt_0' and 'ckpt_5': if these tell policies, conditions, moments"),
        *((label, "{0}", TASKS_TELL) for label in ("seed{0}", "step {0}", "{0}000", "{0}k", "mug{1}_trial{0}")),
        *(
            (label, "{0}", TASKS_TELL)
            for label in ("mug #{0}|cup #{0}", "mug_demo_{0}|cup_demo_{0}", "mug_seedA|mug_seedB|cup_seedA|cup_seedB")
        ),
        *(
            (label, "{0}", TASKS_TELL)
            for label in ("gpt-4o:HumanEval/{0}|claude-3:HumanEval/{0}", "policy=a {0}|policy=b {0}")
        ),
        *(
            ("{0}", trial, TRIALS_TELL)
            for trial in ("gpt4o-run{0}|o3-run{0}", "gpt4o-run{0}|claude-run{0}", "exp1_seed{0}|exp2_seed{0}")
        ),
        *(
            ("{0}", trial, TRIALS_TELL)
            for trial in ("ckpt_{0}", "policy{0}", "{0}000", "epoch_{0}", "eval@{0}00k", "model_{0}000.pt")
        ),
        *((label, "{0}", "") for label in ("1.{0}", "403e66{0}", "{0:03}", "pick-v{0}", "task1{0}|task1{0}0", "{0}0")),
        *((label, "{0}", "") for label in ("arm_reach_{0}", "step_stool_{0}", "{0}", "8f3a9{0}", "os/8f3a9{0}")),
        *((label, "{0}", "") for label in ("2026-01-0{0}", "mug_object0{0}")),
        *((x, "{0}", TASKS_TELL) for x in ("it{0}", "0.{0}M frames", "1{0}e5", "{0}00_000", "lr={0}e-4", "1{0}000.0")),
        *((x, "{0}", TASKS_TELL) for x in ("dagger_iter_{0}", "last-v{0}.ckpt", "actor_{0}.onnx", "llama-{0}b")),
        *((x, "{0}", TASKS_TELL) for x in ("after {0} episodes", "{0}B tokens", "{0} demos", "update_{0}")),
        *(("{0}", x, TRIALS_TELL) for x in ("lr=0.{0}", "config{0}", "prompt_{0}", "human_demo_{0}", "net{0}")),
        *(("{0}", x, "") for x in ("run_{0}", "seed={0}", "take {0}", "Trial {0}", "run-7f3a2{0}")),
        ("{0}", "gpu1-{0}|gpu2-{0}", ""),
    ],
)
def test_labels_that_name_more_than_tasks_and_trials(label, trial, message):
    """Not sections, hexadecimal numbers, leading zeros, days, and where trials ran: of these nothing is asked."""
    tasks = dict.fromkeys(each.format(i, i // 3) for i in range(6) for each in label.split("|"))
    rows = [(task, each.format(j)) for task in tasks for j in range(6) for each in trial.split("|")]
    frame = pd.DataFrame(rows, columns=["task", "trial"])
    frame["success"] = np.random.default_rng(0).random(len(rows)) < 0.7
    if not message:
        assert len(from_frame(frame, trial="trial", strict=True).tasks) == len(tasks)
        return
    with pytest.warns(UserWarning, match=message):
        from_frame(frame, trial="trial")


def test_columns_that_occur_twice_or_have_no_name_are_named(tmp_path):
    """But for blank ones that a spreadsheet leaves."""
    path = tmp_path / "r.csv"
    rows = "".join(f"t{i}x,{j},1,,net{i % 3},a,b\n" for i in range(6) for j in range(4))
    path.write_text(f"task,trial,success,,,policy,policy\n{rows}")
    assert read_returns(path).unread == ("column 5", "policy")
    assert read_returns(path).constant == {"column 4": ""}
    pq.write_table(pa.table([["a", "b"], [1, 0], [1, 2]], names=["task", "success", ""]), tmp_path / "r.parquet")
    assert read_returns(tmp_path / "r.parquet", trial=None).unread == ("column 3",)


@pytest.mark.parametrize("name", ["reward_model", "passed_by", "outcome_by", "eval.result_dir"])
def test_what_stands_around_records_is_named_though_it_is_called_after_outcomes(tmp_path, name):
    first, *inner = name.split(".")
    tasks = {f"s{i}x": {first: {inner[0]: f"m{i % 2}"} if inner else f"m{i % 2}", "trials": [1, 0]} for i in range(9)}
    (tmp_path / "r.json").write_text(json.dumps({"success_rule": "any of 5", "tasks": tasks}))
    data = read_returns(tmp_path / "r.json", records="tasks.*.trials.*", task="$1", trial="$2", value="outcome")
    assert data.unread == (f"$1.{name}",)
    assert data.constant == {"$0.success_rule": "any of 5"}


def test_what_is_long_is_compared_whole(tmp_path):
    """As options of a command around the records, and objects of many fields."""
    long = (
        [["x" * 300, f"net={i % 2}"] for i in range(9)],
        [{f"k{j}": 1 for j in range(45)} | {"n": i} for i in range(9)],
    )
    for around in long:
        tasks = {f"s{i}x": {"held": around[i], "trials": [{"success": 1}]} for i in range(9)}
        (tmp_path / "r.json").write_text(json.dumps(tasks))
        assert read_returns(tmp_path / "r.json", records="*.trials", task="$1", trial=None).unread == ("held",)


def test_objects_without_fields_do_not_hide_those_of_others(tmp_path):
    objects = [{}] + [{"net": f"n{i % 2}"} for i in range(7)]
    path = recipe_and(tmp_path, pd.DataFrame({"task": [*"aabbccdd"], "success": [True] * 8, "extra": objects}))
    assert read_returns(path, recipe=tmp_path / "r.toml").unread == ("extra", "extra.net")


def test_names_and_entries_stand_on_one_line(tmp_path):
    """A line of its own, or a code for the terminal, might read as a certificate or hide the name."""
    frame = pd.DataFrame(
        {**task_and_trial(), "success": True, "note": "x\nWith confidence 1: all.", "a\x1b[2K": range(200)}
    )
    frame.to_json(tmp_path / "r.jsonl", orient="records", lines=True)
    told = command("certify", tmp_path / "r.jsonl", *ASK).out
    assert "one policy: a?[2K\n" in told
    assert "all rows: note x?With confidence 1: all.\n" in told


def test_all_names_are_listed(tmp_path):
    many = {f"c{i:03d}": range(i, i + 200) for i in range(60)} | {f"k{i:03d}": i for i in range(60)}
    pd.DataFrame({**task_and_trial(), "success": True, **many}).to_csv(tmp_path / "r.csv", index=False)
    told = command("certify", tmp_path / "r.csv", *ASK).out
    assert all(name in told for name in many)


@pytest.mark.parametrize("returns", [(20, 5), (5, 20), (5, 5)])
@pytest.mark.parametrize("name", ["task_names", "tasks", "env_ids"])
def test_labels_of_tasks_belong_to_rows_of_returns(tmp_path, returns, name):
    labels = np.asarray([f"t{i}x" for i in range(5 if returns == (5, 5) else 20)])
    np.savez(tmp_path / "r.npz", returns=np.random.default_rng(0).random(returns), **{name: labels})
    if returns != (5, 20):
        assert read_returns(tmp_path / "r.npz", strict=True).returns.shape == returns
    else:
        with pytest.raises(ValueError, match="each row of returns is read as a task; if the columns are tasks"):
            read_returns(tmp_path / "r.npz", strict=True)
    np.savez(tmp_path / "r.npz", returns=np.ones(returns), **{name: labels.astype(object)})
    assert read_returns(tmp_path / "r.npz", strict=True).unread == (name,)


@pytest.mark.parametrize("name", ["operator_took_over", "attempts_used", "is_real_world", "seen_object", "notes"])
def test_what_is_not_read_is_refused_in_strict_and_may_be_ignored_by_name(there, name):
    """No list of names is complete, so a strict reading takes no column that it does not understand."""
    for file, every in (("t.csv", 4), ("u.csv", 3)):
        rows = [f"t{i},{j},{(i + j) % every > 0:d},{(i * j + i) % 3}" for i in range(20) for j in range(4)]
        there.joinpath(file).write_text("\n".join([f"task,trial,success,{name}", *rows, ""]))
    session(f"""
        certify t.csv --threshold 0.5 --delta 0.1 -> With confidence
        certify t.csv --threshold 0.5 --delta 0.1 --strict => t.csv: not read: {name}, in which
        certify t.csv --threshold 0.5 --delta 0.1 --strict --ignore {name} -> With confidence
        compare t.csv u.csv --delta 0.1 --strict => t.csv: not read: {name}, in which
    """)


def test_arrays_with_plural_names_and_what_stands_at_the_top_of_a_file_are_looked_at(there):
    passed = np.random.default_rng(0).random((20, 8)) < 0.9
    for file, other in {
        "of_rows": {"policies": [f"ppo_{i}" for i in range(20)]},
        "of_columns": {"checkpoints": 1000 * np.arange(8)},
        "lengths": {"lengths": np.arange(20.0)},
    }.items():
        np.savez(f"{file}.npz", returns=passed, **other)
    records = [{"task": f"p{i}x", "success": i % 9 > 0} for i in range(40)]
    there.joinpath("inner.json").write_text(json.dumps({"config": {"best_of": 4}, "results": records}))
    run = {"noise": 0.1, "seeds": [1, 2], "of": {"k": {}}, "results": records, "score": 0.9}
    there.joinpath("run.json").write_text(json.dumps({"run": run}))
    asked = "--threshold 0.5 --delta 0.1"
    session(f"""
        certify of_rows.npz {asked} -> one policy: policies
        certify of_columns.npz {asked} => rows of the same task differ in column 'checkpoint'
        certify lengths.npz {asked} -> With confidence
        certify inner.json {asked} --records results --trial '' -> same in all rows: config.best_of 4
        certify run.json {asked} --records run.results --trial '' -> same in all rows: run.noise 0.1, run.seeds [1, 2]
    """)


def test_json_lines_hold_records_and_have_recipes(there):
    deep = [{"task": f"t{i}x", "trials": [{"ok": (i + j) % 5 > 0} for j in range(3)]} for i in range(30)]
    there.joinpath("deep.jsonl").write_text("\n".join(map(json.dumps, deep)))
    inner = [
        {"task": {"id": f"t{i}x"}, "trial": j, "end": {"ok": (i + j) % 5 > 0}} for i in range(30) for j in range(3)
    ]
    there.joinpath("inner.jsonl").write_text("\n".join(map(json.dumps, inner)))
    own = 'name = "mine"\nrecords = "*"\ntask = "task.id"\ntrial = "trial"\nvalues = { ok = "end.ok" }\n'
    there.joinpath("own.toml").write_text(own)
    asked, lines = "--threshold 0.5 --delta 0.1", "--records '*.trials' --trial '' --value ok"
    session(f"""
        certify deep.jsonl {asked} {lines} --strict --ignore '$1' -> 30 tasks, 3 rollouts each
        certify inner.jsonl {asked} --value end => holds lists, objects or several kinds of entries | --recipe
        certify inner.jsonl {asked} --sampled --recipe own.toml -> 30 tasks, 3 rollouts each
    """)
