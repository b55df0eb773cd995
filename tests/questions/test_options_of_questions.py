"""Options of questions: kept, or refused in words by every surface; and the figures of their columns."""

import dataclasses

import numpy as np
import pytest
from asked_questions import HEAD, A, answer_to, options_of, write_files
from cli_harness import command, refused

from jaxcert.certificates._question import Rows
from jaxcert.questions import QUESTIONS
from jaxcert.questions._registry import checked_options
from jaxcert.report import Protocol, certificate_record, verify
from jaxcert.report._in_words import column_texts, texts_of

files = pytest.fixture(scope="module")(write_files)


def test_an_end_of_the_support_is_needed_where_a_question_has_one():
    with pytest.raises(ValueError, match="question 'mean' needs"):
        certificate_record(answer_to("mean"))
    assert "support" not in certificate_record(answer_to("episode"))["settings"]
    with pytest.raises(ValueError, match="question 'episode' has none"):
        certificate_record(answer_to("episode"), support=(0.0, 1.0))


def test_figures_of_a_new_column_are_rounded_to_the_side_that_claims_less():
    found = dataclasses.replace(answer_to("mean"), mean=np.float32(2 / 3), cap=np.float32(2 / 3))
    question = dataclasses.replace(
        QUESTIONS["mean"],
        rows=Rows({"lower": "mean", "upper": "cap"}, "lower", {"lower": min, "upper": max}, {}),
    )
    assert float(np.float32(2 / 3)) == 0.6666666865348816
    assert column_texts(found, question, "lower") == ["0.6666666"]
    assert column_texts(found, question, "upper") == ["0.6666667"]


def test_one_cap_for_all_shares_is_kept_by_its_protocol(files, tmp_path):
    lock = ("lock", tmp_path / "p.toml", "--question", "cvar", "--alpha", "0.1,0.25", "--cap", 0.65, "--support", 0, 1)
    assert command(*lock, "--delta", 0.1, "--tasks", 60, "--rollouts", 20).status == 0
    certified = command("certify", files / "a.npz", "--protocol", tmp_path / "p.toml", "--json", tmp_path / "c.json")
    assert certified.status == 0, certified.err
    assert verify(tmp_path / "c.json", files / "a.npz", protocol=tmp_path / "p.toml").ok


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--question", "episode", "--threshold", 0.5, "--in-a-row", 0), "num_episodes is 0"),
        (("--question", "mean", "--support", 0, 1, "--in-a-row", 0), "num_episodes is given, which"),
        (("--question", "mean", "--support", 0, 1, "--method", "soft"), "--method is given"),
        (("--question", "mean", "--support", 0, 1, "--wanted", 0.5), "--wanted is"),
        (("--safety", 0.5, "--support", 0, 1, "--wanted", 0.9), "--wanted is"),
        (("--question", "improvement"), "jaxcert compare"),
        (("--question", "cvar", "--support", 0, 1, "--alpha", 0.1), "needs cap"),
        (("--question", "mean", "--support", 0, 1, "--require", "nan"), "--require is nan"),
    ],
)
def test_nothing_that_is_given_is_left_out_in_silence(files, words, reason):
    assert reason in refused("certify", files / "a.npz", "--delta", 0.1, *words)


def test_a_threshold_is_shown_where_its_upper_end_holds():
    """Rounded down it would lie where a larger share of tasks may pass."""
    threshold = np.float32(0.60000008)
    before, shown = float(np.nextafter(threshold, np.float32(0))), {}
    for name in ("safety", "interval"):
        question = QUESTIONS[name]
        found = question.function(A, threshold, support=(0, 1), delta=0.1, **options_of(name))
        (shown[name],) = texts_of(found, question)["threshold"]
        assert f"at least {shown[name]} with" in str(found) or f"of at least {shown[name]}." in str(found)
    assert float(shown["safety"]) < before <= float(shown["interval"])


OUT_OF_RANGE = [
    ("cvar", {"alpha": [2.0], "cap": [0.5]}, r"alpha\[0\] is 2; expected a share in \(0, 1\]"),
    ("cvar", {"alpha": [0.5, 0.0], "cap": [0.5]}, r"alpha\[1\] is 0; expected a share"),
    ("episode", {"num_episodes": 0}, "num_episodes is 0; expected a whole number of at least 1"),
    ("interval", {"complete": True, "beta_upper": 1.0}, "beta_upper is 1; expected a probability"),
    ("weighted", {"max_weight": 0.5}, "max_weight is 0.5; expected a finite number of at least 1"),
    ("sequential", {"give_up": 1.0}, r"give_up is 1.0; expected a number in \[0, 1\)"),
]


@pytest.mark.parametrize(("name", "options", "words"), OUT_OF_RANGE)
def test_an_option_out_of_range_is_refused_by_every_surface(name, options, words, tmp_path):
    question = QUESTIONS[name]
    with pytest.raises(ValueError, match=words):
        checked_options(question, options)
    if question.unrepeated or question.has_weights:
        return
    thresholds = {"thresholds": (0.5,)} if question.each == "threshold" else {}
    support = {"support": (0.0, 1.0)} if question.has_support else {}
    head = {"delta": 0.1, "num_tasks": 9, "num_rollouts": 5, "question": name}
    with pytest.raises(ValueError, match=words):
        Protocol(**head, **thresholds, **support, options=options)


def test_a_damaged_protocol_is_refused_in_words(tmp_path):
    for options in ('"abc"', "[1]", "{alpha = [nan]}", "{alpha = [true]}", "{num_episodes = -1}"):
        text = f'{HEAD}\nquestion = "mean"\noptions = {options}'
        (tmp_path / "p.toml").write_text(text)
        with pytest.raises(ValueError, match="no protocol"):
            Protocol.read(tmp_path / "p.toml")
    with pytest.raises(ValueError, match="beta is given; the question 'mean' has none"):
        Protocol(delta=0.1, num_tasks=9, num_rollouts=5, support=(0, 1), question="mean", beta=0.1)
