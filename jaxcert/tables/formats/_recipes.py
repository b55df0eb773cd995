"""Formats as recipes: how a file of JSON is recognised, where its records are, and which field has which role."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxcert.tables._columns import Columns
from jaxcert.tables._no_outcome import has_no_outcome
from jaxcert.tables.formats._content import Content
from jaxcert.tables.formats._found_rollouts import Format, Rollouts

_MISSING = object()


class Recipe(NamedTuple):
    """How a file of JSON is read. Names go down with dots; ``*`` is each entry of a list or an object.

    Attributes:
        name: with its article.
        recognise: what such a file has, all of it.
        records: the place of the records.
        task: a field of a record, or "$1" for what the first ``*`` stands for.
        before: the label of a task ends before this text.
        trial: a field that tells the rollouts of a task apart, or "$2"; "" for their order.
        values: by name, a field, or "field = word" for whether it is this word; the first one is read unnamed.
        counts: the fields that count successes and trials, in place of values.
        lists: in place of records, lists of labels, each with the value of its entries: true, false, a number, "$2", or
            "unfinished".
        unfinished: a field that says why a rollout has no outcome; "" for none.
        policy: fields that have to be the same in all records.
        fixed_list: whether the tasks are a list that somebody made.
        remark: what is worth knowing.
    """

    name: str
    recognise: tuple[str, ...]
    records: str = ""
    task: str = "$1"
    before: str = ""
    trial: str = ""
    values: Mapping[str, str] = {}
    counts: tuple[str, str] | tuple[()] = ()
    lists: Mapping[str, Any] = {}
    unfinished: str = ""
    policy: tuple[str, ...] = ()
    fixed_list: bool = True
    remark: str = ""

    def format(self) -> Format:
        """The kind of file that it describes."""
        return Format(self.name, self._recognises, self._read, self.fixed_list)

    def _recognises(self, content: Content) -> bool:
        return all(any(_found(content.json, path)) for path in self.recognise)

    def _read(self, content: Content) -> Rollouts:
        rows = list(self._of_lists(content.json) if self.lists else self._of_records(content.json))
        if not rows:
            raise ValueError(f"holds no rollout at {self.records or ', '.join(self.lists)}; expected some")
        tasks = [_label(row.task, self.before) for row in rows]
        named = list(rows[0].values)
        trials = [place if row.trial is _MISSING else row.trial for place, row in enumerate(rows)]
        return Rollouts(
            columns=Columns(self._task_name, None if not self.trial else self._trial_name, named[0]),
            tasks=tasks,
            episodes=trials,
            values={name: [row.values.get(name) for row in rows] for name in named},
            told=f"{len(set(tasks))} tasks, {len(rows)} rollouts",
            ended=[row.ended for row in rows],
            remark=self.remark,
        )

    @property
    def _task_name(self) -> str:
        return "task" if "$" in self.task or self.lists else self.task

    @property
    def _trial_name(self) -> str:
        return "trial" if "$" in self.trial else self.trial

    def _of_lists(self, document: Any) -> Iterator["_Row"]:
        seen: dict[Any, str] = {}
        for path, value in self.lists.items():
            for keys, labels in _found(document, path):
                for label in labels if isinstance(labels, list) else ():
                    if not isinstance(label, str | int):
                        raise ValueError(f"lists {label!r:.60} at {path}; expected labels of tasks")
                    name = ".".join([path.split(".")[-1].replace("*", ""), *map(str, keys[-1:])]).strip(".")
                    if label in seen:
                        raise ValueError(f"lists {label!r:.60} under {seen[label]} and {name}; expected each once")
                    seen[label] = name
                    ended = f"listed under {name}" if value == "unfinished" else ""
                    own = float(keys[int(value[1:]) - 1]) if isinstance(value, str) and value[:1] == "$" else value
                    trial = label if self.trial else _MISSING
                    yield _Row(label, trial, {self._value_name: None if ended else own}, ended)

    @property
    def _value_name(self) -> str:
        return next(iter(self.values), "success")

    def _of_records(self, document: Any) -> Iterator["_Row"]:
        policies: dict[str, None] = {}
        rng = np.random.default_rng(0)
        for keys, record in _found(document, self.records):
            policies[" / ".join(str(_role(each, keys, record)) for each in self.policy)] = None
            if len(policies) > 1:
                listed = ", ".join(list(policies)[:4])
                raise ValueError(
                    f"holds several policies ({listed}), by {', '.join(self.policy)}; expected a file of each"
                )
            task = _role(self.task, keys, record)
            if task is _MISSING or isinstance(task, dict | list | float | None):
                raise ValueError(f"a record has no label of its task at {self.task}; expected text or a whole number")
            ended = self._ended(record)
            trial = _role(self.trial, keys, record) if self.trial else _MISSING
            if self.counts:
                yield from self._counted(task, keys, record, rng)
            else:
                yield _Row(task, trial, {name: self._value(how, record) for name, how in self.values.items()}, ended)

    def _ended(self, record: Any) -> str:
        why = next((each for _, each in _found(record, self.unfinished)), None) if self.unfinished else None
        return "" if not why else f"ended by {_word(why)}"

    def _value(self, how: str, record: Any) -> Any:
        path, equals, word = how.partition(" = ")
        found = next((each for _, each in _found(record, path)), None)
        if isinstance(found, dict | list):
            raise ValueError(f"a record has no single entry at {path}; expected a number or true or false")
        if has_no_outcome(found):
            return None
        return found == word if equals else found

    def _counted(self, task: Any, keys: tuple[Any, ...], record: Any, rng: np.random.Generator) -> Iterator["_Row"]:
        won, total = (_role(name, keys, record) for name in self.counts)
        if not all(isinstance(each, int) and not isinstance(each, bool) for each in (won, total)):
            raise ValueError(f"task {task!r:.60} has no whole numbers {' and '.join(self.counts)}; expected both")
        if not 0 <= won <= total or total > 10**7:
            raise ValueError(f"task {task!r:.60} has {won} successes of {total} trials")
        # In what order they succeeded is not known; all orders are as likely, and each task draws its own.
        for won_it in (rng.permutation(total) < won).tolist():
            yield _Row(task, _MISSING, {"success": won_it}, "")


class _Row(NamedTuple):
    task: Any
    trial: Any
    values: dict[str, Any]
    ended: str


def _word(why: Any) -> str:
    if isinstance(why, dict):
        return str(next((why[name] for name in ("exception_type", "type", "name") if name in why), "an error"))[:40]
    return why[:40] if isinstance(why, str) and why.strip() else "an error"


def _label(label: Any, before: str) -> Any:
    return label.rpartition(before)[0] or label if before and isinstance(label, str) else label


def _role(how: str, keys: tuple[Any, ...], record: Any) -> Any:
    """A field of a record, or what a ``*`` stands for."""
    if how[:1] == "$":
        if not how[1:].isdecimal() or not 1 <= int(how[1:]) <= len(keys):
            raise ValueError(
                f"the recipe names {how!r:.20}; expected $1 to ${len(keys)}, what the * of records stand for"
            )
        return keys[int(how[1:]) - 1]
    return next((each for _, each in _found(record, how)), _MISSING)


def _found(node: Any, path: str, keys: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Each value at a path, with what every ``*`` stands for."""
    if not path:
        yield keys, node
        return
    name, _, rest = path.partition(".")
    if name == "*":
        entries = node.items() if isinstance(node, dict) else enumerate(node if isinstance(node, list) else ())
        for key, each in entries:
            yield from _found(each, rest, (*keys, key))
    elif isinstance(node, dict) and name in node:
        yield from _found(node[name], rest, keys)


_KINDS = {str: "a text", tuple: "a list of texts", dict: "a table", bool: "true or false"}


def recipe_in(path: Path) -> Recipe:
    """The recipe of a TOML file.

    Raises:
        ValueError: it is no TOML, lacks its name or what it recognises, or has an entry that is not known.
    """
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot be read as TOML ({error})") from error
    if unknown := [name for name in given if name not in Recipe._fields]:
        raise ValueError(f"{path}: has the entry {unknown[0]!r:.40}; expected {', '.join(Recipe._fields)}")
    kinds = {name: type(usual) for name, usual in Recipe("", ())._asdict().items()}
    for name, entry in given.items():
        if not isinstance(entry, list if kinds[name] is tuple else kinds[name]):
            raise ValueError(f"{path}: has {entry!r:.40} as {name}; expected {_KINDS[kinds[name]]}")
    if "name" not in given or not (given.get("records") or given.get("lists")):
        raise ValueError(f"{path}: lacks its name, or records or lists; expected them")
    if not (given.get("values") or given.get("counts") or given.get("lists")):
        raise ValueError(f"{path}: lacks values; expected the fields of outcomes, such as values = {{success = 'ok'}}")
    lists = {name: tuple(each) for name, each in given.items() if isinstance(each, list)}
    return Recipe(**{"recognise": (), **given, **lists})


BIGCODEBENCH = Recipe(
    name="BigCodeBench results",
    recognise=("date", "eval.*.*.status"),
    records="eval.*.*",
    trial="$2",
    values={"pass": "status = pass"},
)
LEROBOT_EPISODES = Recipe(
    name="an older LeRobot evaluation",
    recognise=("per_episode.*.success", "aggregated"),
    records="per_episode.*",
    task="seed",
    values={"success": "success", "sum_reward": "sum_reward", "max_reward": "max_reward"},
    fixed_list=False,
    remark="all episodes are of one environment: each of them, by its seed, is a task",
)
SWE_BENCH = Recipe(
    name="a SWE-bench report",
    recognise=("resolved_ids", "unresolved_ids"),
    lists={
        "resolved_ids": True,
        "unresolved_ids": False,
        "empty_patch_ids": False,
        "error_ids": False,
        "incomplete_ids": "unfinished",
    },
    values={"resolved": ""},
    remark="empty patches and errors are not resolved, as the benchmark counts them",
)
HARBOR = Recipe(
    name="a Harbor job",
    recognise=("stats.evals.*.reward_stats",),
    lists={"stats.evals.*.reward_stats.reward.*": "$2", "stats.evals.*.exception_stats.*": "unfinished"},
    before="__",
    trial="trial",
    values={"reward": ""},
)
CALVIN = Recipe(
    name="CALVIN results",
    recognise=("*.task_info.*.total", "*.chain_sr"),
    records="*.task_info.*",
    task="$2",
    counts=("success", "total"),
    policy=("$1",),
)
PROMPTFOO = Recipe(
    name="promptfoo results",
    recognise=("results.results.*.testIdx", "results.results.*.success"),
    records="results.results.*",
    task="testIdx",
    values={"success": "success", "score": "score"},
    unfinished="error",
    policy=("provider.id", "promptIdx"),
)
RECIPES = (LEROBOT_EPISODES, BIGCODEBENCH, SWE_BENCH, HARBOR, CALVIN, PROMPTFOO)
