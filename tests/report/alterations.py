"""Changes of a certificate file or of its returns after which something is claimed that they do not prove."""

import functools
import json
import operator
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jaxcert.report import check_certificate, check_trials, document_digest, document_text

Change = Callable[[dict[str, Any]], Any]
Place = tuple[Any, ...]
GONE = object()  # in place of an entry that is left out


def altered(path: Path, change: Change, *, new_digest: bool = True, name: str | None = None) -> Path:
    """The file, or one beside it, with a change of its document, which the digest follows."""
    document = json.loads(path.read_text())
    change(document)
    if new_digest:
        document["digest"] = document_digest(document)
    path = path.with_name(name or path.name)
    path.write_text(document_text(document))
    return path


def standing_alone(folder: Path, script: str = "check_trials.py") -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a checker and the file that it needs, copied to a folder, in a Python that has nothing else."""
    for module in (check_trials, check_certificate):
        shutil.copy(str(module.__file__), folder)
    without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-S", folder / script, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, cwd=folder.parent, env=without, check=False)

    return run


def altered_record(path: Path, change: Change) -> Path:
    """A file beside it with a change of the first record."""
    return altered(path, lambda document: change(document["certificates"][0]), name="altered.json")


def with_record(path: Path, record: dict[str, Any], *, new_digest: bool = True) -> Path:
    """A file beside it with another record."""
    change = {"certificates": [record]}
    return altered(path, lambda document: document.update(change), new_digest=new_digest, name="altered.json")


def with_entries(record: dict[str, Any], changes: dict[Place, Any]) -> dict[str, Any]:
    """A copy with other entries at these places."""
    changed = json.loads(json.dumps(record))
    for (*within, last), value in changes.items():
        part = functools.reduce(operator.getitem, within, changed)
        if value is GONE:
            del part[last]
        else:
            part[last] = value
    return changed


def every_alteration(record: dict[str, Any], index: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each altered record by a name, of those that differ in the place of one row."""
    for changes in (*_entries(record, (), index), *_declarations(record), *_claims(record["rows"][index], index)):
        changed = with_entries(record, changes)
        if json.dumps(changed) != json.dumps(record):
            yield "; ".join(f"{place}: {value!s:.40}" for place, value in changes.items()), changed


# Entries on which no row depends: for readers, or compared where certificates are computed again.
_FREE = {"file", "dtype", "bound", "method", "trial", "simultaneous", "num_episodes", "support"}
# What tasks that did not pass may claim.
_PASSED = {"bets": (0.5, 1.0), "successes": (6, 1), "rollouts": (1, 5, 30)}


def _entries(node: Any, place: Place, index: int) -> Iterator[dict[Place, Any]]:
    """Every entry is another one, or left out; of rows and levels that one, of other lists the first and the first that
    is null.
    """
    yield from ({place: other} for other in _others(place, node) if place)
    if isinstance(node, dict):
        for name, entry in node.items():
            here = (*place, name)
            if name not in _FREE and here != ("rollouts",):
                yield from [] if entry is None else [{here: GONE}]
                yield from _entries(entry, here, node["chosen"] if name == "levels" else index)
    elif isinstance(node, list) and node:
        firsts = {0, node.index(None) if None in node else 0}
        for i in {index} if place[-1] in ("rows", "levels") else firsts:
            yield from _entries(node[i], (*place, i), index)
        if place[-1] in ("requirements", *_PASSED):
            yield from ({place: other} for other in (node[:-1], node[1:] + node[:1]))
        if place[-1] != "rows":
            yield {place: [*node, node[-1]]}


def _others(place: Place, value: Any) -> tuple[Any, ...]:
    """Wrong ones in place of an entry, of another type, larger and smaller."""
    name = next((part for part in reversed(place) if isinstance(part, str)), "")
    if name in _PASSED and not isinstance(value, list):
        return _PASSED[name] if value is None else (None, -1, 0, 1.5, 10**30, str(value), [value], True)
    if value is None:
        return ()
    if isinstance(value, bool):
        return not value, "no"
    if isinstance(value, str):
        return ("0" * 64,) if name == "sha256" else ("", f"{value} too", 3, None)
    if isinstance(value, dict | list):
        return None, {}, [], "yes", 1
    if "enough" in place:
        return 0, -1, value - 1, 10**6
    more = value + 1 if isinstance(value, int) else value + 0.25 * abs(value)
    some = [] if name in ("num_valid", "share") else [0.3 * value]  # of which less claims less
    some += [] if name == "goal" or "levels" in place else [more]  # of which a little more may hold as well
    return tuple(x for x in (None, str(value), [], -1.0, 3 * value, 1e300, *some) if x != value)


def _declarations(record: dict[str, Any]) -> Iterator[dict[Place, Any]]:
    """What would be another statement."""
    settings: dict[str, Any] = {"divergence": ["kl"], "simultaneous": [True], "num_episodes": [5, "2"]}
    settings |= {"complete": [False, "no"]}
    if support := record["settings"].get("support"):
        low, middle, high = support[0], sum(support) / 2, support[1]
        settings["support"] = [[middle, high], [low, middle], [high, low], [None, high], [low], None, GONE]
    if any("bets" in (row.get("witness") or {}) for row in record["rows"]):  # a level that the data chose
        settings["beta"] = ["auto"]
    yield from ({("settings", name): value} for name, values in settings.items() for value in values)
    yield from ({("question",): name} for name in ("mean", "band"))
    yield {("note",): "All rows hold together."}
    yield {("others",): [record["data"]]}


def _claims(row: dict[str, Any], index: int) -> Iterator[dict[Place, Any]]:
    """Several numbers that fit, and words that say more."""
    sentence = row["sentence"]
    for risk in (row["epsilon"] / 2, 0.0, -0.5, -3.0) if "epsilon" in row else ():
        yield {("rows", index, "epsilon"): risk, ("rows", index, "safety"): 1 - risk}
    if "safety" in row:
        yield {("rows", index, "safety"): 1 - (1 - row["safety"]) / 2}
    for old, new in (
        ("With confidence 0.", "With confidence 0.999"),
        ("on ", "on surely "),
        (": ", " for all together: "),
        ("at least", "about"),
        ("With", "with"),
        (".", ". It will never fail.") if sentence.count(".") < 2 else ("task", "task of any distribution"),
    ):
        yield {("rows", index, "sentence"): sentence.replace(old, new, 1)}
    yield {("rows", index, "sentence"): f"{sentence} (and in truth it is 0.9999)"}
    yield {("rows", index, "sentence"): f"{sentence[:-1]} and is perfect."}
    nothing = {
        "sentence": f"{sentence.partition(':')[0]}: nothing is certified about failures, of which there is none."
    }
    nothing |= {name: least for name, least in {"safety": 0, "num_good": 0, "epsilon": 1}.items() if name in row}
    yield {("rows", index, name): entry for name, entry in nothing.items()}
    others = {"perfection": 1.0, "x\nproven: all": 1.0, "safety": 1.0, "num_good": 1, "num_valid": 0}
    yield from ({("rows", index, name): value} for name, value in others.items() if name not in row)
    if "num_valid" in row:
        yield {("rows", index, "num_valid"): 1000}
    yield from ({("rows", index, "status"): status} for status in ("vacuous", "infeasible", ["certified"]))
    yield from ({("rows", index, "beta"): beta} for beta in (1.0, -0.5, 2.0, None))
    if "upper" in (row["witness"] or {}):
        lower = {**row["witness"], "threshold": row["witness"]["upper"]["threshold"]}
        yield {("rows", index, "witness", "upper"): lower}


def of_tables(text: str, passing: int, low: float) -> Iterator[tuple[str, str]]:
    """Altered rows of a table of returns, one of a task that passes in the first column of each."""
    header, *rows = text.splitlines()
    mine = next(i for i, row in enumerate(rows) if row.startswith(f"{passing},"))
    task, episode, value = rows[mine].split(",")
    count = sum(row.startswith(f"{passing},") for row in rows)
    worst = [f"{task},{row.split(',')[1]},{low}" if row.startswith(f"{passing},") else row for row in rows]
    changed = {
        "a task that fails": worst,
        "an episode twice": [rows[mine], *rows],
        "an episode less": [*rows[:mine], *rows[mine + 1 :]],
        "a task less": [row for row in rows if not row.startswith(f"{passing},")],
        "a task more": [*rows, *(f"new,{i},{value}" for i in range(count))],
        "a cell more": [*rows[:mine], rows[mine] + ",0", *rows[mine + 1 :]],
        "no rows": [],
    }
    for bad in ("nan", "inf", "-inf", "", "1e999", "0x1", "1_0", "½", str(low - 1), "1e9"):
        changed[f"a return of {bad!r}"] = [*rows[:mine], f"{task},{episode},{bad}", *rows[mine + 1 :]]
    yield from ((name, "\n".join([header, *lines, ""])) for name, lines in changed.items())
    yield "no header", "\n".join([*rows, ""])
    yield "nothing", ""
