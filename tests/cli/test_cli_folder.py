"""`jaxcert certify` and `verify` of a folder of Parquet files."""

import functools
import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_harness import session

import jaxcert

N, M = 40, 30
RNG = np.random.default_rng(0)
RETURNS = RNG.uniform(300, 900, (N, 1)) * RNG.beta(9, 1, (N, M))
SETTINGS = "--support 0 1000 --delta 0.01"
ACROSS = "certify d --across day"
SHORT = {"SETTINGS": SETTINGS, "AT": f"{SETTINGS} --threshold 5", "OPEN": f"{ACROSS} --delta 0.01"}
run = functools.partial(session, **SHORT, FOLDER=f"{ACROSS} {SETTINGS}")


@pytest.fixture(autouse=True)
def _folder(there):
    """Tasks in the folders of three days, and the same returns in one file."""
    tasks, episodes = np.divmod(np.arange(N * M), M)
    for day in range(3):
        chosen = episodes % 3 == day
        path = Path(f"d/day={day}/part.parquet")
        path.parent.mkdir(parents=True)
        rows = {"task_id": tasks[chosen], "episode_id": episodes[chosen], "total_return": RETURNS.ravel()[chosen]}
        pq.write_table(pa.table(rows), path)
    np.savez("r.npz", returns=RETURNS)


def record(name="c.json"):
    return json.loads(Path(name).read_text())["certificates"][0]


def test_a_folder_is_certified_and_verified():
    run(f"""
        FOLDER --threshold 300 --threshold 400 --num-bins 1000 --json c.json -> d: {N} tasks, {M} rollouts each
        verify c.json d -> = verified: 1 certificate, 2 statements
    """)
    assert record()["data"]["folder"] == {"num_files": 3, "num_bins": 1000, "across": ["day"]}
    assert record()["data"]["columns"] == {"task": "task_id", "trial": None, "value": "total_return"}
    expected = jaxcert.certify(RETURNS, [300, 400], support=(0, 1000), delta=0.01)
    for row, safety in zip(record()["rows"], expected.safety.tolist(), strict=True):
        assert safety - 0.1 < row["safety"] <= safety
    table = pq.read_table("d/day=1/part.parquet")
    altered = table.set_column(2, "total_return", pa.array([1000.0] * len(table)))
    pq.write_table(altered, "d/day=1/part.parquet")
    run("verify c.json d !> data sha256 | rows 2 num_violations")


def test_what_does_not_fit_is_refused():
    run("""
        certify r.npz SETTINGS --threshold 300 --json c.json
        verify c.json d => d: is a directory, expected a file
        certify r.npz AT --num-bins 5 => --num-bins given for
        certify r.npz AT --across day --num-bins 2 => --num-bins, --across given for
        certify nothing --across day AT => no such file
        FOLDER --threshold 5 --report x.html => --report shows single rollouts
        FOLDER --threshold 5 --num-bins 0 => num_bins is 0
        choose d => d: is a folder of Parquet files; expected a file, or jaxcert certify d
        OPEN --threshold 5 --support 0 10 => expected a number in the support (0, 10)
        OPEN --threshold 5 => --support missing; expected --support LOW HIGH, the smallest and the largest
        FOLDER --threshold 5 --unfinished 0 => --unfinished given for | expected a file
        FOLDER --threshold 5 --method soft => returns are a summary, without single rollouts
    """)
    shutil.rmtree("d/day=0")
    run("certify d AT => lies in partitions day, which may tell tasks apart")
