"""All cells, in the order in which they run; another group is another line."""

from benchmarks.coverage import end_to_end, given_bounds, one_task
from benchmarks.coverage.cell import Cell

_ALL = (
    one_task.cells,
    given_bounds.cells,
    end_to_end.cells,
)


def cells() -> list[Cell]:
    """Of all groups."""
    return [cell for group in _ALL for cell in group()]
