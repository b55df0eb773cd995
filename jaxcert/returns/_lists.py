"""Returns from lists, and those of several policies with the same task in the same row."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxcert.returns._rows import Returns, check_missing, in_double, padded


def from_lists(returns: Mapping[Any, Sequence[float]] | Sequence[Sequence[float]], *, strict: bool = False) -> Returns:
    """Returns from a list of numbers per task, of equal lengths or not.

    Args:
        returns: a list of lists, or a dictionary of lists with the label of each task; or arrays. Of numbers or, for
            successes, of bool.
        strict: refuse lists of which some are shorter than others.

    Returns:
        A ``Returns``, whose ``returns`` [n, m] and ``where`` go into ``jaxcert.certify``.

    Raises:
        ValueError: there is no task; one has no rollout, or something else than finite numbers, or successes where
            another has numbers; with ``strict``, rollouts are missing.

    Warns:
        UserWarning: without ``strict``, some tasks have fewer rollouts than others.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(action="ignore"):
        ...     data = from_lists({"push": [1.0, 0.5], "pull": [0.25]})
        >>> data.returns
        array([[1.  , 0.5 ],
               [0.25,  nan]])
        >>> data.where
        array([[ True,  True],
               [ True, False]])
    """
    rows = {label: _checked_row(label, row) for label, row in _labelled(returns)}
    if not rows:
        raise ValueError("there is no task; expected a list of returns of each")
    _check_alike(rows)
    tasks = np.repeat(np.arange(len(rows)), [len(row) for row in rows.values()])
    labels = np.fromiter(rows, object, len(rows)) if isinstance(returns, Mapping) else np.arange(len(rows))
    found = padded(tasks, np.concatenate(list(rows.values())), labels)
    check_missing(found, strict=strict)
    return found


def _labelled(returns: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(returns, Mapping):
        return returns.items()
    if isinstance(returns, str | bytes) or (not isinstance(returns, Sequence) and not np.ndim(returns)):
        raise ValueError(f"returns are {returns!r:.40}; expected a list or dictionary of lists of numbers")
    # Rows of an array of JAX one by one would be as many transfers.
    return enumerate(returns if isinstance(returns, Sequence) else np.asarray(returns))


def _checked_row(label: Any, row: Any) -> np.ndarray:
    """The returns of a task, finite float64 [m]."""
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
    return in_double(values)


def _check_alike(rows: dict[Any, np.ndarray]) -> None:
    """Refuse successes of some tasks beside numbers of others."""
    kinds = {values.dtype == bool: label for label, values in rows.items()}
    if len(kinds) > 1:
        raise ValueError(
            f"task {kinds[True]!r} has successes, of type bool, task {kinds[False]!r} numbers; expected one kind"
        )


def align_tasks(*policies: Returns) -> tuple[Returns, ...]:
    """The returns of each policy with rows in the order of the first one's tasks, by their labels.

    Tasks are numbered as they first appear in a table or file. If two tables list them in another order, row i is not
    the same task in both, and a comparison of the policies (`certify_improvement`, for example) would be wrong.

    Args:
        policies: a `Returns` for each policy, of `from_frame`, `from_lists`, `from_xarray` or `read_returns`.

    Returns:
        As many, in the order of the arguments.

    Raises:
        ValueError: there is none, a task occurs twice, or the policies have different tasks.

    Example:
        >>> import jaxcert
        >>> a = jaxcert.from_lists({"push": [1.0, 2.0], "pull": [3.0, 4.0]})
        >>> b = jaxcert.from_lists({"pull": [5.0, 6.0], "push": [7.0, 8.0]})
        >>> jaxcert.align_tasks(a, b)[1].returns
        array([[7., 8.],
               [5., 6.]])
    """
    if not policies:
        raise ValueError("there is no policy; expected the returns of each")
    places = [{label: i for i, label in enumerate(each.tasks.tolist())} for each in policies]
    for number, (each, rows) in enumerate(zip(policies, places, strict=True)):
        if len(rows) < len(each.tasks):
            raise ValueError(f"policy {number} has a task twice; expected a label of its own for each")
        if different := rows.keys() ^ places[0].keys():
            raise ValueError(
                f"policies 0 and {number} have different tasks, {len(different)} of one of them alone, such as "
                f"{next(iter(different))!r:.40}; expected both on the same tasks"
            )
    orders = [np.asarray([rows[label] for label in places[0]], int) for rows in places]
    return tuple(_reordered(each, order) for each, order in zip(policies, orders, strict=True))


def _reordered(found: Returns, order: np.ndarray) -> Returns:
    where = None if found.where is None else found.where[order]
    return dataclasses.replace(found, returns=found.returns[order], where=where, tasks=found.tasks[order])
