"""Files of tools that need more than a recipe can say: Inspect, LeRobot, tau-bench, tau2-bench and EvalPlus."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from jaxcert.tables._json_records import LABEL, Place
from jaxcert.tables._roles import Columns
from jaxcert.tables.formats._found_rollouts import (
    Content,
    Format,
    Rollouts,
    Row,
    check_same_policy,
    holds,
    names_of,
    not_run,
)

# --- Inspect: `.eval`, a zip archive of JSON, and `.json`. A task is a sample, a rollout one of its epochs -----------

_VERSION = 2
# Published: correct, incorrect, partial credit, and no answer.
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_PARTIAL = "P"


def _is_inspect(content: Content) -> bool:
    if content.is_zip:
        return bool({"header.json", "_journal/start.json"} & content.entries.keys())
    return holds(["eval", "version"], ["eval", "status"], ["eval", "plan"])(content)


def _inspect(content: Content) -> Rollouts:
    head = Place(content.json_of("header.json") if content.is_zip else content.json)
    if (version := head.field("version").of(int)) != _VERSION:
        raise ValueError(f"version is {version}, expected {_VERSION}, the version of the log format that is known")
    invalidated = head.maybe("invalidated")
    if invalidated is not None and invalidated.of(bool):
        raise ValueError("invalidated is true: somebody declared samples of it invalid; expected a log without any")
    rows = [_sample(each) for each in (_summaries(content) if content.is_zip else head.field("samples").items())]
    status = head.field("status").of(str)
    ids, epochs = {row.task for row in rows}, {row.trial for row in rows}
    rows += [Row(*pair, {}, "not in the log") for pair in _not_in_log(head, [row[:2] for row in rows], status)]
    columns = {name: [row.values.get(name) for row in rows] for name in names_of(rows)}
    numbers = {name: _numbers(name, column) for name, column in columns.items()}
    rows = [row._replace(values={name: numbers[name][i] for name in numbers}) for i, row in enumerate(rows)]
    return Rollouts(
        Columns("id", "epoch", next(iter(columns)) if len(columns) == 1 else ""),
        rows,
        f"{len(ids)} samples x {len(epochs)} epochs",
        stopped="" if status == "success" else f"its status is {status!r:.40}, expected 'success'",
        supports={name: (0.0, 1.0) for name, column in columns.items() if _PARTIAL in column},
    )


def _summaries(content: Content) -> list[Place]:
    """The summary of each sample of an archive: whole samples may take gigabytes."""
    samples = Place(content.json_of("summaries.json"), "summaries").items()
    held = sum(name.startswith("samples/") for name in content.entries)
    if held != len(samples):
        raise ValueError(f"holds {held} samples and the summaries of {len(samples)}; expected as many")
    return samples


def _sample(sample: Place) -> Row:
    """A sample in one epoch, with its values by scorer, or by scorer and name where a scorer gives several."""
    why = {"error": "ended by an error", "limit": "ended at a limit"}
    ended = next((words for name, words in why.items() if sample.maybe(name) is not None), "")
    scores, found = sample.maybe("scores"), {}
    for name, score in {} if scores is None else scores.fields().items():
        value = score.field("value")
        several = isinstance(value.value, dict)
        found |= {f"{name}/{part}": each for part, each in value.fields().items()} if several else {name: value}
    values = {name: _scalar(value) for name, value in found.items()}
    return Row(sample.field("id").of(LABEL), sample.field("epoch").of(int), values, ended)


def _scalar(place: Place) -> Any:
    value = place.value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None  # NaN is no score
    return value if isinstance(value, bool | str) else place.of(float)


def _not_in_log(head: Place, found: Sequence[tuple[Any, int]], status: str) -> list[tuple[Any, int]]:
    """The samples and epochs that were to be run and are not in the log."""
    dataset, config = head.field("eval").field("dataset"), head.field("eval").field("config")
    listed, epochs = dataset.maybe("sample_ids"), config.maybe("epochs")
    if listed is None:
        if status != "success":
            raise ValueError(f"its status is {status!r:.40}, and it does not list its samples; expected 'success'")
        _check_total(head, dataset, config, len(found))
        return []
    labels = {str(each.of(LABEL)): each.of(LABEL) for each in listed.items()}
    held = [(str(sample), epoch) for sample, epoch in found]
    absent, unknown = not_run([*labels], 1, 1 if epochs is None else epochs.of(int), held)
    if unknown:
        raise ValueError(f"holds sample {unknown[0]!r:.60}, epoch {unknown[1]}, which eval does not list")
    return [(labels[name], epoch) for name, epoch in sorted(absent)]


def _check_total(head: Place, dataset: Place, config: Place, count: int) -> None:
    """Raise ValueError for fewer or more samples than the log says it has, where it does not list them."""
    of_results, whole = head.first("results.total_samples"), config.maybe("limit") is None
    whole &= config.maybe("sample_id") is None  # else some samples of the set were to be run
    samples, epochs = dataset.maybe("samples"), config.maybe("epochs")
    of_set = samples.of(int) * (1 if epochs is None else epochs.of(int)) if samples and whole else None
    if wrong := [stated for stated in (of_results, of_set) if stated not in (None, count)]:
        raise ValueError(
            f"was to have {wrong[0]!r:.40} samples, and {count} are in the log, which does not list their ids; "
            "expected all of them"
        )


def _numbers(name: str, column: list[Any]) -> list[Any]:
    """Letters as successes, or as numbers where one of them is partial credit; other values as they are."""
    given = [value for value in column if value is not None]
    others = [value for value in given if value not in _LETTERS]
    if len(others) == len(given):
        return column
    if others:
        raise ValueError(
            f"score {name!r:.42} has {others[0]!r:.40} beside letters; expected {', '.join(_LETTERS)} alone"
        )
    kind: Any = float if _PARTIAL in column else bool
    return [None if value is None else kind(_LETTERS[value]) for value in column]


# --- LeRobot: lists of episodes for each task of a group -----------------------------------------------------------

_METRICS = {"successes": bool, "sum_rewards": float, "max_rewards": float}


def _lerobot(content: Content) -> Rollouts:
    whole = Place(content.json)
    tasks = whole.field("per_task").items()
    rows = [row for task in tasks for row in _episodes(task)]
    overall = whole.maybe("overall")
    stated = None if overall is None else overall.maybe("n_episodes")
    if rows and stated is not None and stated.of(int) != len(rows):
        raise ValueError(f"{stated.name} is {stated.value}, per_task has {len(rows)} episodes; expected as many")
    return Rollouts(Columns("task", "episode", "successes"), rows, f"{len(tasks)} tasks, {len(rows)} episodes")


def _episodes(task: Place) -> Iterator[Row]:
    """The episodes of a task, for each of which every list of metrics has an entry."""
    label, metrics = f"{task.field('task_group').of(str)}/{task.field('task_id').of(LABEL)}", task.field("metrics")
    lists = {name: [entry.of(kind) for entry in metrics.field(name).items()] for name, kind in _METRICS.items()}
    if not any(lists.values()):
        raise ValueError(f"{metrics.name} has no episode; expected one or more of each task")
    if len({*map(len, lists.values())}) > 1:
        told = ", ".join(f"{len(entries)} {name}" for name, entries in lists.items())
        raise ValueError(f"{metrics.name} has {told}; expected as many of each, one per episode")
    for episode, values in enumerate(zip(*lists.values(), strict=True)):
        yield Row(label, episode, dict(zip(lists, values, strict=True)))


# --- tau-bench: a list of runs; tau2-bench: an object with simulations ---------------------------------------------

_OF_TAU, _SUPPORTS = Columns("task_id", "trial", "reward"), {"reward": (0.0, 1.0)}
# The simulation ended by itself; after any other reason the reward is 0.
_BY_THEMSELVES = ("user_stop", "agent_stop")
# The simulation did not take place, and no reward is kept.
_LOST = "infrastructure_error"


def _is_tau(content: Content) -> bool:
    """Whether it is a list of runs; an empty one is what a run that was stopped at once leaves."""
    return isinstance(content.json, list) and (not content.json or holds(["*.task_id", "*.trial", "*.info"])(content))


def _tau(content: Content) -> Rollouts:
    runs = Place(content.json, "results").items()
    if not runs:
        raise ValueError("is an empty list; expected runs with task_id, trial and reward")
    check_same_policy(content.json)
    failed = [run.field("info").maybe("error") is not None for run in runs]
    rows = [_run(run, run, "ended by an error" * lost) for run, lost in zip(runs, failed, strict=True)]
    remark = f"{sum(failed)} ended by an error, with the reward 0" if any(failed) else ""
    return Rollouts(_OF_TAU, rows, f"{len(runs)} runs", supports=_SUPPORTS, remark=remark)


def _tau2(content: Content) -> Rollouts:
    whole = Place(content.json)
    if "simulations" not in content.json and whole.maybe("simulation_index"):
        raise ValueError("has its simulations in other files (simulation_index); expected them in this file")
    runs = whole.field("simulations").items()
    check_same_policy(run.value for run in runs)
    reasons = [run.field("termination_reason").of(str) for run in runs]
    rows = []
    for run, reason in zip(runs, reasons, strict=True):
        why_none = "" if reason in _BY_THEMSELVES else "of a simulation that ended early"
        row = _run(run, run.maybe("reward_info"), why_none)
        rows.append(row._replace(ended="lost to the infrastructure" if reason == _LOST else ""))
    rows += [Row(*pair, {"reward": None}, "not in the file") for pair in _absent(whole, [row[:2] for row in rows])]
    early = Counter(reason for reason in reasons if reason not in (*_BY_THEMSELVES, _LOST))
    listed = ", ".join(f"{reason} ({count})" for reason, count in early.most_common())
    remark = f"{early.total()} ended early, {listed}" if early else ""
    return Rollouts(_OF_TAU, rows, f"{len(runs)} simulations", supports=_SUPPORTS, remark=remark)


def _run(run: Place, info: Place | None, why_none: str) -> Row:
    """A run, and its reward; where the tool gives none, another one would count as a success."""
    reward = None if info is None else info.field("reward")
    if reward is not None and not 0 <= reward.of(float) <= 1:
        raise ValueError(f"{reward.name} is {reward.of(float):g}, expected a number from 0 to 1")
    if reward is not None and why_none and reward.of(float):
        raise ValueError(f"{reward.name} is {reward.of(float):g}, {why_none}; expected 0")
    found = None if reward is None else reward.of(float)
    return Row(run.field("task_id").of(LABEL), run.field("trial").of(int), {"reward": found})


def _absent(whole: Place, found: list[tuple[int | str, int]]) -> list[tuple[int | str, int]]:
    """The tasks and trials that were to be run and have no simulation."""
    tasks = [task.field("id").of(LABEL) for task in whole.field("tasks").items()]
    if len(set(tasks)) < len(tasks):
        raise ValueError("tasks lists a task twice; expected each once")
    number = whole.field("info").field("num_trials")
    if number.of(int) < 1:
        raise ValueError(f"{number.name} is {number.value}; expected at least 1")
    absent, unknown = not_run(tasks, 0, number.value, found)
    if unknown and unknown[0] not in tasks:
        raise ValueError(f"holds a simulation of the task {unknown[0]!r:.60}, which tasks does not list")
    if unknown:
        place = f"{number.name} is {number.value}, from 0 on"
        raise ValueError(f"holds trial {unknown[1]} of the task {unknown[0]!r:.60}; {place}")
    return absent


# --- EvalPlus: for each problem a list of solutions, and which tests each of them passed ---------------------------


def _evalplus(content: Content) -> Rollouts:
    """Its values are `base`, and `plus` where the plus tests were run: a pass of both, as EvalPlus counts it."""
    whole = Place(content.json)
    problems, rows = whole.field("eval").fields(), []
    has_plus = any(found.place.value is not None for found in whole.find("eval.*.*.plus_status"))
    for label, problem in problems.items():
        for number, solution in enumerate(problem.items()):
            own = solution.maybe("task_id")
            if own is not None and own.of(LABEL) != label:
                raise ValueError(
                    f"{own.name} is {own.value!r:.60}, in the solutions of {label!r:.60}; expected the same"
                )
            base, plus = _passed(solution.field("base_status")), solution.field("plus_status")
            rows.append(Row(label, number, ({"plus": _passed(plus) and base} if has_plus else {}) | {"base": base}))
        if not problem.value:
            raise ValueError(f"{problem.name} has no solution; expected at least one")
    columns = Columns("task_id", "solution", "plus" if has_plus else "base")
    return Rollouts(columns, rows, f"{len(problems)} problems, {len(rows)} solutions")


def _passed(status: Place) -> bool:
    if status.of(str) not in ("pass", "fail", "timeout"):
        raise ValueError(f"{status.name} is {status.value!r:.40}, expected pass or fail or timeout")
    return status.value == "pass"


# Fields that the tools write for whatever policy: those of records, and those around them.
_INSPECT = """
id epoch scores input choices target messages output error limit uuid started_at completed_at total_time working_time
store events attachments timelines error_retries retries sandbox files setup model_usage role_usage completed
message_count version status eval plan results stats reductions log_updates
"""
_LEROBOT = """
task_group task_id metrics.sum_rewards metrics.max_rewards metrics.successes metrics.video_paths overall per_group
"""
_TAU = "task_id trial reward traj info.task info.source info.error info.traceback info.reward_info info.user_cost"
_TAU2 = """
id task_id trial seed timestamp start_time end_time duration termination_reason agent_cost user_cost reward_info
messages tasks info simulation_index
"""
_EVALPLUS = "task_id solution base_status plus_status base_fail_tests plus_fail_tests date hash pass_at_k"

_IS_LEROBOT = holds(["per_task"], ["per_episode", "aggregated"])
_IS_TAU2 = holds(["tasks", "simulations"], ["tasks", "info"])
FORMATS_BY_HAND = (
    Format("an Inspect log", _is_inspect, _inspect, True, "samples.*", _INSPECT),
    Format("a LeRobot evaluation", _IS_LEROBOT, _lerobot, True, "per_task.*", _LEROBOT),
    Format("tau-bench results", _is_tau, _tau, True, "*", _TAU),
    Format("tau2-bench results", _IS_TAU2, _tau2, True, "simulations.*", _TAU2),
    Format("EvalPlus results", holds(["eval", "hash"]), _evalplus, True, "eval.*.*", _EVALPLUS),
)
