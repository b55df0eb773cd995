"""Sweeps of successes: against one certificate at a time, in pieces, resumed, and what is refused."""

import dataclasses
import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from mesh_program import FIELDS, assert_same

import jaxcert
from jaxcert.sweep import Grid, sweep

RNG = np.random.default_rng(0)
X = RNG.random((3, 12, 9)) < RNG.beta(4, 1, (3, 12, 1))
MASK = np.arange(9) < RNG.integers(2, 10, (3, 12, 1))
GRID = Grid(
    thresholds=(-0.1, 0.2, 0.5, 0.9, 1.0, 1.1),
    methods="attained",
    betas=(None, 0.2),
    deltas=(0.1, 0.3),
    budgets=[(12, 9), (12, 4), (6, 9)],
)
SLOW = pytest.mark.slow


def assert_is_certify(result, x, grid: Grid, where=None, **options) -> None:
    """Each entry to the last bit, method attained; with masks to its rounding, of which a padding takes some."""
    axes = range(len(x)), enumerate(grid.budgets), enumerate(grid.betas), enumerate(grid.deltas)
    for seed, (i, (n, m)), (j, beta), (k, delta) in itertools.product(*axes):
        mask = None if where is None else where[seed, :n, :m]
        settings = {"method": "attained", "beta": beta, "delta": delta, "where": mask, **options}
        certificate = jaxcert.certify(x[seed, :n, :m], grid.thresholds, **settings)
        for field in FIELDS:
            got, wanted = getattr(result, field)[seed, i, 0, -1, j, k], np.asarray(getattr(certificate, field))
            np.testing.assert_allclose(got, wanted, rtol=0, atol=0 if where is None else 2e-6)
            assert got.dtype == wanted.dtype


@pytest.mark.filterwarnings("ignore:.*no policy reaches that:UserWarning")
@pytest.mark.parametrize(
    ("where", "precision"),
    [(None, "float32"), (MASK, "float32"), pytest.param(None, "float64", marks=SLOW)],
    indirect=["precision"],
    ids=["all", "masked", "float64"],
)
def test_every_entry_is_what_certify_gives(where, precision):
    x = X.astype(precision)
    assert_is_certify(sweep(x, GRID, where=where), x, GRID, where)


def test_successes_take_the_defaults_of_certify():
    grid = dataclasses.replace(GRID, methods=None)
    result = sweep(X, grid)
    assert (result.grid.bounds, result.grid.methods) == (("clopper_pearson",), ("attained",))
    assert result.support == (0, 1)
    assert_same(result, sweep(X, GRID, support=(0, 1)))
    assert_same(result, sweep(jnp.asarray(X), grid))
    assert sweep(X.astype(np.float32), Grid(0.5), support=(0, 1)).grid == Grid(0.5, "betting", "binomial")


def test_beside_a_method_that_counts_lower_bounds():
    grid = dataclasses.replace(GRID, methods=("binomial", "attained"))
    result = sweep(X, grid)
    counting = sweep(X, dataclasses.replace(grid, methods="binomial", bounds="clopper_pearson"))
    alone = sweep(X, GRID)
    for field in FIELDS:
        found = getattr(result, field)
        np.testing.assert_array_equal(found[:, :, :, :1], getattr(counting, field))
        np.testing.assert_array_equal(found[:, :, :, 1:], getattr(alone, field))
    assert np.isnan(result.beta[:, 1, 0]).all()
    np.testing.assert_array_equal(result.beta[:, :, 1], np.float32(0.2))


def test_values_that_are_not_checked_count_against_the_certificate():
    """A missing one in the last task of seed 1, and one in seed 2 that refutes the support."""
    x = X.astype(np.float32)
    x[1, 11, 8], x[2, 7, 5] = np.nan, 0.5
    result = sweep(x, GRID, validate=False)
    assert_is_certify(result, x, GRID, validate=False)
    invalid = (result.status == jaxcert.Status.INVALID_INPUT).any(axis=(2, 3, 4, 5, 6))
    assert invalid.tolist() == [[False] * 3, [True, False, False], [True, False, False]]
    with pytest.raises(ValueError, match=r"the return of task \(2, 7\), rollout 5 is 0.5; expected binary returns"):
        sweep(np.where(np.isnan(x), 1, x), GRID)


# --- pieces -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("where", "max_bytes"), [(None, 101_000), pytest.param(MASK, 51_000, marks=SLOW)])
def test_pieces_do_not_change_the_certificates(where, max_bytes):
    x, grid = np.tile(X, (20, 1, 1)), dataclasses.replace(GRID, budgets=None)
    mask = None if where is None else np.tile(where, (20, 1, 1))
    assert_same(sweep(x, grid, where=mask, max_bytes=max_bytes), sweep(x, grid, where=mask))


# --- results and refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bounds": ("clopper_pearson", "dkw"), "methods": "attained"}, "'dkw', .* expected 'clopper_pearson' alone"),
        ({"bounds": "betting", "methods": ("binomial", "attained")}, "'betting', which has no effect with method"),
        ({"betas": "auto", "deltas": 0.1}, "betas of the grid holds 'auto'; expected numbers"),
        ({"methods": "soft"}, "methods of the grid holds 'soft'; expected binomial, scenario, attained"),
    ],
)
def test_a_bound_or_a_method_that_cannot_be(settings, message):
    with pytest.raises(ValueError, match=message):
        Grid(0.5, **settings)


@pytest.mark.parametrize(
    ("x", "settings", "options", "message"),
    [
        (X, {"bounds": ("clopper_pearson", "betting")}, {}, r"methods of the grid are left out, and differ by default"),
        (X * 0.5, {"methods": ("binomial", "attained")}, {}, "bounds of the grid are left out, and differ by default"),
        (X * 0.5, {}, {}, "support is None; expected a pair"),
        (X, {}, {"support": (0, 2)}, "clopper_pearson expects binary returns"),
        (X, {"budgets": [(12, 10)]}, {}, r"holds \(12, 10\)"),
    ],
)
def test_what_does_not_fit_the_returns_is_refused(x, settings, options, message):
    with pytest.raises(ValueError, match=message):
        sweep(x, Grid(0.5, **settings), **options)
