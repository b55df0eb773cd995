"""Columns that set trials aside: those in which a human helped, and those that are not to be counted."""

import functools
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from cli_harness import command, refused
from saved_files import check_said

from jaxcert.tables import read_returns

ASK = ("--threshold", 0.5, "--delta", 0.1)
SET = np.random.default_rng(0).permutation(200) < 20
WON = np.random.default_rng(1).random(200) < 0.7
WON[SET] = np.arange(20) % 2 == 0  # so that 10 of them succeed


def table(path, won=WON, **columns):
    tasks = [f"t{i // 5:03}x" for i in range(200)]
    frame = pd.DataFrame({"task": tasks, "trial": np.arange(200) % 5, **columns, "success": won})
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


NAMES = """
    intervention assisted teleop human_takeover excluded discard invalid is_excluded num_interventions
    human_intervention was_assisted humanIntervention Human_Takeover
"""
TOLD = [
    *((name, SET.astype(int) * 2) for name in [*NAMES.split(), "Human Takeover"]),
    *((name, ~SET) for name in ("is_valid", "autonomous")),
    *(
        ("valid", np.where(SET, "no", "yes")),
        ("valid", (~SET).astype(int)),
        ("include", np.where(SET, "FALSE", "TRUE")),
    ),
    ("intervention", np.where(SET, "gripper stuck", "none")),
    ("excluded_reason", np.where(SET, "robot stopped", "")),
    *(("status", np.where(SET, "invalid", "done")), ("mode", np.where(SET, "teleop", "auto"))),
    ("note", np.where(SET, "human intervention", "")),
]
SILENT = [
    *(("intervention", np.zeros(200, int)), ("valid", np.ones(200, int)), ("excluded", np.full(200, ""))),
    *((name, np.arange(200) % 7) for name in ("invalid_actions", "num_valid")),
    *(("human_score", np.arange(200) / 300), ("dropped", SET)),
]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("name", "entries", "is_told"), [*((*each, True) for each in TOLD), *((*each, False) for each in SILENT)]
)
def test_trials_that_a_column_sets_aside_are_told(tmp_path, name, entries, is_told, suffix):
    """No hint would leave them out."""
    said = f"(column '{name}' sets 20 of 200 trials aside, 10 of them successes)" if is_told else ""
    read = functools.partial(read_returns, table(tmp_path / f"t{suffix}", **{name: entries}))
    with warnings.catch_warnings(record=True, action="always") as told:
        assert check_said(said, read).returns.shape == (40, 5)
        read()
    assert "such as where" not in " ".join(str(each.message) for each in told)


def test_a_field_of_an_object_sets_trials_aside(tmp_path):
    rows = [
        {"task": i // 5, "trial": i % 5, "info": {"intervention": bool(SET[i])}, "success": True} for i in range(200)
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "column 'info.intervention' sets 20" in command("certify", tmp_path / "t.jsonl", *ASK).err


def test_to_leave_them_out_is_told_as_well(tmp_path):
    path = table(tmp_path / "t.csv", intervention=SET)
    told = command("certify", path, *ASK, "--where", "intervention = False").err
    assert "column 'intervention' sets 20 of 200 trials aside, 10 of them successes" in told
    assert "left out" in told
    lost = table(tmp_path / "u.csv", won=~SET, intervention=SET)
    assert "not chosen by their outcome" in refused("certify", lost, *ASK, "--where", "intervention = False")


def test_those_that_count_as_failures_are_on_the_safe_side(tmp_path):
    path = table(tmp_path / "t.csv", won=WON & ~SET, intervention=SET)
    strict = ("--strict", "--ignore", "intervention")
    assert command("certify", path, *ASK, *strict).status == 0
    lost = table(tmp_path / "u.csv", won=np.where(SET, "", np.where(WON, "yes", "no")), intervention=SET)
    assert command("certify", lost, *ASK, *strict, "--unfinished", 0).status == 0


@pytest.mark.parametrize(
    ("value", "outcomes"), [("r", ("3/10", "9/10")), ("s0,s1", ((0, 0), (0, 1))), ("s0,s1", (("", 0), ("", 1)))]
)
def test_counts_and_rows_of_several_trials_are_looked_at_as_well(tmp_path, value, outcomes):
    """Some of the trials with help, or of those that ended well, succeed; in the first column none of them does."""
    path, is_won = tmp_path / "t.csv", np.random.default_rng(0).random(30) < 0.7
    rows = pd.DataFrame([np.atleast_1d(outcomes[int(won)]) for won in is_won], columns=value.split(","))
    beside = {"task": [f"q{i}x" for i in range(30)], "assisted": is_won, "status": np.where(is_won, "ok", "crashed")}
    rows.assign(**beside).to_csv(path, index=False)
    strict = ("--strict", "--ignore", "assisted", "--ignore", "status")
    asked = ("certify", path, *ASK, "--value", value, "--unfinished", 0, *strict)
    count = f"sets {is_won.sum()} of 30 trials aside"
    assert f"column 'assisted' {count}" in refused(*asked)
    pd.read_csv(path).drop(columns="assisted").to_csv(path, index=False)
    assert "not chosen by their outcome" in refused(*asked, "--where", "status = ok")
