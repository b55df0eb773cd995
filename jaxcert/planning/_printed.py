"""Results that are printed as tables."""

import dataclasses
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class Result:
    """A dataclass whose arrays are printed as a table."""

    @property
    def wish(self) -> str:
        """What was asked for, in words; empty where the table says it."""
        return ""

    def columns(self) -> dict[str, list[str]]:
        """Columns of text by their heading."""
        raise NotImplementedError

    def remarks(self) -> list[str]:
        """What has to be said beside the table."""
        return []

    def __str__(self) -> str:
        return "\n".join([*([f"Wanted: {self.wish}"] if self.wish else []), as_text(self.columns()), *self.remarks()])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        fields = dataclasses.asdict(self).items()
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in fields}


def as_text(columns: dict[str, list[str]]) -> str:
    """Columns of text, aligned to the right."""
    widths = {name: max(map(len, [name, *cells])) for name, cells in columns.items()}
    rows = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    return "\n".join("  ".join(map(str.rjust, row, widths.values())) for row in rows)
