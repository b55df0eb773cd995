"""Turn a request into answers, files and text, for one policy, for its groups, and for two policies."""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from jaxcert.bounds import betting
from jaxcert.certificates import Status
from jaxcert.certificates._certificate import naming
from jaxcert.certificates._episode import IN_A_ROW
from jaxcert.certificates._question import MEAN_ROWS
from jaxcert.certificates._registry import default_bound
from jaxcert.cli import _console
from jaxcert.cli._answer_files import write_outputs
from jaxcert.cli._question_options import check_rows
from jaxcert.cli._reading import as_stated
from jaxcert.cli._request import Answer, Request, check_listed, settings_of, together
from jaxcert.diagnostics import Finding, diagnose
from jaxcert.diagnostics._diagnose import WEAKER_BOUND
from jaxcert.planning._advice import misses
from jaxcert.planning._difference import size_that_shows
from jaxcert.questions import QUESTIONS
from jaxcert.questions._ask import ask
from jaxcert.report._exact_check import check_witnessed
from jaxcert.report._in_words import observed_means, texts_of
from jaxcert.report._protocol_check import of_files
from jaxcert.report._reasons import MOST_REASONS, Sample, reasons_of
from jaxcert.returns._labels import quoted, quoted_condition
from jaxcert.tables import ReturnsFile
from jaxcert.tables._readers import policies_of

# Findings about the support, which is part of a requirement.
_OF_SUPPORT = ("edge-of-support", "wide-support")


def answer_files(request: Request, file: Path, read: Callable[..., Sequence[ReturnsFile]]) -> None:
    """Certify, write the wanted files, and print; exit with 1 if less is certified than required.

    ``read`` gives the returns of a policy, or of two, by the roles of columns; ``file``: which tells groups apart.
    """
    asking, gated = request.asking, request.gated
    _check(request)
    with _console.progress() as show:
        show(f"reading {file}")
        groups = _groups(request, file)
        each = request._replace(asking=asking.shared(len(groups)))
        answers = {name: _answer(each, read(**roles), show) for name, roles in groups.items()}
        show("writing")
        write_outputs(request, answers)
    if not request.outputs.to_stdout:
        # Print last, so that a failure leaves no incomplete output.
        print_answers(request, answers)
    for answer in answers.values():
        for name in gated:
            check_rows(asking.require or 0.0, answer.certificates[name], QUESTIONS[name])


def _groups(request: Request, file: Path) -> dict[str, Mapping[str, Any]]:
    """The roles for reading each group, by its name; without a column of groups, all rows are one group without a
    name.
    """
    roles, by = request.roles, request.by
    if by is None:
        return {"": roles}
    only = [] if roles["only"] is None else [f"{roles['policy']} = {roles['only']}"]
    if re.search(r"=| in ", by):
        raise ValueError(f"--by {by!r} reads as a condition; expected a column with neither = nor in between words")
    found = policies_of(file, by, (*roles["where"], *only), roles["records"])
    return {name: {**roles, "where": (*roles["where"], f"{by} = {name}")} for name in found}


def _check(request: Request) -> None:
    """Raise ValueError if the wanted outputs do not fit the question."""
    outputs = request.outputs
    if request.wanted is not None and not any(
        each.advised and each.certifies_probability for each in request.questions
    ):
        first = request.questions[0].name
        raise ValueError(f"--wanted is for a safety at thresholds; there is no advice on the question {first!r}")
    for each in request.questions if outputs.witness else ():
        check_witnessed(each)
    if outputs.report and len(request.numbers) > 1:
        raise ValueError("--report shows thresholds or safeties, expected one of the two")


def _answer(request: Request, read: Sequence[ReturnsFile], show: Callable[[str], Any]) -> Answer:
    """The certificates of these returns; ``show`` reports each step."""
    by, asking, locked = request.by, request.asking, request.locked
    data, question = list(read) if request.metrics else as_stated(read, asking.support), request.questions[0]
    if by is not None:
        if data[0].columns is not None and data[0].columns.task == by:
            raise ValueError(f"--by {by} is the column of tasks; expected --suite --each-task to name good tasks")
        data = [replace(each, roles=each.roles._replace(group=each.roles.where[-1])) for each in data]
    if locked is None:
        check_listed(data, question, asking)
    request = request.of(data[0])
    settings = settings_of(question, asking, data[:1] if request.metrics else data)
    # Of rows, curves and advice alike.
    settings |= {name: value for name, value in asking.options.items() if name != question.each}
    if locked is not None:
        locked.refuse(of_files(locked.protocol, data))
    show(f"certifying {len(data[0].tasks)} tasks")
    fixed = {name: None if each is None else np.asarray(each) for name, each in request.numbers.items()}
    certificates = {name: ask(QUESTIONS[name], data, each, settings) for name, each in fixed.items()}
    is_of_one = len(data) == max(1, len(request.metrics))
    return Answer(request, data, settings, certificates, _findings(request, data, settings) if is_of_one else None)


def _findings(request: Request, data: Sequence[ReturnsFile], settings: Mapping[str, Any]) -> tuple[Finding, ...] | None:
    """Likely mistakes, as warnings (``strict``: an error); None without a support, or single rollouts to look at.

    Of several requirements, those of each metric, whose support is part of what is required.
    """
    questions, options = request.questions, request.asking.options
    of_metrics = questions[0].metrics(options)
    # Do not advise another method if the question has only one, nor another bound for new tasks or trials in a row.
    listed = all(question.listed and question.takes("bound") for question in questions)
    in_a_row = options.get(IN_A_ROW.name, 1) > 1
    has_choice = not (in_a_row or of_metrics) and (listed or all(question.chooses_method for question in questions))
    left_out = {*([] if has_choice else [WEAKER_BOUND]), *(_OF_SUPPORT if of_metrics else [])}
    asked = ("delta",) if of_metrics else ("delta", "bound", "method")
    given = {name: settings[name] for name in asked if name in settings}
    findings, supports = None, [each or (0, 1) for each in of_metrics.values()] or [settings.get("support")]
    for file, support in zip(data, supports, strict=True):
        if support is None or not file.has_rollouts:
            continue
        known = {"bound": default_bound(None, file.returns), "support": support, "where": file.where, **given}
        found = diagnose(file.returns, listed=listed, **known)
        place = f"{file.path}: " + (f"{file.columns.value}: " if of_metrics and file.columns else "")
        kept = [each for each in found if each.name not in left_out]
        for finding in kept:
            if request.strict:
                raise ValueError(f"{place}{finding}")
            warnings.warn(f"{place}{finding}", UserWarning, stacklevel=2)
        findings = (*(findings or ()), *kept)
    return findings


def print_answers(request: Request, answers: Mapping[str, Answer]) -> None:
    """Print the answers, one for each group of rows if a column names groups, and their joint confidence."""
    for group, answer in answers.items():
        _console.say(*([] if request.by is None else [quoted_condition(f"{request.by} = {group}")]))
        _print(answer)
        _console.say(*([] if request.by is None else [""]))
    _console.say(*filter(None, [together(request, answers)]))


def _print(answer: Answer) -> None:
    """Print the table, the sentence of each row, and why no more is certified."""
    _console.say(_console.heading(answer.data, answer.support, answer.certificates))
    for name, certificate in answer.certificates.items():
        _console.say("", _console.table(texts_of(certificate, QUESTIONS[name])), "")
        _console.say(naming(str(certificate), answer.policies, answer.data[0].roles.group))
    _console.say(*reasons(answer))
    _console.say(*_not_shown(answer))


def how_many_show(*, listed: bool) -> str:
    """Which plan says how much more data a difference takes."""
    what, kind = ("trials of each task", " --suite") if listed else ("tasks", "")
    of_one_table = "of one table in place of B: --policy COLUMN --only A,B"
    return f"how many new {what} it takes: jaxcert plan A --against B --threshold 0{kind} ({of_one_table})"


def _not_shown(answer: Answer) -> Iterator[str]:
    """Say by how much A was better on average, if that was asked and not certified."""
    for question, found in answer.answered if answer.policies else ():
        means = observed_means(answer.data)
        is_open = question.rows is MEAN_ROWS and found.status != Status.INVALID_INPUT and float(found.mean) < 0
        if means is None or not is_open or found.num_episodes > 1:  # of several in a row the averages say nothing
            continue
        (a, b), ahead = map(quoted, answer.policies), float(means.mean())
        said = f"Not shown: that {a} is better than {b} on average. In these data it is"
        if ahead > 0:
            how = {"listed": question.listed, "support": answer.support, "delta": float(found.delta)}
            size = size_that_shows(answer.data, **how) if found.bound == betting.__name__ else ""
            yield f"{said} by {ahead:.3g}{size}; {how_many_show(listed=question.listed)}."
        else:
            how = f"worse by {-ahead:.3g}" if ahead else "equal"
            yield f"{said} {how}, so that more of the same would not show it; the other way round, name {b} first."


def reasons(answer: Answer) -> Iterator[str]:
    """Say why no more is certified: a line for each row that misses, if the reason is known."""
    sample = Sample(np.empty(0), answer.support, answer.data, policies=answer.policies)
    for name, certificate in answer.certificates.items():
        entries = answer.advice.get(name, ())
        for what, why in reasons_of(certificate, QUESTIONS[name], sample, entries, answer.request.wanted):
            yield f"Why not {what}: {why}."
        if name in answer.advice and len(entries) < certificate.status.size:
            missing = misses(certificate, safety=answer.request.wanted).sum()
            yield f"Advice for the first {MOST_REASONS} of {missing} rows that miss."
