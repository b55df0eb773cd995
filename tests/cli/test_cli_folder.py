"""`jaxcert certify` and `verify` of a folder of Parquet files."""

import json
import shutil
from pathlib import Path

import jax
import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_harness import command, refused
from conftest import x64_context

import jaxcert
from jaxcert.report import certificate_record, certificate_schema, verify, write_certificates
from jaxcert.tables import read_summary

N, M = 40, 30
SUITE = ("--suite", "--each-task", "--threshold", "300")
SETTINGS = ("--support", "0", "1000", "--delta", "0.01")


@pytest.fixture(scope="module")
def returns() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.uniform(300, 900, (N, 1)) * rng.beta(9, 1, (N, M))


@pytest.fixture
def folder(tmp_path, returns) -> Path:
    """Tasks in the folders of three days."""
    tasks, episodes = np.divmod(np.arange(N * M), M)
    for day in range(3):
        chosen = episodes % 3 == day
        path = tmp_path / f"d/day={day}/part.parquet"
        path.parent.mkdir(parents=True)
        rows = {"task_id": tasks[chosen], "episode_id": episodes[chosen], "total_return": returns.ravel()[chosen]}
        pq.write_table(pa.table(rows), path)
    return tmp_path / "d"


def test_a_folder_is_certified_and_verified(folder, returns, tmp_path):
    file = tmp_path / "c.json"
    asked = ("--threshold", "300", "--threshold", "400", "--num-bins", "1000")
    done = command("certify", folder, "--across", "day", *SETTINGS, *asked, "--json", file)
    assert (done.status, done.err) == (0, "")
    assert f"{folder}: {N} tasks, {M} rollouts each" in done.out
    record = json.loads(file.read_text())["certificates"][0]
    assert record["data"]["folder"] == {"num_files": 3, "num_bins": 1000, "across": ["day"]}
    assert record["data"]["columns"] == {"task": "task_id", "trial": None, "value": "total_return"}
    expected = jaxcert.certify(returns, [300, 400], support=(0, 1000), delta=0.01)
    for row, safety in zip(record["rows"], expected.safety.tolist(), strict=True):
        assert safety - 0.1 < row["safety"] <= safety
    assert command("verify", file, folder).out == "verified: 1 certificate, 2 statements\n"
    table = pq.read_table(folder / "day=1/part.parquet")
    altered = table.set_column(2, "total_return", pa.array([1000.0] * len(table)))
    pq.write_table(altered, folder / "day=1/part.parquet")
    again = command("verify", file, folder)
    assert again.status == 1
    assert "data sha256" in again.out
    assert "rows 2 num_violations" in again.out


@pytest.mark.slow
def test_the_curve_the_mean_and_the_list_of_a_folder(folder, tmp_path):
    for asked in ([], ["--question", "mean"], ["--threshold", "300", "--beta", "auto"], SUITE):
        file = tmp_path / "c.json"
        done = command("certify", folder, "--across", "day", *SETTINGS, *asked, "--json", file, "--force")
        assert (done.status, done.err) == (0, "")
        assert command("verify", file, folder).out.startswith("verified: 1 certificate, ")


@pytest.mark.slow
def test_successes_of_a_folder_are_attained_as_in_a_file(tmp_path):
    success = np.random.default_rng(1).random((N, M)) < 0.9
    rows = {"task": np.repeat(np.arange(N), M), "trial": np.tile(np.arange(M), N), "success": success.ravel()}
    (tmp_path / "d").mkdir()
    pq.write_table(pa.table(rows), tmp_path / "d/a.parquet")
    file = tmp_path / "c.json"
    done = command("certify", tmp_path / "d", "--delta", "0.01", "--threshold", "0.6", "--json", file)
    assert (done.status, done.err) == (0, "")
    assert "bound clopper_pearson, method attained, beta auto" in done.out
    row = json.loads(file.read_text())["certificates"][0]["rows"][0]
    expected = jaxcert.certify(success, 0.6, delta=0.01)
    assert row["num_violations"] == expected.num_violations[0]
    np.testing.assert_allclose(row["safety"], expected.safety[0], rtol=1e-6)
    assert command("verify", file, tmp_path / "d").out == "verified: 1 certificate, 1 statement\n"


@pytest.mark.parametrize("x64", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_records_of_folders_are_read_again_as_they_were(folder, tmp_path, x64):
    with x64_context(x64):
        data = read_summary(folder, support=(0, 1000), num_bins=50, across="day")
        found = jaxcert.certify(data.returns, [100.0, 200.0], support=(0, 1000), delta=0.01, bound="hoeffding")
        write_certificates(tmp_path / "c.json", [certificate_record(found, support=(0, 1000), data=data)])
    document = json.loads((tmp_path / "c.json").read_text())
    jsonschema.validate(document, certificate_schema())
    assert document["certificates"][0]["settings"]["dtype"] == ("float64" if x64 else "float32")
    assert jax.config.jax_enable_x64 is False
    assert str(verify(tmp_path / "c.json", folder)) == "verified: 1 certificate, 2 statements"


def test_a_certificate_of_a_file_is_not_one_of_a_folder(folder, returns, tmp_path):
    np.savez(tmp_path / "r.npz", returns=returns)
    command("certify", tmp_path / "r.npz", *SETTINGS, "--threshold", "300", "--json", tmp_path / "c.json")
    assert f"{folder}: is a directory, expected a file" in refused("verify", tmp_path / "c.json", folder)


def test_options_that_do_not_fit_are_refused(folder, returns, tmp_path):
    np.savez(tmp_path / "r.npz", returns=returns)
    for options, words in [
        (["--num-bins", "5"], "--num-bins given for"),
        (["--across", "day", "--num-bins", "2"], "--num-bins, --across given for"),
    ]:
        assert words in refused("certify", tmp_path / "r.npz", *SETTINGS, *options)
    assert "no such file" in refused("certify", tmp_path / "nothing", "--across", "day", *SETTINGS)
    of_folder = ("certify", folder, "--across", "day", "--delta", "0.01")
    for options, words in [
        (["--support", "0", "1000", "--report", tmp_path / "x.html"], "--report shows single rollouts"),
        (["--support", "0", "1000", "--num-bins", "0"], "num_bins is 0"),
        (["--support", "0", "10"], "expected a number in the support (0, 10)"),
        ([], "--support missing; expected the option, or a --protocol"),
        (["--support", "0", "1000", "--unfinished", "0"], "Parquet files mark no rollout as unfinished"),
        (["--support", "0", "1000", "--method", "soft"], "returns are a summary, without single rollouts"),
    ]:
        assert words in refused(*of_folder, *options, "--threshold", "5")
    shutil.rmtree(folder / "day=0")
    assert "lies in partitions day, which may tell tasks apart" in refused("certify", folder, *SETTINGS)


def test_a_protocol_says_how_many_tasks_and_rollouts_a_folder_has(folder, tmp_path):
    locked, size = tmp_path / "p.toml", ("--tasks", N, "--rollouts", M)
    assert command("lock", locked, *SETTINGS, *size, "--threshold", "300").status == 0
    file = tmp_path / "c.json"
    done = command("certify", folder, "--across", "day", "--protocol", locked, "--json", file)
    assert (done.status, done.err) == (0, "")
    assert command("verify", file, folder, "--protocol", locked).out.startswith("verified: 1 certificate")
    shutil.rmtree(folder / "day=0")
    assert "num_rollouts is 20, the protocol says 30" in refused(
        "certify", folder, "--across", "day", "--protocol", locked
    )


def test_summaries_of_two_policies_are_not_paired(folder):
    data = read_summary(folder, support=(0, 1000), across=["day"])
    with pytest.raises(ValueError, match="returns of policy 0 are a summary"):
        jaxcert.align_tasks(data, data)
