"""Reach-avoid tasks as formulas and as arrays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ltl_reference import NAMES, any_formulas, any_tasks, nth

from jaxcert.tasks import ltl
from jaxcert.tasks.ltl._formula import Proposition

PROPOSITIONS = st.sampled_from(NAMES).map(Proposition)


def assert_same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_tasks_become_formulas_and_tasks_again():
    tasks = any_tasks(np.random.default_rng(0), 300)
    for index in range(300):
        task = nth(tasks, index)
        formula = ltl.to_formula(task, NAMES)
        used = np.arange(3)[:, None] < task.num_stages
        wanted = ltl.ReachAvoid(task.reach & used, task.avoid & used, task.num_stages, task.finish & used)
        last = np.arange(3)[:, None] == task.num_stages - 1  # where to reach is to finish
        wanted = wanted._replace(reach=wanted.reach | wanted.finish & last, finish=wanted.finish & ~last)
        assert_same(ltl.from_formula(ltl.parse(str(formula)), NAMES, depth=3), wanted)


@given(any_formulas(PROPOSITIONS))
def test_formulas_are_tasks_or_refused(formula):
    try:
        task = ltl.from_formula(formula, NAMES)
    except ValueError as error:
        assert "lies outside of the reach-avoid fragment; expected" in str(error)  # noqa: PT017
    else:
        again = ltl.from_formula(ltl.to_formula(task, NAMES), NAMES)
        assert_same(again, task)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("F d", "F d"),
        ("!a U b", "!a U b"),
        ("F(a & true)", "F a"),
        ("F(b | a & true)", "F(a | b)"),
        ("!(a | b) U ((c | d) & !c U (a & true))", "!(a | b) U ((c | d) & !c U a)"),
        ("!false U a", "F a"),
        ("true U (true && a)", "F a"),
        ("F F a", "F a"),
        ("!G !a", "F a"),
        ("!G(!a & !b)", "F(a | b)"),
        ("(!a & !c) U b", "!(a | c) U b"),
        ("F(a & (!false | b) & (!c U d))", "F(a & !c U d)"),
        ("!(c | b | a) U (d | d)", "!(a | b | c) U d"),
        ("F((F b) & (c | a))", "F((a | c) & F b)"),
        ("F(a & (!b U (c & F d)))", "F(a & !b U (c & F d))"),
        ("F(a | b & F c)", "F(a | b & F c)"),
        ("!d U (F b & (a | c) | b | d)", "!d U (b | d | (a | c) & F b)"),
        ("F((a | b) & (!d U (c | a & F(b & true))))", "F((a | b) & !d U (c | a & F b))"),
        ("F(a & F(b & F(c & F(d & F a))))", "F(a & F(b & F(c & F(d & F a))))"),
    ],
)
def test_canonical_form(text, wanted):
    assert str(ltl.to_formula(ltl.from_formula(ltl.parse(text), NAMES), NAMES)) == wanted


def test_arrays():
    task = ltl.from_formula(ltl.parse("F(b & !(a | d) U c)"), NAMES, depth=3)
    np.testing.assert_array_equal(task.reach, [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(task.avoid, [[0, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0]])
    assert task.num_stages == 2
    assert not task.finish.any()
    assert [leaf.dtype for leaf in task] == [bool, bool, np.int32, bool]
    finish = ltl.from_formula(ltl.parse("F(b & !d U (a | c | d & F b))"), NAMES).finish
    np.testing.assert_array_equal(finish, [[0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]])


TO_REACH = "propositions to reach, joined by |"
BODY = f"{TO_REACH}, and after & at most one formula for what comes then"
TO_AVOID = "propositions to avoid, joined by |"
STAGE = "F(...) or !(...) U (...)"
LASTING = ", since G is decided only by the end of an episode; to avoid a on the way to b, write !a U b"


@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        ("a", "a", STAGE),
        ("G a", "G a", STAGE + LASTING),
        ("GF a & GF b", "G F a & G F b", STAGE + LASTING),
        ("F a & F b", "F a & F b", STAGE),
        ("F a | F b", "F a | F b", STAGE),
        ("!F a", "G !a", STAGE + LASTING),
        ("!(F a | F b)", "!(F a | F b)", STAGE),
        ("F b & !F a", "F b & G !a", STAGE + LASTING),
        ("F b & G(!b | !a)", "F b & G !(b & a)", STAGE + LASTING),
        ("F(!a | b)", "!a", TO_REACH),
        ("(!(a | c) | (!d U b)) U d", "!(a | c) | !d U b", f"! before {TO_AVOID}"),
        ("F(a & G b)", "G b", STAGE + LASTING),
        ("F(a & !b)", "!b", STAGE),
        ("F(a & b)", "a & b", BODY),
        ("F(a & F b & F c)", "a & F b & F c", BODY),
        ("F !a", "!a", BODY),
        ("F true", "true", STAGE),
        ("F(a & F b | c & F d)", "a & F b", TO_REACH),
        ("F(a | b & F c | F d)", "b & F c", TO_REACH),
        ("F(a | b & c)", "b & c", BODY),
        ("F(a | F b)", "F b", TO_REACH),
        ("a U b", "a", f"! before {TO_AVOID}"),
        ("!a & !c U b", "!a & !c U b", STAGE),
        ("(!a | !c) U b", "a & c", TO_AVOID),
        ("!(a & c) U b", "a & c", TO_AVOID),
        ("!(a | !c) U b", "!c", TO_AVOID),
    ],
)
def test_what_lies_outside_is_named(text, part, expected):
    with pytest.raises(ValueError, match="lies outside") as error:
        ltl.from_formula(ltl.parse(text), NAMES)
    assert str(error.value) == f"{part!r} lies outside of the reach-avoid fragment; expected {expected}"


@pytest.mark.parametrize(
    ("text", "names", "options", "message"),
    [
        ("F(red & !a U blue)", NAMES, {}, "formula has unknown propositions: blue, red; expected a, b, c, d"),
        ("F(a & F b)", NAMES, {"depth": 1}, "formula has 2 stages; expected at most depth = 1"),
        ("F a", NAMES, {"depth": 0}, "depth"),
        ("F a", "ab", {}, "names is 'ab'; expected a list of different names"),
        ("F a", [], {}, "names is"),
        ("F a", ["a", "a"], {}, "names is"),
        ("F a", {"a", "b"}, {}, "expected a list of different names"),
        ("F a", ["a", "B"], {}, "name is 'B'; expected a small letter"),
    ],
)
def test_arguments_of_from_formula(text, names, options, message):
    with pytest.raises(ValueError, match=message):
        ltl.from_formula(ltl.parse(text), names, **options)


def test_formulas_only():
    with pytest.raises(TypeError, match="formula is 'F a'; expected a Formula, as parse gives it"):
        ltl.from_formula("F a", NAMES)


TASK = ltl.ReachAvoid(np.eye(2) > 0, np.zeros((2, 2), bool), np.int32(2), np.zeros((2, 2), bool))


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (TASK._replace(num_stages=np.int32(3)), "task.num_stages is 3; expected a whole number from 1 to 2"),
        (TASK._replace(num_stages=np.float32(1)), "task.num_stages is 1.0; expected a whole number from 1 to 2"),
        (TASK._replace(num_stages=np.int32(0)), "task.num_stages is 0"),
        (TASK._replace(reach=np.eye(2)), r"task.reach is float64\[2, 2\]; expected bool\[depth, 2\]"),
        (TASK._replace(finish=TASK.avoid[:1]), r"task.finish is bool\[1, 2\]; expected bool\[depth, 2\]"),
        (TASK._replace(avoid=TASK.avoid[:1]), r"task.avoid is bool\[1, 2\]; expected bool\[depth, 2\]"),
        (TASK._replace(reach=TASK.avoid), r"task.reach\[1\] is False for every proposition; expected at least one"),
        (jax.tree.map(lambda leaf: leaf[None], TASK), r"task.reach is bool\[1, 2, 2\]"),
    ],
)
def test_tasks_that_are_no_formula(task, message):
    with pytest.raises(ValueError, match=message):
        ltl.to_formula(task, ["a", "b"])


def test_traced_tasks_are_refused():
    with pytest.raises(ValueError, match="task is traced; expected concrete arrays"):
        jax.jit(lambda task: len(str(ltl.to_formula(task, ["a", "b"]))))(TASK)


@pytest.mark.parametrize(("avoids", "successes"), [(False, {True}), (True, {False, True})])
def test_who_does_what_remains_succeeds(avoids, successes, precision):
    """At each of as many positions as there are stages; who does what is to be avoided, if anything is, may fail."""

    def follow(task):
        state = ltl.initial_state(task)
        for _ in range(3):
            left = ltl.remaining(task, state)
            wanted = left.avoid[0] | (left.mask[0] & ~left.avoid[0].any()) if avoids else left.reach[0]
            state = ltl.step(task, state, (jnp.arange(4) == jnp.argmax(wanted)) & ~ltl.is_satisfied(state))
        return ltl.is_satisfied(state)

    tasks = jax.vmap(lambda key: ltl.sample_reach_avoid(key, 4))(jax.random.split(jax.random.key(0), 200))
    assert set(np.unique(jax.jit(jax.vmap(follow))(tasks)).tolist()) == successes
