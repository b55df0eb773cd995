"""The question of a command: its options, which the registry of questions has, and how they select it."""

import inspect
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._question import Option, Question
from jaxcert.certificates._registry import METHODS
from jaxcert.cli._app import refuse_both
from jaxcert.cli._options import SUPPORT, Command, flag, level, option, options, options_of, parameter, several, taking
from jaxcert.cli._settings import not_taken
from jaxcert.questions import QUESTIONS
from jaxcert.questions._registry import checked_options, usual_questions
from jaxcert.tables import ReturnsFile


def askable(num_inputs: int) -> dict[str, Question]:
    """The questions that the command line can ask about this number of files."""
    return {
        name: question
        for name, question in QUESTIONS.items()
        if num_inputs in question.numbers_of_policies and not question.unrepeated and not question.has_weights
    }


_NOTHING_ASKED = (
    "nothing is asked; expected --threshold X, --safety S, --mean or another question, fixed before the returns are "
    "seen: jaxcert choose FILE lists them"
)
# The settings that a protocol has by the same names.
SETTLED = ("support", "delta", "beta", "bound", "method", "question", "options")
_BOUNDS = [f"{bound.name} (0/1 returns)" if bound.binary else bound.name for bound in BOUNDS.values()]
_OF_ONE, _OF_TWO = askable(1), askable(2)


@options
class Asking(NamedTuple):
    """The typed question; ``options`` are settings that few questions have, by their names."""

    support: tuple[float, float] | None = SUPPORT
    delta: float | None = option("D", "Failure probability of the certificate, or of a whole leaderboard.")
    threshold: list[Any] | None = several(
        "X", "Performance to certify; of two policies a difference, for a question at thresholds such as band"
    )
    safety: list[Any] | None = several("S", "Share of new tasks to certify a performance for, or a difference")
    beta: Any = option(
        "P",
        "Failure probability of one task's lower bound. By default 0.05 for thresholds, the largest free value "
        "for safeties, delta / num_tasks with scenario; auto chooses one for each threshold. With soft, the "
        "weight of the evidence; with certify's attained, one for each threshold or safety by default.",
        parser=level,
    )
    bound: str | None = flag(
        f"One of {', '.join(_BOUNDS)}; by default betting, or the one for the method or successes.", default=None
    )
    method: str | None = flag(
        f"One of {', '.join(METHODS)}; by default binomial, or attained for successes; it reads returns of 0 and 1 "
        "as such. To lock attained, name it: the returns are not known then. Pairs take binomial, scenario, soft.",
        default=None,
    )
    question: str | None = option(
        "NAME",
        f"What is asked: {', '.join(_OF_ONE)}. By default safety of thresholds, safety_level of safeties. Of two "
        f"policies: {', '.join(_OF_TWO)}, by default improvement for margins, safety_level for a safety, and else "
        "mean_difference; or ranking: which of the policies is at least as good on average, whichever it is.",
    )
    listed: bool | None = flag(
        "Tasks are a fixed list, all of them run, and the statement is about this list alone; or they are "
        "a random sample, and it is about new tasks. Required for a file with a benchmark; otherwise a sample.",
        "--suite/--sampled",
        default=None,
    )
    mean: bool = flag("Certify the mean over new tasks, or over a fixed list, or its difference.", "--mean")
    each_task: bool = flag("With --suite: name the tasks that are certainly good.", "--each-task")
    require: float | None = option(
        "X",
        "Exit with status 1 unless at least X is certified in every row: a safety, a performance, a mean or a number "
        "of tasks, as the question certifies; of two ends the lower one. Without --question, it is the safety at the "
        "thresholds.",
    )
    options: Mapping[str, Any] = MappingProxyType({})

    @property
    def numbers(self) -> dict[str, list[float] | None]:
        """The numbers that the options of all questions may fix beforehand."""
        return {"threshold": self.threshold, "safety": self.safety}

    @property
    def settled(self) -> dict[str, Any]:
        """The given settings that a protocol has by the same names."""
        return {name: value for name in SETTLED if (value := getattr(self, name)) is not None}

    def named(self, num_policies: int = 1, *, strata: str | None = None) -> "Asking":
        """Name the question about this number of policies; for one policy, leave it open if the numbers select it.

        ``strata``: the column of strata, which selects a question.
        """
        refuse_both("--mean", "--each-task", "--question")
        word = "mean" if self.mean else "each-task" if self.each_task else ""
        question = self.question or (None if word else self._by_options(num_policies, strata))
        usual = "mean" if num_policies == 2 and not any(self.numbers.values()) else ""
        return self._replace(question=question or self._usual(num_policies, word or usual))

    def shared(self, count: int) -> "Asking":
        """The settings of each of several answers; any of them fails with probability at most delta (theory page)."""
        if self.delta is None or count == 1:
            return self
        return self._replace(delta=math.nextafter(self.delta / count, 0.0))

    def _by_options(self, num_policies: int, strata: str | None) -> str | None:
        """The one question that has all of the options, if there are any, or the one about strata, if these are."""
        asked = askable(num_policies)
        fitting = [name for name, each in asked.items() if {*self.options} <= {option.name for option in each.options}]
        fitting = [name for name in fitting if asked[name].listed == bool(self.listed)] or fitting
        if self.options and len(fitting) == 1:
            return fitting[0]
        of_strata = strata is not None and not self.listed and not self.safety
        return next(name for name, each in asked.items() if each.takes("strata")) if of_strata else None

    def _usual(self, num_policies: int, word: str) -> str | None:
        """The question by its shortcut, or about these numbers; None where the numbers of one policy may select two."""
        if num_policies == 1 and not (word or self.listed):
            return None
        found = usual_questions(self.numbers, shortcut=word, listed=bool(self.listed), num_policies=num_policies)
        if not found:
            raise ValueError(f"--{word} is about a fixed list of tasks; expected --suite as well")
        wanted = [question for question in found if question.each is None or self.numbers.get(question.each)]
        numbers = [name for name, given in self.numbers.items() if given]
        asked = [name for name, each in askable(num_policies).items() if each.each in numbers and not each.listed]
        if not (wanted or self.listed):
            taken = f"--{numbers[0]} is given, which the questions {', '.join(asked)} take"
            raise ValueError(f"{taken}; expected one of them by --question, or --margin for improvement")
        if not (wanted or numbers):
            needed = f"--{found[0].each}"
            raise ValueError(f"{needed} missing; expected a number")
        return (wanted or found)[0].name


def with_asking(questions: dict[str, Question], **changes: Any) -> Callable[[Command], Command]:
    """A decorator that gives a command ``asking``, one of these questions; ``changes`` as for ``options_of``."""
    added = [*options_of(Asking, **changes), *options_of_questions(questions)]

    def asking(given: dict[str, Any]) -> Asking:
        refuse_both("--suite", "--sampled")
        own = {name: x for name, x in given.items() if name in Asking._fields}
        # A flag that is not set counts as no option; 0 counts as one, which may be refused.
        others = {name: x for name, x in given.items() if name not in own and x is not None and x is not False}
        return Asking(**own, options=others)

    return taking("asking", added, asking)


def asked_of(asking: Asking, num_policies: int = 1) -> dict[str, Any]:
    """The numbers that are fixed beforehand, if a question has any, for each asked one."""
    given, options = asking.numbers, asking.options
    asked = [question for question in usual_questions(given) if given.get(question.each or "")]
    if asking.question is not None:
        asked = [chosen(asking.question, askable(num_policies))]
    if not asked:
        raise ValueError(_NOTHING_ASKED)
    for name in given.keys() - {question.each for question in asked}:
        if given[name]:
            raise ValueError(not_taken(f"--{name} is", asked[0]))
    for question in asked:
        checked_options(question, options)
    return {
        question.name: question.each and list(given.get(question.each) or options.get(question.each) or ())
        for question in asked
    }


def chosen(name: str, known: Collection[str]) -> Question:
    """The question of that name, or ValueError that says why the command does not ask it."""
    if name in known:
        return QUESTIONS[name]
    if name not in QUESTIONS:
        raise ValueError(f"--question is {name!r}; expected one of {', '.join(known)}")
    question = QUESTIONS[name]
    command = "compare" if len(question.inputs) > 1 else "certify"
    in_python = f"pass its weights in Python to {question.function.__name__}" if question.has_weights else ""
    why = question.unrepeated or in_python or f"it needs {', '.join(question.inputs)}: jaxcert {command}"
    raise ValueError(f"--question is {name!r}, which this command does not ask ({why}); expected {', '.join(known)}")


def check_listed(data: Sequence[ReturnsFile], question: Question, listed: bool | None) -> None:
    """Raise ValueError unless a list or a sample was chosen, in agreement with the question."""
    if listed is not None and listed != question.listed:
        word, about = ("suite", "new tasks") if listed else ("sampled", "a fixed list of tasks")
        raise ValueError(f"--{word} is given; the question {question.name!r} is about {about}")
    made = [each for each in data if each.fixed_list]
    if not made or listed is not None or question.listed:
        return
    alike = [each for each in QUESTIONS.values() if each.listed and each.each == question.each]
    of_two = "with --threshold in place of --margin, " if question.each == "margin" else ""
    of_list = f"--suite, {of_two}if the list itself is what counts, or " if alike or len(data) > 1 else ""
    raise ValueError(
        f"{made[0].path}: its tasks are a list that somebody made, and {question.name!r} is about new tasks; expected "
        f"{of_list}--sampled, if they were drawn at random from those that new ones come from"
    )


# --- options that few questions have ---------------------------------------------------------------------------------


def options_of_questions(questions: dict[str, Question]) -> list[inspect.Parameter]:
    """Options for settings that only few questions have; no other option shares their names."""
    found: dict[str, dict[str, Option]] = {}
    for name, question in questions.items():
        for each in question.options:
            found.setdefault(each.name, {})[name] = each
    return [_parameter(*each) for each in found.items()]


def _parameter(name: str, held: dict[str, Option]) -> inspect.Parameter:
    """An option with the questions that have it; it has the same meaning and flag in all of them."""
    (own, *others), of = held.values(), {}
    if any((each.type, each.flag) != (own.type, own.flag) for each in others):
        raise ValueError(f"the option {name!r} has another type or flag in one of the questions {', '.join(held)}")
    for question, each in held.items():
        of.setdefault(f"{each.help[0].lower()}{each.help[1:]}", []).append(question)
    text = "; for ".join(f"the question {' and '.join(names)}: {words}" for words, names in of.items())
    text, named = f"For {text}", f"--{own.flag or name.replace('_', '-')}"
    if own.type is list:
        kind, wanted = list[Any] | None, several("X", text, named)
    elif own.type is tuple:
        kind = list[str] | None
        wanted = option("TEXT", f"{text} (repeatable).", named, callback=lambda texts: texts or None)
    else:
        kind = bool if own.type is bool else own.type | None
        wanted = flag(f"{text}.", named, default=False if own.type is bool else None)
    return parameter(name, kind, wanted)
