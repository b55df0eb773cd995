"""Names of policies, versions and moments in each role: tasks, parts of labels, trials, paths, JSON and an index."""

import functools
import json
import re

import pandas as pd
import pytest

from jaxcert.tables import from_frame, from_lists, read_returns


def written(path, **columns):
    path.parent.mkdir(exist_ok=True)
    pd.DataFrame(columns).to_csv(path, index=False)


@pytest.mark.parametrize("names", ["10000 20000", "eval_10000 eval_20000", "10k 20k", "0.5M 1M", "100 200"])
def test_two_trials_that_number_moments_are_asked_about(tmp_path, names):
    for task in range(12):
        for i, name in enumerate(names.split()):
            written(tmp_path / f"t{task}x" / f"{name}.csv", success=[True, (task + i) % 3 > 0])
    frame = pd.DataFrame(
        [(f"t{i}x", name, i % 3 > 0) for i in range(12) for name in names.split()], columns=["task", "trial", "success"]
    )
    for read in (
        functools.partial(read_returns, tmp_path, task="{task}/*.csv", trial=None),
        functools.partial(from_frame, frame),
    ):
        with pytest.raises(ValueError, match=r"labels of trials are such as|in column 'trial', of few entries"):
            read(strict=True)


NAMED = "which by its name are policies, versions, conditions, seeds of training or moments"
JOINED = "trials of one task are wrongly counted as separate tasks"


@pytest.mark.parametrize(
    "name", ["checkpoint", "policy", "model_id", "policy_type", "variant", "version", "train_seed", "t", "turn"]
)
def test_labels_named_after_policies_are_asked_about(tmp_path, name):
    frame = pd.DataFrame({name: [f"x{i:02}y" for i in range(12) for _ in range(5)], "success": [*[True] * 59, False]})
    for task in (name, f"room,{name}"):
        with pytest.raises(ValueError, match=NAMED):
            from_frame(frame.assign(room="kitchen"), task=task, trial=None, strict=True)
    with pytest.raises(ValueError, match=NAMED):
        from_frame(
            frame.assign(task=[f"{x}{i % 2}z" for i, x in enumerate(frame[name])]), strata=name, trial=None, strict=True
        )
    for row in range(12):
        written(tmp_path / f"{name}_{row}" / "r.csv", success=[True, row > 3])
    if name != "train_seed":  # a seed may number levels
        with pytest.raises(ValueError, match=NAMED):
            read_returns(tmp_path, task=f"{name}_{{task}}/r.csv", trial=None, strict=True)


# Two columns as task, their entries, and what is asked.
PARTS_OF_LABELS = [
    ("task,run", [(f"p{i}x", f"r{i}-{j}") for i in range(20) for j in range(2)], JOINED),
    ("task,session", [(f"p{i}x", f"r{i}-{j}") for i in range(20) for j in range(2)], JOINED),
    ("task,day", [(f"p{i}x", f"d{(3 * i + 4 * j) % 10}") for i in range(20) for j in range(2)], JOINED),
    ("suite,task_id", [(f"p{i}x", f"r{i}-{j}") for i in range(20) for j in range(2)], ""),
    ("env,level_seed", [(f"p{i}x", 2 * i + j) for i in range(20) for j in range(2)], ""),
    ("task,policy", [(f"p{i}x", p) for p, n in (("pi0", 20), ("act", 8)) for i in range(n)], NAMED),
    ("task,seed_of_training", [(f"p{i}x", p) for p, n in (("1", 20), ("2", 8)) for i in range(n)], NAMED),
]


@pytest.mark.parametrize(("names", "pairs", "said"), PARTS_OF_LABELS, ids=[each[0] for each in PARTS_OF_LABELS])
def test_parts_of_a_label_are_looked_at(names, pairs, said):
    rows = [(*pair, j, (i + j) % 4 > 0) for i, pair in enumerate(pairs) for j in range(3)]
    frame = pd.DataFrame(rows, columns=[*names.split(","), "trial", "success"])
    if not said:
        assert len(from_frame(frame, task=names, trial="trial", strict=True).tasks) == len(pairs)
        return
    with pytest.raises(ValueError, match=said):
        from_frame(frame, task=names, trial="trial", strict=True)


@pytest.mark.parametrize(
    ("name", "proposed"),
    [
        ("policy", ""),
        ("checkpoint", ""),
        ("policy_type", ""),
        ("prompt", ""),
        ("category", "both columns as task"),
        ("turn", ""),
        ("session", "both as task, where the other numbers tasks of its own"),
    ],
)
def test_policies_are_not_proposed_as_parts_of_a_label(name, proposed):
    kinds = [("pick", "a"), ("pick", "b"), ("push", "a"), ("pull", "b")]
    rows = [(*kind, j, True) for kind in kinds for j in range(3)]
    with pytest.raises(ValueError, match=f"differ in .*{name}") as caught:
        from_frame(pd.DataFrame(rows, columns=["task", name, "trial", "success"]), trial="trial")
    assert proposed in str(caught.value)
    assert bool(re.search("both( columns)? as task", str(caught.value))) == bool(proposed)


def test_levels_of_an_index_are_columns():
    one, other = (pd.DataFrame({"task": [*"abcdef"] * 2, "success": [*[True] * 11, x]}) for x in (True, False))
    both = pd.concat({"pi0": one, "act": other}, names=["policy"])
    for frame in (both, both.reset_index(level=1, drop=True), pd.concat({"x": one, "y": other})):
        with pytest.raises(ValueError, match="rows of the same task differ in column"):
            from_frame(frame, trial=None, strict=True)
    assert len(from_frame(both, trial=None, policy="policy", only="act").tasks) == 6


@pytest.mark.parametrize(
    ("labels", "said"),
    [("pi0/t0 pi0/t1 act/t0 act/t1", "such as"), ("ckpt_1 ckpt_2 ckpt_3", "such as"), ("a b mean", "sums")],
)
def test_labels_of_lists_are_looked_at(labels, said):
    with pytest.raises(ValueError, match=said):
        from_lists({label: [0.5, 1.0] for label in labels.split()}, strict=True)


def at_places(steps, *counts):
    """JSON with records at a path, whose stars have so many entries; the last number is that of a list for no star."""
    if not steps:
        return [{"success": i not in (3, 7, 8)} for i in range(*counts)] if counts else {"success": True}
    if steps[0] == "*":
        return {f"x{i}y": at_places(steps[1:], *counts[1:]) for i in range(counts[0])}
    return {steps[0]: at_places(steps[1:], *counts)}


@pytest.mark.parametrize(
    ("records", "roles", "said"),
    [
        ("policies.*.tasks.*", {"task": "$2", "trial": "$1"}, "differ in column"),
        ("checkpoints.*.tasks.*", {"task": "$1", "trial": "$2"}, NAMED),
        ("checkpoints.*.tasks.*", {"task": "$1,$2", "trial": None}, NAMED),
        ("*.*", {"task": "$1,$2", "trial": None}, JOINED),
        ("metrics.*.tasks.*", {"task": "$2", "trial": "$1"}, "differ in column"),
        ("tasks.*.steps", {"task": "$1", "trial": None}, NAMED),
        ("tasks.*.steps.*", {"task": "$1", "trial": "$2"}, "differ in column"),
        ("seeds.*.tasks.*", {"task": "$2", "trial": "$1"}, ""),
        ("tasks.*.trials", {"task": "$1", "trial": None}, ""),
    ],
)
def test_places_of_records_are_looked_at_by_the_names_before_them(tmp_path, records, roles, said):
    (tmp_path / "r.json").write_text(json.dumps(at_places(records.split("."), 4, 12)))
    if not said:
        assert read_returns(tmp_path / "r.json", records=records, strict=True, **roles).returns.size == 48
        return
    with pytest.raises(ValueError, match=said):
        read_returns(tmp_path / "r.json", records=records, strict=True, **roles)
