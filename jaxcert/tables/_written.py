"""Write returns to files that `read_returns` reads, and read files of arrays."""

import contextlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from jaxcert._types import Array
from jaxcert.returns._labels import check_printable
from jaxcert.tables._arrays import other_arrays, read_arrays, whole_array
from jaxcert.tables._coded import coded
from jaxcert.tables._doubts import WORDS, judge, listed, tell, words_in
from jaxcert.tables._entries import TAKEN_FOR_TWO, as_text, check_spelling
from jaxcert.tables._files import check_output, check_suffix, content_of, damage_told, in_file, parsed, whole_file
from jaxcert.tables._label_doubts import ask_about_labels
from jaxcert.tables._names import may_tell_tasks, tells
from jaxcert.tables._outcome_doubts import BY_NAME, Outcomes, pasted
from jaxcert.tables._read import Read, check_beside
from jaxcert.tables._returns import Returns
from jaxcert.tables._roles import Columns, Roles

_SUFFIX = ".npz"
# Names with a meaning for readers.
_TAKEN = {*Columns(), "about", "file", "returns", "where"}


def write_returns(
    path: str | PathLike[str],
    returns: Array,
    *,
    tasks: Mapping[str, Array | Sequence[float]] | None = None,
    facts: Mapping[str, Any] | None = None,
    replace: bool = True,
) -> None:
    """Write returns [n, m] to an `.npz` file, completely or not at all.

    It has arrays `returns` [n, m], one per parameter of the ``tasks`` [n], and `about`, the ``facts`` of their origin
    as JSON. Without ``replace`` a file that exists stays, and a FileExistsError says where the new one is. ValueError
    for another suffix, shapes that do not fit, or a parameter with a name that means something else in these files.

    Example:
        >>> import pathlib, tempfile
        >>> from jaxcert.tables import read_returns
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "returns.npz"
        ...     write_returns(path, np.ones((3, 2)), tasks={"mass": np.arange(3.0)}, facts={"policy": "mine"})
        ...     read_returns(path).returns.shape, returns_facts(path)
        ((3, 2), {'policy': 'mine'})
    """
    check_suffix(check_output(path), [_SUFFIX])
    values = np.asarray(returns)
    columns = {name: np.asarray(column) for name, column in (tasks or {}).items()}
    if values.ndim != 2 or any(column.shape != values.shape[:1] for column in columns.values()):
        shapes = {name: column.shape for name, column in columns.items()}
        raise ValueError(f"returns have shape {values.shape}, tasks {shapes}; expected [n, m], and [n] each")
    if taken := sorted(_TAKEN.intersection(columns)):
        raise ValueError(f"tasks have parameters called {', '.join(taken)}, which mean something else in these files")
    if any(column.dtype == object for column in (values, *columns.values())):
        raise ValueError("returns and parameters of tasks must be numbers")
    arrays: dict[str, Any] = {"returns": values, "about": np.array(json.dumps(dict(facts or {}))), **columns}
    with whole_file(path, replace=replace) as file:
        np.savez_compressed(file, **arrays)


def returns_facts(path: str | PathLike[str]) -> dict[str, Any]:
    """The origin of the returns in a file of `write_returns`, such as policy and seed.

    Empty for a folder, for a file of another kind, and for a file that does not state it or states something twice.
    FileNotFoundError without such a file, ValueError for one that is damaged.
    """
    if Path(path).suffix.lower() != _SUFFIX or Path(path).is_dir():
        return {}
    content, facts = content_of(path, "returns"), None
    with in_file(path):
        read_arrays(content, (), ())  # damage is an error, what others keep under this name is none
        with contextlib.suppress(ValueError):
            facts = parsed(str(read_arrays(content, ("about",), ())["about"]))
    return facts if isinstance(facts, dict) else {}


def read_npz(content: bytes, roles: Roles) -> tuple[Returns, dict[str, Any]]:
    """The array named as value, by default `returns`, and `where`, if there is one; other arrays are not read."""
    name, strata = "returns" if roles.value == Columns().value else roles.value, roles.strata
    arrays = read_arrays(content, [] if name == "returns" else [name], ["returns", "where"])
    if name not in arrays:
        raise ValueError(_not_named({name: array.shape for name, array in read_arrays(content, []).items()}))
    returns, where = _checked_returns(arrays[name], f"array {name!r}"), arrays.get("where")
    if not roles.metric:
        judge(BY_NAME, Outcomes(name, returns))
    if where is not None and where.dtype != np.bool_:
        raise ValueError(f"array 'where' has dtype {where.dtype}, expected bool")
    if where is not None and where.shape != returns.shape:
        raise ValueError(f"array 'where' has shape {where.shape}, expected that of {name!r}, {returns.shape}")
    others = other_arrays(content, (name, "where", "about", strata))
    plain = {name: each for name, each in others.items() if each is not None}
    _check_others(plain, returns)
    of_tasks = _check_beside(plain, returns, name)
    labels = None if strata is None else _labels(content, strata, len(returns))
    unread = tuple(each for each in others if not (each in of_tasks and _labels_tasks(each)))
    known = {"strata": labels, "unread": unread, "of_tasks": of_tasks}
    found = Returns(returns, where, np.arange(len(returns)), **known)
    return found, {} if name == "returns" else {"columns": Columns(value=name), "usual_columns": Columns()}


def _labels_tasks(name: str) -> bool:
    """Whether an array labels the tasks by its name."""
    return words_in(name) <= WORDS.labels and tells(_singular(name)).task


def _labels(content: bytes, name: str, num_tasks: int) -> np.ndarray:
    """The array with a label for each task: a word or a whole number."""
    labels = read_arrays(content, [name])[name]
    if labels.shape != (num_tasks,) or labels.dtype.kind not in "biuU":
        found = f"shape {labels.shape} and dtype {labels.dtype}"
        raise ValueError(f"array {name!r:.40} has {found}; expected a word or a whole number for each task")
    check_spelling(labels, f"array {name!r:.40} holds", TAKEN_FOR_TWO)
    check_printable(f"array {name!r:.40} holds", labels.tolist())
    return labels


def _check_beside(arrays: Mapping[str, np.ndarray], returns: np.ndarray, value: str) -> dict[str, dict[int, str]]:
    """Check other arrays as columns of a table with a row for each task, or for each rollout where a name asks for it.

    Returns the entries that may describe the tasks, by the places of these.
    """
    (n, m), told = returns.shape, {name: tells(_singular(name)) for name in arrays}
    of_task = {name: each for name, each in arrays.items() if each.shape == (n,) and each.dtype.kind in "biufU"}
    shapes = ((n, m), (m,)) if m != n else ((n, m),)  # an entry for each rollout, or for each column of them
    of_rollout = {
        name: np.broadcast_to(arrays[name], (n, m)).ravel()
        for name, each in told.items()
        if m > 1 and arrays[name].shape in shapes and (each.apart or each.aside)
    }
    for columns, outcomes, places in (
        (of_task, returns.mean(axis=1), np.arange(n)),
        (of_rollout, returns.ravel(), np.repeat(np.arange(n), m)),
    ):
        column = {_singular(name): coded(each) for name, each in columns.items()}
        table = Columns("task", "", value), coded(places), None, [*column], column.__getitem__, [coded(outcomes)]
        check_beside(Read(*table, picked=""))
    described = (name for name in of_task if may_tell_tasks(name, several=True))
    return {name: dict(enumerate(map(as_text, of_task[name].tolist()))) for name in described}


def _singular(name: str) -> str:
    """The name of one entry: arrays have plural names."""
    return name if name.endswith("ss") else re.sub("s$", "", re.sub("ies$", "y", name))


def _check_others(arrays: Mapping[str, np.ndarray], returns: np.ndarray) -> None:
    """Raise ValueError for an array that numbers moments of training, one for each row of returns.

    Warn of one by whose name tasks are labelled, with labels that repeat, or with an entry for each column of returns.
    """
    for name, array in arrays.items():
        shape, rows, told = array.shape, returns.shape, tells(name)
        are_moments = (told.moment or words_in(name) & WORDS.moments) and array.dtype.kind in "iuf"
        if are_moments and shape == rows[:1] and len(array) > 1 and np.all(np.diff(array) > 0):
            tell("array_of_moments", name=name)
        if not tells(name.rstrip("s")).task:
            continue
        if shape == rows[:1] and _labels_tasks(name) and array.dtype.kind != "f":  # parameters may coincide
            ask_about_labels(array.tolist())
            if (count := len(np.unique(array))) < len(array):
                tell("labels_of_array", name=name, count=count, rows=len(array))
        if shape == rows[1:] != rows[:1]:
            tell("transposed", name=name, shape=shape, rows=rows)


def _not_named(shapes: dict[str, tuple[int, ...]]) -> str:
    """Advice on a file without an array `returns`."""
    found = listed((f"{name[:40]!r} {shape}" for name, shape in shapes.items()), 8, 80) or "no array at all"
    return (
        f"has no array 'returns', found {found}; expected one of that name, as np.savez(returns=...) writes, or the "
        f"name of the one of returns [num_tasks, num_rollouts] by value (--value)"
    )


def read_npy(content: bytes, roles: Roles) -> tuple[Returns, dict[str, Any]]:
    """The only array of an `.npy` file. Nothing is ever unpickled."""
    if roles.value != Columns().value or roles.strata is not None:
        raise ValueError(
            f"has one array and no name {roles.strata or roles.value!r:.60}; expected no value and no strata"
        )
    if not content.startswith(b"\x93NUMPY"):
        raise ValueError("not an .npy file: it does not start as one")
    with damage_told("an .npy file"):
        array = whole_array(io.BytesIO(content))
    returns = _checked_returns(array, "its array")
    return Returns(returns, None, np.arange(len(returns))), {}


def _checked_returns(returns: np.ndarray, name: str) -> np.ndarray:
    """Returns as float32, float64 or bool [n, m]; integers become float64, float16 float32."""
    if returns.dtype.kind not in "biuf":
        raise ValueError(f"{name} has dtype {returns.dtype}, expected real numbers")
    if returns.ndim != 2:
        count = len(returns) if returns.ndim == 3 else 0
        way_on = (
            f"; of {count} policies or seeds, whose rollouts are none of one policy, write each, returns[i], to a file "
            f"of its own and certify it at delta / {count}; in Python jaxcert.certify takes all of them, one "
            "certificate for each"
        )
        shape = f"{name} has shape {returns.shape}, expected [num_tasks, num_rollouts]"
        raise ValueError(f"{shape}{way_on if count else ''}")
    if returns.size == 0:
        raise ValueError(f"{name} has shape {returns.shape}, expected at least one task and one rollout")
    judge((pasted,), Outcomes(name, returns))
    if returns.dtype == bool:
        return returns
    narrow = returns.dtype.kind == "f" and returns.dtype.itemsize <= 4
    return returns.astype(np.float32 if narrow else np.float64)
