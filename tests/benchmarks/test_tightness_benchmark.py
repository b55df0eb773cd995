"""The table of tightness: what it certifies is what the library does, and a run gives the numbers that are shown."""

import csv
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.tightness import bounds as tightness
from benchmarks.tightness.bounds import DELTA, PLUG_IN, SAFETIES, SOFT, Way
from benchmarks.tightness.worlds import SUCCESSES, WORLDS, draw
from jaxcert import certify, certify_safety_level

pytestmark = pytest.mark.usefixtures("promoting")
DOCS = Path(__file__).parents[2] / "docs" / "tightness.md"
# The world and size that are run again, in few ways: each is compiled.
WORLD, SIZE = "simple grid", tightness.SIZES[0]
CHOSEN = (Way("clopper_pearson", "binomial"), Way("hoeffding", "scenario"), SOFT, PLUG_IN)


def committed(path: Path = tightness.FILE) -> list[tightness.Row]:
    with path.open() as file:
        kinds = tightness.Row.__annotations__
        return [tightness.Row(*(kind(row[name]) for name, kind in kinds.items())) for row in csv.DictReader(file)]


@pytest.mark.parametrize("name", {**WORLDS, **SUCCESSES})
def test_returns_average_to_the_performance_that_is_known(name):
    world = {**WORLDS, **SUCCESSES}[name]
    known, returns = draw(world, jax.random.key(0), 6, 40_000)
    assert returns.shape == (6, 40_000)
    assert float(returns.min()) >= 0
    assert float(returns.max()) <= 1
    assert world.binary == (set(np.unique(returns).tolist()) <= {0.0, 1.0})
    error = np.asarray(returns).std(axis=1) / 200
    assert np.all(np.abs(np.asarray(returns).mean(axis=1) - np.asarray(known)) < 4.5 * error)


def test_a_run_gives_the_committed_numbers():
    """Other versions of JAX may draw or round a little differently."""
    shown = {row[:-2]: row for row in committed()}
    rows = tightness.of_world(WORLD, *SIZE, CHOSEN)
    assert len(rows) == len(CHOSEN) * len(SAFETIES)
    for row in rows:
        assert shown[row[:-2]][-2:] == pytest.approx(row[-2:], rel=1e-3, abs=1e-5)


def test_each_way_is_that_of_the_library():
    returns = tightness.drawn(WORLDS[WORLD], *SIZE)[1]
    found = {way: np.asarray(tightness.certified(returns, way)) for way in CHOSEN}
    for column, safety in enumerate(SAFETIES):
        for way in CHOSEN[:2]:
            wanted = certify_safety_level(returns, safety, support=(0.0, 1.0), delta=DELTA, **way._asdict())
            assert np.array_equal(found[way][:, column], np.asarray(wanted.thresholds)[:, 0])
    reached = jnp.asarray(found[SOFT][0])
    settings = {"support": (0.0, 1.0), "delta": DELTA, "method": "soft"}
    at, above = (certify(returns[0], reached + step, **settings).safety for step in (0, 2.0**-16))
    # Alone they are certified by another program than with others, which rounds the last digits otherwise.
    assert np.all((np.asarray(reached) == 0) | (np.asarray(at) >= np.asarray(SAFETIES) - 1e-6))
    assert np.all(np.asarray(above) < SAFETIES)
    averages = tightness.certified_if_known(jnp.mean(returns, axis=-1))
    np.testing.assert_allclose(found[PLUG_IN], averages, rtol=1e-6)


def test_on_average_less_is_certified_than_known_performances_would():
    rows = committed()
    samples = [("cheetah", 200, 100), ("walker", 200, 90)]
    places = [(name, *size) for name in WORLDS for size in tightness.SIZES]
    assert {row[:3] for row in rows} == {*places, *samples}
    in_world = {name: len(tightness.ways(binary=world.binary)) for name, world in WORLDS.items()}
    assert len(rows) == len(SAFETIES) * (sum(3 * number for number in in_world.values()) + 2 * 10)
    assert [row for row in rows if row.method != PLUG_IN.method and row.certified > row.known] == []


def test_attained_levels_say_more_of_few_trials_and_no_less_of_many():
    rows = {(*row[:3], row.method, row.safety): row for row in committed(tightness.FILE_OF_SUCCESSES)}
    assert {row[:3] for row in rows} == {(name, *size) for name in SUCCESSES for size in tightness.SIZES_OF_SUCCESSES}
    gains = {place: rows[*place[:3], "attained", place[4]].share - row.share for place, row in rows.items()}
    assert min(gains.values()) > -0.005
    few = [gain for (*_, m, method, safety), gain in gains.items() if (m, method) == (10, "binomial") and safety < 0.95]
    assert len(few) == 9
    assert min(few) > 0.1
    assert all(row.certified <= row.known for row in rows.values())


def test_the_page_shows_the_committed_numbers():
    """Every line of the tables of this benchmark, which come first on the page, is one of its files."""
    blocks: dict[tuple, list[tightness.Row]] = {}
    for row in committed():
        blocks.setdefault(row[:3], []).append(row)
    for row in committed(tightness.FILE_OF_SUCCESSES):
        blocks.setdefault((*row[:3], "successes"), []).append(row)
    lines = {line for block in blocks.values() for line in tightness.table(block)}
    own, *_ = DOCS.read_text().partition("## Attained levels, by tasks and trials")
    shown = re.findall(r"^\|.*\|$", own, re.MULTILINE)
    assert len(shown) > 20
    assert [line for line in shown if line not in lines] == []
