"""Files that hold the episodes of one environment, which are one task: Stable-Baselines3's monitors and evaluations."""

from typing import Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert.tables._arrays import read_arrays
from jaxcert.tables._file_tables import text_table
from jaxcert.tables._files import damage_told, parsed
from jaxcert.tables._json_records import Place
from jaxcert.tables.formats._found_rollouts import Content, Format

STAGE = "training step"  # when the policy was evaluated: a column that has to have one entry for all tasks
_MONITOR = ("r", "l", "t")
_EVALUATIONS = ("timesteps", "results")
_OF_TRAINING = "a monitor of training holds episodes of a policy that changed: certify a fixed policy only"


def _is_monitor(content: Content) -> bool:
    """Whether the first line is a comment of JSON, which no other table begins with."""
    return content.data.startswith(b"#{") and content.data.split(b"\n", 1)[0].rstrip().endswith(b"}")


def _read_monitor(content: Content) -> Any:
    """Its rows after the head, one per episode: return `r`, length `l`, time `t`, and what else was logged."""
    if not content.data.endswith((b"\n", b"\r")):
        raise ValueError("its last line has no line ending, damaged or cut short")
    head, _, rest = content.data.partition(b"\n")
    parsed(head[1:])  # damage is an error
    table, _ = text_table(b"\n" + rest, {*_MONITOR})  # so that lines are numbered as in the file
    names = table.column_names
    if tuple(names[:3]) != _MONITOR or len(set(names)) < len(names):
        raise ValueError(f"has the columns {', '.join(names)[:80]}; expected {', '.join(_MONITOR)} first, each once")
    return table.drop_columns([*_MONITOR[1:]])


def _is_evaluations(content: Content) -> bool:
    return "returns" not in content.entries and {*_EVALUATIONS} <= content.entries.keys()


def _read_evaluations(content: Content) -> Any:
    """Its last row: the episodes at the last checkpoint."""
    arrays = read_arrays(content.data, _EVALUATIONS, ["successes"])
    steps = arrays.pop("timesteps")
    if steps.dtype.kind not in "iu" or steps.ndim != 1 or not steps.size or np.any(np.diff(steps) <= 0):
        raise ValueError(f"array 'timesteps' is {steps.tolist()!s:.60}; expected steps of checkpoints that go up")
    for name, array in arrays.items():
        if array.ndim != 2 or array.shape != (len(steps), *arrays["results"].shape[1:]):
            raise ValueError(f"array {name!r} has shape {array.shape}; expected [{len(steps)} checkpoints, episodes]")
    return _episodes({name: array[-1].tolist() for name, array in arrays.items()}, stage=int(steps[-1]))


def _is_trainer(content: Content) -> bool:
    """Whether it is RLlib's log of a trainer, an object of JSON for each iteration."""
    head = content.data[:4096]
    return head.lstrip().startswith(b"{") and b'"training_iteration"' in head and b'"evaluation"' in head


def _read_trainer(content: Content) -> Any:
    """The episodes of the evaluation in the last iteration that has one."""
    rows = [Place(parsed(line)) for line in content.data.splitlines() if line.strip()]
    for row in reversed(rows):
        for place in ("env_runners.hist_stats.", "env_runners.", "hist_stats.", ""):
            returns = row.first(f"evaluation.{place}episode_reward")
            if isinstance(returns, list):
                return _episodes({"episode_reward": returns}, stage=row.first("training_iteration"))
    raise ValueError("has no evaluation with the rewards of its episodes (hist_stats); expected one")


def _episodes(values: dict[str, list[Any]], stage: Any) -> Any:
    """A table of the episodes of a task that only its path names; the first of the values is the usual one."""
    with damage_told("episodes"):
        (num, *_) = map(len, values.values())
        return import_extra("pyarrow", "io").table(values | {STAGE: [stage] * num})


# A file of these is one task; a folder of them is read with the tasks from their paths.
OF_ONE_TASK = (
    Format(
        "monitors of Stable-Baselines3",
        _is_monitor,
        _read_monitor,
        alone="holds the episodes of one environment, which are one task, and no sample of tasks",
        remark=_OF_TRAINING,
        is_log=True,
    ),
    Format(
        "evaluations of Stable-Baselines3",
        _is_evaluations,
        _read_evaluations,
        alone="its rows are checkpoints of one environment, not tasks; the last of them gives the mean of one task",
    ),
    Format(
        "RLlib's evaluations",
        _is_trainer,
        _read_trainer,
        alone="its lines are iterations of training; the evaluation in the last of them gives the episodes of one task",
    ),
)
