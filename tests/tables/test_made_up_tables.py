"""Tables that nobody thought of: each is read as it is meant, or refused in one line; there is no other error."""

import contextlib
import functools
import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from jaxcert import from_frame
from jaxcert.tables import read_returns

_ENTRIES = {
    "integers": lambda rng, i: int(rng.integers(-3, 5)),
    "floats": lambda rng, i: float(rng.normal()),
    "zeros and ones": lambda rng, i: int(rng.integers(2)),
    "bools": lambda rng, i: bool(rng.integers(2)),
    "words": lambda rng, i: str(rng.choice(["pass", "fail"])),
    "names": lambda rng, i: str(rng.choice(["a", "b", "c"])),
    "lists": lambda rng, i: [int(rng.integers(3))],
    "objects": lambda rng, i: {"policy": str(rng.choice(["x", "y"])), "n": i},
    "counts": lambda rng, i: f"{int(rng.integers(3))}/{int(rng.integers(1, 4))}",
    "blanks": lambda rng, i: None if rng.random() < 0.3 else 1.0,
    "lost": lambda rng, i: "abandoned" if rng.random() < 0.2 else "success",
    "mixed": lambda rng, i: [1, "1", 1.0, True, None, "x", [1], 10**30][int(rng.integers(8))],
    "infinite": lambda rng, i: float(rng.choice([np.inf, 1.0, np.nan])),
}
_NAMES = ("task", "task_id", "env", "trial", "run", "seed", "step", "t", "policy", "arm", "score", "success", "reward")
_NAMES += ("failed", "trials", "successes", "n", "meta", "prompt", "x_1", "x_2", "", "a.b")


def made_up(seed):
    """Rows, and the roles by which they are read."""
    rng = np.random.default_rng(seed)
    names = list(dict.fromkeys(rng.choice(_NAMES, int(rng.integers(2, 7))).tolist()))
    kinds = {name: list(_ENTRIES)[int(rng.integers(len(_ENTRIES)))] for name in names}
    if rng.random() < 0.7:
        kinds |= {"task": "names", "success": str(rng.choice(["bools", "words", "zeros and ones", "lost", "blanks"]))}
    count = int(rng.integers(0, 30))
    rows = [{name: _ENTRIES[kind](rng, i) for name, kind in kinds.items()} for i in range(count)]
    roles: dict[str, Any] = {"trial": None} if rng.random() < 0.6 else {}
    for role, share in (("task", 0.1), ("value", 0.1), ("successes", 0.05), ("trials", 0.05), ("policy", 0.1)):
        if rng.random() < share:
            roles[role] = str(rng.choice(names))
    roles |= {"unfinished": 0} if rng.random() < 0.3 else {}
    return rows, roles


@pytest.mark.parametrize("part", range(6))
def test_a_table_is_read_or_refused(tmp_path, part):
    num_read = 0
    for seed in range(50 * part, 50 * part + 50):
        rows, roles = made_up(seed)
        (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        frame = pd.DataFrame(rows)
        frame.to_csv(tmp_path / "r.csv", index=False)
        for read in (
            functools.partial(from_frame, frame, **roles),
            functools.partial(read_returns, tmp_path / "r.csv", **roles),
            functools.partial(read_returns, tmp_path / "r.jsonl", **roles),
        ):
            num_read += _is_sound(read, rows, roles)
    assert num_read


def _is_sound(read, rows, roles):
    """Whether it was read; what was read has the rows of the table, and no other value than its own."""
    found = None
    with warnings.catch_warnings(), contextlib.suppress(ValueError):
        warnings.simplefilter("ignore", UserWarning)
        found = read()
    if found is None:
        return False
    assert found.num_rollouts.sum() == len(rows) or found.counted
    assert np.isfinite(found.returns[found.where] if found.where is not None else found.returns).all()
    policies = {json.dumps(row.get("policy")) for row in rows}
    per_task = {}
    for row in rows:
        per_task.setdefault(str(row.get(roles.get("task", "task"))), set()).add(json.dumps(row.get("policy")))
    if roles.get("task", "task") == "task" and "task" in rows[0] and roles.get("value") != "policy":
        assert len(policies) == 1 or max(map(len, per_task.values())) == 1 or roles.get("trial") == "policy"
    return True
