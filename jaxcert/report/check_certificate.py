r"""A certificate file, checked from its witnesses in exact arithmetic, with Python's standard library alone.

Run `python check_certificate.py certificate.json returns.csv`. The decimals that are written are taken as fractions.
Of n tasks, each with m independent returns X in [a, b] of mean J, a task *passes* at B > a by a witness, one of

* a bet l in [0, 1] with prod_j (1 - l + l (X_j - a) / (B - a)) >= 1/beta;
* successes s = sum_j X_j >= c of returns of 0 and 1, where P[Bin(m, B) >= c] <= beta: the least c, if beta is set.

**Theorem.** A task with J < B passes with probability at most beta: by theorem 1 of Ming, Shen and Wang
(arXiv 2603.10329), which allows any bet that the data choose; successes by definition. Let k tasks not pass. With
probability at least 1 - delta: if the tasks were sampled independently, a new one has J < B with probability at most
epsilon, where P[Bin(n, epsilon (1 - beta)) <= k] <= delta; if they are a list, fewer than v of them have J < B, where
coins of 1 - beta for the k tasks and for v - k others, those with the largest beta, show at most k heads with
probability at most delta. (Unequal beta: a coin of epsilon (1 - beta) for each task.) From strata, as many tasks of
each as a new task is likely to be from it, epsilon is the same for equal beta, delta <= 1/4 and k < n - 1 (Greenberg
and Mohri 2014, Hoeffding 1956); else by the theorem, of numbers with unequal means. Where several levels were tried,
one suffices at its share of delta. Of a + b - X, at a + b - B, it bounds P[J >= B]. Of several requirements a task
passes if it passes each: a bad task misses one of them, and passes with probability at most the largest beta.
"""

import csv
import io
import json
import re
import sys
import unicodedata
from collections import Counter, namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from hashlib import sha256
from math import lcm, prod
from pathlib import Path
from typing import Any


class Number(str):
    """A number as it is spelled in the file."""


FORMAT, FORMAT_VERSION = "jaxcert certificates", 5
BELIEVED = """What remains to be believed:
- the theorem, proven in the theory page of jaxcert;
- that columns, question, thresholds, safeties, requirements, frequencies, support, delta, levels, their shares of
  delta, numbers of tasks and of rollouts, or what a log declares, were settled before the data were seen
  (`jaxcert verify` derives the levels, and compares a protocol);
- that the returns are what happened, all of it, with a policy that was fixed beforehand;
- that rollouts are independent and, where it says "a new task", tasks are independent draws from one distribution
  or, a fixed number of each, from several strata;
- other words of the file than the sentences above, such as its assumptions."""
# Control characters, and characters that are displayed as nothing; whole numbers.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\U00013430-\U00013441\U00016fe4\U0001bca0-\U0001bca3"
    "\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.0+)?", re.ASCII)
_DECIMAL = re.compile(r"-?([0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})([eE][+-]?[0-9]{1,3})?")
_WORDS = dict(re.findall(r"(\w+)=(.)", "true=1 yes=1 pass=1 passed=1 success=1 false=0 no=0 fail=0 failed=0 failure=0"))
NOTE = "Each row holds for a {} fixed before the data were seen, not for one chosen after a look at the rows."
WHOLE = "It holds for settings fixed before the data were seen, not for ones chosen after a look at them."
_ADVICE = "no more than the lower end of the support: lower the safety, or sample more tasks or rollouts"
_N, _OF = r"(-?[0-9]+(?:\.[0-9]+)?(?:e[+-][0-9]+)?)", "(?:expected return|probability of success)"
_START, _AT_LEAST = f"With confidence {_N}: ", f"the {_OF} is at least {_N}"
_NEW_TASK = f"{_START}on a new task from the same distribution, "
_NEW = f"{_NEW_TASK}{_AT_LEAST} with"
_SO_MANY = rf"{_START}on (?:at least ([0-9]+) of these|all of these) ([0-9]+) tasks, "
_LISTED = rf"{_SO_MANY}{_AT_LEAST}\."
_NOTHING = rf"{_START}nothing is certified about (?:how many of these [0-9]+ tasks have )?an? {_OF} of at least {_N}\."
COUNTED = "threshold safety epsilon num_violations num_valid status sentence"  # the columns of a row
_SILENT = frozenset(["vacuous", "infeasible", "invalid_input", "out_of_range", "unsound"])  # of a row without a claim
_MOST_TRIALS = 10**7  # that a table may count
_WORD = re.compile(r"(?:[^\W\u115f\u1160\u3164\uffa0]|[./:@+=-])+")  # without letters that look like blanks
_QUOTES = re.compile("QUOT|PRIME|DITTO|GERSH|APOSTROPHE")  # in the names of what looks like quotes
_LINE = re.compile(r"(\S(?:.*\S)?) ([<>]=) (\S+)(?: in (\S+) (\S+))?")  # a requirement
# The returns of each task, a, b or None, the part of delta that a side of a row has, all of it, ...; of tasks from
# strata how frequent these are, and the weight of each task, none if all have the same; of requirements, for each the
# words, a case, and the threshold there.
_Case = "tasks low high delta whole settings binary strata weights required"
Case = namedtuple("Case", _Case, defaults=[{}, (), ()])
WRONG = ValueError, LookupError, TypeError, AttributeError, ArithmeticError, OSError, csv.Error, RecursionError
READING: Any = dict.fromkeys(("parse_float", "parse_int", "parse_constant"), Number)
READING |= {"object_pairs_hook": lambda held: need(len(dict(held)) == len(held), "a name twice") or dict(held)}


def need(holds: bool, words: str) -> None:
    """Raise ValueError with these words unless the condition holds."""
    if not holds:
        raise ValueError(words)


def reason(error: BaseException) -> str:
    """What is wrong, in one line of printable characters, whatever the file has for names."""
    words = str(error) if type(error) is ValueError else repr(error)
    return "".join(each if each.isprintable() else "?" for each in words)


def quoted(name: str) -> str:
    """A name in a sentence: a single word as it is, any other in double quotes, so that its end is seen."""
    need(name.isprintable(), f"the name {name!r:.60} has a letter that is not printable")
    seen = "".join("'" if _is_quote(letter) else letter for letter in name)
    return name if _WORD.fullmatch(name) else '"' + re.sub("'+", "'", seen) + '"'


def _is_quote(letter: str) -> bool:
    if letter.isascii():
        return letter in "\"'`"
    return unicodedata.category(letter) == "Sk" or bool(_QUOTES.search(unicodedata.name(letter, "")))


def exact_number(text: Any) -> Fraction:
    """The finite number that a text of JSON stands for."""
    need(isinstance(text, Number) and bool(_DECIMAL.fullmatch(text)), f"{text!r:.40} stands for a finite number")
    return Fraction(text)


def gain(bets: list[Fraction], returns: Any, low: Fraction, threshold: Fraction, goal: Fraction) -> int:
    """An integer with the sign of W - goal, W the mean over bets l of prod_j (1 - l + l (X_j - a) / (B - a)), for
    returns X that may be counted; each factor is multiplied by the same integer.
    """
    counts, one = Counter(returns), lcm(*(bet.denominator for bet in bets))
    unit = lcm(low.denominator, threshold.denominator, *(x.denominator for x in counts))
    least, width, won = int(low * unit), int((threshold - low) * unit), 0
    excess = [(x.numerator * (unit // x.denominator) - least, count) for x, count in counts.items()]
    for bold in (int(bet * one) for bet in bets):
        won += prod(((one - bold) * width + bold * x) ** count for x, count in excess)
    return won * goal.denominator - goal.numerator * len(bets) * (one * width) ** counts.total()


def rarely(k: int, coins: dict[Fraction, int], delta: Fraction) -> bool:
    """Whether P[at most k heads] <= delta, for this number of coins of each probability: sums of integers over
    unit**n.
    """
    n, unit, ways = sum(coins.values()), lcm(*(p.denominator for p in coins)), [1]
    need(all(0 <= p <= 1 for p in coins), "a risk or a level is no probability")
    if k < 0 or k >= n:
        return k < 0
    if len(coins) == 1:  # sum_j C(n, j) heads**j tails**(n - j)
        term, total, heads = 1, 1, int(min(coins) * unit)
        for j in range(1, k + 1):
            term = term * heads * (n - j + 1) // j
            total = total * (unit - heads) + term
        total *= (unit - heads) ** (n - k)
    else:  # coin by coin the weights of 0, ..., k heads
        for heads in (int(p * unit) for p, count in coins.items() for _ in range(count)):
            ways = [x * (unit - heads) + y * heads for x, y in zip([*ways, 0], [0, *ways], strict=True)][: k + 1]
        total = sum(ways)
    return total * delta.denominator <= delta.numerator * unit**n


def witnessed(witness: Any, case: Case, threshold: Fraction, stated: Any = None) -> tuple[list, list, Fraction]:
    """Check each witness. Return the tasks that pass, the level of each, at most a stated one, and the share of
    delta.
    """
    need(isinstance(witness, dict), "it has no witness")
    levels, chosen, by_bets, enough = witness["levels"], exact_number(witness["chosen"]), "bets" in witness, {}
    shares, level = [exact_number(each["share"]) for each in levels], levels[int(chosen)]
    need(chosen in range(len(levels)) and min(shares) > 0 and sum(shares) <= case.delta, "its shares do not fit")
    equal = len({*shares}) == 1 and case.settings.get("beta") != "auto"
    same = equal or case.required if by_bets else case.binary
    need(same, "it has other levels than the settings, or successes of returns other than 0 and 1")
    given, sizes = witness["bets" if by_bets else "successes"], [len(task) for task in case.tasks]
    betas = {m: exact_number(level["beta"] if by_bets else level["beta"][str(m)]) for m in sizes}
    one_level = not by_bets and isinstance(case.settings.get("beta"), Number)
    for m, beta in betas.items():
        fits = stated in (None, beta) or (beta < stated and not by_bets)
        need(0 < beta < 1 and fits, f"a level is {beta}; stated is {stated}")
        c = enough[m] = 1 if by_bets else int(exact_number(level["enough"][str(m)]))
        rare = by_bets or (c > 0 and rarely(m - c, {1 - threshold: m}, beta))
        least = not one_level or stated is None or not rarely(m - c + 1, {1 - threshold: m}, stated)
        need(rare and least, f"P[Bin({m}, B) >= {c}] is larger than its level, or {c} is not the least such number")
    for i, (task, m, held) in enumerate(zip(case.tasks, sizes, given, strict=True)):
        if held is not None and by_bets:
            won = 0 <= (bet := exact_number(held)) <= 1 and gain([bet], task, case.low, threshold, 1 / betas[m]) >= 0
            need(won, f"task {i + 1}: its bet is not in [0, 1], or wins less than 1/beta")
        elif held is not None:
            won = sum(task) == exact_number(held) >= enough[m]
            need(won, f"task {i + 1}: it has {sum(task)} successes of {enough[m]}")
    return [held is not None for held in given], [betas[m] for m in sizes], shares[int(chosen)]


def of_counts(row: Any, case: Case, claims: bool) -> None:
    """Check that a row counts no more tasks than there are, and that its status says whether it claims something."""
    counts = {name: exact_number(row[name]) for name in ("num_violations", "num_valid", "num_below") if name in row}
    most = max(counts["num_violations"] + counts.get("num_valid", 0), counts.get("num_below", 0))
    fits = all(count >= 0 == count % 1 for count in counts.values()) and most <= len(case.tasks)
    need(fits, f"{', '.join(f'{name} is {count}' for name, count in counts.items())}, of {len(case.tasks)} tasks")
    possible = frozenset(("certified", "out_of_range")) if claims else _SILENT
    is_given = not case.required and exact_number(row["threshold"]) <= case.low  # what needs no proof
    possible |= {"certified"} if is_given else set()
    need(row["status"] in possible, f"its status is {row['status']!r:.40}; expected {' or '.join(sorted(possible))}")


def said(row: Any, case: Case, pattern: str, claims: bool, nothing: str = _NOTHING) -> list[Fraction]:
    """The numbers in the sentence of a row after the confidence, which is checked; none if it claims nothing."""
    match = re.fullmatch(rf"{pattern if claims else nothing}(?: \({_ADVICE}\))?", row["sentence"])
    numbers = [exact_number(Number(text)) for text in (match.groups() if match else ()) if text]
    need(len(numbers) > 0, "its sentence says something else than its numbers")
    need(0 <= numbers[0] <= 1 - case.whole, "its sentence has a confidence that is not from 0 to 1 - delta")
    need(case.binary or "probability of success" not in row["sentence"], "its sentence is about returns of 0 and 1")
    return numbers[1:] if claims else []


def share_of_new_tasks(row: Any, case: Case, proof: Callable[..., tuple[list, list, Fraction]] = witnessed) -> None:
    """Check a row with a safety at a threshold, and the upper end if it has one: P[J < B] and P[J >= B] are at most."""
    safety, epsilon, upper = of_probabilities(row)
    threshold = exact_number(row["threshold"])
    end = rf" a probability between {_N} and {_N}\." if "safety_upper" in row else rf" probability at least {_N}\."
    given = bool(case.settings.get("frequencies"))
    new = _NEW.replace("the same distribution", re.escape(_in_words(case.strata, given=given)))
    shown = said(row, case, new + end, claims=safety > 0 or upper < 1) or [threshold, safety]
    need(shown[0] <= threshold and shown[1] <= safety and [upper, *shown[2:]][-1] >= upper, "its sentence says more")
    beta = row["beta"] if "beta" in row else case.settings["beta"]
    of_counts(row, case, claims=(safety > 0 and threshold > case.low) or upper < 1)
    sides = [("num_violations", row.get("witness"), case, min(epsilon, 1 - safety), threshold, beta)]
    if upper < 1:
        need(case.settings.get("complete") is True, "it has an upper end, and whole rollouts were not declared")
        above, ends = exact_number(row["witness"]["upper"]["threshold"]), case.low + case.high
        need(above <= min(shown[0], threshold) and above < case.high, "its upper end is of a larger threshold")
        mirror = case._replace(tasks=[[ends - x for x in task] for task in case.tasks])
        sides += [("num_below", row["witness"]["upper"], mirror, upper, ends - above, case.settings["beta_upper"])]
    for name, witness, data, risk, at, most in sides if safety > 0 and threshold > case.low else sides[1:]:
        part = data._replace(delta=case.delta / 2) if "safety_upper" in row else data
        passed, betas, share = proof(witness, part, at, exact_number(most))
        is_counted(row, name, exact_number(most), passed, betas)
        if case.weights:
            over_all_tasks(witness, case.weights, passed, betas, risk, share)
            continue
        even = share <= Fraction(1, 4) and passed.count(False) < len(passed) - 1 and len({*betas}) == 1
        need(even or not case.strata, "of strata it is proved for a delta of at most 1/4, k < n - 1 and one level")
        is_rare(name, risk, passed, betas, share)


def of_probabilities(row: Any) -> tuple[Fraction, Fraction, Fraction]:
    """The safety of a row, its epsilon, and its upper end, which is 1 if it has none."""
    safety, epsilon, upper = (exact_number(row.get(name, Number(1))) for name in ("safety", "epsilon", "safety_upper"))
    need(min(safety, epsilon, upper) >= 0 and max(safety, epsilon, upper) <= 1, "it has what is no probability")
    need(abs(safety + epsilon - 1) < Fraction(1, 2**20), "safety is not 1 - epsilon")
    return safety, epsilon, upper


def is_counted(row: Any, name: str, most: Fraction, passed: list, betas: list) -> None:
    """Check that a row counts the tasks that do not pass, at the stated level ``most``."""
    counted = passed.count(name == "num_below")
    need(exact_number(row[name]) == counted, f"{name} is {row[name]}; of its witnesses {counted}")
    is_close = most <= max(betas) * (1 + Fraction(1, 2**16)) or name == "num_below" or "beta" not in row
    need(is_close, f"beta is {most}; the levels of its witnesses are at most {float(max(betas)):.7g}")


def is_rare(name: str, risk: Fraction, passed: list, betas: list, share: Fraction) -> None:
    """Check that so few tasks are rarely found not to pass if the risk is this large."""
    coins = Counter(risk * (1 - beta) for beta in betas)
    need(rarely(passed.count(False), coins, share), f"{name}: {float(risk):.7g} is too small a risk")


def share_within_strata(row: Any, case: Case) -> None:
    """Check a row with a safety of new tasks from strata."""
    need(len(case.strata) > 0, "its strata are not read from the file of returns")
    share_of_new_tasks(row, case)


def over_all_tasks(
    witness: Any, weights: list[Fraction], passed: list[bool], betas: list[Fraction], risk: Fraction, share: Fraction
) -> None:
    """Check a risk of tasks with weights: u = 1, or 1 - w / max w of a task that does not pass, has a larger mean than
    that risk allows, by a bet.
    """
    need(len({*betas}) == 1, "its tasks have several levels, and weights")
    largest, bet = max(weights), exact_number(witness["over_tasks"])
    mean = 1 - risk * (1 - betas[0]) / largest
    kept = [Fraction(ok) or 1 - weight / largest for ok, weight in zip(passed, weights, strict=True)]
    won = 0 <= bet <= 1 and mean > 0 and gain([bet], kept, Fraction(0), mean, 1 / share) >= 0
    need(
        won, f"{float(risk):.7g} is too small a risk: its bet on all tasks is not in [0, 1], or wins less than 1/delta"
    )


def _frequencies(strata: Sequence[str], texts: list[str]) -> dict[str, Fraction]:
    """How frequent the strata of these tasks are: as texts such as flat=0.5 say, or as often as tasks were drawn."""
    counts = Counter(strata)
    if not texts:
        return {label: Fraction(count, len(strata)) for label, count in counts.items()}
    given = {label: exact_number(Number(number)) for label, _, number in (text.rpartition("=") for text in texts)}
    fits = given.keys() == counts.keys() and len(given) == len(texts) and min(given.values()) > 0
    need(fits and abs(sum(given.values()) - 1) < Fraction(1, 10**6), "its frequencies are not those of its strata")
    return {label: given[label] / sum(given.values()) for label in counts}


def _in_words(frequencies: dict[str, Fraction], *, given: bool) -> str:
    """Where a new task is from: one distribution, or strata with these frequencies."""
    names, shares = [quoted(label[:40]) for label in frequencies], {*frequencies.values()}
    if not frequencies:
        return "the same distribution"
    if len(frequencies) > 12 or len({*names}) < len(names):
        other = "with the frequencies that were declared" if given else "as frequent as in the sample"
        return f"one of {len(frequencies)} strata, {'each as likely' if len(shares) == 1 else other}"
    if len(names) == 1:
        return f"the stratum {names[0]}"
    if len(shares) > 1:
        names = [f"{name} ({float(share):.4g})" for name, share in zip(names, frequencies.values(), strict=True)]
    *first, last = names
    return f"{', '.join(first)} or {last}{', each as likely' if len(shares) == 1 else ''}"


def share_of_a_list(row: Any, case: Case) -> None:
    """Check a row with a number of good tasks at a threshold."""
    good, threshold, n = exact_number(row["num_good"]), exact_number(row["threshold"]), len(case.tasks)
    of_counts(row, case, claims=good > 0 and threshold > case.low)
    shown = said(row, case, _LISTED, claims=good > 0) or [0, n, threshold]
    need(good in range(int(shown[0]), n + 1) and n == shown[-2] and shown[-1] <= threshold, "its sentence says more")
    if good > 0 and threshold > case.low:
        are_good(row, good, *witnessed(row.get("witness"), case, threshold))


def are_good(row: Any, good: Fraction, passed: list, betas: list, share: Fraction) -> None:
    """Check that so few tasks are rarely found not to pass if one task fewer of the list is good."""
    k, heads = passed.count(False), sorted((ok, 1 - beta) for ok, beta in zip(passed, betas, strict=True))
    counted = exact_number(row["num_violations"])
    need(counted == k, f"num_violations is {counted}; of its witnesses {k}")
    bad = len(passed) - int(good)
    coins = Counter(head for _, head in heads[: bad + 1])
    need(rarely(k, coins, share), f"{bad} bad tasks are too few for {k} that do not pass")


def requirements(row: Any, case: Case) -> None:
    """Check a row with the share of new tasks, or the number of tasks of a list, that meet several requirements."""
    *most, last = [words for words, *_ in case.required]
    what, n = re.escape(f"{', '.join(most)} and {last}, all at once" if most else last), len(case.tasks)
    listed = "num_good" in row
    about = f"the number of these {n} tasks on which " if listed else "whether "
    nothing = rf"{_START}nothing is certified about {about}{what}\."
    if listed:
        good, epsilon, pattern = exact_number(row["num_good"]), Fraction(1), rf"{_SO_MANY}{what}\."
        told = [n, *said(row, case, pattern, good > 0, nothing)]
        fits = good in range(int(told[-2]) if told[1:] else 0, n + 1) and told[-1] == n
    else:
        good, epsilon, _ = of_probabilities(row)
        end = rf"{what}{',' * bool(most)} with probability at least {_N}\."
        told = said(row, case, _NEW_TASK + end, good > 0, nothing)
        fits = not told or told[0] <= good
    need(fits, "its sentence says more")
    of_counts(row, case, claims=good > 0)
    if good > 0:
        beta = exact_number(row["beta"] if "beta" in row else case.settings["beta"])
        found = of_each(row.get("witness"), case, beta)
        if listed:
            are_good(row, good, *found)
        else:
            passed, betas, share = found
            is_counted(row, "num_violations", beta, passed, betas)
            is_rare("num_violations", min(epsilon, 1 - good), passed, betas, share)


def of_each(witness: Any, case: Case, stated: Fraction) -> tuple[list, list, Fraction]:
    """As ``witnessed``: a task passes if it passes each requirement in one way, whose level is the largest of these."""
    need(isinstance(witness, dict), "it has no witness")
    one_level = stated if isinstance(case.settings.get("beta"), Number) else None
    pairs = [*zip(witness["requirements"], case.required, strict=True)]
    # At the lower end of the support every bet wins enough.
    parts = [witnessed(held, part, max(at, part.low), one_level) for held, (_, part, at) in pairs]
    ways = {(exact_number(held["chosen"]), *(exact_number(x["share"]) for x in held["levels"])) for held, _ in pairs}
    need(len(ways) == 1, "its requirements are not shown in one way")
    passed, betas, shares = zip(*parts, strict=True)
    levels = [max(each) for each in zip(*betas, strict=True)]
    is_stated = max(levels) <= stated and (one_level is not None or stated <= max(levels) * (1 + Fraction(1, 2**16)))
    need(is_stated, f"the largest level is {float(max(levels)):.7g}; stated is {float(stated):.7g}")
    return [all(each) for each in zip(*passed, strict=True)], levels, shares[0]


# What is fixed beforehand for each row, if anything, the columns, how a row is checked.
Statement = tuple[str | None, str, Callable[[Any, Case], None]]
STATEMENTS: dict[str, Statement] = {
    "safety": ("threshold", COUNTED, share_of_new_tasks),
    "interval": ("threshold", f"{COUNTED} safety_upper num_below", share_of_new_tasks),
    "stratified": ("threshold", COUNTED, share_within_strata),
    "safety_level": ("safety", COUNTED, share_of_new_tasks),
    "suite": ("threshold", "threshold num_good num_violations status sentence", share_of_a_list),
    "requirements": (None, "safety epsilon num_violations status sentence", requirements),
    "suite_requirements": (None, "num_good num_violations status beta sentence", requirements),
}


def digest_of(document: Any) -> str:
    """The SHA-256 of a document without its digest: JSON in ASCII with sorted keys, without spaces."""
    plain = {name: value for name, value in document.items() if name != "digest"}
    text = json.dumps(plain, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode("ascii")).hexdigest()


def check(document: bytes, read: Callable, statements: dict = STATEMENTS) -> Iterator[tuple[bool | None, str]]:
    """For each row its place, then whether it is proven and why not; ``read`` gives its returns and their SHA-256."""
    held = json.loads(document, **READING)
    need(held["format"] == FORMAT and exact_number(held["format_version"]) == FORMAT_VERSION, "it is of another format")
    need(held["digest"] == digest_of(json.loads(document)), "it was altered: its digest is of another content")
    need(all(each["rows"] for each in held["certificates"] or [{"rows": []}]), "it certifies nothing")
    for i, record in enumerate(held["certificates"]):
        roles = record["data"].get("roles") or {}
        column, _, entry = roles.get("group", "").partition(" = ")
        start = f", where {quoted(column.strip())} = {quoted(entry.strip())}: " if "group" in roles else ": "
        need(roles.get("group", "") in (*roles.get("where", []), ""), "its group is of other rows")
        case, (_, names, statement) = _case(record, read, statements), statements[record["question"]]
        columns, chosen = {*names.split()}, {"beta"} if record["settings"].get("beta") == "auto" else set()
        for j, row in enumerate(record["rows"]):
            yield None, (place := f"certificate {i + 1}, row {j + 1} of {len(record['rows'])}")
            try:
                lacking, others = columns - row.keys(), row.keys() - columns - chosen - {"witness"}
                need(not lacking, f"it has no {', '.join(sorted(lacking))}")
                need(not others, f"it has {', '.join(sorted(others))}, which its question does not allow")
                before, found, after = row["sentence"].partition(start)
                need(bool(found) and ":" not in before, "its sentence names another group")
                statement({**row, "sentence": f"{before}: {after}"}, case)
                yield True, f"proven: {place}: {row['sentence'].removesuffix(f' ({_ADVICE})')}"
            except WRONG as error:
                yield False, f"refused: {place}: {reason(error)}"


def _case(record: Any, read: Callable[[Any], tuple[Any, ...]], statements: dict) -> Case:
    need(record["question"] in statements, f"the question is {record['question']!r}; expected one of {[*statements]}")
    settings, data, each = record["settings"], record["data"], statements[record["question"]][0]
    note = NOTE.format(each) if each else WHOLE
    need((record["fixed_beforehand"], record["note"]) == (each, note), "its note is another one")
    odd = [settings.get("complete") not in (None, True, *[False] * (not each)), "divergence" in settings]
    odd += [settings.get("simultaneous"), each and "others" in record, "max_weight" in settings]
    odd += [str(settings.get("num_episodes", 1)) != "1"]
    need(not any(odd), "its settings are of other statements")
    delta = exact_number(settings["delta"])
    need(0 < delta < 1, "its delta is no probability")
    if each:
        (tasks, *strata), (least, most) = _tasks(data, settings, read), settings["support"]
        case = _within(tasks, least, most, delta, settings)
        is_of_strata = statements[record["question"]][2] is share_within_strata
        need(is_of_strata or not (strata or settings.get("frequencies")), "its question is not about strata")
        return _from_strata(case, strata[0]) if strata else case
    files = [data, *record.get("others", [])]
    known = {held["columns"]["value"]: _tasks(held, settings, read)[0] for held in files}
    rows = [(held["sha256"], held.get("roles"), held["columns"]["task"], held["columns"]["trial"]) for held in files]
    need(all(row == rows[0] for row in rows) and len(known) == len(files), "its metrics are not of the same rollouts")
    required = [_required(line, known, delta, settings) for line in settings["requirements"]]
    need(len(required) > 0 and known.keys() == {name for name, *_ in required}, "its metrics are not those required")
    need(len({*map(quoted, known)}) == len(known), "a sentence shows two of its metrics alike")
    tasks, *_ = known.values()
    return Case(tasks, None, None, delta, delta, settings, True, required=[each for _, *each in required])


def _from_strata(case: Case, strata: Sequence[str]) -> Case:
    """The case of tasks that were drawn within strata, with the stratum of each."""
    need(len(strata) == len(case.tasks), "its strata are not those of its tasks")
    shares, counts = _frequencies(strata, case.settings.get("frequencies") or []), Counter(strata)
    weights = [shares[label] * len(strata) / counts[label] for label in strata]
    is_even = all(abs(weight - 1) <= Fraction(1, 2**49) for weight in weights)
    return case._replace(strata=shares, weights=[] if is_even else weights)


def _required(line: Any, known: dict[str, list], delta: Fraction, settings: Any) -> tuple[str, str, Case, Fraction]:
    """The metric of a requirement, its words, its case and the threshold there, both reflected for an upper limit."""
    name, side, number, low, high = match.groups() if (match := _LINE.fullmatch(line)) else [""] * 5
    need(name in known, f"{line!r:.80} is no requirement of its metrics")
    case = _within(known[name], Number(low or 0), None if high == "inf" else Number(high or 1), delta, settings)
    need(low is not None or case.binary, f"{name} has other values than 0 and 1")
    quantity, words = "expected" if low else "probability of", "at least" if side == ">=" else "at most"
    at, told = exact_number(Number(number)), f"the {quantity} {quoted(name)} is {words} {number}"
    if side == "<=":
        need(settings.get("complete") is True and case.high is not None, "it has an upper limit on partial rollouts")
        ends = case.low + case.high
        case, at = case._replace(tasks=[[ends - x for x in task] for task in case.tasks]), ends - at
    return name, told, case._replace(binary=low is None, required=[line]), at


def _tasks(data: Any, settings: Any, read: Callable[[Any], tuple[Any, ...]]) -> tuple[Any, ...]:
    """The returns of each task, as many as the record says, and any strata."""
    tasks, digest, *strata = read(data)
    need(data["sha256"] == digest, "the file of returns is not the one that it was made from")
    counts = settings["num_tasks"], *(data["num_rollouts"][name] for name in ("min", "max", "total"))
    stated = [*map(exact_number, counts)]
    found = [len(tasks), min(sizes := [*map(len, tasks)]), max(sizes), sum(sizes)]
    need(stated == found, f"its numbers of tasks and rollouts are {[*map(str, stated)]}, of the returns {found}")
    return tasks, *strata


def _within(tasks: list[list[Fraction]], least: Any, most: Any, delta: Fraction, settings: Any) -> Case:
    """The case of returns that lie in the support."""
    low, high = exact_number(least), most and exact_number(most)
    need(high is None or low < high, "its support is empty")
    for i, task in enumerate(task or [low] for task in tasks):
        need(low <= min(task) and (high is None or max(task) <= high), f"task {i + 1} has a return beyond the support")
    binary = (low, high) == (0, 1) and all(x in (0, 1) for task in tasks for x in task)
    return Case(tasks, low, high, delta, delta, settings, binary)


def as_seen(label: str) -> str:
    """A label as who reads it sees it: without doubled blanks and unseen characters, 1.0 as 1."""
    text = unicodedata.normalize("NFC", " ".join(_UNSEEN.sub("", label).split()))
    return text.partition(".")[0] if _WHOLE.fullmatch(text) else text


def read_csv(content: bytes, columns: Any) -> tuple[Any, ...]:
    """The returns of each task, in the order in which tasks first appear, the SHA-256 of the file, and any strata."""
    names, text = [columns["task"], *filter(None, [columns["trial"]])], content.decode("utf-8-sig")
    tasks, mark, header, rows, values, room = {}, "", [], [], [], _MOST_TRIALS
    kind, kinds = columns.get("strata", columns["task"]), {}
    counts, several = columns["value"].split("/"), columns["value"].split(",")  # successes and trials; a trial each
    for mark in ",;\t":
        header, *rows = [*filter(None, csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True))] or [[]]
        values = [columns["value"]] if columns["value"] in header else counts if len(counts) == 2 else several
        seen, used = [*map(as_seen, header)], (*names, kind, *values)
        if all(name in header and seen.count(as_seen(name)) == 1 for name in used) and not {*names} & {*values}:
            break
    else:
        need(False, f"the table of returns has not each of {', '.join([*names, columns['value']])} as one column")
    need(len({*values}) == len(values), "its value names a column twice, whose trials would be counted again")
    is_wide = len(values) > 1 and values != counts
    for i, row in enumerate(rows):
        need(len(row) == len(header), f"row {i + 1} of the returns has other columns")
        entries = [row[header.index(name)].strip() for name in (*names[1:], *values)]
        trial, cells = [*map(as_seen, entries[: -len(values)])], entries[-len(values) :]
        held, key = tasks.setdefault(row[header.index(names[0])], {}), (*trial,) or (i,)
        need(key not in held, f"row {i + 1} of the returns: its trial occurs twice")
        point, cells = "." if mark == "," else ",", cells if is_wide else ["/".join(cells)]
        held[key] = [x for cell in cells for x in _outcomes(cell, point, room // len(cells))]
        room -= len(held[key])
        label = row[header.index(kind)].strip()
        need(kinds.setdefault(row[header.index(names[0])], label) == label, f"row {i + 1}: its task is in two strata")
    for labels in (tasks, {*kinds.values()}):
        need(len({*map(as_seen, labels)}) == len(labels), "labels of tasks or strata differ in what nobody sees")
    found = [[x for each in held.values() for x in each] for held in tasks.values()]
    return found, sha256(content).hexdigest(), *([[*kinds.values()]] if "strata" in columns else [])


def _outcomes(entry: str, point: str, most: int) -> list[Fraction]:
    """A return, or as many successes and failures as 31/50 counts."""
    successes, counts, trials = entry.partition("/")
    if not counts:
        return [exact_number(Number(_WORDS.get(entry.lower(), entry.replace(point, "."))))]
    won, of = int(exact_number(Number(successes))), int(exact_number(Number(trials)))
    need(f"{won}/{of}" == f"{successes.strip()}/{trials.strip()}" and 0 <= won <= of, "it counts trials")
    need(of <= most, f"the returns count more than {_MOST_TRIALS} trials")
    return [Fraction(1)] * won + [Fraction(0)] * (of - won)


def main(certificate: str, returns: str, check: Any = check, read: Any = read_csv, by: str = "columns") -> int:
    """Print which rows are proven; 1 if any is not. ``by``: what of the data a certificate says for the reader."""

    def found(data: Any) -> Any:
        roles = {name: held for name, held in (data.get("roles") or {}).items() if held}
        strata = {"strata": roles.pop("strata")} if "strata" in roles else {}
        picked = roles or data.get("unfinished")
        need(not picked, f"its table is read in another way ({picked}), which jaxcert verify --exact knows")
        return read(Path(returns).read_bytes(), {**data[by], **strata} if strata else data[by])

    return printed(lambda: check(Path(certificate).read_bytes(), found), BELIEVED)


def printed(checked: Callable[[], Iterable[tuple[bool | None, str]]], believed: str) -> int:
    """Print what is proven, what is not, and what remains to be believed; 1 if anything is refused."""
    failed = 0
    try:
        for holds, words in checked():
            print(words, file=sys.stderr if holds is None else sys.stdout)
            failed += holds is False
    except WRONG as error:
        print(f"refused: {reason(error)}")
        return 1
    print(believed)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 3 else __doc__)
