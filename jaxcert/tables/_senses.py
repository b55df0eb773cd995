"""Recognise by name the columns in which less is better: costs, and columns whose yes is a failure."""

import numpy as np

from jaxcert.tables._entries import ask, listed_words, words_in
from jaxcert.tables._told_names import ASIDE, LIKE, says

# Quantities of which less is better.
_COSTS = words_in("""
    cost costs loss losses regret penalty penalties violation violations collision collisions distance latency seconds
    error errors err mse rmse mae failures crashes falls drops damage damages mistakes misses perplexity ppl wer cer
    duration runtime tokens jerk deviation overshoot overrun makespan lateness tardiness delay nll bpb fid fvd lpips
    chamfer hausdorff hamming levenshtein ade fde minade minfde brier ece fpr fnr eer mape residual drift bias gap rank
    energy idle wasted toxicity toxic harm harmful bug bugs leak leaks leaked breach breached bumps scratches slips
    spills stalls resets rewinds retries stalled takeover takeovers intervention interventions disengagement
    disengagements estop emergency aborts misses offroad
""")
# Also together: how long it took.
_TOGETHER = [*map(words_in, ("time to", "steps to", "completion time", "wall time", "elapsed time", "miss rate"))]
_TOGETHER += map(words_in, ("false positive", "false negative", "false alarm", "out bounds", "gave up", "give up"))
_TOGETHER += map(words_in, ("edit distance", "help requests", "near miss"))
# Words in names of columns whose yes is a failure; and words whose yes is a success unless "not" stands before them.
_FAILURES = words_in("""
    fail fails failed failure failures unsuccessful unsolved unresolved crash crashed collision collided error errors
    errored unsafe violation violated timeout timeouts fell fallen incorrect incorrectly wrong wrongly stuck dropped
    died dead death deaths deadlock deadlocked oom hung broken lost missed slip slipped spill spilled misgrasp
    misgrasped misclassified misdiagnosed mispredicted mislabeled hallucinated hallucination jailbroken derailed
    overturned tipped jammed defect relapse mortality readmitted infection unreachable unfinished unreached toppled
    fehler fehlschlag durchgefallen fehlgeschlagen gescheitert ausfall falsch echec \u00e9chec erreur faux fallo falla
    fracaso errore fallimento falha erro fout mislukt \u5931\u8d25 \u5931\u6557 \u9519\u8bef
""")
_SUCCESSES = words_in("ok found done reached bestanden finished complete completed compliant compliance safe valid")
_NOT = {"not", "non", "nicht", "without"}


def check_sense(name: str, returns: np.ndarray) -> None:
    """Refuse successes whose array is named after failures; warn of costs."""
    if np.all((returns == 0) | (returns == 1)):
        check_successes(name)
    ask_about_cost(name, returns)


def ask_about_cost(name: str, returns: np.ndarray) -> None:
    """Warn of a cost, by its name."""
    words = _undenied(name)
    told = _told_failures(name) or words & _COSTS or next((each for each in _TOGETHER if each <= words), set())
    if told and (returns.dtype != bool or says(name, told | ASIDE)):  # a distance_ok may be a success
        ask(
            f"column {name} is a cost by its name ({min(told)}), better when smaller; certificates bound returns "
            "from below: negate it to certify an upper limit"
        )


def check_successes(name: str) -> None:
    """Raise ValueError for a column of zeros and ones named after failures."""
    if _told_failures(name):
        raise ValueError(
            f"column {name} is named after failures, not successes; expected the opposite of it, a column of successes"
        )


def _is_denied(name: str) -> bool:
    """Whether it begins with "not" or with a "no" that does not mean number, as in no_collisions, or ends with
    "free".
    """
    first, *others = [*listed_words(name), ""]
    may_count = any(word == "of" or word.endswith("s") for word in others)
    return first in _NOT or (first == "no" and not may_count) or others[-2:-1] == ["free"]


def _undenied(name: str) -> set[str]:
    """The words of a name before which no "not" stands."""
    pairs = zip(["", *listed_words(name)], listed_words(name), strict=False)
    denied = {word for before, word in pairs if before in _NOT or (before == "no" and not word.endswith("s"))}
    return set() if _is_denied(name) else words_in(name) - denied


def _told_failures(name: str) -> set[str]:
    """The words that make a name one of failures: incorrect, or solved in not_solved."""
    words = words_in(name)
    is_opposite = _is_denied(name) and words & _NOT and not words & (_FAILURES | _COSTS)
    return words & (_SUCCESSES | LIKE["value"]) if is_opposite else _undenied(name) & _FAILURES
