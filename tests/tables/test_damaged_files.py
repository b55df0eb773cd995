"""Every reader with files that are cut, garbled, foreign, or hold odd values: a ValueError that names the file."""

import gzip
import io
import json
import re

import jax.numpy as jnp
import numpy as np
import pytest
from saved_files import said

import jaxcert
from jaxcert.report import Protocol, certificate_record, read_certificate, write_certificates
from jaxcert.tables import read_returns, returns_facts, write_returns
from jaxcert.training._checkpoint_budget import CheckpointBudget, Ledger

pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
X = np.random.default_rng(0).uniform(size=(4, 3))
TABLE = "task_id,episode_id,total_return\n" + "".join(f"{i},{j},{X[i, j]}\n" for i in range(4) for j in range(3))
COLUMNS = {"task_id": np.repeat(np.arange(4), 3), "episode_id": np.tile(np.arange(3), 4), "total_return": X.ravel()}


def _certificate(path):
    certificate = jaxcert.certify_lower_bounds(jnp.full(50, 0.75), jnp.array([0.5]), delta=0.01, beta=0.05)
    write_certificates(path, [certificate_record(certificate, support=(0.0, 1.0))])


def _log(path):
    ledger = Ledger(path)
    number, delta = ledger.begin(0, CheckpointBudget(0.1))
    ledger.finish(number, 0, "policy", {"certify/delta": delta})


READERS = {
    "r.npz": (lambda path: write_returns(path, X, facts={"a": 1}), (read_returns, returns_facts)),
    "r.npy": (lambda path: np.save(path, X), (read_returns,)),
    "r.parquet": (lambda path: parquet.write_table(pa.table(COLUMNS), path), (read_returns,)),
    "r.csv": (lambda path: path.write_text(TABLE), (read_returns,)),
    "r.csv.gz": (lambda path: path.write_bytes(gzip.compress(TABLE.encode(), mtime=0)), (read_returns,)),
    "p.toml": (
        Protocol(support=(0, 1), delta=0.01, thresholds=(0.5,), num_tasks=20, num_rollouts=10, metric="é").write,
        (Protocol.read,),
    ),
    "c.json": (_certificate, (read_certificate,)),
    "l.jsonl": (_log, (Ledger,)),
}
FOREIGN = [
    b"\0",
    b"PK",
    b"PK\x03\x04" + b"\0" * 100,
    b"PK\x05\x06" + b"\0" * 18,
    b"PAR1" + b"\0" * 8 + b"PAR1",
    b"\x93NUMPY\x01\x00\xff\xff{",
    b"\x1f\x8b\x08" + b"\0" * 7,
    b"\xff\xfe\x00",
    b"x" * 200_000,
    b'"' * 200_000,
    b"x" * 200_000 + b",task_id,episode_id,total_return\n1,1,1,1\n",
    b"a," * 10_000,
    b"\r\r\r",
    b"[" * 100_000,
    b"a = " + b"[" * 100_000,
    b"a = " + b"{a = " * 10_000,
    b"[data]\nreturns = " + b"9" * 5000,
]


def garbled(content, rng):
    """Cut, changed, or put together in another way."""
    i, j = sorted(rng.integers(len(content), size=2))
    noise = rng.integers(256, size=8, dtype=np.uint8).tobytes()
    ways = [content[:i], content[:i] + content[j:], content[:j] + content[i:]]
    return [*ways, content[:i] + noise + content[i:], content[:i] + noise + content[i + 8 :]][rng.integers(5)]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", READERS)
def test_damaged_and_foreign_files(tmp_path, name):
    path, rng = tmp_path / name, np.random.default_rng(1)
    write, readers = READERS[name]
    write(path)
    content = path.read_bytes()
    for reader in readers:
        reader(path)
        for other in (*FOREIGN, *(garbled(content, rng) for _ in range(60))):
            path.write_bytes(other)
            assert str(path) in said(reader, path)
        path.write_bytes(FOREIGN[1])
        if reader is not returns_facts and name != "l.jsonl":  # a log may end in the middle of a line
            with pytest.raises(ValueError, match=re.escape(str(path))):
                reader(path)
        path.write_bytes(content)


@pytest.mark.parametrize("start", ["\n", "\r\n\r\n", "\ufeff\n"])
def test_empty_lines_before_the_names_do_not_count(tmp_path, start):
    """Columns whose names were not seen would be guessed to be of numbers, and semicolons to be none."""
    path = tmp_path / "r.csv"
    path.write_bytes(f"{start}task;trial;success\n01;1;true\n2;1;false\n".encode())
    found = read_returns(path)
    assert (found.tasks.tolist(), found.returns.tolist()) == (["01", "2"], [[True], [False]])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a" * 200_000 + "\n1\n", "names of columns, too long for a table of returns"),
        (f"{TABLE}9,9,{'1' * 3_000_000}\n", "cannot be read as CSV, damaged or cut short (straddling"),
    ],
)
def test_a_table_with_too_long_an_entry(tmp_path, text, words):
    (tmp_path / "r.csv").write_text(text)
    assert words in said(read_returns, tmp_path / "r.csv")


ODD = [[1], {"a": 1}, None, b"\xff", "x", True, 1.5, float("nan"), float("inf"), 2**63 - 1]


@pytest.mark.parametrize("name", ["task_id", "episode_id", "total_return"])
def test_odd_columns_of_a_table(tmp_path, name):
    path = tmp_path / "r.parquet"
    base = {"task_id": [1, 1, 2, 2], "episode_id": [1, 2, 1, 2], "total_return": [0.1, 0.2, 0.3, 0.4]}
    empty = pa.array([None] * 4, pa.dictionary(pa.int8(), pa.string()))
    for column in (empty, *([value] * 4 for value in ODD)):
        parquet.write_table(pa.table({**base, name: column}), path)
        assert str(path) in said(read_returns, path)


ARRAYS = [
    np.zeros(0),
    np.array("x"),
    np.array(["a", "b"]),
    np.array([[1j]]),
    np.zeros((2, 2), "M8[s]"),
    np.zeros((1, 1, 1)),
]


def test_odd_arrays_of_an_archive(tmp_path):
    path = tmp_path / "r.npz"
    write, readers = READERS[path.name]
    write(path)
    with np.load(io.BytesIO(path.read_bytes())) as archive:
        arrays = dict(archive)
    for key, array in arrays.items():
        for other in (*ARRAYS, array[None], array[..., :0] if array.ndim else array):
            np.savez(path, **{**arrays, key: other})
            for reader in readers:
                assert str(path) in said(reader, path)


def test_odd_values_of_a_certificate(tmp_path):
    path = tmp_path / "c.json"
    _certificate(path)
    document, deep = json.loads(path.read_text()), json.loads("[" * 900 + "]" * 900)
    for key in document:
        for value in (None, 1e308, "x", [], {}, [None], deep):
            path.write_text(json.dumps({**document, key: value}))
            assert str(path) in said(read_certificate, path)
