"""Deployed episodes in a table, as tasks in the order in which they arrived."""

from collections.abc import Mapping
from typing import Any

from jaxcert.monitoring._claims import check_certified
from jaxcert.tables._arranged import arrange_table
from jaxcert.tables._doubts import ask
from jaxcert.tables._file_tables import csv_table, json_lines_table
from jaxcert.tables._picked_rows import rows_of
from jaxcert.tables._roles import Roles

# What may stand before the first object of lines of JSON: a byte order mark and blanks.
_BEFORE = b"\xef\xbb\xbf \t\r\n"


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
    check_certified(certified, columns, others, lambda name: every.column(name).at(read))
    if found.returns.dtype == bool and tuple(support) != (0, 1):
        raise ValueError(f"{columns.value} holds successes; expected a number, since the support is not [0, 1]")
    if found.unread:
        ask(f"not read, so all rows count as one policy: {', '.join(found.unread)}")
    returns, counts = found.returns.astype(float).tolist(), found.num_rollouts.tolist()
    return [(str(label), each[:m]) for label, each, m in zip(found.tasks.tolist(), returns, counts, strict=True)]
