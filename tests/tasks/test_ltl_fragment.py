"""Reach-avoid tasks as formulas and as arrays: round trips, precedence, and errors that say where."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ltl_reference import NAMES, any_tasks, nth

from jaxcert.tasks import ltl


def assert_same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_tasks_become_formulas_and_tasks_again():
    tasks = any_tasks(np.random.default_rng(0), 300)
    for index in range(300):
        task = nth(tasks, index)
        text = ltl.to_formula(task, NAMES)
        used = np.arange(3)[:, None] < task.num_stages
        wanted = ltl.ReachAvoid(task.reach & used, task.avoid & used, task.num_stages, task.finish & used)
        last = np.arange(3)[:, None] == task.num_stages - 1  # where to reach is to finish
        wanted = wanted._replace(reach=wanted.reach | wanted.finish & last, finish=wanted.finish & ~last)
        assert_same(ltl.from_formula(text, NAMES, depth=3), wanted)
        for opening, closing in pairs(text):  # no parentheses could be left out
            without = text[:opening] + " " + text[opening + 1 : closing] + " " + text[closing + 1 :]
            assert not means(without, wanted)


def pairs(text):
    """Places of matching parentheses."""
    opened = []
    for place, letter in enumerate(text):
        if letter == "(":
            opened.append(place)
        elif letter == ")":
            yield opened.pop(), place


def means(text, task):
    try:
        found = ltl.from_formula(text, NAMES, depth=3)
    except ValueError:
        return False
    return all(map(np.array_equal, found, task))


@given(st.text(alphabet="abcd!&|()UFG ", max_size=12))
def test_any_text_is_read_or_refused(text):
    try:
        task = ltl.from_formula(text, NAMES)
    except ValueError as error:
        assert "expected" in str(error)  # noqa: PT017
    else:
        assert_same(ltl.from_formula(ltl.to_formula(task, NAMES), NAMES), task)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("F d", "F d"),
        (" ( ( F(((d)))) )\n", "F d"),
        ("!a U b", "!a U b"),
        ("F(a & true)", "F a"),
        ("F(b | a & true)", "F(a | b)"),
        ("F(true && a)", "F a"),
        ("F(a || b && F c)", "F(a | b & F c)"),
        ("!(a | b) U ((c | d) & !c U (a & true))", "!(a | b) U ((c | d) & !c U a)"),
        ("!(c | b | a) U (d | d)", "!(a | b | c) U d"),
        ("F((F b) & (c | a))", "F((a | c) & F b)"),
        ("F(a & (!b U (c & F d)))", "F(a & !b U (c & F d))"),
        ("F(a | b & F c)", "F(a | b & F c)"),
        ("F((a | b & F c) | d)", "F(a | d | b & F c)"),
        ("!d U (F b & (a | c) | b | d)", "!d U (b | d | (a | c) & F b)"),
        ("F((a | b) & (!d U (c | a & F(b & true))))", "F((a | b) & !d U (c | a & F b))"),
        ("F(a & F(b & F(c & F(d & F a))))", "F(a & F(b & F(c & F(d & F a))))"),
    ],
)
def test_canonical_form(text, wanted):
    assert ltl.to_formula(ltl.from_formula(text, NAMES), NAMES) == wanted


def test_arrays():
    task = ltl.from_formula("F(b & !(a | d) U c)", NAMES, depth=3)
    np.testing.assert_array_equal(task.reach, [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(task.avoid, [[0, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0]])
    assert task.num_stages == 2
    assert not task.finish.any()
    assert [leaf.dtype for leaf in task] == [bool, bool, np.int32, bool]
    finish = ltl.from_formula("F(b & !d U (a | c | d & F b))", NAMES).finish
    np.testing.assert_array_equal(finish, [[0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]])


PART = "a, b, c, d, true, F, ! or ("
STAGE = "F(...) or !(...) U (...)"
TO_REACH = "propositions to reach, joined by |, and after & what comes then"
BOTH = "propositions to reach, and after & at most one formula for what comes then"
EITHER = "propositions joined by |, at most one of them with & and what comes then"
TO_AVOID = "propositions to avoid, joined by |"
LASTING = ", since G is decided only by the end of an episode; to avoid a on the way to b, write !a U b"
ERRORS = {
    "": (1, "its end", PART),
    "F(a | ": (7, "its end", PART),
    "F a b": (5, "'b'", "the end"),
    "F(a &&& b)": (7, "'&'", PART),
    "F(a | b": (8, "its end", "&, | or )"),
    "F a)": (4, "')'", "the end"),
    "Fa": (1, "'Fa'", PART),
    "F(a W b)": (5, "'W'", "&, | or )"),
    "X a": (1, "'X'", PART),
    "F(a -> b)": (5, "'-'", "&, | or )"),
    "()": (2, "')'", PART),
    "a": (1, "'a'", STAGE),
    "G a": (1, "'G'", PART + LASTING),
    "F a & F b": (1, "'F'", BOTH),
    "F a | F b": (1, "'F'", EITHER),
    "F(a & b)": (3, "'a'", BOTH),
    "F(a & F b & F c)": (3, "'a'", BOTH),
    "F(a | b & c)": (7, "'b'", BOTH),
    "F(a | F b)": (3, "'a'", EITHER),
    "F F a": (3, "'F'", TO_REACH),
    "!F a": (2, "'F'", TO_AVOID),
    "!(a | b & F c) U d": (2, "'('", TO_AVOID),
    "F(a & !b)": (9, "')'", "U"),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors_say_where(text):
    position, found, expected = ERRORS[text]
    with pytest.raises(ValueError, match=r"^position") as error:
        ltl.from_formula(text, NAMES)
    head, line, caret = str(error.value).split("\n")
    assert head == f"position {position} of {text!r} is {found}; expected {expected}"
    assert line == "    " + text
    assert caret.index("^") == 4 + position - 1


def test_an_error_is_one_line_with_nothing_that_moves_the_cursor():
    with pytest.raises(ValueError, match="position 7") as error:
        ltl.from_formula("F(a\n|\t\x1b[31m b)", NAMES)
    _, line, pointer = str(error.value).split("\n")
    assert (line[:10], pointer.index("^")) == ("    F(a | ", 10)
    assert line.isprintable()


@pytest.mark.parametrize(
    ("text", "position"),
    [("F(" * 51 + "a" + ")" * 51, 102), ("(" * 101 + "F a" + ")" * 101, 102), ("F " * 3000 + "a", 203)],
)
def test_formulas_too_deep_for_the_stack_are_refused(text, position):
    with pytest.raises(ValueError, match="expected a formula of at most 100 levels") as error:
        ltl.from_formula(text, NAMES)
    message = str(error.value)
    assert message.startswith(f"position {position} of ")
    _, line, pointer = message.split("\n")
    assert len(line) <= 84
    assert line[pointer.index("^")] == text[position - 1]


def test_formulas_as_deep_as_allowed():
    assert int(ltl.from_formula("F(a & " * 49 + "F a" + ")" * 49, NAMES).num_stages) == 50
    assert ltl.to_formula(ltl.from_formula(f"F({' | '.join(['a'] * 5000)})", NAMES), NAMES) == "F a"


@pytest.mark.parametrize(
    ("text", "names", "options", "error", "message"),
    [
        (3, NAMES, {}, TypeError, "text is 3; expected a str"),
        ("F(a & F b)", NAMES, {"depth": 1}, ValueError, "formula has 2 stages; expected at most depth = 1"),
        ("F a", NAMES, {"depth": 0}, ValueError, "depth"),
        ("F a", "ab", {}, ValueError, "names is 'ab'; expected a list of different names"),
        ("F a", [], {}, ValueError, "names is"),
        ("F a", ["a", "a"], {}, ValueError, "names is"),
        ("F a", {"a", "b"}, {}, ValueError, "expected a list of different names"),
        *(
            ("F a", ["a", name], {}, ValueError, r"name is .*; expected a small letter")
            for name in ("", "B", "true", "a b", "1", "a\n", 3)
        ),
    ],
)
def test_arguments_of_from_formula(text, names, options, error, message):
    with pytest.raises(error, match=message):
        ltl.from_formula(text, names, **options)


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
