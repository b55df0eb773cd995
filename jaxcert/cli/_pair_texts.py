"""What `jaxcert trial` says of two policies in pairs: lines."""

import math

import numpy as np

from jaxcert.cli._tables import as_given
from jaxcert.rollouts import PairedTrials
from jaxcert.sequential._pairs import pairs_to_go
from jaxcert.sequential._wealth import fewest_to_pass
from jaxcert.tables._returns import how_many

# A smaller lead that is needed from here on is not worth a word.
_LARGE = 0.2


def beginning_of_pairs(trials: PairedTrials) -> list[str]:
    """What was declared, and with which trial to begin."""
    declared = trials.declared
    kind = "successes" if declared.successes else f"scores in [{', '.join(map(as_given, declared.support))}]"
    most = "any number of pairs" if declared.max_pairs is None else f"at most {how_many(declared.max_pairs, 'pair')}"
    margin = f", margin {as_given(declared.margin)}" if declared.margin else ""
    names = " and ".join(declared.labels[place] for place in _places(trials))
    return [
        f"declared in {trials.path}: {names} in pairs, {kind}, {most}{margin}, delta {as_given(declared.delta)}",
        f"one is shown to be better after at least {how_many(int(fewest_to_pass(trials.state)[0, 0]), 'pair')}",
        "for each pair draw a scene as new ones come, and try both policies on it, in the order that is advised; stop "
        "whenever you like",
        f"next: {trials.next_policy()}",
    ]


def pair_of(trials: PairedTrials) -> str:
    """One line on the last pair, how it stands, and which trial is next."""
    if (begun := trials.begun) is not None:
        told = f"pair {trials.num_pairs + 1}: {trials.declared.labels[begun.task]} {_said(trials, begun.value)}"
        return f"{told}; next: {trials.next_policy()}, on the same scene"
    last = trials.pairs()[-1:]
    parts = [f"pair {trials.num_pairs}: {_both(trials, pair)}" for pair in last]
    return "; ".join([*parts, tally_of(trials), answer_of(trials), *_next(trials)])


def standing_of_pairs(trials: PairedTrials) -> list[str]:
    """How far the experiment is: pairs, the answer, and what of it rests on trials that were withdrawn."""
    lines = [f"{how_many(trials.num_pairs, 'pair')}: {tally_of(trials)}"]
    if odd := trials.num_out_of_order():
        lines.append(f"{how_many(odd, 'pair')} in another order than was drawn")
    lines += [answer_of(trials), *_of_withdrawn(trials), *_next(trials)]
    return lines


def tally_of(trials: PairedTrials) -> str:
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


def answer_of(trials: PairedTrials, *, count_withdrawn: bool = False) -> str:
    """Which policy is better, or whether to go on."""
    declared = trials.declared
    if (name := trials.better(count_withdrawn=count_withdrawn)) is not None:
        place = declared.policies.index(name)
        return f"{declared.labels[place]} is better{_key(trials, place)}: {_claim(trials, place)}"
    if count_withdrawn:
        return "neither is shown to be better"
    if trials.is_over:
        return f"neither is shown to be better{_within(trials)}"
    left = np.inf if declared.max_pairs is None else declared.max_pairs - trials.num_pairs
    fewest = fewest_to_pass(trials.state)[:, 0]
    if not np.any((fewest > 0) & (fewest <= left)):
        return f"stop: no difference can be shown any more{_within(trials)}"
    more = pairs_to_go(trials.state, trials.num_pairs) if trials.num_pairs else None
    hope = "no end in sight" if more is None else f"about {how_many(more, 'pair')} more"
    going = f"go on: {hope} if it goes on like this" if trials.num_pairs else "go on"
    if more is not None and more > left:
        going += f", and {left} are left"
    lead = min(fewest[fewest > 0]) / left
    if declared.is_exact and lead >= _LARGE:
        going += f"; only a lead of {math.floor(100 * lead) / 100:g} or more from here on can be shown{_within(trials)}"
    return going


def _claim(trials: PairedTrials, place: int) -> str:
    declared = trials.declared
    better, worse = declared.policies[place], declared.policies[1 - place]
    what = "succeeds more often than" if declared.successes else "has a larger expected score than"
    margin = f", by more than {as_given(declared.margin)}" if declared.margin else ""
    return f"with confidence {1 - declared.delta:.6g}, on new scenes {better} {what} {worse}{margin}"


def _key(trials: PairedTrials, place: int) -> str:
    return f" (it is {trials.declared.policies[place]})" if trials.declared.is_blinded else ""


def _within(trials: PairedTrials) -> str:
    most = trials.declared.max_pairs
    return "" if most is None else f" within {how_many(most, 'pair')}"


def _of_withdrawn(trials: PairedTrials) -> list[str]:
    if not trials.withdrawn:
        return []
    reasons = "; ".join(dict.fromkeys(each.withdrawn or "" for each in trials.withdrawn))
    return [
        f"{len(trials.withdrawn)} withdrawn ({reasons}): the above holds only if none was withdrawn because of how it "
        "went.",
        "With their pairs counted as lost by both, for whatever reason they were withdrawn: "
        + answer_of(trials, count_withdrawn=True),
    ]


def _next(trials: PairedTrials) -> list[str]:
    label = trials.next_policy()
    return [] if label is None else [f"next: {label}"]


def _both(trials: PairedTrials, pair: tuple[float, float]) -> str:
    labels = trials.declared.labels
    return ", ".join(f"{labels[place]} {_said(trials, pair[place])}" for place in _places(trials))


def _places(trials: PairedTrials) -> list[int]:
    """The policies as they are declared; blinded ones by their labels, as that order would tell which is which."""
    declared = trials.declared
    return sorted((0, 1), key=declared.labels.__getitem__) if declared.is_blinded else [0, 1]


def _said(trials: PairedTrials, value: float) -> str:
    return (("failure", "success")[int(value)]) if trials.declared.successes else f"{value:.6g}"
