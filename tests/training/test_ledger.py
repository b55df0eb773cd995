"""The log of the spent delta: what is spent stays spent, and what no checkpoint says is refused."""

import re

import pytest
from chained_logs import log_of

from jaxcert.training._checkpoint_budget import Ledger

pytest.importorskip("filelock")


@pytest.fixture
def log(tmp_path):
    return tmp_path / "certificates.jsonl"


GOOD = {"checkpoint": 1, "step": 0, "certify/delta": 0.01}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
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
    log.write_bytes(log_of([{**GOOD, "checkpoint": 2}]))
    with pytest.raises(ValueError, match="line 1 is no entry of a checkpoint: expected the checkpoint 1"):
        Ledger(log)
