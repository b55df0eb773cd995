"""Files that hold the episodes of one environment, which are one task: Stable-Baselines3's monitors and evaluations."""

import csv
import dataclasses
import io
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxcert._files import parsed
from jaxcert.tables._episodes import check_quotes
from jaxcert.tables.formats._content import Content

_HEADER = b"#{"
_MONITOR = ("r", "l", "t")
_EVALUATIONS = ("timesteps", "results", "ep_lengths")
_LATER = "successes"


@dataclasses.dataclass(frozen=True)
class Episodes:
    """The episodes of a task.

    Attributes:
        values: the entries of each episode by name, numbers as text in a table.
        usual: the name of the value that is read if none is named.
        stage: when the policy was evaluated, which has to be the same for every task; None if it is not known.
    """

    values: dict[str, list[Any]]
    usual: str
    stage: int | None = None


@dataclasses.dataclass(frozen=True)
class OneTask:
    """A kind of file with the episodes of one task.

    Attributes:
        name: of several such files.
        recognises: whether a file is meant to be of this kind, by its content.
        read: its episodes.
        alone: why one such file is no sample of tasks.
        remark: what to know of certificates from such files; "" for nothing.
        is_log: whether a trainer writes such files, too, as it goes along.
    """

    name: str
    recognises: Callable[[Content], bool]
    read: Callable[[Content], Episodes]
    alone: str
    remark: str = ""
    is_log: bool = False


def _is_monitor(content: Content) -> bool:
    """Whether the first line is a comment of JSON, which no other table begins with."""
    return content.data.startswith(_HEADER) and content.data.split(b"\n", 1)[0].rstrip().endswith(b"}")


def _read_monitor(content: Content) -> Episodes:
    """Its rows after the head, one per episode: return `r`, length `l`, time `t`, and what else was logged."""
    if not content.data.endswith((b"\n", b"\r")):
        raise ValueError("its last line has no line ending, damaged or cut short")
    try:
        head, _, rest = content.data.decode("utf-8").partition("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"holds bytes that are not UTF-8 text ({error.reason})") from error
    parsed(head[1:])  # damage is an error
    check_quotes(content.data)
    names, *rows = [row for row in csv.reader(io.StringIO(rest)) if row] or [[]]
    if tuple(names[:3]) != _MONITOR or len(set(names)) < len(names):
        raise ValueError(f"has the columns {', '.join(names)[:80]}; expected {', '.join(_MONITOR)} first, each once")
    short = next((i for i, row in enumerate(rows) if len(row) != len(names)), None)
    if short is not None:
        raise ValueError(f"episode {short} has {len(rows[short])} entries, expected {len(names)}")
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return Episodes({name: column for name, column in columns.items() if name not in _MONITOR[1:]}, _MONITOR[0])


def _is_evaluations(content: Content) -> bool:
    names = {name.removesuffix(".npy") for name in content.entries}
    return "returns" not in names and {*_EVALUATIONS[:2]} <= names


def _read_evaluations(content: Content) -> Episodes:
    """Its last row: the episodes at the last checkpoint."""
    arrays = content.arrays(*_EVALUATIONS, _LATER)
    if missing := [name for name in _EVALUATIONS if name not in arrays]:
        raise ValueError(f"has no array {missing[0]!r}, found {', '.join(map(repr, arrays))}")
    _check_arrays(arrays)
    values = {name: arrays[name][-1].tolist() for name in ("results", _LATER) if name in arrays}
    return Episodes(values, "results", int(arrays["timesteps"][-1]))


def _check_arrays(arrays: dict[str, np.ndarray]) -> None:
    """Refuse other types and shapes than [checkpoints, episodes], and checkpoints in another order."""
    steps, shape = arrays["timesteps"], arrays["results"].shape
    if steps.dtype.kind not in "iu" or steps.ndim != 1 or not steps.size:
        raise ValueError(f"array 'timesteps' is {steps.dtype} of shape {steps.shape}, expected integers [checkpoints]")
    if (steps[1:] <= steps[:-1]).any():
        raise ValueError("array 'timesteps' does not increase; expected one row for each checkpoint, the last one last")
    for name, kinds in (("results", "fiu"), ("ep_lengths", "iu"), (_LATER, "b")):
        array = arrays.get(name)
        if array is None:
            continue
        if array.dtype.kind not in kinds or array.ndim != 2 or array.shape != (len(steps), *shape[1:]):
            expected = f"{'bool' if kinds == 'b' else 'numbers'} [{len(steps)} checkpoints, episodes]"
            raise ValueError(f"array {name!r} is {array.dtype} of shape {array.shape}, expected {expected}")


def _is_trainer(content: Content) -> bool:
    """Whether it is RLlib's log of a trainer, an object of JSON for each iteration."""
    head = content.data[:4096]
    return head.lstrip().startswith(b"{") and b'"training_iteration"' in head and b'"evaluation"' in head


def _read_trainer(content: Content) -> Episodes:
    """The episodes of the evaluation in the last iteration that has one."""
    rows = [parsed(line) for line in content.data.splitlines() if line.strip()]
    for row in reversed(rows):
        held = _object_in(row, "evaluation")
        runners = _object_in(held, "env_runners") or held
        for place in (_object_in(runners, "hist_stats"), runners):
            if isinstance(returns := place.get("episode_reward"), list):
                return Episodes({"episode_reward": returns}, "episode_reward", row.get("training_iteration"))
    raise ValueError("has no evaluation with the rewards of its episodes (hist_stats); expected one")


def _object_in(row: Any, name: str) -> dict[str, Any]:
    found = row.get(name) if isinstance(row, dict) else None
    return found if isinstance(found, dict) else {}


TRAINER = OneTask(
    "RLlib's evaluations",
    _is_trainer,
    _read_trainer,
    "its lines are iterations of training; the evaluation in the last of them gives the episodes of one task",
)
MONITOR = OneTask(
    "monitors of Stable-Baselines3",
    _is_monitor,
    _read_monitor,
    "holds the episodes of one environment, which are one task, and no sample of tasks",
    "a monitor of training holds episodes of a policy that changed: certify a fixed policy only",
    is_log=True,
)
EVALUATIONS = OneTask(
    "evaluations of Stable-Baselines3",
    _is_evaluations,
    _read_evaluations,
    "its rows are checkpoints of one environment, not tasks; the last of them gives the mean of one task",
)
