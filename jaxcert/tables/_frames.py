"""Returns from lists of lists, and from data frames with a row per rollout."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxcert.tables._arranged import arrange_table, padded
from jaxcert.tables._doubts import told_of
from jaxcert.tables._label_doubts import ask_about_labels, check_tasks
from jaxcert.tables._returns import Returns, check_missing
from jaxcert.tables._roles import Columns, Roles, conditions
from jaxcert.tables._sum_doubts import check_labels


def from_lists(returns: Mapping[Any, Sequence[float]] | Sequence[Sequence[float]], *, strict: bool = False) -> Returns:
    """Returns from a list of numbers per task, of equal lengths or not.

    Args:
        returns: lists of numbers or, for successes, of bool; or a dictionary of them by the labels of tasks; or arrays.
        strict: refuse what is warned of.

    Returns:
        A ``Returns``, whose ``returns`` [n, m] and ``where`` go into ``jaxcert.certify``.

    Raises:
        ValueError: there is no task; one has no rollout, or something else than finite numbers, or successes where
            another has numbers; the last label is of a sum; with ``strict``, rollouts are missing.

    Warns:
        UserWarning: some tasks have fewer rollouts than others, or labels may tell policies or trials apart.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     data = from_lists({"push": [1.0, 0.5], "pull": [0.25]})
        >>> data.returns
        array([[1.  , 0.5 ],
               [0.25,  nan]])
    """
    given: Any = returns
    if isinstance(given, str | bytes) or not (isinstance(given, Mapping | Sequence) or np.ndim(given)):
        raise ValueError(f"returns are {returns!r:.40}; expected a list or dictionary of lists of numbers")
    if not isinstance(given, Mapping):  # an array in one transfer, where rows of JAX would take one each
        given = dict(enumerate(given if isinstance(given, Sequence) else np.asarray(given)))
    rows = {label: _checked_row(label, row) for label, row in given.items()}
    if not rows:
        raise ValueError("there is no task; expected a list of returns of each")
    kinds = {values.dtype == bool: label for label, values in rows.items()}
    if len(kinds) > 1:
        told = f"task {kinds[True]!r} has successes, of type bool, task {kinds[False]!r} numbers"
        raise ValueError(f"{told}; expected one kind")
    labels = np.fromiter(rows, object) if isinstance(returns, Mapping) else np.arange(len(rows))
    if isinstance(returns, Mapping):
        with told_of("", strict, 4):
            check_labels([*rows], "of tasks")
            ask_about_labels([*rows])
    tasks = np.repeat(np.arange(len(rows)), [len(row) for row in rows.values()])
    found = padded(tasks, np.concatenate([*rows.values()]), labels)
    check_missing(found, strict=strict)
    return dataclasses.replace(found, rows=None)


def _checked_row(label: Any, row: Any) -> np.ndarray:
    """The returns of a task, finite [m]."""
    try:
        values = np.asarray(row)
    except ValueError:  # lists of unequal lengths within
        values = np.asarray(None)
    if (values.dtype.kind not in "biuf" and values.size) or values.ndim != 1:
        raise ValueError(f"task {label!r} has {row!r:.40}; expected a list of numbers")
    if not values.size:
        raise ValueError(f"task {label!r} has no rollout; expected at least one")
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ValueError(f"task {label!r}, rollout {bad[0]} is {values[bad[0]]}; expected a finite number")
    return values


def from_frame(
    frame: Any,
    *,
    task: str = "task_id",
    trial: str | None = "episode_id",
    value: str = "total_return",
    successes: str | None = None,
    trials: str | None = None,
    where: str | Sequence[str] = (),
    policy: str | None = None,
    only: str | None = None,
    strata: str | None = None,
    unfinished: float | None = None,
    tasks: int | Sequence[Any] | None = None,
    strict: bool = False,
) -> Returns:
    """Returns from a frame with one row per rollout, of pandas, Polars or pyarrow.

    Roles of columns, the order of tasks and rollouts, and what is refused are as in ``jaxcert.tables.read_returns``.

    Args:
        frame: the table; a pandas or Polars DataFrame, or a pyarrow Table. Levels of an index are columns, too.
        task, trial, value, successes, trials, where, policy, only, strata, unfinished, tasks: as in ``read_returns``;
            entries may be of any type, such as text or numbers, also numbers as text.
        strict: refuse what is warned of, as a frame in which some tasks have fewer rollouts than others.

    Returns:
        A ``Returns``, whose ``returns`` [n, m] and ``where`` go into ``jaxcert.certify``.

    Raises:
        ValueError: as in ``read_returns``, of the frame.

    Warns:
        UserWarning: tasks have fewer rollouts than others, or rows may be no single trials of one policy.

    Example:
        >>> import pandas
        >>> frame = pandas.DataFrame({"env": ["a", "a", "b", "b"], "success": [True, False, True, True]})
        >>> from_frame(frame, task="env", trial=None).returns
        array([[ True, False],
               [ True,  True]])
    """
    roles = Roles(task, trial, value, successes, trials, conditions(where), policy, only, strata, unfinished, tasks)
    with told_of("", strict, 4):
        found, _ = arrange_table(frame, roles)
        check_tasks(found.tasks, roles.tasks)
    check_missing(found, strict=strict)
    return found


def from_xarray(array: Any, *, task: str = "task", trial: str = "trial", strict: bool = False) -> Returns:
    """Returns from an xarray DataArray with a dimension of tasks and one of trials; NaN is a missing rollout.

    NaN as the return of an episode that was run, but diverged or crashed, is no missing rollout: put the lower end of
    the support in its place before.

    Args:
        array: the DataArray; select one value along any other dimension before.
        task: the dimension of tasks; its coordinate, if there is one, labels them.
        trial: the dimension of trials.
        strict: refuse an array in which some tasks have fewer rollouts than others.

    Returns:
        A ``Returns``, whose ``returns`` [n, m] and ``where`` go into ``jaxcert.certify``.

    Raises:
        ValueError: it is no DataArray with these two dimensions; a task has no rollout; or as in ``read_returns``.

    Warns:
        UserWarning: without ``strict``, some tasks have fewer rollouts than others.

    Example:
        >>> import xarray
        >>> array = xarray.DataArray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dims=("seed", "world"))
        >>> from_xarray(array, task="world", trial="seed").returns.shape
        (3, 2)
    """
    if not hasattr(array, "to_series") or not hasattr(array, "transpose"):
        raise ValueError(f"has type {type(array).__name__}, expected an xarray DataArray")
    if sorted(map(str, array.dims)) != sorted([task, trial]):
        found = ", ".join(map(str, array.dims))
        raise ValueError(f"has the dimensions {found or 'none'}; expected {task} and {trial}")
    rows = array.transpose(task, trial).to_series().dropna().reset_index(name=Columns().value)
    labels = array[task].values.tolist()  # each has to have a rollout
    return dataclasses.replace(from_frame(rows, task=task, trial=trial, tasks=labels, strict=strict), rows=None)
