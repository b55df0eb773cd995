"""Several policies on the same tasks: their returns in one order, and doubts that tasks, units and conditions agree."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxcert.returns._paired import refuse_summary
from jaxcert.tables._doubts import Found, judge, listed
from jaxcert.tables._entries import as_seen
from jaxcert.tables._names import tells
from jaxcert.tables._returns import Returns

# Returns larger by this factor than returns up to 1 may be per cent, or marks up to 5 or 10.
_OTHER_UNIT = 4
_FEWEST_EQUAL = 10  # returns, which are hardly equal by chance
_NO_ENTRY = {"", "nan"}


def align_tasks(*policies: Returns) -> tuple[Returns, ...]:
    """The returns of each policy with rows in the order of the first one's tasks, by their labels.

    Tasks are numbered as they first appear in a table or file. If two tables list them in another order, row i is not
    the same task in both, and a comparison of the policies (`certify_improvement`, for example) would be wrong.

    Args:
        policies: a `Returns` for each policy, of `from_frame`, `from_lists`, `from_xarray` or `read_returns`.

    Returns:
        As many ``Returns``, in the order of the arguments.

    Raises:
        ValueError: there is none, a task occurs twice, the policies have different tasks, or one is a summary.

    Warns:
        UserWarning: returns may be in other units, or a column holds one entry for each policy, or for each task, and
            not the same.

    Example:
        >>> import jaxcert
        >>> a = jaxcert.from_lists({"push": [1.0, 2.0], "pull": [3.0, 4.0]})
        >>> b = jaxcert.from_lists({"pull": [5.0, 6.0], "push": [7.0, 8.0]})
        >>> jaxcert.align_tasks(a, b)[1].returns
        array([[7., 8.],
               [5., 6.]])
    """
    found = in_one_order(*policies)
    judge((units, conditions, other_tasks, equal_policies), Policies(_names_of(policies), found))
    return found


def in_one_order(*policies: Returns) -> tuple[Returns, ...]:
    """As ``align_tasks``, without its warnings, for later steps."""
    if not policies:
        raise ValueError("there is no policy; expected the returns of each")
    for number, each in enumerate(policies):
        refuse_summary(f"returns of policy {number}", each.returns)
    places = [{label: i for i, label in enumerate(each.tasks.tolist())} for each in policies]
    names = _names_of(policies)
    for name, each, rows in zip(names, policies, places, strict=True):
        if len(rows) < len(each.tasks):
            raise ValueError(f"{name} has a task twice; expected a label of its own for each")
        if different := rows.keys() ^ places[0].keys():
            label = next(iter(different))
            having, lacking = (name, names[0]) if label in rows else (names[0], name)
            raise ValueError(
                f"{having} has the task {label!r:.40}, {lacking} has not (tasks that one of them lacks: "
                f"{len(different)}); expected both on the same tasks"
            )
    orders = [np.asarray([rows[label] for label in places[0]], int) for rows in places]
    return tuple(each.in_order(order) for each, order in zip(policies, orders, strict=True))


def _names_of(policies: Sequence[Returns]) -> list[str]:
    return [each._name or f"policies[{number}]" for number, each in enumerate(policies)]


# --- doubts that policies are several, and were tried alike -----------------------------------------------------------


class Policies(NamedTuple):
    """Several policies by their names, with their tasks in one order."""

    names: Sequence[str]
    found: Sequence[Returns]


def equal_policies(it: Policies) -> Found:
    """Policies are of one file, or their returns are equal in many trials, and not all of one value."""
    contents = [(getattr(each, "sha256", i), getattr(each, "policy", None)) for i, each in enumerate(it.found)]
    returns = [np.where(True if each.where is None else each.where, each.returns, np.nan) for each in it.found]
    for i, j in itertools.combinations(range(len(returns)), 2):
        is_told = returns[i].size >= _FEWEST_EQUAL and len(np.unique(returns[i])) > 1
        if contents[i] == contents[j] or (is_told and np.array_equal(returns[i], returns[j], equal_nan=True)):
            return {"one": it.names[i], "other": it.names[j]}
    return None


def units(it: Policies) -> Found:
    """One policy has returns up to 1 and another much larger ones, such as shares and percentages."""
    sizes = [float(np.nanmax(np.abs(each.returns.astype(np.float64)))) for each in it.found]
    small, large = int(np.argmin(sizes)), int(np.argmax(sizes))
    is_told = sizes[small] <= 1 and sizes[large] >= _OTHER_UNIT * max(sizes[small], 0.5)
    told = {"small": it.names[small], "most": sizes[small], "large": it.names[large], "others": sizes[large]}
    return told if is_told else None


def conditions(it: Policies) -> Found:
    """Columns hold one entry for each policy, and not the same, unless it names the policy."""
    differ, held = [], [each.constant for each in it.found]
    for column in dict.fromkeys(column for each in held for column in each):
        entries = dict.fromkeys(each[column] for each in held if each.get(column, "") not in _NO_ENTRY)
        if len(entries) > 1 and not tells(column).policies:
            differ.append(f"{column:.40} ({listed(entries, width=20)})")
    return {"differ": listed(differ, 8, 2000)} if differ else None


def other_tasks(it: Policies) -> Found:
    """Columns hold one entry for each task in the tables of two policies, and not the same one."""
    differ, (first, *others) = {}, (each.of_tasks for each in it.found)
    for name, each in zip(it.names[1:], others, strict=True):
        for column in (column for column in each if column in first and column not in differ):
            pairs = [(label, first[column][label], entry) for label, entry in each[column].items()]
            apart = [pair for pair in pairs if as_seen(pair[1]) != as_seen(pair[2]) and not _NO_ENTRY & {*pair[1:]}]
            if apart:
                label, one, other = apart[0]
                told = f"task {label!s:.40} has {one!r:.40} in {it.names[0]}, {other!r:.40} in {name}"
                differ[column] = f"{column:.40} ({told}; {len(apart)} of {len(pairs)} tasks)"
    return {"differ": listed(differ.values(), 4, 2000)} if differ else None


def stacked(data: Sequence[Returns]) -> tuple[np.ndarray, np.ndarray]:
    """The returns of several policies or seeds, [p, n, m], and which count: those with fewer rollouts are filled up."""
    shape = (len(data), len(data[0].tasks), max(each.most_rollouts for each in data))
    returns, where = np.zeros(shape, np.result_type(*(each.returns for each in data))), np.zeros(shape, bool)
    for i, each in enumerate(data):
        place = i, slice(None), slice(each.most_rollouts)
        where[place] = True if each.where is None else each.where
        returns[place] = np.where(where[place], each.returns, 0)
    return returns, where
