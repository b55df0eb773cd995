"""The hashes in the log of spent delta: what they find of altered, lost and exchanged lines, and what they cannot."""

import json
import re

import pytest

from jaxcert.training._checkpoint_budget import CheckpointBudget
from jaxcert.training._ledger import Ledger

pytest.importorskip("filelock")
BUDGET = CheckpointBudget(0.1, num_checkpoints=9)
LEVEL = BUDGET.level(1)


@pytest.fixture
def log(tmp_path):
    """Three checkpoints that are done, in lines 1 to 6."""
    ledger = Ledger(tmp_path / "certificates.jsonl")
    for step in range(3):
        number, delta = ledger.begin(step, BUDGET)
        ledger.finish(number, step, f"policy {step}", {"certify/delta": delta}, reached=False)
    return ledger.path


def kept(log, edit):
    """The log after an edit of its lines."""
    log.write_text("".join(f"{line}\n" for line in edit(log.read_text().splitlines())))


def bare(lines):
    """Without hashes."""
    entries = [json.loads(line) for line in lines]
    return [json.dumps({name: value for name, value in entry.items() if name != "chain"}) for entry in entries]


def cheaper(lines):
    return [line.replace(f'"certify/delta": {LEVEL}', '"certify/delta": 1e-06') for line in lines]


@pytest.mark.parametrize(
    ("edit", "line"),
    [
        (lambda lines: lines[:1] + lines[2:], 2),  # not done
        (lambda lines: lines[:3] + lines[4:], 4),
        (lambda lines: lines[2:], 1),
        (lambda lines: cheaper(lines[:2]) + lines[2:], 1),
        (lambda lines: lines[:4] + cheaper(lines[4:]), 5),
        (lambda lines: lines[:2] + [lines[1]] + lines[2:], 3),
        (lambda lines: [lines[i] for i in (0, 2, 1, 3, 4, 5)], 2),
        (lambda lines: [*lines[:5], lines[5].replace("false", "true")], 6),
        (lambda lines: [*lines[:5], lines[5].replace("policy 2", "policy 3")], 6),
        (lambda lines: lines[:5] + bare(lines[5:]), 6),
        (lambda lines: bare(lines[:2]) + lines[2:], 1),
        (lambda lines: [lines[0].replace('"step": 0', '"step": 0, "step": 0'), *lines[1:]], 1),
    ],
)
def test_edits_are_found(log, edit, line):
    kept(log, edit)
    with pytest.raises(ValueError, match=re.escape(f"{log}: line {line} is no entry of a checkpoint: ")):
        Ledger(log)


def test_every_digit_of_every_line_counts(log):
    content = log.read_text()
    for i in [place for place, character in enumerate(content) if character.isdigit()]:
        log.write_text(f"{content[:i]}{(int(content[i]) + 1) % 10}{content[i + 1 :]}")
        with pytest.raises(ValueError, match="is no entry of a checkpoint"):
            Ledger(log)


def test_how_lines_end_does_not_count(log):
    log.write_bytes(log.read_bytes().replace(b"\n", b"\r\n"))
    ledger = Ledger(log)
    assert (ledger.begin(3, BUDGET)[0], Ledger(log).last) == (4, 4)


def test_lines_that_go_missing_at_the_end_are_missed_by_those_who_have_read_them(log):
    """Nobody else can."""
    ledger = Ledger(log)
    kept(log, lambda lines: lines[:4])
    assert Ledger(log).last == 2
    for _ in range(2):
        with pytest.raises(ValueError, match=re.escape(f"{log}: lines that it had before are missing or altered")):
            ledger.begin(3, BUDGET)
