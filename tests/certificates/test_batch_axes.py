"""Batches of certificates: their elements by index, and tables with the names of their axes."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from asked import ways
from jax.tree_util import keystr, tree_leaves_with_path

import jaxcert
from jaxcert.certificates._answer import Answer

BATCH, N = (2, 3), 20
RETURNS = np.random.default_rng(0).uniform(0, 1, (*BATCH, N, 4)).astype(np.float32)
TASKS = [f"task {i}" for i in range(N)]
THRESHOLDS, SETTINGS = [0.1, 0.3], {"support": (0, 1), "delta": 0.1}
WAYS = ways(THRESHOLDS, [0.3, 0.5], alpha=[0.5, 1.0])
TYPES = ["safety", "auto", "safety_level", "band", "interval", "improvement", "anytime", "weighted", "sequential"]
TYPES += ["stratified", "episode", "suite", "mean", "cvar", "ranking", "requirements", "suite_requirements"]
# Each type of answer, from returns [..., n, m].
ASK = {name: lambda x, way=WAYS[name]: way(x, **way.among(SETTINGS)) for name in TYPES} | {
    "curve": lambda x: jaxcert.certify_band(x, None, **SETTINGS),
    "successes": lambda x: jaxcert.certify_band(x > 0.1, THRESHOLDS, delta=0.1),
    "shift": lambda x: jaxcert.certify_shift(ASK["safety"](x), divergence="kl", radius=0.02),
    "each_task": lambda x: WAYS["each_task"](x, tasks=TASKS, **SETTINGS),
    "tail": lambda x: jaxcert.certify_tail(jaxcert.certify_band(x, None, **SETTINGS), [0.3, 0.5]),
}
# The names of the axes of each element's rows, and how many they are.
ROWS = {
    "mean": {},
    "requirements": {},
    "suite_requirements": {},
    "cvar": {"alpha": 2},
    "ranking": {"policy": 2, "other": 2},
    "tail": {"share": 2},
}
# Of leading axes of returns; each takes two seconds or more to compile.
QUICK = ("band",)
WITHOUT_ROWS = ("mean", "ranking", "requirements", "suite_requirements")
EACH = pytest.mark.parametrize("name", ASK)


class Elements(dict):
    """One element of each type, asked when a test takes it: a test of one type does not compile the programs of all."""

    def __missing__(self, name):
        self[name] = ASK[name](RETURNS[1, 2])
        return self[name]


@pytest.fixture(scope="module")
def single():
    return Elements()


def stacked(certificate):
    """As `vmap` gives it: all arrays have the axes of the batch. Element [i, j] has 10 i + j added to its numbers."""

    def of(leaf):
        leaf = np.asarray(leaf)
        # Codes of the status, counts and truth values stay.
        moved = [leaf + leaf.dtype.type(10 * i + j) if leaf.dtype == np.float32 else leaf for i, j in np.ndindex(BATCH)]
        return jnp.asarray(np.stack(moved).reshape(*BATCH, *leaf.shape))

    return jax.tree.map(of, certificate)


def check_equal(one, other, rtol: float = 0):
    for (path, a), (_, b) in zip(tree_leaves_with_path(one), tree_leaves_with_path(other), strict=True):
        assert a.shape == b.shape, keystr(path)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, err_msg=keystr(path))
    assert jax.tree.structure(one) == jax.tree.structure(other)


@EACH
def test_an_element_of_what_vmap_gives(single, name):
    many = stacked(single[name])
    assert single[name].batch_shape == ()
    assert many.batch_shape == BATCH
    for place in ((0, 0), (1, 2), (-1, -1)):
        check_equal(many[place], jax.tree.map(lambda leaf, at=place: leaf[at], many))
    check_equal(many[0], jax.tree.map(lambda leaf: leaf[0], many))
    check_equal(many[1, 2], many[1][2])
    check_equal(many[:, 1], jax.tree.map(lambda leaf: leaf[:, 1], many))
    check_equal(
        many[0:2, 1] if name in WITHOUT_ROWS else many[..., 0:2, 1, slice(None)],
        many[:2][:, 1],
    )
    check_equal(many[...], many)
    check_equal(many[::-1, 2], jax.tree.map(lambda leaf: leaf[::-1, 2], many))


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in ASK])
def test_an_element_says_what_its_returns_alone_say(single, name):
    """Settings that are no part of the batch have no axes of it.

    A large batch has no padding, for whose rounding sums leave room: its figures may have another last digit.
    """
    many = ASK[name](RETURNS)
    assert many.batch_shape == BATCH
    check_equal(many[1, 2], single[name], rtol=1e-5)
    assert words_of(many[1, 2]) == words_of(single[name])
    assert np.ndim(many.delta) == 0


def words_of(certificate) -> str:
    """What it prints, without the figures."""
    return re.sub(r"\d[\d.]*(e-?\d+)?", "#", str(certificate))


def test_thresholds_of_a_batch(single):
    many = stacked(single["safety"])
    check_equal(many[0, 2, 1], many[0, 2][1])
    check_equal(many[..., 1], jax.tree.map(lambda leaf: leaf[..., 1:] if leaf.shape == (*BATCH, 2) else leaf, many))
    check_equal(many[1, ..., ::-1], many[1][:, ::-1])
    assert len(many) == 2
    assert len(many[0]) == 3
    assert [part.batch_shape for part in many] == [(3,), (3,)]
    cvar = single["cvar"]
    assert str(cvar[1]) == str(cvar).splitlines()[1]


def test_beta_is_chosen_for_each_threshold_or_given(single):
    auto, given = stacked(single["auto"]), stacked(single["safety"])
    assert auto[1, 2, 0].beta.shape == (1,)
    assert given[1, 2, 0].beta.shape == ()


def test_a_setting_for_some_of_the_axes_alone(single):
    """An axis of size 1 stands for all."""
    many = stacked(single["safety"])
    delta = jnp.asarray([[0.1], [0.2]], jnp.float32)
    some = dataclasses.replace(many, delta=delta)
    assert some[1, 2].delta == delta[1, 0]
    assert some[1].delta.tolist() == [delta[1, 0]] * 3
    assert some.to_frame().delta.nunique() == 2


@pytest.mark.parametrize(
    ("index", "error", "words"),
    [
        ((0, 3), IndexError, "index is 3; the certificate has 3 along axis 1"),
        ((0, 0, 2), IndexError, "index is 2; the certificate has 2 along axis threshold"),
        ((0, 0, 0, 0), IndexError, "the certificate has 2 along axis 0, 3 along axis 1, 2 along axis threshold"),
        *((bad, TypeError, "integer") for bad in ((..., 0, ...), 0.5, np.array([True, False]), None, "safety")),
    ],
)
def test_what_is_no_index(single, index, error, words):
    with pytest.raises(error, match=words):
        stacked(single["safety"])[index]


def test_no_index_into_what_has_no_axes(single):
    for name in ("mean", "ranking"):
        check_equal(single[name][...], single[name])
        with pytest.raises(TypeError, match="the certificate has no axes"):
            single[name][0]


@EACH
def test_a_row_for_each_element(single, name):
    many, rows = stacked(single[name]), ROWS.get(name, {"threshold": len(single[name]) if name not in ROWS else 0})
    frame = many.to_frame()
    values = many.to_dict()
    shape = (*BATCH, *rows.values())
    assert len(frame) == np.prod(shape)
    assert list(frame.columns[:2]) == ["axis_0", "axis_1"]
    for i, place in enumerate(np.ndindex(shape)):
        row = frame.iloc[i]
        assert (row.axis_0, row.axis_1) == place[:2]
        assert row.delta == values["delta"][place[0]][place[1]]
        assert row.status == np.asarray(values["status"])[place[: np.ndim(values["status"])]]
        for field, column in {"safety": "safety", "quantiles": "quantile", "mean": "mean", "order": "order"}.items():
            if field in values:
                assert row[column] == np.asarray(values[field])[place]
    assert not {"lower_bounds", "history", "sampled"} & set(frame.columns)


def test_thresholds_label_their_axis():
    found = ASK["band"](RETURNS)
    frame = found.to_frame()
    assert list(frame.columns[:3]) == ["axis_0", "axis_1", "threshold"]
    assert frame.threshold.unique().tolist() == THRESHOLDS
    data = frame.set_index(list(frame.columns[:3])).to_xarray()
    np.testing.assert_array_equal(data.safety.sel(threshold=0.3).values, found.safety[..., 1])
    assert "task" not in ASK["each_task"](RETURNS[0, 0]).to_frame()


def test_no_table_of_traced_values(single):
    with pytest.raises(ValueError, match="expected it outside of jit and vmap"):
        jax.vmap(lambda one: one.to_frame())(stacked(single["safety"]))


def test_every_type_of_answer_is_tested(single):
    def below(kind):
        return {kind}.union(*map(below, kind.__subclasses__()))

    concrete = {kind for kind in below(Answer) if dataclasses.is_dataclass(kind)}
    assert {type(single[name]) for name in ASK} == {kind for kind in concrete if kind.__name__ != "PlugInEstimate"}
