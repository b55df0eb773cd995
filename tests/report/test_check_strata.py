"""Strata in exact arithmetic: proven where as many tasks were drawn from each as its frequency says."""

import json
from fractions import Fraction

import numpy as np
import pytest
from alterations import altered_record, standing_alone

import jaxcert
from jaxcert.report import certificate_record, check_certificate, check_exactly, write_certificates
from jaxcert.report.check_certificate import _frequencies, _in_words
from jaxcert.returns import stratified
from jaxcert.tables import read_returns

ODD = ["any task at all", 'a: on "EVERY" task', "b"]
KINDS = ["push"] * 9 + ["pick"] * 6 + ["open"] * 3


def written(folder, *, bad=(4,), delta=0.05, kinds=KINDS, **settings):
    """A certificate file with witnesses, and its table."""
    rows = [(f"s{i}", kind.replace('"', '""'), j, int(i not in bad)) for i, kind in enumerate(kinds) for j in range(8)]
    rows = [(task, f'"{kind}"', *others) for task, kind, *others in rows]
    table, path = folder / "t.csv", folder / "c.json"
    table.write_text("\n".join(["task,kind,trial,success", *(",".join(map(str, row)) for row in rows), ""]))
    data = read_returns(table, strata="kind")
    successes = np.asarray(data.returns, bool)
    found = jaxcert.certify_stratified(successes, [0.5, 0.7], strata=data.strata, delta=delta, **settings)
    write_certificates(path, [certificate_record(found, support=(0, 1), data=data, witness=True)])
    return path, table


def test_it_is_proven_by_the_library_and_alone(tmp_path):
    path, table = written(tmp_path)
    found = list(check_exactly(path, table))
    assert [holds for holds, _ in found] == [None, True, None, True]
    assert "on a new task from push (0.5), pick (0.3333) or open (0.1667), the probability" in found[1][1]
    alone = standing_alone(tmp_path, "check_certificate.py")(path, table)
    assert (alone.returncode, alone.stderr.count("row"), alone.stdout.count("proven")) == (0, 2, 3)


def test_the_words_are_those_of_the_library():
    numbers = [*map(str, range(13))]
    for kinds in (KINDS, ["a", "b"], ["one"] * 3, numbers, ["0", *numbers], ["x" * 50, "y"], ODD):
        assert _in_words(_frequencies(kinds, []), given=False) == stratified(np.ones((len(kinds), 2)), kinds).strata
        other = {kind: (i + 1) / sum(range(len({*kinds}) + 1)) for i, kind in enumerate(dict.fromkeys(kinds))}
        sample = stratified(np.ones((len(kinds), 2)), kinds, frequencies=other)
        assert _in_words(_frequencies(kinds, list(sample.frequencies)), given=True) == sample.strata


def test_the_proof_shows_where_a_label_begins_and_ends(tmp_path):
    path, table = written(tmp_path, kinds=ODD * 6)
    alone = standing_alone(tmp_path, "check_certificate.py")
    found = alone(path, table)
    assert (found.returncode, found.stdout.count("proven: ")) == (0, 2)
    of = 'on a new task from "any task at all", "a: on \'EVERY\' task" or b, each as likely, the probability'
    assert of in found.stdout
    bare = alone(altered_record(path, replaced('"any task at all"', "any task at all")), table)
    assert (bare.returncode, bare.stdout.count("its sentence says something else")) == (1, 2)


def replaced(*words):
    def change(record):
        for row in record["rows"]:
            row["sentence"] = row["sentence"].replace(*words)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (replaced("push (0.5)", "push (0.6)"), "its sentence says something else"),
        (replaced("open", "lift"), "its sentence says something else"),
        (
            lambda record: record["settings"].update(frequencies=["push=1"]),
            "its frequencies are not those of its strata",
        ),
        (
            lambda record: record["settings"].update(frequencies=["push=0.25", "pick=0.5", "open=0.25"]),
            "its sentence says something else",
        ),
        (lambda record: record["data"].update(roles=None), "its strata are not read from the file"),
        (lambda record: record["data"]["roles"].update(strata="trial"), "its task is in two strata"),
        (lambda record: record["data"]["roles"].update(strata="task"), "its sentence says something else"),
    ],
)
def test_what_was_altered_is_refused(change, message, tmp_path):
    path, table = written(tmp_path)
    ran = standing_alone(tmp_path, "check_certificate.py")(altered_record(path, change), table)
    assert ran.returncode == 1
    assert "refused: " in ran.stdout
    assert message in ran.stdout
    assert "proven: " not in ran.stdout


def test_what_is_not_proved_of_strata_is_refused():
    """Of n - 1 violations, of a larger delta, and of unequal levels."""
    tasks = [[Fraction(1)] * 8 if i < 2 else [Fraction(0)] * 8 for i in range(12)]
    level = Fraction(1, 256)
    case = check_certificate.Case(
        tasks, 0, 1, Fraction(1, 20), Fraction(1, 20), {"beta": "auto"}, True, {"a": Fraction(1)}
    )

    def row(k):
        return {"threshold": "0.5", "safety": "0.001", "epsilon": "0.999", "num_violations": str(k), "beta": "0.01"}

    passed = [True, True, *[False] * 10]
    for kept, levels, share, fits in (
        (passed, [level] * 12, Fraction(1, 20), True),
        ([True, *[False] * 11], [level] * 12, Fraction(1, 20), False),
        (passed, [level] * 12, Fraction(3, 10), False),
        (passed, [level] * 11 + [level / 2], Fraction(1, 20), False),
    ):
        words = "With confidence 0.95: on a new task from the stratum a, the probability of success is at least 0.5"
        numbers = {name: check_certificate.Number(text) for name, text in row(kept.count(False)).items()}
        held = {**numbers, "num_valid": check_certificate.Number("0"), "status": "certified"}
        held |= {"beta": check_certificate.Number(repr(float(max(levels)))), "witness": {}}
        held |= {"sentence": f"{words} with probability at least 0.0010."}
        proof = lambda *_, found=(kept, levels, share): found  # noqa: E731
        if fits:
            check_certificate.share_of_new_tasks(held, case, proof)
        else:
            with pytest.raises(ValueError, match="of strata it is proved for a delta of at most 1/4"):
                check_certificate.share_of_new_tasks(held, case, proof)


GIVEN = {"push": 0.25, "pick": 0.5, "open": 0.25}


@pytest.mark.parametrize("settings", [{}, {"beta": 0.05}, {"method": "binomial", "bound": "betting", "beta": 0.05}])
def test_weights_are_proven_by_a_bet_on_all_tasks(settings, tmp_path):
    path, table = written(tmp_path, bad=(4, 16), frequencies=GIVEN, **settings)
    found = list(check_exactly(path, table))
    assert [holds for holds, _ in found] == [None, True, None, True], found
    assert "on a new task from push (0.25), pick (0.5) or open (0.25), the probability" in found[1][1]
    alone = standing_alone(tmp_path, "check_certificate.py")
    assert alone(path, table).returncode == 0

    def claiming(record):
        return [row for row in record["rows"] if row["safety"] > 0]

    number = len(claiming(json.loads(path.read_text())["certificates"][0]))
    assert number > 0

    def better(record):
        for row in claiming(record):
            row["safety"], row["epsilon"] = row["safety"] + 0.001, row["epsilon"] - 0.001

    def otherwise(record):
        record["settings"]["frequencies"] = ["push=0.2", "pick=0.3", "open=0.5"]
        replaced("push (0.25), pick (0.5) or open (0.25)", "push (0.2), pick (0.3) or open (0.5)")(record)

    def boldly(record):
        for row in claiming(record):
            row["witness"]["over_tasks"] = 1.001

    for change in (better, otherwise, boldly):
        ran = alone(altered_record(path, change), table)
        assert (ran.returncode, ran.stdout.count("is too small a risk")) == (1, number), ran.stdout


def test_evidence_with_weights_has_no_witnesses(tmp_path):
    with pytest.raises(ValueError, match="which adds up evidence and has no witnesses"):
        written(tmp_path, frequencies=GIVEN, method="soft")
