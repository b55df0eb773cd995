"""Planned designs beat a grid of fixed ones, judged on data sets that no plan has seen."""

import pytest

import jaxcert
from benchmarks.plan import BUDGET, QUESTIONS, SETTINGS, best_of_grid, judge
from jaxcert.planning import plan


@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_plan_beats_every_design_of_the_grid(name):
    pilot, question = jaxcert.sample_returns("cheetah"), QUESTIONS[name]
    best = plan(pilot, budget=BUDGET, **question, **SETTINGS).best
    assert best is not None
    assert best.cost <= BUDGET
    planned, grid = judge(pilot, best, question).mean, [one.mean for one in best_of_grid(pilot, question)]
    assert planned > max(grid) if "safety" in question else planned < min(grid)
