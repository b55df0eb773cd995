"""What was given as a setting is verified to the last bit, and which question was asked."""

import json
import re

import numpy as np
import pytest
from cli_harness import table

import jaxcert
from jaxcert.report import Protocol, certificate_record, verify, write_certificates
from jaxcert.tables import read_returns

RETURNS = np.random.default_rng(0).beta(5, 2, (40, 20)).astype(np.float32)
SETTINGS = {"support": (0.0, 1.0), "delta": 0.1}
QUESTION = {"support": (0.0, 1.0)}


@pytest.fixture
def files(tmp_path):
    """Of two policies; B is a little worse."""
    for name, returns in (("a", RETURNS), ("b", 0.9 * RETURNS)):
        np.savez(tmp_path / f"{name}.npz", returns=returns)
    return [read_returns(tmp_path / f"{name}.npz") for name in "ab"]


def checked(files, record, *, pair=False, protocol=None):
    folder = files[0].path.parent
    path = folder / "c.json"
    digest = None if protocol is None else Protocol.read(protocol).digest
    write_certificates(path, [record], protocol=digest)
    return verify(path, files[0].path, others=[files[1].path] if pair else [], protocol=protocol)


def next_to(value):
    """The next number in single precision."""
    return float(np.nextafter(np.float32(value), np.float32(2)))


def recording(function, *asked, **options):
    """What records the answer of a function for the first of two files."""
    return lambda files: certificate_record(
        function(files[0].returns, *asked, **options, **SETTINGS), data=files[0], **QUESTION
    )


of_worst = recording(jaxcert.certify_cvar, [0.25, 0.5], cap=0.65)
of_level = recording(jaxcert.certify_safety_level, [0.25, 0.5])
of_interval = recording(jaxcert.certify_interval, [0.25, 0.5], complete=True)


def test_a_setting_that_a_row_repeats_has_no_room(files):
    record = of_worst(files)
    assert checked(files, record).ok
    record["rows"][1]["cap"] = next_to(record["rows"][1]["cap"])
    assert "rows 2 cap is" in str(checked(files, record))


@pytest.mark.parametrize(("make", "name"), [(of_worst, "mean"), (of_level, "threshold"), (of_interval, "safety_upper")])
def test_a_computed_number_has_that_of_rounding(files, make, name):
    record = make(files)
    record["rows"][1][name] = float(np.nextafter(np.float32(record["rows"][1][name]), np.float32(0)))
    found = checked(files, record)
    assert not [line for line in found.differences if f"rows 2 {name} is" in line], str(found)


def test_a_cap_that_is_altered_everywhere_is_another_one_than_was_locked(files, tmp_path):
    options = {"alpha": [0.25, 0.5], "cap": [0.65]}
    locked = Protocol(**SETTINGS, num_tasks=40, num_rollouts=20, question="cvar", options=options)
    locked.write(tmp_path / "p.toml")
    record = of_worst(files)
    assert checked(files, record, protocol=tmp_path / "p.toml").ok
    record["settings"]["cap"] = [next_to(cap) for cap in record["settings"]["cap"]]
    for row in record["rows"]:
        row["cap"] = next_to(row["cap"])
    assert checked(files, record).ok
    found = checked(files, record, protocol=tmp_path / "p.toml")
    assert "settings cap 1 is 0.6500000357627869, the protocol gives 0.6499999761581421" in str(found)


def records_of_means(files):
    a, b = files
    difference = jaxcert.certify_mean_difference(a.returns, b.returns, **SETTINGS)
    return {
        "mean": recording(jaxcert.certify_mean)(files),
        "mean_difference": certificate_record(difference, data=a, others=[b], **QUESTION),
    }


@pytest.mark.parametrize("numbers", ["as they were", "those of the other"])
@pytest.mark.parametrize(("name", "other"), [("mean", "mean_difference"), ("mean_difference", "mean")])
def test_a_mean_is_no_difference_although_the_files_fit(files, name, other, numbers):
    """Its sentence says what it is of, even where all else was altered."""
    records = records_of_means(files)
    assert checked(files, records[other], pair=other == "mean_difference").ok
    record = json.loads(json.dumps(records[name])) | {"question": other}
    record.pop("others", None)
    record |= {key: value for key, value in records[other].items() if key == "others"}
    if other == "mean_difference":
        record["settings"]["num_episodes"] = 1
    if numbers == "those of the other":
        record["rows"][0]["mean"] = records[other]["rows"][0]["mean"]
    found = checked(files, record, pair=other == "mean_difference")
    assert "rows 1: the sentence is not that of its numbers" in str(found)


def test_a_difference_about_which_nothing_is_said_is_no_mean(files):
    """Without a number the words are all that tells them apart."""
    records = records_of_means(files)
    for name, other in (("mean", "mean_difference"), ("mean_difference", "mean")):
        record = {key: value for key, value in records[name].items() if key != "others"} | {"question": other}
        record |= {key: value for key, value in records[other].items() if key == "others"}
        quantity = (
            "expected return of policy A minus that of policy B" if name == "mean_difference" else "expected return"
        )
        said = f"With confidence 0.9: nothing is certified about the mean of the {quantity} (invalid input)."
        record["rows"] = [{"mean": None, "status": "invalid_input", "sentence": said}]
        assert not checked(files, record, pair=other == "mean_difference").ok


def test_what_cannot_be_read_is_told_what_the_certificate_is_made_from(tmp_path):
    rows = [(task, trial, 0.5) for task in range(5) for trial in range(4)]
    table(tmp_path / "r.csv", "world,seed,score", rows)
    columns = {"task": "world", "trial": "seed", "value": "score"}
    data = read_returns(tmp_path / "r.csv", **columns)
    record = certificate_record(jaxcert.certify_mean(data.returns, **SETTINGS), data=data, **QUESTION)
    write_certificates(tmp_path / "c.json", [record])
    (tmp_path / "folder").mkdir()
    made = "c.json is made from the file r.csv (task from 'world', trial from 'seed', value from 'score')"
    table(tmp_path / "other.csv", "maze,seed,score", rows)
    for given, words in (("folder", ""), ("other.csv", "has no column world; found 'maze', 'seed', 'score'; ")):
        with pytest.raises(ValueError, match=rf"{words}.*{re.escape(made)}: expected it, read like that$"):
            verify(tmp_path / "c.json", tmp_path / given)
    np.savez(tmp_path / "a.npz", returns=RETURNS)
    of_arrays = certificate_record(
        jaxcert.certify_mean(RETURNS, **SETTINGS), data=read_returns(tmp_path / "a.npz"), **QUESTION
    )
    write_certificates(tmp_path / "c.json", [of_arrays])
    with pytest.raises(ValueError, match=r"is made from the file a.npz \(arrays without columns\)"):
        verify(tmp_path / "c.json", tmp_path / "folder")
