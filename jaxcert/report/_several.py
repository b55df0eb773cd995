"""Several answers that hold together, as a page or a plot shows them by name: of policies, and of groups of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates import ceil_figures
from jaxcert.certificates._certificate import naming
from jaxcert.certificates._question import Question
from jaxcert.report._in_words import texts_of
from jaxcert.report.plots._interval_plot import Interval, axis_of, intervals_of, observed_means
from jaxcert.tables import ReturnsFile


class Several(NamedTuple):
    """Answers by the names of policies or groups."""

    title: str  # of a page or a plot that has no other
    kind: str  # what they are certificates of
    questions: Sequence[Question]  # about each name
    names: Sequence[str]
    data: Sequence[ReturnsFile]  # the first file of each, of two policies of both
    delta: float  # failure probability of all of it together
    together: str  # how they hold together, in words
    table: Mapping[str, Sequence[str]]  # columns of text by their headings
    intervals: Mapping[str, Interval]  # the rows for drawing, with the observed numbers
    axis: Mapping[str, Any]  # the name of the numbers that are drawn
    said: Sequence[str]  # the sentences
    note: str  # on the order of the rows
    not_about: str  # what the sentences do not cover
    settings: Mapping[str, str]
    caption: str = ""  # what is to be known of the plot besides


def several_groups(
    question: Question,
    answers: Mapping[str, Any],
    files: Sequence[Sequence[ReturnsFile]],
    *,
    policies: Sequence[str],
    delta: float,
    together: str,
    labels: bool,
) -> Several:
    """The answers to one question by the names of groups of rows; all rows are one group without a name.

    ``files``: for each group those of the policy, of A and B, or of each metric; ``policies``: what A and B are called;
    ``labels``: whether tasks are named by their labels, or by their places among those of their group.
    """
    if question.takes("tasks") and not labels:
        answers = {name: replace(each, tasks=(*map(str, range(each.num_tasks)),)) for name, each in answers.items()}
    table: dict[str, list[str]] = {}  # a row for each group and each of its numbers
    intervals: dict[str, Interval] = {}
    for (name, answer), held in zip(answers.items(), files, strict=True):
        texts = texts_of(answer, question)
        named = {"group": name, "tasks": str(answer.num_tasks)} if name else {}
        for title, entries in ({each: [text] * len(texts["status"]) for each, text in named.items()} | texts).items():
            table.setdefault(title, []).extend(entries)
        means = None if answer.metrics else observed_means(held)
        intervals |= intervals_of(answer, question, means, name, policies)
    data, (first, *_) = [file for held in files for file in held[: len(policies) or 1]], answers.values()
    return Several(
        title=" against ".join(policies) or data[0].path.name,
        kind=f"Certificates of {len(answers)} groups",
        questions=[question],
        names=[*answers],
        data=data,
        delta=delta,
        together=together,
        table=table,
        intervals=intervals,
        axis=axis_of(first, question),
        said=[naming(each._sentence(0), policies, name) for name, each in answers.items()],
        note="The groups stand in the order of the file.",
        not_about=first.not_about,
        settings={
            "asked of each group": question.words.rstrip("?"),
            "delta of each group": ceil_figures(float(first.delta)),
            **{name: getattr(first, name, "") for name in ("bound", "method")},
            "precision": str(np.asarray(first.delta).dtype),
        },
    )
