"""Certificates of several requirements, in exact arithmetic: what is certified is accepted, and nothing more."""

import copy
import dataclasses
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from alterations import altered, every_alteration, with_record
from cli_harness import table as csv_table
from random_certificates import reasons, verdicts, with_risk

import jaxcert
from jaxcert._validation import precision
from jaxcert.report import certificate_record, verify, write_certificates
from jaxcert.tables import read_returns

RNG = np.random.default_rng(3)
N, M = 30, 12
REWARD = np.round(30 * RNG.beta(9, 2, (N, 1)) * RNG.uniform(0.8, 1, (N, M)), 2)
COST = RNG.poisson(4 * RNG.gamma(4, 0.5, (N, 1)), (N, M)).clip(0, 200)
HIT = RNG.random((N, M)) < RNG.beta(1, 6, (N, 1))
MASK = np.arange(M) < RNG.integers(8, M + 1, (N, 1))
TWO = ["reward >= 10 in 0 30", "cost <= 60 in 0 200"]
MIXED = ["reward >= 16.5 in 0 30", "hit <= 0.5"]
# Of each kind the requirements and the other settings.
KINDS = {
    "returns": (TWO, {}),
    "mixed": (MIXED, {}),
    "mixed, at one level": (MIXED, {"beta": 0.1}),
    "mixed, by bounds": (MIXED, {"method": "binomial", "beta": 0.2}),
    "events": (["hit >= 0.01", "hit <= 0.5"], {}),
    "one that nothing misses": (["reward >= 0 in 0 30", "hit <= 0.5"], {}),
    "a list": (TWO, {"listed": True}),
    "a list, mixed": (MIXED, {"listed": True}),
}


def written(folder: Path, *, masked: bool = False, reward: str = "reward") -> Path:
    """A table with a column of each metric, or arrays of which some rollouts do not count."""
    if masked:
        np.savez(folder / "r.npz", reward=REWARD, cost=COST, hit=HIT, where=MASK)
        return folder / "r.npz"
    rows = [(*at, REWARD[at], COST[at], ["no", "yes"][int(HIT[at])]) for at in np.ndindex(N, M)]
    return csv_table(folder / "r.csv", f"task,episode,{reward},cost,hit", rows)


def recorded(path: Path, lines, *, listed=False, dtype="float32", **settings) -> dict:
    """The record, with its witnesses, in a certificate file beside the returns."""
    names = dict.fromkeys(re.split(" [<>]= ", line)[0] for line in lines)
    data = {name: read_returns(path, value=name, metric=True) for name in names}
    certify = jaxcert.certify_suite_requirements if listed else jaxcert.certify_requirements
    with precision(dtype):
        given = {name: _as(dtype, each.returns) for name, each in data.items()}
        where = None if path.suffix == ".csv" else {name: each.where for name, each in data.items()}
        found = certify(given, lines, delta=0.1, complete=True, where=where, **settings)
        first, *others = data.values()
        record = certificate_record(found, data=first, others=others, witness=True)
    write_certificates(path.with_name("c.json"), [record])
    return record


def _as(dtype: str, x: np.ndarray) -> np.ndarray:
    return x if x.dtype == bool else x.astype(dtype)


@pytest.mark.filterwarnings("ignore:.* are missing")
@pytest.mark.parametrize(("dtype", "masked"), [("float32", False), ("float64", True)])
@pytest.mark.parametrize("name", KINDS)
def test_what_is_certified_is_accepted_and_nothing_more(name, masked, dtype, tmp_path):
    (lines, settings), path = KINDS[name], written(tmp_path, masked=masked)
    record = recorded(path, lines, dtype=dtype, **settings)
    (row,) = record["rows"]
    assert row["witness"] is not None
    ((holds, words),) = verdicts(path.with_name("c.json"), path)
    assert holds, words
    assert row.get("num_good", 0) >= 5 or row["safety"] > 0.1
    if "num_good" in row:
        better = row | {"num_good": row["num_good"] + 1}
        better["sentence"] = row["sentence"].replace(f"least {row['num_good']} ", f"least {row['num_good'] + 1} ")
    else:
        better = copy.deepcopy(row)
        with_risk(better, row["epsilon"] * 0.999)
    change = {"rows": [better]}
    changed = altered(path.with_name("c.json"), lambda held: held["certificates"][0].update(change), name="a.json")
    assert not verdicts(changed, path)[0][0]


def alterations(record):
    """What claims more than the returns prove, or is of another form, by a name."""

    def line(old, new):
        return lambda one: one.update(json.loads(json.dumps(one).replace(old, new)))

    def both(*changes):
        return lambda one: [change(one) for change in changes]

    reward, hit = "reward >= 16.5 in 0 30", "hit <= 0.5"
    yield "a harder limit", line("16.5", "22.5")
    yield "a rarer event", line("0.5", "0.3")
    yield "the other side", both(line(hit, "hit >= 0.5"), line("of hit is at most", "of hit is at least"))
    yield "a smaller support", line(reward, "reward >= 16.5 in 0 20")
    yield "a larger end", line(reward, "reward >= 16.5 in 16 30")
    yield "no support", both(line(reward, "reward >= 16.5"), line("expected reward", "probability of reward"))
    yield "no number", line(reward, "reward >= ten in 0 30")
    yield "no requirement", line(reward, "reward")
    yield "one less", lambda one: one["settings"]["requirements"].pop()
    yield "none", lambda one: one["settings"].update(requirements=[])
    yield "another metric", line("hit", "cost")
    yield "partial rollouts", lambda one: one["settings"].update(complete=False)
    yield "a metric twice", lambda one: one["others"].append(one["others"][0])
    yield "one file less", lambda one: one.pop("others")
    yield "other rows", lambda one: one["others"][0].update(roles={"where": ["episode = 1"]})
    yield "another column of tasks", lambda one: one["others"][0]["columns"].update(task="episode", trial="task")
    yield "another file", lambda one: one["others"][0].update(sha256="0" * 64)
    yield "fewer rollouts", lambda one: one["others"][0]["num_rollouts"].update(total=1)
    yield "weights", lambda one: one["settings"].update(max_weight=1.5)
    yield "other words", line("all at once", "one of them")
    yield "more words", line("hit is at most 0.5", "hit is at most 0.5 and so on")
    each = record["rows"][0]["witness"]["requirements"]
    yield "one witness for all", lambda one: one["rows"][0].update(witness=each[0])
    yield "turned round", lambda one: one["rows"][0]["witness"]["requirements"].reverse()


def test_the_proof_shows_where_a_name_begins_and_ends(tmp_path):
    """A name that is a claim, with and without the quotes."""
    claim = "hit is at least 0.9 and the expected bonus"
    table, lines = written(tmp_path, reward=claim), [f"{claim} >= 10 in 0 30", "cost <= 60 in 0 200"]
    record = recorded(table, lines)
    assert record["settings"]["requirements"] == lines
    ((holds, words),) = verdicts(tmp_path / "c.json", table)
    assert holds, words
    assert f'the expected "{claim}" is at least 10 and the expected cost is at most 60, all at once' in words
    assert verify(tmp_path / "c.json", table).ok
    (row,) = record["rows"]
    bare = {"rows": [row | {"sentence": row["sentence"].replace('"', "")}]}
    changed = altered(tmp_path / "c.json", lambda held: held["certificates"][0].update(bare), name="a.json")
    assert verdicts(changed, table)[0][0] is False
    assert "the sentence is not that of its numbers" in str(verify(changed, table))


def test_metrics_that_a_sentence_shows_alike_are_not_proven(tmp_path):
    """Nobody could tell which of them reaches which limit."""
    one, other = "re'w", 're"w'
    table, lines = written(tmp_path, reward=one), [f"{one} >= 10 in 0 30", "cost <= 60 in 0 200"]
    recorded(table, lines)
    assert verdicts(tmp_path / "c.json", table)[0][0] is True
    table.write_text(table.read_text().replace(",cost,", f',"{other.replace(chr(34), 2 * chr(34))}",'))
    digest = hashlib.sha256(table.read_bytes()).hexdigest()

    def renamed(held):
        record = held["certificates"][0]
        record["rows"][0]["sentence"] = record["rows"][0]["sentence"].replace("expected cost", f'expected "{one}"')
        for each, name in zip([record["data"], *record["others"]], (one, other), strict=True):
            each["sha256"], each["columns"]["value"] = digest, name
        record["settings"]["requirements"] = [lines[0], lines[1].replace("cost", other)]

    told = "a sentence shows two of its metrics alike"
    assert told in " ".join(reasons(altered(tmp_path / "c.json", renamed, name="a.json"), table))


@pytest.mark.parametrize("listed", [False, True])
def test_every_alteration_is_refused_with_a_reason(listed, tmp_path):
    table = written(tmp_path)
    record = recorded(table, MIXED, listed=listed)
    assert all(None in (each.get("bets") or each["successes"]) for each in record["rows"][0]["witness"]["requirements"])
    assert reasons(tmp_path / "c.json", table) == []
    changed = dict(every_alteration(record, 0))
    for name, change in alterations(record):
        change(changed.setdefault(name, copy.deepcopy(record)))
    assert len(changed) > 150
    found = {name: reasons(with_record(tmp_path / "c.json", other), table) for name, other in changed.items()}
    assert [name for name, words in found.items() if not any(words) or not all(map(str.isprintable, words))] == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"method": "soft"}, "method is 'soft', of which there are no witnesses"),
        ({"bound": "hoeffding"}, "bound is 'hoeffding', which has no witnesses"),
        ({"chosen": np.int32(1)}, "beta is 'auto', whose share of delta has no witness"),
        ({"source": "reweighted"}, "of tasks with weights or from strata"),
    ],
)
def test_what_has_no_witnesses_is_refused_by_name(change, words, tmp_path):
    path = written(tmp_path)
    data = [read_returns(path, value=name, metric=True) for name in ("reward", "cost")]
    found = jaxcert.certify_requirements({"reward": REWARD, "cost": COST}, TWO, delta=0.1, complete=True)
    with pytest.raises(ValueError, match=words):
        certificate_record(dataclasses.replace(found, **change), data=data[0], others=data[1:], witness=True)


def test_nothing_certified_needs_no_witness(tmp_path):
    table = written(tmp_path)
    for listed in (False, True):
        record = recorded(table, ["reward >= 29.9 in 0 30"], listed=listed)
        assert "witness" not in record["rows"][0]
        assert reasons(tmp_path / "c.json", table) == []
