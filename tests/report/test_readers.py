"""Files of returns: what is read, and what is refused with which message."""

import csv
import gzip
import hashlib
import io
import pickle
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxcert.report import read_returns, returns_facts, write_returns

HEADER = "task_id,episode_id,total_return\n"
SIX_ROWS = HEADER + "a,1,0.25\na,2,0.5\nb,1,1.0\nb,2,0.75\nc,1,-2e-1\nc,2,.5\n"


def saved(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def archive(**arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def single(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def parquet(columns: dict) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


def refused(path: Path, *words: str) -> None:
    """A ValueError of one line that starts with the file and holds the words."""
    with pytest.raises(ValueError, match=re.escape(str(path))) as caught:
        read_returns(path)
    message = str(caught.value)
    assert "\n" not in message
    assert [word for word in words if word not in message] == []


def test_other_names_between_semicolons_are_named(tmp_path):
    (tmp_path / "a.csv").write_text("Welt;Lauf;Punkte\n0;0;44,71\n0;1;40,5\n")
    with pytest.raises(ValueError, match=r"has no column task_id.*found 'Welt', 'Lauf', 'Punkte'"):
        read_returns(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("float32", "float32"), ("float16", "float32"), ("float64", "float64"), ("int64", "float64"), ("bool", "bool")],
)
def test_npz_keeps_values_and_type(tmp_path, dtype, expected):
    returns = np.array([[0, 1, 1], [1, 0, 1]], dtype=dtype)
    data = read_returns(saved(tmp_path, "r.npz", archive(returns=returns, seed=3)))
    assert data.returns.dtype == expected
    np.testing.assert_array_equal(data.returns, returns)
    assert data.where is None
    np.testing.assert_array_equal(data.num_rollouts, [3, 3])


def test_npz_with_where_and_digest(tmp_path):
    where = np.array([[True, False], [True, True]])
    content = archive(returns=np.ones((2, 2)), where=where)
    with pytest.warns(
        UserWarning, match="1 of 2 tasks have fewer than 2 rollouts, 1 of 4 are missing: certificates hold"
    ):
        data = read_returns(saved(tmp_path, "r.NPZ", content))
    np.testing.assert_array_equal(data.where, where)
    np.testing.assert_array_equal(data.num_rollouts, [1, 2])
    assert data.sha256 == hashlib.sha256(content).hexdigest()


SOME_ARE_MISSING = pytest.mark.filterwarnings("ignore:.* are missing:UserWarning")


@pytest.mark.parametrize("kind", ["npz", "csv", "parquet"])
def test_missing_rollouts_are_counted_and_refused_if_strict(tmp_path, kind):
    rows = [("a", 0, 1.0), ("b", 0, 1.0), ("b", 1, 2.0), ("b", 2, 3.0), ("c", 0, 1.0), ("c", 1, 1.0), ("c", 2, 1.0)]
    where = np.array([[True, False, False], [True] * 3, [True] * 3])
    content = archive(returns=np.ones((3, 3)), where=where) if kind == "npz" else encoded(rows, kind)
    path = saved(tmp_path, f"r.{kind}", content)
    words = "1 of 3 tasks have fewer than 3 rollouts, 2 of 9 are missing"
    with pytest.warns(UserWarning, match=re.escape(f"{path}: {words}: certificates hold only if")):
        assert read_returns(path).missing == words
    with pytest.raises(ValueError, match=re.escape(f"{path}: {words}; expected as many of every task")):
        read_returns(path, strict=True)


def test_strict_takes_a_file_in_which_none_is_missing(tmp_path):
    full = archive(returns=np.ones((2, 2)), where=np.ones((2, 2), bool))
    assert read_returns(saved(tmp_path, "r.npz", full), strict=True).missing == ""


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


def test_same_returns_from_every_format(tmp_path):
    returns = np.random.default_rng(0).normal(size=(7, 4))
    rows = [(task, episode, float(returns[task, episode])) for task in range(7) for episode in range(4)]
    text = encoded(rows, "csv")
    files = {
        "r.csv": text,
        "r.csv.gz": gzip.compress(text),
        "r.parquet": encoded(rows, "parquet"),
        "r.npz": archive(returns=returns),
        "r.npy": single(returns),
    }
    for name, content in files.items():
        data = read_returns(saved(tmp_path, name, content))
        np.testing.assert_array_equal(data.returns, returns)
        np.testing.assert_array_equal(data.tasks.astype(int), np.arange(7))


@pytest.mark.parametrize(
    "text",
    [
        "task_id;episode_id;total_return\na;1;0,5\na;2;-1,25e1\n",
        "\ufefftask_id;episode_id;total_return\r\na;1;0.5\r\na;2;-12.5\r\n",
        'note;task_id;episode_id;total_return\n"1,2,3";a;1;,5\n"";a;2;-12,5\n',
        "task_id\tepisode_id\ttotal_return\na\t1\t0,5\na\t2\t-12,5\n",
    ],
)
def test_semicolons_tabs_and_decimal_commas(tmp_path, text):
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
    with pytest.raises(ValueError, match=r"its last line has no line ending.*expected a line ending"):
        read_returns(path, strict=True)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_of_other_names(tmp_path, kind):
    rows = {"env": ["a", "a", "b", "b"], "try": [0, 1, 0, 1], "reward": [1.0, 2.0, 3.0, 4.0]}
    text = "env,try,reward\na,0,1\na,1,2\nb,0,3\nb,1,4\n"
    path = saved(tmp_path, f"r.{kind}", text if kind == "csv" else parquet(rows))
    for episode in ("try", None):
        data = read_returns(path, task="env", episode=episode, value="reward")
        np.testing.assert_array_equal(data.returns, [[1, 2], [3, 4]])
        assert data.tasks.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="has no column episode_id; found 'env', 'try', 'reward'"):
        read_returns(path, task="env", value="reward")
    arrays = saved(tmp_path, "r.npz", archive(returns=np.ones((2, 2))))
    with pytest.raises(ValueError, match="has arrays and no columns env, episode_id, total_return"):
        read_returns(arrays, task="env")


def test_bad_npy(tmp_path):
    refused(saved(tmp_path, "a.npy", single(np.ones(3))), "its array has shape (3,)", "[num_tasks, num_rollouts]")
    refused(saved(tmp_path, "b.npy", single(np.ones((2, 2)) * 1j)), "dtype complex128")
    refused(saved(tmp_path, "c.npy", SIX_ROWS), "not an .npy file")
    refused(saved(tmp_path, "d.npy", single(np.ones((2, 2))) + b"x"), "goes on after its array")


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


def test_parquet_from_pandas_categories_numbers_tasks_by_first_row(tmp_path):
    """The categories are sorted; the tasks must not be."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"task_id": ["z", "a"], "episode_id": [0, 0], "total_return": [1.0, 2.0]})
    path = tmp_path / "r.parquet"
    frame.astype({"task_id": "category"}).to_parquet(path)
    np.testing.assert_array_equal(read_returns(path).returns, [[1.0], [2.0]])


def test_csv_with_byte_order_mark_quotes_and_crlf(tmp_path):
    text = '﻿task_id,episode_id,total_return\r\n"a, b",1,"2.5"\r\n\r\n"a, b",2,3\r\n'
    np.testing.assert_array_equal(read_returns(saved(tmp_path, "r.csv", text)).returns, [[2.5, 3.0]])


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_blanks_around_labels_make_no_other_tasks(tmp_path, mark):
    text = (HEADER + "1,1,1\n 1, 2, 2\n2 ,1,3\n2,2 ,4\n").replace(",", mark)
    data = read_returns(saved(tmp_path, "r.csv", text))
    np.testing.assert_array_equal(data.returns, [[1, 2], [3, 4]])
    assert data.tasks.tolist() == ["1", "2"]
    refused(saved(tmp_path, "t.csv", (HEADER + "1,1,1\n 1, 1,2\n").replace(",", mark)), "rows 1 and 2", "once")
    refused(saved(tmp_path, "e.csv", (HEADER + "1,1,1\n  ,2,2\n").replace(",", mark)), "row 2", "task_id is empty")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", ["no column task_id, episode_id, total_return", "found 'a', 'b'"]),
        ("task_id,episode_id,reward\n1,2,3\n", ["no column total_return", "'reward'"]),
        ("task_id," + HEADER + "1,1,1,1\n", ["more than one column task_id"]),
        (HEADER, ["no rows"]),
        (HEADER + "a,1,1\nb,1,1\na,1,2\n", ["rows 1 and 3", "task_id a, episode_id 1", "once"]),
        (HEADER + "a,1,1\nb,1,\n", ["row 2", "total_return is empty", "finite number"]),
        (HEADER + "a,1,1\nb,1,nan\n", ["row 2", "'nan'", "finite number"]),
        (HEADER + "a,1,-inf\n", ["row 1", "'-inf'"]),
        (HEADER + "a,1,1e999\n", ["row 1", "'1e999'"]),
        (HEADER + "a,1,ten\n", ["row 1", "'ten'"]),
        (HEADER + "a,1,0x10\n", ["row 1", "'0x10'"]),
        (HEADER + ",1,1\n", ["row 1", "task_id is empty"]),
        (HEADER + "a,,1\n", ["row 1", "episode_id is empty"]),
        (HEADER + "a,1,1\nb,1\n", ["cannot be read as CSV", "Expected 3 columns, got 2"]),
        ("\n", ["cannot be read as CSV"]),
    ],
)
def test_bad_csv(tmp_path, text, words):
    refused(saved(tmp_path, "r.csv", text), *words)


def test_csv_that_is_no_text(tmp_path):
    refused(saved(tmp_path, "png.csv", b"\x89PNG\r\n\x1a\n\0\0\n"), "not a CSV file")
    refused(saved(tmp_path, "latin.csv", HEADER.encode() + b"\xe9,1,1\n"), "cannot be read as CSV", "UTF8")


GOOD = {"task_id": [1, 1, 2], "episode_id": [0, 1, 0], "total_return": [1.0, 2.0, 3.0]}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"total_return": [1.0, None, 2.0]}, ["row 2", "total_return is empty"]),
        ({"total_return": [1.0, 2.0, float("inf")]}, ["row 3", "inf"]),
        ({"total_return": [float("nan"), 2.0, 3.0]}, ["row 1", "nan"]),
        ({"total_return": ["1", "x", "2"]}, ["row 2", "'x'"]),
        ({"total_return": [[1.0], [2.0], [3.0]]}, ["row 1", "total_return is ", "expected a finite number"]),
        ({"task_id": [1, None, 2]}, ["row 2", "task_id is empty"]),
        ({"task_id": [1.0, float("nan"), 2.0]}, ["row 2", "task_id is nan"]),
        ({"task_id": [[1], [1], [2]]}, ["column task_id holds", "expected integers or text"]),
        ({"episode_id": [0, 0, 0]}, ["rows 1 and 2", "task_id 1, episode_id 0"]),
    ],
)
def test_bad_parquet(tmp_path, columns, words):
    refused(saved(tmp_path, "r.parquet", parquet(GOOD | columns)), *words)


def test_parquet_without_a_column_or_rows(tmp_path):
    renamed = {"tasks": [1], "episode_id": [0], "total_return": [1.0]}
    refused(saved(tmp_path, "a.parquet", parquet(renamed)), "no column task_id", "'tasks'")
    refused(saved(tmp_path, "b.parquet", parquet({name: pa.array([], pa.int64()) for name in GOOD})), "no rows")
    refused(saved(tmp_path, "c.parquet", SIX_ROWS), "not a Parquet file")
    refused(saved(tmp_path, "d.parquet", b"PAR1" + b"x" * 40 + b"PAR1"), "cannot be read as Parquet")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"rewards": np.ones((2, 2))}, ["no array 'returns'", "'rewards'"]),
        ({"returns": np.ones(3)}, ["shape (3,)", "[num_tasks, num_rollouts]"]),
        ({"returns": np.ones((2, 2, 2))}, ["shape (2, 2, 2)"]),
        ({"returns": np.ones((0, 2))}, ["shape (0, 2)", "at least one task"]),
        ({"returns": np.ones((2, 0))}, ["shape (2, 0)", "one rollout"]),
        ({"returns": np.array([["1"]])}, ["dtype <U1", "real numbers"]),
        ({"returns": np.ones((1, 1), complex)}, ["complex128"]),
        ({"returns": np.ones((2, 2)), "where": np.ones((2, 2))}, ["'where'", "float64", "bool"]),
        ({"returns": np.ones((2, 2)), "where": np.ones((2, 1), bool)}, ["'where'", "(2, 1)", "(2, 2)"]),
    ],
)
def test_bad_npz(tmp_path, arrays, words):
    refused(saved(tmp_path, "r.npz", archive(**arrays)), *words)


def test_npz_whose_member_is_no_array(tmp_path):
    with zipfile.ZipFile(tmp_path / "r.npz", "w") as file:
        file.writestr("returns", "hello")
    refused(tmp_path / "r.npz", "'returns' is no array")


class _Trap:
    """Says so if it is ever unpickled."""

    opened = False

    def __reduce__(self):
        return (setattr, (_Trap, "opened", True))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_lost_quote_swallows_no_rollouts(tmp_path, end):
    """In a column that is not even read; the second task would be part of the note on the first."""
    text = HEADER.strip() + ',note\na,1,1.0,"slow\nb,1,0.0,"crashed\nc,1,1.0,\n'
    path = saved(tmp_path, "r.csv", text.replace("\n", end))
    with pytest.raises(ValueError, match=r"r\.csv: line 2: has a quote without another one, expected each rollout on"):
        read_returns(path)
    saved(
        tmp_path, "r.csv", text.replace('"slow', '"slow, ""too"""').replace('"crashed', '"crashed"').replace("\n", end)
    )
    assert read_returns(path).returns.tolist() == [[1.0], [0.0], [1.0]]


@pytest.mark.parametrize(
    ("names", "twice"),
    [
        (("returns.npy", "returns.npy"), "returns"),
        (("returns.npy", "returns"), "returns"),
        (("returns", "returns.npy"), "returns"),
        (("returns.npy", "where.npy", "where.npy"), "where"),
        (("returns.npy", "mass.npy", "mass.npy"), "mass"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_an_array_that_is_there_twice_has_no_meaning(tmp_path, names, twice):
    """NumPy takes the first or the last, other readers another one."""
    with zipfile.ZipFile(tmp_path / "r.npz", "w") as packed:
        for i, name in enumerate(names):
            packed.writestr(name, single(np.full((3, 2), float(i))))
    for read in (read_returns, returns_facts):
        with pytest.raises(ValueError, match=rf"r\.npz: holds 2 arrays '{twice}'; expected each name once"):
            read(tmp_path / "r.npz")


def test_of_two_archives_in_a_row_none_is_read(tmp_path):
    both = saved(tmp_path, "r.npz", archive(returns=np.zeros((3, 2))) + archive(returns=np.ones((3, 2))))
    with pytest.raises(ValueError, match=r"r\.npz: its archive follows other content"):
        read_returns(both)


@pytest.mark.parametrize("name", ["r.npz", "r.parquet"])
def test_facts_that_are_stated_twice_are_none(tmp_path, monkeypatch, name):
    """A protocol of either seed is contradicted by neither."""
    monkeypatch.setattr("jaxcert.report._returns.json.dumps", lambda _: '{"seed": 7, "seed": 8}')
    write_returns(tmp_path / name, np.ones((3, 2)))
    assert returns_facts(tmp_path / name) == {}


def test_pickled_objects_are_never_loaded(tmp_path):
    trapped = np.array([[_Trap()]], dtype=object)
    pickle.loads(pickle.dumps(_Trap()))
    assert _Trap.opened  # the trap works
    _Trap.opened = False
    refused(saved(tmp_path, "r.npz", archive(returns=trapped)), "pickled objects", "never loaded")
    refused(saved(tmp_path, "r.npy", single(trapped)), "pickled objects", "never loaded")
    refused(saved(tmp_path, "w.npz", archive(returns=np.ones((1, 1)), where=trapped)), "pickled objects")
    data = read_returns(saved(tmp_path, "extra.npz", archive(returns=np.ones((1, 1)), extra=trapped)))
    assert data.returns.tolist() == [[1.0]]
    assert not _Trap.opened


def test_what_is_no_file_of_returns(tmp_path):
    refused(saved(tmp_path, "r.txt", "1 2 3"), "suffix '.txt'", ".npz, .npy, .parquet, .csv, .csv.gz")
    refused(saved(tmp_path, "r.npz", SIX_ROWS), "not an .npz file")
    refused(saved(tmp_path, "r.csv", b""), "is empty")
    (tmp_path / "folder.npz").mkdir()
    refused(tmp_path / "folder.npz", "is a directory")
    with pytest.raises(FileNotFoundError, match=r"none\.csv: no such file"):
        read_returns(tmp_path / "none.csv")


@pytest.mark.parametrize("name", ["r.npz", "r.npy", "r.parquet", "r.csv.gz"])
def test_every_cut_of_a_binary_file_is_refused(tmp_path, name):
    whole = {
        "r.npz": archive(returns=np.ones((3, 4))),
        "r.npy": single(np.ones((3, 4))),
        "r.parquet": parquet(GOOD),
        "r.csv.gz": gzip.compress(SIX_ROWS.encode()),
    }[name]
    for length in range(1, len(whole), 7):
        refused(saved(tmp_path, name, whole[:length]))


@SOME_ARE_MISSING
def test_every_cut_of_a_csv_is_refused_or_warned_of_or_ends_with_a_row(tmp_path):
    for length in range(1, len(SIX_ROWS)):
        path = saved(tmp_path, "r.csv", SIX_ROWS[:length])
        row = SIX_ROWS[:length].splitlines()[-1]
        if SIX_ROWS[length - 1] == "\n" and length > len(HEADER):
            assert read_returns(path).num_rollouts.sum() == SIX_ROWS[:length].count("\n") - 1
        elif length > len(HEADER) and re.fullmatch(r".,.,-?(\d+\.?\d*|\.\d+)(e-\d)?", row):
            with pytest.warns(UserWarning, match=r"r\.csv: its last line has no line ending: if"):
                read_returns(path)
            with pytest.raises(ValueError, match="expected a line ending"):
                read_returns(path, strict=True)
        else:
            refused(path)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_damaged_npz_is_refused_or_unharmed(tmp_path_factory, data):
    returns = np.arange(12.0).reshape(3, 4)
    content = bytearray(archive(returns=returns))
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path = saved(tmp_path_factory.mktemp("damaged"), "r.npz", bytes(content))
    read = returns_or_message(path)
    if isinstance(read, str):
        assert read.startswith(str(path))
        assert "\n" not in read
    else:
        np.testing.assert_array_equal(read, returns)


def returns_or_message(path: Path) -> np.ndarray | str:
    try:
        return read_returns(path).returns
    except ValueError as error:
        return str(error)


@SOME_ARE_MISSING
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_damaged_parquet_file_raises_nothing_but_value_errors(tmp_path_factory, data):
    content = bytearray(parquet(GOOD))
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path = saved(tmp_path_factory.mktemp("damaged"), "r.parquet", bytes(content))
    read = returns_or_message(path)
    assert read.startswith(str(path)) if isinstance(read, str) else np.isfinite(read).any()


@pytest.mark.parametrize("name", ["r.csv", "r.parquet"])
def test_missing_pyarrow_is_named_with_its_extra(tmp_path, monkeypatch, name):
    path = saved(tmp_path, name, SIX_ROWS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pyarrow.*pip install 'jaxcert\[io\]'"):
        read_returns(path)
