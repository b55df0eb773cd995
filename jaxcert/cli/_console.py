"""Output to the terminal: lines, tables, answers. Every figure is rounded to the safe side."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxcert.bounds import betting
from jaxcert.certificates import Status, ceil_figures
from jaxcert.certificates._certificate import naming, of_two
from jaxcert.certificates._figures import level_figures
from jaxcert.certificates._question import MEAN_ROWS
from jaxcert.certificates._registry import AUTO
from jaxcert.cli._options import printed, unread_of
from jaxcert.cli._request import Answer, Request, together
from jaxcert.planning._advice import misses
from jaxcert.planning._advice_on_lists import with_more_trials
from jaxcert.planning._difference import size_that_shows
from jaxcert.questions import QUESTIONS
from jaxcert.report._in_words import MOST_REASONS, Sample, column_texts, reasons_of, texts_of
from jaxcert.report.plots._interval_plot import observed_means
from jaxcert.returns._labels import quoted, quoted_condition
from jaxcert.returns._required import as_given
from jaxcert.tables import ReturnsFile
from jaxcert.tables._returns import how_many, span

_MOST_SHOWN = 80  # characters of an entry


def say(*lines: str) -> None:
    """Print lines and tables as the result."""
    for line in lines:
        print(line)


def described(named: Any, data: Sequence[ReturnsFile], *more: str) -> list[str]:
    """Lines about files: their tasks and rollouts, and the columns that were read."""
    rollouts = "; ".join(dict.fromkeys(_rollouts(each.num_rollouts) for each in data))
    first = [f"{named}: {how_many(len(data[0].tasks), 'task')}", rollouts, *more]
    return [", ".join(filter(None, first)), *told(*data)]


def told(*files: ReturnsFile) -> list[str]:
    """Lines about files: the read columns, and unread ones that may separate policies; with names, if they differ."""
    several, lines = len({file._name for file in files}) > 1, []
    for file in files:
        unread, constant = unread_of(file, files), file.constant.items()
        same = [f"{name} {entry:.{_MOST_SHOWN}}" for name, entry in constant if entry and name != file.roles.policy]
        of_unread = f"not read, so all rows count as one policy: {printed(unread)}" if unread else ""
        of_same = f"not read, the same in all rows: {printed(same)}" if same else ""
        lines += [f"{file._name}: {line}" if several else line for line in (file.told, of_unread, of_same) if line]
    return [*dict.fromkeys(lines)]


def heading(data: Sequence[ReturnsFile], support: tuple[float, float] | None, certificates: Mapping[str, Any]) -> str:
    """The data and the settings, of one policy or two."""
    certificate, *_ = certificates.values()
    named = " against ".join(each._name for each in data[:2]) if of_two(certificate) else data[0].path
    lies = f"support [{', '.join(map(as_given, support))}]" if support else ""
    delta = f"delta {ceil_figures(float(certificate.delta))}"
    return "\n".join([*described(named, data, lies), ", ".join([*settings_words(certificates), delta])])


def settings_words(certificates: Mapping[str, Any]) -> list[str]:
    """Bound, method and beta, which may depend on the fixed numbers."""
    certificate, *_ = certificates.values()
    each = {name: QUESTIONS[name].each for name in certificates}
    levels = {name: getattr(one, "beta", None) for name, one in certificates.items()}
    betas = {
        each[name]: "" if beta is None else AUTO if beta.ndim else level_figures(beta) for name, beta in levels.items()
    }
    same = len(set(betas.values())) == 1
    beta = ", ".join(dict.fromkeys(value if same else f"{value} ({fixed})" for fixed, value in betas.items()))
    named = {name: getattr(certificate, name, "") for name in ("bound", "method")} | {"beta": beta}
    return [f"{name} {value}" for name, value in named.items() if value]


def _rollouts(counts: np.ndarray) -> str:
    """The number of rollouts of each task, [n]."""
    return f"{how_many(span(counts), 'rollout')}{f', {counts.sum()} in all' if np.ptp(counts) else ' each'}"


def table(columns: Mapping[str, Sequence[str]]) -> str:
    """Columns of text by their heading, aligned to the right."""
    widths = [max(map(len, [name, *cells])) for name, cells in columns.items()]
    rows = [[*columns], *zip(*columns.values(), strict=True)]
    heading, *lines = ["   ".join(map(str.rjust, row, widths)) for row in rows]
    rule = "\N{BOX DRAWINGS LIGHT HORIZONTAL}"
    rule = "-" if rule.encode(sys.stdout.encoding or "utf-8", "replace") == b"?" else rule
    return "\n".join([heading, rule * len(heading), *lines])


# --- answers ---------------------------------------------------------------------------------------------------------


def print_answers(request: Request, answers: Mapping[str, Answer]) -> None:
    """Print the answers, one for each group of rows if a column names groups, and their joint confidence."""
    for group, answer in answers.items():
        say(*([] if request.by is None else [quoted_condition(f"{request.by} = {group}")]))
        _print(answer)
        say(*([] if request.by is None else [""]))
    say(*filter(None, [together(request, answers)]))


def _print(answer: Answer) -> None:
    """Print the data and settings, the table, the sentence of each row, and why no more is certified."""
    say(heading(answer.data, answer.support, answer.certificates))
    for name, certificate in answer.certificates.items():
        say("", table(texts_of(certificate, QUESTIONS[name])), "")
        say(naming(str(certificate), answer.policies, answer.data[0].roles.group))
    say(*reasons(answer))
    say(*_with_more_trials(answer), *_not_shown(answer))


def _with_more_trials(answer: Answer) -> Iterator[str]:
    """Say how many trials like these would certify tasks of a list, where they certify none."""
    for question, found in answer.answered:
        each, asked = question.each, answer.request.asked[question.name]
        at = [f" at {each} {x}" for x in column_texts(found, question, each)] if each else [""]
        for row in np.flatnonzero(np.asarray(found.status) == Status.VACUOUS).tolist()[:MOST_REASONS]:
            if said := with_more_trials(question, answer.data, asked, answer.settings, row):
                yield f"{said}{at[row]}."


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
    sample = Sample(answer.data, answer.support, answer.policies)
    for name, certificate in answer.certificates.items():
        entries = answer.advice.get(name, ())
        for what, why in reasons_of(certificate, QUESTIONS[name], sample, entries, answer.request.wanted):
            yield f"Why not {what}: {why}."
        if name in answer.advice and len(entries) < certificate.status.size:
            missing = misses(certificate, safety=answer.request.wanted).sum()
            yield f"Advice for the first {MOST_REASONS} of {missing} rows that miss."
