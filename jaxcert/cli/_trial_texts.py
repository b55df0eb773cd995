"""Texts of `jaxcert trial` about trials of tasks, lines and a table, shared with pairs."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxcert.certificates import floor_to
from jaxcert.cli._console import as_given, plain_table
from jaxcert.cli._typed import in_shell
from jaxcert.rollouts import RecordedTrials, Trials
from jaxcert.sequential import certificate
from jaxcert.sequential._wealth import fewest_to_pass, if_all_pass
from jaxcert.tables._returns import how_many

_AT_ANY_TIME = "This holds at every moment of the experiment: go on, or stop, whenever you like."


def beginning(trials: Trials) -> Iterator[str]:
    """The declaration, the best possible result, and where to begin."""
    declared, fewest = trials.declared, fewest_to_pass(trials.state)
    levels = f"delta {as_given(declared.delta)}, beta {as_given(declared.beta)}"
    most = most_of(declared.max_trials, "trial")
    yield declared_in(trials, how_many(len(declared.tasks), "task"), f"{most} of each", levels)
    for i, (threshold, safety) in enumerate(zip(declared.thresholds, _at_most(trials), strict=True)):
        passes = f"a task passes after at least {how_many(fewest[0, i], 'trial')}"
        yield f"at {as_given(threshold)}: {passes}; if every task passes, {safety} of new tasks are certified"
    yield _of_a_list(trials)
    yield _next(trials)


def declared_in(trials: RecordedTrials[Any], what: str, *others: str) -> str:
    """A line on the declaration: tasks, outcomes and settings."""
    return f"declared in {trials.path}: {', '.join(filter(None, [what, _outcomes(trials), *others]))}"


def _outcomes(trials: RecordedTrials[Any]) -> str:
    declared = trials.declared
    return "successes" if declared.successes else f"scores in [{', '.join(map(as_given, declared.support))}]"


def most_of(number: int | None, noun: str) -> str:
    """The largest number that was declared, in words."""
    return f"any number of {noun}s" if number is None else f"at most {how_many(number, noun)}"


def _of_a_list(trials: Trials) -> str:
    """Advice for tasks that were not drawn: a list needs the same number of trials of each, whatever they show."""
    declared = trials.declared
    options = ["--suite", "--threshold", ",".join(map(as_given, declared.thresholds))]
    options += [] if declared.successes else ["--support", *map(as_given, declared.support)]
    options += ["--delta", as_given(declared.delta)]
    return (
        "this is about new tasks, from which these are drawn at random; of a fixed list, such as placements chosen by "
        "hand, make as many trials of each, a number fixed beforehand, and write task,trial,"
        f"{'success' if declared.successes else 'score'} to a file: {in_shell('certify', ['trials.csv'], options)}"
    )


def progress(trials: Trials, label: str) -> str:
    """One line on a task, and which one is next."""
    place, thresholds = trials.declared.tasks.index(label), trials.declared.thresholds
    named = [f" at {as_given(threshold)}" for threshold in thresholds] if len(thresholds) > 1 else [""]
    at = [f"{word}{threshold}" for word, threshold in zip(_words(trials)[place], named, strict=True)]
    return f"{label}: {_tally(trials, place)}; {', '.join(at)}; {_next(trials)}"


def standing(trials: Trials) -> Iterator[Any]:
    """The state of the experiment: a table, the certificate, and how it depends on withdrawn trials."""
    tasks, thresholds = trials.declared.tasks, trials.declared.thresholds
    columns = {"task": [*tasks], "trials": [_tally(trials, place) for place in range(len(tasks))]}
    for threshold, words in zip(thresholds, zip(*_words(trials), strict=True), strict=True):
        columns[f"at {as_given(threshold)}"] = [*words]
    yield from (plain_table(columns), "", str(trials.run()), _AT_ANY_TIME)
    if trials.withdrawn:
        worst = "failures" if trials.declared.successes else "the worst scores"
        yield withdrawn_in(trials)
        yield f"Counted as {worst}, whatever the reasons:"
        yield str(trials.run(count_withdrawn=True))
    yield from _outlook(trials)
    yield _next(trials)


def withdrawn_in(trials: RecordedTrials[Any]) -> str:
    """The number of withdrawn trials, and the condition on the reasons."""
    reasons = "; ".join(dict.fromkeys(each.withdrawn or "" for each in trials.withdrawn))
    holds = "the above holds only if none was withdrawn because of how it went"
    return f"{len(trials.withdrawn)} withdrawn ({reasons}): {holds}."


def _outlook(trials: Trials) -> Iterator[str]:
    """The evidence still needed at each threshold."""
    fewest = fewest_to_pass(trials.state)
    for i, (threshold, safety) in enumerate(zip(trials.declared.thresholds, _at_most(trials), strict=True)):
        passed, may = int(np.sum(fewest[:, i] == 0)), int(np.sum(fewest[:, i] > 0))
        counts = f"at {as_given(threshold)}: {passed} of {len(fewest)} tasks passed, {may} may still pass"
        more = f", after at least {int(np.sum(np.maximum(fewest[:, i], 0)))} more trials; then {safety} is certified"
        yield counts + (more if may else "")


def _at_most(trials: Trials) -> list[str]:
    """The safety at each threshold if every task passes that still may."""
    found = certificate(if_all_pass(trials.state), trials.declared.delta)
    return [floor_to(float(safety), 4) for safety in np.asarray(found.safety)]


def _tally(trials: Trials, place: int) -> str:
    values = [each.value for each in trials.trials if each.task == place and each.withdrawn is None]
    if trials.declared.successes:
        return f"{int(sum(values))} of {len(values)}"
    return f"{len(values)}, mean {np.mean(values):.6g}" if values else "0"


def _words(trials: Trials) -> list[list[str]]:
    """The state of each task at each threshold, in words."""
    is_open, fewest = np.asarray(trials.state.is_open).tolist(), fewest_to_pass(trials.state).tolist()
    return [[_word(*each) for each in zip(*of, strict=True)] for of in zip(is_open, fewest, strict=True)]


def _word(is_open: bool, fewest: int) -> str:
    if fewest == 0:
        return "passed"
    if not is_open:
        return "given up"
    return f"undecided, at least {fewest} more" if fewest > 0 else "undecided, too few trials left"


def _next(trials: Trials) -> str:
    label = trials.next_task()
    return "every task is decided" if label is None else f"next: {label}"
