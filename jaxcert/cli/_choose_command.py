"""`jaxcert choose`: show what a file of returns holds and which questions it can answer, without a certificate."""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxcert.certificates._question import Question
from jaxcert.certificates._requirements_certificate import FEW_ROLLOUTS, OTHER_METHODS
from jaxcert.cli import _console
from jaxcert.cli._asking import askable
from jaxcert.cli._options import argument, in_shell, reading_of, with_roles
from jaxcert.cli._policies import PolicySource, read_all
from jaxcert.cli._settings import as_stated
from jaxcert.returns._labels import quoted
from jaxcert.returns._prepared import is_successes
from jaxcert.returns._required import as_given, sides_of
from jaxcert.tables import ReturnsFile
from jaxcert.tables._readers import holds_parquet

_NEW = "If the tasks are a random sample and new tasks have the same distribution:"
_LISTED = "If the tasks are a fixed list, all were run, and only this list matters:"
_OF_TWO = "Differences are the performance of policy A, the first file, minus that of policy B on the same task."
_ONE_EACH = "One rollout says little about its task: the mean and the next episode are worth asking."
_BEFOREHAND = (
    "Fill in X (wanted), LOW and HIGH (possible) before you look at the returns: numbers chosen from them are not "
    "certified, so none is shown here. LOW and HIGH are the smallest and the "
    "largest return that can occur, METRIC another column that measures each trial; "
    "delta 0.05 means confidence 0.95. --complete declares that no rollout was cut short."
)
_IF = (
    "Every command below holds only if each of these tasks, {first} to {last}, is a task that you ask about, and no "
    "setting, moment of training or summary; if each trial is a run of its own of one fixed policy; and if no trial "
    "was left out, repeated or chosen by its outcome."
)
# Usual values; X, LOW and HIGH stand for numbers that only the user knows and that are not read off the returns.
_EXAMPLES, _NUMBER, _ENDS = {"safety": "0.9", "alpha": "0.1", "margin": "0"}, "X", ("LOW", "HIGH")


@with_roles
def command(
    paths: list[Path] = argument(
        "FILE", "Returns, as for `jaxcert certify`; another one of policy B on the same tasks."
    ),
    *,
    roles: dict[str, Any],
) -> None:
    """Say what FILE holds and what can be asked of it, each with its command; of two files together."""
    if len(paths) > 2:
        raise ValueError(f"{len(paths)} files are given; expected one or two, or a leaderboard by jaxcert compare")
    reading = reading_of(roles)
    if folder := next((path for path in paths if "{" not in reading["task"] and holds_parquet(path)), None):
        asked = in_shell("certify", [folder], [])
        raise ValueError(f"{folder}: is a folder of Parquet files; expected a file, or {asked}")
    files = as_stated(read_all([*map(PolicySource, paths)], **reading), None)
    _print(files, _choices(files, roles))


def _choices(files: Sequence[ReturnsFile], roles: Mapping[str, Any]) -> dict[bool, dict[str, str]]:
    """The command of each question about these files by its words, of new tasks and of a list, what they hold first."""
    is_list = any(file.fixed_list for file in files)
    found: dict[bool, dict[str, str]] = {is_list: {}, not is_list: {}}
    for question in askable(len(files)).values():
        if _is_allowed(question, files):
            found[question.listed][question.words] = _command(question, files, roles)
    return found


def _naming(question: Question, file: ReturnsFile) -> list[str]:
    """The options that select a question, with the numbers and declarations that it needs beforehand."""
    if question.takes("requirements"):
        ends = "" if is_successes(file.like) else f" in {' '.join(_ENDS)}"
        assert file.columns is not None
        lines = [f"{file.columns.value} >= {_NUMBER}{ends}", f"METRIC <= {_NUMBER} in {' '.join(_ENDS)}"]
        return [*(word for line in lines for word in ("--requirement", line)), "--complete"]
    words = ["--question", question.name] if question.shortcut is None else []
    words += [f"--{question.shortcut}"] if question.shortcut else []
    needed = {option.name: option.type for option in question.options if option.is_needed}
    for name, kind in ({} if question.each is None else {question.each: list} | needed).items():
        flag = f"--{name.replace('_', '-')}"
        words += [flag] if kind is bool else [flag, _EXAMPLES.get(name, _NUMBER)]
    return words


def _is_allowed(question: Question, files: Sequence[ReturnsFile]) -> bool:
    """Whether the files have what it needs: strata or none, finished rollouts for an upper end, more columns."""
    has_strata, of_metrics = any(file.strata is not None for file in files), question.takes("requirements")
    needs_whole = question.declared.get("complete") or of_metrics
    if needs_whole and not all(file.is_finished for file in files):
        return False
    fits = question.of_strata if has_strata else not question.takes("strata")
    return fits and (not of_metrics or (bool(files[0].unread) and _can_be_required(files[0])))


def _can_be_required(file: ReturnsFile) -> bool:
    """Whether a requirement can name its column: it counts no trials, and no blank ends its name."""
    name = file.columns.value if file.columns and not file.counted else ""
    with contextlib.suppress(ValueError):  # it has a line break
        return bool(name.strip()) and [side.metric for side in sides_of([f"{name} >= 0"])] == [name]
    return False


def _command(question: Question, files: Sequence[ReturnsFile], roles: Mapping[str, Any]) -> str:
    """The command that asks this question about these files; a tool may fix the support, but the returns never do."""
    # Requirements name their columns.
    words = _words_of({**roles, "value": None} if question.takes("requirements") else roles)
    words += ["--suite"] if question.listed else ["--sampled"] * any(file.fixed_list for file in files)
    words += _naming(question, files[0])
    if question.has_support and not all(is_successes(file.like) for file in files):
        known = {file.known_support for file in files}
        words += ["--support", *(map(as_given, ends) if len(known) == 1 and (ends := known.pop()) else _ENDS)]
    command = "certify" if len(files) == 1 else "compare"
    return in_shell(command, [file.path for file in files], [*words, "--delta", "0.05"])


def _words_of(given: Mapping[str, Any]) -> list[str]:
    """The options that were given, as they are typed; the pattern of a folder's paths has an option of its own."""
    words = []
    for name, value in given.items():
        for each in value if isinstance(value, list | tuple) else [value]:
            flag = "--task-from-path" if name == "task" and "{" in f"{each}" else f"--{name}"
            words += [] if each is None else [flag, as_given(each) if isinstance(each, float) else each]
    return words


def _print(files: Sequence[ReturnsFile], found: Mapping[bool, Mapping[str, str]]) -> None:
    _console.say(*(line for file in files for line in _facts(file)))
    first, last = (quoted(str(task)) for task in files[0].tasks[[0, -1]].tolist())
    _console.say(f"\n{_IF.format(first=first, last=last)}")
    if len(files) > 1:
        _console.say(f"\n{_OF_TWO}")
    for listed, choices in found.items():
        _console.say(*[f"\n{_LISTED if listed else _NEW}"] * bool(choices))
        for words, command in choices.items():
            _console.say(f"\n  {words}", f"    {command}")
    most = max(int(each.num_rollouts.max()) for each in files)
    if most == 1:
        _console.say(f"\n{_ONE_EACH}")
    if most <= FEW_ROLLOUTS and any("--requirement" in command for each in found.values() for command in each.values()):
        _console.say(f"\nOf several requirements: {OTHER_METHODS[0].lower()}{OTHER_METHODS[1:]}.")
    _console.say(f"\n{_BEFOREHAND}")


def _facts(file: ReturnsFile) -> list[str]:
    """The content of a file, a line each, without numbers that could choose a threshold."""
    kind = "successes and failures" if is_successes(file.like) else "numbers"
    first, *others = _console.described(file.path, [file], kind)
    return [first, *(f"  {line}" for line in ([f"missing: {file.missing}"] if file.missing else []) + others)]
