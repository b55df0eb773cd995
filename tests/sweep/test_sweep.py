"""A sweep against one certificate at a time, its memory, its compilations."""

import dataclasses
import itertools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import compilations
from mesh_program import FIELDS, assert_same

import jaxcert
from jaxcert.sweep import Grid, sweep

RNG = np.random.default_rng(0)
X = (RNG.beta(4, 2, (2, 24, 1)) * RNG.beta(20, 1, (2, 24, 16))).astype(np.float32)
MASK = np.arange(16) < RNG.integers(2, 17, (2, 24, 1))
GRID = Grid(
    thresholds=np.linspace(0, 1, 70),
    bounds=("betting", "empirical_bernstein"),
    methods=("binomial", "scenario"),
    betas=(None, 0.2),
    deltas=(0.1, 0.3),
    budgets=[(24, 16), (12, 16)],
)


def one_by_one(x, grid: Grid, where=None):
    """Each entry of the grid by ``certify``, with its place."""
    axes = (range(len(x)), grid.budgets, grid.bounds, grid.methods, grid.betas, grid.deltas)
    for place in itertools.product(*(range(len(axis)) for axis in axes)):
        seed, (n, m), bound, method, beta, delta = (axis[i] for axis, i in zip(axes, place, strict=True))
        mask = None if where is None else where[seed, :n, :m]
        settings = {"bound": bound, "method": method, "beta": beta, "delta": delta, "where": mask}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            yield place, jaxcert.certify(x[seed, :n, :m], grid.thresholds, support=(0, 1), **settings)


CHEAP = dataclasses.replace(GRID, bounds=("hoeffding",), methods=("scenario",), budgets=((12, 16),))


@pytest.mark.parametrize(
    ("grid", "where"),
    [
        pytest.param(CHEAP, MASK, id="one budget, masked"),
        pytest.param(GRID, MASK, id="masked", marks=pytest.mark.slow),
        pytest.param(GRID, None, id="all", marks=pytest.mark.slow),
    ],
)
def test_every_entry_is_what_certify_gives(grid, where):
    result = sweep(X, grid, support=(0, 1), where=where)
    assert result.safety.shape == (
        len(X),
        *map(len, (grid.budgets, grid.bounds, grid.methods, grid.betas, grid.deltas)),
        70,
    )
    for place, certificate in one_by_one(X, grid, where):
        for field in FIELDS:
            np.testing.assert_array_equal(getattr(result, field)[place], getattr(certificate, field))
        _, budget, _, method, beta, delta = place
        assert result.beta[budget, method, beta, delta] == certificate.beta


@pytest.mark.parametrize("where", [None, MASK], ids=["all", "masked"])
@pytest.mark.parametrize("size", [20_000, 40_000])
def test_chunks_do_not_change_the_certificates(size, where, precision):
    x = X.astype(precision)
    max_bytes = size * x.itemsize // 16
    grid = Grid(GRID.thresholds, betas=(0.1, 0.2), bounds=("betting", "dkw", "hoeffding"))
    whole = sweep(x, grid, support=(0, 1), where=where)
    parts = sweep(x, grid, support=(0, 1), where=where, max_bytes=max_bytes)
    # A bound may move by its last bit where the compiler lays out a chunk differently; thresholds lie elsewhere.
    assert_same(parts, whole)


def test_anything_that_can_be_sliced_is_read_in_chunks(tmp_path):
    np.save(tmp_path / "returns.npy", X)

    class Reader:
        """Records the largest piece that was read."""

        shape, dtype, largest = X.shape, X.dtype, 0

        def __getitem__(self, index):
            piece = np.load(tmp_path / "returns.npy", mmap_mode="r")[index]
            Reader.largest = max(Reader.largest, piece.size)
            return piece

    grid = Grid([0.3, 0.5])
    wanted = sweep(X, grid, support=(0, 1))
    for source in (Reader(), np.load(tmp_path / "returns.npy", mmap_mode="r"), jnp.asarray(X), X.tolist()):
        got = sweep(source, grid, support=(0, 1), max_bytes=4000)
        np.testing.assert_array_equal(got.num_violations, wanted.num_violations)
    assert 0 < Reader.largest < X.size / 4


def test_float64_returns_are_rounded_down_where_64_bit_types_are_off():
    x = np.full((5, 8), 0.1 + 1e-12)
    exact = jaxcert.certify(x, [0.05], support=(0, 1), delta=0.1)
    np.testing.assert_array_equal(sweep(x, Grid([0.05], deltas=0.1), support=(0, 1)).epsilon.ravel(), exact.epsilon)


def test_other_values_do_not_compile_again():
    def run(x, low, **settings):
        grid = Grid(bounds=("dkw", "hoeffding"), methods=("binomial", "scenario"), **settings)
        return sweep(x, grid, support=(low, 1))

    run(X, 0, thresholds=[0.2, 0.4], betas=(0.01, 0.1), deltas=0.1)
    other = X / 2
    assert compilations(lambda: run(other, -1, thresholds=[0.3, 0.5], betas=(0.02, 0.2), deltas=0.2).safety) == 0


def test_a_sweep_inside_a_transformation_is_refused():
    with pytest.raises(ValueError, match="inside jit, vmap or grad use certify"):
        jax.jit(lambda x: sweep(x, Grid([0.5]), support=(0, 1)).epsilon)(X)


# --- results ----------------------------------------------------------------------------------------------------------


RESULT_GRID = dataclasses.replace(GRID, bounds=("dkw", "hoeffding"))


@pytest.fixture(scope="module")
def result():
    return sweep(X, RESULT_GRID, support=(0, 1))


def test_rows(result):
    pytest.importorskip("pandas")
    frame = result.to_frame()
    assert len(frame) == result.safety.size
    place = (1, 0, 1, 0, 1, 0, 33)
    row = frame.iloc[np.ravel_multi_index(place, result.safety.shape)]
    assert row.safety == result.safety[place]
    assert (row.seed, row.num_tasks, row.num_rollouts) == (1, 24, 16)
    assert (row.bound, row.method, row.delta) == ("hoeffding", "binomial", 0.1)
    assert row.beta == 0.2
    assert row.threshold == GRID.thresholds[33]
    assert frame.beta.iloc[0] == 0.05  # not what single precision holds
    default = frame[(frame.num_tasks == 12) & (frame.method == "scenario") & (frame.delta == 0.1)].beta.iloc[0]
    np.testing.assert_allclose(default, 0.1 / 12, rtol=1e-6)
    assert row.status == jaxcert.Status(result.status[place]).name.lower()


def test_labels_are_the_numbers_that_were_given():
    """Although they are held in single precision, or were given in it."""
    pytest.importorskip("pandas")
    betas, thresholds = np.array([0.05, 0.2], np.float32), jnp.asarray([0.1, 0.7], jnp.float32)
    grid = Grid(thresholds, betas=betas, deltas=jnp.float32(0.01))
    assert (grid.thresholds, grid.betas, grid.deltas) == ((0.1, 0.7), (0.05, 0.2), (0.01,))
    found = sweep(X, grid, support=(0, 1))
    frame = found.to_frame()
    assert frame.beta.unique().tolist() == [0.05, 0.2]
    picked = frame[(frame.seed == 0) & (frame.beta == 0.05) & (frame.delta == 0.01) & (frame.threshold == 0.7)]
    assert picked.safety.item() == found.safety[0, 0, 0, 0, 0, 0, 1]
    same = jaxcert.certify(X[0], 0.7, support=(0, 1), delta=0.01, beta=0.05)
    assert float(same.safety[0]) == picked.safety.item()
