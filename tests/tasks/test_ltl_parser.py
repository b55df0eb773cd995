"""Formulas as text: round trips, precedence, and errors that say where."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ltl_reference import any_formulas

from jaxcert.tasks.ltl import parse
from jaxcert.tasks.ltl._formula import Always, And, Constant, Eventually, Next, Not, Or, Proposition, Until

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
        ("F!X(a)", Eventually(Not(Next(A)))),
        (" ( ( a ) )\n", A),
        ("G F a", Always(Eventually(A))),
        ("GF a", Always(Eventually(A))),
        ("FGX(a)", Eventually(Always(Next(A)))),
        ("a && b || c", Or(And(A, B), C)),
        ("a | b & true", Or(A, And(B, Constant(True)))),
        ("a || !b U c && true", Or(A, And(Until(Not(B), C), Constant(True)))),
        ("a -> b", Or(Not(A), B)),
        ("a => b", Or(Not(A), B)),
        ("!a -> F b", Or(Not(Not(A)), Eventually(B))),
        ("a -> b -> c", Or(Not(A), Or(Not(B), C))),
        ("a -> b U c", Or(Not(A), Until(B, C))),
        ("(a & b) -> (b | c)", Or(Not(And(A, B)), Or(B, C))),
        ("c & ((a | b) -> c U a)", And(C, Or(Not(Or(A, B)), Until(C, A)))),
        ("(a -> b) & c", And(Or(Not(A), B), C)),
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


OPERAND = "a proposition (a small letter or _ first), true, false, !, F, G, X or ("
AFTER = "&, |, U, -> or the end"
JOINED = "( and ) that say what -> joins, since tools differ in how tightly it binds beside &, | and U"
ERRORS = {
    "F(a | ": (7, "its end", OPERAND),
    "": (1, "its end", OPERAND),
    "a b": (3, "'b'", AFTER),
    "a & b -> c": (7, "'->'", JOINED),
    "a || b -> c": (8, "'->'", JOINED),
    "a U b => c": (7, "'=>'", JOINED),
    "a -> b & c": (8, "'&'", JOINED),
    "F(a => b || c)": (10, "'||'", JOINED),
    "a -> b U c -> d": (12, "'->'", JOINED),
    "a & (b -> c) -> d": (14, "'->'", JOINED),
    "a -> ": (6, "its end", OPERAND),
    "a -> => b": (6, "'=>'", OPERAND),
    "GFa": (1, "'GFa'", OPERAND),
    "a &&& b": (5, "'&'", OPERAND),
    "a & & b": (5, "'&'", OPERAND),
    "(a | b": (7, "its end", "&, |, U, -> or the ) for the ( at position 1"),
    "a & (b | (c)": (13, "its end", "&, |, U, -> or the ) for the ( at position 5"),
    "a)": (2, "')'", AFTER),
    "Fa": (1, "'Fa'", OPERAND),
    "a W b": (3, "'W'", AFTER),
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


@given(st.text(alphabet="ab!&|()UFGX->= ", max_size=12))
def test_any_text_is_read_or_refused(text):
    try:
        formula = parse(text)
    except ValueError as error:
        assert "expected" in str(error)  # noqa: PT017
    else:
        assert parse(str(formula)) == formula


# How tightly Spot and Rabinizer bind; operators to the right of these signs are read first in a chain of one rank.
RANKS = [{"->": 1, "|": 2, "&": 3, "U": 4}, {"|": 1, "&": 2, "->": 3, "U": 3}]
TO_THE_RIGHT = ("->", "U")
JOINS = {"->": lambda left, right: Or(Not(left), right), "|": Or, "&": And, "U": Until}


def climbed(words, ranks, least=1):
    """The formula of operands and signs in turn, by the ranks of the signs."""
    left = Proposition(words.pop(0))
    while words and ranks[words[0]] >= least:
        sign = words.pop(0)
        left = JOINS[sign](left, climbed(words, ranks, ranks[sign] + (sign not in TO_THE_RIGHT)))
    return left


def test_what_is_read_without_parentheses_means_the_same_in_other_tools():
    read = 0
    for signs in itertools.chain.from_iterable(itertools.product(JOINS, repeat=count) for count in range(1, 5)):
        words = ["a", *itertools.chain.from_iterable(zip(signs, "bcde"[: len(signs)], strict=True))]
        meanings = {climbed(list(words), ranks) for ranks in RANKS}
        try:
            formula = parse(" ".join(words))
        except ValueError as error:
            assert "->" in signs
            assert JOINED in str(error)  # noqa: PT017
        else:
            read += 1
            assert meanings == {formula}
    assert read == 130  # 120 without an implication, 10 of implications and then U


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
