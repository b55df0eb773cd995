"""Three or more policies on the same tasks: certificates of each and of their order, which hold together."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxcert._validation import precision
from jaxcert.certificates import ceil_figures, certify_ranking, confidence
from jaxcert.certificates._answer import not_about
from jaxcert.certificates._question import Question
from jaxcert.certificates._ranking import linked
from jaxcert.questions import QUESTIONS
from jaxcert.questions._ask import ask
from jaxcert.questions._registry import usual_questions
from jaxcert.report._in_words import column_texts, heading
from jaxcert.report._recompute import differing, support_of
from jaxcert.report._records import certificate_document, certificate_record
from jaxcert.report._several import Several
from jaxcert.report.plots._interval_plot import Interval, observed_means, shared_letters
from jaxcert.returns._labels import enumerated, quoted
from jaxcert.tables._aligned import in_one_order, stacked
from jaxcert.tables._readers import ReturnsFile

_ORDER = "at least as good as"


class Leaderboard(NamedTuple):
    """What is asked of each policy and the division of delta; then the certificates of each, and of their order."""

    asked: Mapping[str, Sequence[float] | None]  # the thresholds of a question, None for the mean; or only the order
    listed: bool  # whether tasks are a fixed list
    names: Sequence[str]
    delta: float  # failure probability of all of it together
    support: tuple[float, float] = (-np.inf, np.inf)  # as declared
    data: Sequence[ReturnsFile] = ()
    answers: Sequence[Mapping[str, Any]] = ()  # of each policy, by the names of the questions
    order: Any = None  # whether policy i is certified to be at least as good as j, bool[p, p]

    @property
    def of_each(self) -> list[Question]:
        """The questions about one policy."""
        return [QUESTIONS[name] for name in self.asked]

    @property
    def questions(self) -> list[Question]:
        """The same; of the order alone, which is by means, that of the mean."""
        return self.of_each or usual_questions({}, shortcut="mean", listed=self.listed)

    @property
    def counts(self) -> dict[str, int]:
        """How many statements of each kind may fail; of the two directions of a pair only one can be claimed falsely.

        So a pair counts once: if A is better, the claim that A is at least as good as B is true, and vice versa.
        """
        p, fixed = len(self.names), [*self.asked.values()]
        at = sum(len(thresholds) for thresholds in fixed if thresholds is not None)
        found = {"means": p * fixed.count(None), "statements at thresholds": p * at, "pairs": p * (p - 1) // 2}
        return {name: count for name, count in found.items() if count}

    @property
    def share(self) -> float:
        """Delta of each statement: they fail together with a probability of at most their sum, which is below delta."""
        return float(np.nextafter(self.delta / sum(self.counts.values()), 0))

    @property
    def table(self) -> dict[str, list[str]]:
        """A row for each policy, the largest certified mean (or the one that is as good as most others) first."""
        sizes = self.order.sum(axis=1).tolist() if None in self.means else self.means
        best = sorted(range(len(sizes)), key=lambda i: -sizes[i])
        found: dict[str, list[str]] = {"policy": [self.names[i] for i in best]}
        for i, question in itertools.product(best, self.of_each):
            for title, text in _cells(question, self.answers[i][question.name]).items():
                found.setdefault(title, []).append(text)
        return {**found, _ORDER: [", ".join(map(quoted, self.not_better(i))) or "-" for i in best]}

    @property
    def means(self) -> list[Any]:
        """The certified mean of each policy; None where none is asked."""
        mean = next((name for name, thresholds in self.asked.items() if thresholds is None), None)
        return [None if mean is None else _certified(QUESTIONS[mean], each[mean]) for each in self.answers]

    @property
    def intervals(self) -> dict[str, Interval]:
        """The mean of each policy, to be drawn, and the letters by which they are not told apart."""
        best = [self.names.index(name) for name in self.table["policy"]]
        letters = dict(zip(best, shared_letters((self.order | self.order.T)[np.ix_(best, best)]), strict=True))
        observed = [None if (each := observed_means([file])) is None else float(each.mean()) for file in self.data]
        rows = enumerate(zip(self.names, self.means, observed, strict=True))
        return {name: Interval(low, average, letters=letters[i]) for i, (name, low, average) in rows}

    @property
    def together(self) -> str:
        """The joint statement, and the division of delta."""
        counts = self.counts
        counted = ", ".join(f"{count} {name}" for name, count in counts.items())
        each, total = ceil_figures(self.share), sum(counts.values())
        shared = f" Delta is shared equally by {total} statements ({counted}): {each} each." if total > 1 else ""
        what = "this holds at once, means and their order" if "means" in counts else "this order holds at once,"
        listed = f"these {len(self.data[0].tasks)} tasks"
        return (
            f"With confidence {confidence(self.delta)} all of {what} over "
            f"{listed if self.listed else 'new tasks from the same distribution'}.{shared} The order of two policies "
            f"is open if neither is named beside the other.{self._never_named}"
        )

    @property
    def _never_named(self) -> str:
        """The policies that no other is certified to match, and why; empty for none."""
        names = [quoted(name) for name, each in zip(self.names, self.data, strict=True) if not each.is_finished]
        if not names:
            return ""
        why = "since the worst return of its unfinished rollouts would help the other"
        return f" No policy is certified to be at least as good as {' or '.join(names)}, {why}."

    def not_better(self, i: int) -> list[str]:
        """The policies that i is certified to be at least as good as."""
        return [self.names[j] for j in np.flatnonzero(self.order[i]).tolist() if j != i]

    @property
    def shown(self) -> Several:
        """What a page or a plot shows of it: sentences on the policies that each at least matches, as in the table."""
        (low, high), table = self.support, self.table
        best = [(quoted(name), self.not_better(self.names.index(name))) for name in table["policy"]]
        by_means = "The rows stand in the order of the certified means, which proves no order of the policies: the last"
        return Several(
            title="Leaderboard",
            kind=f"{len(self.names)} policies",
            questions=self.questions,
            names=self.names,
            data=self.data,
            delta=self.delta,
            together=self.together,
            table=table,
            intervals=self.intervals,
            axis={"xlabel": "mean"},
            said=[f"{name} is {_ORDER} {enumerated([*map(quoted, others)])}." for name, others in best if others],
            note=f"{by_means} column does." if "means" in self.counts else "Only the last column proves an order.",
            not_about=not_about(listed=self.listed),
            settings={
                "tasks": str(len(self.data[0].tasks)),
                "support of the returns": f"[{low:.9g}, {high:.9g}]",
                "delta of each statement": ceil_figures(self.share),
                "asked of each policy": "; ".join(each.words.rstrip("?") for each in self.of_each) or "its place",
            },
            caption="Policies that share a letter are not distinguished.",
        )


def _cells(question: Question, answer: Any) -> dict[str, str]:
    """The certified columns, by heading and, if fixed beforehand, by threshold."""
    certified = question.rows.certified
    texts, words = column_texts(answer, question, certified), heading(certified, question, answer)
    fixed = [f" at {x}" for x in column_texts(answer, question, question.each)] if question.each else [""]
    return {f"{words}{place}": text for place, text in zip(fixed, texts, strict=True)}


def _certified(question: Question, answer: Any) -> float:
    return float(getattr(answer, question.rows.columns[question.rows.certified]))


def asked_of_each(
    thresholds: Sequence[float] | None, *, listed: bool, has_means: bool = True
) -> dict[str, Sequence[float] | None]:
    """The usual questions about a list or about new tasks; without ``has_means`` the order alone."""
    of_mean = usual_questions({}, shortcut="mean", listed=listed) if has_means else []
    at = usual_questions({"threshold": thresholds}, listed=listed) if thresholds else []
    return {question.name: None for question in of_mean} | {question.name: thresholds for question in at}


def with_order(board: Leaderboard) -> Leaderboard:
    """Add whether i is certified to be as good as j on average; never if j has unfinished rollouts."""
    finished = np.asarray([each.is_finished for each in board.data])
    data = in_one_order(*board.data)
    order = np.eye(len(data), dtype=bool)
    if board.listed:
        pair = usual_questions({}, shortcut="mean", listed=True, num_policies=2)[0]
        for i, j in ((i, j) for i, j in itertools.permutations(range(len(data)), 2) if finished[j]):
            answer = ask(pair, [data[i], data[j]], None, {"support": board.support, "delta": board.share})
            order[i, j] = _certified(pair, answer) >= 0
    else:
        returns, where = stacked(data)
        level = float(np.nextafter(board.share * board.counts["pairs"], 0))
        declared = None if returns.dtype == bool else board.support
        found = certify_ranking(returns, support=declared, delta=level, where=where)
        order |= (np.asarray(found.differences) >= 0) & finished
    return board._replace(order=np.asarray(linked(jnp.asarray(order))))


def leaderboard_document(found: Leaderboard) -> dict[str, Any]:
    """A document of certificates: of every policy by question, and how they hold together with the order."""
    pairs = zip(found.data, found.answers, strict=True)
    records = [
        certificate_record(answers[asked.name], data=each, support=found.support if asked.has_support else None)
        for asked, (each, answers) in itertools.product(found.of_each, pairs)
    ]
    return certificate_document(records, leaderboard=_entry(found))


def _entry(found: Leaderboard) -> dict[str, Any]:
    """The statements about all policies together."""
    key = _ORDER.replace(" ", "_")
    return {
        "delta": found.delta,
        "statements": found.counts,
        "order": [{"policy": name, key: found.not_better(i)} for i, name in enumerate(found.names)],
        "sentence": found.together,
    }


def of_leaderboard(document: Mapping[str, Any], files: Sequence[ReturnsFile]) -> Iterator[str]:
    """How a document's statements about all policies differ from those that the returns give."""
    records, stated = document["certificates"], document["leaderboard"]
    names = [entry["policy"] for entry in stated["order"]]
    board = _asked_in(records, names, stated["delta"])
    if board is None:
        yield "leaderboard: its certificates are not of one or two questions, asked of each policy in the same way"
        return
    dtype = records[0]["settings"]["dtype"]
    for i, record in enumerate(records):  # up to rounding to its type
        stated_delta, given = record["settings"]["delta"], "its share of the leaderboard's is"
        other = differing("delta", stated_delta, board.share, given, 4 * float(np.finfo(dtype).eps))
        yield from (f"certificate {i + 1}: {line}" for line in other)
    for name, record in zip(itertools.cycle(names), records, strict=False):
        data = record["data"] or {}
        file, policy = data.get("file"), data.get("called") or (data.get("roles") or {}).get("only")
        if (Path(name).name != file) if policy is None else (name != policy):
            what = f", {policy!r}" if policy else ""
            yield f"leaderboard order: the policy {name!r} comes from the file {file!r}{what}"
    with precision(dtype):
        again = _entry(with_order(board._replace(support=support_of(records[0]), data=files)))
    yield from differing("leaderboard", stated, again)


def _asked_in(records: Sequence[Mapping[str, Any]], names: Sequence[str], delta: float) -> Leaderboard | None:
    """What is asked of each policy; None if the document is no leaderboard, or questions or settings differ."""
    fixed = []
    for record in records:
        name = record["fixed_beforehand"]
        fixed.append((record["question"], [row.get(name) for row in record["rows"]] if name else None))
    thresholds, first = next((at for _, at in fixed if at), None), QUESTIONS.get(records[0]["question"])
    if first is None:
        return None
    board = Leaderboard(asked_of_each(thresholds, listed=first.listed), first.listed, names, delta)
    same = fixed == [each for each in board.asked.items() for _ in names]
    how = [{**record["settings"], "delta": None, "beta": None} for record in records]
    same &= all(each == how[i - i % len(names)] for i, each in enumerate(how))
    same &= how[0].get("support") is not None and all(each.get("support") == how[0]["support"] for each in how)
    in_strata = any((record["data"] or {}).get("roles", {}).get("strata") for record in records)
    return board if same and not in_strata else None
