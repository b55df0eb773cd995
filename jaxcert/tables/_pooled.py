"""Tables that are no evaluation of one policy: learning curves, and several policies or conditions in one table.

Their rows look like tasks and trials, and a certificate of them would be false: moments of a training run are no tasks,
and the pooled trials of two policies are trials of neither.
"""

import contextlib
import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from jaxcert.tables._columns import Columns, is_best_of, is_value, lowered, numbers_trials
from jaxcert.tables._entries import ask, codes, listed_words, number_of, numbers_of, words_in, words_like
from jaxcert.tables._set_aside import few_texts, set_aside, sets_aside

# Moments of a training run, by the names that trainers and their logs give them.
_MOMENT = re.compile(
    r"(.*_)?(step|timestep|timesteps|iteration|iter|update|updates)"
    r"|(total|num|n|env|environment|agent|training|train|global|gradient|grad|sampled)_(env_)?(time)?steps?(_.*)?"
    r"|(timesteps|episodes|steps|time)_(total|this_iter).*|.*__(min|max)"
)
# Columns of policies by their whole names, also where each policy ran on tasks of its own.
POLICIES = words_in(
    "policy agent model llm checkpoint ckpt algorithm algo arm method system approach baseline treatment"
)
# Policies, models and algorithms that are known by name, without their digits; and how many entries are looked at.
_KNOWN = words_in("""
    gpt claude gemini gemma llama qwen mistral mixtral deepseek grok phi openvla octo smolvla groot pi act diffusion rt
    ppo sac td dqn ddpg trpo impala dreamer iql cql awac bc
""")
_MOST_LOOKED_AT = 2000
_OF_POLICIES = POLICIES | words_in("name id version path file tag number num no index idx a b left right")
# Groups of tasks.
GROUPS = words_in("suite split domain category benchmark dataset")
# Rows of the same task that differ in it are of several policies or conditions, or of tasks of the same names.
_APART = words_in(
    "variant config prompt condition control perturbation perturbed corruption ablation setting filter metric scorer "
    "extractor group"
).union(GROUPS, POLICIES - {"system", "approach"})
# What may make up tasks together, each entry with each.
PLACES = words_in("layout style scene kitchen room map level world maze env environment scenario")
_ALSO_APART = {"noise", "noise_level", "temperature", "version"}
# How a trial ended, for which none may be left out.
_ENDINGS = words_in(
    "status state reason termination terminated stop stopped result outcome error crash exception failure failed fail "
    "exit end ended ending finish finished verdict note notes comment success succeeded ok done correct reached answer "
    "output solved"
)
_ALSO_ENDINGS = words_in("aborted complete completed incomplete killed lost timeout timed")
# What is measured of a trial, as the number of tokens of a prompt.
_MEASURED = words_in(
    "count tokens time sec seconds ms length cost reward return score success error size steps calls effort loss "
    "latency"
)
_NUMBERS = words_in("id number num no nr index idx")
# Words of columns that hold no trial each, and words of those that do, beside its number.
_NO_TRIAL = _APART | _ALSO_APART | words_in("step epoch iter judge stage subgoal phase joint loss cost err time top")
_NUMBERED = words_in("""
    s r trial try attempt run rep repeat repetition replicate seed episode rollout sample round versuch lauf essai
    return score reward success successes pass passed result outcome correct solved resolved value eval
""")
# The length of an episode.
_LENGTHS = {"n_steps", "num_steps"}
# Also the length of an episode, or what numbers trials.
_MAY_BE_MOMENTS = {"steps", "epoch", "round"}
# Number the steps of one episode where they go up by one from row to row.
_STEPS = {"t", "step", "timestep", "time_step", "frame", "turn", "frame_index", "step_index", "step_id"}
MOST_CONDITIONS, _LONGEST_WORD = 10, 40
_DIGITS = re.compile("([0-9]+)")
_TRAINING = {"train", "training"}
_DATES = words_in("date day datetime weekday time timestamp started recorded")


def is_moment(name: Any) -> bool:
    """Whether a column of that name holds moments of a training run."""
    return bool(_MOMENT.fullmatch(re.sub(r"[^a-z0-9]", "_", lowered(name))))


def is_curve(name: Any) -> bool:
    """Whether it names moments of training, and not the length of an episode, as num_steps does."""
    return is_moment(name) and "steps" not in lowered(name)


def tells_apart(name: Any) -> bool:
    """Whether a column of that name may tell policies, conditions or groups of tasks apart."""
    words = words_in(name)
    is_other = words & (_MEASURED | _ENDINGS) or _ends_with_trials(name)
    return bool(words & _APART and not is_other) or names_policies(name) or lowered(name) in _ALSO_APART


def _ends_with_trials(name: Any) -> bool:
    """Whether it is of trials of what its other words say, as agent_run, where run_agent is of agents."""
    *_, last = ["", *(word for word in listed_words(name) if word not in _NUMBERS)]
    return numbers_trials(last)


def of_tasks(name: Any) -> bool:
    """Whether a column of that name holds groups or places of tasks."""
    return bool(words_in(name) & (GROUPS | PLACES)) or str(name).startswith("$")  # on the way to records of JSON


def names_policies(name: Any) -> bool:
    """Whether a column of that name holds policies, rather than something of them."""
    words = words_in(name)
    return bool(words & POLICIES) and words <= _OF_POLICIES


def name_several(entries: Iterable[Any]) -> bool:
    """Whether texts name several policies that are known, as gpt-4o and claude-3."""
    texts = (each for each in itertools.islice(entries, _MOST_LOOKED_AT) if isinstance(each, str))
    return len(_KNOWN & words_in(" ".join(texts))) > 1


def tells_endings(name: Any) -> bool:
    """Whether a column of that name may say how a trial ended, or that it is set aside."""
    return bool(words_in(name) & _ENDINGS) or sets_aside(name)


def are_endings(entries: np.ndarray) -> bool:
    """Whether words in a column say how trials ended, as ok and crashed do, or that they are set aside."""
    told = any(words_in(text) & (_ENDINGS | _ALSO_ENDINGS) for text in few_texts(entries))
    return told or bool(set_aside("", entries).any())


def is_looked_at(name: Any) -> bool:
    """Whether a column of that name says more than its table, if it is no task, trial or value."""
    return is_moment(name) or tells_apart(name) or lowered(name) in _MAY_BE_MOMENTS | _STEPS


@contextlib.contextmanager
def told_of(place: str, strict: bool, stacklevel: int) -> Iterator[None]:
    """Warnings begin with the place; with ``strict`` they are errors, to which it is added elsewhere."""
    with warnings.catch_warnings(record=not strict) as said:
        warnings.simplefilter("error" if strict else "always", UserWarning)
        try:
            yield
        except UserWarning as warning:
            raise ValueError(str(warning)) from None
    for each in said or ():
        warnings.warn(f"{place}{each.message}", each.category, stacklevel=stacklevel)


def check_no_curve(names: Sequence[Any], columns: Columns, missing: Sequence[str]) -> None:
    """Raise ValueError where tasks or trials would be moments of training, by the names of columns alone."""
    chosen = [name for name in (columns.task, columns.trial) if name in names and is_moment(name)]
    found = chosen or [name for name in names if missing and is_moment(name) and lowered(name) not in _LENGTHS]
    if found:
        raise ValueError(
            f"has the column {found[0]!r:.42}, as a learning curve has: moments of a training run are no tasks and "
            "no trials, and its policy was not fixed; expected the episodes of an evaluation, each with its task"
        )


def check_same_policy(names: Sequence[Any]) -> None:
    """Raise ValueError for columns that are trials of their row each, unless their names count from one to the next."""
    told = [name for name in names if is_no_trial(name)]
    if told or not _count(names):
        named = (told or names)[:2]
        raise ValueError(
            f"columns such as {' and '.join(repr(str(name))[:42] for name in named)} are of a policy, a condition, a "
            "moment of training or a metric each, unless their names differ in a number alone that counts them, and no "
            "trials of one; expected one of them as value, or one row per trial with a column of policies (--policy)"
        )


def is_no_trial(name: Any) -> bool:
    """Whether a column or a file of that name is of a policy, a condition, a moment of training or a metric."""
    return bool(words_in(name) & _NO_TRIAL) or is_best_of(name)


def _count(names: Sequence[Any]) -> bool:
    """Whether names differ in one whole number alone, which counts them, as s0, s1 and s2 do."""
    parts = np.asarray([_DIGITS.split(str(name)) for name in names], object)
    if parts.ndim != 2 or len({*map(tuple, parts[:, ::2])}) > 1:
        return False
    differ = [column for column in parts[:, 1::2].T if len({*column}) > 1]
    numbers = sorted(int(each) for each in differ[0]) if len(differ) == 1 else []
    return bool(numbers) and numbers == [*range(numbers[0], numbers[0] + len(names))]


def ask_about_trials(names: Sequence[Any]) -> None:
    """Warn of columns that are read as trials, and whose names are not known to number any, as of versions."""
    if not number_trials(names):
        ask(
            f"columns {str(names[0])!r:.42} to {str(names[-1])!r:.42} are read as trials: if they are of several "
            "policies, versions or checkpoints, all of them are taken for one policy here"
        )


def number_trials(names: Sequence[Any]) -> bool:
    """Whether names that differ in a number alone are known to number trials, as s0 or trial_1."""
    return all(words_in(name) <= _NUMBERED for name in names)


def check_one_policy(
    columns: Columns, names: Iterable[Any], task: np.ndarray, column: Callable[[Any], Any]
) -> tuple[str, ...]:
    """Raise ValueError for rows of the same task that are of several policies, conditions or moments; ask if unsure.

    ``names`` are all columns but those of task and value, and ``column`` gives the entries of one. What no name tells
    is for the reader of the result: the columns whose entries repeat, in which rows that are taken together differ.
    """
    tasks, _ = codes(task, columns.task)
    pooled = []
    ordered = sorted(names, key=lambda name: not is_looked_at(name))  # what is told for sure comes first
    for name, entries in ((name, part) for each in ordered for name, part in nested(each, column(each))):
        # The length of an episode is looked at, too, unless it was named to number trials.
        if is_moment(name) or tells_apart(name) or (name != columns.trial and is_looked_at(name)):
            # Outcomes of another policy tell no rows of one apart.
            picked = "" if _is_of_another(name, entries, columns) else _picked(name, entries)
            if words_in(name) & GROUPS and are_numbered(task):
                picked += f", or, where each numbers tasks of its own, both as task (--task {name},{columns.task})"
            _check_told(name, entries, tasks, picked, is_trial=name == columns.trial)
        elif not tells_endings(name):
            _check_unexplained(name, entries, tasks, columns.trial)
        repeats = 1 < _num_different(entries) <= len(entries) / 2
        if name != columns.trial and (repeats or (entries.dtype.kind in "OUS" and name_several(entries.tolist()))):
            pooled.append(str(name))
    return tuple(pooled)


def _is_of_another(name: Any, entries: np.ndarray, columns: Columns) -> bool:
    """Whether it holds outcomes of another policy, as "diffusion policy" does beside pi0, which is read."""
    told = words_in(name) & _APART
    by_policy = bool(told) and told <= POLICIES and not is_value(columns.value)
    return by_policy and bool(np.all(np.isfinite(numbers_of(entries))))


def _check_told(name: Any, entries: np.ndarray, tasks: np.ndarray, picked: str, *, is_trial: bool) -> None:
    """Of a column whose name tells policies or moments."""
    coded = _coded(entries)
    differs, has_all, is_balanced = _spread(tasks, coded)
    # How long an episode was may tell how it ended.
    picked = "" if is_moment(name) and not is_balanced else picked
    if differs and _counts_steps(name, entries):
        raise ValueError(
            f"column {str(name)!r:.42} counts the steps of an episode, and steps are no trials; expected one row per "
            "episode, such as one with the sum of its rewards"
        )
    if differs and (tells_apart(name) or has_all):
        raise ValueError(
            f"rows of the same task differ in column {str(name)!r:.42}: if it tells policies, conditions, groups "
            "of tasks or moments of training apart, they are no trials of one policy; expected rows of one of "
            f"them{picked}, or a table without this column"
        )
    names = [str(each) for each in entries.tolist() if isinstance(each, str | int | float)]
    may_be = coded.max() < min(tasks.max(), MOST_CONDITIONS) and max(map(len, names), default=0) <= _LONGEST_WORD
    are_policies = names_policies(name) or (words_in(name) - _OF_POLICIES == {"prompt"} and may_be)
    if coded.max() and names and not differs and not is_trial and are_policies:
        ask(
            f"rows of different tasks differ in column {str(name)!r:.42}: if these are policies or checkpoints, "
            f"all of them are taken for one policy here; expected rows of one of them{picked}"
        )


def are_numbered(labels: np.ndarray) -> bool:
    """Whether labels of tasks are whole numbers, which may begin anew in each group of tasks."""
    return bool(np.all(numbers_of(labels) % 1 == 0))


def crossing(one: np.ndarray, other: np.ndarray) -> float:
    """How far entries are crossed: 0 where those of one column tell those of the other, 1 where all pairs occur."""
    one, other = _coded(one), _coded(other)
    least, most = sorted((one.max() + 1, other.max() + 1))
    num_pairs = len(np.unique(one * (other.max() + 1) + other))
    return (num_pairs - most) / ((least - 1) * most) if least > 1 else 0.0


def _check_unexplained(name: Any, entries: np.ndarray, tasks: np.ndarray, trial: str | None) -> None:
    """Warn of a column that its name does not explain, if rows of a task differ in its few words or numbers."""
    if not _are_few(entries) or tasks.max() < 2 or words_in(name) & _DATES:
        return
    first, numbers, is_trial = entries.tolist()[0], numbers_of(entries), name == trial
    are_words = isinstance(first, bool) or (isinstance(first, str) and np.isnan(number_of(first)))
    if not are_words and (is_trial or not np.all(np.isfinite(numbers))):
        return
    coded = _coded(entries if are_words else numbers)
    differs, _, is_balanced = _spread(tasks, coded)
    if not differs:
        return
    if are_words:
        words = {*map(str, entries.tolist())}
        if is_trial and len({_DIGITS.sub("", word) for word in words}) == 1:  # as r0, r1
            return
        are_short = all(len(word) <= _LONGEST_WORD and word[:1].isalnum() for word in words)
        is_told = is_balanced or (not is_trial and are_short and any(words_like(word) is None for word in words))
        instead = f"expected rows of one of them{_picked(name, entries) if is_balanced else ' (--where)'}"
    else:
        is_once = len(numbers) == (tasks.max() + 1) * (coded.max() + 1) and np.all(np.diff(np.unique(numbers)) == 1)
        is_known = not words_in(name) & (POLICIES | _TRAINING) and (numbers_trials(name) or is_value(name))
        is_told = is_balanced and not is_known and not (is_once and trial is not None)
        instead = "if they number trials, name the column (--trial)"
    if is_told:
        kind = "word" if are_words else "number"
        how = f"each task has every {kind} of column {str(name)!r:.42} equally often"
        if not is_balanced:
            how = f"rows of the same task differ in the words of column {str(name)!r:.42}"
        ask(
            f"{how}: if these are policies, conditions or parts of an episode, all of them are taken for one policy "
            f"here; {instead}"
        )


def _spread(tasks: np.ndarray, entries: np.ndarray) -> tuple[bool, bool, bool]:
    """Whether some task has several entries; whether each of several has all, and whether all of them equally often."""
    num_tasks, num_entries = tasks.max() + 1, entries.max() + 1
    pairs, counts = np.unique(tasks * num_entries + entries, return_counts=True)
    has_all = len(pairs) == num_tasks * num_entries and num_tasks > 1
    return len(pairs) > num_tasks, has_all, bool(has_all and counts.min() == counts.max())


def _picked(name: Any, entries: np.ndarray) -> str:
    """How to read the rows of one entry alone, where it can be written."""
    if are_endings(entries):  # those of trials that went well might be proposed
        return ""
    first = next((each for each in entries.tolist() if isinstance(each, str | int | bool) and each != ""), None)
    if is_moment(name) and first is not None:  # the last one is of the policy that is used
        first = max(entries.tolist(), key=lambda each: (number_of(each), str(each)))
    is_plain = first is not None and "." not in str(name) and not str(first).startswith(("{", "["))
    return f", such as where={[f'{name} = {first}']!r:.80} (--where)" if is_plain else ""


def nested(name: Any, entries: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
    """A column, or of objects with fields each field as one, under both names with a dot."""
    first = next((each for each in entries.tolist() if each is not None), None) if entries.dtype == object else None
    if not isinstance(first, dict) or is_looked_at(name):
        yield name, entries
        return
    rows = [each if isinstance(each, dict) else {} for each in entries.tolist()]
    for field in dict.fromkeys(field for row in rows for field in row):
        part = np.fromiter((row.get(field) for row in rows), object, len(rows))
        yield from nested(f"{name}.{field}", part)


def _counts_steps(name: Any, entries: np.ndarray) -> bool:
    """Whether it numbers the steps of an episode, each row being one."""
    numbers = numbers_of(entries) if lowered(name) in _STEPS else np.full(1, np.nan)
    return bool(np.all(np.isfinite(numbers)) and np.mean(np.diff(numbers) == 1) > 0.5)


def _are_few(entries: np.ndarray) -> bool:
    """Whether a column has so few entries that each may be of a policy or a condition."""
    first = {*map(repr, entries[: 4 * MOST_CONDITIONS].tolist())}
    return len(first) <= MOST_CONDITIONS and _num_different(entries) <= MOST_CONDITIONS


def _num_different(entries: np.ndarray) -> int:
    """How many entries differ; of text as a set, since sorting it takes ten times as long."""
    if entries.dtype.kind not in "OU":
        return len(np.unique(entries))
    listed = entries.tolist()
    try:
        return len({*listed})
    except TypeError:  # lists and dictionaries
        return len({*map(repr, listed)})


def _coded(entries: np.ndarray) -> np.ndarray:
    """The index of each entry among those that differ; lists and dictionaries differ as they are printed."""
    plain = np.asarray([repr(entry) for entry in entries.tolist()]) if entries.dtype == object else entries
    return np.unique(plain, return_inverse=True)[1].reshape(-1)
