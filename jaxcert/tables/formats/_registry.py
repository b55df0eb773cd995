"""The kinds of files that are known, one line for each, and the way from a file's content to its returns."""

import functools
import json
import tomllib
from pathlib import Path
from typing import Any

from jaxcert.returns._labels import check_printable
from jaxcert.tables._doubts import data_of
from jaxcert.tables._files import in_file, parsed
from jaxcert.tables._returns import Returns
from jaxcert.tables._roles import Roles
from jaxcert.tables.formats._found_rollouts import Content, Format, arranged, kind_of
from jaxcert.tables.formats._inspect_logs import INSPECT
from jaxcert.tables.formats._one_task import OF_ONE_TASK
from jaxcert.tables.formats._recipes import Recipe


def _recipe(given: dict[str, Any]) -> Recipe:
    entries: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in given.items()}
    return Recipe(**entries)


# How files of other tools begin: archives, monitors and JSON.
_BEGINNINGS = (b"PK", b"#{", b"{", b"[")


@functools.cache
def formats() -> tuple[Format, ...]:
    """Each recognises its own files by their content, whatever they are called, and none of another."""
    return *(_recipe(each).format() for each in data_of("formats/recipes.toml")["recipe"]), INSPECT


# How a log of `rollouts.Trials` begins.
_LOGS = tuple(f'{{"number": 0, "format": "jaxcert-{kind}-'.encode() for kind in ("trials", "pairs"))


def read_content(path: Path, data: bytes, roles: Roles, *, own: bool) -> tuple[Returns, dict[str, Any]] | None:
    """Returns of another tool's file, with its other facts; None if no format recognises the file.

    ``own`` says that the suffix is one of jaxcert's files.
    """
    begins = data[:64].removeprefix(b"\xef\xbb\xbf").lstrip().startswith(_BEGINNINGS)
    if roles.records is not None or not (begins or roles.recipe):
        return None
    if roles.recipe is not None:
        content = Content(data, of_lines=not {".jsonl", ".ndjson"}.isdisjoint(path.suffixes))
        kind = recipe_of(roles.recipe).format()
        if not kind.recognises(content):
            raise ValueError(f"is not {kind.name}: it lacks what its recipe recognises it by")
        return arranged(kind, kind.read(content), roles, is_known=False)
    if data.startswith(_LOGS):
        raise ValueError("is a log of single trials; jaxcert trial status says what it proves")
    content = Content(data)
    kind = kind_of(content, (*OF_ONE_TASK, *formats()), own=own)
    if kind is not None and kind.alone:
        name = ".".join(path.name.split(".")[-2:])
        raise ValueError(
            f"{kind.alone}; expected a file per task in a folder, whose paths name the tasks, as task (on the command "
            f"line --task-from-path), such as '{{task}}/{name}' or '{{task}}.{name}'"
        )
    return None if kind is None else arranged(kind, kind.read(content), roles)


# --- a recipe of one's own --------------------------------------------------------------------------------------------


_KINDS = {str: "a text", tuple: "a list of texts", dict: "a table", bool: "true or false", int: "a whole number"}
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
    kinds = {name: type(usual) for name, usual in Recipe("")._asdict().items()}
    for name, entry in given.items():
        if name not in kinds:
            raise ValueError(f"has the entry {name!r:.40}; expected {', '.join(kinds)}")
        if not isinstance(entry, list if kinds[name] is tuple else kinds[name]):
            raise ValueError(f"has {entry!r:.40} as {name}; expected {_KINDS[kinds[name]]}")
        inner = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ()
        are_plain = name in ("lists", "support")
        may_be, expected = (_PLAIN, "texts, numbers, true or false") if are_plain else (str, "texts alone")
        if wrong := [each for each in inner if not isinstance(each, may_be)]:
            raise ValueError(f"has {wrong[0]!r:.40} in {name}; expected {expected}")
    if "name" not in given or bool(given.get("records")) == bool(given.get("lists")):
        raise ValueError("lacks its name, or has not one of records and lists; expected them")
    if not (given.get("values") or given.get("counts") or given.get("lists")):
        raise ValueError("lacks values; expected the fields of outcomes, such as values = {success = 'ok'}")
    check_printable("a recipe says", [given["name"], given.get("remark", "")])
    return _recipe(given)
