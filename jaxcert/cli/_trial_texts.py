"""Texts of `jaxcert trial`: on trials of tasks, and on two policies in pairs."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxcert.certificates import confidence, floor_to
from jaxcert.cli._console import as_given, plain_table
from jaxcert.cli._typed import in_shell
from jaxcert.rollouts import PairedTrials, RecordedTrials, Trials
from jaxcert.rollouts._outlook import fewest_to_pass, if_all_pass, pairs_to_go
from jaxcert.sequential import certificate
from jaxcert.tables._returns import how_many

_AT_ANY_TIME = "This holds at every moment of the experiment: go on, or stop, whenever you like."
# A smaller lead that is still needed is not mentioned.
_LARGE = 0.2


def beginning(trials: Trials | PairedTrials) -> Iterator[str]:
    """The declaration, the best possible result, and where to begin."""
    yield from _beginning_of_pairs(trials) if isinstance(trials, PairedTrials) else _beginning_of_tasks(trials)
    yield from _next(trials)


def progress(trials: Trials | PairedTrials, label: str) -> str:
    """One line on the last trial, of this task, the current state, and the next trial."""
    found = _last_pair(trials) if isinstance(trials, PairedTrials) else [_state_of(trials, label)]
    return "; ".join([*found, *_next(trials)])


def standing(trials: Trials | PairedTrials) -> Iterator[Any]:
    """The state of the experiment: what is shown, and how it depends on withdrawn trials."""
    of_pairs = isinstance(trials, PairedTrials)
    yield from _shown_of_pairs(trials) if of_pairs else _shown_of_tasks(trials)
    if trials.withdrawn:
        reasons = "; ".join(dict.fromkeys(each.withdrawn or "" for each in trials.withdrawn))
        holds = "the above holds only if none was withdrawn because of how it went"
        yield f"{len(trials.withdrawn)} withdrawn ({reasons}): {holds}."
        yield from _with_lost_pairs(trials) if of_pairs else _with_lost_trials(trials)
    yield from [] if of_pairs else _outlook(trials)
    yield from _next(trials)


def _next(trials: Trials | PairedTrials) -> list[str]:
    label = trials.next_label()
    if label is None:
        return [] if isinstance(trials, PairedTrials) else ["every task is decided"]
    is_begun = isinstance(trials, PairedTrials) and trials.begun is not None
    return [f"next: {label}{', on the same scene' if is_begun else ''}"]


def _declared(trials: RecordedTrials[Any], what: str, *others: str) -> str:
    """A line on the declaration: tasks, outcomes and settings."""
    declared = trials.declared
    ends = "successes" if declared.successes else f"scores in [{', '.join(map(as_given, declared.support))}]"
    return f"declared in {trials.path}: {', '.join(filter(None, [what, ends, *others]))}"


def _most(number: int | None, noun: str) -> str:
    """The largest number that was declared, in words."""
    return f"any number of {noun}s" if number is None else f"at most {how_many(number, noun)}"


def _beginning_of_tasks(trials: Trials) -> Iterator[str]:
    declared, fewest = trials.declared, fewest_to_pass(trials.state)
    levels = f"delta {as_given(declared.delta)}, beta {as_given(declared.beta)}"
    most = _most(declared.max_trials, "trial")
    yield _declared(trials, how_many(len(declared.tasks), "task"), f"{most} of each", levels)
    for i, (threshold, safety) in enumerate(zip(declared.thresholds, _at_most(trials), strict=True)):
        passes = f"a task passes after at least {how_many(fewest[0, i], 'trial')}"
        yield f"at {as_given(threshold)}: {passes}; if every task passes, {safety} of new tasks are certified"
    yield _of_a_list(trials)


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


def _state_of(trials: Trials, label: str) -> str:
    """The state of a task."""
    place, thresholds = trials.declared.tasks.index(label), trials.declared.thresholds
    named = [f" at {as_given(threshold)}" for threshold in thresholds] if len(thresholds) > 1 else [""]
    at = [f"{word}{threshold}" for word, threshold in zip(_words(trials)[place], named, strict=True)]
    return f"{label}: {_tally(trials, place)}; {', '.join(at)}"


def _shown_of_tasks(trials: Trials) -> Iterator[Any]:
    """A table of the tasks, and the certificate."""
    tasks, thresholds = trials.declared.tasks, trials.declared.thresholds
    columns = {"task": [*tasks], "trials": [_tally(trials, place) for place in range(len(tasks))]}
    for threshold, words in zip(thresholds, zip(*_words(trials), strict=True), strict=True):
        columns[f"at {as_given(threshold)}"] = [*words]
    yield from (plain_table(columns), "", str(trials.run()), _AT_ANY_TIME)


def _with_lost_trials(trials: Trials) -> Iterator[str]:
    worst = "failures" if trials.declared.successes else "the worst scores"
    yield from (f"Counted as {worst}, whatever the reasons:", str(trials.run(count_withdrawn=True)))


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


def _beginning_of_pairs(trials: PairedTrials) -> Iterator[str]:
    declared = trials.declared
    margin = f", margin {as_given(declared.margin)}" if declared.margin else ""
    names, most = " and ".join(declared.labels[place] for place in _places(trials)), _most(declared.max_pairs, "pair")
    yield _declared(trials, f"{names} in pairs", f"{most}{margin}", f"delta {as_given(declared.delta)}")
    yield f"one is shown to be better after at least {how_many(int(fewest_to_pass(trials.state)[0, 0]), 'pair')}"
    yield (
        "for each pair draw a scene as new ones come, and try both policies on it, in the order that is advised; stop "
        "whenever you like"
    )


def _last_pair(trials: PairedTrials) -> list[str]:
    """The last trial and, after a whole pair, what is shown."""
    if (begun := trials.begun) is not None:
        return [f"pair {trials.num_pairs + 1}: {trials.declared.labels[begun.task]} {_said(trials, begun.value)}"]
    last = [f"pair {trials.num_pairs}: {_both(trials, pair)}" for pair in trials.pairs()[-1:]]
    return [*last, _wins(trials), _answer(trials)]


def _shown_of_pairs(trials: PairedTrials) -> Iterator[str]:
    """The pairs, and the answer."""
    yield f"{how_many(trials.num_pairs, 'pair')}: {_wins(trials)}"
    if odd := trials.num_out_of_order():
        yield f"{how_many(odd, 'pair')} in another order than was drawn"
    yield _answer(trials)


def _with_lost_pairs(trials: PairedTrials) -> Iterator[str]:
    found = trials.better(count_withdrawn=True)
    shown = "neither is shown to be better" if found is None else _better(trials, found)
    yield f"If both policies lose the withdrawn pairs, whatever the reasons: {shown}"


def _wins(trials: PairedTrials) -> str:
    """The wins of each policy, or the mean scores."""
    labels, values = trials.declared.labels, np.array(trials.pairs(), float).reshape(-1, 2)
    one, other = _places(trials)
    if trials.declared.successes:
        ahead = [int(np.sum(values[:, place] > values[:, 1 - place])) for place in (one, other)]
        return f"{labels[one]} won {ahead[0]}, {labels[other]} {ahead[1]}, {len(values) - sum(ahead)} alike"
    if not len(values):
        return "no score of both"
    means = values.mean(axis=0)
    return f"mean of {labels[one]} {means[one]:.6g}, of {labels[other]} {means[other]:.6g}"


def _answer(trials: PairedTrials) -> str:
    """Say which policy is better, or whether to go on."""
    if (name := trials.better()) is not None:
        return _better(trials, name)
    most = trials.declared.max_pairs
    within = "" if most is None else f" within {how_many(most, 'pair')}"
    if trials.is_over:
        return f"neither is shown to be better{within}"
    left, fewest = np.inf if most is None else most - trials.num_pairs, fewest_to_pass(trials.state)[:, 0]
    if not np.any((fewest > 0) & (fewest <= left)):
        return f"stop: no difference can be shown any more{within}"
    lead = min(fewest[fewest > 0]) / left
    is_large = trials.declared.is_exact and lead >= _LARGE
    shown = f"; only a lead of {math.floor(100 * lead) / 100:g} or more from here on can be shown{within}"
    return _going_on(trials, left) + (shown if is_large else "")


def _going_on(trials: PairedTrials, left: float) -> str:
    """Estimate how many more pairs are needed at the current rate, if that many are left."""
    if not trials.num_pairs:
        return "go on"
    more = pairs_to_go(trials.state, trials.num_pairs)
    hope = "no end in sight" if more is None else f"about {how_many(more, 'pair')} more"
    return f"go on: {hope} if it goes on like this" + (f", and {left} are left" if more and more > left else "")


def _better(trials: PairedTrials, name: str) -> str:
    declared = trials.declared
    place = declared.policies.index(name)
    key = f" (it is {name})" if declared.is_blinded else ""
    what = "succeeds more often than" if declared.successes else "has a larger expected score than"
    margin = f", by more than {as_given(declared.margin)}" if declared.margin else ""
    claim = f"with confidence {confidence(declared.delta)}, on new scenes {name} {what} {declared.policies[1 - place]}"
    return f"{declared.labels[place]} is better{key}: {claim}{margin}"


def _both(trials: PairedTrials, pair: tuple[float, float]) -> str:
    labels = trials.declared.labels
    return ", ".join(f"{labels[place]} {_said(trials, pair[place])}" for place in _places(trials))


def _places(trials: PairedTrials) -> list[int]:
    """The policies in the declared order; blinded ones by their labels, since the order would reveal them."""
    declared = trials.declared
    return sorted((0, 1), key=declared.labels.__getitem__) if declared.is_blinded else [0, 1]


def _said(trials: PairedTrials, value: float) -> str:
    return (("failure", "success")[int(value)]) if trials.declared.successes else f"{value:.6g}"
