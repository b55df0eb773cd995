"""Tables by what they hold beside single trials of single tasks: sums, moments, parts, copies, labels of two things."""

import functools

import numpy as np
import pandas as pd
import pytest
from saved_files import check_said

from jaxcert.tables import from_frame, read_returns

RNG = np.random.default_rng(0)


def of(tasks, **columns):
    """A table with a row for each of the tasks, whose trials succeed or fail if nothing else is said."""
    return {"task": tasks, **(columns or {"success": RNG.random(len(tasks)) < 0.7})}


def t(count, each=1):
    return [f"t{i}x" for i in range(count) for _ in range(each)]


SINGLE, TASKS, TRIAL, WON = t(30), t(40, 5), [*range(5)] * 40, np.arange(200) % 7 > 1
ALL = {"trial": TRIAL, "success": WON}
ONCE, AT_ZERO = {"trial": None}, {"trial": 0, "success": RNG.random(41) < 0.7}
TENTHS = [f"{i % 10}/10" for i in range(30)]
SCORE = {**ONCE, "value": "score"}
COUNTED = {**ONCE, "successes": "successes", "trials": "trials"}
# --- rows that sum up others
PAIRS, ZERO_ONE = t(30, 2), {"trial": [0, 1] * 31, "success": 1}
ROOMS = [[f"{room}-{i}" for i in range(at, at + 20)] for at, room in ((0, "kitchen"), (20, "office"))]
SUMS = ["TOTAL", "average", "Mean", "Grand total", "Total:", "Gesamt", "\u00d8", "\u5e73\u5747"]
SUMS += ["Mean HNS", "All tasks", "kitchen avg"]
OF_A_ROOM = ("kitchen total", "hall total", "Kitchen_Total", "kitchen-mean", "Average kitchen", "kitchen (all)")
WITH_SUMS = {label: of([*SINGLE, label], success=[*["pass"] * 30, "30/30"]) for label in SUMS}
HNS, NO_HNS = of([*SINGLE, "Mean HNS", "Median HNS"], score=1), ["task != Mean HNS", "task != Median HNS"]
WORDS = [*SINGLE, "total_recall", "mean_reversion", "sum_numbers", "sort all cubes"]
VALUES = [0.31, 0.75, 0.62, 0.17, 0.98, 0.44]
LAST = {
    name: round(float(of_values(VALUES)), 3) for name, of_values in (("a", np.mean), ("b", np.median), ("c", np.sum))
}
NUMBERS, TRIALS = [*range(5, 25), 290], [*[25] * 20, 500]
TOTALS = (
    {"passed": [f"{a}/{b}" for a, b in zip(NUMBERS, TRIALS, strict=True)]},
    {"successes": NUMBERS, "trials": TRIALS},
)
# --- parts, moments, copies and gaps
MEASURES = {"metric": np.repeat(["return", "success"], 200), "value": np.repeat([200.0, 1.0], 200)}
ATTEMPTS = dict.fromkeys(("best_of", "attempts", "num_tries", "max_attempts", "retries", "majority_of", "reruns"), 3)
PARTS = {name: of(t(30, 5), **{name: [*range(5)] * 30}, success=1) for name in ("stage", "subtask_id")}
STEPS = ("t", "frame", "frame_index", "turn", "step_index", "step_id")
SEEDS = ("training_seed", "train_seed", "model_seed", "policy_seed", "agent_seed")
COPIES, OTHER = [5, 4, 3, 5, 5] * 3, [4, 4, 3, 5, 5, *[5, 4, 3, 5, 5] * 2]
SPARSE = [[*each] for each in zip(*((i, j) for i in range(8) for j in range(10) if (i + j) % 2), strict=True)]
MISSING = [i for i in range(40) if i not in (7, 8)]
# --- labels
PEOPLE = {"operator": RNG.integers(4, size=200), "seed": np.arange(200)}
SETS = ("{0}/{1}", "{0}@{1}", "{0}_{1}", "{1} ({0})", "{0}__{1}", "{0}/x/{1}")
OF_EACH = {x: [x.format(a, b) for a in ("red", "blue") for b in ("push", "pull", "lift")] for x in SETS}
OF_SUITE = {x: [x.format(a, b) for a in ("spatial", "goal") for b in range(3)] for x in SETS}
TIMES = ("task_2026-01-02T10:0{0}:01", "2026-01-02 10:0{0} mug{1}", "mug{1}_20260102_100{0}01", "mug{1}-17673480{0}1")
TIMES += ("pick_8f3a9{0}", "mug{1}__a{0}Zk3Qy", "mug{1}_8f3a910{0}-1b2c-4d5e-8f90-0123456789ab")
STAMPED = [[x.format(i, i // 3) for i in range(6)] for x in TIMES]
BOTH = {
    "{1}": ("layout,style", "scene,layout", "suite,task_id"),
    "{0}x{1}": ("place,task",),
    "{0}{1}": ("env,level_seed",),
}
SPLIT = "(task are wrongly counted as separate tasks)"


def split(who, number, label="{1}", names="operator,task"):
    """Three or two who each try twenty tasks."""
    rows = [(w, label.format(w, i), j) for i in range(20) for w in who for j in range(number)]
    one, two, trial = zip(*rows, strict=True)
    columns = dict(zip(names.split(","), (one, two), strict=True))
    return {**columns, "episode": trial, "success": RNG.random(len(rows)) < 0.7}


# Rows of one trial each, whose task has two parts.
NUMBERS_OF_RUNS = [f"run{i * 7919 % 1000}" for i in range(200)]
SINGLE_ROWS = [("suite,task_id", "{1}"), ("category,name", "n{0}{1}x"), ("benchmark,question_id", "{1}")]


def single_rows(names, label):
    suites = [(f"s{i}x", label.format(i, j)) for i in range(4) for j in range(20)]
    one, two = zip(*suites, strict=True)
    return dict(zip(names.split(","), (one, two), strict=True)) | {"success": RNG.random(80) < 0.7}


# The table, how it is read, and what is said of it: it is refused; in brackets, asked about; or read in silence.
SAID = [
    *((of([*SINGLE, *x], success=1), ONCE, "") for x in (["mean_field"], ["total_variation"], ["maximal"], ["n30"])),
    *((table, ONCE, f"ends with the entry '{label}'") for label, table in WITH_SUMS.items()),
    *((table, {**ONCE, "where": f"task != {label}"}, "") for label, table in WITH_SUMS.items()),
    (HNS, ONCE, "ends with the entry 'Median HNS'"),
    (HNS, {**ONCE, "where": NO_HNS}, ""),
    *((of([*t(20), "zusammen"], **total), ONCE, "those of all other rows together") for total in TOTALS),
    *((of([*t(20), "zusammen"], **total), {**ONCE, "where": "task != zusammen"}, "") for total in TOTALS),
    (of(WORDS), ONCE, ""),
    *(
        (
            of([*PAIRS, "t0x"], trial=[*[0, 1] * 30, x], success=1),
            {},
            f"entry '{x}', as a row has that sums up",
        )
        for x in ("mean", "avg", "best")
    ),
    (of([*PAIRS, *["total"] * 2], **ZERO_ONE), {}, "ends with the entry 'total'"),
    (of([*["total"] * 2, *PAIRS], **ZERO_ONE), {}, "(if its rows sum up others)"),
    (of([*SINGLE, "mean", "max"], trial=0, success=1), {}, "ends with the entry 'max'"),
    *((of([*ROOMS[0], x, *ROOMS[1]], **AT_ZERO), {}, f"(entry '{x}': if its rows sum up others)") for x in OF_A_ROOM),
    *((of([*ROOMS[0], x, *ROOMS[1]], **AT_ZERO), {"where": f"task != {x}"}, "") for x in OF_A_ROOM),
    *((of([*"abcdefg"], score=[*VALUES, x]), SCORE, "(if it sums them up, it is no task)") for x in LAST.values()),
    (of([*"abcdef"], score=VALUES), SCORE, ""),
    *((of(SINGLE, **{x: TENTHS}), {**ONCE, "value": x}, "if these are points") for x in ("rating", "stars", "score")),
    (of(TASKS * 2, trial=TRIAL * 2, **MEASURES), {"value": "value", "where": "metric = success"}, ""),
    (of(TASKS, frame_index=TRIAL, reward=1), ONCE, "steps are no trials"),
    (of(TASKS, attempt=TRIAL, success=WON, **ATTEMPTS), {}, ""),
    *(
        (of(TASKS, **{x: TRIAL}, success=1), {"trial": x}, "")
        for x in ("agent_run", "policy_rollout_id", "model_attempt")
    ),
    (of(TASKS, trial=TRIAL, run_policy=[*"aabbb"] * 40, success=1), {}, "differ in column 'run_policy'"),
    *((table, ONCE, "(parts of an episode apart)") for table in PARTS.values()),
    *((table, {"trial": name}, "") for name, table in PARTS.items()),
    *((of(TASKS, **{x: TRIAL}, success=WON), {"trial": x}, "steps are no trials") for x in STEPS),
    *((of(TASKS, **{x: TRIAL}, success=WON), {"trial": x}, "(seeds of a policy or of its training)") for x in SEEDS),
    *((of(TASKS, **{x: TRIAL}, success=WON), {"trial": x}, "") for x in ("seed", "env_seed", "epoch", "noise_seed")),
    (of(TASKS, **ALL, global_step=np.arange(200) // 5), {}, "moments of training by its name"),
    (of([*range(5)] * 3, successes=COPIES, trials=5), COUNTED, "(several rows with the same counts)"),
    (of([*range(5)] * 3, successes=OTHER, trials=5), COUNTED, ""),
    (of(SPARSE[0], trial=SPARSE[1], success=True), {}, "(tasks have at most 5 trials each, of 10 numbers from 0 to 9)"),
    (of([i % 2 for i in MISSING], trial=MISSING, success=True), {}, "(labels of trials go from 0 to 39 without 7, 8)"),
    *(
        (of(np.repeat(np.arange(26), len(at)), trial=[*at] * 26, success=True), {}, "(labels of trials go from 0 to)")
        for at in ((0, 1, 2, 4, 5), ("r0", "r1", "r3", "r4"))
    ),
    (of([f"task_{i:03}" for i in (0, 1, 2, 4, 5, 7)]), ONCE, "(go from 0 to 7 without 3, 6)"),
    *(
        (split((1, 2, 3), n, names=f"{x},task"), {"task": f"task,{x}"}, SPLIT)
        for x in ("camera", "layout")
        for n in (1, 3)
    ),
    *(
        (split((1, 2, 3), n, names=f"{x},task"), {"task": f"{x},task"}, SPLIT)
        for x in ("operator", "seed")
        for n in (1, 3)
    ),
    *((of(TASKS, **ALL, **PEOPLE), {"task": f"task,{name}"}, SPLIT) for name in PEOPLE),
    (split(("clean", "dark"), 3, "t{1}x", "suite,task"), {"task": "suite,task"}, SPLIT),
    *(
        (of(TASKS, **{x: NUMBERS_OF_RUNS}, success=WON), {"task": names, **ONCE}, SPLIT)
        for x in ("config", "video", "variant", "condition", "prompt", "scene", "instruction")
        for names in (f"task,{x}", f"{x},task")
    ),
    *((single_rows(names, label), {"task": names, **ONCE}, "") for names, label in SINGLE_ROWS),
    *((split((1, 2), 4, label, names), {"task": names}, "") for label, each in BOTH.items() for names in each),
    *((of(each), ONCE, "(if these tell policies)") for each in OF_EACH.values()),
    *((of(each), ONCE, "") for each in OF_SUITE.values()),
    *(
        (of(each, success=[True, False] * 3), ONCE, "(each row has a task of its own, and its label, ")
        for each in STAMPED
    ),
    *((of(each * 2, success=[True, False] * 6), ONCE, "") for each in STAMPED),
]


@pytest.mark.filterwarnings("ignore:.* are missing:UserWarning")
@pytest.mark.parametrize(("columns", "options", "said"), SAID)
def test_a_table_in_doubt(tmp_path, columns, options, said):
    pd.DataFrame(columns).to_csv(tmp_path / "t.csv", index=False)
    check_said(said, functools.partial(read_returns, tmp_path / "t.csv", **options))


def test_outcomes_that_count_up():
    """As a count so far, the best so far, or trials until the first success; in the order of their numbers."""
    rng = np.random.default_rng(0)
    single = rng.random((40, 6)) < 0.6
    numbers = {"task": np.repeat(np.arange(40), 6), "trial": np.tile(np.arange(6), 40)}
    frame, message = pd.DataFrame(numbers), "never fall from trial to trial of a task: if they count up"
    for so_far in (single.cumsum(1), np.maximum.accumulate(single, 1), np.maximum.accumulate(rng.random((40, 6)), 1)):
        with pytest.warns(UserWarning, match=message):
            from_frame(frame.assign(score=so_far.ravel()).sample(frac=1, random_state=0), trial="trial", value="score")
    with pytest.warns(UserWarning, match=message):
        from_frame(frame.assign(score=single.cumsum(1).ravel()), **SCORE)
    counts = frame.assign(successes=single.cumsum(1).ravel(), trials=numbers["trial"] + 1)
    with pytest.warns(UserWarning, match=message):
        from_frame(counts, **COUNTED)
    counts["successes"], counts["trials"] = 1 + single.ravel(), 3
    assert from_frame(counts, **COUNTED).counted
    for values in (single, np.sort(rng.random((40, 6)), 1)):  # sorted rows without numbers, as by their scores
        assert from_frame(frame[["task"]].assign(score=values.ravel()), **SCORE).returns.size == 240
