"""Sweeps of successes: against one certificate at a time, in pieces, resumed, and what is refused."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import compilations
from conftest import x64_context
from jax.sharding import NamedSharding, PartitionSpec

import jaxcert
from jaxcert.certificates import _attained
from jaxcert.certificates._binomial import upper_risk
from jaxcert.sweep import Grid, _plan, plan_sweep, sweep

FIELDS = ("epsilon", "safety", "num_violations", "num_valid", "status")
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


def assert_same(one, other) -> None:
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


def assert_is_certify(result, x, grid: Grid, where=None, **options) -> None:
    """Each entry to the last bit, method attained."""
    axes = range(len(x)), enumerate(grid.budgets), enumerate(grid.betas), enumerate(grid.deltas)
    for seed, (i, (n, m)), (j, beta), (k, delta) in itertools.product(*axes):
        mask = None if where is None else where[seed, :n, :m]
        settings = {"method": "attained", "beta": beta, "delta": delta, "where": mask, **options}
        certificate = jaxcert.certify(x[seed, :n, :m], grid.thresholds, **settings)
        for field in FIELDS:
            got, wanted = getattr(result, field)[seed, i, 0, -1, j, k], np.asarray(getattr(certificate, field))
            np.testing.assert_array_equal(got, wanted)
            assert got.dtype == wanted.dtype


@pytest.mark.filterwarnings("ignore:.*no policy reaches that:UserWarning")
@pytest.mark.parametrize("where", [None, MASK], ids=["all", "masked"])
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
    assert plan_sweep(X, Grid(0.5, "betting"), support=(0, 1)).grid.methods == ("binomial",)


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
    with pytest.raises(ValueError, match=r"the return of task \(2, 7\), rollout 5 is 0.5; Clopper-Pearson expects"):
        sweep(np.where(np.isnan(x), 1, x), GRID)


# --- pieces -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("where", "max_bytes"), [(None, 101_000), pytest.param(MASK, 51_000, marks=SLOW)])
def test_pieces_do_not_change_the_certificates(where, max_bytes):
    x, grid = np.tile(X, (20, 1, 1)), dataclasses.replace(GRID, budgets=None)
    mask = None if where is None else np.tile(where, (20, 1, 1))
    plan = plan_sweep(x, grid, where=mask, max_bytes=max_bytes)
    assert plan.num_chunks > 1
    assert plan.passes[0].piece < (60, 6)
    assert plan.device_bytes <= max_bytes
    assert_same(sweep(x, grid, where=mask, max_bytes=max_bytes), sweep(x, grid, where=mask))


class StopError(Exception):
    """Raised in the middle of a sweep."""


def test_resumed_is_the_same_as_uninterrupted(tmp_path):
    grid = dataclasses.replace(GRID, methods=("binomial", "attained"))
    done = []

    def stop(finished: int, total: int) -> None:
        done.append(finished)
        if finished == total - 1:
            raise StopError

    with pytest.raises(StopError):
        sweep(X, grid, checkpoint=tmp_path, progress=stop)
    assert len(list(tmp_path.glob("*.npz"))) == done[-1] == 3  # both at m = 9, one at m = 4
    assert len(list(tmp_path.glob("attained-m9-*.npz"))) == 1
    times = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")}
    assert_same(sweep(X, grid, checkpoint=tmp_path, resume=True), sweep(X, grid))
    assert all(path.stat().st_mtime_ns == before for path, before in times.items())
    with pytest.raises(ValueError, match="was computed from other returns"):
        sweep(~X, grid, checkpoint=tmp_path, resume=True)


def test_other_values_do_not_compile_again():
    def run(x, **settings):
        return sweep(x, Grid(methods="attained", budgets=GRID.budgets, **settings)).safety

    run(X, thresholds=(0.2, 0.4), betas=(None, 0.1), deltas=0.1)
    assert compilations(lambda: run(~X, thresholds=(0.3, 0.5), betas=(None, 0.2), deltas=0.2)) == 0


def total_bytes(lowered) -> int:
    memory = lowered.compile().memory_analysis()
    return memory.argument_size_in_bytes + memory.temp_size_in_bytes + memory.output_size_in_bytes


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("seeds", "thresholds", "n"), [(1, 1, 20), (4, 2000, 20), (4, 5, 2000), (100, 70, 200)])
def test_a_call_takes_no_more_memory_than_planned(seeds, thresholds, n, dtype):
    with x64_context(dtype == np.float64):
        shaped = lambda *shape, dtype=dtype: jax.ShapeDtypeStruct(shape, dtype)  # noqa: E731
        size, rows = seeds * thresholds * 4, 16 * (n + 1)
        length = max(256, 1 << (min(size, rows) - 1).bit_length())
        counts, enough, entries = shaped(seeds, n), shaped(thresholds, 4), shaped(seeds, thresholds, 4, dtype=np.int32)
        settings = {"length": length, "direct": size <= rows}
        equal = (
            _attained._problems.lower(counts, shaped(dtype=np.int32), enough, shaped(), shaped(16), **settings),
            upper_risk.lower(shaped(length), shaped(), shaped(length)),
            _attained.best_level.lower(entries, entries, shaped(length), enough, shaped(dtype=np.int32)),
        )
        assert max(map(total_bytes, equal)) <= _plan.counted_bytes(seeds, thresholds, n, np.dtype(dtype))
        masked = _attained._with_coins.lower(shaped(n), shaped(n), shaped(thresholds), None, shaped())
        assert total_bytes(masked) <= _plan.masked_bytes(thresholds, n, np.dtype(dtype))
        counting = _attained.counts_of.lower(shaped(seeds, n, 50), shaped(), shaped(), shaped(seeds, n, 50, dtype=bool))
        assert total_bytes(counting) <= _plan.bound_bytes(seeds * n, 50, 1, np.dtype(dtype))


# --- results and refusals ---------------------------------------------------------------------------------------------


def test_rows_and_labels():
    """Of one seed, without an axis of seeds."""
    pytest.importorskip("pandas")
    found = sweep(X[0], GRID)
    np.testing.assert_array_equal(found.safety[0], sweep(X, GRID).safety[0])
    frame = found.to_frame()
    assert set(frame.method) == {"attained"}
    assert set(frame.bound) == {"clopper_pearson"}
    assert frame.beta.isna().sum() == len(frame) / 2
    assert set(frame.beta.dropna()) == {0.2}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bounds": ("clopper_pearson", "dkw"), "methods": "attained"}, "'dkw', .* expected 'clopper_pearson' alone"),
        ({"bounds": "betting", "methods": ("binomial", "attained")}, "'betting', which has no effect with method"),
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
        (X * 1.0, {"methods": ("binomial", "attained")}, {}, "bounds of the grid are left out, and differ by default"),
        (X * 1.0, {}, {}, "support is None; expected a pair"),
        (X, {}, {"support": (0, 2)}, "clopper_pearson expects binary returns"),
        (X, {}, {"max_bytes": 90_000}, "expected at least .* one threshold with counts of 12 tasks needs"),
        (X, {}, {"max_bytes": 5000, "where": MASK}, "one seed with a mask, 12 tasks and 1 thresholds needs"),
        (X, {"budgets": [(12, 10)]}, {}, r"holds \(12, 10\)"),
    ],
)
def test_what_does_not_fit_the_returns_is_refused(x, settings, options, message):
    with pytest.raises(ValueError, match=message):
        sweep(x, Grid(0.5, **settings), **options)


def test_sharded_successes_are_refused():
    mesh = jax.make_mesh((1,), ("tasks",), devices=jax.devices()[:1])
    with pytest.raises(ValueError, match="attained counts them on one device; expected returns on one device"):
        sweep(X, GRID, sharding=NamedSharding(mesh, PartitionSpec(None, "tasks")))
