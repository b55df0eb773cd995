"""Texts of `jaxcert trial`: on trials of tasks, and on two policies in pairs."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxcert.certificates import confidence, floor_to
from jaxcert.cli._console import table
from jaxcert.returns._labels import enumerated, quoted
from jaxcert.returns._required import as_given
from jaxcert.rollouts import PairedTrials, RecordedTrials, Trials
from jaxcert.rollouts._declared import fewest_to_pass, if_all_pass, pairs_to_go
from jaxcert.sequential import certificate
from jaxcert.tables._returns import how_many

_AT_ANY_TIME = "This holds at every moment of the experiment: go on, or stop, whenever you like."
_OF_A_LIST = (
    "this is about new tasks, from which these are drawn at random; of a fixed list, such as placements chosen by "
    "hand, make as many trials of each, a number fixed beforehand, and write task, trial and outcome to a file: "
    "jaxcert certify FILE --suite"
)
_NONE = "no policy is shown to be better"
# A smaller lead that is still needed is not mentioned.
_LARGE = 0.2


def beginning(trials: Trials | PairedTrials) -> Iterator[str]:
    """The declaration, the best possible result, and where to begin."""
    yield from _beginning_of_pairs(trials) if isinstance(trials, PairedTrials) else _beginning_of_tasks(trials)
    yield from next_of(trials)


def progress(trials: Trials | PairedTrials, label: str) -> str:
    """One line on the last trial, of this task, the current state, and the next trial."""
    found = _last_pair(trials) if isinstance(trials, PairedTrials) else [_state_of(trials, label)]
    return "; ".join([*found, *next_of(trials)])


def standing(trials: Trials | PairedTrials) -> Iterator[Any]:
    """The state of the experiment: what is shown, and how it depends on withdrawn trials."""
    yield from _standing_of_pairs(trials) if isinstance(trials, PairedTrials) else _standing_of_tasks(trials)
    yield from next_of(trials)


def on_page(trials: PairedTrials) -> dict[str, list[str]]:
    """What is shown, as the statement of a page, and what else is said of the pairs."""
    claims, lines = _better(trials), [*_standing_of_pairs(trials, reasons=False)]  # which may hold what is private
    said = [f"{claim}." for claim in claims] or [f"{_NONE[0].upper()}{_NONE[1:]}."]
    return {"claims": said, "more": [line for line in lines if line not in claims]}


def _withdrawn(trials: Trials | PairedTrials, *, reasons: bool = True) -> str:
    """How many trials are withdrawn, and why."""
    why = f" ({'; '.join(dict.fromkeys(each.withdrawn or '' for each in trials.withdrawn))})" if reasons else ""
    holds = "the above holds only if none was withdrawn because of how it went"
    return f"{len(trials.withdrawn)} withdrawn{why}: {holds}."


def next_of(trials: Trials | PairedTrials) -> list[str]:
    """The next trial, in words; none where nothing more is evidence."""
    label = trials.next_label()
    if label is None:
        return [] if isinstance(trials, PairedTrials) else ["every task is decided"]
    is_begun = isinstance(trials, PairedTrials) and trials.begun is not None
    return [f"next: {quoted(label)}{', on the same scene' if is_begun else ''}"]


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
    yield _OF_A_LIST


def _state_of(trials: Trials, label: str) -> str:
    """The state of a task."""
    place, thresholds = trials.declared.tasks.index(label), trials.declared.thresholds
    named = [f" at {as_given(threshold)}" for threshold in thresholds] if len(thresholds) > 1 else [""]
    at = [f"{word}{threshold}" for word, threshold in zip(_words(trials)[place], named, strict=True)]
    return f"{quoted(label)}: {_tally(trials, place)}; {', '.join(at)}"


def _standing_of_tasks(trials: Trials) -> Iterator[Any]:
    """A table of the tasks, the certificate, and the evidence still needed at each threshold."""
    tasks, thresholds = trials.declared.tasks, trials.declared.thresholds
    columns = {"task": [*tasks], "trials": [_tally(trials, place) for place in range(len(tasks))]}
    for threshold, words in zip(thresholds, zip(*_words(trials), strict=True), strict=True):
        columns[f"at {as_given(threshold)}"] = [*words]
    yield from (table(columns), "", str(trials.run()), _AT_ANY_TIME)
    if trials.withdrawn:
        worst = "failures" if trials.declared.successes else "the worst scores"
        lost = f"Counted as {worst}, whatever the reasons:", str(trials.run(count_withdrawn=True))
        yield from (_withdrawn(trials), *lost)
    fewest = fewest_to_pass(trials.state)
    for i, (threshold, safety) in enumerate(zip(thresholds, _at_most(trials), strict=True)):
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
    most = _most(declared.max_pairs, declared.noun)
    names = enumerated([quoted(declared.labels[place]) for place in _places(trials)])
    yield _declared(trials, f"{names} in {declared.noun}s", f"{most}{margin}", f"delta {as_given(declared.delta)}")
    fewest = how_many(int(fewest_to_pass(trials.state)[0, 0]), declared.noun)
    yield f"one is shown to be better after at least {fewest}"
    yield (
        f"for each {declared.noun} draw a scene as new ones come, and try each policy on it, in the order that is "
        "advised; stop whenever you like"
    )
    if declared.successes:
        yield (
            f"of a fixed list, a {declared.noun} is one run of the whole list by each: declare --support 0 1, and "
            "record shares of successes as scores"
        )


def _last_pair(trials: PairedTrials) -> list[str]:
    """The last trial and, after a whole pair, what is shown."""
    noun = trials.declared.noun
    if (begun := trials.begun) is not None:
        last = f"{quoted(trials.declared.labels[begun.task])} {_said(trials, begun.value)}"
        return [f"{noun} {trials.num_pairs + 1}: {last}"]
    last = trials.pairs()[-1] if trials.num_pairs else ()
    tried = [(place, value) for place in _places(trials) if (value := last[place]) is not None] if last else []
    told = ", ".join(f"{quoted(trials.declared.labels[place])} {_said(trials, value)}" for place, value in tried)
    return [*([f"{noun} {trials.num_pairs}: {told}"] if told else []), _wins(trials), *_answer(trials)]


def _standing_of_pairs(trials: PairedTrials, *, reasons: bool = True) -> Iterator[str]:
    """The pairs, and the answer."""
    noun = trials.declared.noun
    yield f"{how_many(trials.num_pairs, noun)}: {_wins(trials)}"
    if odd := trials.num_out_of_order():
        yield f"{how_many(odd, noun)} in another order than was drawn"
    yield from _answer(trials)
    if trials.withdrawn:
        found = "; ".join(_better(trials, count_withdrawn=True) or [_NONE])
        yield _withdrawn(trials, reasons=reasons)
        yield f"If each policy loses the withdrawn {noun}s, whatever the reasons: {found}"


def _wins(trials: PairedTrials) -> str:
    """The wins of each of two policies, the successes of each of more, or the mean scores."""
    labels, pairs, places = [*map(quoted, trials.declared.labels)], trials.pairs(), _places(trials)
    if trials.declared.successes and len(labels) == 2:
        ahead = [sum(pair[place] > pair[1 - place] for pair in pairs) for place in places]
        one, other = (labels[place] for place in places)
        return f"{one} won {ahead[0]}, {other} {ahead[1]}, {len(pairs) - sum(ahead)} alike"
    if not pairs:
        return "no outcome of all"
    held = {place: [value for pair in pairs if (value := pair[place]) is not None] for place in places}
    if trials.declared.successes:
        return ", ".join(f"{labels[place]} {int(sum(of))} of {len(of)}" for place, of in held.items())
    return "mean of " + ", of ".join(f"{labels[place]} {np.mean(of):.6g}" for place, of in held.items())


def _answer(trials: PairedTrials) -> list[str]:
    """Say which policy is better, and whether to go on."""
    found, most, noun = _better(trials), trials.declared.max_pairs, trials.declared.noun
    within = "" if most is None else f" within {how_many(most, noun)}"
    if trials.is_over:
        return found or [f"{_NONE}{within}"]
    left, fewest = np.inf if most is None else most - trials.num_pairs, fewest_to_pass(trials.state)[:, 0]
    if not np.any((fewest > 0) & (fewest <= left)):
        return [*found, f"stop: no {'other ' if found else ''}difference can be shown any more{within}"]
    lead = min(fewest[fewest > 0]) / left
    is_large = trials.declared.is_exact and lead >= _LARGE
    shown = f"; only a lead of {math.floor(100 * lead) / 100:g} or more from here on can be shown{within}"
    return [*found, _going_on(trials, left) + (shown if is_large else "")]


def _going_on(trials: PairedTrials, left: float) -> str:
    """Estimate how many more pairs are needed at the current rate, if that many are left."""
    if not trials.num_pairs:
        return "go on"
    more = pairs_to_go(trials.state, trials.num_pairs)
    hope = "no end in sight" if more is None else f"about {how_many(more, trials.declared.noun)} more"
    next_one = " to the next answer" if more is not None and len(trials.declared.policies) > 2 else ""
    few = f", and {left} are left" if more and more > left else ""
    return f"go on: {hope}{next_one} if it goes on like this{few}"


def _better(trials: PairedTrials, *, count_withdrawn: bool = False) -> list[str]:
    """The claims about each policy that is shown to be better than others, at one confidence."""
    declared = trials.declared
    what = "succeeds more often than" if declared.successes else "has a larger expected score than"
    margin = f", by more than {as_given(declared.margin)}" if declared.margin else ""
    of_two = len(declared.policies) == 2
    level = confidence(declared.delta) + ("" if of_two else " for all comparisons")
    shown, found = trials.shown(count_withdrawn=count_withdrawn), []
    # Names of blinded policies are told when no trial of any is left.
    labels = [*map(quoted, declared.labels)]
    names = [*map(quoted, declared.policies)] if trials.is_over else labels
    for place in _places(trials):
        worse = shown.get(declared.policies[place], [])
        if others := [other for other in _places(trials) if declared.policies[other] in worse]:
            key = f" (it is {names[place]})" if declared.is_blinded and trials.is_over else ""
            than = "" if of_two else f" than {enumerated([labels[other] for other in others])}"
            claim = f"on new scenes {names[place]} {what} {enumerated([names[other] for other in others])}{margin}"
            found.append(f"{labels[place]} is better{than}{key}: with confidence {level}, {claim}")
    return found


def _places(trials: PairedTrials) -> list[int]:
    return trials.declared.listed(range(len(trials.declared.policies)))


def _said(trials: PairedTrials, value: float) -> str:
    return (("failure", "success")[int(value)]) if trials.declared.successes else f"{value:.6g}"
