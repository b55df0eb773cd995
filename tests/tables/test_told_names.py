"""What names and entries of columns tell, in tables of cases: each is asked about or refused, its neighbours not."""

import contextlib
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_harness import command, refused

import jaxcert
from jaxcert import from_frame
from jaxcert.tables import read_summary
from jaxcert.tables._doubts import DOUBTS, WORDS, data_of

ASK = ("--threshold", 0.5, "--delta", 0.1)
SOME = np.arange(200) % 3 == 0
WON = np.random.default_rng(0).random(200) < 0.8


def frame_of(**columns):
    return pd.DataFrame({"task": [f"t{i // 5}x" for i in range(200)], "success": WON, **columns})


HELP = "trials aside"
DIFFER = "rows of the same task differ in column"
# Columns beside tasks and outcomes, and what is said of them; nothing of those that stand first and have no message.
CASES = {
    "": [
        *(
            {"split": each}
            for each in ("test", np.repeat(["dev", "eval"], 100), "unseen", "training distribution", "not for training")
        ),
        *({"is_train": 0}, {"seen_in_training": False}, {"held_out": 1}, {"train_seed": 1}, {"seen": 7}),
        *({"task": [f"{each}_{i // 5}x" for i in range(200)]} for each in ("test", "restrain")),
        *({"object": np.repeat(["train", "car"], 100)}, {"selected": np.repeat([0, 1], 100)}, {"selected": 0}),
        *({"ours": True}, {"is_new": 0}, {"quant": np.arange(200) % 7}, {"new_object": SOME}),
        *({"notes": each} for each in ("no help", "without assistance", "")),
        *({"video": [f"/home/human/{i}.mp4" for i in range(200)]}, {"instruction": "help the human"}),
        *({"command": [f"eval --seed {i} --out v{i}.mp4" for i in range(200)]}, {"link": "a.org/?x=1&y=2"}),
        *({"rewards": [[0, 0, 1]] * 200}, {"messages": [["a", "b"]] * 200}, {"trajectory": [[0, 1]] * 200}),
    ],
    HELP: [
        *({each: SOME} for each in ("Eingriff", "surgeon_assist", "doctor_override", "manual_correction")),
    ],
    DIFFER: [
        {"cmd": [f"python eval.py --ckpt {'ab'[i % 2]}.pt --seed {i}" for i in range(200)]},
        {"overrides": [f"seed={i} policy={'ab'[i % 2]}" for i in range(200)]},
        {"info": [json.dumps({"model": "ab"[i % 2], "i": i}) for i in range(200)]},
    ],
}


@pytest.mark.parametrize(("said", "columns"), [(said, each) for said, cases in CASES.items() for each in cases])
def test_a_column_tells(said, columns):
    frame = frame_of(**columns)
    if not said:
        assert len(from_frame(frame, trial=None, strict=True).tasks) == 40
        return
    with pytest.raises(ValueError, match=said):
        from_frame(frame, trial=None, strict=True)
    if said != DIFFER:
        with pytest.warns(UserWarning, match=said):
            from_frame(frame, trial=None)


@pytest.mark.parametrize(("said", "columns"), [(said, each) for said, cases in CASES.items() for each in cases])
def test_a_column_tells_in_a_folder_as_in_a_single_table(tmp_path, said, columns):
    frame_of(**columns).to_parquet(tmp_path / "0.parquet", index=False)
    with pytest.raises(ValueError, match=said) if said else contextlib.nullcontext():
        read_summary(tmp_path, strict=True)


FAILURES = """
    incorrect not_solved unsolved stuck dropped died broken oom timeouts Fehler fehlgeschlagen echec fallo misclassified
    nicht_bestanden derailed hallucinated is_wrong lost non_compliant not_done not-safe missed_grasp
    failed no_failures no_of_failure no_success no_solved aborted cancelled abandoned interrupted diverged infeasible
"""
SUCCESSES = """
    no_collision not_stuck not_dropped collision_free error_free no_timeout success_no_error solved_without_help
    lossless flagged refusal not_failed no_help_success non-error noError
"""


@pytest.mark.parametrize("name", [*FAILURES.split(), *SUCCESSES.split()])
def test_a_name_of_failures_is_no_success(tmp_path, name):
    path = tmp_path / "t.csv"
    frame_of(**{name: WON.astype(int), "trial": np.arange(200) % 5}).drop(columns="success").to_csv(path, index=False)
    asked = ("certify", path, *ASK, "--value", name)
    if name in FAILURES.split():
        assert "is named after failures" in refused(*asked)
        frame = frame_of(**{name: np.linspace(0, 1, 200)}).drop(columns="success")
        with pytest.warns(UserWarning, match="is a cost by its name"):
            from_frame(frame, trial=None, value=name)
    else:
        assert command(*asked, "--strict").status == 0


@pytest.mark.parametrize(
    "name",
    ["overshoot", "makespan", "fid", "nll", "brier", "toxicity", "miss_rate", "out_of_bounds", "human_takeovers"]
    + ["ep_cost", "error_cm", "rmse", "time_to_success", "num_crashes"],
)
def test_costs_are_told(name):
    frame = frame_of(**{name: np.linspace(0, 1, 200)}).drop(columns="success")
    with pytest.warns(UserWarning, match="is a cost by its name.*negate it"):
        from_frame(frame, trial=None, value=name)


COST, ATTEMPTS, PARTS = "is a cost by its name", "of several attempts each", "what one trial has several of"
# Columns of outcomes, or of successes and trials, and what is said of their names.
ROLES = {
    COST: "exit_code exitcode returncode exit_status rc errno killed rejected collisions/trials num_crashes/episodes",
    ATTEMPTS: "pass@5 maj@8 best_of_8 pass^4 success_at_k maj@8/n",
    PARTS: "won/num_steps won/tests_total won/subgoals won/num_tests subgoals_done/total",
    "": "pass@1 pass_at_1 no_collision/trials collision_free/trials won/test_episodes won/n no_crash/rollouts acc,none",
}


@pytest.mark.parametrize(("said", "names"), [(said, each) for said, names in ROLES.items() for each in names.split()])
def test_each_name_in_a_role_of_outcomes_is_looked_at(tmp_path, said, names):
    name, count = [*names.split("/"), ""][:2]
    columns = {"task": [f"t{i}x" for i in range(200)], name: WON * 1 + 9 * bool(count)} | ({count: 10} if count else {})
    pd.DataFrame(columns).to_csv(tmp_path / "t.csv", index=False)
    roles = ("--successes", name, "--trials", count) if count else ("--value", name)
    asked = ("certify", tmp_path / "t.csv", *ASK, *roles)
    if not said:
        assert command(*asked, "--strict").status == 0
        return
    assert said in refused(*asked, "--strict")
    assert said in command(*asked).err


@pytest.mark.parametrize("name", ["subgoals", "subtasks_done", "checks_passed"])
def test_parts_of_a_trial_that_are_written_as_counts_are_told(tmp_path, name):
    pd.DataFrame({"task": [f"t{i}x" for i in range(40)], name: ["3/5", "5/5"] * 20}).to_csv(tmp_path / "t.csv")
    assert PARTS in refused("certify", tmp_path / "t.csv", *ASK, "--value", name, "--strict")


def test_policies_that_differ_in_spelling_are_asked_about(tmp_path):
    """Not once for each of them, and by who reads one of them, too."""
    path = tmp_path / "t.csv"
    frames = [frame_of(policy=name, trial=np.arange(200) % 5) for name in ("pi0", "Pi0", "act")]
    pd.concat(frames).to_csv(path, index=False)
    words = "column policy holds 'pi0' and 'Pi0': if they are one policy, it is taken for two"
    assert command("compare", path, "--policy", "policy", "--delta", 0.1).err.count(words) == 1
    assert words in refused("certify", path, *ASK, "--policy", "policy", "--only", "act", "--strict")


SAME = [
    *(("top_left", "topleft"), ("PickMug", "pick_mug"), ("PickMug-v1", "pick-mug-v1"), ("caf\u00e9", "cafe")),
    *(("a\\b", "a/b"), ("mug (red)", "mug red"), ("push/", "push"), ("c\u0443p", "cyp"), ("\u03a1ush", "push")),
    *(("e-mail", "email"), ("mug[red]", "mug, red"), ("\u0967 mug", "1 mug"), ("\u0131n", "in")),
]
OTHER = [
    *(("1_2", "12"), ("t1_2", "t12"), ("1:2", "12"), ("f(1)2", "f12"), ("a<b", "a>b"), ("C#", "C")),
    *(("a+b", "a-b"), ("\u0438\u043b\u0438", "\u0435\u043b\u0438"), ("x2(3)", "x23"), ("mug_a", "mug_b")),
]


@pytest.mark.parametrize(("one", "other"), SAME + OTHER)
def test_labels_that_look_alike_are_asked_about(one, other):
    frame = pd.DataFrame({"task": [one, other, "zebra"], "success": [True, False, True]})
    if (one, other) in SAME:
        with pytest.warns(UserWarning, match="if they are one task, it is counted twice"):
            from_frame(frame, trial=None)
    else:
        assert len(from_frame(frame, trial=None, strict=True).tasks) == 3


def test_each_doubt_that_is_said_is_found_by_a_function_or_told():
    """And no word of the vocabulary refers to nothing."""
    source = "".join(path.read_text() for path in Path(jaxcert.tables.__file__).parent.rglob("*.py"))
    found = {*re.findall(r"^def (\w+)\(it: ", source, re.MULTILINE), *re.findall(r'tell\(\s*"(\w+)"', source)}
    assert {*DOUBTS} <= found
    assert {*re.findall(r"\bWORDS\.(\w+)", source)} <= {*vars(WORDS)}
    named = {*re.findall(r"\bWORDS\.(\w+)", source), *re.findall(r"@(\w+)", data_of("vocabulary.toml").__repr__())}
    of_roles = {f"{each}_{role}" for each in ("beside_roles", "other_names") for role in ("task", "trial", "value")}
    assert {*vars(WORDS)} - named <= of_roles
