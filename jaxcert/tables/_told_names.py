"""What the names of columns tell: policies, conditions, moments of training, trials, how a trial ended."""

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from jaxcert.tables._coded import Coded, few_texts
from jaxcert.tables._columns import Columns, is_best_of, is_value, labels_tasks, lowered, numbers_trials
from jaxcert.tables._entries import ask, listed_words, words_in
from jaxcert.tables._set_aside import set_aside, sets_aside

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
OF_POLICIES = POLICIES | words_in("name id version path file tag number num no index idx a b left right")
# Groups of tasks.
GROUPS = words_in("suite split domain category benchmark dataset")
# Rows of the same task that differ in it are of several policies or conditions, or of tasks of the same names.
APART = words_in(
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
_NO_TRIAL = APART | _ALSO_APART | words_in("step epoch iter judge stage subgoal phase joint loss cost err time top")
_NUMBERED = words_in("""
    s r trial try attempt run rep repeat repetition replicate seed episode rollout sample round versuch lauf essai
    return score reward success successes pass passed result outcome correct solved resolved value eval
""")
# Where moments are surely of training, and neither the length of an episode nor what a planner took; and what else is
# of training, or of the policy that a row was made with.
_OF_TRAINING = words_in("global train training trained learning learner gradient grad optimizer sampled")
_CHANGES = words_in("""
    commit git sha md5 hash revision release build run runs exp experiment job lora adapter weight weights param params
    parameters theta phi hparams hyperparameters lr epsilon eps exploration generation genome population epoch epochs
    snapshot gain gains kp ki kd ips propensity
""")
_NOT_OF_POLICIES = words_in("""
    video log date datetime timestamp started ended created duration doc document target task question prompt scene
""")
_TRAINED = _OF_TRAINING - {"global"} | words_in("seen finetune finetuned pretrained pretraining")
# The length of an episode.
_LENGTHS = {"n_steps", "num_steps"}
# Also the length of an episode, or what numbers trials.
_MAY_BE_MOMENTS = {"steps", "epoch", "round"}
# Number the steps of one episode where they go up by one from row to row.
STEPS = {"t", "step", "timestep", "time_step", "frame", "turn", "frame_index", "step_index", "step_id"}
_LAST_NUMBER = re.compile("[0-9]+(?=[^0-9]*$)")
_RAN_ON = words_in("gpu cpu worker rank node host shard part batch day seed run trial")
DIGITS = re.compile("([0-9]+)")
# Where all rows of a policy hold the same: which policy or run it is, how it was made, or what was measured of it.
_OF_RUN = words_in("""
    uid uuid hash sha commit git branch label title display alias family variant team submission player session job exp
    experiment runs seeds date datetime timestamp started ended created path file filename folder dir directory url uri
    video log wandb machine device user author description params parameters size layers architecture backbone encoder
    network weights train training trained pretrained finetuned demos demonstrations epoch epochs lr optimizer precision
    dtype quantization ours provider vendor price cost loss accuracy mean avg average std sem ci total trials episodes
    rollouts
""").union(POLICIES, _RAN_ON)
# A moment, a number as long as one, a hash, or a path.
_MARK = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]:[0-9]{2}|[0-9]{9}|^[0-9a-f]{7,}$|/.*/|[.][a-z]{2,5}$")


def is_moment(name: Any) -> bool:
    """Whether a column of that name holds moments of a training run."""
    return bool(_MOMENT.fullmatch(re.sub(r"[^a-z0-9]", "_", lowered(name))))


def is_of_training(name: Any) -> bool:
    """Whether it surely holds moments of training: steps may be those of an episode, and n_iter is a planner's."""
    return is_moment(name) and bool(words_in(name) & _OF_TRAINING)


def changes_policies(name: Any) -> bool:
    """Whether a column of that name may hold another policy in each row: its version, weights or moment of training."""
    words = words_in(name)
    is_told = (words & _CHANGES or tells_apart(name)) and not words & (_MEASURED | _NOT_OF_POLICIES)
    return bool(words & _TRAINED or is_moment(name) or is_told)


def is_curve(name: Any) -> bool:
    """Whether it names moments of training, and not the length of an episode, as num_steps does."""
    return is_moment(name) and "steps" not in lowered(name)


def tells_apart(name: Any) -> bool:
    """Whether a column of that name may tell policies, conditions or groups of tasks apart."""
    words = words_in(name)
    is_other = words & (_MEASURED | _ENDINGS) or _ends_with_trials(name)
    return bool(words & APART and not is_other) or names_policies(name) or lowered(name) in _ALSO_APART


def _ends_with_trials(name: Any) -> bool:
    """Whether it is of trials of what its other words say, as agent_run, where run_agent is of agents."""
    *_, last = ["", *(word for word in listed_words(name) if word not in _NUMBERS)]
    return numbers_trials(last)


def of_tasks(name: Any) -> bool:
    """Whether a column of that name holds groups or places of tasks."""
    return bool(words_in(name) & (GROUPS | PLACES)) or str(name).startswith("$")  # on the way to records of JSON


def may_tell_tasks(name: Any, *, several: bool) -> bool:
    """Whether the entries of tasks in a column may tell which tasks they were, neither how they went nor by whom.

    Where tasks have ``several`` rows, also by another name, as what is measured of each row is not the same in all.
    """
    words = words_in(name)
    if words & (_MEASURED | _ENDINGS) or is_value(name) or sets_aside(name):
        return False
    if labels_tasks(name) or words & PLACES:
        return True
    return several and ("seed" in words or not (words & (_OF_RUN | _CHANGES) or names_policies(name)))


def names_policies(name: Any) -> bool:
    """Whether a column of that name holds policies, rather than something of them."""
    words = words_in(name)
    return bool(words & POLICIES) and words <= OF_POLICIES


def is_of_run(name: Any, entries: Iterable[str]) -> bool:
    """Whether it says which policy it is, how that was made, or what came of one run: no condition of it."""
    words = words_in(name)
    is_told = words & _OF_RUN or words <= OF_POLICIES or is_value(name) or tells_endings(name)
    return bool(is_told) or all(_MARK.search(entry) for entry in entries)


def name_several(entries: Iterable[Any]) -> bool:
    """Whether texts name several policies that are known, as gpt-4o and claude-3."""
    texts = (each for each in itertools.islice(entries, _MOST_LOOKED_AT) if isinstance(each, str))
    return len(_KNOWN & words_in(" ".join(texts))) > 1


def stems_of(labels: Iterable[str]) -> set[str]:
    """Labels without their last number; one for those that differ in the place where they ran besides."""
    stems = {_LAST_NUMBER.sub("", label) for label in labels}
    are_places = all(words_in(stem) and words_in(stem) <= _RAN_ON for stem in stems)
    return {""} if are_places else stems


def tells_endings(name: Any) -> bool:
    """Whether a column of that name may say how a trial ended, or that it is set aside."""
    return bool(words_in(name) & _ENDINGS) or sets_aside(name)


def are_endings(column: Coded) -> bool:
    """Whether words in a column say how trials ended, as ok and crashed do, or that they are set aside."""
    told = any(words_in(text) & (_ENDINGS | _ALSO_ENDINGS) for text in few_texts(column))
    return told or bool(set_aside("", column).any())


def is_looked_at(name: Any) -> bool:
    """Whether a column of that name says more than its table, if it is no task, trial or value."""
    return is_moment(name) or tells_apart(name) or lowered(name) in _MAY_BE_MOMENTS | STEPS


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
    parts = np.asarray([DIGITS.split(str(name)) for name in names], object)
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
