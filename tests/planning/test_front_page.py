"""The numbers of tasks on the front pages."""

import re
from pathlib import Path

from jaxcert.planning import task_table

ROOT = Path(__file__).parents[2]


def test_the_readme_says_what_the_command_gives():
    text = " ".join((ROOT / "README.md").read_text().split())
    said = r"a safety of 0\.8, 0\.9, 0\.95 or 0\.99 takes (\d+), (\d+), (\d+) or (\d+) tasks"
    [numbers] = re.findall(said + r"; if one misses, (\d+), (\d+), (\d+) or (\d+)\.", text)
    wanted = task_table([0.8, 0.9, 0.95, 0.99], delta=0.05).num_tasks
    assert list(map(int, numbers)) == [*wanted[:, 0], *wanted[:, 1]]


def test_the_first_page_says_what_the_table_says():
    text = " ".join((ROOT / "docs" / "index.md").read_text().split())
    [number] = re.findall(r"0\.05\$, (\d+) tasks certify a safety of 0\.9", text)
    assert int(number) == task_table([0.9], delta=0.05).num_tasks[0, 0]
