"""Formulas as text: round trips, precedence, and errors that say where."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ltl_reference import any_formulas

from jaxcert.tasks.ltl import parse
from jaxcert.tasks.ltl._formula import Always, And, Constant, Eventually, Not, Or, Proposition, Until

A, B, C = map(Proposition, "abc")


@given(any_formulas())
def test_what_is_printed_is_read_back(formula):
    assert parse(str(formula)) == formula
    assert hash(parse(str(formula))) == hash(formula)


@given(any_formulas())
def test_no_parentheses_could_be_left_out(formula):
    text = str(formula)
    for opening, closing in pairs(text):
        without = text[:opening] + " " + text[opening + 1 : closing] + " " + text[closing + 1 :]
        assert parse(without) != formula


def pairs(text):
    """Places of matching parentheses."""
    opened = []
    for place, letter in enumerate(text):
        if letter == "(":
            opened.append(place)
        elif letter == ")":
            yield opened.pop(), place


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a", A),
        ("true & false", And(Constant(True), Constant(False))),
        ("a | b & c", Or(A, And(B, C))),
        ("a & b U c", And(A, Until(B, C))),
        ("a U b | c", Or(Until(A, B), C)),
        ("a U b U c", Until(A, Until(B, C))),
        ("a & b & c", And(And(A, B), C)),
        ("a | b | c", Or(Or(A, B), C)),
        ("!a U b", Until(Not(A), B)),
        ("F a & b", And(Eventually(A), B)),
        ("F!G(a)", Eventually(Not(Always(A)))),
        (" ( ( a ) )\n", A),
        ("G F a", Always(Eventually(A))),
        ("GF a", Always(Eventually(A))),
        ("FGF(a)", Eventually(Always(Eventually(A)))),
        ("a && b || c", Or(And(A, B), C)),
        ("a | b & true", Or(A, And(B, Constant(True)))),
        ("a || !b U c && true", Or(A, And(Until(Not(B), C), Constant(True)))),
        ("trueish & fa", And(Proposition("trueish"), Proposition("fa"))),
    ],
)
def test_precedence(text, wanted):
    assert parse(text) == wanted


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (Until(Until(A, B), C), "(a U b) U c"),
        (And(A, And(B, C)), "a & (b & c)"),
        (And(Or(A, B), Until(Not(C), A)), "(a | b) & !c U a"),
        (Not(And(A, B)), "!(a & b)"),
        (Eventually(Not(Eventually(A))), "F !F a"),
        (Eventually(Or(A, B)), "F(a | b)"),
    ],
)
def test_printing(formula, text):
    assert str(formula) == text


OPERAND = "a proposition (a small letter or _ first), true, false, !, F, G or ("
AFTER = "&, |, U or the end"
ERRORS = {
    "F(a | ": (7, "its end", OPERAND),
    "": (1, "its end", OPERAND),
    "a b": (3, "'b'", AFTER),
    "GFa": (1, "'GFa'", OPERAND),
    "a &&& b": (5, "'&'", OPERAND),
    "a & & b": (5, "'&'", OPERAND),
    "(a | b": (7, "its end", "&, |, U or the ) for the ( at position 1"),
    "a & (b | (c)": (13, "its end", "&, |, U or the ) for the ( at position 5"),
    "a)": (2, "')'", AFTER),
    "Fa": (1, "'Fa'", OPERAND),
    "a W b": (3, "'W'", AFTER),
    "a -> b": (3, "'-'", AFTER),
    "X a": (1, "'X'", OPERAND),
    "U a": (1, "'U'", OPERAND),
    "2a": (1, "'2a'", OPERAND),
    "a U é": (5, "'é'", OPERAND),
    "()": (2, "')'", OPERAND),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors_say_where(text):
    position, found, expected = ERRORS[text]
    with pytest.raises(ValueError, match=r"^position") as error:
        parse(text)
    head, line, caret = str(error.value).split("\n")
    assert head == f"position {position} of {text!r} is {found}; expected {expected}"
    assert line == "    " + text
    assert caret.index("^") == 4 + position - 1


def test_the_caret_stands_below_in_a_text_of_several_lines():
    with pytest.raises(ValueError, match="position 5") as error:
        parse("a\n&\t)")
    assert str(error.value).split("\n")[1:] == ["    a & )", "        ^"]


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("(" * 101 + "a" + ")" * 101, 102),
        ("F " * 3000 + "a", 203),
        (" | ".join(["a"] * 5000), 405),
        ("a U " * 101 + "a", 405),
    ],
)
def test_formulas_too_deep_for_the_stack_are_refused(text, position):
    with pytest.raises(ValueError, match="expected a formula of at most 100 levels") as error:
        parse(text)
    message = str(error.value)
    assert message.startswith(f"position {position} of a text of {len(text)} characters is ")
    _, line, pointer = message.split("\n")
    assert len(line) <= 84
    assert line[pointer.index("^")] == text[position - 1]


@pytest.mark.parametrize("text", ["(" * 99 + "a" + ")" * 99, "F " * 100 + "a", " & ".join(["a"] * 100)])
def test_formulas_as_deep_as_allowed_are_values(text):
    formula = parse(text)
    assert parse(str(formula)) == formula
    assert hash(formula) == hash(parse(text))


def test_an_error_shows_nothing_that_moves_the_cursor():
    with pytest.raises(ValueError, match="position 5") as error:
        parse("a & \x1b[31m b")
    assert all(letter.isprintable() or letter == "\n" for letter in str(error.value))


@given(st.text(alphabet="ab!&|()UFGX-> ", max_size=12))
def test_any_text_is_read_or_refused(text):
    try:
        formula = parse(text)
    except ValueError as error:
        assert "expected" in str(error)  # noqa: PT017
    else:
        assert parse(str(formula)) == formula


def test_texts_only():
    with pytest.raises(TypeError, match="text is 3; expected a str"):
        parse(3)


@pytest.mark.parametrize("name", ["", "A", "true", "a b", "1", "a\n", 3])
def test_names_that_could_not_be_read(name):
    with pytest.raises(ValueError, match=r"name is .*; expected a small letter"):
        Proposition(name)


def test_formulas_are_values():
    assert len({parse("a U b"), parse("(a) U (b)"), parse("b U a")}) == 2
    with pytest.raises(AttributeError):
        parse("!a").operand = B
    assert all(one != other for one, other in itertools.combinations([And(A, B), Or(A, B), Until(A, B)], 2))
