"""Deployed episodes in a table, as tasks in the order in which they arrived, compared with the certified rows."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jaxcert.tables._arranged import arrange_table
from jaxcert.tables._coded import Coded
from jaxcert.tables._doubts import ask
from jaxcert.tables._entries import as_text
from jaxcert.tables._file_tables import csv_table, json_lines_table
from jaxcert.tables._names import tells
from jaxcert.tables._picked_rows import condition, rows_of
from jaxcert.tables._roles import Columns, Roles

# What may stand before the first object of lines of JSON: a byte order mark and blanks.
_BEFORE = b"\xef\xbb\xbf \t\r\n"
# Names of columns that say nothing of which outcome they hold.
_ANY_OUTCOME = {"return", "returns", "total_return"}


def deployed_tasks(
    content: bytes, roles: Roles, *, support: tuple[float, float], certified: Mapping[str, Any]
) -> list[tuple[str, list[float]]]:
    """The label of each task, by its first row, and its returns in the order of their rows; none for no row.

    ``content``: CSV with a header, or lines of JSON. Words of success and failure are 1 and 0 in the support (0, 1),
    and refused in any other. ``certified``: what the certificate's file says about its returns, their columns and the
    picked rows; empty if unknown.
    """
    if roles.unfinished not in (None, low := support[0]):
        raise ValueError(f"unfinished is {roles.unfinished:g}; expected {low:g}, the worst return that is possible")
    begin = content.lstrip(_BEFORE)
    if not begin:
        return []
    table = (json_lines_table if begin.startswith(b"{") else csv_table)(content, roles)
    if not table.num_rows:
        return []
    found, columns = arrange_table(table, roles)
    assert found.rows is not None
    every, read = rows_of(table), found.rows[found.rows > 0] - 1
    others = [name for name in every.names if name not in columns]
    _check_certified(certified, columns, others, lambda name: every.column(name).at(read))
    if found.returns.dtype == bool and tuple(support) != (0, 1):
        raise ValueError(f"{columns.value} holds successes; expected a number, since the support is not [0, 1]")
    if found.unread:
        ask(f"not read, so all rows count as one policy: {', '.join(found.unread)}")
    returns, counts = found.returns.astype(float).tolist(), found.num_rollouts.tolist()
    return [(str(label), each[:m]) for label, each, m in zip(found.tasks.tolist(), returns, counts, strict=True)]


def _check_certified(
    data: Mapping[str, Any], columns: Columns, names: Sequence[str], entries: Callable[[Any], Coded]
) -> None:
    """Raise ValueError for deployed rows of another column, policy or condition than is certified; ask if unsure.

    ``data``: what the certificate's file says of its returns; ``columns`` are read, ``names`` are others.
    """
    known = data.get("columns") or {}
    for part, read in (("task", columns.task), ("value", columns.value)):
        if known.get(part) in names and known[part] != Columns().task:
            raise ValueError(
                f"the certificate is for the {part} in {known[part]!r:.42}, which these rows also have, but "
                f"{read!r:.42} is read; expected --{part} {known[part]:.42}"
            )
    value = known.get("value", columns.value)
    if value != columns.value and not {value, columns.value} & _ANY_OUTCOME and not re.search("[/,]", value):
        ask(
            f"the certificate is for the values in {value!r:.42}, but {columns.value!r:.42} is read: if this is "
            "another outcome, the certificate does not cover it"
        )
    _check_picked(data.get("roles") or {}, names, entries)


def _check_picked(roles: Mapping[str, Any], names: Sequence[str], entries: Callable[[Any], Coded]) -> None:
    """Compare these rows with those that the certificate selected."""
    picked = Roles(where=tuple(roles.get("where", ())), policy=roles.get("policy"), only=roles.get("only"))
    for text in picked.rows_picked:
        try:
            known = condition(text, names)
        except ValueError:  # of a column that is not among them
            continue
        name, found = known.name, [as_text(entry) for entry in entries(known.name).listed() if entry is not None]
        meant = known.meant(found)
        other = next((each for each in found if (each in meant) == (known.sign == "!=")), None)
        if other is None or tells(name).trial:
            continue
        told = f"the certificate is for rows with {text!r:.80}, but here {name:.42} is {other!r:.42}"
        if tells(name).apart or name == picked.policy or text == roles.get("group"):
            raise ValueError(f"{told}; expected only certified rows")
        ask(f"{told}: if outcomes depend on it, the certificate does not cover these rows")
