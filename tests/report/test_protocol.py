"""Protocols: written once, read as they are, and what contradicts them."""

import dataclasses

import numpy as np
import pytest

from jaxcert.report import Protocol

LOCKED = Protocol(
    support=(0, 1000),
    delta=0.01,
    thresholds=[500, 600.5],
    num_tasks=200,
    num_rollouts=100,
    beta=0.05,
    metric="undiscounted return",
    seed=3,
)


def test_the_digest_is_that_of_the_content(tmp_path):
    LOCKED.write(tmp_path / "p.toml")
    text = (tmp_path / "p.toml").read_text()
    (tmp_path / "same.toml").write_text("# a remark\n" + text.replace("delta = 0.01", "delta = 1e-2"))
    assert Protocol.read(tmp_path / "same.toml").digest == LOCKED.digest
    others = {"support": (0, 999), "delta": 0.02, "thresholds": (500,), "num_tasks": 201, "num_rollouts": 99}
    others |= {"beta": None, "bound": "dkw", "method": "soft", "metric": None, "environment": "cheetah"}
    others |= {"policy_sha256": "0" * 64}
    changed = [{name: value} for name, value in others.items()]
    changed += [{"seed": 4}, {"deterministic": True}, {"deterministic": False}, {}]
    assert len({dataclasses.replace(LOCKED, **change).digest for change in changed}) == len(changed)


def test_contradictions_in_words():
    found = {"delta": 0.01, "thresholds": [500.0], "num_tasks": 100, "seed": None, "environment": "walker"}
    assert LOCKED.contradictions(found) == [
        "thresholds is 500, the protocol says 500, 600.5",
        "num_tasks is 100, the protocol says 200",
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"thresholds": ()}, "question is 'safety'; expected a threshold or more"),
        ({"safeties": (0.9,)}, "question is 'safety'; expected no safety"),
        ({"support": (1, 0)}, "support is"),
        ({"delta": 1.0}, "delta is 1"),
        ({"beta": 0.0}, "beta is 0"),
        ({"num_tasks": 0}, "num_tasks is 0"),
        ({"bound": "best"}, "bound is 'best'"),
        ({"method": "best"}, "method is 'best'"),
        ({"thresholds": (float("nan"),)}, "thresholds"),
        ({"thresholds": (500, 1001)}, r"thresholds\[1\] is 1001; expected at most 1000, which no performance exceeds"),
        ({"thresholds": (0,)}, r"thresholds\[0\] is 0; expected more than 0, which every performance is at least"),
        ({"metric": 3}, "metric is 3"),
        ({"seed": -5}, "seed is -5"),
        ({"policy_sha256": "abc"}, "policy_sha256 is 'abc'"),
        ({"support": (0, "1")}, r"support is \(0, '1'\); expected a list of 2 numbers"),
        ({"thresholds": ("0.5",)}, r"thresholds is \('0.5',\); expected a list of numbers"),
        ({"delta": [0.05]}, r"delta is \[0.05\]; expected a number"),
        ({"beta": True}, "beta is True; expected a number"),
        ({"bound": 0}, "bound is 0; expected a text"),
        ({"safeties": ""}, "safeties is ''; expected a list of numbers"),
        ({"environment": ""}, "environment is ''; expected a text that is not empty"),
    ],
)
def test_what_cannot_be_locked(change, words):
    with pytest.raises(ValueError, match=words):
        dataclasses.replace(LOCKED, **change)


REST = "delta = 0.1\nthresholds = [0.5]\nnum_tasks = 9\nnum_rollouts = 2\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("delta = ", "no protocol"),
        ("delta = 0.1", "has version None of the format, expected 1"),
        ("format_version = 1\ncolour = 3", "unknown entries colour"),
        ("format_version = 1\ndelta = 0.1", "missing 2 required"),
        (f"format_version = 1\nsupport = [0, 1{'0' * 400}]\n{REST}", "no protocol"),
        (f"format_version = 1\nsupport = 3\n{REST}", "no protocol"),
        *(
            (f"format_version = {version}\nsupport = [0, 1]\n{REST}", "of the format, expected 1")
            for version in ("1.0", "true", "'1'")
        ),
    ],
)
def test_what_is_no_protocol(tmp_path, text, words):
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(ValueError, match=words):
        Protocol.read(tmp_path / "p.toml")


def test_a_byte_order_mark_does_not_count(tmp_path):
    (tmp_path / "p.toml").write_bytes(b"\xef\xbb\xbf" + f"format_version = 1\nsupport = [0, 1]\n{REST}".encode())
    assert Protocol.read(tmp_path / "p.toml").num_tasks == 9


def test_equal_protocols_have_one_digest():
    settings = {"delta": 0.5, "thresholds": (0.5,), "num_tasks": 6, "num_rollouts": 2}
    one, other = Protocol(support=(0, 1), **settings), Protocol(support=(-0.0, np.float32(1)), **settings)
    assert (one, one.digest) == (other, other.digest)
    assert Protocol(support=(0, 1), **{**settings, "delta": np.float32(0.5)}).digest == one.digest
