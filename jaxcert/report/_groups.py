"""The answers to one question about groups of rows, which a page or a plot shows together."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates import ceil_figures
from jaxcert.certificates._certificate import naming
from jaxcert.certificates._question import Question
from jaxcert.report._in_words import texts_of
from jaxcert.report.plots._interval_plot import Interval, axis_of, intervals_of, observed_means
from jaxcert.tables import ReturnsFile


class Groups(NamedTuple):
    """The answers to one question about groups of rows, which hold together; all rows are one group without a name."""

    question: Question
    names: Sequence[str]
    answers: Sequence[Any]
    files: Sequence[Sequence[ReturnsFile]]  # for each group: the files of the policy, of A and B, or of each metric
    delta: float  # failure probability of all of it together
    together: str  # how they hold together, in words
    policies: Sequence[str] = ()  # what A and B are called

    @property
    def title(self) -> str:
        """The heading of a page or a plot that has no other."""
        return " against ".join(self.policies) or self.data[0].path.name

    @property
    def questions(self) -> list[Question]:
        """The question about each name."""
        return [self.question]

    @property
    def data(self) -> list[ReturnsFile]:
        """The first file of each, of two policies of both."""
        return [file for files in self.files for file in files[: len(self.policies) or 1]]

    @property
    def table(self) -> dict[str, list[str]]:
        """A row for each group and each of its numbers; names and numbers of tasks stand first, if there are names."""
        found: dict[str, list[str]] = {}
        for name, certificate in zip(self.names, self.answers, strict=True):
            texts = texts_of(certificate, self.question)
            first = {"group": name, "tasks": str(certificate.num_tasks)} if name else {}
            for title, entries in (
                {each: [text] * len(texts["status"]) for each, text in first.items()} | texts
            ).items():
                found.setdefault(title, []).extend(entries)
        return found

    @property
    def intervals(self) -> dict[str, Interval]:
        """The rows for drawing, with the observed numbers."""
        found: dict[str, Interval] = {}
        for name, answer, files in zip(self.names, self.answers, self.files, strict=True):
            means = None if answer.metrics else observed_means(files)
            found |= intervals_of(answer, self.question, means, name, self.policies)
        return found

    @property
    def said(self) -> list[str]:
        """The sentence of each, at its first number."""
        pairs = zip(self.names, self.answers, strict=True)
        return [naming(each._sentence(0), self.policies, name) for name, each in pairs]

    @property
    def page(self) -> dict[str, Any]:
        """What a page shows besides."""
        first = self.answers[0]
        settings = {
            "asked of each group": self.question.words.rstrip("?"),
            "delta of each group": ceil_figures(float(first.delta)),
            **{name: getattr(first, name, "") for name in ("bound", "method")},
            "precision": str(np.asarray(first.delta).dtype),
        }
        kind, note = f"Certificates of {len(self.names)} groups", "The groups stand in the order of the file."
        return {"kind": kind, "note": note, "settings": settings}

    @property
    def axis(self) -> dict[str, Any]:
        """The name of the numbers that are drawn."""
        return axis_of(self.answers[0], self.question)
