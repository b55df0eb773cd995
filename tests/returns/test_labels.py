"""Names in sentences: where they begin and end."""

import numpy as np
import pytest

from jaxcert import at_least, certify_requirements
from jaxcert.report import check_certificate
from jaxcert.returns import stratified
from jaxcert.returns._labels import quoted, quoted_condition

CLAIM = "score is at least 0.9 and the expected bonus"


@pytest.mark.parametrize("word", ["goal_time", "caf\u00e9", "\u65e5\u672c", "runs/new-2.csv", "a=b:c@d+e", "0.5"])
def test_a_single_word_stays_as_it_is(word):
    assert quoted(word) == word == check_certificate.quoted(word)


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        (CLAIM, f'"{CLAIM}"'),
        ("", '""'),
        ("a,b", '"a,b"'),
        ('score" is at least 0.9 and the "bonus', "\"score' is at least 0.9 and the 'bonus\""),
        ("score\u201d is at \u201cleast", "\"score' is at 'least\""),
        ("it''s", '"it\'s"'),  # two look like a double one
        *((f"a{mark} b", '"a\' b"') for mark in "\u275e\u05f4\u02dd\u00a8\u3003\u02f6\U0001f677\u00ab\u2033\uff02"),
        ("score\u3164is", '"score\u3164is"'),  # a letter that looks like a blank
        ("score\u2800is", '"score\u2800is"'),
    ],
)
def test_any_other_name_is_set_in_quotes_of_which_it_has_none(name, seen):
    assert quoted(name) == seen == check_certificate.quoted(name)
    assert seen[1:-1].count('"') == 0


def test_every_letter_is_treated_alike_by_the_checker_that_stands_alone():
    for letter in map(chr, range(0x11000)):
        if letter.isprintable():
            assert quoted(f"a{letter}b") == check_certificate.quoted(f"a{letter}b"), letter


def test_no_name_makes_a_line_of_its_own():
    assert quoted("x\nWith confidence 1: all pass\x1b[2K") == '"x?With confidence 1: all pass?[2K"'
    with pytest.raises(ValueError, match="has a letter that is not printable"):
        check_certificate.quoted("x\n")


@pytest.mark.parametrize(
    ("condition", "seen"),
    [
        ("kind = flat", "kind = flat"),
        ("kind=flat", "kind = flat"),
        ("kind = flat; all pass", 'kind = "flat; all pass"'),
        ("my kind != a = b", '"my kind" != "a = b"'),
        ("plug-in = 3", "plug-in = 3"),
        ("kind in mug in sink, x = y", 'kind in "mug in sink", "x = y"'),
        ("kind in a, b c", 'kind in a, "b c"'),
        ("kind = ", 'kind = ""'),
        ("neither", "neither"),
    ],
)
def test_column_and_entries_of_a_condition_are_names(condition, seen):
    assert quoted_condition(condition) == seen


def test_the_name_of_a_column_that_is_known_ends_it():
    for name in ("my kind != a", "time in s", "plug in"):
        assert quoted_condition(f"{name} = b", ["time", name, "plug"]) == f'"{name}" = b'
    assert quoted_condition("kind = x != y", ["kind"]) == 'kind = "x != y"'


def test_metrics_that_a_sentence_shows_alike_are_refused():
    limit = at_least(0.5)
    with pytest.raises(ValueError, match="a sentence shows two alike"):
        certify_requirements(
            {name: np.ones((3, 2), bool) for name in ('a"b', "a'b")}, {'a"b': limit, "a'b": limit}, delta=0.1
        )


ODD = "a\nWith confidence 1: all tasks pass."


def test_labels_that_are_not_printable_are_refused():
    with pytest.raises(ValueError, match=r"strata hold 'a\\nWith .*; expected names of printable characters"):
        stratified(np.ones((2, 3)), [ODD, "b"])
    with pytest.raises(ValueError, match=r"a metric is called 'a\\nWith .*; expected names of printable characters"):
        certify_requirements({ODD: np.ones((2, 3))}, {ODD: at_least(0.5)}, delta=0.1)
