"""Files of returns: values and types are kept in every format, whatever the columns are called."""

import csv
import dataclasses
import functools
import hashlib
import io
import re
import uuid

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from saved_files import HEADER, SIX_ROWS, SOME_ARE_MISSING, archive, check_said, parquet, refused, saved, single

from jaxcert import align_tasks
from jaxcert.tables import read_returns


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("float32", "float32"), ("float16", "float32"), ("float64", "float64"), ("int64", "float64"), ("bool", "bool")],
)
def test_npz_keeps_values_and_type(tmp_path, dtype, expected):
    returns = np.array([[0, 1, 1], [1, 0, 1]], dtype=dtype)
    content = archive(returns=returns, where=np.ones((2, 3), bool), seed=3)
    data = read_returns(saved(tmp_path, "r.NPZ", content), strict=True)
    assert data.returns.dtype == expected
    np.testing.assert_array_equal(data.returns, returns)
    np.testing.assert_array_equal(data.num_rollouts, [3, 3])
    assert data.sha256 == hashlib.sha256(content).hexdigest()


def test_an_array_of_another_name_is_read_if_it_is_named(tmp_path):
    wins = np.array([[True, False], [True, True]])
    one = saved(tmp_path, "one.npz", archive(successes=wins, where=np.ones((2, 2), bool), seed=3))
    np.testing.assert_array_equal(read_returns(one, value="successes").returns, wins)
    assert read_returns(one, value="successes").told == "2 tasks, 2 trials, success from successes"
    two = saved(tmp_path, "two.npz", archive(obs=np.zeros(5), successes=wins, steps=wins + 1))
    listed = "'obs' (5,), 'successes' (2, 2), 'steps' (2, 2)"
    refused(two, f"has no array 'returns', found {listed}; expected", "by value (--value)")
    np.testing.assert_array_equal(read_returns(two, value="steps").returns, wins + 1)
    refused(two, "has no array 'gains', found 'obs', 'successes', 'steps'", value="gains")
    refused(saved(tmp_path, "r.npy", single(wins)), "has one array and no name 'gains'", value="gains")
    refused(one, "has arrays and no columns env, episode_id, total_return", task="env")


@SOME_ARE_MISSING
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@settings(max_examples=40, deadline=None)
@given(counts=st.lists(st.integers(1, 5), min_size=1, max_size=6), seed=st.integers(0, 2**32 - 1))
def test_rows_in_any_order_give_each_tasks_rollouts(tmp_path_factory, kind, counts, seed):
    """Against dictionaries filled row by row."""
    random = np.random.default_rng(seed)
    rows = [(f"t{task}", episode, random.normal()) for task, count in enumerate(counts) for episode in range(count)]
    random.shuffle(rows)
    rows = [(str(task), int(episode), float(value)) for task, episode, value in rows]
    expected: dict[str, list[float]] = {}
    for task, _, value in rows:
        expected.setdefault(task, []).append(value)

    data = read_returns(saved(tmp_path_factory.mktemp("rows"), f"r.{kind}", encoded(rows, kind)))

    assert data.returns.shape == (len(expected), max(counts))
    assert (data.where is None) == (len(set(counts)) == 1)
    where = np.ones(data.returns.shape, bool) if data.where is None else data.where
    for row, mask, values in zip(data.returns, where, expected.values(), strict=True):
        assert row[mask].tolist() == values
        assert np.isnan(row[~mask]).all()


def encoded(rows: list[tuple], kind: str) -> bytes:
    """The rows with the columns in another order and one more column."""
    names = ["total_return", "note", "task_id", "episode_id"]
    table = [(value, "x", task, episode) for task, episode, value in rows]
    if kind == "parquet":
        return parquet(dict(zip(names, map(list, zip(*table, strict=True)), strict=True)))
    text = io.StringIO()
    csv.writer(text).writerows([names, *table])
    return text.getvalue().encode()


@pytest.mark.parametrize(
    "text",
    [
        '\ufefftask_id,episode_id,total_return\r\n"a, b",1,"0.5"\r\n\r\n"a, b",2,-12.5\r\n',
        "task_id;episode_id;total_return\na;1;0,5\na;2;-1,25e1\n",
        "\ufefftask_id;episode_id;total_return\r\na;1;0.5\r\na;2;-12.5\r\n",
        'note;task_id;episode_id;total_return\n"1,2,3";a;1;,5\n"";a;2;-12,5\n',
        "task_id\tepisode_id\ttotal_return\na\t1\t0,5\na\t2\t-12,5\n",
    ],
)
def test_byte_order_marks_quotes_semicolons_tabs_and_decimal_commas(tmp_path, text):
    np.testing.assert_array_equal(read_returns(saved(tmp_path, "r.csv", text)).returns, [[0.5, -12.5]])


def test_decimal_commas_are_not_guessed(tmp_path):
    header = HEADER.replace(",", ";")
    refused(saved(tmp_path, "a.csv", header + "a;1;0,5\na;2;0.5\n"), "decimal points and commas")
    refused(saved(tmp_path, "b.csv", header + "a;1;1.234,5\n"), "decimal points and commas")
    refused(saved(tmp_path, "c.csv", HEADER + 'a,1,"0,5"\n'), "row 1", "'0,5'")


def test_a_csv_without_a_line_ending_is_read_with_a_warning(tmp_path):
    path = saved(tmp_path, "r.csv", SIX_ROWS.rstrip())
    with pytest.warns(UserWarning, match="if the file was cut short, its last number may be, too"):
        np.testing.assert_array_equal(read_returns(path).returns[:, 1], [0.5, 0.75, 0.5])
    refused(path, "its last line has no line ending", "expected a line ending", strict=True)


@SOME_ARE_MISSING
@pytest.mark.parametrize(
    "columns",
    [
        {"task_id": pa.array(["b", "a", "b"]).dictionary_encode(), "total_return": [1.0, 0.0, 1.0]},
        {"task_id": pa.array(["b", "a", "b"], pa.large_string()), "total_return": pa.array([1, 0, 1], pa.int8())},
        {"task_id": [7, 3, 7], "total_return": pa.array(["1", " 0.0 ", "1e0"], pa.large_string())},
        {"task_id": [7, 3, 7], "total_return": pa.array([1, 0, 1]).cast(pa.decimal128(21, 2))},
    ],
)
def test_parquet_column_types(tmp_path, columns):
    path = saved(tmp_path, "r.parquet", parquet({**columns, "episode_id": [0, 0, 1]}))
    np.testing.assert_array_equal(read_returns(path).returns, [[1, 1], [0, np.nan]])


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_blanks_around_labels_make_no_other_tasks(tmp_path, mark):
    text = (HEADER + " 1,1,1\n 1, 2, 2\n2 ,1,3\n2 ,2 ,4\n").replace(",", mark)
    data = read_returns(saved(tmp_path, "r.csv", text))
    np.testing.assert_array_equal(data.returns, [[1, 2], [3, 4]])
    assert data.tasks.tolist() == ["1", "2"]
    refused(saved(tmp_path, "t.csv", (HEADER + "1,1,1\n1, 1,2\n").replace(",", mark)), "rows 1 and 2", "once")
    refused(saved(tmp_path, "e.csv", (HEADER + "1,1,1\n  ,2,2\n").replace(",", mark)), "row 2", "task_id is empty")


@pytest.mark.parametrize("other", ["t0 ", " t0", '"t0 "', '"t0\u00a0"', "t0\u3000", "t0\t"])
def test_labels_that_differ_in_blanks_alone_are_refused(tmp_path, other):
    text = f"{HEADER}t0,0,1\nt1,0,1\n{other},1,1\nt1,1,1\n"
    refused(saved(tmp_path, "r.csv", text), "column task_id holds 't0' and ", "differ in spelling", "one spelling")
    assert read_returns(saved(tmp_path, "s.csv", text.replace("\nt0,", f"\n{other},"))).tasks.tolist() == ["t0", "t1"]


def test_an_array_of_several_policies_is_told_the_way_on(tmp_path):
    """Stacked as tasks or as rollouts, they would be taken for one policy."""
    returns = np.ones((5, 12, 30))
    for name, content in (("r.npz", archive(returns=returns)), ("r.npy", single(returns))):
        path = saved(tmp_path, name, content)
        refused(path, "of 5 policies or seeds", " write each, returns[i], ", " at delta / 5")


# Entries that are nearly numbers, and what is expected in their place.
NEARLY = {
    "675.1 ± 49.8": "a mean and its deviation hold no trials",
    "17 of 20": "successes and trials alone, such as 17/20",
    "85 %": "a share such as 0.95, and the number of trials",
    "3-May": "of which a spreadsheet made a date",
    "sometimes": "two words such as true and false",
}
# Labels that look alike, and those that may mean the same.
UNSEEN = [("mug", f"mug{mark}") for mark in "\u200b\ufeff\u00ad\u200e\ufe0f\u200d\u2060\U000e0041\U0001d173\x08"]
UNSEEN += [("Pick  it", "Pick it"), ("caf\u00e9", "cafe\u0301")]
ALIKE = [("Pick", "pick"), ("task_01", "task_1"), ("01", "1"), ("pick-cube", "pick_cube"), ("./push", "push")]
ALIKE += [("1e3", "1000"), ("mug-1", "mug\u20131"), ("mug1", "mug\uff11"), ("mug", "'mug'"), ("Pick it", "Pick it.")]
ALIKE += [("take the \u201cmug\u201d", "take the `mug'"), ("pots &amp; pans", "pots & pans"), ("mug 1", "mug1")]
ALIKE += [("go left", "go_left!")]
APART = "a-1 a-2,T1. T2.,dx-1 dx1,C C++ C#,v1.0 v1.00,1.5 15,lv-1-1 lv-11,x=-1 x=1,a a',? !"


def of_rows(header, row, count):
    return "\n".join([header, *(row(i) for i in range(count)), ""])


def of_labels(*labels):
    return of_rows("task,success", lambda i: f"{labels[i]},1", len(labels))


def of_trials(label, trial, many=1):
    rows = (label, trial, lambda i, j: 1, many if callable(many) else lambda i, j: many)
    return of_rows("task,trial,success,num_episodes", lambda i: ",".join(f"{of(i // 3, i % 3)}" for of in rows), 24)


# What is said of tables: they are refused; in brackets, asked about; or read in silence.
SAID = [
    *((f"task,score\na,{entry}\nb,{entry}\n", said) for entry, said in NEARLY.items()),
    *((of_labels(*pair), "spelling alone") for pair in UNSEEN),
    *((of_labels(*pair, "other"), "(if they are one task, it is counted twice)") for pair in ALIKE),
    *((of_labels(*labels.split(), "1 12", "11 2"), "") for labels in APART.split(",")),
    *((f"task{a}return\na{a}1{b}234\nb{a}987\n", "(sets thousands apart)") for a, b in (";.", ";,", "\t,", ",.")),
    ("task,return\na,1.234\nb,12.345\n", ""),
    ("task,scene,episode,success\na,s,0,1\na,t,0,1\n", "both as task, where the other numbers tasks of its own"),
    (
        "env,training_level,trial,success\na,4,0,1\na,8,0,1\n",
        "tells the trials of a task apart (--trial), both as task",
    ),
    (of_labels("a", "task", "b"), "row 2: task is 'task', expected the names of columns in the first line alone"),
    *(
        (
            of_rows(f"task_id,{name},success", lambda i: f"r{i},k{i % 4},{i % 2}", 20),
            f"(each row has a task of its own, and entries of column '{name}' repeat)",
        )
        for name in ("task", "task_name", "env", "instruction")
    ),
    *(
        (of_rows("task,success", lambda i: f"k{i % 28 // 4}x,{i % 28 % 3 > 0:d}", 28 * n), f"(repeat {n} times)")
        for n in (2, 3)
    ),
    (
        of_rows("task,success", lambda i: f"k{i // 8}x,{i // 2 % 3 > 0:d}", 56),
        "(their order or one by one)",
    ),
    (of_rows("task,success", lambda i: f"k{i % 28 // 4}x,{i % 27 % 3 > 0:d}", 56), ""),
    (of_trials(lambda i, j: f"k{i} [attempt {j}]", lambda i, j: 0), "(labels of tasks are such as 'k0 [attempt 0]')"),
    (of_trials(lambda i, j: f"k{i}_{('ours', 'baseline')[i % 2]}", lambda i, j: j), "(if these tell policies)"),
    (of_trials(lambda i, j: f"policy={'ab'[i % 2]} k{i}", lambda i, j: j), "(if these tell policies)"),
    (of_trials(lambda i, j: f"k{i}", lambda i, j: f"step{j}000-7f3a2{i}"), "(labels of trials are such as)"),
    (of_trials(lambda i, j: f"k{i}", lambda i, j: f"lr{j}-9b1cc{i}"), "(labels of trials are such as)"),
    (of_trials(lambda i, j: f"k{i}", lambda i, j: uuid.UUID(int=7**45 * (8 * i + j + 1) % 2**128)), ""),
    (
        of_rows("task,attempt,success", lambda i: f"k{i},{1 + i % 3},1", 12),
        "(each task has one trial, of 3 numbers from 1 to 3)",
    ),
]


@pytest.mark.parametrize(("text", "said"), SAID)
def test_what_is_said_of_a_table(tmp_path, text, said):
    path, names = saved(tmp_path, "t.csv", text), {*re.split("[^a-z_]", text.split("\n")[0])}
    options = {} if names & {"episode", "trial", "attempt"} else {"trial": None}
    data = check_said(said, functools.partial(read_returns, path, **options))
    if not said:
        assert len(data.tasks) == len({line.split(",")[0] for line in text.splitlines()[1:]})


@pytest.mark.parametrize("entries", [[b"pi0", b"act"], [["pi0"], ["act"]]])
def test_short_bytes_and_lists_of_a_table_are_looked_at(tmp_path, entries):
    rows = {"task": np.repeat(np.arange(20), 4), "success": np.arange(80) % 3 > 0, "network": entries * 40}
    path = saved(tmp_path, "r.parquet", parquet(rows))
    with pytest.warns(UserWarning, match="column 'network'"):
        assert "network" in read_returns(path, trial=None).unread


@pytest.mark.parametrize("copied", [lambda x: np.tile(x, (1, 3)), lambda x: np.repeat(x, 2, axis=1)])
@pytest.mark.parametrize("name", ["r.npz", "r.npy"])
def test_copies_in_an_array_are_asked_about(tmp_path, name, copied):
    returns = copied(np.random.default_rng(0).random((30, 4)) < 0.8)
    path = saved(tmp_path, name, archive(returns=returns) if name == "r.npz" else single(returns))
    with pytest.warns(UserWarning, match=f"outcomes of each task repeat {returns.shape[1] // 4} times"):
        read_returns(path)


def test_an_array_of_failures_is_refused(tmp_path):
    path = saved(tmp_path, "r.npz", archive(failed=np.ones((5, 4), bool), cost=np.full((5, 4), 0.5)))
    refused(path, "column failed is named after failures, not successes", value="failed")
    with pytest.warns(UserWarning, match="column cost is a cost by its name"):
        read_returns(path, value="cost")


@pytest.mark.parametrize("name", ["tasks", "mass"])
def test_arrays_that_describe_tasks_are_compared(tmp_path, name):
    """Of two policies on the same tasks; of drawn ones by their parameters."""
    entries = np.linspace(0, 1, 12) if name == "mass" else np.char.add("scene_", np.arange(12).astype(str))
    files = [
        read_returns(saved(tmp_path, f"{i}.npz", archive(returns=np.full((12, 6), i), **{name: np.roll(entries, i)})))
        for i in range(2)
    ]
    align_tasks(files[0], dataclasses.replace(files[0], returns=files[1].returns, sha256="other"))
    with pytest.warns(UserWarning, match=f"tasks of the same label differ in {name} .*12 of 12 tasks"):
        align_tasks(*files)
