"""Shorter formulas hold on the same traces, by the definition of the logic on every short trace."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from ltl_reference import any_formulas, holds

from jaxcert.tasks import ltl
from jaxcert.tasks.ltl._formula import Constant, Proposition
from jaxcert.tasks.ltl._simplify import simplified

NAMES = ("a", "b")
LEAVES = st.sampled_from(NAMES).map(Proposition) | st.booleans().map(Constant)
POSITIONS = [set(names) for size in range(3) for names in itertools.combinations(NAMES, size)]
TRACES = [trace for length in (1, 2, 3) for trace in itertools.product(POSITIONS, repeat=length)]


def satisfying(formula):
    return [holds(formula, trace) for trace in TRACES]


@given(any_formulas(LEAVES))
def test_the_same_traces_satisfy_the_shorter_formula(formula):
    assert satisfying(simplified(formula)) == satisfying(formula)


@given(any_formulas(LEAVES))
def test_nothing_is_left_to_shorten(formula):
    assert simplified(simplified(formula)) == simplified(formula)


def stages(rest):
    """Formulas of the fragment as other tools write them: with constants, and negations that are moved inwards."""
    reach = st.sampled_from(("a", "b", "(a | b)", "a && true", "!(!a & !b)"))
    avoid = st.sampled_from(("true", "!false", "!a", "!b", "(!a & !b)", "!(b || a)"))
    return st.builds("{} U ({} & ({}))".format, avoid, reach, rest)


END = st.just("true")


@given(stages(END | stages(END | stages(END))))
def test_the_task_is_satisfied_by_the_same_traces(text):
    formula = ltl.parse(text)
    task = ltl.from_formula(formula, NAMES)
    assert satisfying(ltl.to_formula(task, NAMES)) == satisfying(formula)
