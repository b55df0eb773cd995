"""A grid of settings with its returns, from a TOML file."""

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert._files import content_of, in_file
from jaxcert._first_entry import fields_of
from jaxcert._validation import check_finite
from jaxcert.sweep._grid import Grid

_GRID = ("thresholds", "bounds", "methods", "betas", "deltas", "budgets")
_MOST = 10**7


class _Data(NamedTuple):
    """The table of the returns."""

    returns: tuple[str, ...]
    support: tuple[float, float]


class _Run(NamedTuple):
    """The table of how it is run."""

    out: str
    max_bytes: int = 2**30


class _Spaced(NamedTuple):
    """Evenly spaced thresholds."""

    start: float
    stop: float
    num: int


class Config(NamedTuple):
    """The content of a configuration; paths are relative to its own folder."""

    returns: list[Path]
    support: tuple[float, float]
    grid: Grid
    out: Path
    max_bytes: int


def read_config(path: Path) -> Config:
    """The configuration, or a ValueError that names the file, the entry and the expected value."""
    content = content_of(path, "a TOML file")
    try:
        document = tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # also for numbers too long, and nesting too deep
        raise ValueError(f"{path}: is not TOML ({error})") from error
    with in_file(path):
        return _config(document, path.parent)


def _config(document: dict[str, Any], folder: Path) -> Config:
    tables = ("data", "grid", "run")
    _check_names("", document, tables)
    data, grid, run = (document.get(name, {}) for name in tables)
    if isinstance(data, dict) and isinstance(data.get("returns"), str):
        data = {**data, "returns": [data["returns"]]}
    given, how = _read("[data]", data, _Data), _read("[run]", run, _Run)
    paths = [Path(name) for name in given.returns]
    if twice := [name for i, name in enumerate(given.returns) if paths[i] in paths[:i]]:
        raise ValueError(f"returns of [data] hold {twice[0]!r} twice; expected one file per seed")
    return Config([folder / path for path in paths], given.support, _grid(grid), folder / how.out, how.max_bytes)


def _grid(table: Any) -> Grid:
    _check_names("[grid]", table, _GRID)
    if "thresholds" not in table:
        raise ValueError("[grid] thresholds is missing")
    settings = {**table, "thresholds": _thresholds(table["thresholds"])}
    if "betas" in settings:
        betas = settings["betas"] if isinstance(settings["betas"], list) else [settings["betas"]]
        settings["betas"] = [None if beta == "default" else beta for beta in betas]
    return Grid(**settings)


def _thresholds(value: Any) -> Any:
    """A list, or evenly spaced values as { start, stop, num }."""
    if not isinstance(value, dict):
        return value
    spaced = _read("[grid] thresholds", value, _Spaced)
    if not 1 <= spaced.num <= _MOST:
        raise ValueError(f"num of [grid] thresholds is {spaced.num}; expected at least 1 and at most {_MOST}")
    check_finite("start and stop of [grid] thresholds", spaced[:2])
    with np.errstate(over="ignore", invalid="ignore"):  # the grid refuses the values of ends that are too far apart
        return np.linspace(*spaced)


def _read(place: str, table: Any, kind: Any) -> Any:
    """A table with entries of these names and types; entries with a default may be left out."""
    _check_names(place, table, kind._fields)
    if missing := [name for name in kind._fields if name not in table and name not in kind._field_defaults]:
        raise ValueError(f"{place} {missing[0]} is missing")
    return kind(**fields_of(table, kind, table, f"of {place} "))


def _check_names(place: str, table: Any, known: tuple[str, ...]) -> None:
    if not isinstance(table, dict):
        raise ValueError(f"{place} is {table!r:.60}; expected a table")
    for name in table:
        if name not in known:
            raise ValueError(f"{f'{place} {name}'.strip()} is unknown; expected {', '.join(known)}")
