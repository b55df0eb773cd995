"""Returns from frames, labelled arrays and lists."""

import contextlib
import datetime
import fractions
import re

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import xarray as xr
from saved_files import SOME_ARE_MISSING

import jaxcert
from jaxcert import from_frame, from_lists, from_xarray

ROWS = {"task_id": ["b", "a", "b", "a"], "episode_id": [0, 0, 1, 1], "total_return": [1.0, 2.0, 3.0, 4.0]}


def polars_frame(columns):
    polars = pytest.importorskip("polars", reason="needs polars, 180 MB, which no extra installs")
    return polars.DataFrame(columns)


FRAMES = pytest.mark.parametrize("frame", [pd.DataFrame, polars_frame, pa.table], ids=["pandas", "polars", "pyarrow"])


@FRAMES
def test_tasks_are_numbered_by_their_first_row(frame):
    data = from_frame(frame(ROWS))
    np.testing.assert_array_equal(data.returns, [[1, 3], [2, 4]])
    assert data.returns.dtype == np.float64
    assert data.where is None
    assert data.tasks.tolist() == ["b", "a"]
    assert repr(data) == "Returns(2 tasks, 2 rollouts each)"


@FRAMES
@SOME_ARE_MISSING
def test_other_names_types_and_fewer_rollouts(frame):
    columns = {"env": [7, 3, 7], "ok": [True, False, True], "text": ["1", " 0.5 ", "2e-1"], "more": [None] * 3}
    data = from_frame(frame(columns), task="env", trial=None, value="ok")
    assert data.returns.dtype == bool
    np.testing.assert_array_equal(data.returns, [[True, True], [False, False]])
    np.testing.assert_array_equal(data.where, [[True, True], [True, False]])
    assert data.tasks.tolist() == [7, 3]
    assert repr(data) == "Returns(2 tasks, 1 to 2 rollouts)"
    np.testing.assert_array_equal(
        from_frame(frame(columns), task="env", trial=None, value="text").returns, [[1, 0.2], [0.5, np.nan]]
    )


@FRAMES
def test_missing_rollouts_are_warned_of_or_refused(frame):
    rows = frame({"task_id": ["a", "a", "b"], "episode_id": [0, 1, 0], "total_return": [1, 1, 0]})
    words = "1 of 2 tasks have fewer than 2 rollouts, 1 of 4 are missing"
    with pytest.warns(UserWarning, match=f"^{words}: certificates hold only if") as caught:
        assert from_frame(rows).missing == words
    assert caught[0].filename == __file__
    with pytest.raises(ValueError, match=f"^{words}; expected as many of every task"):
        from_frame(rows, strict=True)


@FRAMES
@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"total_return": [1.0, None, 3.0, 4.0]}, "row 2: total_return is empty, expected a finite number"),
        ({"total_return": [1.0, 2.0, np.inf, 4.0]}, "row 3: total_return is inf, expected a finite number"),
        ({"total_return": ["1", "2", "x", ""]}, "row 3: total_return is 'x', expected a finite number"),
        ({"total_return": ["1", "2", "3", ""]}, "row 4: total_return is empty"),
        ({"total_return": ["1_0", "2", "3", "4"]}, "row 1: total_return is '1_0'"),
        ({"task_id": ["a", None, "b", "b"]}, "row 2: task_id is empty, expected an entry"),
        ({"task_id": [1, 1, None, 2]}, "row 3: task_id is empty"),
        ({"task_id": ["", "a", "b", "b"]}, "row 1: task_id is empty"),
        ({"task_id": ["a", "a", "a", "b"]}, "rows 1 and 2 both are task_id a, episode_id 0; expected each pair once"),
    ],
)
def test_a_bad_entry_is_named(frame, column, message):
    with pytest.raises(ValueError, match=message):
        from_frame(frame(ROWS | column))


@FRAMES
def test_columns_that_are_not_there(frame):
    with pytest.raises(ValueError, match="has no column env, return; found 'task_id', 'episode_id', 'total_return'"):
        from_frame(frame(ROWS), task="env", value="return")
    with pytest.raises(ValueError, match="has no rows"):
        from_frame(frame({name: [] for name in ROWS}))


def test_what_only_pandas_has():
    frame = pd.DataFrame(ROWS)
    np.testing.assert_array_equal(from_frame(frame.set_index(["task_id", "episode_id"])).returns, [[1, 3], [2, 4]])
    twice = pd.concat([frame, frame[["task_id"]]], axis=1)
    with pytest.raises(ValueError, match="has more than one column task_id"):
        from_frame(twice)
    typed = frame.astype({"task_id": "category", "episode_id": "Int8", "total_return": "Float32"})
    np.testing.assert_array_equal(from_frame(typed).returns, [[1, 3], [2, 4]])
    with pytest.raises(ValueError, match="row 1: total_return is empty"):
        from_frame(typed.assign(total_return=pd.array([None, 1, 2, 3], dtype="Int64")))
    won = frame.assign(total_return=[True, False, True, False])
    for kind in ("boolean", object):
        assert from_frame(won.astype({"total_return": kind})).returns.tolist() == [[True, True], [False, False]]
    dates = frame.assign(task_id=pd.to_datetime(["2026-01-02", "2026-01-01"] * 2))
    assert from_frame(dates).tasks.astype("datetime64[D]").tolist()[0] == datetime.date(2026, 1, 2)


def test_what_is_no_frame():
    with pytest.raises(ValueError, match="has type list, expected a frame of pandas, Polars or pyarrow"):
        from_frame([[1.0]])
    polars = pytest.importorskip("polars", reason="needs polars, 180 MB, which no extra installs")
    with pytest.raises(ValueError, match=r"lazy.*call collect\(\)"):
        from_frame(polars.DataFrame(ROWS).lazy())
    with pytest.raises(ValueError, match="row 1: total_return is nan"):
        from_frame(polars.DataFrame(ROWS | {"total_return": [np.nan, 1.0, 2.0, 3.0]}))


@SOME_ARE_MISSING
def test_xarray_in_either_order_with_labels_and_missing_rollouts():
    values = np.array([[1.0, 2.0], [3.0, np.nan]], np.float32)
    array = xr.DataArray(values, dims=("trial", "task"), coords={"task": ["a", "b"]})
    data = from_xarray(array)
    np.testing.assert_array_equal(data.returns, [[1, 3], [2, np.nan]])
    np.testing.assert_array_equal(data.where, [[True, True], [True, False]])
    assert data.tasks.tolist() == ["a", "b"]
    assert from_xarray(xr.DataArray(values, dims=("n", "m")), task="n", trial="m").tasks.tolist() == [0, 1]


def test_xarray_that_does_not_fit():
    with pytest.raises(ValueError, match="has the dimensions n, m; expected task and trial"):
        from_xarray(xr.DataArray(np.ones((2, 2)), dims=("n", "m")))
    with pytest.raises(ValueError, match="row 1: total_return is 'x', expected a finite number"):
        from_xarray(xr.DataArray([["x"]], dims=("task", "trial")))
    with pytest.raises(ValueError, match="row 2: total_return is inf"):
        from_xarray(xr.DataArray([[1.0], [np.inf]], dims=("task", "trial")))
    with pytest.raises(ValueError, match="1 of 2 tasks have no row: b"):
        from_xarray(xr.DataArray([[1.0], [np.nan]], dims=("task", "trial"), coords={"task": ["a", "b"]}))
    array = xr.DataArray(np.ones((2, 2)), dims=("task", "trial"), name="returns")
    for other in (array.to_dataset(), np.ones((2, 2))):
        with pytest.raises(ValueError, match="expected an xarray DataArray"):
            from_xarray(other)


def test_lists_arrays_and_dictionaries():
    returns = np.random.default_rng(0).uniform(size=(4, 3))
    on_device = jnp.asarray(returns, jnp.float32)
    for given in (returns, returns.tolist(), tuple(map(tuple, returns)), on_device, list(returns)):
        data = from_lists(given)
        np.testing.assert_allclose(data.returns, returns, rtol=1e-6)
        assert data.where is None
        assert data.tasks.tolist() == [0, 1, 2, 3]
    data = from_lists(dict(zip("abcd", returns, strict=True)))
    assert data.tasks.tolist() == ["a", "b", "c", "d"]


def test_lists_of_unequal_lengths_give_the_certificate_of_each_tasks_rollouts():
    rows = {f"t{i}": [0.9] * (30 + i % 3) for i in range(60)}
    with pytest.warns(UserWarning, match="40 of 60 tasks have fewer than 32 rollouts, 60 of 1920 are missing"):
        data = from_lists(rows)
    settings = {"support": (0, 1), "delta": 0.1}
    found = jaxcert.certify(data.returns, 0.5, where=data.where, **settings)
    padded = [row + [np.nan] * (32 - len(row)) for row in rows.values()]
    wanted = jaxcert.certify(np.array(padded), 0.5, where=~np.isnan(padded), **settings)
    assert jax.tree.all(jax.tree.map(np.array_equal, found, wanted))
    assert float(found.safety[0]) > 0.9
    with pytest.raises(ValueError, match="expected as many of every task"):
        from_lists(rows, strict=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "there is no task"),
        ({}, "there is no task"),
        ("abc", "expected a list or dictionary of lists"),
        (3.0, "expected a list or dictionary of lists"),
        ([1.0, 2.0], "task 0 has 1.0; expected a list of numbers"),
        ([[1.0], [[1.0]]], "task 1 has .*; expected a list of numbers"),
        ([[1.0, [2.0, 3.0]]], "task 0 has"),
        ({"a": ["1"]}, r"task 'a' has \['1'\]; expected a list of numbers"),
        ({"a": [1.0], "b": []}, "task 'b' has no rollout"),
        ({"a": [1.0, np.nan]}, "task 'a', rollout 1 is nan; expected a finite number"),
        ({"a": [1.0, None]}, "task 'a' has"),
        (
            {"a": [True, False], "b": [1, 0]},
            "task 'a' has successes, of type bool, task 'b' numbers; expected",
        ),
    ],
)
def test_bad_lists(given, message):
    with pytest.raises(ValueError, match=message):
        from_lists(given)


@FRAMES
def test_durations_and_dates_are_no_returns(frame):
    one = datetime.timedelta(seconds=1)
    with pytest.raises(ValueError, match=r"column total_return holds durations \(timedelta64.*expected numbers"):
        from_frame(frame({**ROWS, "total_return": [one] * 4}))
    with pytest.raises(ValueError, match=r"row [12]: total_return is "):
        from_frame(frame({**ROWS, "total_return": [one, None, one, one]}))
    with pytest.raises(ValueError, match="column total_return holds dates"):
        from_frame(frame({**ROWS, "total_return": [datetime.datetime(2026, 1, 1)] * 4}))


@pytest.mark.parametrize(
    ("entry", "shown"),
    [
        (10**400, "10000"),
        (-(10**400), "-10000"),
        (10**5000, "a number of type int with thousands of digits"),
        (fractions.Fraction(10**400), "Fraction"),
    ],
    ids=["large", "small", "thousands", "fraction"],
)
def test_numbers_beyond_float64(entry, shown):
    frame = pd.DataFrame({**ROWS, "total_return": np.array([1.0, 2.0, entry, 4.0], object)})
    with pytest.raises(ValueError, match=f"row 3: total_return is {shown}.*, expected a finite number"):
        from_frame(frame)


def test_policies_are_paired_by_their_tasks():
    labels, values = np.repeat(list("abc"), 4), np.arange(12.0)
    table = pd.DataFrame({"task_id": labels, "total_return": values})
    shuffled = table.sample(frac=1, random_state=3)
    first, second = (jaxcert.from_frame(each, trial=None) for each in (table, shuffled))
    assert list(second.tasks) != list(first.tasks)
    one, other = jaxcert.align_tasks(first, second)
    assert list(one.tasks) == list(other.tasks) == ["a", "b", "c"]
    np.testing.assert_array_equal(np.sort(other.returns), first.returns)
    masked = jaxcert.Returns(second.returns, np.eye(3, 4, dtype=bool), second.tasks)
    np.testing.assert_array_equal(jaxcert.align_tasks(first, masked)[1].where.sum(axis=1), [1, 1, 1])
    with pytest.raises(ValueError, match=r"policies\[0\] has the task 'c', policies\[1\] has not \(.* lacks: 1\)"):
        jaxcert.align_tasks(first, jaxcert.from_frame(table[:8], trial=None))
    with pytest.raises(ValueError, match=r"policies\[0\] has a task twice"):
        jaxcert.align_tasks(jaxcert.Returns(values.reshape(3, 4), None, np.array([1, 1, 2])))
    with pytest.raises(ValueError, match="there is no policy"):
        jaxcert.align_tasks()


DIFFERENT = [
    *(("max_steps", (500, 200)), ("temperature", (0.5, 0.7)), ("env_version", ("v1", "v2"))),
    *(("robot_name", ("franka", "xarm")), ("horizon", (9, 9, 8)), ("time_limit", ("60s", "30s"))),
    *(("split", ("dev", "test")), ("gripper", ("new", "old")), ("success_threshold", (0.1, 0.02))),
    *(("reward_scale", (1, 10)), ("image_size", (84, 224)), ("done_condition", "ab"), ("error_tolerance", (1, 2))),
    *(("grader_version", "ab"), ("success_radius", (5, 2)), ("judge_model", ("gpt-4", "claude")), ("score_fn", "ab")),
    *(("success_metric", "ab"), ("map_file", ("a.map", "b.map")), ("terminate_on_success", (0, 1))),
]
ALIKE = [
    *(("max_steps", (500, 500)), ("max_steps", (500, 500.0)), ("max_steps", (500, None))),
    *(("model_name", "ab"), ("agent", "ab"), ("checkpoint_path", "ab")),
]


@pytest.mark.parametrize(
    ("name", "entries", "is_told"), [*((*each, True) for each in DIFFERENT), *((*each, False) for each in ALIKE)]
)
def test_conditions_in_which_policies_differ_are_asked_about(name, entries, is_told):
    rows = {"task": [*"abc"] * 2, "success": [True, False, True] * 2}
    policies = [from_frame(pd.DataFrame({**rows, name: entry}), trial=None) for entry in entries]
    shown = re.escape(f"in {name} ({', '.join(map(str, dict.fromkeys(entries)))}), and those of another")
    with pytest.warns(UserWarning, match=shown) if is_told else contextlib.nullcontext():
        assert len(jaxcert.align_tasks(*policies)) == len(entries)


@FRAMES
def test_each_rollout_knows_its_row(frame):
    data = from_frame(frame(ROWS))
    np.testing.assert_array_equal(data.rows, [[1, 3], [2, 4]])
    np.testing.assert_array_equal(data.returns, np.asarray(ROWS["total_return"])[data.rows - 1])
    swapped = jaxcert.Returns(data.returns[::-1], None, data.tasks[::-1])
    np.testing.assert_array_equal(jaxcert.align_tasks(swapped, data)[1].rows, [[2, 4], [1, 3]])
    assert data.place_of((1, 0)) == "row 2: the return of task 'a'"
    assert from_lists([[1.0, 2.0]]).place_of((0, 1)) == "the return of task 0, rollout 1"
