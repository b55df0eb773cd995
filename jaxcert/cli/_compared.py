"""Two policies compared: what is asked of them, their files, and what is written and printed."""

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert import align_tasks
from jaxcert._files import check_output, check_suffix
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates import ceil_figures
from jaxcert.certificates._certificate import naming
from jaxcert.certificates._question import Question
from jaxcert.cli import _console, _tables
from jaxcert.cli._advised import advice_of, print_advice, print_too_few_trials
from jaxcert.cli._asking import asked_name, check_listed
from jaxcert.cli._certify_outputs import verify_command
from jaxcert.cli._options import write_plot
from jaxcert.cli._question_options import chosen
from jaxcert.cli._reading import PolicySource, as_stated, read_two, told
from jaxcert.cli._role_options import columns_in
from jaxcert.cli._settled import (
    Writing,
    check_distinct,
    check_new,
    completed,
    missing_examples,
    no_plot,
)
from jaxcert.cli._typed import typed_with
from jaxcert.planning import Advice
from jaxcert.report import certificate_record, check_figure_path, plot_certificates, write_certificates, write_report
from jaxcert.report._leaderboard import names_of
from jaxcert.report._recompute import ask
from jaxcert.report.html._report_tables import shown_facts
from jaxcert.report.plots._axes import drawing
from jaxcert.returns._prepared import is_successes
from jaxcert.tables import ReturnsFile
from jaxcert.tables._returns import how_many

_WITH_SUPPORT = (
    "the option, the smallest and the largest possible return of both policies "
    "(returns of bool, and columns such as true and false, need none)"
)


def asked_of_two(
    question: str | None,
    given: Mapping[str, Any],
    options: Mapping[str, Any],
    known: Mapping[str, Question],
    *,
    listed: bool | None,
    words: Mapping[str, bool],
) -> Question:
    """The question, by its name, by a word, or by what was fixed beforehand; ``known``: those of two policies."""
    if listed and question is None:
        _refuse_margin(options.get("margin"))
        if not any(words.values()) and not any(given.values()):
            words = {"mean": True}
    if question is None and not listed and not any(words.values()):
        return chosen(_by_numbers(given, options, known), known)
    named = asked_name(question, given, options, known, listed=listed, words=words, num_policies=2)
    return chosen(named or "", known)


def _refuse_margin(margins: Sequence[float] | None) -> None:
    """Raise ValueError for margins of a list, which are its thresholds."""
    if margins:
        instead = {"--threshold": [",".join(map(_tables.as_given, margins))]}
        raise ValueError(
            "--margin is about new tasks; of a fixed list --threshold is the difference that a task has to reach, for "
            f"example: {typed_with(instead, without=['--margin'])}"
        )


def _check_listed_data(
    data: Sequence[ReturnsFile], asked: Question, listed: bool | None, stated: Mapping[str, Any]
) -> None:
    """Raise ValueError where a choice between a list and a sample is asked for, with two commands that work."""
    given = {name: value for name, value in stated.items() if name != "margin"}
    missing = missing_examples(
        asked, {"beta": None, "bound": None, "method": None, **given}, data[0].like, data[0].known_support
    )
    margins = stated["margin"]
    needed = {"--threshold": [",".join(map(_tables.as_given, margins))]} if margins else {}
    for each in data:
        check_listed(each, asked, listed, missing=missing, needed=needed, dropped=["--margin"])


def _by_numbers(given: Mapping[str, Any], options: Mapping[str, Any], known: Mapping[str, Question]) -> str:
    """The name of the question that is asked where none is named: by what was fixed beforehand."""
    fixed = {**given, "margin": options.get("margin")}
    numbers = [name for name in fixed if fixed[name]]
    if len(numbers) > 1:
        raise ValueError(f"{' and '.join(f'--{name}' for name in numbers)} are given; expected one of them")
    at_numbers = [name for name, each in known.items() if each.each in numbers and not each.listed]
    if len(at_numbers) > 1:
        usual = [f"--{each.each} for {name}" for name, each in known.items() if each.each and len(each.inputs) > 1]
        taken = f"--{numbers[0]} is given, which the questions {', '.join(at_numbers)} take"
        raise ValueError(f"{taken}; expected one of them by --question, or {', '.join(usual)}")
    of_means = [name for name, question in known.items() if question.each is None and len(question.inputs) > 1]
    return (at_numbers or of_means)[0]


class PairOutputs(NamedTuple):
    """Which files are wanted: record, plot and page; their title, whether files that exist are replaced, and whether
    the page names single tasks.
    """

    json: Path | None
    plot: Path | None
    report: Path | None
    title: str | None
    force: bool
    names: bool

    def check(self, files: Sequence[Path], question: Question) -> None:
        """Raise beforehand for files that could not be written, or exist and may not be replaced."""
        for path in (self.json, self.report):
            if path:
                check_output(path)
        if self.report:
            check_suffix(self.report, [".html"])
        if self.plot:
            check_figure_path(self.plot)
        outputs = ("--json", self.json), ("--plot", self.plot), ("--report", self.report)
        check_distinct(*zip("AB", dict.fromkeys(files), strict=False), *outputs)
        check_new(self.json, self.plot, self.report, force=self.force)
        if self.plot and not question.has_curve:
            raise ValueError(no_plot(f"the question {question.name!r}"))


def settings_of_two(question: Question, stated: Mapping[str, Any], data: Sequence[ReturnsFile]) -> dict[str, Any]:
    """The settings that the question takes; successes of both policies have a support."""
    support = stated["support"]
    if stated.get("bound") in BOUNDS and BOUNDS[stated["bound"]].binary:
        instead = typed_with({} if support else {"--support": ["0", "1"]}, without=["--bound"])
        raise ValueError(
            f"--bound is {stated['bound']}, which counts successes; the differences of two policies are none, expected "
            f"--support without it, for example: {instead}"
        )
    if support is None and all(is_successes(each.returns) for each in data):
        support = (0.0, 1.0)
    # A difference is no success, whatever the returns are.
    return completed(question, {**stated, "support": support}, np.zeros(1), instead=_WITH_SUPPORT)


class Comparison(NamedTuple):
    """What was certified.

    Attributes:
        question: what was asked.
        answer: its certificate.
        settings: with which it was certified.
        data: the returns of A and of B.
        columns: under which names they were read.
        advice: why nothing is certified, by the question, where that is known.
    """

    question: Question
    answer: Any
    settings: Mapping[str, Any]
    data: Sequence[ReturnsFile]
    columns: Mapping[str, str | None]
    advice: Mapping[str, tuple[Advice | None, ...]]

    @property
    def policies(self) -> tuple[str, str]:
        """What tells the policies apart: the names of their files, or the paths where these are the same."""
        a, b = names_of(self.data)
        return a, b


def compared(
    files: Sequence[PolicySource],
    asked: Question,
    numbers: Sequence[float] | None,
    stated: Mapping[str, Any],
    options: Mapping[str, Any],
    wanted: PairOutputs,
    reading: Mapping[str, Any],
    *,
    listed: bool | None,
    quiet: bool,
) -> Comparison:
    """Read both files, answer the question, and write the files that are wanted."""
    wanted.check([each.file for each in files], asked)
    columns = columns_in(reading)
    with _console.warnings_on_stderr(), _console.progress(quiet) as show:
        show("reading")
        data = as_stated(read_two(files, **reading), stated["support"])
        _check_listed_data(data, asked, listed, {**stated, "margin": options.get("margin")})
        settings = settings_of_two(asked, stated, data)
        show(f"comparing on {len(data[0].returns)} tasks")
        own = {name: value for name, value in options.items() if name != asked.each}
        answer = ask(asked, data, numbers, {**settings, **own})
        advice = advice_of(data, settings, None, {asked.name: answer})
        found = Comparison(asked, answer, settings, data, columns, advice)
        _write_outputs_of_two(wanted, found)
    return found


def _write_outputs_of_two(wanted: PairOutputs, found: Comparison) -> None:
    """Write the files that are wanted."""
    written = Writing()
    if wanted.json:
        facts = {"support": found.settings["support"], "data": found.data[0], "others": found.data[1:]}
        record = certificate_record(found.answer, advice=found.advice.get(found.question.name), **facts)
        written.attempt(write_certificates, wanted.json, [record], replace=wanted.force)
    if wanted.plot:
        with drawing(None) as ax:
            drawn = {"title": wanted.title or ", ".join(found.policies), "ax": ax}
            written.attempt(write_plot, wanted.plot, plot_certificates(found.answer, **drawn), replace=wanted.force)
    if wanted.report:
        written.attempt(_write_page, wanted.report, wanted, found)
    written.check()


def _write_page(path: Path, wanted: PairOutputs, found: Comparison) -> None:
    a, b = align_tasks(*found.data)
    page: dict[str, Any] = {"returns": a.returns, "where": a.where, "data": a, "against": b}
    page |= {"policies": found.policies, "support": found.settings["support"]}
    page |= {"title": wanted.title or " against ".join(found.policies), "date": datetime.date.today().isoformat()}
    page["tasks"] = a.tasks if wanted.names else None
    origins = zip("AB", (shown_facts(each.path) for each in found.data), strict=True)
    page["facts"] = {f"{name} of {of}": value for of, facts in origins for name, value in facts.items()}
    if wanted.json:
        page["verify_command"] = verify_command(wanted.json, found.policies, found.columns)
    write_report(path, found.answer, replace=wanted.force, **page)


def print_comparison(found: Comparison, numbers: Sequence[float]) -> None:
    """Which policy is which, how much was run, and what is certified."""
    console, (a, b) = _console.output(), found.data
    console.print(
        f"A is {a._name}, B is {b._name}: {how_many(found.answer.num_tasks, 'task')}, {_tables.way(found.answer)}"
    )
    rollouts = f"A: {_tables.rollouts_words(a.num_rollouts)}; B: {_tables.rollouts_words(b.num_rollouts)}"
    support = ", ".join(map(_tables.as_given, found.settings["support"]))
    console.print(f"{rollouts}; support [{support}], delta {ceil_figures(float(found.answer.delta))}")
    for line in told(a, b):
        console.print(line)
    table = _tables.answer_table(found.answer, found.question, numbers)
    console.print("", table, "", sep="\n", soft_wrap=False, crop=False)
    console.print(naming(str(found.answer), found.policies))
    print_advice(found.data, None, {found.question.name: found.answer}, found.advice)
    print_too_few_trials(found.data, found.settings, {found.question.name: found.answer})
