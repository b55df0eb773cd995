r"""A certificate of tasks that stop by themselves, checked from its log in exact arithmetic, with the standard library.

Run `python check_trials.py certificate.json run.jsonl`, with `check_certificate.py` beside it: everything is as there
except what a witness is. Before the first trial n tasks, [a, b], B, delta, beta, bets l in [0, 1] and, for successes, g
and T were declared. A task has independent returns X_1, X_2, ... of mean J, in their order, and the wealth

    W_t = mean over l of prod_{j <= t} (1 - l + l (X_j - a) / (B - a)).

Its witness is the number t of trials after which it *passes* at B > a:

* W_t >= 1/beta; or,
* if successes were declared, W_t >= c and t <= T, and g < W_j < c for all j < t, where coins that show 1 with
  probability B do so for any t with probability at most beta.

**Theorem.** A task with J < B ever passes with probability at most beta, whichever task was tried next, and whenever
and why the trials ended: by Ville's inequality, as W is a supermartingale that starts at 1; or, as W grows with each
success more, since a task with J = B passes more often. With a larger c fewer tasks pass, so that the data may choose
it. A trial that was withdrawn counts as a, at its place, which makes W no larger. The rest is the theorem there.

Run `python check_trials.py ab.jsonl` on a log of two policies A and B in pairs. The log alone proves the answer. A is
shown to be better by more than a margin c >= 0, and B in the same way, with beta = delta/2 (of k policies each than
each other one, with beta = delta/(k (k - 1)), by the blocks in which both were tried),

* by the discordant pairs of successes, where c = 0: X = 1 if A wins, B = 1/2, as above with T pairs and no g; or
* by the differences X = A - B of all pairs, in [-w, w], B = c, with W_t >= 1/beta.

**Theorem.** If scenes are drawn anew for each pair, a policy that is not better is shown to be with probability at most
delta, whenever and why the trials ended: given all pairs before, it wins a discordant one with probability at most 1/2,
and its X is at most c on average. A pair with a withdrawn trial counts as lost by both.
"""

import sys
from collections.abc import Callable, Iterator
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import partial
from hashlib import sha256
from itertools import accumulate, combinations
from json import dumps, loads
from math import lcm
from pathlib import Path
from typing import Any

if __package__:
    from jaxcert.report import check_certificate as base
else:  # a file beside this one
    import check_certificate as base

Case, exact_number, need = base.Case, base.exact_number, base.need
LOG, PAIRS = "jaxcert-trials-1", "jaxcert-pairs-1"
BELIEVED_OF_PAIRS = """What remains to be believed:
- the theorem, proven in the theory page of jaxcert;
- that the first line was written before the first trial, and that the log was not written anew;
- that every pair that was begun is there, all trials of it on one scene, and that they went as it says;
- that the scenes were drawn as new ones are, each independently of all before, and the policies fixed beforehand."""
_OF_KEPT = "(only if no trial was withdrawn because of how it went)"
_OF_LOST = "(with each pair of a withdrawn trial counted as lost by both: for whatever reason it was withdrawn)"
_ROUNDED_DOWN = Context(prec=400, rounding=ROUND_FLOOR)
_MOST_TRIALS, _MOST_WORK = 2000, 2**20  # as many as can be declared; times the bits of the bets: some minutes
_MOST_BITS = 2**42  # bets times the square of the bits of a product: some seconds, or 20,000 pairs of usual scores
Passes = Callable[[list[Fraction]], list[bool]]  # after each of the returns


def by_wealth(bets: list[Fraction], case: Case, threshold: Fraction, beta: Fraction) -> Passes:
    """Whether W_t >= 1/beta: integers, all factors are scaled alike."""
    one = lcm(*(bet.denominator for bet in bets))

    def passes(returns: list[Fraction]) -> list[bool]:
        unit = lcm(case.low.denominator, threshold.denominator, *(x.denominator for x in returns))
        least, width = int(case.low * unit), int((threshold - case.low) * unit)
        largest = one * max(abs(int(x * unit) - least) for x in [threshold, *returns])
        work = len(bets) * (largest.bit_length() * len(returns)) ** 2
        need(work <= _MOST_BITS, "its trials, or the digits of its numbers, are too many to check")
        products, goal, found = [1] * len(bets), len(bets) * beta.denominator, []
        for excess in (int(x * unit) - least for x in returns):
            bold = (int(bet * one) for bet in bets)
            products = [won * ((one - bet) * width + bet * excess) for won, bet in zip(products, bold, strict=True)]
            goal *= one * width
            found.append(sum(products) * beta.numerator >= goal)
        return found

    return passes


def by_successes(rule: Any, bets: list[Fraction], threshold: Fraction, goal: Fraction, beta: Fraction) -> Passes:
    """Whether a task passes with each of these returns of 0 and 1; refused if J = B passes more often than beta."""
    (heads, unit), (most, parts) = threshold.as_integer_ratio(), exact_number(rule["max_trials"]).as_integer_ratio()
    need(0 < heads < unit, "a threshold of successes is not between 0 and 1")
    need(most >= 0 and parts == 1, "the largest number of its trials is no whole number")
    work = most * len(bets) * max(each.denominator.bit_length() for each in (threshold, goal, *bets))
    need(most <= _MOST_TRIALS and work <= _MOST_WORK, "its trials, or the digits of its numbers, are too many to check")
    undecided = undecided_counts(rule, bets, threshold, goal, most)
    ways, passing = [1], 0  # by the number of successes, of tasks that are undecided; of those that passed
    for here in undecided[1:]:
        ways = [x * (unit - heads) + y * heads for x, y in zip([*ways, 0], [0, *ways], strict=True)]
        passing = passing * unit + sum(ways[here.stop :])
        ways = [way if s in here else 0 for s, way in enumerate(ways)]
    need(passing <= beta * unit**most, "its goal is reached at J = B with a probability larger than beta")

    def passes(returns: list[Fraction]) -> list[bool]:
        found, is_open = [], True
        for t, s in enumerate(accumulate(map(int, returns)), start=1):
            found.append(is_open and t <= most and s >= undecided[t].stop)
            is_open = is_open and t <= most and s in undecided[t]
        return found

    return passes


def undecided_counts(rule: Any, bets: list[Fraction], threshold: Fraction, goal: Fraction, most: int) -> list[range]:
    """The numbers s of successes in 0, ..., T trials with g < W < c; from one t to the next an end moves by 0 or 1."""
    found, least, enough, given_up = [], 0, 0, exact_number(rule["give_up"])
    for t in range(most + 1):
        least += base.gain(bets, {1: least, 0: t - least}, Fraction(0), threshold, given_up) <= 0
        enough += base.gain(bets, {1: enough, 0: t - enough}, Fraction(0), threshold, goal) < 0
        found.append(range(least, enough))
    return found


def stopped(rule: Any, witness: Any, case: Case, threshold: Fraction, beta: Any) -> tuple[list, list, Fraction]:
    """Which tasks pass, each witness checked; the level of each; delta."""
    need(isinstance(witness, dict), "it has no witness")
    given, bets = witness["rollouts"], [*map(exact_number, rule["bets"])]
    need(0 < beta < 1 and len(bets) > 0 and all(0 <= bet <= 1 for bet in bets), "a bet or beta is not between 0 and 1")
    need(len(given) == len(case.tasks), f"it has {len(given)} witnesses, of {len(case.tasks)} tasks")
    if rule["successes"] is True:
        need(case.binary, "successes were declared, of which one is not 0 or 1")
        passes = by_successes(rule, bets, threshold, exact_number(witness["goal"]), beta)
    else:
        passes = by_wealth(bets, case, threshold, beta)
    for i, (task, held) in enumerate(zip(case.tasks, given, strict=True)):
        if held is not None:
            t = exact_number(held)
            won = t in range(1, len(task) + 1) and passes(task[: int(t)])[-1]
            need(won, f"task {i + 1} does not pass after {t} trials")
    return [held is not None for held in given], [beta] * len(given), case.delta


def share_at_declared(rule: Any, row: Any, case: Case) -> None:
    """Check a row with a safety at a threshold that was declared."""
    # Not null, nor a text that has them.
    numbers = [*map(exact_number, (rule["delta"], rule["beta"], *rule["thresholds"]))]
    same = len(numbers) > 2 and all(case.settings[name] == rule[name] for name in ("delta", "beta", "support"))
    need(same and row["threshold"] in rule["thresholds"], "threshold, delta, beta or support are not as declared")
    base.share_of_new_tasks(row, case, partial(stopped, rule))


def check(document: bytes, read: Callable) -> Iterator[tuple[bool | None, str]]:
    """As `check_certificate.check`; ``read`` gives the returns of each task, the SHA-256, and what was declared."""
    rule: dict[str, Any] = {}

    def returns(data: Any) -> tuple[list, str]:
        tasks, digest, declared = read(data)
        need(not (data.get("roles") or data.get("columns")), "its log is read in another way: it has no columns")
        for record in loads(document, **base.READING)["certificates"]:
            rollouts, stated = record.get("rollouts", {}), record.get("rollouts", {}).get("declared", {})
            others = [name for name in stated if name not in declared or stated[name] != declared[name]]
            need(not others, f"it says another {', '.join(others)} than was declared")
            for name, held in declared.get("held", {}).items():
                need(name not in rollouts or _said(rollouts[name]) == held, f"its {name} is not that of the log")
        rule.update(declared)
        return tasks, digest

    statements = {"sequential": ("threshold", base.COUNTED, partial(share_at_declared, rule))}
    for holds, words in base.check(document, returns, statements):
        yield holds, f"{words}{rule.get('later', '')}" if holds else words


def _said(fact: Any) -> Any:
    """A certificate's entry about its log: a number, the withdrawn trials, or a hash."""
    if isinstance(fact, list):
        return sorted(
            (exact_number(each["number"]), each["task"], exact_number(each["value"]), each["why"]) for each in fact
        )
    return exact_number(fact) if isinstance(fact, base.Number) else fact


def chained(line: bytes, before: str, number: int) -> str:
    """The hash of an entry and of all before it, which the entry holds."""
    entry = loads(line)
    held, plain = entry["chain"], {name: value for name, value in entry.items() if name != "chain"}
    need(held == sha256((before + dumps(plain)).encode()).hexdigest(), f"line {number} of the log has another hash")
    return held


def read_entries(content: bytes, kind: str, wanted: str = "") -> tuple[list[dict[str, Any]], str, str, list[bytes]]:
    """The entries of a log up to the line where its SHA-256 is the wanted one, the last hash, the SHA-256, and later
    lines.
    """
    lines, seen, chain, found = [each + b"\n" for each in content.split(b"\n")[:-1]], sha256(), "", []
    for i, line in enumerate(lines):
        if i > 0 and seen.hexdigest() == wanted:
            return found, chain, wanted, lines[i:]
        entry, chain = loads(line, **base.READING), chained(line, chain, i + 1)
        need(i > 0 or entry["format"] == kind, f"it is no log of {kind.split('-')[1]}")
        is_next = exact_number(entry["number"]) == i
        need(is_next, f"line {i + 1} of the log has the number {entry['number']}: one is missing")
        seen.update(line)
        found.append(entry)
    return found, chain, seen.hexdigest(), []


def outcome_of(entry: Any, line: int) -> Fraction:
    """The score of a trial, or 1 for a success."""
    need(("score" in entry) != ("success" in entry), f"line {line + 1} of the log has not one outcome")
    need("score" in entry or entry["success"] in (True, False), f"line {line + 1} of the log has no success or failure")
    return exact_number(entry["score"]) if "score" in entry else Fraction(entry["success"])


def read_log(content: bytes, wanted: str) -> tuple[list[list[Fraction]], str, dict[str, Any]]:
    """The returns of each task up to the line where the log has this SHA-256, the SHA-256, and the declaration."""
    (declared, *entries), chain, digest, more = read_entries(content.removesuffix(b"\n") + b"\n", LOG, wanted)
    names, withdrawn = declared["tasks"], []
    need(all(name.isprintable() for name in names), "the label of a task has a letter that is not printable")
    need(
        len({*map(base.as_seen, names)} - {""}) == len(names),
        "labels of tasks are equal, or differ in what nobody sees",
    )
    tasks: dict[str, dict[str, Fraction]] = {name: {} for name in names}
    for i, entry in enumerate(entries, start=1):
        if "withdrawn" in entry:
            gone = entry["withdrawn"]
            label = next((name for name, held in tasks.items() if gone in held), "")
            is_first = all(exact_number(gone) != each[0] for each in withdrawn)
            is_alone = not {"score", "success"} & entry.keys()
            need(label != "" and is_first and is_alone, f"line {i + 1} of the log withdraws no trial")
            withdrawn.append((exact_number(gone), label, tasks[label][gone], entry["why"]))
            tasks[label][gone] = exact_number(declared["support"][0])
        else:
            tasks[entry["task"]][entry["number"]] = outcome_of(entry, i)
    num_trials = Fraction(len(entries) - 2 * len(withdrawn))
    held = {"last_hash": chain, "num_trials": num_trials, "withdrawn": sorted(withdrawn)}
    later = _withdrawn_later(more, len(entries) + 1)
    return [[*each.values()] for each in tasks.values()], digest, {**declared, "held": held, "later": later}


def _withdrawn_later(lines: list[bytes], before: int) -> str:
    """How many of the trials before a number the lines of a log that has grown withdraw; the last may be cut short."""
    found = [_withdrawn_by(line) for line in lines if line.endswith(b"\n")]
    gone = sum(0 < number < before for number in found)
    return f" Later lines of the log withdraw {gone} of the trials that count here." if gone else ""


def _withdrawn_by(line: bytes) -> int:
    """The number of the trial that a line withdraws; 0 for none."""
    try:
        return int(loads(line).get("withdrawn", 0))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return 0


# --- policies in pairs ----------------------------------------------------------------------------------------------

_BLIND = "XYZWVUTSRQPONMLKJIHGFEDCBA"  # by which trials are recorded if nobody must know which policy it is


def read_pairs(content: bytes) -> tuple[dict[str, Any], list[tuple[Fraction | None, ...]], set[int]]:
    """A log's declaration, the outcomes of A, B, ... in each complete pair, and the places of pairs that lost a trial.

    The outcome of a policy is None in blocks that began after it was dropped.
    """
    need(content.endswith(b"\n"), "its last line is cut short: the next jaxcert trial that adds to it ends it")
    (declared, *entries), *_ = read_entries(content, PAIRS)
    names, labels, (low, high) = declared["policies"], declared["labels"], map(exact_number, declared["support"])
    need(isinstance(names, list) and isinstance(labels, list), "its policies or their labels are no list")
    seen = {base.quoted(base.as_seen(name)).casefold() for name in names if name.isprintable()} - {base.quoted("")}
    is_blinded = (
        {*labels} == {*_BLIND[: len(names)]}
        and len(labels) == len(names)
        and not {label.casefold() for label in labels} & seen
    )
    fits = len(names) == len(seen) > 1 and (labels == names or is_blinded)
    need(fits, "it declares no two policies, each by its name or all by X and Y")
    need(low < high and declared["successes"] in (True, False), "its support is empty, or it says not what is recorded")
    need(declared["successes"] is False or (low, high) == (0, 1), "successes have another support")
    # After each entry that counts, of which the last can be withdrawn: its number, the policies that are still in, the
    # outcomes of a block that has begun, and those of a block that it completes.
    kept: list[tuple[int, list[int], dict[int, Fraction], Any]] = [(0, [*range(len(names))], {}, None)]
    touched = set()
    for i, entry in enumerate(entries, start=1):
        number, left, begun, _ = kept[-1]
        if "withdrawn" in entry:
            is_last = (
                number > 0 and number == exact_number(entry["withdrawn"]) and not {"score", "success"} & entry.keys()
            )
            need(is_last, f"line {i + 1} of the log does not withdraw the last trial")
            kept.pop()
            is_trial = len(kept[-1][1]) == len(left)  # else a policy was dropped, and is in again
            touched |= {sum(done is not None for *_, done in kept)} if is_trial else set()
            continue
        place = labels.index(entry["policy"])
        need(place in left, f"line {i + 1} of the log is of a policy that was dropped")
        if "dropped" in entry:
            is_between = entry["dropped"] is True and not begun and len(left) > 2
            need(is_between, f"line {i + 1} of the log drops a policy within a block, or leaves a single one")
            kept.append((i, [each for each in left if each != place], {}, None))
            continue
        outcome = outcome_of(entry, i)
        need(place not in begun, f"line {i + 1} of the log is of the policy before")
        fits = ("success" in entry) == (declared["successes"] is True)
        need(fits, f"line {i + 1} of the log has not the outcome that was declared")
        need(low <= outcome <= high, f"line {i + 1} of the log has an outcome beyond the support")
        block = {**begun, place: outcome}
        kept.append((i, left, {}, block) if len(block) == len(left) else (i, left, block, None))
    blocks = [done for *_, done in kept if done is not None]
    pairs = [tuple(map(block.get, range(len(names)))) for block in blocks]
    return {**declared, "left": kept[-1][1]}, pairs, touched


def shown(declared: Any, pairs: list[tuple], lost: set[int]) -> list[tuple[int, int, int]]:
    """After how many pairs which policy is shown to be better than which, if all lose the pairs at these places."""
    (low, high), margin = map(exact_number, declared["support"]), exact_number(declared["margin"])
    delta, bets, width = exact_number(declared["delta"]), [*map(exact_number, declared["bets"])], high - low
    fits = 0 < delta < 1 and 0 <= margin < width and len(bets) > 0 and all(0 <= bet <= 1 for bet in bets)
    need(fits, "a bet, the margin or delta is out of range")
    by_wins = declared["successes"] is True and margin == 0
    share = delta / (len(declared["policies"]) * (len(declared["policies"]) - 1))
    if by_wins:
        rule = {"max_trials": declared["max_pairs"], "give_up": base.Number("0")}
        passes = by_successes(rule, bets, Fraction(1, 2), exact_number(declared["goal"]), share)
    else:
        passes = by_wealth(bets, Case([], -width, width, delta, delta, {}, False), margin, share)
    found = []
    for both in combinations(range(len(declared["policies"])), 2):
        tried = [[block[i] for i in both] for block in pairs]
        counts = [None not in held and not (by_wins and held[0] == held[1]) for held in tried]
        counting = [t for t in range(len(pairs)) if t in lost or counts[t]]
        counting += sorted(place for place in lost if place >= len(pairs))
        stops = []
        for place in (0, 1):
            gains = [-width if t in lost else tried[t][place] - tried[t][1 - place] for t in counting]
            returns = [Fraction(gain > 0) for gain in gains] if by_wins else gains
            stops += [(counting[t] + 1, *both[:: 1 - 2 * place]) for t, won in enumerate(passes(returns)) if won][:1]
        found += sorted(stops)[:1]
    return found


def told_names(declared: Any, num_pairs: int, found: list[tuple[int, int, int]]) -> list[str]:
    """The names of the policies; of blinded ones their labels, while another trial of them may be evidence."""
    most, decided = declared["max_pairs"], [{*both} for _, *both in found]
    is_over = most is not None and num_pairs >= exact_number(most)
    is_over = is_over or all({*both} in decided for both in combinations(declared["left"], 2))
    return [*map(base.quoted, declared["policies" if is_over else "labels"])]


def confidence_of(declared: Any) -> str:
    """1 - delta, rounded down."""
    return f"{_ROUNDED_DOWN.subtract(1, Decimal(declared['delta'])):f}"


def check_pairs(content: bytes) -> Iterator[str]:
    """The conclusion that a log of pairs proves, in words; ValueError for an altered log."""
    declared, pairs, touched = read_pairs(content)
    answers = [("", shown(declared, pairs, set()))]
    if touched:
        answers = [(f" {_OF_KEPT}", answers[0][1]), (f" {_OF_LOST}", shown(declared, pairs, touched))]
    names = told_names(declared, len(pairs), answers[0][1])
    noun = "pairs" if len(names) == 2 else "blocks"
    what = "succeeds more often than" if declared["successes"] is True else "has a larger expected score than"
    margin = "" if exact_number(declared["margin"]) == 0 else f", by more than {declared['margin']}"
    for held, found in answers:
        if not found:
            none = "neither is shown to be better" if len(names) == 2 else "none is shown to be better"
            yield f"nothing is proven: {none} in {len(pairs)} {noun}{held}."
            continue
        confidence = confidence_of(declared)
        said = sorted(f"{names[better]} {what} {names[worse]}{margin}" for _, better, worse in found)
        claims = ", and ".join(said)  # in an order that reveals no blinded policy
        yield f"proven after {max(found)[0]} {noun}: with confidence {confidence}, on new scenes {claims}{held}."


def main_of_pairs(log: str) -> int:
    """Print what a log of pairs proves; 1 if it was altered, or if a line does not prove that a policy is better."""

    def found() -> Iterator[tuple[bool, str]]:
        return ((line.startswith("proven"), line) for line in check_pairs(Path(log).read_bytes()))

    return base.printed(found, BELIEVED_OF_PAIRS)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        sys.exit(main_of_pairs(sys.argv[1]))
    sys.exit(base.main(sys.argv[1], sys.argv[2], check, read_log, "sha256") if len(sys.argv) == 3 else __doc__)
