"""Formats as recipes: how a file of JSON is recognised, where its records are, and which field has which role."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jaxcert._files import in_file, parsed
from jaxcert.tables._coded import Coded, as_objects, coded
from jaxcert.tables._doubts import data_of
from jaxcert.tables._entries import has_no_outcome
from jaxcert.tables._json_records import LABEL, Found, Place, with_fields_around
from jaxcert.tables._read import nested
from jaxcert.tables._roles import Columns
from jaxcert.tables.formats._found_rollouts import (
    Content,
    Format,
    Rollouts,
    Row,
    check_one_policy,
    check_same_policy,
    holds,
)


class Recipe(NamedTuple):
    """How a file of JSON is read. Names go down with dots; ``*`` is each entry of a list or an object."""

    name: str  # with its article
    recognise: tuple[str, ...]  # what such a file has, all of it
    records: str = ""  # the place of the records
    task: str = "$1"  # a field of a record, or what the first ``*`` stands for
    before: str = ""  # the label of a task ends before this text
    trial: str = ""  # a field that tells the rollouts of a task apart, or "$2"; "" for their order
    values: Mapping[str, str] = {}  # a field, or "field = word" for whether it is this word; the first is read unnamed
    counts: tuple[str, str] | tuple[()] = ()  # the fields that count successes and trials, in place of values
    # In place of records, lists of labels, and what they mean: true, false, a number, "$2" or "unfinished".
    lists: Mapping[str, Any] = {}
    number: str = ""  # a field that says how many rollouts there are
    unfinished: str = ""  # a field that says why a rollout has no outcome
    policy: tuple[str, ...] = ()  # fields that have to be the same in all records
    own: str = ""  # fields that the tool writes for whatever policy, which are not named as unread
    fixed_list: bool = True  # whether the tasks are a list that somebody made
    remark: str = ""  # what is worth knowing

    def format(self) -> Format:
        """The kind of file that it describes."""
        return Format(self.name, holds(self.recognise), self._read, self.fixed_list, self.records, self._own)

    @property
    def _own(self) -> str:
        """The fields that are read, or that the tool writes for whatever policy."""
        fields = [self.task, self.trial, self.unfinished, self.number, *self.counts, *self.policy, self.own]
        fields += [how.partition(" = ")[0] for how in self.values.values()]
        return " ".join([*fields, *(path.split(".")[0] for path in self.lists)])

    def _read(self, content: Content) -> Rollouts:
        rows = (self._of_lists if self.lists else self._of_records)(Place(content.json))
        if not rows:
            raise ValueError(f"holds no rollout at {self.records or ', '.join(self.lists)}; expected some")
        stated = Place(content.json).first(self.number) if self.number else len(rows)
        if stated != len(rows):
            raise ValueError(
                f"{self.number} is {stated!r:.40}, and {len(rows)} rollouts are listed; expected all of them"
            )
        if self.before:
            rows = [row._replace(task=f"{row.task}".rpartition(self.before)[0] or row.task) for row in rows]
        task = "task" if "$" in self.task or self.lists else self.task
        trial = "trial" if "$" in self.trial else self.trial
        columns = Columns(task, None if not trial or self.counts else trial, next(iter(rows[0].values)))
        return Rollouts(columns, rows, remark=self.remark, counted=bool(self.counts))

    def others(self, content: Content) -> dict[str, Coded]:
        """The fields of its records, and those around them, that it does not read."""
        if self.lists:
            return {}
        records, _ = with_fields_around(list(Place(content.json).find(self.records)), self.records, content.json)
        names = dict.fromkeys(name for record in records for name in record)
        columns = {name: coded(as_objects(record.get(name) for record in records)) for name in names}
        parts = dict(part for name, column in columns.items() for part in nested(name, column))
        read = self._own.split()
        return {name: entries for name, entries in parts.items() if name not in read and not _is_place(name, entries)}

    def _of_lists(self, whole: Place) -> list[Row]:
        rows, seen, value_name = [], {}, next(iter(self.values), "success")
        lists = [(path, value, list(whole.find(path))) for path, value in self.lists.items()]
        self._check_one_policy(found for *_, each in lists for found in each)
        for path, value, found in lists:
            if not found and not self.number:
                raise ValueError(f"has no list {path!r:.60}; expected one, which may be empty")
            for each in found:
                name = ".".join([path.split(".")[-1].replace("*", ""), *map(str, each.keys[-1:])]).strip(".")
                ended = f"listed under {name}" if value == "unfinished" else ""
                own = None if ended else float(_role(value, each)) if f"{value}"[:1] == "$" else value
                for label in () if each.place.value is None else (entry.of(LABEL) for entry in each.place.items()):
                    if label in seen:
                        raise ValueError(f"lists {label!r:.60} under {seen[label]} and {name}; expected each once")
                    seen[label] = name
                    rows.append(Row(label, label, {value_name: own}, ended))
        return sorted(rows, key=lambda row: str(row.trial))  # the lists are ordered by outcome

    def _of_records(self, whole: Place) -> list[Row]:
        rows, found = [], list(whole.find(self.records, all_there=True))
        check_same_policy(each.place.value for each in found)
        self._check_one_policy(found)
        for number, each in enumerate(found):
            task, trial = _role(self.task, each), _role(self.trial, each) if self.trial else None
            if isinstance(task, dict | list | float | None):
                raise ValueError(f"a record has no label of its task at {self.task}; expected text or a whole number")
            values = {name: _value(how, each.place) for name, how in self.values.items()}
            if self.counts:
                values = {"success": "/".join(str(_role(name, each)) for name in self.counts)}
            why = each.place.first(self.unfinished) if self.unfinished else None
            rows.append(Row(task, number if trial is None else trial, values, f"ended by {_word(why)}" if why else ""))
        return rows

    def _check_one_policy(self, found: Iterable[Found]) -> None:
        named = (" / ".join(str(_role(how, each)) for how in self.policy) for each in found)
        check_one_policy(named, ", ".join(self.policy))


def _is_place(name: str, entries: Coded) -> bool:
    """Whether it numbers the entries of a list, and is no field."""
    return name[:1] == "$" and name[1:].isdecimal() and isinstance(entries.listed()[0], int)


def _value(how: str, record: Place) -> Any:
    path, equals, word = how.partition(" = ")
    found = record.first(path)
    if isinstance(found, dict | list):
        raise ValueError(f"a record has no single entry at {path}; expected a number or true or false")
    return None if has_no_outcome(found) else found == word if equals else found


def _word(why: Any) -> str:
    if isinstance(why, dict):
        why = str(next((why[name] for name in ("exception_type", "type", "name") if name in why), ""))
    return why[:40] if isinstance(why, str) and why.strip() else "an error"


def _role(how: str, found: Found) -> Any:
    """A field of a record, None if it is absent; or what a ``*`` stands for."""
    if how[:1] != "$":
        return found.place.first(how)
    num = len(found.keys)
    if not how[1:].isdecimal() or not 1 <= int(how[1:]) <= num:
        raise ValueError(f"the recipe names {how!r:.20}; expected $1 to ${num}, what the * of records stand for")
    return found.keys[int(how[1:]) - 1]


_KINDS = {str: "a text", tuple: "a list of texts", dict: "a table", bool: "true or false"}
_PLAIN = (str, bool, int, float)


def recipe_in(path: Path) -> str:
    """The recipe of a TOML file as a line of JSON, which a certificate holds whole."""
    with in_file(path):
        try:
            given = tomllib.loads(path.read_text(encoding="utf-8"))
            line = json.dumps(given)
        except (ValueError, TypeError) as error:  # a date is no entry of JSON
            raise ValueError(f"cannot be read as TOML of texts, lists and tables ({error})") from error
        recipe_of(line)
    return line


def recipe_of(line: str) -> Recipe:
    """The recipe in a line of JSON; an error if it lacks something, or has an entry that is not known."""
    if not isinstance(given := parsed(line), dict):
        raise ValueError(f"its recipe is {line!r:.40}; expected an object")
    kinds = {name: type(usual) for name, usual in Recipe("", ())._asdict().items()}
    for name, entry in given.items():
        if name not in kinds:
            raise ValueError(f"has the entry {name!r:.40}; expected {', '.join(kinds)}")
        if not isinstance(entry, list if kinds[name] is tuple else kinds[name]):
            raise ValueError(f"has {entry!r:.40} as {name}; expected {_KINDS[kinds[name]]}")
        inner = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ()
        may_be, expected = (str, "texts alone") if name != "lists" else (_PLAIN, "texts, numbers, true or false")
        if wrong := [each for each in inner if not isinstance(each, may_be)]:
            raise ValueError(f"has {wrong[0]!r:.40} in {name}; expected {expected}")
    if "name" not in given or bool(given.get("records")) == bool(given.get("lists")):
        raise ValueError("lacks its name, or has not one of records and lists; expected them")
    if not (given.get("values") or given.get("counts") or given.get("lists")):
        raise ValueError("lacks values; expected the fields of outcomes, such as values = {success = 'ok'}")
    return _recipe(given)


def _recipe(given: dict[str, Any]) -> Recipe:
    entries = {name: tuple(entry) if isinstance(entry, list) else entry for name, entry in given.items()}
    return Recipe(**{"recognise": (), **entries})


KNOWN = [*map(_recipe, data_of("formats/recipes.toml")["recipe"])]
