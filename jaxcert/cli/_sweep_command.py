"""`jaxcert sweep`: a grid of settings from a TOML file."""

from pathlib import Path

import numpy as np
from rich.progress import MofNCompleteColumn

from jaxcert._files import check_output, check_suffix
from jaxcert.cli import _console
from jaxcert.cli._options import QUIET, STRICT, argument, flag
from jaxcert.cli._outputs import FORCE, check_distinct, check_new
from jaxcert.cli._reading import read_file, told
from jaxcert.cli._sweep_config import Config, read_config
from jaxcert.report import write_sweep
from jaxcert.report._sweeps import FORMATS
from jaxcert.sweep import SweepResult, sweep
from jaxcert.sweep._sweep import settled
from jaxcert.tables import ReturnsFile
from jaxcert.tables._aligned import stacked

_NOTE = "Each certificate holds by itself, for settings fixed before the data were seen, not for the best of many."


def command(
    config: Path = argument("CONFIG", "TOML file with the tables [data], [grid], [run]."),
    dry_run: bool = flag("Print the number of certificates, and stop.", "--dry-run"),
    strict: bool = STRICT,
    force: bool = FORCE,
    quiet: bool = QUIET,
) -> None:
    """Certify every combination of the settings in CONFIG, for every seed."""
    wanted = read_config(config)
    check_suffix(check_output(wanted.out), FORMATS)
    inputs = ("CONFIG", config), *(("[data] returns", path) for path in wanted.returns)
    check_distinct(*inputs, ("[run] out", wanted.out))
    with _console.warnings_on_stderr():
        files = [read_file(path, strict=strict) for path in wanted.returns]
        returns, where = _stacked(wanted, files)
    _console.say(*told(*files))
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
    counts = [len(file.returns) for file in files]
    for path, count in zip(config.returns, counts, strict=True):
        if count != counts[0]:
            told = f"{path}: {count} tasks, {config.returns[0]} has {counts[0]}"
            raise ValueError(f"{told}; expected as many in every seed")
    returns, where = stacked(files)
    return returns, None if where.all() else where


def _print_plan(config: Config, returns: np.ndarray) -> None:
    seeds, n, m = returns.shape
    certificates = seeds * settled(config.grid, returns).num_settings
    _console.say(
        f"{seeds} seeds, {n} tasks, {m} rollouts",
        f"{certificates} certificates",
        f"nothing was computed; without --dry-run the result goes to {config.out}",
    )


def _print(config: Config, result: SweepResult) -> None:
    """Print their number and file; the best one is not named, since the statement would not cover it."""
    seeds, budgets, bounds, methods, betas, deltas, thresholds = result.safety.shape
    _console.say(
        f"{result.safety.size} certificates: {seeds} seeds × {budgets} budgets × {bounds} bounds × {methods} methods × "
        f"{betas} betas × {deltas} deltas × {thresholds} thresholds",
        f"written to {config.out}",
        _NOTE,
    )
