"""Logs of Inspect, which lie beside this file."""

import json
import pathlib
import struct
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pytest
from cli_harness import command
from saved_files import refused
from tool_files import edited

from jaxcert.tables import read_returns

# Logs that Inspect made: a sample is answered wrongly where its number and the epoch add up to a multiple of three. By
# the name of the log, the sample of number 1 ends with an error or at a limit, or stops the run; or somebody gave the
# first sample another score in its first epoch.
KEPT = pathlib.Path(__file__).parent / "logs"
RIGHT = np.array([[(i + epoch) % 3 != 0 for epoch in (1, 2)] for i in range(3)])
IDS = ["q-0", "q-1", "q-2"]


def log(name):
    return KEPT / f"{name}.{'json' if name.endswith('json') else 'eval'}"


@pytest.mark.parametrize("name", ["letters", "letters_json"])
def test_right_and_wrong_answers_are_successes(name):
    data = read_returns(log(name))
    np.testing.assert_array_equal(data.returns, RIGHT)
    assert (data.returns.dtype, data.tasks.tolist(), data.where) == (bool, IDS, None)
    assert data.told == "read as an Inspect log: 3 tasks, 6 rollouts, value match"
    assert (data.fixed_list, data.known_support) == (True, None)
    assert data.columns == data.usual_columns == ("id", "epoch", "match")


def test_one_of_several_scores_is_read_by_name():
    path = log("several")
    refused(path, "has the values 'match' and 'graded' and 'length' and 'parts/short' and 'parts/epoch'; expected one")
    np.testing.assert_array_equal(read_returns(path, value="match").returns, RIGHT)
    graded = read_returns(path, value="graded")  # P, N and C
    np.testing.assert_array_equal(graded.returns, np.repeat([[0.5], [0.0], [1.0]], 2, axis=1))
    assert (graded.returns.dtype, graded.known_support, graded.usual_columns.value) == (np.float64, (0.0, 1.0), "")
    np.testing.assert_array_equal(read_returns(path, value="parts/epoch").returns, [[1.0, 2.0]] * 3)
    np.testing.assert_array_equal(read_returns(path, value="parts/short").returns, ~RIGHT)
    refused(path, "has no value 'parts'; found 'match' and", value="parts")


def test_a_sample_without_a_score_is_refused_or_counted():
    refused(log("several"), "1 of 6 rollouts unfinished (without a score), the first of them 'q-2', 2", value="length")
    data = read_returns(log("several"), value="length", unfinished=0)
    np.testing.assert_array_equal(data.returns, [[2.0, 2.0], [2.0, 1.75], [1.75, 0.0]])
    refused(log("several"), "expected the worst return that is possible, at most 1.75", value="length", unfinished=1.8)


def test_what_counts_is_the_end_of_the_declared_support():
    asked = ("certify", log("several"), "--sampled", "--mean", "--value", "length", "--delta", 0.5)
    status, _, err = command(*asked, "--support", -1, 3, "--unfinished", 0)
    assert status == 2
    assert "counted as 0; expected -1, the worst return that is possible" in err
    assert command(*asked, "--support", -1, 3, "--unfinished", -1)[0] == 0


@pytest.mark.parametrize(
    ("name", "why", "stopped"),
    [("errors", "ended by an error", ""), ("limits", "ended at a limit", ""), ("stopped", "", "its status is 'error'")],
)
def test_samples_that_did_not_end_by_themselves_are_refused_or_counted(name, why, stopped):
    """Of the stopped log, also those that were never begun."""
    refused(log(name), stopped, why, "rollouts unfinished", "(--unfinished)")
    data = read_returns(log(name), unfinished=0)
    np.testing.assert_array_equal(data.returns[1], [False, False])
    assert data.returns.shape == (3, 2)
    assert not (data.returns & ~RIGHT[[IDS.index(task) for task in data.tasks]]).any()
    assert stopped in data.told
    if not stopped:
        assert data.told.endswith(f"; 2 of 6 rollouts unfinished ({why}), counted as 0")
        np.testing.assert_array_equal(data.returns[[0, 2]], RIGHT[[0, 2]])
    refused(log(name), "unfinished is 1; expected 0", unfinished=1)
    refused(log(name), "unfinished is -1; expected 0, the worst return that is possible", unfinished=-1)


def test_a_score_that_was_edited_is_read_as_it_is_now():
    changed = RIGHT.copy()
    changed[0, 0] = False
    np.testing.assert_array_equal(read_returns(log("edited")).returns, changed)


# --- attacks --------------------------------------------------------------------------------------------------------


def unpacked(path):
    """The parts of a log in JSON."""
    whole = json.loads(path.read_text())
    samples = [
        {name: sample.get(name) for name in ("id", "epoch", "scores", "error", "limit")} for sample in whole["samples"]
    ]
    return {name: whole[name] for name in ("version", "status", "eval", "invalidated")} | {"samples": samples}


def archive(path, document, *, packing=zipfile.ZIP_DEFLATED, names=None):
    """The same as an archive; `names` lists its entries, to damage it."""
    head = {name: value for name, value in document.items() if name != "samples"}
    entries = {"header.json": head, "summaries.json": document["samples"]}
    entries |= {f"samples/{i}.json": each for i, each in enumerate(document["samples"])}
    with zipfile.ZipFile(path, "w", packing) as file:
        for name in names or entries:
            file.writestr(name, json.dumps(entries[name]))
    return path


@pytest.fixture
def document():
    return unpacked(KEPT / "letters_json.json")


VALUE = ("samples", 1, "scores", "match", "value")
CHANGED = [
    (("version",), 3, "version is 3, expected 2"),
    (("version",), "2", "version is '2', expected a whole number"),
    (("status",), "cancelled", "its status is 'cancelled', expected 'success'"),
    (("status",), None, "status is empty, expected a text"),
    (("invalidated",), True, "invalidated is true"),
    (("eval",), [], "eval is a list, expected an object"),
    (("eval", "config", "epochs"), 3, "3 of 9 rollouts unfinished (not in the log), the first of them 'q-0', 3"),
    (("eval", "config", "epochs"), 10**8, "asks for 3 x 100000000 rollouts; expected at most 10000000"),
    (("eval", "config", "epochs"), 1, "holds trial 2 of the task 'q-0', which eval does not list"),
    (("eval", "dataset", "sample_ids"), ["q-0", "q-1", "q-2", "q-3"], "2 of 8 rollouts unfinished (not in the log)"),
    (("eval", "dataset", "sample_ids"), ["q-0", "q-1"], "holds trial 1 of the task 'q-2', which eval does not list"),
    (("samples", 1, "id"), True, "[1].id is True, expected a whole number or a text"),
    (("samples", 1, "id"), "q-0", "rows 1 and 2 both are id q-0, epoch 1; expected each pair once"),
    (("samples", 1, "epoch"), 1.0, "[1].epoch is 1.0, expected a whole number"),
    (("samples", 1, "scores"), [], "[1].scores is a list, expected an object"),
    (("samples", 1, "scores"), None, "1 of 6 rollouts unfinished (without a score)"),
    (("samples", 1, "scores", "match"), {"answer": "C"}, "[1].scores.match has no field 'value'; found 'answer'"),
    (VALUE, None, "1 of 6 rollouts unfinished (without a score)"),
    (VALUE, float("nan"), "1 of 6 rollouts unfinished (without a score)"),
    (VALUE, float("inf"), "scores.match.value is inf, expected a finite number"),
    (VALUE, [1], "scores.match.value is a list, expected a finite number"),
    (VALUE, 10**999, "is a number of more than forty digits"),
    (VALUE, "A", "score 'match' has 'A' beside letters; expected C, I, P, N alone"),
    (VALUE, 1, "score 'match' has 1.0 beside letters"),
]


@pytest.mark.parametrize("form", ["json", "eval"])
@pytest.mark.parametrize(("keys", "value", "part"), CHANGED)
def test_a_log_that_changed_is_refused_with_the_place(tmp_path, document, form, keys, value, part):
    def written(name, document):
        path = tmp_path / f"{name}.{form}"
        return archive(path, document) if form == "eval" else path.write_text(json.dumps(document)) and path

    np.testing.assert_array_equal(read_returns(written("good", document)).returns, RIGHT)
    refused(written("changed", edited(document, *keys, value=value)), part)


def test_scores_in_other_words_and_numbers(tmp_path, document):
    for words, expected in ((("yes", "no"), bool), ((True, False), bool), (("1", "0"), float), ((2.5, -1), float)):
        for sample in document["samples"]:
            sample["scores"]["match"]["value"] = words[(int(sample["id"][2:]) + sample["epoch"]) % 3 == 0]
        path = tmp_path / "log.json"
        path.write_text(json.dumps(document))
        data = read_returns(path)
        assert data.returns.dtype == expected
        np.testing.assert_array_equal(data.returns == data.returns.max(), RIGHT)
    document["samples"][1]["scores"]["match"]["value"] = "better"
    path.write_text(json.dumps(document))
    refused(path, "row 2: match is 'better', expected a finite number")


def test_grades_in_words_are_no_counts_of_trials(tmp_path, document):
    for sample in document["samples"]:
        sample["scores"]["match"]["value"] = "3/5"
    (tmp_path / "log.json").write_text(json.dumps(document))
    refused(tmp_path / "log.json", "match is '3/5', expected successes and trials alone")


def test_a_log_that_does_not_list_its_samples(tmp_path, document):
    """An older one: what is there is read if the run was complete, and only then."""
    document["eval"]["dataset"]["sample_ids"] = None
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document))
    np.testing.assert_array_equal(read_returns(path).returns, RIGHT)
    document["status"] = "cancelled"
    path.write_text(json.dumps(document))
    for options in ({}, {"unfinished": 0}):
        refused(path, "its status is 'cancelled', and it does not list its samples", **options)
    document["status"] = "success"
    for keys in (("results", "total_samples"), ("eval", "dataset", "samples")):
        changed = edited({**document, "results": {}}, *keys, value=7)
        path.write_text(json.dumps(changed))
        refused(path, f"was to have {14 if 'eval' in keys else 7} samples, and 6 are in the log", unfinished=0)
    path.write_text(json.dumps(edited(changed, "eval", "config", "limit", value=3)))
    np.testing.assert_array_equal(read_returns(path).returns, RIGHT)


def test_an_archive_without_its_end_or_its_parts(tmp_path, document):
    whole = (KEPT / "letters.eval").read_bytes()
    path = tmp_path / "log.eval"
    for length in (4, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        refused(path, "cannot be read as an archive, damaged or cut short")
    refused(archive(path, document, names=["header.json"]), "has no entry 'summaries.json'")
    refused(archive(path, document, names=["header.json", "summaries.json"]), "holds 0 samples and the summaries of 6")
    with pytest.warns(UserWarning, match="Duplicate name"):
        archive(path, document, names=["header.json", "header.json", "summaries.json"])
    refused(path, "holds 2 entries 'header.json'; expected each name once")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("_journal/start.json", "{}")
    refused(path, "has no entry 'header.json', unfinished or cut short")


def test_no_changed_byte_of_what_is_read_goes_unnoticed(tmp_path):
    """Of the head and the summaries, packed with Zstandard: the archive's checksum holds, or the file is refused."""
    whole = bytearray((KEPT / "letters.eval").read_bytes())
    wanted = read_returns(KEPT / "letters.eval").returns
    with zipfile.ZipFile(KEPT / "letters.eval") as file:
        entries = [file.getinfo(name) for name in ("header.json", "summaries.json")]
    rng, path = np.random.default_rng(0), tmp_path / "log.eval"
    for entry in entries:
        for place in rng.integers(entry.header_offset, entry.header_offset + 30 + entry.compress_size, 40):
            changed = bytearray(whole)
            changed[place] ^= 1 << int(rng.integers(8))
            path.write_bytes(changed)
            try:
                found = read_returns(path)
            except ValueError:
                continue
            np.testing.assert_array_equal(found.returns, wanted)


def stored_zstandard(path, data, *, size, checksum):
    """An archive whose head is packed with Zstandard, and claims this size and checksum."""
    packed, name = pa.compress(data, "zstd", asbytes=True), b"header.json"
    fields = (93, 0, 0, checksum, len(packed), size, len(name), 0)
    local = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 63, 0, *fields) + name + packed
    entry = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 63, 63, 0, *fields, 0, 0, 0, 0, 0) + name
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(entry), len(local), 0)
    path.write_bytes(local + entry + end)


def test_archives_that_unpack_to_more_than_they_say_or_than_is_read(tmp_path):
    path, zeros = tmp_path / "bomb.eval", bytes(2**24)
    stored_zstandard(path, zeros, size=100, checksum=zlib.crc32(zeros))
    refused(path, "entry 'header.json': cannot be read as an archive, damaged or cut short (")
    stored_zstandard(path, zeros, size=2**31, checksum=zlib.crc32(zeros))
    refused(path, f"entry 'header.json': unpacks to {2**31} bytes; expected at most {2**30}")
    stored_zstandard(path, b"{}", size=2, checksum=1)
    refused(path, "not the content whose checksum is given")
    stored_zstandard(path, b"{}", size=2, checksum=zlib.crc32(b"{}"))
    refused(path, "the file has no field 'version'; found none")


def test_an_archive_in_an_archive_is_none(tmp_path):
    path = tmp_path / "outer.eval"
    with zipfile.ZipFile(path, "w") as file:
        file.write(KEPT / "letters.eval", "letters.eval")
    refused(path, "suffix '.eval', expected one of .npz", "nor is it ", "an Inspect log")
