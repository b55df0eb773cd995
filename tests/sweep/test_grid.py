"""Valid grids, and the errors for invalid ones."""

import numpy as np
import pytest

from jaxcert.sweep import Grid, sweep

X = np.random.default_rng(0).uniform(0.2, 0.8, (2, 12, 9)).astype(np.float32)


def test_one_value_stands_for_an_axis_of_one():
    grid = Grid(0.5, bounds="dkw", methods="scenario", betas=0.1, deltas=np.float32(0.25), budgets=[(3, 4)])
    assert grid == Grid((0.5,), ("dkw",), ("scenario",), (0.1,), (0.25,), ((3, 4),))


def test_arrays_are_axes():
    assert Grid(np.linspace(0, 1, 3)).thresholds == (0.0, 0.5, 1.0)
    assert Grid([0.5], budgets=np.array([[3, 4], [5, 6]])).budgets == ((3, 4), (5, 6))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bounds": ("betting", "bernstein")}, "bounds of the grid holds 'bernstein'; expected betting"),
        ({"methods": "exact"}, "methods of the grid holds 'exact'; expected binomial, scenario"),
        ({"bounds": ()}, "bounds of the grid is empty"),
        ({"budgets": []}, "budgets of the grid is empty"),
        ({"deltas": [0.1, 0.1]}, "deltas of the grid holds 0.1 twice"),
        ({"deltas": 0}, r"deltas\[0\] is 0; expected a probability"),
        ({"betas": (None, 1.5)}, r"betas\[1\] is 1.5; expected a probability"),
        ({"thresholds": [0.1, np.nan]}, r"thresholds\[1\] is nan; expected a finite number"),
        ({"thresholds": "0.5"}, "thresholds of the grid holds '0.5'; expected numbers"),
        ({"thresholds": [[0.5]]}, "thresholds of the grid holds .*; expected numbers"),
        ({"deltas": [None]}, "deltas of the grid holds None; expected numbers"),
        ({"budgets": [(3, 0)]}, r"budgets of the grid holds \(3, 0\); expected pairs"),
        ({"budgets": [(3, 2.5)]}, r"budgets of the grid holds \(3, 2.5\); expected pairs"),
        ({"budgets": [(np.inf, 3)]}, r"budgets of the grid holds \(inf, 3\); expected pairs"),
        ({"budgets": np.ones((1, 2), bool)}, "budgets of the grid holds .*; expected pairs"),
        ({"thresholds": [10**400]}, "thresholds of the grid holds 1000.*; expected numbers"),
    ],
)
def test_what_has_no_meaning_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Grid(**{"thresholds": [0.5], **change})


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        ({"budgets": [(13, 9)]}, {}, r"holds \(13, 9\); the returns have 12 tasks with 9 rollouts"),
        (
            {"bounds": "empirical_bernstein", "budgets": [(12, 1)]},
            {},
            "empirical_bernstein needs at least 2",
        ),
        ({"bounds": "hoeffding"}, {"support": (0, np.inf)}, "hoeffding needs a finite upper end"),
        ({"bounds": "clopper_pearson"}, {"support": (0, 2)}, "clopper_pearson expects binary returns"),
        ({}, {"support": (1, 0)}, "expected a < b"),
        ({}, {"max_bytes": 0}, "max_bytes is 0; expected a whole number of at least 1"),
        ({}, {"max_bytes": 1e9}, "max_bytes is 1000000000.0; expected a whole number"),
        ({}, {"grid": {}}, "grid is {}; expected a jaxcert.sweep.Grid"),
        ({"thresholds": 1e300}, {}, r"thresholds\[0\] is 1e\+300; expected a number within the range of float32"),
        ({"deltas": 1e-50}, {}, r"deltas\[0\] is 1e-50; expected a probability that float32 can tell from 0"),
        ({"betas": (0.1, 1e-50)}, {}, r"betas\[0, 0, 1, 0\] is 0; expected a probability"),
        ({"methods": "scenario", "deltas": 2e-38}, {}, r"betas\[0, 0, 0\] is 0; expected a probability|can tell"),
        ({}, {"returns": X[0, 0]}, "returns have shape"),
        ({}, {"returns": X[:, :0]}, "returns have shape"),
        ({}, {"returns": [["a"]]}, "expected real numbers"),
        ({}, {"where": np.ones((2, 12), bool)}, "where has shape"),
        ({}, {"where": np.ones(X.shape)}, "where has dtype float64; expected bool"),
    ],
)
def test_what_does_not_fit_the_returns_is_refused(settings, options, message):
    arguments = {"returns": X, "support": (0, 1), **options}
    arguments.setdefault("grid", Grid(**{"thresholds": [0.5], **settings}))
    with pytest.raises(ValueError, match=message):
        sweep(**arguments)


@pytest.mark.parametrize("max_bytes", [2**30, 9500])
def test_a_bad_return_is_named_by_its_place_in_the_whole_array(max_bytes):
    x = X.copy()
    x[1, 10, 4] = 1.5
    with pytest.raises(ValueError, match=r"the return of task \(1, 10\), rollout 4 is 1.5, outside the support"):
        sweep(x, Grid([0.5]), support=(0, 1), max_bytes=max_bytes)
    with pytest.raises(ValueError, match=r"the return of task 10, rollout 4 is 1\.5"):
        sweep(x[1], Grid([0.5]), support=(0, 1), max_bytes=max_bytes)
    where = np.ones(X.shape, bool)
    where[1, 11] = False
    with pytest.raises(ValueError, match=r"task \(1, 11\) has every rollout masked"):
        sweep(X, Grid([0.5]), support=(0, 1), where=where, max_bytes=max_bytes)


def test_swapped_axes_are_noticed_whatever_the_first_budget():
    """The first budget has too few rollouts to tell."""
    rng = np.random.default_rng(0)
    swapped = (rng.beta(8, 2, (1, 1, 40)) + 0.001 * rng.random((1, 60, 40))).clip(0, 1).astype(np.float32)
    grid = Grid([0.5], bounds="hoeffding", budgets=[(60, 2), (60, 40)])
    with pytest.raises(ValueError, match="swapped"):
        sweep(swapped, grid, support=(0, 1))


def test_many_thresholds_are_quick():
    assert len(Grid(np.linspace(0, 1, 200_000)).thresholds) == 200_000


def test_unvalidated_bad_returns_count_against_the_certificate():
    x = X.copy()
    x[1, 10, 4] = np.nan
    result = sweep(x, Grid([0.0]), support=(0, 1), validate=False)
    assert result.num_violations.ravel().tolist() == [0, 1]
    assert result.status.ravel().tolist() == [0, 3]
