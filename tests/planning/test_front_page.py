"""The table of tasks in the README."""

import re
from pathlib import Path

from jaxcert.planning import task_table

ROOT = Path(__file__).parents[2]


def test_the_table_is_what_the_command_gives():
    rows = re.findall(r"^\| (0\.\d+) \|(.*)\|$", (ROOT / "README.md").read_text(), re.MULTILINE)
    safeties = [float(safety) for safety, _ in rows]
    numbers = [[int(number.replace(",", "")) for number in re.findall(r"[\d,]+", cells)] for _, cells in rows]
    assert safeties == [0.8, 0.9, 0.95, 0.99]
    for first, delta in enumerate((0.05, 0.01)):
        assert [row[first::2] for row in numbers] == task_table(safeties, delta=delta).num_tasks.tolist()


def test_the_first_page_says_what_the_table_says():
    text = " ".join((ROOT / "docs" / "index.md").read_text().split())
    said = r"0\.05\$, (\d+) tasks certify a safety of 0\.8, (\d+) one of 0\.9 and (\d+) one of 0\.95"
    [numbers] = re.findall(said, text)
    assert list(map(int, numbers)) == task_table([0.8, 0.9, 0.95], delta=0.05).num_tasks[:, 0].tolist()
