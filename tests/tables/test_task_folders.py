"""Folders with a file per task: monitors and evaluations of Stable-Baselines3, by their published fields."""

import functools
import hashlib

import numpy as np
import pytest
from saved_files import check_said, refused
from tool_files import evaluations, monitor

from jaxcert.tables import read_returns

MONITORS = "{task}/monitor.csv"
EVALUATIONS = "{task}/evaluations.npz"


@pytest.fixture
def runs(tmp_path):
    folder = tmp_path / "runs"
    for task, returns in {"b": [1.5, 2.5], "a": [-3.25, 1e-3], "c d": [0, 7]}.items():
        monitor(folder / task / "monitor.csv", returns)
    return folder


def test_the_label_of_a_task_stands_in_the_path(runs):
    data = read_returns(runs, task=MONITORS)
    np.testing.assert_array_equal(data.returns, [[-3.25, 1e-3], [1.5, 2.5], [0, 7]])
    assert (data.tasks.tolist(), data.where) == (["a", "b", "c d"], None)
    assert data.told.startswith(
        "read as monitors of Stable-Baselines3: 3 files of 3 tasks, value r; a monitor of train"
    )
    assert (data.fixed_list, data.known_support) == (False, None)
    assert (data.columns, data.usual_columns) == ((MONITORS, None, "r"), ("", None, "r"))
    np.testing.assert_array_equal(read_returns(runs, **data.columns._asdict()).returns, data.returns)


def test_the_digest_is_of_the_list_that_sha256sum_writes(runs):
    names = ["a/monitor.csv", "b/monitor.csv", "c d/monitor.csv"]
    lines = [f"{hashlib.sha256((runs / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    digest = read_returns(runs, task=MONITORS).sha256
    assert digest == hashlib.sha256("".join(lines).encode()).hexdigest()
    (runs / "b").rename(runs / "bb")
    assert read_returns(runs, task=MONITORS).sha256 != digest


def test_several_files_of_a_task_are_its_rollouts(tmp_path):
    for seed in range(3):
        for task in range(2):
            monitor(tmp_path / f"env {task}" / f"seed_{seed}" / f"{seed}.monitor.csv", [seed + 10 * task])
    data = read_returns(tmp_path, task="env {task}/seed_*/*.monitor.csv")
    np.testing.assert_array_equal(data.returns, [[0, 1, 2], [10, 11, 12]])
    assert data.tasks.tolist() == ["0", "1"]
    (tmp_path / "env 1/seed_2/2.monitor.csv").unlink()
    with pytest.warns(UserWarning, match="1 of 2 tasks have fewer than 3 rollouts"):
        data = read_returns(tmp_path, task="env {task}/seed_*/*.monitor.csv")
    np.testing.assert_array_equal(data.where, [[True, True, True], [True, True, False]])


def test_monitors_of_training_runs_are_no_tasks(tmp_path):
    for seed, episodes in enumerate((5, 7, 6)):
        monitor(tmp_path / f"ppo_Ant_{seed}" / "monitor.csv", list(range(episodes)))
    refused(tmp_path, "holds monitors of 5 to 7 episodes", "runs are no tasks", task=MONITORS)


def test_what_begins_with_a_wildcard_fits_no_hidden_file_and_no_other_folder(runs):
    monitor(runs / ".trash" / "monitor.csv", [9])
    monitor(runs / "a" / "old" / "monitor.csv", [9])
    monitor(runs / "monitor.csv", [9])
    assert read_returns(runs, task=MONITORS).tasks.tolist() == ["a", "b", "c d"]
    assert read_returns(runs, task=".{task}/monitor.csv").tasks.tolist() == ["trash"]


def test_signs_of_patterns_and_expressions_are_themselves(tmp_path):
    """A bracket, a question mark and a dot are no wildcards."""
    monitor(tmp_path / "[ab]?x" / "monitor.csv", [1, 2])
    monitor(tmp_path / "a?x" / "monitor.csv", [3, 4])
    monitor(tmp_path / "ab.x" / "monitor.csv", [5, 6])
    assert read_returns(tmp_path, task="[ab]?{task}/monitor.csv").returns.tolist() == [[1, 2]]
    assert read_returns(tmp_path, task="{task}.x/monitor.csv").returns.tolist() == [[5, 6]]


NO_PATTERN = "the pattern of its files is {!r}; expected a path within it with {{task}} once"
NO_COLUMN = "is a directory, expected a file; or as task, which is {!r}, a path within it with {{task}} for the task"
NO_FOLDER = [
    *((task, NO_PATTERN) for task in ("a/monitor.csv", "{task}/{task}.csv", "/{task}.csv", "../{task}/m.csv")),
    ("{task}/**/m", NO_PATTERN),
    *((task, NO_COLUMN) for task in ("task", "world", "monitor.csv")),
    (EVALUATIONS, "has no file {!r}; expected one or several"),
    (
        "task_id",
        "is a directory, expected a file, or the pattern of its files (--task-from-path), such as",
    ),
]


@pytest.mark.parametrize(("task", "words"), NO_FOLDER)
def test_a_folder_has_no_columns_and_needs_a_pattern(runs, tmp_path, task, words):
    refused(runs, words.format(task), task=task)
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "is a directory, expected a file")


def test_one_monitor_is_one_task(runs):
    path = runs / "a" / "monitor.csv"
    refused(path, "holds the episodes of one environment, which are one task, and no sample of tasks")
    refused(
        path, "a file per task in a folder, whose paths name the tasks", "'{task}/monitor.csv' or '{task}.monitor.csv'"
    )
    refused(
        monitor(runs / "walk.monitor.csv", [1]), "(on the command line --task-from-path), such as '{task}/monitor.csv'"
    )


def test_what_else_a_monitor_logs_is_read_by_name(tmp_path):
    for task, solved in {"a": "True", "b": "False"}.items():
        monitor(tmp_path / task / "monitor.csv", [1, 2], columns="r,l,t,is_success", more=f",{solved}")
    data = read_returns(tmp_path, task=MONITORS, value="is_success")
    assert (data.returns.dtype, data.returns.tolist()) == (bool, [[True, True], [False, False]])
    refused(tmp_path, "has no column l; found 'r', 'is_success', '{task}'", task=MONITORS, value="l")


CHANGED = {
    "cut": ({"end": ""}, "its last line has no line ending, damaged or cut short"),
    "head": ({"head": '{"t_start": }'}, "Expecting value"),
    "names": ({"columns": "reward,l,t"}, "has the columns reward, l, t; expected r, l, t first, each once"),
    "twice": ({"columns": "r,l,t,r", "more": ",1"}, "has the columns r, l, t, r; expected"),
    "entries": ({"more": ",1"}, "Expected 3 columns, got 4"),
    "quote": ({"returns": ['"1', 2]}, "line 3: has a quote without another one"),
    "none": ({"returns": []}, "has no row; expected at least one trial"),
    "comma": ({"returns": [1, "1,5"]}, "cannot be read as CSV"),
    **{text: ({"returns": [1, text]}, "row 2: r is") for text in ("nan", "inf", "", "1_0")},
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_monitor_that_changed_is_refused_by_its_name(runs, name):
    changed, part = CHANGED[name]
    path = monitor(runs / "b" / "monitor.csv", **{"returns": [1, 2], **changed})
    refused(runs, part, at=path, task=MONITORS)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'#{"t_start": 0.0}\nr,l,t\n\xff00,2,3\n', "invalid UTF8 data"),
        (b"r,l,t\n1,2,3\n", "is none of the monitors of Stable-Baselines3 that are here"),
        (b"", "is empty"),
    ],
)
def test_bytes_that_are_no_text_and_other_files_are_refused(runs, content, said):
    path = runs / "b" / "monitor.csv"
    path.write_bytes(content)
    refused(runs, said, at=path, task=MONITORS)


# --- evaluations ----------------------------------------------------------------------------------------------------


@pytest.fixture
def evaluated(tmp_path):
    for task in range(3):
        evaluations(tmp_path / f"t{task}" / "evaluations.npz", [[0.0, 0.0, 0.0], [task, task + 1.0, 9.0]])
    return tmp_path


def test_of_evaluations_the_last_one_is_read(evaluated):
    data = read_returns(evaluated, task=EVALUATIONS)
    np.testing.assert_array_equal(data.returns, [[task, task + 1, 9] for task in range(3)])
    assert data.told == "read as evaluations of Stable-Baselines3: 3 files of 3 tasks, value results"
    path = evaluated / "t0" / "evaluations.npz"
    refused(path, "its rows are checkpoints of one environment, not tasks; the last of them gives the mean of one task")
    refused(path, "such as '{task}/evaluations.npz'")


def test_successes_of_evaluations(evaluated):
    for task in range(3):
        solved = np.array([[False] * 3, [True, task == 1, False]])
        evaluations(evaluated / f"t{task}" / "evaluations.npz", np.ones((2, 3)), successes=solved)
    data = read_returns(evaluated, task=EVALUATIONS, value="successes")
    np.testing.assert_array_equal(data.returns, [[True, task == 1, False] for task in range(3)])
    assert data.returns.dtype == bool


NO_STEPS, NO_SHAPE = "array 'timesteps' is ", "expected [2 checkpoints, episodes]"
WRONG_ARRAYS = {
    "results 1d": ({"results": np.ones(2)}, "array 'results' has shape (2,)"),
    "results text": ({"results": np.full((2, 3), "x")}, "row 1: results is 'x', expected a finite number"),
    "results short": ({"results": np.ones((1, 3))}, f"array 'results' has shape (1, 3); {NO_SHAPE}"),
    "results nan": (
        {"results": np.array([[0, 0, 0], [1, np.nan, 2]])},
        "row 2: results is nan, expected a finite number",
    ),
    "results empty": ({"results": np.ones((2, 0))}, "has no row"),
    "steps": ({"timesteps": np.array([2000, 1000])}, f"{NO_STEPS}[2000, 1000]; expected steps of checkpoints that"),
    "steps 0d": ({"timesteps": np.array(7)}, f"{NO_STEPS}7"),
    "steps text": ({"timesteps": np.array(["a", "b"])}, f"{NO_STEPS}['a', 'b']"),
    "successes": ({"successes": np.ones((2, 4), bool)}, f"array 'successes' has shape (2, 4); {NO_SHAPE}"),
    "objects": ({"results": np.full((2, 3), None)}, "holds pickled objects, which are never loaded"),
}


@pytest.mark.parametrize("name", WRONG_ARRAYS)
def test_evaluations_that_changed_are_refused_by_their_name(evaluated, name):
    changed, part = WRONG_ARRAYS[name]
    path = evaluations(evaluated / "t1" / "evaluations.npz", np.ones((2, 3)), **changed)
    refused(evaluated, part, at=path, task=EVALUATIONS)


def test_files_that_do_not_belong_together_are_refused(evaluated):
    path = evaluated / "t1" / "evaluations.npz"
    evaluations(path, np.ones((2, 3)), steps=(1000, 3000))
    for where in ((), "training step = 3000", "training step != 3000"):
        refused(evaluated, "evaluated at other steps", task=EVALUATIONS, where=where)
    monitor(path, [1, 2])
    part = "is none of the evaluations of Stable-Baselines3 that are here; expected files of one kind"
    refused(evaluated, part, at=path, task=EVALUATIONS)


def test_own_arrays_beside_those_of_evaluations_are_own(tmp_path):
    path = tmp_path / "own.npz"
    np.savez(path, returns=np.ones((3, 2)), timesteps=np.arange(2), results=np.zeros((2, 5)))
    assert (read_returns(path).returns.shape, read_returns(path).told) == ((3, 2), "")


SEEDS = [f"env{env},seed={seed}/eval.csv" for env in range(3) for seed in range(2)]
RUNS = [f"{run}/{name}" for run in range(3) for name in (".hydra/config.yaml", "eval.csv")]
STEPS = [f"step_{step}{name}" for step in (1000, 2000) for name in (".csv", "/a.csv", "/b.csv", "/c.csv")]
POLICIES = "'step_1000{}', which by their names are of several policies"
# The files, of tables with two trials, the pattern by which they are read, and what is said of them.
PATHS = [
    (["a.csv", "b.csv", "summary.csv"], "{task}.csv", "'summary.csv', which by its name sums up others"),
    (SEEDS, "{task}/eval.csv", "expected a pattern with the seed apart"),
    (SEEDS, "{task},seed=*/eval.csv", ""),
    (RUNS, "{task}/eval.csv", "(numbered runs of Hydra)"),
    (STEPS, "{trial}.csv", POLICIES.format(".csv")),
    (STEPS, "*/{task}.csv", POLICIES.format("")),
]


@pytest.mark.parametrize(("paths", "pattern", "said"), PATHS)
def test_names_of_files_and_folders_tell(tmp_path, paths, pattern, said):
    """Of the pattern, and of what fits its wildcards."""
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("episode,success\n0,1\n1,0\n")
    trial = {"trial": None} if "*" in pattern else {}
    found = check_said(said, functools.partial(read_returns, tmp_path, task=pattern, **trial))
    assert found is None or found.returns.shape[0] == 3


@pytest.mark.parametrize("pattern", ["*/{task}/monitor.csv", "{trial}/{task}/monitor.csv"])
def test_policies_in_paths_are_asked_about(tmp_path, pattern):
    for policy in ("ppo", "sac"):
        for task in "abc":
            monitor(tmp_path / policy / task / "monitor.csv", [0.5, 1.0])
    with pytest.warns(UserWarning, match="names in the paths are 'ppo' and 'sac', each with every task"):
        read_returns(tmp_path, task=pattern)
    refused(tmp_path, "trial is 'x'; expected none, since episodes are the trials of a file", task=pattern, trial="x")


@pytest.mark.parametrize("pattern", ["*/{task}/monitor.csv", "{trial}/{task}/monitor.csv"])
def test_seeds_in_paths_are_trials(tmp_path, pattern):
    for seed in range(2):
        for task in "abc":
            monitor(tmp_path / f"seed_{seed}" / task / "monitor.csv", [0.5, 1.0])
    assert read_returns(tmp_path, task=pattern).returns.shape == (3, 4)


def test_a_table_of_a_folder_that_may_be_cut_is_told(tmp_path):
    for name, end in (("a", "\n"), ("b", "")):
        (tmp_path / f"{name}.csv").write_text(f"episode,success\n0,1\n1,0{end}")
    with pytest.warns(UserWarning, match="its last line has no line ending"):
        assert read_returns(tmp_path, task="{task}.csv").returns.shape == (2, 2)


def test_rows_that_are_picked_of_a_folder_are_told(tmp_path):
    """On a page, too: else the statement would seem to be of all rows."""
    for name in "abc":
        rows = "".join(f"{i},{'new' if i % 2 else 'old'},{'error' if i == 1 else 1}\n" for i in range(6))
        (tmp_path / f"{name}.csv").write_text(f"trial,agent,success\n{rows}")
    found = read_returns(tmp_path, task="{task}.csv", policy="agent", only="new", where="trial != 5", unfinished=0)
    told = "read from 3 tables: 3 tasks, value success; 3 without an outcome, counted as 0"
    assert found.told == f"{told}; where trial != 5; where agent = new"
    assert found.told_without_labels == f"{told}; some rows by trial; where agent = new"


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_file_without_rows_leaves_no_task_out(tmp_path, suffix):
    mark = {"csv": ",", "tsv": "\t"}[suffix]
    for task in ("a", "b", "c"):
        rows = "" if task == "b" else f"0{mark}1\n1{mark}1\n"
        (tmp_path / f"{task}.{suffix}").write_text(f"trial{mark}success\n{rows}")
    at = tmp_path / f"b.{suffix}"
    refused(tmp_path, "has no row; expected at least one trial", at=at, task=f"{{task}}.{suffix}")
