"""A certificate at every moment depends on which tasks count: where several are near a threshold."""

import functools
import itertools

import jax
import numpy as np
import pytest
from alterations import altered
from test_verify import RETURNS, SETTINGS, saved

import jaxcert
from jaxcert.certificates import _anytime
from jaxcert.questions import QUESTIONS
from jaxcert.report import certificate_record, step_curve, verify, write_certificates
from jaxcert.tables import read_returns

ROUNDING = 32 * 2.0**-24
SURE = np.isin(np.arange(9), [2, 6])
NEAR = np.array([0, 3, 4, 7])


def of(violated):
    """The certificate of nine tasks with these violations."""
    bounds = np.where(np.isin(np.arange(9), violated), 0.0, 1.0)
    some = jaxcert.certify_anytime(np.ones((9, 3), "f"), 0.5, support=(0, 1), delta=0.1)
    return QUESTIONS["anytime"].curve(some, bounds.astype("f"), np.array([0.5], "f"))


@pytest.mark.parametrize("below", range(5))
def test_every_choice_of_tasks_is_found_by_its_risk_and_no_other_risk(below):
    """All of them, by trying."""
    risks = set()
    for chosen in itertools.combinations(NEAR, below):
        stated = float(of([2, 6, *chosen]).epsilon[0])
        found = of([]).counted_as(stated, SURE, NEAR, below, ROUNDING)
        assert found is not None
        assert (set(found) <= set(NEAR), len(found)) == (True, below)
        np.testing.assert_allclose(of([2, 6, *found]).epsilon[0], stated, rtol=ROUNDING)
        risks.add(stated)
    for other in (min(risks) * (1 - 1e-4), max(risks) * (1 + 1e-4), (min(risks) + max(risks)) / 2 * (1 + 1e-5)):
        assert of([]).counted_as(other, SURE, NEAR, below, ROUNDING) is None


def test_of_too_many_tasks_none_is_looked_for():
    assert of([]).counted_as(0.5, np.zeros(10**5, bool), NEAR, 1, ROUNDING) is None


@pytest.mark.parametrize("fix", [lambda found: found, functools.partial(jaxcert.certify_shift, performance_shift=0.1)])
def test_a_curve_made_where_tied_tasks_round_otherwise(tmp_path, monkeypatch, fix):
    """Of tasks with equal successes some are a violation there and others here."""
    data = read_returns(saved(tmp_path, RETURNS > 0.6))
    original, rng = _anytime.task_bounds, np.random.default_rng(0)

    def rounded_otherwise(*arguments):
        bounds = original(*arguments)
        return bounds * (1 + rng.integers(-2, 3, bounds.shape).astype(np.float32) * np.float32(2.0**-23))

    monkeypatch.setattr(_anytime, "task_bounds", rounded_otherwise)
    jax.clear_caches()  # of programs with the other bounds
    curve = step_curve(jaxcert.certify_anytime(data.returns, 0.5, **SETTINGS), max_points=6)
    monkeypatch.setattr(_anytime, "task_bounds", original)
    jax.clear_caches()
    here = jaxcert.certify_anytime(data.returns, curve.thresholds, **SETTINGS)
    assert not np.allclose(here.epsilon, curve.epsilon, rtol=1e-3)
    path = tmp_path / "c.json"
    write_certificates(path, [certificate_record(fix(curve), support=(0, 1), data=data)])
    assert verify(path, tmp_path / "returns.npz").differences == ()

    def better(document):
        row = document["certificates"][0]["rows"][3]
        row = row.get("sampled", row)
        row |= {"epsilon": row["epsilon"] * (1 - 1e-4), "safety": 1 - row["epsilon"] * (1 - 1e-4)}

    assert "rows 4" in str(verify(altered(path, better), tmp_path / "returns.npz"))
