"""`eval_info.json` of LeRobot: lists of episodes for each task of a group."""

from jaxcert.tables._columns import Columns
from jaxcert.tables.formats._content import Content
from jaxcert.tables.formats._fields import Place
from jaxcert.tables.formats._found_rollouts import Format, Rollouts

_USUAL = "successes"
_METRICS = {_USUAL: Place.truth, "sum_rewards": Place.number, "max_rewards": Place.number}


def _recognises(content: Content) -> bool:
    value = content.json
    return isinstance(value, dict) and ("per_task" in value or {"per_episode", "aggregated"} <= value.keys())


def _read(content: Content) -> Rollouts:
    tasks = Place(content.json).field("per_task").items()
    labels = [_label(task) for task in tasks]
    if again := next((label for i, label in enumerate(labels) if label in labels[:i]), None):
        raise ValueError(f"per_task has {again!r:.60} twice; expected each task once")
    metrics = [task.field("metrics") for task in tasks]
    lengths = [_length(each) for each in metrics]
    values = {
        name: [read(entry) for each in metrics for entry in each.field(name).items()] for name, read in _METRICS.items()
    }
    _check_whole(content, sum(lengths))
    episodes = [i for length in lengths for i in range(length)]
    return Rollouts(
        columns=Columns("task", "episode", _USUAL),
        tasks=[label for label, length in zip(labels, lengths, strict=True) for _ in range(length)],
        episodes=episodes,
        values=values,
        told=f"{len(tasks)} tasks, {len(episodes)} episodes",
        ended=[""] * len(episodes),
    )


def _check_whole(content: Content, found: int) -> None:
    """Refuse a file that lacks episodes of its own count, which it gives over all tasks."""
    overall = Place(content.json).maybe("overall")
    stated = None if overall is None else overall.maybe("n_episodes")
    if found and stated is not None and stated.integer() != found:
        raise ValueError(f"{stated.name} is {stated.integer()}, per_task has {found} episodes; expected as many")


def _label(task: Place) -> str:
    return f"{task.field('task_group').text()}/{task.field('task_id').label()}"


def _length(metrics: Place) -> int:
    """The number of episodes of a task, which each of its lists has."""
    lengths = {name: len(metrics.field(name).items()) for name in _METRICS}
    if not any(lengths.values()):
        raise ValueError(f"{metrics.name} has no episode; expected one or more of each task")
    if len({*lengths.values()}) > 1:
        told = ", ".join(f"{length} {name}" for name, length in lengths.items())
        raise ValueError(f"{metrics.name} has {told}; expected as many of each, one per episode")
    return lengths[_USUAL]


LEROBOT = Format("a LeRobot evaluation", _recognises, _read)
