"""`jaxcert sweep`: a grid of certificates from a configuration."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from rich.filesize import decimal
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from jaxcert._files import check_output
from jaxcert.cli import _console
from jaxcert.cli._sweep_config import Config, read_config
from jaxcert.report import check_table_path, read_returns, write_sweep
from jaxcert.sweep import SweepResult, plan_sweep, sweep

_NOTE = "Each certificate holds by itself, for settings fixed before the data were seen, not for the best of many."


def sweep_file(config_file: Path, *, resume: bool, dry_run: bool, strict: bool, quiet: bool) -> None:
    """Read, sweep, write the table, then print a summary; with ``dry_run`` only print the plan."""
    config = read_config(config_file)
    check_output(check_table_path(config.out))
    if resume and config.checkpoint is None:
        raise ValueError(f"{config_file}: --resume needs [run] checkpoint, the folder with the finished chunks")
    with _console.warnings_on_stderr():
        returns, where = _read(config, strict)
    if dry_run:
        _print_plan(config, returns)
        return
    with _console.warnings_on_stderr(), _bar(quiet) as step:
        result = sweep(
            returns,
            config.grid,
            support=config.support,
            where=where,
            max_bytes=config.max_bytes,
            checkpoint=config.checkpoint,
            resume=resume,
            progress=step,
        )
    write_sweep(config.out, result)
    _print(config, result)


def _read(config: Config, strict: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """One file per seed as [seeds, n, m]; with a mask if some have fewer rollouts."""
    files = [read_returns(path, strict=strict) for path in config.returns]
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


@contextlib.contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr, if that is a terminal, unless ``quiet``; the certificates follow the last chunk."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    console = _console.errors()
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal, transient=True) as bar:
        task = bar.add_task("lower bounds", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _print_plan(config: Config, returns: np.ndarray) -> None:
    planned = plan_sweep(returns, config.grid, support=config.support, max_bytes=config.max_bytes)
    seeds, n, m = returns.shape
    lines = [
        f"{seeds} seeds, {n} tasks, {m} rollouts",
        f"{planned.num_certificates} certificates, {_size(planned.result_bytes)} of results",
        f"{planned.num_chunks} chunks, at most {_size(planned.device_bytes)} on the device at once",
        f"nothing was computed; without --dry-run the result goes to {config.out}",
    ]
    _console.output().print("\n".join(lines), soft_wrap=True)


def _size(num_bytes: int) -> str:
    return decimal(num_bytes)


def _print(config: Config, result: SweepResult) -> None:
    """Print their number and file; the best one is not named, since it would not be covered."""
    console = _console.output()
    seeds, budgets, bounds, methods, betas, deltas, thresholds = result.safety.shape
    console.print(
        f"{result.safety.size} certificates: {seeds} seeds × {budgets} budgets × {bounds} bounds × {methods} methods × "
        f"{betas} betas × {deltas} deltas × {thresholds} thresholds",
        soft_wrap=True,
    )
    console.print(f"written to {config.out}", soft_wrap=True)
    console.print(_NOTE, soft_wrap=True)
