"""What a sweep takes where the grid or the call leaves it out: the defaults of ``certify`` for these returns."""

import dataclasses
import itertools
from typing import Any

from jaxcert.bounds._evaluate import declared_support
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._arguments import defaults
from jaxcert.returns._prepared import Support, split_support
from jaxcert.sweep._grid import Grid, check_pairs


def settled(grid: Grid, returns: Any) -> Grid:
    """The grid with the names of its bounds and methods, or ValueError where they are not the same in every entry."""
    if not isinstance(grid, Grid):
        raise ValueError(f"grid is {grid!r}; expected a jaxcert.sweep.Grid")
    given = itertools.product(grid.bounds or (None,), grid.methods or (None,))
    pairs = dict.fromkeys(defaults(bound, method, returns) for bound, method in given)
    bounds, methods = (tuple(dict.fromkeys(names)) for names in zip(*pairs, strict=True))
    if len(pairs) < len(bounds) * len(methods):
        missing = "methods" if grid.methods is None else "bounds"
        found = ", ".join(f"{method} with {bound}" for bound, method in pairs)
        raise ValueError(f"{missing} of the grid are left out, and differ by default ({found}); expected their names")
    check_pairs(bounds, methods)
    return dataclasses.replace(grid, bounds=bounds, methods=methods)


def settled_support(grid: Grid, returns: Any, support: Support | None) -> Support:
    """The support that is given, or (0, 1) where every bound of the grid knows it, or ValueError."""
    ends = [declared_support(BOUNDS[name], returns, support) for name in grid.bounds]
    return split_support(None if None in ends else ends[0])
