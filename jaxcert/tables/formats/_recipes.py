"""Formats as recipes: how a file of JSON is recognised, where its records are, and which field has which role."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jaxcert.tables._doubts import listed
from jaxcert.tables._entries import has_no_outcome, is_empty
from jaxcert.tables._json_records import LABEL, Found, Place, with_fields_around
from jaxcert.tables._label_doubts import ask_about_cut_labels
from jaxcert.tables._names import tells
from jaxcert.tables._roles import Columns
from jaxcert.tables.formats._found_rollouts import Content, Format, Rollouts, Row, fields_beside, not_run


class Recipe(NamedTuple):
    """How a file of JSON is read. Names go down with dots; ``*`` is each entry of a list or an object."""

    name: str  # with its article
    recognise: tuple[str, ...] = ()  # what such a file has, all of it
    records: str = ""  # the place of the records
    task: str = "$1"  # a field of a record, or what the first ``*`` stands for; several with slashes, as suite/id
    before: str = ""  # the label of a task ends before this text
    longest: int = 0  # the characters at which such a label is cut, and after which it loses - and _ at its end
    # Fields that are the same in all repeats of a task, which the first of them names; and one that counts them.
    same: tuple[str, ...] = ()
    repeats: str = ""
    trial: str = ""  # a field that tells the rollouts of a task apart, or "$2"; "" for their order
    # A field, or "field = word" for whether it, or each of several with commas, is this word; the first value is read
    # unnamed. Lists in fields have an entry for each rollout, whose place is one more $.
    values: Mapping[str, str] = {}
    words: tuple[str, ...] = ()  # all that may stand where a word is expected
    support: tuple[float, float] | tuple[()] = ()  # the smallest and the largest value possible
    counts: tuple[str, str] | tuple[()] = ()  # the fields that count successes and trials, in place of values
    # In place of records, lists of labels, and what they mean: true, false, a number, "$2" or "unfinished".
    lists: Mapping[str, Any] = {}
    number: str = ""  # a field that says how many rollouts there are
    tasks: str = ""  # the labels of all tasks, of each of which there have to be
    trials: str = ""  # so many rollouts, from 0 on
    # A field that says why a rollout has no outcome, or "field = word", or "field != word" for any other one.
    unfinished: str = ""
    failed: str = ""  # the same, of a rollout that ended early, and counts 0
    errors: str = ""  # a field, or "field = words", that tells errors of the runner, whatever the policy did
    policy: tuple[str, ...] = ()  # fields that have to be the same in all records
    own: str = ""  # fields that the tool writes for whatever policy, which are not named as unread
    fixed_list: bool = True  # whether the tasks are a list that somebody made
    remark: str = ""  # what is worth knowing

    def format(self) -> Format:
        """The kind of file that it describes."""
        return Format(self.name, lambda content: content.holds(*self.recognise), self._read, self.fixed_list)

    @property
    def _own(self) -> list[str]:
        """The fields that are read, or that the tool writes for whatever policy."""
        fields = [*self.task.split("/"), self.trial, self.number, self.trials, *self.counts, *self.policy]
        fields += [_parts(how)[0] for how in (self.unfinished, self.failed)]
        fields += [field for how in self.values.values() for field in _parts(how)[0].split(", ")]
        return [*fields, *(path.split(".")[0] for path in (*self.lists, self.tasks)), *self.own.split()]

    def _read(self, content: Content) -> Rollouts:
        whole = Place(content.json)
        found = [*whole.find(self.records, all_there=True)] if self.records else []
        pairs = [(row, place) for place, each in enumerate(found) for row in self._of_record(each)]
        rows = [*self._of_records(found, pairs)] or self._of_lists(whole)
        known = {name for row in rows for name, value in row.values.items() if value is not None}
        rows = [row._replace(values={x: row.values[x] for x in row.values if x in known or not known}) for row in rows]
        self._check_numbers(whole, Counter(row.task for row in rows))
        held = [each.place.value for each in found if isinstance(each.place.value, dict)]
        names = dict.fromkeys(name for record in held for name in record)  # also of fields that are read
        _check_same_policy((name, [record.get(name) for record in held]) for name in names)
        self._check_policy(found)
        rows += self._not_run(whole, rows)
        records = with_fields_around(found, self.records, whole.value)[0] or [whole.value]
        of_rows = [place for _, place in pairs] + [0] * (len(rows) - len(pairs))
        others = fields_beside(records, self._own, of_rows)
        _check_same_policy((name, each.listed()) for name, each in others.items())
        early = Counter(filter(None, (_why(self.failed, each.place) for each in found)))
        reasons = f", {listed(f'{why} ({count})' for why, count in early.most_common())}" if early else ""
        num_errors = self._num_errors(found)
        ended = f"{num_errors} ended by an error" if num_errors else ""
        ended = f"{early.total()} ended early{reasons}" if early else ended
        task = "task" if "$" in self.task or self.lists else self.task
        trial = None if not self.trial or self.counts else "trial" if "$" in self.trial else self.trial
        return Rollouts(
            Columns(task, trial, next(iter(rows[0].values))),
            rows,
            supports=dict.fromkeys(self.values, self.support) if self.support else {},
            remark="; ".join(filter(None, [ended, "" if early else self.remark])),
            reasons=reasons,
            num_errors=num_errors,
            counted=bool(self.counts),
            others=others,
        )

    def _num_errors(self, found: Sequence[Found]) -> int:
        """How many rollouts an error of the runner ended."""
        path, _, words = _parts(self.errors)
        entries = [each.place.first(path) for each in found] if path else []
        return sum(f"{entry}" in words.split(", ") if words else bool(entry) for entry in entries)

    def _check_numbers(self, whole: Place, counts: Counter[Any]) -> None:
        """Check that there are all rollouts, and all repeats of each task, of which one with more may be several."""
        if not (count := counts.total()):
            raise ValueError(f"holds no rollout at {self.records or ', '.join(self.lists)}; expected some")
        stated = whole.first(self.number) if self.number else count
        if stated != count:
            raise ValueError(f"{self.number} is {stated!r:.40}, and {count} rollouts are listed; expected all of them")
        repeats = whole.first(self.repeats) if self.repeats else None
        repeats = repeats if isinstance(repeats, int) and repeats > 1 else 1
        for task in (task for task in counts if counts[task] % repeats):
            told = f"{self.repeats} is {repeats}, and task {task!r:.60} has {counts[task]} rollouts"
            raise ValueError(f"{told}; expected all repeats of each")
        if self.longest:
            ask_about_cut_labels(counts, self.longest)

    def _of_records(self, found: Sequence[Found], pairs: Iterable[tuple[Row, int]]) -> Iterator[Row]:
        """The rollouts with the places of their records, of which repeats have the label of the first one."""
        first: dict[str, Any] = {}
        for row, place in pairs:
            fields = [_role(name, found[place]).value for name in self.same]
            task = self._without_end(row.task)
            label = first.setdefault(json.dumps(fields, sort_keys=True), task) if fields else task
            if label != task and not all(fields):
                told = f"{found[place].place.name} may repeat {label!r:.60}, or be another task"
                raise ValueError(f"{told}; expected {' and '.join(self.same)}, by which they are told apart")
            yield row._replace(task=label)

    def _without_end(self, label: Any) -> Any:
        return (f"{label}".rpartition(self.before)[0] if self.before else "") or label

    def _of_lists(self, whole: Place) -> list[Row]:
        rows, seen, value_name = [], {}, next(iter(self.values), "success")
        lists = [(path, value, list(whole.find(path))) for path, value in self.lists.items()]
        self._check_policy(found for *_, each in lists for found in each)
        for path, value, found in lists:
            if not found and not self.number:
                raise ValueError(f"has no list {path!r:.60}; expected one, which may be empty")
            for each in found:
                name = ".".join([path.split(".")[-1].replace("*", ""), *map(str, each.keys[-1:])]).strip(".")
                ended = f"listed under {name}" if value == "unfinished" else ""
                own = None if ended else float(_role(value, each).value) if f"{value}"[:1] == "$" else value
                for label in () if each.place.value is None else (entry.of(LABEL) for entry in each.place.items()):
                    if label in seen:
                        raise ValueError(f"lists {label!r:.60} under {seen[label]} and {name}; expected each once")
                    seen[label] = name
                    rows.append(Row(self._without_end(label), label, {value_name: own}, ended))
        return sorted(rows, key=lambda row: str(row.trial))  # the lists are ordered by outcome

    def _of_record(self, found: Found) -> Iterator[Row]:
        """The rollout of a record, or one for each entry of its lists."""
        values = {name: self._value(how, found.place) for name, how in self.values.items()}
        if self.counts:
            values = {"success": "/".join(str(_role(name, found).value) for name in self.counts)}
        if why := _why(self.failed, found.place):
            for value in filter(None, values.values()):
                raise ValueError(f"{found.place.name} has {value!r:.40}, and ended early ({why}); expected 0")
        why = _why(self.unfinished, found.place)
        for each, own in _each_of_lists(found, values):
            task = [_role(name, each).of(LABEL) for name in self.task.split("/")]
            trial = _role(self.trial, each).of(LABEL) if self.trial else None
            label = task[0] if len(task) == 1 else "/".join(map(str, task))
            yield Row(label, trial, own, f"ended by {why}" if why else "")

    def _value(self, how: str, record: Place) -> Any:
        """What a field holds, or each entry of its list; or whether it is a word; None where there is none."""
        path, sign, wanted = _parts(how)
        found = [record.first(field) for field in path.split(", ")]
        first: Any = found[0]
        if isinstance(first, list) and not sign:
            return [self._value("", Place(each)) for each in first]
        is_absent: Any = is_empty if sign and self.words else has_no_outcome
        if any(map(is_absent, found)):
            return None
        if sign:
            is_known, expected = not self.words or {*map(str, found)} <= {*self.words}, ", ".join(self.words)
        elif self.support:
            low, high = self.support
            is_known = isinstance(first, int | float) and not isinstance(first, bool) and low <= first <= high
            expected = f"a number from {low:g} to {high:g}"
        else:
            is_known, expected = not isinstance(first, dict | list), "a number or true or false"
        if not is_known:
            shown = " and ".join(f"{each!r:.40}" for each in found)
            raise ValueError(f"{record.name} has {shown} at {path}; expected {expected}")
        return all(each == wanted for each in found) if sign else first

    def _not_run(self, whole: Place, rows: list[Row]) -> list[Row]:
        """Rollouts that there have to be, and that are not there."""
        if not self.tasks:
            return []
        tasks = [each.place.of(LABEL) for each in whole.find(self.tasks)]
        (count,) = whole.find(self.trials, all_there=True)
        if len({*tasks}) < len(tasks):
            raise ValueError(f"{self.tasks} lists a task twice; expected each once")
        by = f"{self.tasks} and {self.trials}, {count.place.value}, do"
        absent = not_run(tasks, 0, count.place.of(int), [row[:2] for row in rows], by)
        return [Row(*pair, dict.fromkeys(self.values), "not in the file") for pair in absent]

    def _check_policy(self, found: Iterable[Found]) -> None:
        named = (" / ".join(str(_role(how, each).value) for how in self.policy) for each in found)
        _check_one_policy(named, ", ".join(self.policy))


def _check_one_policy(labels: Iterable[str], by: str) -> None:
    """Raise ValueError for several policies that are named, by a field."""
    if len(found := dict.fromkeys(labels)) > 1:
        raise ValueError(f"holds several policies ({listed(found, 4)}), by {by}; expected a file of each")


def _check_same_policy(columns: Iterable[tuple[str, Iterable[Any]]]) -> None:
    """Raise ValueError for fields whose entries name several policies, as two agents or moments of training."""
    for name, entries in columns:
        if tells(name).policies or tells(name).training:
            _check_one_policy(map(str, entries), name)


def _each_of_lists(found: Found, values: Mapping[str, Any]) -> list[tuple[Found, Mapping[str, Any]]]:
    """A record with its values, or the same for each entry of lists, whose place is one more key."""
    if not any(isinstance(each, list) for each in values.values()):
        return [(found, values)]
    lengths = {name: len(each) if isinstance(each, list) else 1 for name, each in values.items()}
    if len({*lengths.values()}) > 1 or not all(lengths.values()):
        told = ", ".join(f"{count} {name}" for name, count in lengths.items())
        raise ValueError(f"{found.place.name} has {told}; expected as many of each, one or more")
    lists = (each if isinstance(each, list) else [each] for each in values.values())
    rows = [dict(zip(values, each, strict=True)) for each in zip(*lists, strict=True)]
    return [(found._replace(keys=(*found.keys, number)), each) for number, each in enumerate(rows)]


def _parts(how: str) -> tuple[str, str, str]:
    """A field, and = or != with a word behind it, if there is one."""
    path, sign, word = (*re.split(" (!?=) ", how, maxsplit=1), "", "")[:3]
    return path, sign, word


def _why(how: str, record: Place) -> str:
    """Why a rollout ended, by a field that says so; "" for one that ended by itself."""
    path, sign, words = _parts(how)
    if not sign:
        return _word(why) if how and (why := record.first(path)) else ""
    (found,) = record.find(path, all_there=True)
    entry = found.place.of(str)
    return entry if (entry in words.split(", ")) == (sign == "=") else ""


def _word(why: Any) -> str:
    if isinstance(why, dict):
        why = str(next((why[name] for name in ("exception_type", "type", "name") if name in why), ""))
    return why[:40] if isinstance(why, str) and why.strip() else "an error"


def _role(how: str, found: Found) -> Place:
    """A field of a record, null if it is absent; or what a ``*`` stands for."""
    if how[:1] != "$":
        absent = Place(None, f"{found.place.name}.{how}".strip("."))
        return next((each.place for each in found.place.find(how)), absent)
    num = len(found.keys)
    if not how[1:].isdecimal() or not 1 <= int(how[1:]) <= num:
        raise ValueError(f"the recipe names {how!r:.20}; expected $1 to ${num}, what the * of records stand for")
    return Place(found.keys[int(how[1:]) - 1], how)
