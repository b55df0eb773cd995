"""Meanings of column names: tasks, outcomes, policies, conditions, moments of training, how a trial ended."""

import functools
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert.tables._entries import listed_words, words_in

# Words in the names of columns of tasks, trials and outcomes.
LIKE = {
    "task": words_in(
        "task problem question instance env environment scenario case maze map world level item puzzle goal"
    ),
    "trial": words_in("episode trial rollout attempt run seed try repeat repetition rep sample demo demonstration"),
    "value": words_in(
        "return score success successes passed pass reward solved resolved correct result outcome performance"
    ),
}
_BEST_OF = re.compile(r".*([@^]|_at_?)\s*([0-9]+|k)")
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
# Groups of tasks; and what may make up tasks together, each entry with each.
GROUPS = words_in("suite split domain category benchmark dataset")
PLACES = words_in("layout style scene kitchen room map level world maze env environment scenario")
# Rows of the same task that differ in it are of several policies or conditions, or of tasks of the same names.
APART = words_in(
    "variant config prompt condition control perturbation perturbed corruption ablation setting filter metric scorer "
    "extractor group"
).union(GROUPS, POLICIES - {"system", "approach"})
_ALSO_APART = {"noise", "noise_level", "temperature", "version"}
# How a trial ended, for which none may be left out.
ENDINGS = words_in(
    "status state reason termination terminated stop stopped result outcome error crash exception failure failed fail "
    "exit end ended ending finish finished verdict note notes comment success succeeded ok done correct reached answer "
    "output solved"
)
# Words for trials in which a human helped or that must not count, words for the opposite, and words beside them.
ASIDE = words_in("""
    human help helped assist assisted assistance intervention interventions intervened teleop teleoperated override
    overrides overridden teleoperation takeover takeovers exclude excluded exclusion discard discarded disregard
    disqualified invalid void voided ignore ignored outlier quarantined hint hints oracle correction corrections
    corrected nudged hilfe geholfen eingriff eingegriffen aide ayuda ayudado
""")
COUNTED = words_in("valid include included counted autonomous unassisted usable")
_BESIDE_ASIDE = words_in("""
    is was has had to be num n number count counts any flag flagged marked by fully needed required reason trial run
    episode rollout row from eval evaluation analysis manual operator surgeon doctor driver expert
""")
# Tasks of training, and others; and what stands beside these words.
SEEN = words_in("""
    train trained training trainset seen entrainement entra\u00eenement entrenamiento treino \u8bad\u7ec3
    \u8bad\u7ec3\u96c6 \u8a13\u7df4
""")
UNSEEN = words_in("unseen heldout novel")
SPLITS = SEEN | UNSEEN | words_in("test testing testset val valid validation dev eval evaluation")
BESIDE_SEEN = words_in("in is was on out of during the set split part task tasks env environment policy distribution")
# Measurements of a trial, such as the number of tokens of a prompt.
_MEASURED = words_in(
    "count tokens time sec seconds ms length cost reward return score success error size steps calls effort loss "
    "latency"
)
_NUMBERS = words_in("id number num no nr index idx")
# Words in names of columns that do not each hold a trial, and words beside the number in names of columns that do.
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
    snapshot gain gains kp ki kd ips propensity prob probability ckpt member ensemble fold replica demos software
    firmware docker container pr patch wandb artifact onnx engine trt quant quantization bits bitwidth sampler decoding
    beam beams ctx shot shots rag retriever tools planner controller chunk ema explore delay fixups patched hotfix tuned
    retuned calibrated calibration recalibrated gripper effector payload rubric cutoff tolerance tol
""")
_NOT_OF_POLICIES = words_in("""
    video log date datetime timestamp started ended created duration doc document target task question prompt scene
""")
_TRAINED = _OF_TRAINING - {"global"} | words_in("seen finetune finetuned pretrained pretraining")
# The length of an episode; also that, or what numbers trials.
_LENGTHS, _MAY_BE_MOMENTS = {"n_steps", "num_steps"}, {"steps", "epoch", "round"}
# Number the steps of one episode where they go up by one from row to row.
STEPS = {"t", "step", "timestep", "time_step", "frame", "turn", "frame_index", "step_index", "step_id"}
_LAST_NUMBER = re.compile("[0-9]+(?=[^0-9]*$)")
_RAN_ON = words_in("gpu cpu worker rank node host shard part batch day seed run trial")
DIGITS = re.compile("([0-9]+)")
# Columns with one entry in all rows of a policy: its name or run, how it was made, or a measurement of it.
_OF_RUN = words_in("""
    uid uuid hash sha commit git branch label title display alias family variant team submission player session job exp
    experiment runs seeds date datetime timestamp started ended created path file filename folder dir directory url uri
    video log wandb machine device user author description params parameters layers architecture backbone encoder batch
    hidden buffer embedding vocab network weights train training trained pretrained finetuned demos demonstrations epoch
    epochs lr optimizer precision dtype quantization ours provider vendor price cost loss accuracy mean avg average std
    sem ci total trials episodes rollouts
""").union(POLICIES, _RAN_ON)
# Beside words of an outcome: by which measure it was one; and what an evaluation sets in any case.
_OF_MEASURE = words_in("""
    scale type mode kind function fn format definition condition version weight range unit units metric rule rounding on
    early max min possible
""")
_CRITERIA = words_in("""
    threshold thresholds tolerance tol cutoff criterion criteria radius margin rubric limit horizon judge grader scorer
    resolution difficulty allowed camera map scene
""")
# A moment, a number as long as one, a hash, or a path.
_MARK = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]:[0-9]{2}|[0-9]{9}|^[0-9a-f]{7,}$|/.*/|[.][a-z]{2,5}$")


class Tells(NamedTuple):
    """The meaning of a column's name."""

    task: bool  # they label tasks
    trial: bool  # they number trials
    value: bool  # they are outcomes
    best_of: bool  # each is of several trials, as pass@5
    moment: bool  # they are moments of a training run
    training: bool  # surely so: steps may be those of an episode, and n_iter is a planner's
    curve: bool  # moments, and not the length of an episode, as num_steps
    policies: bool  # they are policies, rather than something of them
    apart: bool  # they may tell policies, conditions or groups of tasks apart
    changes: bool  # each row may be of another policy: its version, weights or moment of training
    place: bool  # they are groups or places of tasks
    aside: bool  # they say which trials are set aside
    ending: bool  # they may say how a trial ended, or that it is set aside
    looked_at: bool  # they say more than the table, if they are no task, trial or value
    no_trial: bool  # of columns as trials: each is a policy, a condition, a moment of training or a metric


def lowered(name: Any) -> str:
    """A name of a column without blanks around it, in lower case."""
    return str(name).strip().lower()


def tells(name: Any) -> Tells:
    """The meaning of a name."""
    return _tells(str(name))


@functools.lru_cache(2**12)
def _tells(name: str) -> Tells:
    words, text = words_in(name), lowered(name)
    moment = bool(_MOMENT.fullmatch(re.sub(r"[^a-z0-9]", "_", text)))
    # It is of trials of what its other words say, as agent_run, where run_agent is of agents.
    is_of_trials = {*[word for word in listed_words(name) if word not in _NUMBERS][-1:]} & LIKE["trial"]
    policies = bool(words & POLICIES) and words <= OF_POLICIES
    of_conditions = words & APART and not (words & (_MEASURED | ENDINGS) or is_of_trials)
    apart = bool(of_conditions or policies or text in _ALSO_APART)
    of_seeds = words & POLICIES and "seed" in words  # of a policy, and not of a trial
    of_versions = (words & _CHANGES or apart or of_seeds) and not words & (_MEASURED | _NOT_OF_POLICIES)
    aside = says(name, ASIDE) or says(name, COUNTED)
    return Tells(
        task=bool(words & (LIKE["task"] | {"instruction"})),
        trial=bool(words & LIKE["trial"]),
        value=bool(words & LIKE["value"]),
        best_of=bool(_BEST_OF.fullmatch(text)),
        moment=moment,
        training=moment and bool(words & _OF_TRAINING),
        curve=moment and "steps" not in text,
        policies=policies,
        apart=apart,
        changes=bool(words & _TRAINED or moment or of_versions),
        place=bool(words & (GROUPS | PLACES)) or name.startswith("$"),  # on the way to records of JSON
        aside=aside,
        ending=bool(words & ENDINGS) or aside,
        looked_at=moment or apart or text in _MAY_BE_MOMENTS | STEPS,
        no_trial=bool(words & _NO_TRIAL) or bool(_BEST_OF.fullmatch(text)),
    )


def says(text: Any, words: set[str], beside: set[str] = _BESIDE_ASIDE) -> bool:
    """Whether a name or an entry has one of these words, such as ``ASIDE``, and no word for something else."""
    found = words_in(str(text).rsplit(".", 1)[-1])
    return bool(found & words) and found <= words | beside


def may_tell_tasks(name: Any, *, several: bool) -> bool:
    """Whether a column may describe the tasks, rather than the outcome or the policy.

    If tasks have ``several`` rows, other names count as well, since measurements differ between the rows of a task.
    """
    words, told = words_in(name), tells(name)
    if words & (_MEASURED | ENDINGS) or told.value or told.aside:
        return False
    if told.task or words & PLACES:
        return True
    return several and ("seed" in words or not (words & (_OF_RUN | _CHANGES) or told.policies))


def is_of_run(name: Any, found: Mapping[str, str]) -> bool:
    """Whether the entry of each policy says which it is, how that was made, or what came of one run: no condition."""
    words, told, entries = words_in(name), tells(name), [*found.values()]
    are_names = all(_is_named(entry, policy) for policy, entry in found.items())
    is_outcome = (told.value or told.ending) and not words & _OF_MEASURE
    is_told = words & _OF_RUN or words <= OF_POLICIES | {"size"} or is_outcome
    is_told = is_told or are_names or name_several(entries) or all(map(_MARK.search, entries))
    return bool(is_told) and not words & _CRITERIA


def _is_named(entry: str, policy: str) -> bool:
    """Whether a policy's name has this entry, as a whole, and no number."""
    return not entry.isdecimal() and bool(re.search(rf"(?<![^\W_]){re.escape(entry)}(?![^\W_])", policy, re.IGNORECASE))


def name_several(entries: Iterable[Any]) -> bool:
    """Whether texts name several policies that are known, as gpt-4o and claude-3."""
    texts = (each for each in itertools.islice(entries, _MOST_LOOKED_AT) if isinstance(each, str))
    return len(_KNOWN & words_in(" ".join(texts))) > 1


def stems_of(labels: Iterable[str]) -> set[str]:
    """Labels without their last number; labels that also differ in the place of the run become one."""
    stems = {_LAST_NUMBER.sub("", label) for label in labels}
    are_places = all(words_in(stem) and words_in(stem) <= _RAN_ON for stem in stems)
    return {""} if are_places else stems


def check_no_curve(names: Sequence[Any], chosen: Iterable[Any], *, is_missing: bool = False) -> None:
    """Raise ValueError where tasks or trials would be moments of training; ``chosen`` are their columns.

    If a column ``is_missing``, any other column of moments shows it.
    """
    found = [name for name in chosen if name in names and tells(name).moment]
    found += [name for name in names if is_missing and tells(name).moment and lowered(name) not in _LENGTHS]
    if found:
        raise ValueError(
            f"has the column {found[0]!r:.42}, as a learning curve has: moments of a training run are no tasks and "
            "no trials, and its policy was not fixed; expected the episodes of an evaluation, each with its task"
        )


def check_same_policy(names: Sequence[Any]) -> None:
    """Raise ValueError for columns that are trials of their row each, unless their names count from one to the next."""
    told = [name for name in names if tells(name).no_trial]
    if told or not _count(names):
        named = (told or names)[:2]
        raise ValueError(
            f"columns such as {' and '.join(repr(str(name))[:42] for name in named)} are of a policy, a condition, a "
            "moment of training or a metric each, unless their names differ in a number alone that counts them, and no "
            "trials of one; expected one of them as value, or one row per trial with a column of policies (--policy)"
        )


def _count(names: Sequence[Any]) -> bool:
    """Whether names differ only in one whole number that counts them, such as s0, s1 and s2."""
    parts = np.asarray([DIGITS.split(str(name)) for name in names], object)
    if parts.ndim != 2 or len({*map(tuple, parts[:, ::2])}) > 1:
        return False
    differ = [column for column in parts[:, 1::2].T if len({*column}) > 1]
    numbers = sorted(int(each) for each in differ[0]) if len(differ) == 1 else []
    return bool(numbers) and numbers == [*range(numbers[0], numbers[0] + len(names))]


def number_trials(names: Sequence[Any]) -> bool:
    """Whether names that differ only in a number are known to number trials, such as s0 or trial_1."""
    return all(words_in(name) <= _NUMBERED for name in names)
