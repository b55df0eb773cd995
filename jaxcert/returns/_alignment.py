"""Returns of several policies, with the same task in the same row."""

import dataclasses

import numpy as np

from jaxcert.returns._rows import Returns


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
