"""Witnesses as they are written: found where a task passes, left out in words where exact arithmetic says no."""

import dataclasses
import json
import math
from fractions import Fraction

import jsonschema
import numpy as np
import pytest
from cli_harness import command, refused
from scipy import optimize
from tool_files import monitor

import jaxcert
from jaxcert.report import (
    certificate_record,
    certificate_schema,
    check_exactly,
    verify,
    write_certificates,
)
from jaxcert.report._witness import Sample, bets, decimal, divided_delta, rounded
from jaxcert.tables import read_returns

RNG = np.random.default_rng(0)
RETURNS = RNG.beta(9, 2, (30, 20)).astype(np.float32)
PASSED = RNG.random((30, 20)) < 0.9
SETTINGS = {"support": (0.0, 1.0), "delta": 0.05}


@pytest.fixture
def files(tmp_path):
    """Returns and successes, each read from its file."""
    np.savez(tmp_path / "r.npz", returns=RETURNS)
    np.savez(tmp_path / "s.npz", returns=PASSED)
    return read_returns(tmp_path / "r.npz"), read_returns(tmp_path / "s.npz")


def record(found, data, **options):
    return certificate_record(found, support=(0, 1), data=data, witness=True, **options)


def test_the_best_bet_is_found():
    x = RNG.beta(3, 2, (40, 15))
    x[:5, 0] = 0.0
    sample = Sample(x, np.ones(x.shape, bool), 0.0, 1.0)
    for threshold in (0.2, 0.45, 0.6):
        found = bets(sample, np.ones(40, bool), threshold, 1e-300)  # out of reach, so that no digit is left out
        for row, bet in zip(x / threshold - 1, found, strict=True):

            def lost(bet: float, row=row) -> float:
                return -np.log1p(bet * row).sum()

            best = optimize.minimize_scalar(lost, bounds=(0, 1 - 1e-12), method="bounded", options={"xatol": 1e-12})
            assert lost(bet) <= min(best.fun, lost(0.0)) + 1e-9


def test_returns_that_do_not_count_do_not_matter():
    where = RNG.random(RETURNS.shape) < 0.7
    where[:, 0] = True
    sample = Sample(np.where(where, RETURNS, 0).astype(float), where, 0.0, 1.0)
    other = sample._replace(returns=np.where(where, RETURNS, 1).astype(float))
    assert bets(sample, np.ones(30, bool), 0.5, 0.05) == bets(other, np.ones(30, bool), 0.5, 0.05)


def test_shares_never_exceed_delta():
    for _ in range(200):
        delta, parts = float(RNG.random()), RNG.dirichlet(np.ones(4))
        shares = divided_delta(delta, parts.tolist())
        assert sum(map(decimal, shares)) <= decimal(delta)
        assert np.allclose(shares, delta * parts, rtol=1e-12)


def test_rounding_to_a_side_is_of_the_decimal():
    for value in (Fraction(1, 3), Fraction(1, 10), Fraction(2, 3) * Fraction(1, 10**300)):
        below, above = rounded(value, -math.inf), rounded(value, math.inf)
        assert decimal(below) <= value <= decimal(above)
        assert math.nextafter(below, 1) >= above


def test_the_schema_describes_them(files):
    returns, successes = files
    found = [
        record(jaxcert.certify(returns.returns, [0.5, 0.7], **SETTINGS), returns),
        record(jaxcert.certify_interval(returns.returns, [0.7], complete=True, **SETTINGS), returns),
        record(jaxcert.certify(successes.returns, 0.7, delta=0.05), successes),
    ]
    validator = jsonschema.Draft202012Validator(
        {**certificate_schema()["$defs"]["certificate"], "$defs": certificate_schema()["$defs"]}
    )
    for each in found:
        assert all("witness" in row for row in each["rows"])
        validator.validate(json.loads(json.dumps(each)))
        each["rows"][0]["witness"]["hint"] = 1
        assert not validator.is_valid(json.loads(json.dumps(each)))


def test_a_row_that_claims_nothing_needs_none(files, tmp_path):
    returns, _ = files
    found = record(jaxcert.certify(returns.returns, [-1.0, 0.0, 0.5, 1.0], **SETTINGS), returns)
    assert ["witness" in row for row in found["rows"]] == [False, False, True, False]
    write_certificates(tmp_path / "c.json", [found])
    assert [holds for holds, _ in check_exactly(tmp_path / "c.json", tmp_path / "r.npz")] == [None, True] * 4


def test_verify_says_that_it_did_not_check_them(files, tmp_path):
    returns, _ = files
    write_certificates(tmp_path / "c.json", [record(jaxcert.certify(returns.returns, 0.5, **SETTINGS), returns)])
    found = verify(tmp_path / "c.json", tmp_path / "r.npz")
    assert found.ok
    assert found.notes == ("its witnesses were not checked: --exact (check_exactly) checks them",)


def test_a_row_that_exact_arithmetic_does_not_confirm_has_none(files, tmp_path):
    """One with a risk that is too small, as a fault would make it."""
    returns, _ = files
    found = jaxcert.certify(returns.returns, [0.4, 0.5], **SETTINGS)
    risks = np.asarray(found.epsilon) * np.asarray([1, 0.999], np.float32)
    wrong = dataclasses.replace(found, epsilon=risks, safety=np.float32(1) - risks)
    with pytest.warns(UserWarning, match=r"rows 2 has no witness: .*is too small a risk"):
        held = record(wrong, returns)
    assert held["rows"][0]["witness"] is not None
    assert held["rows"][1]["witness"] is None
    write_certificates(tmp_path / "c.json", [held])
    found = [*check_exactly(tmp_path / "c.json", returns.path)]
    assert [holds for holds, _ in found] == [None, True, None, False]
    assert "it has no witness" in found[-1][1]


def test_returns_beyond_the_support_as_written_have_none(tmp_path):
    """A float32 next to 0.1 lies above it; the library rounds the support, too."""
    x = np.full((20, 5), 0.1, np.float32)
    np.savez(tmp_path / "r.npz", returns=x)
    data = read_returns(tmp_path / "r.npz")
    found = jaxcert.certify(data.returns, 0.05, support=(0, 0.1), delta=0.05)
    with pytest.warns(UserWarning, match="task 1 has a return beyond the support"):
        held = certificate_record(found, support=(0, 0.1), data=data, witness=True)
    assert held["rows"][0]["witness"] is None


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda x: jaxcert.certify(x, 0.5, beta="auto", **SETTINGS), "beta is 'auto'"),
        (lambda x: jaxcert.certify(x, 0.5, bound="hoeffding", **SETTINGS), "bound is 'hoeffding', which has no"),
        (lambda x: jaxcert.certify(x, 0.5, bound="dkw", **SETTINGS), "bound is 'dkw', which has no witnesses"),
        (lambda x: jaxcert.certify(x, 0.5, method="soft", **SETTINGS), "adds up evidence"),
        (lambda x: jaxcert.certify_suite(x > 0.5, 0.5, num_episodes=2, delta=0.05), "there is no exact proof"),
        (lambda x: jaxcert.certify_band(x, 0.5, **SETTINGS), "the question 'band' has no witnesses; expected one of"),
    ],
)
def test_what_has_no_witness_is_refused_in_words(files, ask, words):
    returns, _ = files
    found = ask(returns.returns)
    with pytest.raises(ValueError, match=words):
        record(found, returns)


def test_two_policies_and_certificates_without_a_file_are_refused(files):
    returns, _ = files
    found = jaxcert.certify_interval(jaxcert.paired(RETURNS, RETURNS), -0.5, complete=True, **SETTINGS)
    with pytest.raises(ValueError, match="about two policies, of which there are no witnesses"):
        certificate_record(found, support=(0, 1), data=returns, others=[returns], witness=True)
    with pytest.raises(ValueError, match="data is not given; witnesses are of the returns in a file"):
        certificate_record(jaxcert.certify(RETURNS, 0.5, **SETTINGS), support=(0, 1), witness=True)


ASKED = "--support", 0, 1, "--delta", 0.05, "--threshold", "0.5,0.7"


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_every_kind_of_file_is_checked(suffix, tmp_path):
    pandas = pytest.importorskip("pandas")
    task, episode = np.indices(RETURNS.shape).reshape(2, -1)
    table = pandas.DataFrame({"task_id": task, "episode_id": episode, "total_return": RETURNS.ravel().astype(float)})
    path = tmp_path / f"returns{suffix}"
    table.to_parquet(path) if suffix == ".parquet" else table.to_csv(path, index=False)
    assert command("certify", path, *ASKED, "--json", tmp_path / "c.json", "--witness").status == 0
    assert command("verify", "--exact", tmp_path / "c.json", path).status == 0


def test_a_folder_with_a_file_per_task_is_checked(tmp_path):
    folder = tmp_path / "runs"
    for task, returns in enumerate(RETURNS.astype(float)):
        monitor(folder / str(task) / "monitor.csv", returns.tolist())
    pattern = {"task": "{task}/monitor.csv"}
    data = read_returns(folder, **pattern)
    write_certificates(tmp_path / "c.json", [record(jaxcert.certify(data.returns, 0.5, **SETTINGS), data)])
    assert [holds for holds, _ in check_exactly(tmp_path / "c.json", folder)] == [None, True]
    monitor(folder / "3" / "monitor.csv", [0.9] * 20)
    with pytest.raises(ValueError, match=r"c\.json: the file of returns is not the one"):
        list(check_exactly(tmp_path / "c.json", folder))


def test_a_folder_that_is_summed_up_is_refused_in_words(tmp_path):
    pandas = pytest.importorskip("pandas")
    folder = tmp_path / "parts"
    folder.mkdir()
    task, episode = np.indices(RETURNS.shape).reshape(2, -1)
    table = {"task_id": task, "episode_id": episode, "total_return": RETURNS.ravel().astype(float)}
    pandas.DataFrame(table).to_parquet(folder / "a.parquet")
    asked = *ASKED, "--json", tmp_path / "c.json"
    assert "is read as a summary, without single returns" in refused("certify", folder, *asked, "--witness")
    assert command("certify", folder, *asked).status == 0
    assert "expected a file" in refused("verify", "--exact", tmp_path / "c.json", folder)
