"""The table of tasks on the front pages."""

import re
from pathlib import Path

import pytest

from jaxcert.planning import task_table

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_the_table_is_what_the_command_gives(name):
    rows = re.findall(r"^\| (0\.\d+) \|(.*)\|$", (ROOT / name).read_text(), re.MULTILINE)
    safeties = [float(safety) for safety, _ in rows]
    numbers = [[int(number.replace(",", "")) for number in re.findall(r"[\d,]+", cells)] for _, cells in rows]
    assert safeties == [0.8, 0.9, 0.95, 0.99]
    for first, delta in enumerate((0.05, 0.01)):
        assert [row[first::2] for row in numbers] == task_table(safeties, delta=delta).num_tasks.tolist()
