"""Results of tau-bench, a list of runs, and of tau2-bench, an object with simulations."""

from collections import Counter

from jaxcert.tables._columns import Columns
from jaxcert.tables.formats._content import Content
from jaxcert.tables.formats._fields import Place
from jaxcert.tables.formats._found_rollouts import Format, Rollouts, asked_for

_COLUMNS = Columns("task_id", "trial", "reward")
_SUPPORTS = {_COLUMNS.value: (0.0, 1.0)}
# The simulation ended by itself; after any other reason the reward is 0.
_BY_THEMSELVES = ("user_stop", "agent_stop")
# The simulation did not take place, and no reward is kept.
_LOST = "infrastructure_error"


def _recognises_list(content: Content) -> bool:
    """Whether it is a list of runs; an empty one is what a run that was stopped at once leaves."""
    value = content.json
    if not isinstance(value, list):
        return False
    return not value or (isinstance(value[0], dict) and {"task_id", "trial", "info"} <= value[0].keys())


def _read_list(content: Content) -> Rollouts:
    runs = Place(content.json, "results").items()
    if not runs:
        raise ValueError("is an empty list; expected runs with task_id, trial and reward")
    failed = [run for run in runs if run.field("info").maybe("error") is not None]
    _check_lost(failed, "ended by an error")
    return Rollouts(
        columns=_COLUMNS,
        tasks=[run.field("task_id").label() for run in runs],
        episodes=[run.field("trial").integer() for run in runs],
        values={_COLUMNS.value: [_reward(run) for run in runs]},
        told=f"{len(runs)} runs",
        ended=[""] * len(runs),
        supports=_SUPPORTS,
        remark=f"{len(failed)} ended by an error, with the reward 0" if failed else "",
    )


def _recognises_object(content: Content) -> bool:
    value = content.json
    return isinstance(value, dict) and "tasks" in value and bool({"simulations", "info"} & value.keys())


def _read_object(content: Content) -> Rollouts:
    whole = Place(content.json)
    if "simulations" not in content.json and whole.maybe("simulation_index"):
        raise ValueError("has its simulations in other files (simulation_index); expected them in this file")
    runs = whole.field("simulations").items()
    pairs = [(run.field("task_id").label(), run.field("trial").integer()) for run in runs]
    reasons = [run.field("termination_reason").text() for run in runs]
    absent = _absent(whole, pairs)
    rewards = [_kept_reward(run) for run in runs]
    _check_lost(
        [info for run, why in zip(runs, reasons, strict=True) if why not in _BY_THEMSELVES and (info := _info(run))],
        "of a simulation that ended early",
    )
    early = Counter(reason for reason in reasons if reason not in (*_BY_THEMSELVES, _LOST))
    listed = ", ".join(f"{reason} ({count})" for reason, count in early.most_common())
    return Rollouts(
        columns=_COLUMNS,
        tasks=[task for task, _ in (*pairs, *absent)],
        episodes=[trial for _, trial in (*pairs, *absent)],
        values={_COLUMNS.value: [*rewards, *[None] * len(absent)]},
        told=f"{len(runs)} simulations",
        ended=["lost to the infrastructure" if reason == _LOST else "" for reason in reasons]
        + ["not in the file"] * len(absent),
        supports=_SUPPORTS,
        remark=f"{early.total()} ended early, {listed}" if early else "",
    )


def _check_lost(places: list[Place], why: str) -> None:
    """Refuse a reward where the tool gives none: it would count as a success."""
    for place in places:
        if _reward(place) != 0:
            raise ValueError(f"{place.name}.reward is {_reward(place):g}, {why}; expected 0")


def _info(run: Place) -> Place | None:
    return run.maybe("reward_info")


def _kept_reward(run: Place) -> float | None:
    return None if (info := _info(run)) is None else _reward(info)


def _absent(whole: Place, pairs: list[tuple[int | str, int]]) -> list[tuple[int | str, int]]:
    """The tasks and trials that were to be run and have no simulation."""
    tasks = [task.field("id").label() for task in whole.field("tasks").items()]
    if len(set(tasks)) < len(tasks):
        raise ValueError("tasks lists a task twice; expected each once")
    number = whole.field("info").field("num_trials")
    if number.integer() < 1:
        raise ValueError(f"{number.name} is {number.integer()}; expected at least 1")
    wanted, found = asked_for(tasks, number.integer(), first=0), set(pairs)
    if unknown := {task for task, _ in found} - set(tasks):
        raise ValueError(f"holds a simulation of the task {next(iter(unknown))!r:.60}, which tasks does not list")
    if beyond := found - set(wanted):
        task, trial = next(iter(beyond))
        raise ValueError(
            f"holds trial {trial} of the task {task!r:.60}; {number.name} is {number.integer()}, from 0 on"
        )
    return [pair for pair in wanted if pair not in found]


def _reward(place: Place) -> float:
    reward = place.field("reward")
    if not 0 <= reward.number() <= 1:
        raise ValueError(f"{reward.name} is {reward.number():g}, expected a number from 0 to 1")
    return reward.number()


TAU = Format("tau-bench results", _recognises_list, _read_list)
TAU2 = Format("tau2-bench results", _recognises_object, _read_object)
