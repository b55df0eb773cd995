"""Files of LeRobot, tau-bench, tau2-bench and EvalPlus, written by their published fields."""

import copy
import itertools
import json
import warnings

import numpy as np
import pytest
from saved_files import refused
from tool_files import DROP, EVALPLUS, FILES, LEROBOT, TAU, TAU2, edited, written

from jaxcert.tables import read_returns


def test_lerobot(tmp_path):
    data = read_returns(written(tmp_path, LEROBOT))
    np.testing.assert_array_equal(data.returns, [[True, False], [True, True]])
    assert (data.returns.dtype, data.tasks.tolist()) == (bool, ["spatial/0", "spatial/1"])
    assert (data.fixed_list, data.known_support, data.unfinished) == (True, None, None)
    assert data.told == "read as a LeRobot evaluation: 2 tasks, 4 rollouts, value successes"
    assert data.columns == data.usual_columns == ("task_group/task_id", "trial", "successes")
    np.testing.assert_array_equal(read_returns(data.path, value="sum_rewards").returns, [[0.0, 2.5], [1.0, 2.5]])
    np.testing.assert_array_equal(read_returns(data.path, value="max_rewards").returns, [[1.0, 0.5], [1.0, 0.5]])


def test_tasks_with_other_numbers_of_episodes_are_told(tmp_path):
    fewer = {name: each[:1] for name, each in LEROBOT["per_task"][0]["metrics"].items()}
    few = edited(LEROBOT, "per_task", 0, "metrics", value=fewer)
    refused(written(tmp_path, few), "overall.n_episodes is 4, and 3 rollouts are listed")
    path = written(tmp_path, edited(few, "overall", "n_episodes", value=3))
    with pytest.warns(UserWarning, match="1 of 2 tasks have fewer than 2 rollouts"):
        data = read_returns(path)
    np.testing.assert_array_equal(data.where, [[True, False], [True, True]])
    refused(path, "1 of 2 tasks have fewer than 2 rollouts", strict=True)


def test_a_number_beside_lists_of_one_episode_is_that_of_the_episode(tmp_path):
    few = edited(LEROBOT, "overall", "n_episodes", value=2)
    for i in range(2):
        few = edited(
            few, "per_task", i, "metrics", value={"successes": [i == 1], "sum_rewards": 1.5, "max_rewards": [1]}
        )
    data = read_returns(written(tmp_path, few), value="sum_rewards")
    assert data.returns.tolist() == [[1.5], [1.5]]


def test_tau_bench(tmp_path):
    data = read_returns(written(tmp_path, TAU))
    np.testing.assert_array_equal(data.returns, [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert (data.returns.dtype, data.tasks.tolist(), data.known_support) == (np.float64, [0, 1, 2], (0.0, 1.0))
    assert data.told == "read as tau-bench results: 3 tasks, 6 rollouts, value reward"
    failed = edited(TAU, 1, "info", value={"error": "no connection", "traceback": ""})
    told = "3 tasks, 6 rollouts, value reward; 1 ended early, no connection (1)"
    assert read_returns(written(tmp_path, failed)).told == f"read as tau-bench results: {told}"
    won = edited(failed, 1, "reward", value=1.0)
    refused(written(tmp_path, won), "[1] has 1.0, and ended early (no connection); expected 0")
    for name in ("agent", "global_step"):
        two = edited(edited(TAU, 0, name, value="a"), 1, name, value="b")
        refused(written(tmp_path, two), f"holds several policies (a, b, None), by {name}; expected a file of each")


def test_tau2_bench(tmp_path):
    data = read_returns(written(tmp_path, TAU2))
    np.testing.assert_array_equal(data.returns, [[0.0, 1.0], [0.0, 1.0]])
    assert data.tasks.tolist() == ["0", "[mobile]on"]
    told = "2 tasks, 4 rollouts, value reward; 2 ended early, max_steps (2)"
    assert (data.told, data.known_support) == (f"read as tau2-bench results: {told}", (0.0, 1.0))
    for place, value, words in (
        (("simulations", 0, "reward_info", "reward"), 1.0, "simulations[0] has 1.0, and ended early (max_steps)"),
        (("tasks", 1, "id"), "0", "tasks.*.id lists a task twice"),
        (("info", "num_trials"), -2, "info.num_trials, -2, do not list"),
        (
            ("info", "num_trials"),
            1,
            "holds trial 1 of the task '0', which tasks.*.id and info.num_trials, 1, do not list",
        ),
    ):
        refused(written(tmp_path, edited(TAU2, *place, value=value)), words)


def test_a_solution_stands_under_its_own_problem(tmp_path):
    other = edited(EVALPLUS, "eval", "HumanEval/0", 1, "task_id", value="HumanEval/1")
    refused(written(tmp_path, other), "both are task_id HumanEval/1, trial 1; expected each pair once")


def test_simulations_that_were_lost_are_refused_or_count_as_the_worst(tmp_path):
    lost = edited(TAU2, "simulations", 3, "termination_reason", value="infrastructure_error")
    path = written(tmp_path, edited(lost, "simulations", 3, "reward_info", value=None))
    refused(path, "1 of 4 rollouts unfinished (ended by infrastructure_error), the first of them '[mobile]on', 1")
    data = read_returns(path, unfinished=0)
    np.testing.assert_array_equal(data.returns, [[0.0, 1.0], [0.0, 0.0]])
    assert (data.unfinished, data.num_unfinished) == (0, 1)
    assert "1 of 4 rollouts unfinished (ended by infrastructure_error), counted as 0; 2 ended early" in data.told


@pytest.mark.parametrize("place", range(4))
def test_simulations_that_are_not_there_are_noticed(tmp_path, place):
    """Not even one of a task that has none: the file lists its tasks."""
    path = written(tmp_path, edited(TAU2, "simulations", place, value=DROP))
    refused(path, "1 of 4 rollouts unfinished (not in the file)")
    data = read_returns(path, unfinished=0)
    assert (data.returns.shape, data.where, data.num_unfinished) == ((2, 2), None, 1)
    alone = edited(TAU2, "simulations", value=TAU2["simulations"][::2])
    assert read_returns(written(tmp_path, alone), unfinished=0).returns.tolist() == [[0.0, 1.0], [0.0, 0.0]]


def test_evalplus(tmp_path):
    """By its definition a solution passes the plus tests only if it passes the base tests, too."""
    data = read_returns(written(tmp_path, EVALPLUS))
    np.testing.assert_array_equal(data.returns, [[True, False], [False, False]])
    assert (data.columns.value, data.tasks.tolist()) == ("plus", ["HumanEval/0", "HumanEval/1"])
    assert data.told == "read as EvalPlus results: 2 tasks, 4 rollouts, value plus"
    np.testing.assert_array_equal(read_returns(data.path, value="base").returns, [[True, False], [True, False]])
    for problem in EVALPLUS["eval"]:
        assert all(solution["plus_status"] is not None for solution in EVALPLUS["eval"][problem])


def test_evalplus_of_base_tests_alone(tmp_path):
    document = copy.deepcopy(EVALPLUS)
    for solution in (each for problem in document["eval"].values() for each in problem):
        solution["plus_status"] = None
    path = written(tmp_path, document)
    assert read_returns(path).columns.value == "base"
    refused(path, "has no value 'plus'; found 'base'", value="plus")
    mixed = edited(document, "eval", "HumanEval/1", 1, "plus_status", value="pass")
    refused(
        written(tmp_path, mixed), "3 of 4 rollouts unfinished (without a score), the first of them 'HumanEval/0', 0"
    )


MANY, UNFINISHED = "expected as many of each, one or more", "1 of {} rollouts unfinished (without a score)"
CHANGED = {
    "lerobot": [
        (("per_task",), DROP, "is of no known tool and no array of objects"),
        (("per_task", 1, "task_group"), DROP, "per_task[1].task_group is empty, expected a whole number or a text"),
        (("per_task", 1, "task_id"), True, "per_task[1].task_id is True, expected a whole number or a text"),
        (("per_task", 1, "task_id"), 0, "rows 1 and 3 both are task_group/task_id spatial/0, trial 0"),
        (
            ("per_task", 1, "metrics", "successes"),
            DROP,
            f"per_task[1] has 1 successes, 2 sum_rewards, 2 max_rewards; {MANY}",
        ),
        (("per_task", 1, "metrics", "successes", 0), "1", "expected true or false"),
        (("per_task", 0, "metrics", "max_rewards"), "1", "2 sum_rewards, 1 max_rewards"),
        *((("per_task",), none, "per_task is empty; expected records") for none in ([], {})),
    ],
    "tau": [
        *(((2, "reward"), none, UNFINISHED.format(6)) for none in (DROP, None, float("nan"))),
        *(((2, "reward"), x, "at reward; expected a number from 0 to 1") for x in (True, 1.5, -1, 10**400, "1")),
        ((2, "trial"), 1, "both are task_id 2, trial 1; expected each pair once"),
        ((2, "trial"), None, "[2].trial is empty, expected a whole number or a text"),
        ((2, "task_id"), None, "[2].task_id is empty, expected a whole number or a text"),
        ((2, "task_id"), [2], "[2].task_id is a list, expected a whole number or a text"),
    ],
    "tau2": [
        (("info", "num_trials"), DROP, "info has no field 'num_trials'"),
        (("info", "num_trials"), 10**9, "asks for 2 x 1000000000 rollouts; expected at most 10000000"),
        (("simulations", 1, "trial"), None, "simulations[1].trial is empty, expected a whole number"),
        (("simulations", 1, "trial"), 1, "both are task_id [mobile]on, trial 1"),
        (("simulations", 1, "termination_reason"), DROP, "has no field 'termination_reason'"),
        (("simulations", 1, "reward_info"), 0.5, UNFINISHED.format(4)),
        (
            ("simulations", 1, "reward_info", "reward"),
            "1",
            "has '1' at reward_info.reward; expected a number from 0 to",
        ),
        (("simulations",), DROP, "the file has no field 'simulations'; found 'timestamp', 'info', 'tasks'"),
    ],
    "evalplus": [
        (("eval", "HumanEval/1"), {"nfiles": 1, "base": [], "plus": []}, "is empty, expected a whole number or a text"),
        *(
            (("eval", "HumanEval/1", 0, "base_status"), x, "status; expected pass, fail, timeout")
            for x in ("crash", True)
        ),
        (("eval", "HumanEval/1", 0, "plus_status"), DROP, UNFINISHED.format(4)),
        (("eval", "HumanEval/1"), [], "eval.HumanEval/1 is empty; expected records"),
        (("eval",), {}, "eval is empty; expected records"),
    ],
}


@pytest.mark.parametrize(
    ("name", "keys", "value", "part"), [(name, *each) for name, cases in CHANGED.items() for each in cases]
)
def test_a_file_that_changed_is_refused_with_the_place(tmp_path, name, keys, value, part):
    """The unchanged file is read, so that each refusal is of the change."""
    read_returns(written(tmp_path, FILES[name], "good.json"))
    refused(written(tmp_path, edited(FILES[name], *keys, value=value)), part)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_cut_is_refused(tmp_path, name):
    text = json.dumps(FILES[name])
    for length in (1, len(text) // 3, len(text) - 1):
        path = tmp_path / "cut.json"
        path.write_text(text[:length])
        refused(path, "cannot be read as JSON, damaged or cut short")


@pytest.mark.parametrize("name", FILES)
def test_the_content_decides_and_not_the_name(tmp_path, name):
    wanted = read_returns(written(tmp_path, FILES[name]))
    for other in ("results", "results.txt", "results.csv", "results.npz"):
        np.testing.assert_array_equal(read_returns(written(tmp_path, FILES[name], other)).returns, wanted.returns)


@pytest.mark.parametrize(
    ("name", "keys"),
    [("lerobot", ("per_task", 1)), ("tau", (2, "info")), ("tau2", ("simulations", 1))]
    + [("evalplus", ("eval", "HumanEval/1", 0))],
)
def test_what_is_none_of_the_tools_fields_is_named(tmp_path, name, keys):
    data = read_returns(written(tmp_path, FILES[name]))
    assert (data.unread, data.constant) == ((), {})
    found = read_returns(written(tmp_path, edited(FILES[name], *keys, "net", value="b")))
    assert [each.split(".")[-1] for each in found.unread] == ["net"]


@pytest.mark.parametrize("name", FILES)
def test_names_are_those_of_the_tool(tmp_path, name):
    path = written(tmp_path, FILES[name])
    data = read_returns(path)
    again = read_returns(path, **data.columns._asdict())
    np.testing.assert_array_equal(again.returns, data.returns)
    refused(path, f"has each task under {data.columns.task!r}; expected no other name, 'world'", task="world")
    refused(path, f"has each trial under {data.columns.trial!r}; expected no other name, None", trial=None)
    refused(path, "has no value 'points'; found", value="points")


def test_what_unfinished_rollouts_count_as_is_the_worst_return(tmp_path):
    """Whatever the finished ones returned: here all of them succeeded."""
    path = written(tmp_path, edited(TAU2, "simulations", 0, value=DROP))
    won = edited(TAU2, "simulations", value=[x for x in TAU2["simulations"] if x["reward_info"]["reward"] == 1])
    for wrong in (1.0, 0.5, -1.0, float("nan"), float("inf")):
        message = f"unfinished is {wrong:g}; expected 0, the worst return that is possible"
        refused(path, message, unfinished=wrong)
        refused(written(tmp_path, won, "won.json"), message, unfinished=wrong)
    np.savez(tmp_path / "own.npz", returns=np.ones((2, 2)))
    refused(tmp_path / "own.npz", "unfinished is 0; expected None", unfinished=0)


def test_a_byte_order_mark_and_blanks_do_not_count(tmp_path):
    path = tmp_path / "file.json"
    path.write_bytes(b"\xef\xbb\xbf\n  " + json.dumps(TAU).encode())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_returns(path).returns.shape == (3, 2)


def places(document, at=()):
    """The keys of every value in a document."""
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in inner:
        yield (*at, key)
        yield from places(value, (*at, key))


JUNK = [DROP, None, True, -1, 0.5, float("nan"), 1e400, 10**400, "", "x", [], [[]], {}, {"a": 1}]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", FILES)
def test_junk_anywhere_is_refused_in_words_or_changes_no_task(tmp_path, name):
    wanted = read_returns(written(tmp_path, FILES[name]))
    kept = set(wanted.tasks.tolist())
    for keys, junk in itertools.product(places(FILES[name]), JUNK):
        path = written(tmp_path, edited(FILES[name], *keys, value=junk))
        try:
            found = read_returns(path)
        except ValueError:
            continue
        if not {"task_id", "task_group"} & {*map(str, keys)}:  # another name of a task is no damage
            assert set(found.tasks.tolist()) <= kept
