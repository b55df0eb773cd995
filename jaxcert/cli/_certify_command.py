"""`jaxcert certify`: from a file of returns to printed certificates."""

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

import jaxcert
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates import Certificate, floor_figures, floor_to
from jaxcert.certificates._registry import METHODS
from jaxcert.cli import _console, _tables
from jaxcert.cli._certify_outputs import Found, Outputs, every_step, write_outputs
from jaxcert.cli._numbers import several
from jaxcert.cli._options import EpisodeColumn, Quiet, Strict, TaskColumn, ValueColumn, level
from jaxcert.cli._plots import Size, Title, check_size
from jaxcert.cli._settled import Force, ProtocolFile, check_design, completed, settled, settled_columns
from jaxcert.diagnostics import Finding, diagnose
from jaxcert.planning import Advice, advise
from jaxcert.planning._advice import misses
from jaxcert.report import ReturnsFile, read_returns

_Fixed = Literal["threshold", "safety"]
_Asked = dict[_Fixed, list[float]]
# To read, not to compute with: each may take a second.
_MOST_ADVICE = 5
_UNKNOWN = "not for too few tasks alone; no more is known with these settings"
_UNKNOWN_OF_SEVERAL_SIZES = "not for too few tasks alone; no more is known of unequal numbers of rollouts"
_MOST_MISSED = 20
_BOUNDS = [f"{bound.name} (0/1 returns)" if bound.binary else bound.name for bound in BOUNDS.values()]


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
        typer.Option(help=f"One of {', '.join(_BOUNDS)}; by default betting, or that of the method or of successes."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(METHODS)}; by default binomial, or attained for successes; it "
            "reads returns of 0 and 1 as such."
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
        typer.Option(metavar="S", help="Exit with status 1 unless this safety is certified at every threshold."),
    ] = None,
    force: Force = False,
    title: Title = None,
    plot_size: Size = None,
    strict: Strict = False,
    quiet: Quiet = False,
) -> None:
    """Certify the returns in FILE."""
    check_size(plot_size)
    wanted_files = Outputs(json, plot, report, title, plot_size, force)
    wanted_files.check(file, protocol)
    given = {"thresholds": threshold, "safeties": safety, "support": support, "delta": delta}
    stated, locked = settled(protocol, {**given, "beta": beta, "bound": bound, "method": method})
    columns = settled_columns(protocol, locked, task_column, episode_column, value_column)
    fixed: dict[_Fixed, Any] = {"threshold": stated.pop("thresholds"), "safety": stated.pop("safeties")}
    asked: _Asked = {name: list(values) for name, values in fixed.items() if values}
    _check_required(require, asked)
    if report and len(asked) > 1:
        raise ValueError("--report shows thresholds or safeties, expected one of the two")
    with _console.warnings_on_stderr(), _console.progress(quiet) as show:
        show(f"reading {file}")
        data = read_returns(file, strict=strict, **columns)
        settings = completed(stated, data.returns)
        check_design(protocol, locked, data)
        show(f"certifying {len(data.returns)} tasks")
        certificates = _certified(data, asked, settings)
        findings = _findings(data, settings, strict=strict)
        advice = _advice(data, settings["support"], wanted, {name: certificates[name] for name in asked})
        found = Found(data, settings, asked, certificates, advice, findings, locked, protocol, columns)
        show("writing")
        write_outputs(wanted_files, found)
    if not wanted_files.to_stdout:
        # Last, so that a failure leaves no incomplete output.
        _print(_tables.heading(data, settings["support"], certificates), asked, certificates)
        _print_advice(certificates, advice, wanted, several_sizes=data.where is not None)
    if require is not None:
        _check_safety(require, certificates["threshold"])


def _check_required(require: float | None, asked: _Asked) -> None:
    if require is not None and not 0 < require < 1:
        raise ValueError(f"--require is {require:g}; expected a safety in (0, 1)")
    if require is not None and "threshold" not in asked:
        raise ValueError("--require needs a threshold, by --threshold or the protocol")


def _check_safety(require: float, certificate: Certificate) -> None:
    """Exit with status 1 where less is certified than required."""
    pairs = zip(certificate.thresholds.tolist(), certificate.safety.tolist(), strict=True)
    missed = [pair for pair in pairs if pair[1] < require]
    if missed:
        shown = [f"{floor_to(safety, 4)} at {floor_figures(threshold)}" for threshold, safety in missed[:_MOST_MISSED]]
        more = f" and so on, {len(missed)} in all" if len(missed) > _MOST_MISSED else ""
        print(f"error: certified is {', '.join(shown)}{more}; required is {require:g}", file=sys.stderr)
        raise typer.Exit(1)


def _certified(data: ReturnsFile, asked: _Asked, settings: dict[str, Any]) -> dict[_Fixed, Certificate]:
    """The certificates, by what was fixed beforehand; the complete curve if nothing was."""
    settings = {**settings, "where": data.where}
    if not asked:
        low = settings["support"][0]
        return {"threshold": every_step(data, jaxcert.certify(data.returns, low, **settings), settings)}
    functions = {"threshold": jaxcert.certify, "safety": jaxcert.certify_safety_level}
    return {fixed: functions[fixed](data.returns, np.asarray(values), **settings) for fixed, values in asked.items()}


def _findings(data: ReturnsFile, settings: dict[str, Any], *, strict: bool) -> tuple[Finding, ...]:
    """Likely mistakes, as warnings; with ``strict`` the first is an error."""
    of_data = {name: settings[name] for name in ("support", "delta", "bound", "method")}
    findings = diagnose(data.returns, where=data.where, **of_data)
    for finding in findings:
        if strict:
            raise ValueError(f"{data.path}: {finding}")
        warnings.warn(f"{data.path}: {finding}", UserWarning, stacklevel=2)
    return findings


def _advice(
    data: ReturnsFile, support: tuple[float, float], wanted: float | None, certificates: dict[_Fixed, Certificate]
) -> dict[_Fixed, tuple[Advice | None, ...]]:
    """Why less is certified than wanted, by what was fixed beforehand."""
    most = int(data.num_rollouts.max())
    return {
        fixed: advise(certificate, support=support, num_rollouts=most, safety=wanted, fixed=fixed, limit=_MOST_ADVICE)
        for fixed, certificate in certificates.items()
    }


def _print_advice(
    certificates: dict[_Fixed, Certificate],
    advice: dict[_Fixed, tuple[Advice | None, ...]],
    wanted: float | None,
    *,
    several_sizes: bool,
) -> None:
    for fixed, entries in advice.items():
        certificate = certificates[fixed]
        missing = misses(certificate, safety=wanted, fixed=fixed)
        values = certificate.thresholds if fixed == "threshold" else certificate.safety
        for value, entry, missed in zip(values.tolist(), entries, missing.tolist(), strict=False):
            if entry is not None or missed:
                why = entry or (_UNKNOWN_OF_SEVERAL_SIZES if several_sizes else _UNKNOWN)
                _console.output().print(f"Why not more at {fixed} {floor_figures(value)}: {why}.")
        if len(entries) < len(certificate):
            several = "thresholds" if fixed == "threshold" else "safeties"
            _console.output().print(f"Advice for the first {_MOST_ADVICE} of {missing.sum()} {several} that miss.")


def _print(heading: str, asked: _Asked, certificates: dict[_Fixed, Certificate]) -> None:
    """The table and, unless it is the curve, the sentence of each row."""
    console = _console.output()
    console.print(heading)
    for fixed, certificate in certificates.items():
        table = _tables.by_threshold if fixed == "threshold" else _tables.by_safety
        console.print("", table(certificate, asked.get(fixed, [])), "", sep="\n", soft_wrap=False, crop=False)
        console.print(str(certificate) if asked else _tables.curve_note(certificate))
