"""`jaxcert sweep`: a grid of settings from a TOML file."""

import dataclasses
import tomllib
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.progress import MofNCompleteColumn

from jaxcert._files import check_output, content_of, in_file
from jaxcert.cli import _console
from jaxcert.cli._options import Quiet, Strict
from jaxcert.cli._outputs import Force, check_distinct, check_new
from jaxcert.cli._reading import read_file, told
from jaxcert.report import check_table_path, write_sweep
from jaxcert.sweep import Grid, SweepResult, sweep
from jaxcert.sweep._sweep import settled
from jaxcert.tables import ReturnsFile

_TABLES = {
    "data": ("returns", "support"),
    "grid": ("thresholds", "bounds", "methods", "betas", "deltas", "budgets"),
    "run": ("out", "max_bytes"),
}
_SPACING = ("start", "stop", "num")
_MOST = 10**7


@dataclasses.dataclass(frozen=True)
class Config:
    """The content of a configuration; paths are relative to its own folder."""

    returns: list[Path]
    support: tuple[float, float]
    grid: Grid
    out: Path
    max_bytes: int


def read_config(path: Path) -> Config:
    """The configuration, or ValueError that names the file, the entry and what was expected."""
    content = content_of(path, "a TOML file")
    try:
        document = tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # also for numbers too long, and nesting too deep
        raise ValueError(f"{path}: is not TOML ({error})") from error
    with in_file(path):
        return _config(document, path.parent)


def _config(document: dict[str, Any], folder: Path) -> Config:
    _check_names("", document, tuple(_TABLES))
    for name, known in _TABLES.items():
        if not isinstance(document.get(name, {}), dict):
            raise ValueError(f"{name} is {document[name]!r}; expected a table [{name}]")
        _check_names(f"[{name}] ", document.get(name, {}), known)
    data, run = document.get("data", {}), document.get("run", {})
    return Config(
        returns=[folder / name for name in _paths("[data] returns", _required("[data]", data, "returns"))],
        support=_support(_required("[data]", data, "support")),
        grid=_grid(document.get("grid", {})),
        out=folder / _path("[run] out", _required("[run]", run, "out")),
        max_bytes=_whole("[run] max_bytes", run.get("max_bytes", 2**30)),
    )


def _grid(table: dict[str, Any]) -> Grid:
    settings = {**table, "thresholds": _thresholds(_required("[grid]", table, "thresholds"))}
    if "betas" in settings:
        betas = settings["betas"] if isinstance(settings["betas"], list) else [settings["betas"]]
        settings["betas"] = [None if beta == "default" else beta for beta in betas]
    return Grid(**settings)


def _thresholds(value: Any) -> Any:
    """A list, or evenly spaced values as { start, stop, num }."""
    if not isinstance(value, dict):
        return value
    _check_names("[grid] thresholds ", value, _SPACING)
    start, stop, num = (_required("[grid] thresholds", value, name) for name in _SPACING)
    first, last = _number("[grid] thresholds start", start), _number("[grid] thresholds stop", stop)
    if (num := _whole("[grid] thresholds num", num)) > _MOST:
        raise ValueError(f"[grid] thresholds num is {num}; expected at most {_MOST}")
    return np.linspace(first, last, num)


def _check_names(place: str, table: dict[str, Any], known: tuple[str, ...]) -> None:
    for name in table:
        if name not in known:
            raise ValueError(f"{place}{name} is unknown; expected {', '.join(known)}")


def _required(place: str, table: dict[str, Any], name: str) -> Any:
    if name not in table:
        raise ValueError(f"{place} {name} is missing")
    return table[name]


def _support(value: Any) -> tuple[float, float]:
    numbers = isinstance(value, list) and len(value) == 2 and all(type(end) in (int, float) for end in value)
    if not numbers:
        raise ValueError(f"[data] support is {value!r}; expected two numbers, [a, b]")
    return float(value[0]), float(value[1])


def _paths(name: str, value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    if not values:
        raise ValueError(f"{name} is empty; expected one file per seed")
    paths = [_path(name, entry) for entry in values]
    twice = [path for i, path in enumerate(paths) if Path(path) in map(Path, paths[:i])]
    if twice:
        raise ValueError(f"{name} holds {twice[0]!r} twice; expected one file per seed")
    return paths


def _path(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} holds {value!r}; expected the name of a file or folder")
    return value


def _number(name: str, value: Any) -> float:
    if type(value) not in (int, float) or not abs(value) < 1e300:
        raise ValueError(f"{name} is {value!r}; expected a number")
    return float(value)


def _whole(name: str, value: Any) -> int:
    if type(value) is not int or value < 1:
        raise ValueError(f"{name} is {value!r}; expected a whole number of at least 1")
    return value


_NOTE = "Each certificate holds by itself, for settings fixed before the data were seen, not for the best of many."


def sweep_file(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="TOML file with the tables [data], [grid], [run].")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the number of certificates, and stop.")] = False,
    strict: Strict = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Certify every combination of the settings in CONFIG, for every seed."""
    wanted = read_config(config)
    check_output(check_table_path(wanted.out))
    inputs = ("CONFIG", config), *(("[data] returns", path) for path in wanted.returns)
    check_distinct(*inputs, ("[run] out", wanted.out))
    with _console.warnings_on_stderr():
        files = [read_file(path, strict=strict) for path in wanted.returns]
        returns, where = _stacked(wanted, files)
    for line in told(*files):
        _console.output().print(line)
    if dry_run:
        _print_plan(wanted, returns)
        return
    check_new(wanted.out, force=force)
    with _console.warnings_on_stderr(), _console.bar("lower bounds", MofNCompleteColumn(), quiet=quiet) as update:
        result = sweep(
            returns,
            wanted.grid,
            support=wanted.support,
            where=where,
            max_bytes=wanted.max_bytes,
            progress=lambda done, total: update(completed=done, total=total),
        )
    write_sweep(wanted.out, result, replace=force)
    _print(wanted, result)


def _stacked(config: Config, files: list[ReturnsFile]) -> tuple[np.ndarray, np.ndarray | None]:
    """One file per seed as [seeds, n, m]; with a mask if some have fewer rollouts."""
    shapes = [file.returns.shape for file in files]
    for path, shape in zip(config.returns, shapes, strict=True):
        if shape[0] != shapes[0][0]:
            raise ValueError(
                f"{path}: {shape[0]} tasks, {config.returns[0]} has {shapes[0][0]}; expected as many in every seed"
            )
    most = max(m for _, m in shapes)
    masks = [np.ones(file.returns.shape, bool) if file.where is None else file.where for file in files]
    returns = np.stack([_padded(file.returns, most) for file in files])
    where = np.stack([_padded(mask, most) for mask in masks])
    return returns, None if where.all() else where


def _padded(array: np.ndarray, length: int) -> np.ndarray:
    return np.pad(array, ((0, 0), (0, length - array.shape[1])))


def _print_plan(config: Config, returns: np.ndarray) -> None:
    seeds, n, m = returns.shape
    certificates = seeds * settled(config.grid, returns).num_settings
    lines = [
        f"{seeds} seeds, {n} tasks, {m} rollouts",
        f"{certificates} certificates",
        f"nothing was computed; without --dry-run the result goes to {config.out}",
    ]
    _console.output().print("\n".join(lines))


def _print(config: Config, result: SweepResult) -> None:
    """Print their number and file; the best one is not named, since it would not be covered."""
    seeds, budgets, bounds, methods, betas, deltas, thresholds = result.safety.shape
    _console.output().print(
        f"{result.safety.size} certificates: {seeds} seeds × {budgets} budgets × {bounds} bounds × {methods} methods × "
        f"{betas} betas × {deltas} deltas × {thresholds} thresholds\n"
        f"written to {config.out}\n{_NOTE}"
    )
