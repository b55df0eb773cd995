"""Files of returns that are refused: bad, ambiguous, cut short or damaged, in one line that names them."""

import gzip
import json
import pickle
import re

import numpy as np
import pyarrow as pa
import pytest
from saved_files import GOOD, HEADER, SIX_ROWS, SOME_ARE_MISSING, archive, parquet, refused, saved, single

from jaxcert.tables import read_returns, returns_facts, write_returns

ONES = np.ones((2, 2))
CSV = [
    ("a,b\n1,2\n", "no column task_id, episode_id, total_return", "found 'a', 'b'"),
    ("task_id,episode_id,points\n1,2,3\n", "no column total_return", "'points'"),
    ("task_id," + HEADER + "1,1,1,1\n", "more than one column task_id"),
    ("task\u200b_id," + HEADER + "1,1,1,1\n", "more than one column task_id"),  # as a sentence shows it
    (HEADER, "no rows"),
    (HEADER + "a,1,1\nb,1,1\na,1,2\n", "rows 1 and 3", "task_id a, episode_id 1", "once"),
    (HEADER + "a,1,1\nb,1,\n", "row 2", "total_return is empty", "finite number"),
    (HEADER + "a,1,1\nb,1,nan\n", "row 2", "'nan'", "finite number"),
    (HEADER + "a,1,-inf\n", "row 1", "'-inf'"),
    (HEADER + "a,1,1e999\n", "row 1", "'1e999'"),
    (HEADER + "a,1,ten\n", "row 1", "'ten'"),
    (HEADER + "a,1,0x10\n", "row 1", "'0x10'"),
    (HEADER + ",1,1\n", "row 1", "task_id is empty"),
    (HEADER + "a,,1\n", "row 1", "episode_id is empty"),
    (HEADER + "a,1,1\nb,1\n", "cannot be read as CSV", "Expected 3 columns, got 2"),
    ("\n", "cannot be read as CSV"),
    (b"\x89PNG\r\n\x1a\n\0\0\n", "not a CSV file"),
    (HEADER.encode() + b"\xe9,1,1\n", "cannot be read as CSV", "UTF8"),
    (b"", "is empty"),
]
COLUMNS = [
    ({"total_return": [True, None, True]}, "row 2: total_return is empty, expected true or false, as in row 1"),
    ({"total_return": [[1.0], [2.0], [3.0]]}, "row 1", "total_return is ", "expected a finite number"),
    ({"task_id": [1.0, float("nan"), 2.0]}, "row 2", "task_id is nan"),
    ({"task_id": [[1], [1], [2]]}, "column task_id holds", "expected integers or text"),
    ({name: pa.array([], pa.int64()) for name in GOOD}, "no rows"),
]
ARRAYS = [
    ({"rewards": ONES}, "no array 'returns'", "'rewards'"),
    ({"returns": np.ones(3)}, "shape (3,)", "[num_tasks, num_rollouts]"),
    ({"returns": np.ones((2, 2, 2))}, "shape (2, 2, 2)"),
    ({"returns": np.ones((0, 2))}, "shape (0, 2)", "at least one task"),
    ({"returns": np.ones((2, 0))}, "shape (2, 0)", "one rollout"),
    ({"returns": np.array([["1"]])}, "dtype <U1", "real numbers"),
    ({"returns": np.ones((1, 1), complex)}, "complex128"),
    ({"returns": ONES, "where": ONES}, "'where'", "float64", "bool"),
    ({"returns": ONES, "where": np.ones((2, 1), bool)}, "'where'", "(2, 1)", "(2, 2)"),
]
NO_TABLES = ({"a": [1], "b": [1, 2]}, [1, 2], [[]], "text", 3, None, "eval", {})
RENAMED = {"tasks": [1], "episode_id": [0], "total_return": [1.0]}
# Files by name and content, and words of what is said of them.
FILES = [
    *(("r.csv", *each) for each in CSV),
    *(("r.parquet", parquet(GOOD | columns), *words) for columns, *words in COLUMNS),
    *(("r.npz", archive(**arrays), *words) for arrays, *words in ARRAYS),
    ("r.parquet", parquet(RENAMED), "no column task_id", "'tasks'"),
    ("r.parquet", SIX_ROWS, "not a Parquet file"),
    ("r.parquet", b"PAR1" + b"x" * 40 + b"PAR1", "cannot be read as Parquet"),
    ("r.npz", SIX_ROWS, "not an .npz file"),
    ("r.npy", single(np.ones(3)), "its array has shape (3,)", "[num_tasks, num_rollouts]"),
    ("r.npy", single(ONES * 1j), "dtype complex128"),
    ("r.npy", SIX_ROWS, "not an .npy file"),
    ("r.npy", single(ONES) + b"x", "goes on after its array"),
    *(("r.json", json.dumps(value), "is of no known tool and no array of objects") for value in NO_TABLES),
    *(
        ("r.json", text)
        for text in ("[]", '{"eval": 1}', '{"eval": 1, "eval": 2}', "[" * 100_000, b'{"per_task": "\xff"}')
    ),
    *(("r.json", content) for content in (b"\xff\xfe{", b'{"per_task": [' + b"9" * 5000 + b"]}")),
    ("r.dat", "1 2 3", "suffix '.dat'", ".npz, .npy, .parquet, .arrow, .feather, .csv, .tsv, .jsonl"),
    ("a.xlsx", "1 2 3", "saved as CSV"),
    ("t.pkl", b"\x80\x04", "may run any code"),
    ("t.md", b"|task|score|\n", "its table as CSV"),
    ("t.csv", "task,score\na,1\n".encode("utf-16"), "UTF-16"),
    ("t.csv", b"sep=;\ntask;score\na;1\n", "expected them in the first line"),
    ("t.csv", b"# of 3 May\n# by me\ntask;score\na;1\n", "begins with 2 lines ", "(tail -n +3 FILE > NEW)"),
    ("t.csv", b"#task,score\na,1\n", "(tail -n +2 FILE > NEW), or, if these are the names, without the #"),
    ("t.csv", b",Ours,,,Theirs,,\ntask,1,2,3,1,2,3\na,1,1,1,0,0,0\n", "two lines of names"),
    ("t.csv", b"a,1,1,1,0,1\nb,1,0,1,0,1\n", "expected the names of columns"),
    ("t.json", b'{"task": "a", "success": true}', "an object in each line"),
    ("t.npz", archive(success_matrix=np.ones((3, 2))), "expected one of that name"),
    ("notes.txt", "1 2 3", "is a text"),
    ("MUJOCO_LOG.TXT", "1 2 3", "is MuJoCo's log of"),
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file[0]} {' '.join(file[2:]):.40}")
def test_a_file_that_holds_no_returns_is_refused(tmp_path, file):
    name, content, *words = file
    refused(saved(tmp_path, name, content), *words)


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
    refused(path, ": line 2: has a quote without another one, expected each rollout on")
    saved(
        tmp_path, "r.csv", text.replace('"slow', '"slow, ""too"""').replace('"crashed', '"crashed"').replace("\n", end)
    )
    assert read_returns(path).returns.tolist() == [[1.0], [0.0], [1.0]]


def test_facts_that_are_stated_twice_are_none(tmp_path, monkeypatch):
    """A protocol of either seed is contradicted by neither."""
    monkeypatch.setattr("jaxcert.tables._written.json.dumps", lambda _: '{"seed": 7, "seed": 8}')
    write_returns(tmp_path / "r.npz", np.ones((3, 2)))
    assert returns_facts(tmp_path / "r.npz") == {}


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


@pytest.mark.parametrize("name", ["r.npy", "r.parquet", "r.csv.gz"])
def test_every_cut_of_a_binary_file_is_refused(tmp_path, name):
    whole = {
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
            refused(path, "expected a line ending", strict=True)
        else:
            refused(path)
