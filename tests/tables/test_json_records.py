"""JSON of nested objects and of columns: which records there are, and what stands around them."""

import json
from typing import Any

import numpy as np
import pytest
from saved_files import refused, saved

from jaxcert.tables import read_returns

BY_TASK = {
    "tasks": {
        "open_drawer": {"robot": "arm", "trials": [{"success": True}, {"success": False}]},
        "close_drawer": {"robot": "arm", "trials": [{"success": True}, {"success": True}]},
    }
}


@pytest.fixture
def written(tmp_path):
    return lambda value: saved(tmp_path, "r.json", json.dumps(value))


def test_what_a_star_stands_for_is_a_column(written):
    data = read_returns(written(BY_TASK), records="tasks.*.trials", task="$1", trial=None)
    assert data.tasks.tolist() == ["open_drawer", "close_drawer"]
    np.testing.assert_array_equal(data.returns, [[True, False], [True, True]])
    assert data.told == "2 tasks from $1, 2 trials, success from success"


SUITES = [
    {"name": suite, "tasks": [{"name": task, "won": 2, "trials": [{"id": 0, "success": 1}, {"id": 1, "success": 0}]}]}
    for suite, task in (("kitchen", "open"), ("office", "open"))
]


def test_names_at_several_depths_are_told_apart(written):
    """Two tasks of one name in two suites never become one."""
    nested: Any = {"records": "*.tasks.*.trials", "trial": "id"}
    data = read_returns(written(SUITES), **nested, task="$1.name,$2.name")
    assert data.tasks.tolist() == ["kitchen, open", "office, open"]
    refused(written(SUITES), "has no column name", "'$1.name'", **nested, task="name")
    refused(
        written(SUITES),
        "rows 1 and 3 both are $2.name open",
        "both as task, where the other numbers tasks of its own (--task)",
        **nested,
        task="$2.name",
    )
    one = read_returns(written(SUITES), **nested, task="$2.name", where="$1.name = kitchen")
    assert one.tasks.tolist() == ["open"]


def test_what_stands_once_for_several_records_is_no_outcome(written):
    nested: Any = {"records": "*.tasks.*.trials", "trial": "id", "task": "$1.name"}
    refused(written(SUITES), "field won stands around several records", **nested, value="won")
    counted = json.loads(json.dumps(SUITES).replace("won", "score"))  # beside it the outcomes are found by themselves
    assert read_returns(written(counted), **nested).told.endswith("value from success")


def test_entries_of_lists_and_objects_of_counts(written):
    lists = written({"open": [1, 0, 1], "close": [0, 1, 1]})
    data = read_returns(lists, records="*.*", task="$1", trial="$2")
    np.testing.assert_array_equal(data.returns, [[1, 0, 1], [0, 1, 1]])
    counts = written({"open": {"successes": 3, "trials": 4}, "close": {"successes": 4, "trials": 4}})
    data = read_returns(counts, records="*", task="$1", trial=None)
    assert data.returns.sum(axis=1).tolist() == [3, 4]


@pytest.mark.parametrize(
    ("value", "more"),
    [
        ({"task": {"0": "a", "1": "b", "5": "a"}, "success": {"0": True, "1": False, "5": False}}, {}),
        ({"d": {"task": ["a", "b", "a"], "success": [True, False, False]}}, {"records": "d"}),
    ],
)
@pytest.mark.filterwarnings("ignore:.* are missing:UserWarning")
def test_objects_of_columns(written, value, more):
    data = read_returns(written(value), trial=None, **more)
    assert data.tasks.tolist() == ["a", "b"]
    assert data.returns[0].tolist() == [True, False]


@pytest.mark.parametrize(
    ("value", "records", "said"),
    [
        ({"open": {"trials": [{"success": 1}]}, "close": {"trials": []}}, "*.trials", "has no record of 'close' at"),
        ({"open": {"trials": [{"success": 1}]}, "close": {}}, "*.trials", "close has no field 'trials'; found none"),
        ({"open": [1, 0]}, "open.*.trials", "open[0] is 1, expected an object with fields"),
        ({"open": 1}, "open.*", "open is 1, expected an object with fields"),
        (
            BY_TASK,
            None,
            "no array of objects, but of 'tasks'; expected one object per trial, or the place of their list",
        ),
        ({"open": [1, 0], "close": [1, 1]}, None, "found 'open', 'close'; expected one object per trial, or the place"),
        ({"open": {"n": 5}, "close": {"n": 4}}, None, "but of 'open', 'close'; expected one object per trial, or the"),
    ],
)
def test_what_is_missing_and_where_records_are_is_said(written, value, records, said):
    refused(written(value), said, records=records)
