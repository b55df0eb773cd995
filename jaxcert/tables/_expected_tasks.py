"""Whether all tasks are there that should be: their number or labels, and gaps in labels that are numbered."""

import re
from pathlib import Path
from typing import Any

import numpy as np

_WHOLE = re.compile(r"[0-9]{1,9}", re.ASCII)
_MOST_NAMED = 6


def check_tasks(labels: np.ndarray, wanted: Any) -> None:
    """Raise ValueError unless there are so many tasks, or those with these labels.

    ``wanted``: a number, labels, or the name of a file with a label in each line.
    """
    found, expected = [str(label) for label in labels.tolist()], _expected(wanted)
    if isinstance(expected, int):
        if len(found) != expected:
            lacking = f"; {gaps}" if (gaps := gaps_in(labels)) else ""
            raise ValueError(f"has {len(found)} tasks; expected {expected}, as tasks says (--tasks){lacking}")
        return
    missing, unknown = ([each for each in a if each not in set(b)] for a, b in ((expected, found), (found, expected)))
    if missing or unknown:
        told = [f"{len(missing)} of {len(expected)} tasks have no row: {_listed(missing)}"] if missing else []
        told += [f"{len(unknown)} tasks are not among those expected: {_listed(unknown)}"] if unknown else []
        raise ValueError(f"{'; '.join(told)}; expected the tasks that are listed (--tasks)")


def gaps_in(labels: np.ndarray) -> str:
    """Which labels are missing between others that are numbered, in words; empty for none.

    Numbers of which fewer than two thirds are there are no numbering.
    """
    texts = [str(label) for label in labels.tolist()]
    if len(texts) < 3 or not all(_WHOLE.fullmatch(text) for text in texts):
        return ""
    found = {int(text) for text in texts}
    low, high = min(found), max(found)
    if 3 * len(found) < 2 * (high + 1 - low):
        return ""
    missing = [f"{i}" for i in range(low, high + 1) if i not in found]
    if not missing:
        return ""
    return f"labels of tasks go from {low} to {high} without {_listed(missing)}: {len(missing)} of them have no row"


def _expected(wanted: Any) -> int | list[str]:
    if isinstance(wanted, str) and not wanted.isdigit():
        lines = Path(wanted).read_text(encoding="utf-8").splitlines()
        return [line.strip() for line in lines if line.strip()]
    return int(wanted) if isinstance(wanted, str | int) else [str(each) for each in wanted]


def _listed(labels: list[str]) -> str:
    more = f" and {len(labels) - _MOST_NAMED} more" if len(labels) > _MOST_NAMED else ""
    return ", ".join(label[:40] for label in labels[:_MOST_NAMED]) + more
