"""A grid of settings with its returns, from a TOML file."""

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from jaxcert._files import content_of, in_file
from jaxcert.sweep._grid import Grid

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
