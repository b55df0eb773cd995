"""The exact checker of tasks that stop by themselves: it accepts what their log proves and nothing else."""

import copy
import functools
import hashlib
import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alterations import altered_record, every_alteration, with_entries, with_record
from chained_logs import log_of
from hypothesis import given
from hypothesis import strategies as st
from random_certificates import Cases, record_of, tally_of, verdicts
from random_runs import KINDS, made_run

from jaxcert.questions import QUESTIONS
from jaxcert.report import check_certificate, check_exactly, check_trials
from jaxcert.report._exact_check import check_witnessed, read_log
from jaxcert.report.check_certificate import Number
from jaxcert.rollouts import Trials
from jaxcert.sequential._rule import calibrated_goals

pytest.importorskip("filelock")

BETS = st.lists(st.fractions(0, 1, max_denominator=20), min_size=1, max_size=3)


def numbers(values) -> list[Number]:
    """As JSON has them."""
    return [Number(str(float(x))) for x in values]


def wealth(bets, returns, low, threshold) -> Fraction:
    """The mean over the bets, by its definition."""
    won = [math.prod(1 - bet + bet * (x - low) / (threshold - low) for x in returns) for bet in bets]
    return sum(won, Fraction(0)) / len(bets)


def passes_after(bets, outcome, threshold, goal, give_up) -> int:
    """After how many trials a task of these successes and failures passes, one by one; 0 if it does not."""
    for t in range(1, len(outcome) + 1):
        now = wealth(bets, outcome[:t], 0, threshold)
        if now >= goal:
            return t
        if now <= give_up:
            return 0
    return 0


@given(
    BETS,
    st.integers(1, 6),
    st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20),
    st.fractions(1, 6, max_denominator=10),
    st.sampled_from(["0.0", "0.3", "0.8"]),
)
def test_who_passes_by_all_outcomes(bets, most, threshold, goal, give_up):
    rule = {"max_trials": Number(str(most)), "give_up": Number(give_up)}
    chance, stops = Fraction(0), {}
    for outcome in product((0, 1), repeat=most):
        stops[outcome] = passes_after(bets, [*map(Fraction, outcome)], threshold, goal, Fraction(give_up))
        weight = threshold ** sum(outcome) * (1 - threshold) ** (most - sum(outcome))
        chance += weight if stops[outcome] else 0
    passes = check_trials.by_successes(rule, bets, threshold, goal, chance)
    for outcome, stop in stops.items():
        # What came after it passed is no evidence against it.
        assert passes([*map(Fraction, outcome)]) == [t == stop for t in range(1, most + 1)]
    assert not passes([Fraction(1)] * (most + 1))[-1]
    with pytest.raises(ValueError, match="with a probability larger than beta"):
        check_trials.by_successes(rule, bets, threshold, goal, chance - Fraction(1, 10**60))


@given(BETS, st.fractions(1, 6, max_denominator=10), st.fractions(0, 3, max_denominator=10))
def test_who_passes_with_a_larger_goal_has_passed_with_a_smaller_one(bets, goal, more):
    """So the data may choose among goals, whose events are nested."""
    rule = {"max_trials": Number("5"), "give_up": Number("0.4")}
    smaller, larger = (
        check_trials.by_successes(rule, bets, Fraction(3, 5), each, Fraction(1)) for each in (goal, goal + more)
    )
    for outcome in product((Fraction(0), Fraction(1)), repeat=5):
        assert any(smaller([*outcome])) or not any(larger([*outcome]))


def test_the_goals_of_the_library_are_reached_as_seldom_as_it_says():
    bets = (0.03, 0.08, 0.2, 0.45, 0.9)
    rule = {"max_trials": Number("40"), "give_up": Number("0.1")}
    for threshold in (0.2, 0.5, 0.9):
        (goal,) = calibrated_goals([threshold], 0.05, np.array(bets), 0.1, 40)
        exact = [*map(Fraction, numbers(bets))], Fraction(str(threshold)), Fraction(repr(float(goal)))
        check_trials.by_successes(rule, *exact, Fraction("0.05"))
        with pytest.raises(ValueError, match="larger than beta"):
            check_trials.by_successes(rule, *exact, Fraction("0.04"))


@pytest.mark.parametrize("threshold", [Fraction(1), Fraction(3, 2)])
def test_a_threshold_that_no_coin_is_below_proves_nothing(threshold):
    rule = {"max_trials": Number("3"), "give_up": Number("0.1")}
    with pytest.raises(ValueError, match="not between 0 and 1"):
        check_trials.by_successes(rule, [Fraction(1)], threshold, Fraction(2), Fraction(1, 2))


# Of each kind a seed with a finite support, and a row in which some tasks pass and some do not.
BASES = {"trials of successes": (0, 0), "trials with scores": (1, 0)}


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """A run of each kind, made when it is first asked for."""

    def make(name):
        seed, row = BASES[name]
        case = made_run(KINDS[name], seed, tmp_path_factory.mktemp("case"))
        stops = record_of(case)["rows"][row]["witness"]["rollouts"]
        assert None in stops
        assert any(stops)
        return case

    return Cases(make)


@pytest.mark.parametrize("name", BASES)
def test_a_log_is_of_no_group_of_rows(cases, name):
    """A log has no columns, by which its trials would be some of others."""
    case, record = cases[name], record_of(cases[name])
    returns = read_log(case.returns, record["data"]["sha256"])
    roles = {"where": ["robot = each"], "group": "robot = each"}
    said = {
        ("rows", i, "sentence"): row["sentence"].replace(": ", ", where robot = each: ", 1)
        for i, row in enumerate(record["rows"])
    }
    other = with_entries(record, {("data", "roles"): roles, **said})
    with pytest.raises(ValueError, match="its log is read in another way"):
        list(check_trials.check(with_record(case.certificate, other).read_bytes(), lambda _: returns))


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_what_is_certified_is_accepted_and_no_smaller_risk(name):
    counts, refused = tally_of(functools.partial(made_run, KINDS[name]), range(1, 11), every=10)
    assert refused == []
    assert counts["accepted"] == counts["claim"] > 10
    assert counts["without"] == 0
    assert counts["refused"] == counts["lowered"] > 0


def refused(certificate: Path, read, row: int) -> bool:
    """Whether that row is, or the file as a whole."""
    try:
        verdicts = [holds for holds, _ in check_trials.check(certificate.read_bytes(), read) if holds is not None]
    except check_certificate.WRONG:
        return True
    return not any(verdicts[row : row + 1])


@pytest.mark.parametrize("name", BASES)
def test_every_alteration_is_refused(cases, name):
    case, row = cases[name], BASES[name][1]
    record = record_of(case)
    returns = read_log(case.returns, record["data"]["sha256"])
    changes = dict(every_alteration(record, row))
    # A task that is known to pass a larger threshold may pass this one before, and one of scores after any of them.
    stops = record["rows"][row]["witness"]["rollouts"]
    passing = next(i for i, each in enumerate(stops) if each is not None)
    for early in (stops[passing] - 1 if KINDS[name] else 1, stops[passing] - 0.5):
        changes[f"after {early}"] = with_entries(record, {("rows", row, "witness", "rollouts", passing): early})
    assert len(changes) > 90
    assert not refused(case.certificate, lambda _: returns, row)
    assert not refused(with_record(case.certificate, record), lambda _: returns, row)
    accepted = [
        what
        for what, other in changes.items()
        if not refused(with_record(case.certificate, other), lambda _: returns, row)
    ]
    assert accepted == []


def test_an_upper_end_is_refused(cases):
    """Its level would be one of the certificate alone, which the data may have chosen."""
    case = cases["trials of successes"]

    def with_upper_end(one):
        one["settings"]["beta_upper"] = 0.5
        row = one["rows"][0]
        row["sentence"] = row["sentence"].replace("probability at least ", "a probability between ")[:-1] + " and 1."
        row.update(safety_upper=1.0, num_below=0)

    path = altered_record(case.certificate, with_upper_end)
    assert verdicts(path, case.returns)[0] == (
        False,
        "refused: certificate 1, row 1 of 2: it has num_below, safety_upper, which its question does not allow",
    )


def relogged(case, folder: Path, change, *, with_chain: bool = True) -> Path:
    """The log with a change of its lines, and a certificate that names it with its own hash."""
    sha256 = record_of(case)["data"]["sha256"]
    lines, seen = [], hashlib.sha256()
    for line in case.returns.read_bytes().splitlines(keepends=True):
        if seen.hexdigest() == sha256:
            break
        seen.update(line)
        lines.append(json.loads(line))
    changed = copy.deepcopy(lines)
    change(changed)
    content = log_of(changed) if with_chain else b"".join(f"{json.dumps(line)}\n".encode() for line in changed)
    (folder / "run.jsonl").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    counts = [sum(line.get("task") == label for line in changed) for label in changed[0]["tasks"]]
    sizes = {"min": min(counts), "max": max(counts), "total": sum(counts)}
    return altered_record(case.certificate, lambda one: one["data"].update(sha256=digest, num_rollouts=sizes))


def is_refused(certificate: Path, log: Path) -> bool:
    content = log.read_bytes()
    return refused(certificate, lambda data: check_trials.read_log(content, data["sha256"]), 0)


def of_passing(case, lines) -> tuple[list[dict[str, Any]], int]:
    """The trials, in their order, of a task that passes with a failure on the way, and after how many it does."""
    stops = record_of(case)["rows"][0]["witness"]["rollouts"]
    for label, stop in zip(lines[0]["tasks"], stops, strict=True):
        own = [line for line in lines if line.get("task") == label]
        values = [line.get("success", line.get("score", 1) > 3) for line in own[: stop or 0]]
        if stop and not all(values):
            return own, stop
    raise AssertionError("no such task")


def worse(case, lines):
    own, stop = of_passing(case, lines)
    for line in own[:stop]:
        line.update({"success": False} if "success" in line else {"score": lines[0]["support"][0]})


def other_order(case, lines):
    own, stop = of_passing(case, lines)
    for line, value in zip(own, sorted((line["success"] for line in own[:stop]), reverse=True), strict=False):
        line["success"] = value


def withdrawn(case, lines):
    own, stop = of_passing(case, lines)
    lines.append({"number": len(lines), "withdrawn": own[stop - 1]["number"], "why": "mistyped"})


def declaring(**other):
    return lambda case, lines: lines[0].update(other)


LOGS = {
    "worse": worse,
    "withdrawn": withdrawn,
    "one less": lambda case, lines: lines.remove(of_passing(case, lines)[0][0]),
    "of another task": lambda case, lines: lines[1].update(task="p99"),
    "another number": lambda case, lines: lines[2].update(number=1),
    "a task more": lambda case, lines: lines[0]["tasks"].append("p99"),
    "a task less": lambda case, lines: lines[0]["tasks"].pop(),
    "no bets": lambda case, lines: lines[0].pop("bets"),
    **{f"{bets} bets": declaring(bets=bets) for bets in ([], [-0.5], [1.5])},  # of none all would be won
    **{f"thresholds {other}": declaring(thresholds=other) for other in ([], [0.1])},
    "a text": lambda case, lines: lines[0].update(thresholds=f"{record_of(case)['rows'][0]['threshold']}5"),
    **{name: lambda case, lines, name=name: lines[0].update({name: lines[0][name] / 2}) for name in ("delta", "beta")},
    "format": declaring(format="others"),
    "support": declaring(support=[0.0, 2.0]),
}
OF_SUCCESSES = {
    "other order": other_order,
    "scores": declaring(successes=False),
    **{f"{most} trials": declaring(max_trials=most) for most in (5, None)},
    "half a trial": lambda case, lines: lines[0].update(max_trials=lines[0]["max_trials"] + 0.5),
}


@pytest.mark.parametrize("name", KINDS)
def test_an_altered_log_is_refused_even_with_its_own_hash(cases, tmp_path, name):
    case, log = cases[name], tmp_path / "run.jsonl"
    assert not is_refused(relogged(case, tmp_path, lambda lines: None), log)
    changes = LOGS | (OF_SUCCESSES if name == "trials of successes" else {})
    accepted = [
        what for what, change in changes.items()
        if not is_refused(relogged(case, tmp_path, functools.partial(change, case)), log)
    ]  # fmt: skip
    assert accepted == []
    # Of a beta that is null a row would state its own.
    beta = record_of(case)["settings"]["beta"]
    path = relogged(case, tmp_path, lambda lines: lines[0].update(beta=None))
    change = lambda one: (one["settings"].update(beta=None), one["rows"][0].update(beta=beta))  # noqa: E731
    assert is_refused(altered_record(path, change), log)


def test_a_log_has_every_task_once_and_the_hash_of_each_line(cases, tmp_path):
    """Two tasks of one label would be one; a hash that stayed is of another line; a label is no line of its own."""
    case, log = cases["trials of successes"], tmp_path / "run.jsonl"

    def renamed(ending: str, lines: list[dict]) -> None:
        first, second, *_ = lines[0]["tasks"]
        lines[0]["tasks"][1] = f"{first}{ending}"
        for line in lines[1:]:
            if line.get("task") == second:
                line["task"] = f"{first}{ending}"

    def other_time(lines: list[dict]) -> None:
        lines[1]["time"] = "2020-01-01T00:00:00+00:00"

    def reason(path: Path) -> str:
        content = log.read_bytes()
        try:
            list(check_trials.check(path.read_bytes(), lambda data: check_trials.read_log(content, data["sha256"])))
        except ValueError as error:
            return str(error)
        return ""

    twice, in_two_lines = (functools.partial(renamed, ending) for ending in (" ", "\nproven"))
    assert "labels of tasks are equal, or differ in what nobody sees" in reason(relogged(case, tmp_path, twice))
    assert "has a letter that is not printable" in reason(relogged(case, tmp_path, in_two_lines))
    assert not is_refused(relogged(case, tmp_path, other_time), log)
    assert "line 2 of the log has another hash" in reason(relogged(case, tmp_path, other_time, with_chain=False))


def test_what_a_certificate_says_of_its_log_is_what_the_log_holds(cases):
    case = cases["trials of successes"]
    *_, declared = check_trials.read_log(case.returns.read_bytes(), record_of(case)["data"]["sha256"])
    first = json.loads(case.returns.read_bytes().splitlines()[0])
    names = ("tasks", "thresholds", "support", "delta", "beta", "bets", "max_trials")
    true = {"last_hash": declared["held"]["last_hash"], "num_trials": int(declared["held"]["num_trials"])}
    true |= {"declared": {name: first[name] for name in names}, "withdrawn": []}
    for number, task, value, why in declared["held"]["withdrawn"]:
        true["withdrawn"] += [{"number": int(number), "task": task, "value": float(value), "why": why}]
    gone = true["withdrawn"]
    assert gone
    wrong = {"last_hash": ["0" * 64], "num_trials": [true["num_trials"] - 1]}
    wrong["withdrawn"] = [[*gone, {**gone[0], "number": 1}], [{**gone[0], "why": "power cut"}, *gone[1:]]]
    others = {"delta": first["delta"] / 2}, {"tasks": first["tasks"][:-1]}, {"bets": [0.5]}, {"extra": 1}
    wrong["declared"] = [{**true["declared"], **other} for other in others]

    def refused_saying(facts) -> bool:
        return is_refused(altered_record(case.certificate, lambda one: one["rollouts"].update(facts)), case.returns)

    assert not refused_saying(true)
    facts = [{name: each} for name, of in wrong.items() for each in of]
    assert [each for each in facts if not refused_saying(true | each)] == []


def test_a_log_that_ends_without_a_line_break_is_the_same_when_it_has_grown(tmp_path):
    trials = Trials.start(tmp_path / "run.jsonl", ["a", "b"], 0.3, successes=True, delta=0.2)
    trials.add("a", True)
    trials.path.write_bytes(trials.path.read_bytes().removesuffix(b"\n"))
    opened = Trials(trials.path)
    before = opened.sha256
    assert check_trials.read_log(trials.path.read_bytes(), before)[:2] == ([[1], []], before)
    opened.add("b", True)
    assert opened.sha256 != before
    assert check_trials.read_log(trials.path.read_bytes(), before)[2]["later"] == ""
    for later in ("", " Later lines of the log withdraw 1 of the trials that count here."):
        opened.undo("mistyped")
        assert check_trials.read_log(trials.path.read_bytes(), before)[2]["later"] == later
    *first, last = trials.path.read_bytes().splitlines(keepends=True)
    spaced = json.dumps(json.loads(last), separators=(" , ", " : ")).encode() + b"\n"
    assert check_trials.read_log(b"".join([*first, spaced]), before)[2]["later"] == later
    assert check_trials.read_log(trials.path.read_bytes(), before)[:2] == ([[1], []], before)


@pytest.mark.parametrize("gone", [[7], [1, 1]])
def test_a_trial_that_is_none_is_not_withdrawn(gone):
    lines = [{"number": 0, "format": "jaxcert-trials-1", "tasks": ["a", "b"], "support": [0.0, 1.0]}]
    lines += [{"number": 1, "task": "a", "success": True}]
    lines += [{"number": 2 + i, "withdrawn": number, "why": "mistyped"} for i, number in enumerate(gone)]
    with pytest.raises(ValueError, match="of the log withdraws no trial"):
        check_trials.read_log(log_of(lines), "")


def test_withdrawn_trials_count_as_the_worst_at_their_places():
    first = {"number": 0, "format": "jaxcert-trials-1", "tasks": ["a", "b"], "support": [-1.5, 4.0]}
    lines = [first, *({"number": i + 1, "task": "ab"[i % 2], "score": 0.25 * i} for i in range(4))]
    lines += [{"number": 5, "withdrawn": 3, "why": "mistyped"}, {"number": 6, "task": "a", "score": 4.0}]
    tasks, *_ = check_trials.read_log(log_of(lines), "")
    assert tasks == [[0, Fraction(-3, 2), 4], [Fraction(1, 4), Fraction(3, 4)]]


def test_an_ordinary_certificate_of_a_log_is_refused(cases):
    """A bet or a number of successes that the data chose proves nothing where the data chose when to stop."""
    case = cases["trials of successes"]
    path = altered_record(case.certificate, lambda one: one.update(question="safety"))
    assert is_refused(path, case.returns)
    document = path.read_bytes()
    with pytest.raises(ValueError, match="not the one that it was made from"):
        list(check_certificate.check(document, lambda data: check_trials.read_log(case.returns.read_bytes(), "")))
    without = altered_record(case.certificate, lambda one: one.pop("rollouts"))
    with pytest.raises(ValueError, match="the question is 'sequential'"):
        list(check_exactly(without, case.returns))


def test_returns_alone_have_no_witness_and_no_page_that_checks_itself():
    question = QUESTIONS["sequential"]
    with pytest.raises(ValueError, match="'sequential' has no witnesses; expected trial_records, of the log"):
        check_witnessed(question)
