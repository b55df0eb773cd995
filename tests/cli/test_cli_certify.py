"""`jaxcert certify`: its output and files, against the library; several numbers, likely mistakes."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_harness import RETURNS, as_process, command, refused, said

import jaxcert
from jaxcert.planning import _advice
from jaxcert.planning._advice_on_bounds import advice_on

ROOT = Path(jaxcert.__file__).parents[1]
SUPPORT = ("--support", "0", "1000")


@pytest.fixture(scope="module")
def samples(tmp_path_factory) -> Path:
    """A folder with shipped returns, and 12 tasks with 8 rollouts each between -5 and 3."""
    folder = tmp_path_factory.mktemp("samples")
    np.savez(folder / "cheetah.npz", returns=jaxcert.sample_returns("cheetah"))
    np.savez(folder / "small.npz", returns=np.random.default_rng(0).uniform(-5, 3, size=(12, 8)).round(3))
    return folder


def rows(text: str) -> list[list[str]]:
    """The cells of the lines of figures; a cell may hold single spaces."""
    lines = [line.strip() for line in text.splitlines()]
    return [re.split(r"\s{2,}", line) for line in lines if re.match(r"-?\d[\d.]*\s{2,}", line)]


def test_thresholds_and_safety_with_files_as_a_process(samples, tmp_path):
    """The real command: status, streams, JSON against the library, a picture."""
    asked = ["--threshold", "500", "--threshold", "600.1", "--safety", "0.9"]
    files = ["--json", tmp_path / "out.json", "--plot", tmp_path / "out.png"]
    done = as_process("certify", samples / "cheetah.npz", *SUPPORT, "--delta", "0.01", *asked, *files)
    assert (done.status, done.err) == (0, "")
    assert "200 tasks, 100 rollouts each, support [0, 1000]" in done.out

    settings = {"support": (0.0, 1000.0), "delta": 0.01}
    returns = jaxcert.sample_returns("cheetah")
    at_thresholds = jaxcert.certify(returns, np.array([500.0, 600.1]), **settings)
    at_safety = jaxcert.certify_safety_level(returns, 0.9, **settings)
    first, second = json.loads((tmp_path / "out.json").read_text())["certificates"]
    first_safety = [row["safety"] for row in first["rows"]]
    assert first_safety == at_thresholds.safety.tolist()
    assert [row["num_violations"] for row in first["rows"]] == at_thresholds.num_violations.tolist()
    assert [row["threshold"] for row in second["rows"]] == at_safety.thresholds.tolist()
    assert [first["fixed_beforehand"], second["fixed_beforehand"]] == ["threshold", "safety"]
    assert first["data"]["sha256"] == hashlib.sha256((samples / "cheetah.npz").read_bytes()).hexdigest()

    printed = rows(done.out)
    assert [row[0] for row in printed] == ["500", "600.1", "0.9000"]
    assert [row[1] for row in printed[:2]] == [f"{np.floor(safety * 1e4) / 1e4:.4f}" for safety in first_safety]
    for sentence in f"{at_thresholds}\n{at_safety}".splitlines():
        assert sentence in done.out.splitlines()
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.json", "out.png"]


def test_of_many_thresholds_a_few_are_explained_and_all_are_in_the_table_and_the_file(samples, tmp_path, monkeypatch):
    """Advice is computed for as many of 30 thresholds as of 3,000."""
    explained: list[int] = []

    def explain(*arguments):
        explained.append(1)
        return advice_on(*arguments)

    monkeypatch.setattr(_advice, "advice_on", explain)
    arguments = ["certify", samples / "small.npz", "--support", -5, 3, "--delta", 0.1, "--threshold"]
    for count in (30, 3000):
        explained.clear()
        path, numbers = tmp_path / f"{count}.json", ",".join(f"{i / count * 3:g}" for i in range(1 - count, 1))
        out = said(*arguments, numbers, "--json", path)
        assert len(explained) == 5
        assert out.count("Why not more at threshold") == 5
        [record] = json.loads(path.read_text())["certificates"]
        assert len(record["rows"]) == count
        missed = [i for i, row in enumerate(record["rows"]) if row["safety"] == 0]
        assert f"Advice for the first 5 of {len(missed)} rows that miss." in out.splitlines()
    assert [row[0] for row in rows(out)] == [f"{i / 1000:g}" for i in range(-2999, 1)]
    refusal = command(*arguments, numbers, "--require", 0.9).err
    assert refusal == "error: less is certified in 3000 of 3000 rows than the required 0.9\n"
    assert command("verify", path, samples / "small.npz").out == "verified: 1 certificate, 3000 statements\n"


def test_unequal_numbers_of_rollouts(tmp_path):
    returns = np.full((12, 8), 0.5, dtype="float32")
    where = np.ones((12, 8), bool)
    where[2, 5:] = False
    returns[~where] = np.nan
    np.savez(tmp_path / "r.npz", returns=returns, where=where)
    arguments = ["certify", tmp_path / "r.npz", "--support", 0, 1, "--delta", 0.1, "--threshold", 0.3]
    status, out, err = command(*arguments)
    expected = jaxcert.certify(returns, 0.3, support=(0.0, 1.0), delta=0.1, where=where)
    assert status == 0
    assert "12 tasks, 5 to 8 rollouts, 93 in all, support [0, 1]" in out
    words = "1 of 12 tasks have fewer than 8 rollouts, 3 of 96 are missing"
    assert err.startswith(f"warning: {tmp_path / 'r.npz'}: {words}")
    assert err.count("\n") == 1
    assert f"{words}; expected as many of every task" in refused(*arguments, "--strict")
    assert rows(out)[0][2] == f"{expected.num_violations[0]} of 12"


def test_scenario_beyond_its_sound_range_says_so(samples):
    arguments = ["--support", -5, 3, "--delta", 0.1, "--beta", 0.05, "--method", "scenario", "--threshold", -4.5]
    out = said("certify", samples / "small.npz", *arguments, "--threshold", -4.7)
    assert [len(row) for row in rows(out)] == [5, 5]  # with K
    assert "out of range" in out


def test_a_pipe_that_closes_early_is_no_error(samples):
    command = f"{sys.executable} -m jaxcert certify {samples}/small.npz --support -5 3 --delta 0.1 --mean | true"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_a_stdout_that_knows_ascii_only(samples, tmp_path):
    (tmp_path / "ε.npz").write_bytes((samples / "small.npz").read_bytes())
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = as_process("certify", tmp_path / "ε.npz", "--support", -5, 3, "--delta", 0.1, "--mean", env=ascii_only)
    assert (done.status, done.err) == (0, "")
    assert "\\u03b5.npz: 12 tasks" in done.out


def test_likely_mistakes_are_warnings_and_with_strict_errors(tmp_path):
    luck = np.random.default_rng(2).uniform(-0.1, 0.1, 20)
    np.save(tmp_path / "r.npy", RETURNS * 0.8 + 0.1 + luck)
    arguments = ("certify", tmp_path / "r.npy", "--support", 0, 1, "--delta", 0.05, "--threshold", 0.5)
    status, out, err = command(*arguments)
    assert (status, rows(out)[0][0]) == (0, "0.5")
    assert err.startswith("warning: ")
    assert err.endswith("[common-seeds]\n")
    assert "[common-seeds]" in refused(*arguments, "--strict", "--json", tmp_path / "c.json")
    assert not (tmp_path / "c.json").exists()
