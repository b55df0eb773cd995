"""The leaderboard of `jaxcert compare` with three files or more: what it certifies, and how delta is shared."""

from fractions import Fraction

import numpy as np
import pytest
from cli_harness import command, refused

import jaxcert
from jaxcert.certificates import floor_figures, floor_to
from jaxcert.cli._leaderboard import board_of, linked

RNG = np.random.default_rng(0)
A = RNG.beta(9, 1, (60, 20)).astype(np.float32)
POLICIES = {"worst.npz": (0.4 * A), "best.npz": A, "near.npz": (0.99 * A)}
SETTINGS = ("--support", 0, 1, "--delta", 0.1)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("policies")
    for name, returns in POLICIES.items():
        np.savez(folder / name, returns=returns)
    return [folder / name for name in POLICIES]


def rows(out: str) -> dict[str, list[str]]:
    lines = [line.split() for line in out.splitlines()]
    return {words[0]: words[1:] for words in lines if words and words[0] in POLICIES}


@pytest.mark.slow
def test_every_number_is_certified_at_its_share_of_delta(files):
    status, out, err = command("compare", *files, *SETTINGS, "--threshold", "0.2,0.7")
    assert (status, err) == (0, "")
    found, level = rows(out), {"support": (0, 1), "delta": float(np.nextafter(0.1 / 12, 0))}
    assert list(found)[-1] == "worst.npz"
    for name, returns in POLICIES.items():
        mean = float(jaxcert.certify_mean(returns, **level).mean)
        safety = jaxcert.certify(returns, [0.2, 0.7], **level).safety
        assert found[name][:3] == [floor_figures(mean), *(floor_to(float(x), 4) for x in safety)]
    order = jaxcert.certify_ranking(np.stack([*POLICIES.values()]), support=(0, 1), delta=3 * level["delta"]).order
    named = [[name for name in POLICIES if name in " ".join(found[policy][3:])] for policy in POLICIES]
    expected = [[name for j, name in enumerate(POLICIES) if row[j] and i != j] for i, row in enumerate(order.tolist())]
    assert named == expected == [[], ["worst.npz"], ["worst.npz"]]
    assert "With confidence 0.9 all of this holds at once" in out
    assert "12 statements (3 means, 6 statements at thresholds, 3 pairs): 0.00833334 each" in out


def test_a_fixed_list_has_counts_and_means_of_its_tasks(files):
    status, out, err = command("compare", *files, *SETTINGS, "--suite", "--threshold", 0.2)
    assert (status, err) == (0, "")
    level = {"support": (0, 1), "delta": float(np.nextafter(0.1 / 9, 0))}
    for name, (mean, good, *_) in rows(out).items():
        assert mean == floor_figures(float(jaxcert.certify_suite_mean(POLICIES[name], **level).mean))
        assert int(good) == int(jaxcert.certify_suite(POLICIES[name], 0.2, **level).num_good[0])
    assert "means and their order over these 60 tasks" in out


@pytest.mark.parametrize("num_policies", [3, 4, 7])
@pytest.mark.parametrize("delta", [0.05, 1e-3, 0.3])
def test_the_shares_are_below_delta_together(num_policies, delta):
    board = board_of([0.1, 0.2], None, num_policies)
    assert board.counts == {
        "means": num_policies,
        "statements at thresholds": 2 * num_policies,
        "pairs": num_policies * (num_policies - 1) // 2,
    }
    total = sum(board.counts.values()) * Fraction(board.share(delta))
    assert Fraction(delta) * Fraction(999_999, 1_000_000) < total <= Fraction(delta)


def test_policies_are_linked_through_others():
    for _ in range(20):
        order = (RNG.random((5, 5)) < 0.3) | np.eye(5, dtype=bool)
        paths = np.linalg.matrix_power(order.astype(int), 5) > 0
        assert (linked(order) == paths).all()


def test_successes_need_no_support(tmp_path):
    paths = [tmp_path / f"{name}.npz" for name in "abc"]
    for path, rate in zip(paths, (0.9, 0.6, 0.2), strict=True):
        np.savez(path, returns=RNG.random((60, 20)) < rate)
    status, out, err = command("compare", *paths, "--delta", 0.1)
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines() if ".npz" in line] == ["a.npz", "b.npz", "c.npz"]
    assert "b.npz, c.npz" in out
    assert "6 statements (3 means, 3 pairs)" in out


def test_what_a_leaderboard_has_not_is_refused(files, tmp_path):
    for option in (("--json", tmp_path / "c.json"), ("--margin", 0), ("--safety", 0.9), ("--require", 0.5)):
        message = refused("compare", *files, *SETTINGS, *option)
        assert f"{option[0]} is given with 3 files, of which a leaderboard is printed" in message
    assert "--bound given, for certificates at thresholds; expected --threshold as well" in refused(
        "compare", *files, *SETTINGS, "--bound", "hoeffding"
    )
    assert "delta is 1.5; expected a probability in (0, 1)" in refused(
        "compare", *files, "--support", 0, 1, "--delta", 1.5
    )
    assert "every policy" in refused("compare", *files, "--delta", 0.1)
    np.savez(tmp_path / "few.npz", returns=A[:5])
    assert "expected both on the same tasks" in refused("compare", *files, tmp_path / "few.npz", *SETTINGS)
