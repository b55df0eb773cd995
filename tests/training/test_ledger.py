"""The log of the spent delta: torn lines, odd lines, full disks."""

import errno
import os
import re
from fractions import Fraction

import pytest
from chained_logs import entries_of, log_of

from jaxcert.training._checkpoint_budget import CheckpointBudget
from jaxcert.training._ledger import Ledger

pytest.importorskip("filelock")
BUDGET = CheckpointBudget(0.1, num_checkpoints=4)
RESULT = {"certify/delta": BUDGET.level(1)}


@pytest.fixture
def log(tmp_path):
    return tmp_path / "certificates.jsonl"


def test_a_line_torn_between_begin_and_finish_is_cut_off(log):
    ledger = Ledger(log)
    number, _ = ledger.begin(0, BUDGET)
    before = log.read_bytes()
    log.write_bytes(before + b'{"number": 1, "checkpoint": 2, "step": 7, "cer')
    with pytest.warns(UserWarning, match=re.escape(f"{log}: its last line was incomplete, and is cut off: ")):
        ledger.finish(number, 0, "policy", RESULT, reached=False)
    assert log.read_bytes().startswith(before)
    assert [(entry["checkpoint"], entry.get("done", False)) for entry in entries_of(log)] == [(1, False), (1, True)]
    assert Ledger(log).begin(1, BUDGET)[0] == 2


def test_a_complete_line_without_its_ending_counts(log):
    """As after an editor that takes the last line ending away: what is spent stays spent."""
    ledger = Ledger(log)
    ledger.begin(0, BUDGET)
    ledger.begin(1, BUDGET)
    log.write_bytes(log.read_bytes()[:-1])
    again = Ledger(log)
    assert again.spent == 2 * Fraction(BUDGET.level(1))
    assert again.begin(2, BUDGET)[0] == 3
    assert [(entry["number"], entry["checkpoint"]) for entry in entries_of(log)] == [(0, 1), (1, 2), (2, 3)]


def begun(*checkpoints):
    return log_of({"checkpoint": number, "step": number, "certify/delta": 0.01} for number in checkpoints)


GOOD = {"checkpoint": 1, "step": 0, "certify/delta": 0.01}


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000,
        b'{"a": ' * 100_000,
        b'{"number": 1e999, "checkpoint": 2, "step": 0, "certify/delta": 0.01}',
        b'{"number": Infinity, "checkpoint": 2, "step": 0, "certify/delta": 0.01}',
        b'{"number": ' + b"9" * 5000 + b', "step": 0, "certify/delta": 0.01}',
        b"\xff\xfe",
        b"3",
        b"",
    ],
)
def test_an_odd_line_is_refused_by_file_and_number(log, line):
    log.write_bytes(begun(1) + line + b"\n" + begun(1))
    with pytest.raises(ValueError, match=re.escape(f"{log}: line 2 is no entry of a checkpoint: ")):
        Ledger(log)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"number": 2}, "expected an object of JSON with the number 1"),
        ({"number": 1.0}, "expected an object of JSON with the number 1"),
        ({"step": "7"}, "expected its step to be a whole number from 0"),
        ({"step": -1}, "expected its step to be a whole number from 0"),
        ({"certify/delta": -0.5}, "expected its certify/delta to be a number in (0, 1)"),
        ({"certify/delta": "1/3"}, "expected its certify/delta to be a number in (0, 1)"),
        ({"checkpoint": 1.5}, "expected its checkpoint to be a whole number from 1"),
        ({"checkpoint": 0}, "expected its checkpoint to be a whole number from 1"),
        ({"checkpoint": int("9" * 400)}, "expected the checkpoint 2, as none is left out or repeated"),
        ({"checkpoint": 3}, "expected the checkpoint 2, as none is left out or repeated"),
        ({}, "expected the checkpoint 2, as none is left out or repeated"),
        ({"done": True, "policy": [[]]}, "expected its policy to be a text"),
        ({"checkpoint": 2, "done": True, "policy": "a"}, "is done, and expected the checkpoint and certify/delta of"),
        ({"certify/delta": 0.02, "done": True, "policy": "a"}, "is done, and expected the checkpoint and certify/"),
    ],
)
def test_an_entry_is_checked_whose_hash_is_right(log, entry, message):
    """Delta that was spent in lines that are gone would be spent again."""
    log.write_bytes(log_of([GOOD, {**GOOD, **entry}]))
    with pytest.raises(ValueError, match=re.escape(f"{log}: line 2 is no entry of a checkpoint: {message}")):
        Ledger(log)


def test_the_first_checkpoint_is_not_missing(log):
    log.write_bytes(begun(2))
    with pytest.raises(ValueError, match="line 1 is no entry of a checkpoint: expected the checkpoint 1"):
        Ledger(log)


def test_a_full_disk_is_told_by_the_name_of_the_log(log, monkeypatch):
    ledger = Ledger(log)

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=re.escape(f"{log}: cannot be written (No space left on device)")) as raised:
        ledger.begin(0, BUDGET)
    assert raised.value.errno == errno.ENOSPC


@pytest.mark.parametrize(
    "content",
    [
        begun(1, 2, 3).replace(b"\n", b"\r"),  # no line at all has an ending
        begun(1) + begun(1, 2, 3)[len(begun(1)) :].replace(b"\n", b"\r"),
        begun(1, 2).replace(b"\n", b""),
        begun(1) + b'{"number": 1, "st\r{"number": 2',
        begun(1) + b'{"step": 2, "cer',
        begun(1) + b'{"number": 1, "step": ' + b"[" * 100_000,
        begun(1) + b'{"number": 1, \0\0\0',
        begun(1) + b'{"number": 1, "step": 0}',
        begun(1) + b"see above",
        begun(1) + b"\xff",
    ],
)
def test_only_the_start_of_one_entry_is_cut_off(log, content):
    """Anything else may be what is spent of delta, which must not be forgotten."""
    log.write_bytes(begun(1))
    ledger = Ledger(log)
    log.write_bytes(content)
    number = content.count(b"\n") + 1
    with pytest.raises(ValueError, match=re.escape(f"{log}: line {number} is no entry of a checkpoint: ")):
        Ledger(log)
    with pytest.raises(ValueError, match=re.escape(f"{log}: ")):  # no line, or without its ending another one
        ledger.begin(5, BUDGET)
    assert log.read_bytes() == content
    assert ledger.spent == Fraction(0.01)


def test_an_entry_cut_short_anywhere_is_cut_off(log):
    facts = {
        "until": None,
        "deterministic": False,
        "support": [0.0, 1.5e-7],
        "open": [0.0, None],
        "bound": 'b\u00e9t"g',
    }
    ledger = Ledger(log)
    ledger.begin(0, BUDGET)
    before = log.read_bytes()
    ledger.finish(1, 0, "policy", {**RESULT, **facts}, reached=False)
    line = log.read_bytes()[len(before) : -1]
    for size in range(1, len(line)):
        log.write_bytes(before + line[:size])
        with pytest.warns(UserWarning, match="its last line was incomplete, and is cut off"):
            Ledger(log).finish(1, 0, "policy", {**RESULT, **facts}, reached=False)
        assert log.read_bytes() == before + line + b"\n"


@pytest.mark.parametrize("lose", [lambda log: log.unlink(), lambda log: log.write_bytes(b"")])
def test_checkpoints_that_go_missing_meanwhile_are_missed(log, lose):
    ledger = Ledger(log)
    ledger.begin(0, BUDGET)
    lose(log)
    for _ in range(2):
        with pytest.raises(ValueError, match=re.escape(f"{log}: lines that it had before are missing or altered")):
            ledger.begin(1, BUDGET)
