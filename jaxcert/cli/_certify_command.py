"""`jaxcert certify`: from a file of returns to printed certificates."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates import Certificate, floor_figures
from jaxcert.certificates._question import Question
from jaxcert.certificates._registry import METHODS
from jaxcert.cli import _console, _tables
from jaxcert.cli._certify_outputs import Found, Outputs, every_step, write_outputs
from jaxcert.cli._options import (
    EpisodeColumn,
    Quiet,
    Size,
    Strict,
    TaskColumn,
    Title,
    ValueColumn,
    check_size,
    level,
    several,
)
from jaxcert.cli._question_options import askable, check_required, check_rows, chosen, fixed_numbers, with_options
from jaxcert.cli._settled import Force, ProtocolFile, check_design, completed, settled, settled_columns
from jaxcert.diagnostics import Finding, diagnose
from jaxcert.diagnostics._declarations import WEAKER_BOUND
from jaxcert.planning import Advice, advise
from jaxcert.planning._advice import misses
from jaxcert.questions import QUESTIONS
from jaxcert.questions._asked import checked_options, usual_questions
from jaxcert.report import ReturnsFile, read_returns
from jaxcert.report._recompute import ask

# Numbers that were fixed beforehand, if a question has any, by the question's name.
Asked = dict[str, Any]
_ASKED = askable(num_inputs=1)
# To read, not to compute with: each may take a second.
_MOST_ADVICE = 5
_UNKNOWN = "not for too few tasks alone; no more is known with these settings"
_UNKNOWN_OF_SEVERAL_SIZES = "not for too few tasks alone; no more is known of unequal numbers of rollouts"
_BOUNDS = [f"{bound.name} (0/1 returns)" if bound.binary else bound.name for bound in BOUNDS.values()]


@with_options(_ASKED)
def certify_file(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help=".npz with an array 'returns' [num_tasks, num_rollouts] (and a boolean array 'where'), .npy with that "
            "array, or .parquet, .csv or .csv.gz with the columns task_id, episode_id, total_return, or such as task, "
            "trial, success. Returns of bool, or a column of true/false, yes/no, pass/fail or success/failure, are "
            "successes.",
        ),
    ],
    support: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="A B", help="Smallest and largest possible return, known in advance; 0 1 for successes."),
    ] = None,
    delta: Annotated[float | None, typer.Option(metavar="D", help="Failure probability of the certificate.")] = None,
    threshold: Annotated[
        list[Any] | None,
        several("X", "Performance to certify; without any, the curve"),
    ] = None,
    safety: Annotated[
        list[Any] | None,
        several("S", "Share of new tasks to certify a performance for"),
    ] = None,
    beta: Annotated[
        Any,
        typer.Option(
            metavar="P",
            parser=level,
            help="Failure probability of one task's lower bound. By default 0.05 for thresholds, what costs nothing "
            "for safeties, delta / num_tasks with scenario; auto chooses one for each threshold. With soft, the "
            "weight of the evidence; with attained, one for each threshold or safety by default.",
        ),
    ] = None,
    bound: Annotated[
        str | None,
        typer.Option(help=f"One of {', '.join(_BOUNDS)}; by default betting, or the one for the method or successes."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(METHODS)}; by default binomial, or attained for successes; it "
            "reads returns of 0 and 1 as such."
        ),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"What is asked: {', '.join(_ASKED)}. By default safety of thresholds, safety_level of safeties.",
        ),
    ] = None,
    protocol: ProtocolFile = None,
    wanted: Annotated[
        float | None,
        typer.Option(metavar="S", help="Safety wanted at the thresholds: where it is missed, say why."),
    ] = None,
    task_column: TaskColumn = None,
    episode_column: EpisodeColumn = None,
    value_column: ValueColumn = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a certificate file there; - for stdout.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw certified safety there (.png, .svg, .pdf).")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page to read, print and send (.html).")
    ] = None,
    require: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Exit with status 1 unless this safety (or mean, by the question) is certified in every row.",
        ),
    ] = None,
    force: Force = False,
    title: Title = None,
    plot_size: Size = None,
    strict: Strict = False,
    quiet: Quiet = False,
    *,
    options: dict[str, Any],
) -> None:
    """Certify the returns in FILE."""
    check_size(plot_size)
    wanted_files = Outputs(json, plot, report, title, plot_size, force)
    wanted_files.check(file, protocol)
    given = {"thresholds": threshold, "safeties": safety, "support": support, "delta": delta}
    given |= {"beta": beta, "bound": bound, "method": method, "question": question, "options": options}
    stated, locked = settled(protocol, given)
    columns = settled_columns(protocol, locked, task_column, episode_column, value_column)
    named = stated["question"] is not None
    asked = _asked(stated)
    gated = _gated(require, asked, named=named)
    asks = [QUESTIONS[name] for name in asked] or usual_questions({})
    if wanted is not None and not any(map(_explained, asks)):
        raise ValueError(
            f"--wanted is a safety at thresholds, of which the question {next(iter(asked))!r} has no advice"
        )
    if plot and not all(QUESTIONS[name].has_curve for name in asked):
        raise ValueError(f"--plot draws certified safety by threshold; the question {next(iter(asked))!r} has none")
    if report and len(asked) > 1:
        raise ValueError("--report shows thresholds or safeties, expected one of the two")
    with _console.warnings_on_stderr(), _console.progress(quiet) as show:
        show(f"reading {file}")
        data = read_returns(file, strict=strict, **columns)
        settings = completed(asks[0], stated, data.returns)
        check_design(protocol, locked, data)
        show(f"certifying {len(data.returns)} tasks")
        certificates = _certified(data, asked, settings, stated["options"])
        findings = _findings(data, settings, asks, strict=strict)
        advice = _advice(data, settings, wanted, {name: certificates[name] for name in asked})
        found = Found(data, settings, asked, certificates, advice, findings, locked, protocol, columns)
        show("writing")
        write_outputs(wanted_files, found)
    if not wanted_files.to_stdout:
        # Last, so that a failure leaves no incomplete output.
        _print(_tables.heading(data, settings.get("support"), certificates), asked, certificates)
        _print_advice(certificates, advice, wanted, several_sizes=data.where is not None)
    for name in gated:
        check_rows(require or 0.0, certificates[name], QUESTIONS[name])


def _asked(stated: dict[str, Any]) -> Asked:
    """What is fixed beforehand, by the names of the questions; nothing for the curve."""
    given = {"threshold": stated.pop("thresholds"), "safety": stated.pop("safeties")}
    name, options = stated.pop("question"), stated["options"]
    if name is not None:
        question = chosen(name, _ASKED)
        return {name: fixed_numbers(question, given, options)}
    usual = usual_questions(given)
    for question in usual:
        checked_options(question, options)
    numbers = {question.name: given.get(question.each or "") for question in usual}
    return {name: list(values) for name, values in numbers.items() if values}


def _explained(question: Question) -> bool:
    """Whether more safety may be wanted, and why there is less is known."""
    return question.advised and question.certifies_probability


def _gated(require: float | None, asked: Asked, *, named: bool) -> list[str]:
    """The questions whose answers have to reach what is required: the one that is named, or the one of thresholds."""
    if require is None:
        return []
    gated = [name for name in asked if named or not QUESTIONS[name].finds_threshold]
    if not gated:
        raise ValueError("--require needs a threshold, by --threshold or the protocol")
    check_required(require, QUESTIONS[gated[0]])
    return gated


def _certified(
    data: ReturnsFile, asked: Asked, settings: dict[str, Any], options: dict[str, Any]
) -> dict[str, Certificate]:
    """The answers, by the names of the questions; the complete curve if none was asked."""
    if not asked:
        question, *_ = usual_questions({})
        found = ask(question, [data], settings["support"][0], settings)
        return {question.name: every_step(data, found, settings)}
    answers = {}
    for name, values in asked.items():
        question = QUESTIONS[name]
        own = {option: value for option, value in options.items() if option != question.each}
        fixed = None if values is None else np.asarray(values)
        answers[name] = ask(question, [data], fixed, {**settings, **own})
    return answers


def _findings(
    data: ReturnsFile, settings: dict[str, Any], questions: list[Question], *, strict: bool
) -> tuple[Finding, ...] | None:
    """Likely mistakes, as warnings; with ``strict`` the first is an error. None where there is no support to know."""
    if settings.get("support") is None:
        return None
    of_data = {name: settings[name] for name in ("support", "delta", "bound", "method") if name in settings}
    found = diagnose(data.returns, where=data.where, **of_data)
    # Another method is no advice for a question that has no choice of one.
    has_choice = all(question.chooses_method for question in questions)
    findings = tuple(each for each in found if has_choice or each.name != WEAKER_BOUND)
    for finding in findings:
        if strict:
            raise ValueError(f"{data.path}: {finding}")
        warnings.warn(f"{data.path}: {finding}", UserWarning, stacklevel=2)
    return findings


def _advice(
    data: ReturnsFile, settings: dict[str, Any], wanted: float | None, certificates: dict[str, Certificate]
) -> dict[str, tuple[Advice | None, ...]]:
    """Why less is certified than wanted, by the names of the questions of which it is known."""
    known = {"num_rollouts": int(data.num_rollouts.max()), "safety": wanted, "limit": _MOST_ADVICE}
    found = {}
    for name, certificate in certificates.items():
        question = QUESTIONS[name]
        if question.advised:
            each: Any = question.each
            found[name] = advise(certificate, support=settings["support"], fixed=each, **known)
    return found


def _print_advice(
    certificates: dict[str, Certificate],
    advice: dict[str, tuple[Advice | None, ...]],
    wanted: float | None,
    *,
    several_sizes: bool,
) -> None:
    for name, entries in advice.items():
        certificate = certificates[name]
        question = QUESTIONS[name]
        fixed: Any = question.each
        missing = misses(certificate, safety=wanted, fixed=fixed)
        values = getattr(certificate, question.columns[fixed])
        for value, entry, missed in zip(values.tolist(), entries, missing.tolist(), strict=False):
            if entry is not None or missed:
                why = entry or (_UNKNOWN_OF_SEVERAL_SIZES if several_sizes else _UNKNOWN)
                _console.output().print(f"Why not more at {fixed} {floor_figures(value)}: {why}.")
        if len(entries) < len(certificate):
            _console.output().print(f"Advice for the first {_MOST_ADVICE} of {missing.sum()} rows that miss.")


def _print(heading: str, asked: Asked, certificates: dict[str, Certificate]) -> None:
    """The table and, unless it is the curve, the sentence of each row."""
    console = _console.output()
    console.print(heading)
    for name, certificate in certificates.items():
        table = _tables.answer_table(certificate, QUESTIONS[name], asked.get(name) or [])
        console.print("", table, "", sep="\n", soft_wrap=False, crop=False)
        console.print(str(certificate) if asked else _tables.curve_note(certificate))
