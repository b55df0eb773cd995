"""The log of the spent delta: torn lines, odd lines, full disks."""

import errno
import json
import os
import re
from fractions import Fraction

import pytest

from jaxcert.training._budget import CheckpointBudget
from jaxcert.training._ledger import Ledger

pytest.importorskip("filelock")
BUDGET = CheckpointBudget(0.1, num_checkpoints=4)
RESULT = {"certify/delta": BUDGET.level(1)}


@pytest.fixture
def log(tmp_path):
    return tmp_path / "certificates.jsonl"


def entries(log):
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_a_line_torn_between_begin_and_finish_is_cut_off(log):
    ledger = Ledger(log)
    number, _ = ledger.begin(0, BUDGET)
    before = log.read_bytes()
    log.write_bytes(before + b'{"number": 2, "step": 7, "cer')
    with pytest.warns(UserWarning, match=re.escape(f"{log}: its last line was incomplete, and is cut off: ")):
        ledger.finish(number, 0, "policy", RESULT, reached=False)
    assert log.read_bytes().startswith(before)
    assert [(entry["number"], entry.get("done", False)) for entry in entries(log)] == [(1, False), (1, True)]
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
    assert [entry["number"] for entry in entries(log)] == [1, 2, 3]


GOOD = b'{"number": 1, "step": 0, "certify/delta": 0.01}\n'


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000,
        b'{"a": ' * 100_000,
        b'{"number": 1e999, "step": 0, "certify/delta": 0.01}',
        b'{"number": Infinity, "step": 0, "certify/delta": 0.01}',
        b'{"number": 1, "step": 1e999, "certify/delta": 0.01}',
        b'{"number": 1, "step": 0, "certify/delta": 1e999}',
        b'{"number": 1, "step": 0, "certify/delta": -0.5}',
        b'{"number": 1, "step": 0, "certify/delta": "1/3"}',
        b'{"number": 1.5, "step": 0, "certify/delta": 0.01}',
        b'{"number": 0, "step": 0, "certify/delta": 0.01}',
        b'{"number": ' + b"9" * 5000 + b', "step": 0, "certify/delta": 0.01}',
        b'{"number": 1, "step": 0, "certify/delta": 0.01, "done": true, "policy": [[]]}',
        b"\xff\xfe",
        b"3",
        b"",
    ],
)
def test_an_odd_line_is_refused_by_file_and_number(log, line):
    log.write_bytes(GOOD + line + b"\n" + GOOD)
    with pytest.raises(ValueError, match=re.escape(f"{log}: line 2 is no entry of a checkpoint: ")):
        Ledger(log)


def test_a_full_disk_is_told_by_the_name_of_the_log(log, monkeypatch):
    ledger = Ledger(log)

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=re.escape(f"{log}: cannot be written (No space left on device)")) as raised:
        ledger.begin(0, BUDGET)
    assert raised.value.errno == errno.ENOSPC
