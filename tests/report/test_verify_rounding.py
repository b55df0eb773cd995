"""Verified is what differs by rounding alone, of which nothing is large because one return is."""

import dataclasses
import functools
import json

import numpy as np
import pytest
from alterations import altered
from test_verify import RETURNS, recorded

import jaxcert
from jaxcert.certificates import floor_figures
from jaxcert.questions import QUESTIONS
from jaxcert.questions._ask import ask
from jaxcert.report import certificate_record, verify, write_certificates
from jaxcert.tables import read_returns

U = 2.0**-24


def of_safeties(folder, returns, support):
    np.savez(folder / "returns.npz", returns=returns.astype(np.float32))
    data = read_returns(folder / "returns.npz")
    found = jaxcert.certify_safety_level(data.returns, [0.5, 0.8], support=support, delta=0.05)
    record = certificate_record(found, support=support, data=data)
    write_certificates(folder / "c.json", [record])
    return [row["threshold"] for row in record["rows"]]


def stated(folder, change, row=1):
    """Verified after the threshold was changed, in words, too."""

    def both(document):
        entry = document["certificates"][0]["rows"][row]
        old, entry["threshold"] = entry["threshold"], change(entry["threshold"])
        figures = [f"at least {floor_figures(float(np.float32(value)))} with" for value in (old, entry["threshold"])]
        assert figures[0] in entry["sentence"]
        entry["sentence"] = entry["sentence"].replace(*figures)

    before = (folder / "c.json").read_text()
    found = verify(altered(folder / "c.json", both), folder / "returns.npz")
    (folder / "c.json").write_text(before)
    return found


def test_a_large_return_gives_no_room_to_thresholds_of_the_size_of_the_others(tmp_path):
    returns = 5 + RETURNS
    returns[7, 3] = 1e6
    _, threshold = of_safeties(tmp_path, returns, (0.0, 1e6))
    assert 4 < threshold < 8
    assert verify(tmp_path / "c.json", tmp_path / "returns.npz").ok
    for change in (19.0, 0.01, 1e-3, 1e-4):
        assert "rows 2 threshold is" in str(stated(tmp_path, lambda t, change=change: t + change))


def test_a_threshold_near_zero_has_the_rounding_of_the_end_of_the_support(tmp_path):
    of_safeties(tmp_path, 2 * RETURNS - 1.2, (-1000.0, 1000.0))
    assert stated(tmp_path, lambda t: t - 8 * U * 1000).ok
    assert not stated(tmp_path, lambda t: t + 32 * U * 1000).ok
    assert not stated(tmp_path, lambda t: t - 32 * U * 1000).ok


def of_two(folder, question, support, **options):
    """A file about two policies whose returns are far smaller than the support, hardly different, and its record."""
    for name, returns in (("a", RETURNS), ("b", RETURNS[:, ::-1])):
        np.savez(folder / f"{name}.npz", returns=(support[0] + returns).astype(np.float32))
    data = [read_returns(folder / f"{name}.npz") for name in "ab"]
    fixed = {"safety_level": [0.5], "mean_difference": None}[question]
    found = ask(QUESTIONS[question], data, fixed, {"support": support, "delta": 0.05, **options})
    return certificate_record(found, support=support, data=data[0], others=data[1:])


@pytest.mark.parametrize("support", [(0.0, 1000.0), (-500.0, 500.0), (5000.0, 5010.0)])
@pytest.mark.parametrize(("question", "column"), [("safety_level", "threshold"), ("mean_difference", "mean")])
def test_a_difference_has_the_rounding_of_its_support(tmp_path, question, column, support):
    """Its bounds are computed above the smallest possible difference, however small the returns are."""
    record, room = of_two(tmp_path, question, support), support[1] - support[0]
    if question == "mean_difference":  # its averages are computed before they are subtracted
        room = max(room, *map(abs, support))
    room = min(16 * U * room, 1e-4 * 2 * (support[1] - support[0]))

    def moved(by):
        row = {**record["rows"][0]}
        old, row[column] = row[column], float(np.float32(row[column]) + np.float32(by))
        figures = [floor_figures(value) for value in (old, row[column])]
        row["sentence"] = row["sentence"].replace(*figures)
        assert figures[1] in row["sentence"]
        write_certificates(tmp_path / "c.json", [{**record, "rows": [row]}])
        return verify(tmp_path / "c.json", tmp_path / "a.npz", others=[tmp_path / "b.npz"])

    assert moved(0).ok
    for sign in (-1, 1):
        found = moved(0.75 * sign * room)
        assert found.ok, str(found)
        assert f"{column} is" in str(moved(1.5 * sign * room))


@pytest.mark.parametrize("bound", ["betting", "hoeffding"])
def test_rollouts_in_another_order_move_no_bound_of_a_difference_beyond_its_rounding(bound):
    """As sums in another order do elsewhere: more than the size of the returns would allow."""
    rng = np.random.default_rng(0)
    x, y = (np.round(0.01 * rng.uniform(size=(40, 60)), 4).astype(np.float32) for _ in range(2))
    bounds = []
    for order in [np.arange(60), *(rng.permutation(60) for _ in range(8))]:
        pairs = jaxcert.paired(x[:, order], y[:, order])
        found = jaxcert.certify_safety_level(pairs, 0.5, support=(0, 1), delta=0.05, bound=bound, beta=0.05)
        bounds.append(np.asarray(found.lower_bounds, float))
    moved = np.ptp(bounds, axis=0).max()
    assert 16 * U * x.mean() < moved <= 16 * U


def test_a_threshold_that_rounding_makes_better_is_accepted(tmp_path):
    of_safeties(tmp_path, RETURNS, (0.0, 1.0))
    assert stated(tmp_path, lambda t: float(np.float32(t * (1 + 8 * U)))).ok
    assert not stated(tmp_path, lambda t: t * (1 + 64 * U)).ok


@pytest.mark.parametrize("name", ["epsilon", "safety"])
@pytest.mark.parametrize("relative", [-1e-4, -2e-5, 2e-5, 1e-4])
def test_risks_are_compared_by_their_own_size(tmp_path, name, relative):
    def change(document):
        row = document["certificates"][0]["rows"][1]
        row[name] += relative * row["epsilon"]

    path = altered(recorded(tmp_path), change)
    assert f"rows 2 {name} is" in str(verify(path, tmp_path / "returns.npz"))


def test_no_figure_of_a_safety_is_better_than_what_is_computed(tmp_path, monkeypatch):
    """As if this machine had found the number just below the one of four figures that the file states."""
    path = recorded(tmp_path)
    document = json.loads(path.read_text())
    row = document["certificates"][0]["rows"][1]
    figure = np.ceil(row["safety"] * 1e4) / 1e4
    higher = np.float32(figure + 1e-8)
    lower = float(np.nextafter(higher, np.float32(0)))
    lower = lower if lower < figure else float(np.nextafter(np.float32(lower), np.float32(0)))
    certify = jaxcert.certify

    def just_below(*arguments, **options):
        found = certify(*arguments, **options)
        numbers = {"safety": found.safety.at[1].set(lower), "epsilon": found.epsilon.at[1].set(1 - lower)}
        return dataclasses.replace(found, **numbers)

    asked = dataclasses.replace(QUESTIONS["safety"], function=functools.wraps(certify)(just_below))
    monkeypatch.setitem(QUESTIONS, "safety", asked)

    def change(document):
        row = document["certificates"][0]["rows"][1]
        old = row["sentence"].rpartition("at least ")[2]
        row |= {"safety": float(higher), "epsilon": 1 - lower}
        row["sentence"] = row["sentence"].replace(old, f"{figure:.4f}.")

    (found,) = verify(altered(path, change), tmp_path / "returns.npz").differences
    assert found.startswith("certificate 1: rows 2: the sentence is not that of its numbers, or claims more than is")
    assert found.endswith(f"with probability at least {figure - 1e-4:.4f}.")


def test_tasks_tied_with_the_one_that_gives_the_threshold_may_count(tmp_path):
    """Equal returns in another order: elsewhere their bounds may differ in the last digit."""
    returns = RETURNS.copy()
    order = np.argsort(returns.mean(axis=1))
    returns[order[:20]] = returns[order[0]]
    of_safeties(tmp_path, returns, (0.0, 1.0))

    def count(number):
        row = {"num_violations": number, "num_valid": 40 - number}
        return altered(tmp_path / "c.json", lambda d: d["certificates"][0]["rows"][1].update(row))

    assert all(verify(count(number), tmp_path / "returns.npz").ok for number in (3, 20, 0))
    assert "rows 2 num_violations is 21" in str(verify(count(21), tmp_path / "returns.npz"))


def test_a_narrow_support_far_from_zero_gives_no_room_to_counts(tmp_path):
    """Its rounding would have the size of the support; each count, with what is certified of it, is another claim."""
    of_safeties(tmp_path, 1e5 + np.clip(np.random.default_rng(0).normal(0.6, 0.1, (40, 6)), 0, 1), (1e5, 1e5 + 1))
    assert verify(tmp_path / "c.json", tmp_path / "returns.npz").ok

    def fewer(document):
        row = document["certificates"][0]["rows"][0]
        row.update(num_violations=row["num_violations"] - 3, num_valid=row["num_valid"] + 3)

    assert "rows 1 num_violations is" in str(verify(altered(tmp_path / "c.json", fewer), tmp_path / "returns.npz"))
