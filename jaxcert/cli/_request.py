"""Requests about files of returns, and their answers: for one policy, for its groups, and for two policies."""

import functools
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from jaxcert.certificates import confidence
from jaxcert.certificates._episode import IN_A_ROW
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import default_bound
from jaxcert.cli._asking import Asking, check_listed
from jaxcert.cli._settings import as_stated, settings_of
from jaxcert.diagnostics._diagnose import OF_SUPPORT, WEAKER_BOUND, Finding, diagnose
from jaxcert.planning import Advice, advise
from jaxcert.questions import QUESTIONS
from jaxcert.questions._ask import ask
from jaxcert.report._in_words import MOST_REASONS
from jaxcert.report._several import Several, several_groups
from jaxcert.returns._labels import parts_of
from jaxcert.returns._prepared import is_successes
from jaxcert.tables import ReturnsFile
from jaxcert.tables._readers import policies_of
from jaxcert.tables._returns import names_of


class Request(NamedTuple):
    """The questions of a command, with their settings and columns."""

    asking: Asking  # the settings, as they were typed or by the protocol
    asked: Mapping[str, Any]  # the questions by name, each with its numbers fixed beforehand, or None
    roles: Mapping[str, Any]  # of the columns, by the parameters of `read_returns`
    wanted: float | None = None  # the safety whose misses are explained
    protocol: Path | None = None  # the file of what was locked beforehand
    digest: str | None = None  # of the protocol
    strict: bool = False  # whether a likely mistake in the data is an error
    by: str | None = None  # the column of the groups, each of which has its own answer

    @property
    def questions(self) -> list[Question]:
        """What is asked."""
        return [QUESTIONS[name] for name in self.asked]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The columns of the metrics in the question; empty if it is about returns."""
        return tuple(self.questions[0].metrics(self.asking.options))

    @property
    def gated(self) -> list[str]:
        """The questions whose answers must reach the required level: the named one, or the one about thresholds."""
        if self.asking.require is None:
            return []
        is_named = self.asking.question is not None
        gated = [name for name in self.asked if is_named or not QUESTIONS[name].finds_threshold]
        if not gated:
            raise ValueError("--require needs a threshold, by --threshold or the protocol")
        _check_required(self.asking.require, QUESTIONS[gated[0]])
        return gated

    def of(self, data: ReturnsFile) -> "Request":
        """Add the usual numbers of successes if none were given; ValueError for other returns."""
        asked = {}
        for name, given in self.asked.items():
            each, usual = QUESTIONS[name].each, QUESTIONS[name].rows.of_successes
            if each and not given and (usual is None or not is_successes(data.like)):
                raise ValueError(f"--{each} missing; the question {name!r} needs one or more")
            asked[name] = given or (None if each is None else [usual])
        return self._replace(asked=asked)


def _check_required(require: float, question: Question) -> None:
    """Raise ValueError beforehand for a required level that no answer to the question can reach."""
    if question.certifies_probability:
        fits, expected = 0 < require < 1, "a safety in (0, 1)"
    elif question.rows.certified.startswith("num_"):
        fits = require >= 1 and float(require).is_integer()
        expected = f"a number of tasks, as the question {question.name!r} counts"
    else:
        fits, expected = np.isfinite(require), "a finite number"
    if not fits:
        raise ValueError(f"--require is {require:g}; expected {expected}")


@dataclass(frozen=True)
class Answer:
    """The certificates of one request."""

    request: Request
    data: Sequence[ReturnsFile]  # the returns of the policy, or of A and of B; of one metric after the other
    settings: Mapping[str, Any]  # of the questions, apart from the numbers that were fixed beforehand
    certificates: Mapping[str, Any]  # by the question
    findings: Sequence[Finding] | None = None  # likely mistakes; None if none were looked for

    @functools.cached_property
    def advice(self) -> dict[str, tuple[Advice | None, ...]]:
        """The reasons why less is certified than wanted, by question, where they are known."""
        known: dict[str, Any] = {"num_rollouts": max(int(each.num_rollouts.max()) for each in self.data)}
        known |= {"support": self.support, "safety": self.request.wanted, "limit": MOST_REASONS}
        return {question.name: advise(each, **known) for question, each in self.answered if question.advised}

    @property
    def support(self) -> Any:
        """The ends that returns have."""
        return self.settings.get("support")

    @property
    def answered(self) -> list[tuple[Question, Any]]:
        """The questions with their answers."""
        return [(QUESTIONS[name], each) for name, each in self.certificates.items()]

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of two policies; empty for one policy, which needs none."""
        return tuple(names_of(self.data[:2])) if len(self.data) == 2 * max(1, len(self.request.metrics)) else ()

    @property
    def of_policies(self) -> Sequence[ReturnsFile]:
        """The returns of each policy, of the first metric."""
        return self.data[: len(self.policies) or 1]


def answers_of(request: Request, file: Path, read: Callable[..., Sequence[ReturnsFile]]) -> dict[str, Answer]:
    """The answer of each group, by its name: without a column of groups, all rows are one group without a name.

    ``read`` gives the returns of a policy, or of two, by the roles of columns; ``file``: which tells groups apart.
    """
    groups = _groups(request, file)
    each = request._replace(asking=request.asking.shared(len(groups)))
    return {name: _answer(each, read(**roles)) for name, roles in groups.items()}


def _groups(request: Request, file: Path) -> dict[str, Mapping[str, Any]]:
    """The roles for reading each group, by its name."""
    roles, by = request.roles, request.by
    if by is None:
        return {"": roles}
    only = [] if roles["only"] is None else [f"{roles['policy']} = {roles['only']}"]
    found = parts_of(f"{by} = ")
    if found is None or found.name != by:
        raise ValueError(f"--by {by!r} reads as a condition; expected a column with neither = nor in between words")
    found = policies_of(file, by, (*roles["where"], *only), roles["records"])
    return {name: {**roles, "where": (*roles["where"], f"{by} = {name}")} for name in found}


def _answer(request: Request, read: Sequence[ReturnsFile]) -> Answer:
    """The certificates of these returns."""
    by, asking, question = request.by, request.asking, request.questions[0]
    data = list(read) if request.metrics else as_stated(read, asking.support)
    if by is not None:
        if data[0].columns is not None and data[0].columns.task == by:
            raise ValueError(f"--by {by} is the column of tasks; expected --suite --each-task to name good tasks")
        data = [replace(each, roles=each.roles._replace(group=each.roles.where[-1])) for each in data]
    if request.protocol is None:
        check_listed(data, question, asking.listed)
    request = request.of(data[0])
    settings = settings_of(question, asking.settled, data[:1] if request.metrics else data)
    # Of rows, curves and advice alike.
    settings |= {name: value for name, value in asking.options.items() if name != question.each}
    fixed = {name: None if each is None else np.asarray(each) for name, each in request.asked.items()}
    certificates = {name: ask(QUESTIONS[name], data, each, settings) for name, each in fixed.items()}
    is_of_one = len(data) == max(1, len(request.metrics))
    found = findings_in(data, request.questions, settings) if is_of_one else None
    return Answer(request, data, settings, certificates, None if found is None else _told(found, strict=request.strict))


def _told(found: Sequence[tuple[str, Finding]], *, strict: bool) -> tuple[Finding, ...]:
    """Likely mistakes as warnings; ``strict``: as an error."""
    for place, finding in found:
        if strict:
            raise ValueError(f"{place}{finding}")
        warnings.warn(f"{place}{finding}", UserWarning, stacklevel=2)
    return tuple(finding for _, finding in found)


def check_required(request: Request, gated: Sequence[str], answers: Mapping[str, Answer]) -> None:
    """If less is certified than required, say so on stderr and exit with status 1."""
    require = request.asking.require or 0.0
    for name, answer in ((name, answer) for answer in answers.values() for name in gated):
        rows, found = QUESTIONS[name].rows, answer.certificates[name]
        certified = np.atleast_1d(np.asarray(getattr(found, rows.columns[rows.certified])))
        if missed := int(np.sum(~(certified >= require))):
            where = f"in {missed} of {certified.size} rows" if certified.size > 1 else "here"
            print(f"error: less is certified {where} than the required {require:g}", file=sys.stderr)
            raise typer.Exit(1)


# --- several answers -------------------------------------------------------------------------------------------------


def together(request: Request, answers: Mapping[str, Answer]) -> str:
    """How the answers of all groups hold together; empty for a single one."""
    if len(answers) < 2:
        return ""
    of_one_row = all(sum(each.status.size for each in found.certificates.values()) == 1 for found in answers.values())
    sure = f"with confidence {confidence(float(request.asking.delta or 0))}, every statement holds"
    return f"All {len(answers)} groups together: {sure}{'' if of_one_row else ', in each row of the tables by itself'}."


def groups_of(request: Request, answers: Mapping[str, Answer], *, labels: bool) -> Several:
    """The answers to the first question by the names of their groups; with ``labels`` of tasks, or their places."""
    question, (first, *_) = request.questions[0], answers.values()
    names = [f"{request.by} = {name}" if request.by else name for name in answers]
    found = {name: each.certificates[question.name] for name, each in zip(names, answers.values(), strict=True)}
    files, how = [each.data for each in answers.values()], {"delta": float(request.asking.delta or 0), "labels": labels}
    return several_groups(question, found, files, policies=first.policies, together=together(request, answers), **how)


def findings_in(
    files: Sequence[ReturnsFile], questions: Sequence[Question], settings: Mapping[str, Any]
) -> list[tuple[str, Finding]] | None:
    """What is found in each file, with its name; None without a support, or single rollouts to look at.

    Of several requirements, in those of each metric, whose support is part of what is required.
    """
    of_metrics = questions[0].metrics(settings)
    # Do not advise another method if the question has only one, nor another bound for new tasks or trials in a row.
    listed = all(question.listed and question.takes("bound") for question in questions)
    in_a_row = settings.get(IN_A_ROW.name, 1) > 1
    has_choice = not (in_a_row or of_metrics) and (listed or all(question.chooses_method for question in questions))
    left_out = {*([] if has_choice else [WEAKER_BOUND]), *(OF_SUPPORT if of_metrics else [])}
    asked = ("delta",) if of_metrics else ("delta", "bound", "method")
    given = {name: settings[name] for name in asked if name in settings}
    found, supports = None, [each or (0, 1) for each in of_metrics.values()] or [settings.get("support")]
    for file, support in zip(files, supports, strict=True):
        if support is None or not file.has_rollouts:
            continue
        known = {"bound": default_bound(None, file.returns), "support": support, "where": file.where, **given}
        place = f"{file.path}: " + (f"{file.columns.value}: " if of_metrics and file.columns else "")
        each = diagnose(file.returns, listed=listed, **known)
        found = [*(found or []), *((place, finding) for finding in each if finding.name not in left_out)]
    return found
