"""A protocol that fixes where returns come from is kept only if their file says so."""

import dataclasses

import numpy as np
import pytest
from cli_harness import table
from test_verify import LEVELS, LOCKED, RETURNS, SETTINGS

import jaxcert
from jaxcert.report import certificate_record, verify, write_certificates
from jaxcert.tables import read_returns, write_returns

ORIGIN = {"environment": "arm", "policy_sha256": "a" * 64, "seed": 7, "deterministic": False}
FIXED = dataclasses.replace(LOCKED, **ORIGIN)


def kept(folder, locked, *, facts=None, suffix="npz", **columns):
    """Verified against the protocol, for returns whose file records these facts."""
    file = folder / f"returns.{suffix}"
    if not file.exists():
        write_returns(file, RETURNS.astype(np.float32), facts=facts)
    data = read_returns(file, **columns)
    found = jaxcert.certify(data.returns.astype(np.float32), LEVELS, **SETTINGS)
    record = certificate_record(found, support=(0, 1), data=data)
    write_certificates(folder / "c.json", [record], protocol=locked.digest)
    if not (folder / "p.toml").exists():
        locked.write(folder / "p.toml")
    return verify(folder / "c.json", file, protocol=folder / "p.toml")


def test_the_recorded_origin_must_be_the_locked_one(tmp_path):
    assert kept(tmp_path, FIXED, facts=ORIGIN).ok


@pytest.mark.parametrize(
    ("name", "other"), [("environment", "leg"), ("policy_sha256", "b" * 64), ("seed", 8), ("deterministic", True)]
)
def test_another_origin_breaks_the_protocol(tmp_path, name, other):
    found = kept(tmp_path, FIXED, facts={**ORIGIN, name: other})
    assert found.differences == (f"certificate 1: {name} is {other}, the protocol says {ORIGIN[name]}",)


def test_an_origin_that_is_not_recorded_breaks_the_protocol(tmp_path):
    found = kept(tmp_path, FIXED, facts={"environment": "arm"})
    assert found.differences == tuple(
        f"certificate 1: {name} is not recorded in the file of returns, the protocol says {locked}; expected a file "
        f"that records it, such as one of `write_returns(..., facts=...)`, or a protocol locked without {name}"
        for name, locked in {"policy_sha256": "a" * 64, "seed": 7, "deterministic": False}.items()
    )
    assert kept(tmp_path, LOCKED).differences[0].startswith("it names the protocol")


def test_a_policy_of_which_two_are_possible_is_noted(tmp_path):
    locked = dataclasses.replace(LOCKED, policy_sha256="a" * 64)
    found = kept(tmp_path, locked, facts=ORIGIN)
    note = "the protocol locks a policy, but not whether its actions are sampled (deterministic)"
    assert (found.ok, found.notes) == (True, (note,))
    (tmp_path / "p.toml").unlink()
    assert kept(tmp_path, dataclasses.replace(locked, deterministic=False)).notes == ()


def test_one_column_is_locked_and_the_others_are_as_usual(tmp_path):
    """Of two columns that could be the returns one is locked; no other could be that of the tasks."""
    rows = [(*at, f"{x:.6f}", f"{x**0.5:.6f}", f"t{at[0]}") for at, x in np.ndenumerate(RETURNS)]
    table(tmp_path / "returns.csv", "task,trial,success,score,name", rows)
    assert kept(tmp_path, dataclasses.replace(LOCKED, value="success"), suffix="csv", value="success").ok
    (tmp_path / "p.toml").unlink()
    left_open = kept(tmp_path, LOCKED, suffix="csv", value="success").differences
    expected = "expected one that is read without being named, or value locked"
    assert left_open == (f"certificate 1: value is success, the protocol locks no value; {expected}",)
