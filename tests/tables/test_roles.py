"""Roles of a table's columns: which rows are read, what tells tasks and policies apart, and what has no outcome."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from saved_files import refused, saved

from jaxcert import from_frame
from jaxcert.tables import read_returns

ARMS = "task,trial,arm,success\n" + "".join(
    f"{task},{trial},{arm},{str(trial < 2 if arm == 'clean' else trial < 1).lower()}\n"
    for task in ("a", "b")
    for arm in ("clean", "windy")
    for trial in range(3)
)


@pytest.fixture
def table(tmp_path):
    return lambda text, name="r.csv": saved(tmp_path, name, text)


@pytest.mark.parametrize("where", ["arm = clean", "arm=clean", "arm != windy", "arm in clean", ["arm == clean"]])
def test_the_rows_of_a_condition(table, where):
    data = read_returns(table(ARMS), where=where)
    np.testing.assert_array_equal(data.returns, [[True, True, False]] * 2)
    np.testing.assert_array_equal(data.rows, [[1, 2, 3], [7, 8, 9]])


def test_numbers_are_compared_as_numbers(table):
    path = table("task,trial,step,score\na,0,1000,0.5\na,1,1e3,0.25\na,0,0,0.5\nb,0,1000.0,1\nb,1,1000,1\n")
    np.testing.assert_array_equal(read_returns(path, where="step = 1000").returns, [[0.5, 0.25], [1, 1]])


def test_errors_name_the_rows_of_the_file(table):
    path = table(ARMS.replace("b,1,clean,true", "b,1,clean,perhaps"))
    refused(path, "row 5: success is 'perhaps'", "counted among the 6 rows that are picked", where="arm = clean")
    assert read_returns(path, where="arm = windy").returns.shape == (2, 3)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("success = true", "chooses rows by their outcome"),
        ("arm = gone", "column arm has no entry 'gone'; found clean, windy"),
        ("wind = strong", "has no column 'wind'"),
        ("arm", "the condition is 'arm'; expected a column and its value"),
        (["arm = clean", "arm = windy"], "no row has 'arm = clean' and 'arm = windy'"),
    ],
)
def test_conditions_that_choose_nothing_or_too_much(table, where, said):
    refused(table(ARMS), said, value="success", where=where)


@pytest.mark.parametrize("where", ["arm = it's", "arm != it's", "arm in it's, windy"])
def test_a_condition_names_no_entry_that_a_sentence_shows_as_another(table, where):
    path = table(ARMS.replace("a,1,clean", "a,1,it's").replace("b,1,clean", 'b,1,"it""s"'))
    refused(path, "column arm holds", "which a sentence shows alike", where=where)
    assert read_returns(path, where="arm = windy").returns.shape == (2, 3)


def test_a_label_may_have_parts(table):
    path = table(
        "layout,style,trial,passed\n" + "".join(f"{i},{s},{t},yes\n" for i in "12" for s in "xy" for t in "01")
    )
    data = read_returns(path, task="layout,style")
    assert data.tasks.tolist() == ["1, x", "1, y", "2, x", "2, y"]
    frame = pd.DataFrame({"layout": [1, 1, 2], "style": ["x", "y", "x"], "passed": [True, False, True]})
    assert from_frame(frame, task="layout,style", trial=None).tasks.tolist() == ["1, x", "1, y", "2, x"]


def test_rates_have_as_many_successes_as_they_can_only_mean(table):
    path = table("task,rate,n\na,0.62,50\nb,0.06,50\nc,0.8,50\nd,1.0,50\n")
    data = read_returns(path, trial=None, value="rate", trials="n")
    assert data.returns.sum(axis=1).tolist() == [31, 3, 40, 50]
    counts = table("task,won,n\na,31,50\nb,3,50\nc,40,50\nd,50,50\n", "counts.csv")
    same = read_returns(counts, trial=None, successes="won", trials="n")
    np.testing.assert_array_equal(same.returns, data.returns)


@pytest.mark.parametrize(
    ("rate", "trials", "won"), [("0.62", 100, 62), ("0.7", 10, 7), ("0.335", 200, 67), ("1.0", 3, 3)]
)
def test_as_many_digits_as_are_needed(table, rate, trials, won):
    data = read_returns(table(f"task,rate,n\na,{rate},{trials}\n"), trial=None, value="rate", trials="n")
    assert data.returns.sum() == won


@pytest.mark.parametrize("rate", ["0.7", "1.2", "-0.1", "62%", "", "1", "1.0", " 0.7 ", "7.000e-1"])
def test_a_rate_that_may_mean_several_numbers_is_refused(table, rate):
    refused(table(f"task,rate,n\na,{rate},48\n"), "row 1: rate/n is", trial=None, value="rate", trials="n")


def test_successes_need_their_trials(table):
    refused(table("task,won\na,3\n"), "successes go with trials", successes="won")


LOST = ("", "nan", "abandoned", "Error", "null")


@pytest.mark.parametrize("lost", LOST)
def test_what_has_no_outcome_is_refused_or_counts_as_the_worst(table, lost):
    path = table(f"task,trial,success\na,0,true\na,1,{lost}\nb,0,false\nb,1,true\n")
    refused(path, "row 2: success is ")
    refused(path, "1 of 4 rows have no outcome", "(--unfinished 0)")
    data = read_returns(path, unfinished=0)
    np.testing.assert_array_equal(data.returns, [[True, False], [False, True]])
    assert (data.num_unfinished, data.unfinished) == (1, 0)
    assert data.told.endswith("success from success; 1 without an outcome, counted as 0")
    refused(path, "expected 0, the worst return that is possible", unfinished=1)


def test_lost_returns_count_as_the_lower_end(table):
    path = table("task,trial,score\na,0,0.5\na,1,\nb,0,0.25\nb,1,1\n")
    np.testing.assert_array_equal(read_returns(path, unfinished=-1).returns, [[0.5, -1], [0.25, 1]])
    refused(path, "expected the worst return that is possible, at most 0.25", unfinished=0.5)
    frame = pd.DataFrame({"task": ["a", "b"], "score": [0.5, np.nan]})
    np.testing.assert_array_equal(from_frame(frame, trial=None, unfinished=0).returns, [[0.5], [0]])


MINUS = "task,trial,success\na,0,1\na,1,-1\nb,0,0\nb,1,1\n"


def test_minus_one_beside_zeros_and_ones_is_asked_about(table):
    """It may be a code for no outcome, or a loss beside draws and wins."""
    path = table(MINUS)
    with pytest.warns(
        UserWarning, match=r"row 2: success is -1 beside 0 and 1.*\(--unfinished 0\) counts it as a failure"
    ):
        np.testing.assert_array_equal(read_returns(path).returns, [[1, -1], [0, 1]])
    refused(path, "row 2: success is -1 beside 0 and 1", strict=True)
    with pytest.warns(UserWarning, match="row 2: success is -1"):
        from_frame(pd.read_csv(path))
    data = read_returns(path, unfinished=0)
    np.testing.assert_array_equal(data.returns, [[1, 0], [0, 1]])
    assert (data.num_unfinished, data.unfinished) == (1, 0)
    assert data.told.endswith("; 1 without an outcome, counted as 0")
    np.testing.assert_array_equal(read_returns(path, unfinished=-1, strict=True).returns, [[1, -1], [0, 1]])
    blank = table(MINUS + "c,0,\nc,1,1\n")  # here a blank is what has no outcome, and -1 may be a loss
    refused(blank, "unfinished is 0; expected the worst return that is possible, at most -1", unfinished=0)


@pytest.mark.parametrize("score", ["-1", "1", "0.5"])
def test_other_numbers_are_not_asked_about(table, score):
    refused(
        table(f"task,trial,score\na,0,{score}\na,1,-1\nb,0,2\nb,1,perhaps\n"), "row 4: score is 'perhaps'", strict=True
    )
    read_returns(table(f"task,trial,score\na,0,{score}\na,1,-1\nb,0,2\nb,1,1\n"), strict=True)


def numbered(tasks):
    return "task,trial,success\n" + "".join(f"{task},{trial},true\n" for task in tasks for trial in range(2))


def test_tasks_that_have_no_row_are_noticed(table):
    path = table(numbered([0, 1, 2, 4, 5, 6, 8, 9]))
    refused(path, "has 8 tasks; expected 10", "from 0 to 9 without 3, 7: 2 of them have no row", tasks=10)
    refused(path, "2 of 10 tasks have no row: 3, 7", tasks=range(10))
    refused(path, "1 tasks are not among those expected: 9", tasks=[0, 1, 2, 4, 5, 6, 8])
    refused(path, "without 3, 7: 2 of them have no row", strict=True)
    with pytest.warns(UserWarning, match="without 3, 7: 2 of them have no row"):
        read_returns(path)
    with warnings.catch_warnings(action="error"):
        read_returns(path, tasks=8)
        read_returns(table(numbered(["0", "17", "93", "4000"]), "ids.csv"))


def test_a_table_for_each_task(table):
    for task in ("hill", "maze"):
        path = table("trial,success\n0,true\n1,false\n", f"runs/{task}.csv")
    data = read_returns(path.parent, task="{task}.csv")
    assert data.tasks.tolist() == ["hill", "maze"]
    np.testing.assert_array_equal(data.returns, [[True, False]] * 2)
    refused(path.parent, "{task} stands for the label of a task")
    path.write_text("trial,score\n0,1\n")
    refused(path.parent, "success", task="{task}.csv")


@pytest.mark.filterwarnings("ignore:.* are missing:UserWarning")
@pytest.mark.parametrize("m", [3, 5, 10])
def test_arms_drawn_at_random_are_asked_about(table, m):
    rng = np.random.default_rng(m)
    rows = [(task, trial, rng.random() < 0.9 * (task % 4) / 3 + 0.05) for task in range(30) for trial in range(m)]
    arms = [f"{task},{trial},{rng.choice(['red', 'blue'])},{str(won).lower()}" for task, trial, won in rows[:-1]]
    with pytest.warns(UserWarning, match=r"in column 'colour', of few entries: .* of one of them \(--where"):
        read_returns(table("\n".join(["task,trial,colour,success", *arms, ""])))


GOOD = 'name = "a tool of mine"\nrecords = "tasks.*"\ntask = "id"\ncounts = ["won", "of"]\n'


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        (GOOD.replace('"id"', "5"), "has 5 as task; expected a text"),
        (GOOD.replace('["won", "of"]', '"won"'), "has 'won' as counts; expected a list of texts"),
        (GOOD.replace('"id"', '"$3"'), "the recipe names '$3'"),
        (GOOD.replace("name", "title"), "has the entry 'title'"),
        (GOOD.replace("a tool", "a\\ntool"), "a recipe says 'a\\ntool of mine'; expected names of printable"),
        (GOOD.replace("=", ""), "cannot be read as TOML"),
        (GOOD + "unfinished = 2026-01-01", "cannot be read as TOML of texts"),
        (GOOD.replace('"won"', "5"), "has 5 in counts; expected texts alone"),
    ],
)
def test_a_recipe_that_is_none_is_told(tmp_path, recipe, said):
    path = saved(tmp_path, "r.json", '{"tasks": [{"id": 1, "won": 1, "of": 2}]}')
    with pytest.raises(ValueError, match=re.escape(said)):
        read_returns(path, recipe=saved(tmp_path, "r.toml", recipe))
    assert read_returns(path, recipe=saved(tmp_path, "good.toml", GOOD)).returns.shape == (1, 2)


@pytest.mark.parametrize(
    ("recipe", "content", "said"),
    [
        (
            'records = "runs.*.trials.*"\nvalues = { ok = "ok" }',
            {"runs": [{"trials": [{"ok": True}]}, {}]},
            "runs[1] has no",
        ),
        (
            'records = "runs.*.trials.*"\nvalues = { ok = "ok" }',
            {"runs": [{"trials": []}]},
            "is empty; expected records",
        ),
        ("lists = { good = true, bad = false }", {"good": ["a", "b"]}, "has no list 'bad'"),
        ("lists = { good = true, bad = false }", {"good": ["a"], "bad": {"b": 1}}, "bad is an object, expected a list"),
        ('number = "n"\nlists = { good = true }', {"good": ["a", "b"]}, "n is None, and 2 rollouts are listed"),
        ('records = "runs.*"\nlists = { good = true }', {}, "has not one of records and lists"),
    ],
)
def test_what_a_recipe_does_not_find_is_no_rollout_less(tmp_path, recipe, content, said):
    recipe = saved(tmp_path, "r.toml", f'name = "a tool"\n{recipe}\n')
    with pytest.raises(ValueError, match=re.escape(said)):
        read_returns(saved(tmp_path, "r.json", json.dumps(content)), recipe=recipe)


def test_labels_of_records_and_of_lists_end_before_the_same_text(tmp_path):
    recipe = saved(tmp_path, "r.toml", 'name = "a"\nrecords = "*"\ntask = "id"\nbefore = "__"\nvalues = { ok = "ok" }')
    records = [{"id": f"t{task}__{trial}", "ok": True} for task in range(6) for trial in range(4)]
    assert read_returns(saved(tmp_path, "r.json", json.dumps(records)), recipe=recipe).returns.shape == (6, 4)


@pytest.mark.parametrize("role", ['trial = "checkpoint"', 'own = "checkpoint"'])
def test_a_field_that_names_policies_is_looked_at_in_whichever_role(tmp_path, role):
    how = f'name = "a"\nrecords = "*"\ntask = "id"\n{role}\nvalues = {{ ok = "ok" }}'
    records = [{"id": task, "checkpoint": f"m{i}", "ok": True} for task in range(6) for i in range(4)]
    path, recipe = saved(tmp_path, "r.json", json.dumps(records)), saved(tmp_path, "r.toml", how)
    refused(path, "holds several policies ", ", by checkpoint", recipe=recipe)


@pytest.mark.parametrize("held", ["[]", '{"env_runners": [1]}', '{"hist_stats": 3}', "null", '{"episode_reward": 1}'])
def test_a_trainer_without_episodes_of_its_evaluation_is_refused(tmp_path, held):
    for task in ("a", "b"):
        saved(tmp_path, f"{task}/result.json", f'{{"training_iteration": 1, "evaluation": {held}}}\n')
    at = tmp_path / "a" / "result.json"
    refused(tmp_path, "has no evaluation with the rewards of its episodes", at=at, task="{task}/result.json")


def test_runs_of_a_tool_need_their_tasks(tmp_path):
    (tmp_path / "0.monitor.csv").write_text('#{"t_start": 0.0, "env_id": "E"}\nr,l,t\n1.0,5,0.1\n')
    refused(tmp_path, "expected one with {task}", task="{trial}.monitor.csv")


@pytest.mark.parametrize("twin", ["kind ", "kind\u200b", "\u00a0kind"])
def test_a_column_by_which_rows_are_picked_is_seen_once(twin, tmp_path):
    """A statement names it, and who reads it cannot know which one is meant."""
    rows = [f"{i},{j},{'ab'[j % 2]},{'ba'[j % 2]},1" for i in range(4) for j in range(4)]
    path = saved(tmp_path, "t.csv", "\n".join([f"task,trial,kind,{twin},success", *rows, ""]))
    for picked in ({"where": "kind = a"}, {"where": f"{twin} in a, b"}, {"policy": "kind", "only": "a"}):
        refused(path, "has more than one column", **picked)
