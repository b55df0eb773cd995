"""Several policies on the same tasks: their returns in one order, and doubts that tasks, units and conditions agree."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxcert.returns._paired import refuse_summary
from jaxcert.tables._doubts import listed, tell
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
    names = _names_of(policies)
    _ask_about_units(names, policies)
    _ask_about_conditions(names, policies)
    _ask_about_other_tasks(names, [each.of_tasks for each in policies])
    _ask_about_copies(names, found)
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


def _ask_about_copies(names: Sequence[str], policies: Sequence[Returns]) -> None:
    """Warn of policies of one file, or whose returns are equal in many trials, and not all of one value."""
    contents = [(getattr(each, "sha256", i), getattr(each, "policy", None)) for i, each in enumerate(policies)]
    for i, j in itertools.combinations(range(len(policies)), 2):
        one, other = (
            np.where(True if p.where is None else p.where, p.returns, np.nan) for p in (policies[i], policies[j])
        )
        is_told = one.size >= _FEWEST_EQUAL and len(np.unique(one)) > 1
        if contents[i] == contents[j] or (is_told and np.array_equal(one, other, equal_nan=True)):
            return tell("equal_policies", one=names[i], other=names[j])
    return None


def _ask_about_units(names: Sequence[str], policies: Sequence[Returns]) -> None:
    """Warn if one policy has returns up to 1 and another much larger ones, such as shares and percentages."""
    sizes = [float(np.nanmax(np.abs(each.returns.astype(np.float64)))) for each in policies]
    small, large = int(np.argmin(sizes)), int(np.argmax(sizes))
    if sizes[small] <= 1 and sizes[large] >= _OTHER_UNIT * max(sizes[small], 0.5):
        tell("units", small=names[small], most=sizes[small], large=names[large], others=sizes[large])


def _ask_about_conditions(names: Sequence[str], policies: Sequence[Returns]) -> None:
    """Warn of columns that hold one entry for each policy, and not the same, unless it names the policy."""
    differ, held = [], {name: each.constant for name, each in zip(names, policies, strict=True)}
    for column in dict.fromkeys(column for each in held.values() for column in each):
        found = {name: each[column] for name, each in held.items() if each.get(column, "") not in _NO_ENTRY}
        entries = list(dict.fromkeys(found.values()))
        if len(entries) > 1 and not tells(column).policies:
            differ.append(f"{column:.40} ({listed(entries, width=20)})")
    if differ:
        tell("conditions", differ=listed(differ, 8, 2000))


def _ask_about_other_tasks(names: Sequence[str], held: Sequence[Mapping[str, Mapping[Any, str]]]) -> None:
    """Warn of columns with one entry for each task in the tables of two policies, and not the same one."""
    differ = {}
    for name, each in zip(names[1:], held[1:], strict=True):
        for column in (column for column in each if column in held[0] and column not in differ):
            pairs = [(label, held[0][column][label], entry) for label, entry in each[column].items()]
            others = [pair for pair in pairs if as_seen(pair[1]) != as_seen(pair[2]) and not _NO_ENTRY & {*pair[1:]}]
            if others:
                label, one, other = others[0]
                told = f"task {label!s:.40} has {one!r:.40} in {names[0]}, {other!r:.40} in {name}"
                differ[column] = f"{column:.40} ({told}; {len(others)} of {len(pairs)} tasks)"
    if differ:
        tell("other_tasks", differ=listed(differ.values(), 4, 2000))


def stacked(data: Sequence[Returns]) -> tuple[np.ndarray, np.ndarray]:
    """The returns of several policies or seeds, [p, n, m], and which count: those with fewer rollouts are filled up."""
    shape = (len(data), len(data[0].tasks), max(each.most_rollouts for each in data))
    returns, where = np.zeros(shape, np.result_type(*(each.returns for each in data))), np.zeros(shape, bool)
    for i, each in enumerate(data):
        place = i, slice(None), slice(each.most_rollouts)
        where[place] = True if each.where is None else each.where
        returns[place] = np.where(where[place], each.returns, 0)
    return returns, where
