"""Texts of `jaxcert trial` about two policies in pairs."""

import math
from collections.abc import Iterator

import numpy as np

from jaxcert.certificates import confidence
from jaxcert.cli._console import as_given
from jaxcert.cli._trial_texts import declared_in, most_of, withdrawn_in
from jaxcert.rollouts import PairedTrials
from jaxcert.sequential._pairs import pairs_to_go
from jaxcert.sequential._wealth import fewest_to_pass
from jaxcert.tables._returns import how_many

# A smaller lead that is still needed is not mentioned.
_LARGE = 0.2


def beginning(trials: PairedTrials) -> Iterator[str]:
    """The declaration, and the first trial."""
    declared = trials.declared
    margin = f", margin {as_given(declared.margin)}" if declared.margin else ""
    names, most = " and ".join(declared.labels[place] for place in _places(trials)), most_of(declared.max_pairs, "pair")
    yield declared_in(trials, f"{names} in pairs", f"{most}{margin}", f"delta {as_given(declared.delta)}")
    yield f"one is shown to be better after at least {how_many(int(fewest_to_pass(trials.state)[0, 0]), 'pair')}"
    yield (
        "for each pair draw a scene as new ones come, and try both policies on it, in the order that is advised; stop "
        "whenever you like"
    )
    yield from _next(trials)


def progress(trials: PairedTrials, label: str) -> str:
    """One line on the last pair, the current state, and the next trial."""
    if (begun := trials.begun) is not None:
        told = f"pair {trials.num_pairs + 1}: {trials.declared.labels[begun.task]} {_said(trials, begun.value)}"
        return f"{told}; next: {trials.next_policy()}, on the same scene"
    last = [f"pair {trials.num_pairs}: {_both(trials, pair)}" for pair in trials.pairs()[-1:]]
    return "; ".join([*last, _tally(trials), _answer(trials), *_next(trials)])


def standing(trials: PairedTrials) -> Iterator[str]:
    """The state of the experiment: pairs, the answer, and how it depends on withdrawn trials."""
    yield f"{how_many(trials.num_pairs, 'pair')}: {_tally(trials)}"
    if odd := trials.num_out_of_order():
        yield f"{how_many(odd, 'pair')} in another order than was drawn"
    yield _answer(trials)
    if trials.withdrawn:
        yield withdrawn_in(trials)
        lost = "If both policies lose the withdrawn pairs, whatever the reasons"
        found = trials.better(count_withdrawn=True)
        yield f"{lost}: {'neither is shown to be better' if found is None else _better(trials, found)}"
    yield from _next(trials)


def _tally(trials: PairedTrials) -> str:
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


def _next(trials: PairedTrials) -> list[str]:
    label = trials.next_policy()
    return [] if label is None else [f"next: {label}"]


def _both(trials: PairedTrials, pair: tuple[float, float]) -> str:
    labels = trials.declared.labels
    return ", ".join(f"{labels[place]} {_said(trials, pair[place])}" for place in _places(trials))


def _places(trials: PairedTrials) -> list[int]:
    """The policies in the declared order; blinded ones by their labels, since the order would reveal them."""
    declared = trials.declared
    return sorted((0, 1), key=declared.labels.__getitem__) if declared.is_blinded else [0, 1]


def _said(trials: PairedTrials, value: float) -> str:
    return (("failure", "success")[int(value)]) if trials.declared.successes else f"{value:.6g}"
