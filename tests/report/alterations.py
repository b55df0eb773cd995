"""Changes of a certificate file or of its returns after which something is claimed that they do not prove."""

import copy
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jaxcert.report import check_certificate, check_trials, document_digest, document_text

Change = Callable[[dict[str, Any]], Any]


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


def of_records(record: dict[str, Any]) -> Iterator[tuple[str, Change]]:
    """Of what is the same for all rows, by a name."""
    others = {"question": ["mean", "band", "nonsense", 3, None], "note": ["", "All rows hold together."]}
    others |= {"fixed_beforehand": ["nonsense", *[None] * (record["fixed_beforehand"] is not None)]}
    others |= {"others": [[record["data"]]], "settings": [None, {}]}
    others |= {"data": [None, {}]}
    for name, values in others.items():
        for value in values:
            yield f"{name}: {value!s:.20}", lambda one, name=name, value=value: one.update({name: value})
    delta, n = record["settings"]["delta"], record["settings"]["num_tasks"]
    settings = {"delta": [delta / 2, 0.0, -delta, 1e-9, str(delta), None], "num_tasks": [n - 1, n + 1, 0, str(n)]}
    if support := record["settings"].get("support"):
        low, middle, high = support[0], sum(support) / 2, support[1]
        settings |= {
            "support": [[middle, high], [low, middle], [high, low], [None, high], [low], [low, high, high], None]
        }
    settings |= {"divergence": ["kl"], "simultaneous": [True], "num_episodes": [5, "2"], "complete": [False, "no"]}
    if any("bets" in (row.get("witness") or {}) for row in record["rows"]):  # a level that the data chose
        settings |= {"beta": ["auto"]}
    for name, values in settings.items():
        for value in values:
            yield f"{name}: {value}", lambda one, name=name, value=value: one["settings"].update({name: value})
    for name in ("min", "max", "total"):
        yield f"{name} + 1", lambda one, name=name: one["data"]["num_rollouts"].update({name: 1 + n})
    yield "sha256", lambda one: one["data"].update(sha256="0" * 64)
    yield "no rows", lambda one: one.update(rows=[])


def of_rows(row: dict[str, Any]) -> Iterator[tuple[str, Change]]:
    """Of the numbers and the words of a row."""
    better = {"num_violations": row["num_violations"] - 1}
    better |= {"threshold": row["threshold"] + 0.25 * abs(row["threshold"])} if "threshold" in row else {}
    better |= {"safety": 1 - (1 - row["safety"]) / 2} if "safety" in row else {"num_good": row["num_good"] + 1}
    better |= {"epsilon": row["epsilon"] / 2} if "epsilon" in row else {}
    for name, value in better.items():
        yield f"{name} better", lambda one, name=name, value=value: one.update({name: value})
        for bad in (None, str(value), [], -1.0, math.pi * 10**300):
            yield f"{name}: {bad!s:.9}", lambda one, name=name, bad=bad: one.update({name: bad})
        yield f"no {name}", lambda one, name=name: one.pop(name)
    yield "num_violations + 1", lambda one: one.update(num_violations=row["num_violations"] + 1)
    if "epsilon" in row:
        for risk in (row["epsilon"] / 2, 0.0, -0.5, -3.0):
            yield f"risk {risk}", lambda one, risk=risk: one.update(epsilon=risk, safety=1 - risk)
    sentence = row["sentence"]
    for old, new in (
        ("With confidence 0.", "With confidence 0.999"),
        ("on ", "on surely "),
        (": ", " for all together: "),
        ("at least", "about"),
        ("With", "with"),
        (".", ". It will never fail.") if sentence.count(".") < 2 else ("task", "task of any distribution"),
    ):
        yield f"says {new}", lambda one, old=old, new=new: one.update(sentence=sentence.replace(old, new, 1))
    yield "says more in brackets", lambda one: one.update(sentence=f"{sentence} (and in truth it is 0.9999)")
    yield "says more", lambda one: one.update(sentence=sentence[:-1] + " and is perfect.")
    nothing = f"{sentence.partition(':')[0]}: nothing is certified about failures, of which there is none."
    yield (
        "claims without a claim",
        lambda one: one.update(
            sentence=nothing,
            **{name: 0 for name in ("safety", "num_good") if name in row},
            **({"epsilon": 1} if "epsilon" in row else {}),
        ),
    )
    yield "says nothing", lambda one: one.update(sentence="")
    yield "says no words", lambda one: one.update(sentence=None)
    yield "another column", lambda one: one.update(perfection=1.0)
    yield "a column of two lines", lambda one: one.update({"x\nproven: all": 1.0})
    for status in ("vacuous", "infeasible", "perfect", None, ["certified"]):
        yield f"status {status}", lambda one, status=status: one.update(status=status)
    yield "no status", lambda one: one.pop("status")
    for beta in (1.0, -0.5, 2.0, None):
        yield f"beta {beta}", lambda one, beta=beta: one.update(beta=beta)
    if "num_good" in row:
        yield "a share of new tasks", lambda one: one.update(safety=1.0, epsilon=0.0)
        yield "num_valid", lambda one: one.update(num_valid=0)
        return
    for valid in (1000, -1, row.get("num_valid", 0) + 1, "1"):
        yield f"num_valid {valid}", lambda one, valid=valid: one.update(num_valid=valid)
    yield "a number of good tasks", lambda one: one.update(num_good=1)


def of_witnesses(row: dict[str, Any]) -> Iterator[tuple[str, Change]]:
    """Of what proves a row."""
    witness = row["witness"]
    name = "bets" if "bets" in witness else "successes"
    passing = next(i for i, each in enumerate(witness[name]) if each is not None)
    failing = next((i for i, each in enumerate(witness[name]) if each is None), None)
    best = witness["levels"][witness["chosen"]]
    yield "no witness", lambda one: one.update(witness=None)
    yield "witness left out", lambda one: one.pop("witness")
    for bad in ([], {}, "yes", 1):
        yield f"witness {bad}", lambda one, bad=bad: one.update(witness=bad)
    for entry in ("levels", "chosen", name):
        yield f"without {entry}", lambda one, entry=entry: one["witness"].pop(entry)
    for bad in (1.5, -0.1, 0, "0.5", True, [0.5], 10**30) if name == "bets" else (-1, 0, 10**30, "5", True, 0.5):
        yield f"{name}: {bad}", lambda one, bad=bad: one["witness"][name].__setitem__(passing, bad)
    yield "one less", lambda one: one["witness"][name].__setitem__(passing, None)
    yield "one short", lambda one: one["witness"][name].pop()
    yield "one long", lambda one: one["witness"][name].append(None)
    yield "turned round", lambda one: one["witness"].update({name: witness[name][1:] + witness[name][:1]})
    if failing is not None:
        for value in (0.5, 1.0) if name == "bets" else (6, 1):
            yield f"one more {value}", lambda one, value=value: one["witness"][name].__setitem__(failing, value)
    for share in (0.0, -best["share"], 2 * best["share"], 1.0, None):
        yield f"share {share}", lambda one, share=share: one["witness"]["levels"][witness["chosen"]].update(share=share)
    yield "chosen from behind", lambda one: one["witness"].update(chosen=witness["chosen"] - len(witness["levels"]))
    yield "chosen from none", lambda one: one["witness"].update(chosen=len(witness["levels"]))
    yield "a level more", lambda one: one["witness"]["levels"].append({**best})
    sizes = best["beta"] if name == "successes" else {}
    for value in (0.0, 1.0, 2.0, -0.5, 1e-6):
        same = dict.fromkeys(sizes, value) if name == "successes" else value
        yield (f"level {value}", lambda one, same=same: one["witness"]["levels"][witness["chosen"]].update(beta=same))
    for size, enough in best.get("enough", {}).items():
        for c in (0, -1, enough - 1, 10**6):
            yield (
                f"{c} of {size}",
                lambda one, c=c, size=size: one["witness"]["levels"][witness["chosen"]]["enough"].update({size: c}),
            )


def of_upper_ends(row: dict[str, Any]) -> Iterator[tuple[str, Change]]:
    """Of the other side of an interval."""
    upper = row["witness"]["upper"]
    for value in (row["safety_upper"] * 0.9, 0.0, -1.0, None):
        yield f"upper end {value}", lambda one, value=value: one.update(safety_upper=value)
    for change in (-1, 1):
        yield f"num_below {change}", lambda one, change=change: one.update(num_below=row["num_below"] + change)
    for value in (row["threshold"] * 1.01, upper["threshold"] * 0.7, None):
        yield f"of threshold {value}", lambda one, value=value: one["witness"]["upper"].update(threshold=value)
    yield "no upper witness", lambda one: one["witness"].pop("upper")
    yield (
        "the lower witness",
        lambda one: one["witness"].update(upper={**row["witness"], "threshold": upper["threshold"]}),
    )
    for name, change in of_witnesses({"witness": upper}):
        if name not in ("no witness", "witness left out"):
            yield f"above, {name}", lambda one, change=change: within(one["witness"], "upper", change)


def within(witnesses: Any, place: Any, change: Change) -> None:
    """A change of one of the witnesses that a row has."""
    held = {"witness": witnesses[place]}
    change(held)
    witnesses[place] = held.get("witness")


def every_alteration(record: dict[str, Any], index: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each altered record by a name, of those that differ in the place of one row."""
    row = record["rows"][index]
    for name, change in of_records(record):
        altered = copy.deepcopy(record)
        change(altered)
        yield name, altered
    in_rows = [*of_rows(row), *of_witnesses(row), *(of_upper_ends(row) if "upper" in row["witness"] else [])]
    for name, change in in_rows:
        altered = copy.deepcopy(record)
        change(altered["rows"][index])
        if json.dumps(altered) != json.dumps(record):
            yield name, altered


def of_tables(text: str, passing: int, low: float) -> Iterator[tuple[str, str]]:
    """Altered rows of a table of returns, one of a task that passes in the first column of each."""
    header, *rows = text.splitlines()
    mine = next(i for i, row in enumerate(rows) if row.startswith(f"{passing},"))
    task, episode, value = rows[mine].split(",")
    count = sum(row.startswith(f"{passing},") for row in rows)
    for bad in ("nan", "inf", "-inf", "", "1e999", "0x1", "1_0", "½", str(low - 1), "1e9"):
        yield (
            f"a return of {bad!r}",
            "\n".join([header, *rows[:mine], f"{task},{episode},{bad}", *rows[mine + 1 :], ""]),
        )
    worst = [f"{task},{row.split(',')[1]},{low}" if row.startswith(f"{passing},") else row for row in rows]
    yield "a task that fails", "\n".join([header, *worst, ""])
    yield "an episode twice", "\n".join([header, rows[mine], *rows, ""])
    yield "an episode less", "\n".join([header, *rows[:mine], *rows[mine + 1 :], ""])
    yield "a task less", "\n".join([header, *(row for row in rows if not row.startswith(f"{passing},")), ""])
    yield "a task more", "\n".join([header, *rows, *(f"new,{i},{value}" for i in range(count)), ""])
    yield "a cell more", "\n".join([header, *rows[:mine], rows[mine] + ",0", *rows[mine + 1 :], ""])
    yield "no header", "\n".join([*rows, ""])
    yield "no rows", header + "\n"
    yield "nothing", ""
