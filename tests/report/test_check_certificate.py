"""The exact checker: it accepts what is proven and nothing else, and needs nothing of jaxcert."""

import ast
import copy
import hashlib
import math
import re
import sys
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from alterations import every_alteration, of_tables, standing_alone, with_record
from cli_harness import table
from hypothesis import given
from hypothesis import strategies as st
from random_certificates import KINDS, Cases, lines_of, made, reasons, record_of, smallest_risk, tally

import jaxcert
from jaxcert.questions import QUESTIONS
from jaxcert.report import certificate_record, check_certificate, check_exactly, check_trials, write_certificates
from jaxcert.report._witnessed_rows import WITNESSES
from jaxcert.report.check_certificate import as_seen, read_csv
from jaxcert.tables import _entries, read_returns

FRACTIONS = st.fractions(0, 1, max_denominator=50)


@given(st.lists(FRACTIONS, min_size=1, max_size=6), st.integers(-1, 7), FRACTIONS)
def test_at_most_k_heads_by_all_outcomes(coins, k, delta):
    chance = Fraction(0)
    for outcome in product((0, 1), repeat=len(coins)):
        weight = math.prod(p if head else 1 - p for p, head in zip(coins, outcome, strict=True))
        chance += weight if sum(outcome) <= k else 0
    assert check_certificate.rarely(k, Counter(coins), delta) == (chance <= delta and k < len(coins))
    if 0 <= k < len(coins):
        assert check_certificate.rarely(k, Counter(coins), chance)
        assert not check_certificate.rarely(k, Counter(coins), chance - Fraction(1, 10**80))


@given(st.integers(1, 40), st.integers(0, 40), FRACTIONS)
def test_equal_coins_are_the_binomial_distribution(n, k, p):
    chance = sum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(min(k, n) + 1))
    assert check_certificate.rarely(k, {p: n}, chance) == (k < n)
    assert not check_certificate.rarely(k, {p: n}, chance - Fraction(1, 10**80))


@given(
    st.lists(FRACTIONS, min_size=1, max_size=3),
    st.lists(st.fractions(0, 9, max_denominator=40), max_size=9),
    st.integers(-9, 0),
)
def test_what_bets_win_on_average_by_its_definition(bets, excess, low):
    threshold = low + Fraction(9, 7)
    returns, tiny = [low + x for x in excess], Fraction(1, 10**60)
    each = [Fraction(math.prod(1 - bet + bet * (x - low) / (threshold - low) for x in returns)) for bet in bets]
    won = Fraction(sum(each)) / len(bets)

    def sign(goal):
        found = check_certificate.gain(bets, returns, Fraction(low), threshold, goal)
        return (found > 0) - (found < 0)

    assert (sign(won - tiny), sign(won), sign(won + tiny)) == (1, 0, -1)


@pytest.mark.parametrize("p", [Fraction(-1, 10**9), Fraction(1) + Fraction(1, 10**9), Fraction(-3)])
def test_a_risk_that_is_no_probability_proves_nothing(p):
    with pytest.raises(ValueError, match="no probability"):
        check_certificate.rarely(1, {p: 2}, Fraction(1, 2))


@pytest.mark.parametrize("module", [check_certificate, check_trials])
def test_it_is_one_file_of_the_standard_library_without_floats(module):
    nodes = [*ast.walk(ast.parse(Path(module.__file__).read_text()))]
    trees = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    roots = {
        alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}"
        for node in trees
        for alias in node.names
    }
    ours = {"jaxcert.report.check_certificate", "check_certificate"} if module is check_trials else set()
    assert {root.split(".")[0] for root in roots - ours} <= set(sys.stdlib_module_names)
    assert not any(isinstance(node, ast.Constant) and type(node.value) is float for node in nodes)


def test_it_runs_where_there_is_no_jaxcert(cases, tmp_path):
    case = cases["betting"]
    alone = standing_alone(tmp_path, "check_certificate.py")
    ran = alone(case.certificate, case.returns)
    assert ran.returncode == 0, ran.stderr
    said = [row["sentence"] for row in record_of(case)["rows"]]
    assert [line.split(": ", 2)[2] for line in ran.stdout.splitlines()[: len(said)]] == said
    assert check_certificate.BELIEVED in ran.stdout
    assert ran.stderr.splitlines() == [f"certificate 1, row {i + 1} of {len(said)}" for i in range(len(said))]
    other = tmp_path / "other.csv"
    other.write_text(case.returns.read_text().replace("0.", "0.0", 1))
    wrong = alone(case.certificate, other)
    assert (wrong.returncode, wrong.stdout) == (
        1,
        "refused: the file of returns is not the one that it was made from\n",
    )
    assert alone(case.certificate, "none.csv").returncode == 1
    assert "python check_certificate.py" in alone().stderr


def test_it_knows_the_questions_that_have_witnesses():
    assert set(check_certificate.STATEMENTS) == set(WITNESSES)
    assert all(QUESTIONS[name].each == each for name, (each, *_) in check_certificate.STATEMENTS.items())


# Of each kind a seed whose file of returns is a table, with a row in which some tasks pass and some do not.
BASES = {"betting": 0, "attained": 1, "interval": 4, "suite": 0, "level": 0, "suite, masked": 0, "attained, masked": 0}


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """The certificate of each kind, made when it is first asked for."""

    def make(name):
        case = made(KINDS[name], "float32", BASES[name], tmp_path_factory.mktemp("case"))
        assert case.returns.suffix == ".csv"
        return case

    return Cases(make)


def _says_much(row) -> bool:
    """Whether both sides of it, if it has two, claim something, with a task that fails and one that passes."""
    held = row["witness"]
    sides = [held, held.get("upper", {})] if "safety_upper" in row else [held]
    lists = [each.get("bets") or each.get("successes") for each in sides]
    return all(each and None in each and any(x is not None for x in each) for each in lists)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*tasks have at most .* trials each")
@pytest.mark.parametrize("name", KINDS)
def test_what_the_library_certifies_is_accepted_in_both_precisions(name):
    for dtype in ("float32", "float64"):
        counts, refused = tally(KINDS[name], dtype, range(3, 13), every=10)
        assert refused == []
        assert counts["accepted"] == counts["claim"] > 0
        assert counts["refused"] == counts["lowered"]


def exact_risk(row, record) -> Fraction:
    """The largest fraction 2**-60 j whose tail is above delta, by another way than the checker's."""
    n, k = record["settings"]["num_tasks"], row["num_violations"]
    beta, delta = (Fraction(repr(record["settings"][name])) for name in ("beta", "delta"))
    low, high = 0, 2**60
    while high - low > 1:
        middle = (low + high) // 2
        p = Fraction(middle, 2**60) * (1 - beta)
        tail = sum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k + 1))
        low, high = (middle, high) if tail > delta else (low, middle)
    return Fraction(low, 2**60)


def test_the_smallest_risk_is_accepted_and_one_float_less_refused(cases):
    case = cases["betting"]
    record = record_of(case)
    index = next(i for i, row in enumerate(record["rows"]) if row.get("witness"))
    risk, accepted, refused = smallest_risk(case, index)
    assert accepted
    assert refused
    true = exact_risk(record["rows"][index], record)
    assert Fraction(math.nextafter(risk, 0)) - Fraction(1, 2**50) < true < Fraction(risk) + Fraction(1, 2**50)
    assert record["rows"][index]["epsilon"] == pytest.approx(risk, rel=1e-5)


def claiming_row(record) -> int:
    return next(i for i, row in enumerate(record["rows"]) if row.get("witness") and _says_much(row))


@pytest.mark.parametrize("name", BASES)
def test_every_alteration_is_refused_with_a_reason(cases, name):
    case = cases[name]
    record = record_of(case)
    assert reasons(with_record(case.certificate, record), case.returns) == []
    altered = dict(every_alteration(record, claiming_row(record)))
    assert len(altered) >= 100
    found = {each: reasons(with_record(case.certificate, one), case.returns) for each, one in altered.items()}
    assert [each for each, words in found.items() if not any(words) or not all(map(str.isprintable, words))] == []
    kept = [
        each
        for each, one in altered.items()
        if not reasons(with_record(case.certificate, one, new_digest=False), case.returns)
    ]
    assert kept == []


def test_a_row_that_claims_nothing_counts_no_more_tasks_than_there_are(cases):
    """Of such a row nothing is proven but that its numbers are possible."""
    case = cases["betting"]
    record = record_of(case)
    confidence = record["rows"][0]["sentence"].partition(":")[0]
    said = f"{confidence}: nothing is certified about an expected return of at least {record['rows'][0]['threshold']}."
    row = {**record["rows"][0], "safety": 0.0, "epsilon": 1.0, "sentence": said, "witness": None}
    row |= {"num_violations": 30, "num_valid": 0, "status": "vacuous"}
    assert reasons(with_record(case.certificate, {**record, "rows": [row]}), case.returns) == []
    lowest = {**row, "threshold": (low := record["settings"]["support"][0]), "status": "certified"}
    lowest["sentence"] = said.replace(str(row["threshold"]), str(low))
    assert (
        reasons(with_record(case.certificate, {**record, "rows": [lowest]}), case.returns) == []
    )  # and other rows gain nothing
    for change, words in {
        ("num_violations", 31): "num_violations is 31, num_valid is 0, of 30 tasks",
        ("num_valid", 1): "num_violations is 30, num_valid is 1, of 30 tasks",
        ("num_violations", -1): "num_violations is -1",
        ("num_violations", 29.5): "num_violations is 59/2",
        ("status", "certified"): "its status is 'certified'; expected infeasible or",
    }.items():
        altered = {**record, "rows": [{**row, change[0]: change[1]}]}
        (reason,) = reasons(with_record(case.certificate, altered), case.returns)
        assert words in reason


def test_a_larger_level_of_successes_claims_less_and_a_smaller_one_is_refused(cases):
    """The risk is computed from the levels in the witness, so that a larger number beside them raises no claim."""
    case = cases["attained"]
    record = record_of(case)
    row, whole = claiming_row(record), lines_of(with_record(case.certificate, record), case.returns)
    stated = record["rows"][row]["beta"]
    record["rows"][row]["beta"] = math.nextafter(stated, 1)
    assert lines_of(with_record(case.certificate, record), case.returns) == whole
    record["rows"][row]["beta"] = 1.01 * stated
    (reason,) = reasons(with_record(case.certificate, record), case.returns)
    assert re.search("beta is .*; the levels of its witnesses are at most", reason)
    record["rows"][row]["beta"] = math.nextafter(stated, 1)
    record["rows"][row].update(epsilon=0.9 * record["rows"][row]["epsilon"])
    record["rows"][row]["safety"] = 1 - record["rows"][row]["epsilon"]
    assert reasons(with_record(case.certificate, record), case.returns) != []
    record["rows"][row] = {**record_of(case)["rows"][row], "beta": 0.9 * stated}
    (reason,) = reasons(with_record(case.certificate, record), case.returns)
    assert re.search("a level is .*; stated is", reason)


def test_a_stricter_number_of_successes_than_the_stated_level_asks_for_is_refused(tmp_path):
    """Chosen after a look, it could fit the returns better at the same share of delta."""
    x = np.random.default_rng(0).random((30, 10)) < 0.95
    data = read_returns(
        table(tmp_path / "r.csv", ",".join(USUAL.values()), [(*at, int(ok)) for at, ok in np.ndenumerate(x)])
    )
    by = {"bound": "clopper_pearson", "method": "binomial", "beta": 0.1}
    found = jaxcert.certify(data.returns, 0.4, support=(0, 1), delta=0.05, **by)
    record = certificate_record(found, support=(0, 1), data=data, witness=True)
    write_certificates(tmp_path / "c.json", [record])
    assert reasons(tmp_path / "c.json", tmp_path / "r.csv") == []
    (row,) = record["rows"]
    level = row["witness"]["levels"][row["witness"]["chosen"]]
    enough = level["enough"]["10"]
    tail = sum(math.comb(10, j) * 0.4**j * 0.6 ** (10 - j) for j in range(enough + 1, 11))
    level.update(enough={"10": enough + 1}, beta={"10": 1.001 * tail})
    write_certificates(tmp_path / "c.json", [record])
    (reason,) = reasons(tmp_path / "c.json", tmp_path / "r.csv")
    assert f"or {enough + 1} is not the least such number" in reason


def test_what_is_no_probability_is_refused_where_a_threshold_says_nothing(cases):
    """Every performance is at least the lower end of the support, so that such a row needs no witness."""
    case = cases["betting"]
    record = record_of(case)
    low, sentence = record["settings"]["support"][0], "on a new task from the same distribution, the expected return is"
    said = f"With confidence 0.95: {sentence} at least {low:g} with probability at least 1."
    row = {**record["rows"][0], "threshold": low, "safety": 1.0, "epsilon": 0.0, "sentence": said, "witness": None}
    record["rows"] = [row]
    assert reasons(with_record(case.certificate, record), case.returns) == []
    for change, words in {
        "safety": (5.0, "it has what is no probability"),
        "epsilon": (-4.0, "it has what is no probability"),
        "sentence": (said.replace("0.95", "-3"), "a confidence that is not from 0 to 1 - delta"),
        "delta": (-2.0, "its delta is no probability"),
    }.items():
        altered = copy.deepcopy(record)
        (altered["settings"] if change == "delta" else altered["rows"][0])[change] = words[0]
        assert words[1] in reasons(with_record(case.certificate, altered), case.returns)[0]
    both = copy.deepcopy(record)
    both["rows"][0].update(safety=5.0, epsilon=-4.0, sentence=said.replace("least 1.", "least 5."))
    assert reasons(with_record(case.certificate, both), case.returns) != []


def test_an_upper_end_needs_the_declaration_of_whole_rollouts(cases):
    case = cases["interval"]
    record = record_of(case)
    assert reasons(with_record(case.certificate, record), case.returns) == []
    for settings in ({"complete": None}, {}):
        altered = {**record, "settings": {**record["settings"], **settings}}
        if not settings:
            del altered["settings"]["complete"]
        assert "whole rollouts were not declared" in reasons(with_record(case.certificate, altered), case.returns)[0]


def test_brackets_without_end_are_refused_in_words(cases, tmp_path, capsys):
    path = tmp_path / "deep.json"
    path.write_bytes(b"[" * 200_000)
    assert check_certificate.main(str(path), str(cases["betting"].returns)) == 1
    assert capsys.readouterr().out.startswith("refused: RecursionError")
    with pytest.raises(ValueError, match=r"deep.json: .*JSON is nested too deeply"):
        list(check_exactly(path, cases["betting"].returns))


@pytest.mark.parametrize("name", ["betting", "attained"])
def test_altered_returns_are_refused_even_with_their_own_hash(cases, name, tmp_path):
    case = cases[name]
    record, text = record_of(case), case.returns.read_text()
    row = record["rows"][claiming_row(record)]
    given = row["witness"].get("bets") or row["witness"]["successes"]
    passing = next(i for i, each in enumerate(given) if each is not None)
    low = record["settings"]["support"][0]
    for what, other in of_tables(text, passing, low):
        (tmp_path / "r.csv").write_text(other)
        assert reasons(case.certificate, tmp_path / "r.csv") != [], what
        record["data"]["sha256"] = hashlib.sha256(other.encode()).hexdigest()
        assert reasons(with_record(case.certificate, record), tmp_path / "r.csv") != [], what


def test_a_file_that_says_a_thing_twice_or_is_no_certificate_is_refused(cases, tmp_path):
    case = cases["betting"]
    text = case.certificate.read_text()
    for other in (
        text.replace('"rows"', '"rows": [], "rows"'),
        text.replace('"epsilon"', '"epsilon": 0.5, "epsilon"'),
        text.replace('"format_version": 5', '"format_version": 4'),
        text.replace(check_certificate.FORMAT, "others"),
        text[:-30],
        "[]",
        "null",
        "",
        "{}",
    ):
        (tmp_path / "c.json").write_text(other)
        assert reasons(tmp_path / "c.json", case.returns) != []


USUAL = {"task": "task_id", "trial": "episode_id", "value": "total_return"}
ALONE = {**USUAL, "trial": None}
WIDE = {"task": "t", "trial": None, "value": "s0,s1,s2"}
COUNTS = {**WIDE, "value": "won/of"}
HEAD = "task_id,episode_id,total_return\n"


@pytest.mark.parametrize(
    ("text", "found", "columns"),
    [
        (f"{HEAD}b,0,0.5\na,0,1e-2\nb,1,-3\n", [["1/2", "-3"], ["1/100"]], USUAL),
        ("\ufefftask_id;episode_id;total_return\r\n b ;0;0,5\r\n\r\na;0;1\r\n", [["1/2"], ["1"]], USUAL),
        ("x\ttotal_return\tepisode_id\ttask_id\n7\tYes\t0\ta\n7\tno\t1\ta\n", [["1", "0"]], USUAL),
        (f'{HEAD}"a, b",0,0.1\n', [["1/10"]], USUAL),
        (f"{HEAD}a,0,1e300\n", [[10**300]], USUAL),
        ("task_id,total_return\na,1\na,1\n", [[1, 1]], ALONE),
        # Entries that count trials, and columns that hold a trial each.
        (f"{HEAD}a,0,1/3\na,1,2/2\n", [[1, 0, 0, 1, 1]], USUAL),
        ("t;won;of\na;0;2\nb;1;1\n", [[0, 0], [1]], COUNTS),
        ("t,s0,s1,s2\na,1,0,1\nb,0,0,1\na,1,1,1\n", [[1, 0, 1, 1, 1, 1], [0, 0, 1]], WIDE),
        (
            "t,trial,s0,s1,s2\na,0,1,0,1\nb,0,0,0,1\na,1,1,1,1\n",
            [[1, 0, 1, 1, 1, 1], [0, 0, 1]],
            {**WIDE, "trial": "trial"},
        ),
        ("t;s0;s1;s2\na;0,5;1/2;no\n", [["1/2", 1, 0, 0]], WIDE),
        ("t,run/1,run/2\na,8,10\n", [[8, 10]], {**WIDE, "value": "run/1,run/2"}),
        ('t;"s0,s1,s2"\na;0,5\n', [["1/2"]], WIDE),
    ],
)
def test_tables_are_read_as_they_are_written(text, found, columns):
    expected = [[Fraction(x) for x in task] for task in found]
    assert read_csv(text.encode(), columns) == (expected, hashlib.sha256(text.encode()).hexdigest())


NO_NUMBERS = ("nan", "inf", "-Infinity", "1e9999", "1" * 900, "0x10", "1_000", "", "٣", "1/x", "/3")


@pytest.mark.parametrize(
    ("text", "message", "columns"),
    [
        *((f"{HEAD}a,0,{text}\n", "stands for a finite number", USUAL) for text in NO_NUMBERS),
        *((f"{HEAD}a,0,{text}\n", "it counts trials|stands for a finite number", USUAL)
          for text in ("4/3", "-1/3", "0.5/1", "1/2/3", "01/3")),
        *((f"{HEAD}a,0,1\n{text},1,0\n", "labels of tasks or strata differ in what nobody sees", USUAL)
          for text in ("a ", '"a\u00a0"', " a", "a\u200b", "a\ufe0f")),
        *((f"{HEAD}a,0,1\na,{text},1\n", "its trial occurs twice", USUAL) for text in ("0.0", "0\u200b")),
        *((f"{HEAD}{text}", "the returns count more than 10000000 trials", USUAL)
          for text in ("a,0,1/999999999\n", "a,0,1/9000000\na,1,1/9000000\n")),
        *((text, r"the table of returns has not each of t, s.* as one column", {**WIDE, "value": value})
          for text, value in (("t,s0,s1\na,1,0\n", "s0,s1,s2"), ("t,s0,s0\na,1,0\n", "s0"), ("t,s0\na,1\n", "s1"))),
        ("t,s0,s1\na,1,0\n", "its value names a column twice", {**WIDE, "value": "s0,s0"}),
        ("t,s0,s0\u200b\na,1,0\n", "has not each of t, s0,s0\u200b as one column", {**WIDE, "value": "s0,s0\u200b"}),
        ("t,n,s0,s1\na,0,1,0\na,0,1,0\n", "its trial occurs twice", {**WIDE, "value": "s0,s1", "trial": "n"}),
        ("t,s0,s1\na,1,0\n", "has not each of t, t,s0 as one column", {**WIDE, "value": "t,s0"}),
        ("t,s0,s\u200b0,s1\na,1,0,1\n", "has not each of t, s0,s1 as one column", {**WIDE, "value": "s0,s1"}),
    ],
)  # fmt: skip
def test_tables_that_say_no_numbers_are_refused(text, message, columns):
    with pytest.raises(ValueError, match=message):
        read_csv(text.encode(), columns)


@pytest.mark.parametrize("label", ["a ", '"a\u00a0"', " a"])
def test_a_label_with_blanks_may_stand_alone(label):
    assert read_csv(f"{HEAD}{label},0,1\n{label},1,0\n".encode(), USUAL)[0] == [[1, 0]]


def test_labels_are_seen_as_tables_see_them():
    """Every letter that one of them takes for nothing, the other does, too."""
    letters = [chr(code) for code in range(sys.maxunicode + 1)]
    assert [as_seen(f"a{x}b") for x in letters] == [str(_entries.as_seen(f"a{x}b")) for x in letters]
