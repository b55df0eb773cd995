"""Meanings of names of columns, by their words: tasks, outcomes, policies, conditions, moments, how a trial ended."""

import functools
import re
from collections.abc import Iterable, Sequence
from typing import Any

from jaxcert.tables._doubts import WORDS, listed_words, tell, words_in

_BEST_OF = re.compile(r".*([@^]|_at_?|(?:best|maj|majority|any)_of_?)\s*([0-9]+|[kn])")
# Moments of a training run, by the names that trainers and their logs give them.
_MOMENT = re.compile(
    r"(.*_)?(steps?|timesteps?|iterations?|iters?|updates?)"
    r"|(total|num|n|env|environment|agent|training|train|global|gradient|grad|sampled)_(env_)?(time)?steps?(_.*)?"
    r"|(timesteps|episodes|steps|time)_(total|this_iter).*|.*__(min|max)"
)
_LAST_NUMBER, DIGITS = re.compile("[0-9]+(?=[^0-9]*$)"), re.compile("([0-9]+)")
MOST_CONDITIONS = 10


def lowered(name: Any) -> str:
    """A name of a column without blanks around it, in lower case."""
    return str(name).strip().lower()


class Tells:
    """The meaning of a column's name."""

    def __init__(self, name: str) -> None:
        words, text = words_in(name), lowered(name)
        self.moment = bool(_MOMENT.fullmatch(re.sub(r"[^a-z0-9]", "_", text)))  # they are moments of a training run
        # It is of trials of what its other words say, as agent_run, where run_agent is of agents.
        is_of_trials = {*[word for word in listed_words(name) if word not in WORDS.numbers][-1:]} & WORDS.trial
        of_conditions = words & WORDS.apart and not (words & (WORDS.measured | WORDS.endings) or is_of_trials)
        self.task = bool(words & (WORDS.task | {"instruction"}))  # they label tasks
        self.trial = bool(words & WORDS.trial)  # they number trials
        self.value = bool(words & WORDS.value)  # they are outcomes
        # Surely of training: steps may be those of an episode, and n_iter is a planner's.
        self.training = self.moment and bool(words & WORDS.of_training)
        self.curve = self.moment and "steps" not in text  # moments, and not the length of an episode, as num_steps
        self.policies = bool(words & WORDS.policies) and words <= WORDS.of_policies  # rather than something of them
        # They may tell policies, conditions or groups of tasks apart.
        self.apart = bool(of_conditions or self.policies or text in WORDS.apart_names)
        # Groups or places of tasks and nothing else, or what stands on the way to records of JSON.
        of_places = WORDS.groups | WORDS.places
        self.place = bool(words & of_places and words <= of_places | WORDS.labels) or name.startswith("$")
        self.aside = says(name, WORDS.aside) or says(name, WORDS.counted)  # they say which trials are set aside
        self.ending = bool(words & WORDS.endings) or self.aside  # they may say how a trial ended
        # They say more than the table, if they are no task, trial or value.
        self.looked_at = self.moment or self.apart or text in WORDS.may_be_moments | WORDS.steps
        # They are the seeds of policies or of their training, which are several policies, as no run of an agent is.
        self.seed = "seed" in words and bool(words & (WORDS.policies | {"train", "training"}))
        # They tell policies, their versions or moments apart, and no tasks.
        self.no_task = self.policies or self.seed or self.moment or text in WORDS.steps | WORDS.apart_names
        attempts = _BEST_OF.fullmatch(text)
        self.best_of = attempts is not None and attempts[2] != "1"  # each is of several attempts, as pass@5
        # Of columns as trials: each is a policy, a condition, a moment of training, a metric, or several, as pass@5.
        self.no_trial = bool(words & WORDS.no_trial or attempts)


def tells(name: Any) -> Tells:
    """The meaning of a name."""
    return _tells(str(name))


_tells = functools.lru_cache(2**12)(Tells)


def says(text: Any, words: set[str]) -> bool:
    """Whether a name or an entry has one of these words, such as ``ASIDE``, and no word for something else."""
    found = words_in(str(text).rsplit(".", 1)[-1])
    return bool(found & words) and found <= words | WORDS.beside_aside


def may_tell_tasks(name: Any, *, several: bool) -> bool:
    """Whether a column may describe the tasks, rather than the outcome or the policy.

    If tasks have ``several`` rows, all other names count as well: measurements differ between the rows of a task.
    """
    words, told = words_in(name), tells(name)
    if words & (WORDS.measured | WORDS.endings) or told.value or told.aside:
        return False
    if told.task or words & WORDS.places:
        return True
    return several and not told.policies


def name_several(texts: Iterable[str]) -> bool:
    """Whether texts name several policies that are known, as gpt-4o and claude-3."""
    return len(WORDS.known_policies & words_in(" ".join(texts))) > 1


def stems_of(labels: Iterable[str]) -> set[str]:
    """Labels without their last number; labels that also differ in the place of the run become one."""
    stems = {_LAST_NUMBER.sub("", label) for label in labels}
    are_places = all(words_in(stem) and words_in(stem) <= WORDS.ran_on for stem in stems)
    return {""} if are_places else stems


def check_no_curve(names: Sequence[Any], chosen: Iterable[Any], *, is_missing: bool = False) -> None:
    """Raise ValueError where tasks or trials would be moments of training; ``chosen`` are their columns.

    If a column ``is_missing``, any other column of moments shows it.
    """
    found = [name for name in chosen if name in names and tells(name).moment]
    found += [name for name in names if is_missing and tells(name).moment and lowered(name) not in WORDS.lengths]
    if found:
        tell("curve", name=found[0])


def check_columns_of_trials(names: Sequence[Any]) -> None:
    """Raise ValueError for columns that are no trials of their row each; ask, unless they surely are, as s0 and s1."""
    told = [name for name in names if tells(name).no_trial]
    if told or not _count(names):
        tell("wide", names=" and ".join(repr(str(name))[:42] for name in (told or names)[:2]))
    if not all(words_in(name) <= WORDS.numbered for name in names):
        tell("columns_as_trials", first=str(names[0]), last=str(names[-1]))


def _count(names: Sequence[Any]) -> bool:
    """Whether names differ only in one whole number that counts them, such as s0, s1 and s2."""
    parts = [DIGITS.split(str(name)) for name in names]
    differ = [{*column} for column in zip(*parts, strict=False) if len({*column}) > 1]
    if len({*map(len, parts)}) > 1 or len(differ) != 1 or not all(each.isdecimal() for each in differ[0]):
        return False
    numbers = sorted(map(int, differ[0]))
    return numbers == [*range(numbers[0], numbers[0] + len(names))]
