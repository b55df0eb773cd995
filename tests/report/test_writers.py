"""Certificates as JSON, strict and complete; files are written completely or not at all."""

import dataclasses
import json
import os
import platform
from pathlib import Path

import jax
import numpy as np
import pytest
from handmade import make_certificate

import jaxcert
from jaxcert.report import certificate_record, write_certificates
from jaxcert.tables import read_returns


def parsed(path: Path) -> dict:
    """The document, read by a parser that knows no NaN and no Infinity."""

    def refuse(token: str):
        raise AssertionError(f"not JSON: {token}")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


def test_document_names_versions_and_data(tmp_path):
    where = np.ones((30, 20), bool)
    where[3, 5:] = False
    np.savez(tmp_path / "returns.npz", returns=np.ones((30, 20)), where=where)
    with pytest.warns(UserWarning, match="15 of 600 are missing"):
        data = read_returns(tmp_path / "returns.npz")
    record = certificate_record(make_certificate(), support=(0, 1), data=data)
    write_certificates(tmp_path / "c.json", [record, record])
    document = parsed(tmp_path / "c.json")

    assert document["format"] == "jaxcert certificates"
    assert document["versions"]["jaxcert"] == jaxcert.__version__
    assert document["versions"]["jax"] == jax.__version__
    assert document["versions"]["numpy"] == np.__version__
    assert document["versions"]["python"] == platform.python_version()
    first, second = document["certificates"]
    assert first == second
    assert first["fixed_beforehand"] == "threshold"
    assert first["data"] == {
        "file": "returns.npz",
        "sha256": data.sha256,
        "num_rollouts": {"min": 5, "max": 20, "total": 585},
        "dtype": "float64",
        "columns": None,
    }


def test_numbers_that_are_not_finite_become_null(tmp_path):
    thresholds = np.array([np.nan, -np.inf, np.inf])
    certificate = dataclasses.replace(make_certificate(), thresholds=thresholds)
    write_certificates(tmp_path / "c.json", [certificate_record(certificate, support=(0.0, np.inf))])
    (record,) = parsed(tmp_path / "c.json")["certificates"]
    assert record["settings"]["support"] == [0.0, None]
    assert [row["threshold"] for row in record["rows"]] == [None, None, None]


def test_a_record_with_nan_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_certificates(tmp_path / "c.json", [{"rows": [float("nan")]}])
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_replaced_and_a_link_kept(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    write_certificates(link, [])
    assert link.is_symlink()
    assert parsed(target)["certificates"] == []
    assert sorted(tmp_path.iterdir()) == [link, target]


def test_a_file_name_that_is_no_text_stays_valid_json(tmp_path):
    write_certificates(tmp_path / "c.json", [{"file": os.fsdecode(b"caf\xe9.npz"), "name": "ε"}])
    (record,) = parsed(tmp_path / "c.json")["certificates"]
    assert os.fsencode(record["file"]) == b"caf\xe9.npz"
    assert record["name"] == "ε"
