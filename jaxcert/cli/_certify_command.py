"""`jaxcert certify`: from a file of returns to printed certificates."""

import dataclasses
from pathlib import Path
from typing import Any, Literal

import numpy as np

import jaxcert
from jaxcert._files import check_output
from jaxcert.certificates import Certificate
from jaxcert.cli import _console, _tables
from jaxcert.report import (
    ReturnsFile,
    certificate_record,
    check_figure_path,
    plot_certificates,
    read_returns,
    save_figure,
    step_curve,
    write_certificates,
)

Fixed = Literal["threshold", "safety"]


@dataclasses.dataclass(frozen=True)
class Settings:
    """Arguments of `jaxcert.certify` besides returns and thresholds."""

    support: tuple[float, float]
    delta: float
    beta: float | None = None
    bound: str = "betting"
    method: str = "binomial"


@dataclasses.dataclass(frozen=True)
class Request:
    """What to read, certify and write."""

    file: Path
    thresholds: list[float]
    safety: list[float]
    json: Path | None
    plot: Path | None
    strict: bool


@dataclasses.dataclass(frozen=True)
class Result:
    """The certificates, by what was fixed beforehand; the complete curve if nothing was requested."""

    data: ReturnsFile
    certificates: dict[Fixed, Certificate]
    is_curve: bool


def certify_file(request: Request, settings: Settings, *, quiet: bool) -> None:
    """Read, certify, write the files, then print, so that a failure leaves no incomplete output."""
    _check_outputs(request)
    with _console.warnings_on_stderr(), _console.progress(quiet) as show:
        show(f"reading {request.file}")
        data = read_returns(request.file, strict=request.strict)
        show(f"certifying {len(data.returns)} tasks")
        result = _certified(data, request, settings)
        show("writing")
        _write(result, request, settings)
    _print(result, request, settings)


def _check_outputs(request: Request) -> None:
    """Raise beforehand for outputs that could not be written."""
    if request.json:
        check_output(request.json)
    if request.plot:
        check_figure_path(request.plot)
    paths = [path.resolve() for path in (request.file, request.json, request.plot) if path]
    if len(set(paths)) < len(paths):
        raise ValueError("FILE, --json and --plot name the same file, expected different ones")


def _certified(data: ReturnsFile, request: Request, settings: Settings) -> Result:
    arguments: dict[str, Any] = dataclasses.asdict(settings) | {"where": data.where}
    certificates: dict[Fixed, Certificate] = {}
    if request.thresholds:
        certificates["threshold"] = jaxcert.certify(data.returns, np.asarray(request.thresholds), **arguments)
    if request.safety:
        certificates["safety"] = jaxcert.certify_safety_level(data.returns, np.asarray(request.safety), **arguments)
    is_curve = not certificates
    if is_curve:
        certificates["threshold"] = step_curve(jaxcert.certify(data.returns, settings.support[0], **arguments))
    return Result(data, certificates, is_curve)


def _write(result: Result, request: Request, settings: Settings) -> None:
    if request.plot:
        save_figure(request.plot, _figure(result, request))
    if request.json:
        write_certificates(request.json, _records(result, settings))


def _records(result: Result, settings: Settings) -> list[dict[str, Any]]:
    return [
        certificate_record(certificate, support=settings.support, data=result.data, fixed=fixed)
        for fixed, certificate in result.certificates.items()
    ]


def _figure(result: Result, request: Request) -> Any:
    """The curve, with the requested points."""
    first = next(iter(result.certificates.values()))
    curve = first if result.is_curve else step_curve(first)
    label = f"{curve.bound}, {curve.method}, beta {float(curve.beta):.6g}"
    title = f"{request.file.name}, {curve.num_tasks} tasks"
    return plot_certificates({label: curve}, points=_points(result), title=title)


def _points(result: Result) -> list[tuple[float, float]]:
    asked = () if result.is_curve else result.certificates.values()
    return [
        pair
        for certificate in asked
        for pair in zip(certificate.thresholds.tolist(), certificate.safety.tolist(), strict=True)
    ]


def _print(result: Result, request: Request, settings: Settings) -> None:
    """The table and, unless it is the curve, the sentence of each row."""
    console = _console.output()
    heading = _tables.heading(request.file, result.data, settings.support, result.certificates)
    console.print(heading, soft_wrap=True)
    for fixed, certificate in result.certificates.items():
        given = request.thresholds if fixed == "threshold" else request.safety
        table = _tables.by_threshold if fixed == "threshold" else _tables.by_safety
        console.print("", table(certificate, given), "", sep="\n")
        console.print(_tables.CURVE_NOTE if result.is_curve else str(certificate), soft_wrap=True)
