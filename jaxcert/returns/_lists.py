"""Returns from a list per task."""

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
