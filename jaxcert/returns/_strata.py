"""Returns on tasks that were drawn within strata, a fixed number from each."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxcert._types import Array
from jaxcert.returns._labels import check_printable, enumerated, quoted
from jaxcert.returns._paired import Paired
from jaxcert.returns._weighted import Weighted
from jaxcert.returns.summaries import Histogram

# By how much a float may differ from the fraction that it stands for, and a sum of rounded frequencies from 1.
_ROUNDING, _SUM = 2.0**-50, 1e-6
# How many strata a sentence names one by one.
_MOST_NAMED, _LONGEST = 12, 40
# A label, which may hold commas, and its number, up to a comma or the end.
_FREQUENCY = re.compile(r"(.*?\S)\s*=\s*([^=,\s]+)\s*(?:,|$)")


def stratified(
    returns: Array | Histogram | Paired | Mapping[str, Array],
    strata: Sequence[Any],
    *,
    frequencies: Mapping[Any, float] | Sequence[str] | None = None,
) -> Weighted:
    r"""Returns whose tasks were drawn within strata, a fixed number from each. They are passed instead of returns.

    For a benchmark of 50 environments with 5 goals each, or of kinds of tasks from which equally many were drawn: a new
    task is from stratum h with probability w_h, and within it like the sampled ones. ``certify``, ``certify_mean`` and
    ``certify_cvar`` take it. A task of stratum h gets the weight

    .. math:: a_h = n w_h / n_h, \qquad \max_h a_h = \Lambda .

    Where all weights are 1, since as many tasks were drawn as the frequencies say, ``certify`` counts as for tasks from
    one distribution, for a delta of at most 1/4; but for successes with unequal numbers of rollouts.

    Args:
        returns: float[..., n, m], as in ``certify``; or a summary, ``paired``, or by metric. The n_h tasks of a stratum
            are independent draws from it, and n_h was fixed beforehand.
        strata: the label of each task's stratum, [n]; known numbers or words, also under ``jit``.
        frequencies: w_h, the probability of each stratum in deployment, positive and 1 together; by default n_h / n, as
            in the sample. By the labels, or as texts such as "flat=0.5".

    Returns:
        The returns with their weights.

    Raises:
        ValueError: for labels that are not [n]; frequencies that are not of just these strata, not positive, or not 1
            together.

    Example:
        >>> import jaxcert
        >>> returns = jaxcert.sample_returns("cheetah")
        >>> kinds = ["flat"] * 150 + ["slope"] * 50
        >>> print(jaxcert.certify(stratified(returns, kinds), 400.0, support=(0, 1000), delta=0.01))
        With confidence 0.99: on a new task from flat (0.75) or slope (0.25),
        the expected return is at least 400 with probability at least 0.9760.

    Reference: the theory page, section 20.4.
    """
    labels, place, counts = _strata_of(strata)
    sampled = counts / len(place)
    given = frequencies_of(frequencies)
    wanted = _in_order(labels, given) if given else sampled
    even = np.allclose(wanted, sampled, rtol=_ROUNDING, atol=0)
    # Up: two quotients.
    each = np.ones(len(labels)) if even else wanted / sampled * (1 + 2.0**-50)
    texts = tuple(f"{label}={frequency!r}" for label, frequency in given.items())
    return Weighted(returns, each[place], float(each.max()), in_words(labels, wanted, bool(given)), texts, bool(even))


def frequencies_of(given: Mapping[Any, float] | Sequence[str] | None) -> dict[str, float]:
    """Frequencies by the labels of strata; empty for None."""
    if isinstance(given, str) or not isinstance(given, Mapping | Sequence | None):
        raise ValueError(f"frequencies are {given!r:.60}; expected numbers by labels of strata, or texts as flat=0.5")
    is_named = isinstance(given, Mapping)
    pairs = [*given.items()] if is_named else [pair for text in given or () for pair in _written(str(text))]
    found = {}
    for label, value in pairs:
        try:
            found[str(label).strip()] = float(value)
        except (TypeError, ValueError) as error:
            expected = "expected a number, as flat=0.5"
            raise ValueError(f"the frequency of {label!r:.40} is {value!r:.40}; {expected}") from error
    if len(found) < len(pairs) or "" in found:
        raise ValueError("a stratum has two frequencies, or a frequency no stratum; expected one per stratum label")
    return found


def _written(text: str) -> Iterator[tuple[str, str]]:
    """The labels and numbers in a text such as flat=0.5, or flat=0.5,slope=0.5."""
    place = 0
    while place < len(text.rstrip()):
        if (match := _FREQUENCY.match(text, place)) is None:
            raise ValueError(
                f"frequencies (--frequency) hold {text!r:.80}; expected a label and its number, as flat=0.5"
            )
        yield match[1], match[2]
        place = match.end()


def _strata_of(strata: Sequence[Any]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The labels in the order in which they occur, the place of each task's among them, and how many tasks each has."""
    entries = [] if isinstance(strata, str) or np.ndim(strata) != 1 else np.asarray(strata, object).tolist()
    if not entries or not all(isinstance(entry, str | int | np.integer) for entry in entries):
        raise ValueError(f"strata are {strata!r:.60}; expected a label for each task, a word or a whole number")
    labels = [str(entry).strip() for entry in entries]
    if not all(labels):
        raise ValueError("the label of a stratum is blank; expected a word or a whole number for each task")
    check_printable("strata hold", labels)
    index = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    place = np.asarray([index[label] for label in labels])
    return list(index), place, np.bincount(place)


def _in_order(labels: Sequence[str], given: Mapping[str, float]) -> np.ndarray:
    """The frequency of each stratum, 1 together."""
    if empty := [label for label in given if label not in labels]:
        found = f"the strata are {', '.join(map(repr, labels))}"[:200]
        raise ValueError(f"the stratum {empty[0]!r:.40} has a frequency and no task; nothing is known of it ({found})")
    if lacking := [label for label in labels if label not in given]:
        raise ValueError(f"the stratum {lacking[0]!r:.40} has tasks and no frequency; expected one for each stratum")
    found = np.asarray([given[label] for label in labels])
    if not np.all(found > 0):
        raise ValueError(f"frequencies are {', '.join(f'{x:g}' for x in found)}; expected positive numbers")
    if abs(found.sum() - 1) > _SUM:
        raise ValueError(f"frequencies are {found.sum():.6g} together; expected 1")
    return found / found.sum()


def in_words(labels: Sequence[str], frequencies: np.ndarray, are_given: bool) -> str:
    """The strata of new tasks and their frequencies, in words."""
    are_equal, names = np.ptp(frequencies) == 0, [quoted(label[:_LONGEST]) for label in labels]
    if len(labels) > _MOST_NAMED or len({*names}) < len(names):
        other = "with the frequencies that were declared" if are_given else "as frequent as in the sample"
        return f"one of {len(labels)} strata, {'each as likely' if are_equal else other}"
    if len(names) == 1:
        return f"the stratum {names[0]}"
    if are_equal:
        return f"{enumerated(names, 'or')}, each as likely"
    return enumerated([f"{name} ({w:.4g})" for name, w in zip(names, frequencies, strict=True)], "or")
