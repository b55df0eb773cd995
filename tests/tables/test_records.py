"""Tables as JSON Lines, as an array of objects and as Arrow; rows that count trials; names that are read unnamed."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from saved_files import parquet, refused, saved

from jaxcert import from_frame, read_returns

ROWS = [{"task": t, "trial": i, "success": bool((t + i) % 3)} for t in range(4) for i in range(5)]
WANTED = [[bool((t + i) % 3) for i in range(5)] for t in range(4)]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def of_texts(mark):
    return "\n".join(mark.join(map(str, row)) for row in [ROWS[0], *(row.values() for row in ROWS)]) + "\n"


TABLES = {"jsonl": lines(ROWS), "ndjson": lines(ROWS), "json": json.dumps(ROWS)}
TABLES |= {kind: of_texts(mark) for kind, mark in (("csv", ","), ("tsv", "\t"))}


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("kind", [*TABLES, "arrow", "feather", "parquet"])
def test_the_same_rows_in_every_kind_of_file(tmp_path, kind, packed):
    path, table = tmp_path / f"r.{kind}{'.gz' * packed}", pa.Table.from_pylist(ROWS)
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind not in TABLES:
        feather.write_feather(table, path, "uncompressed")
    else:
        content = TABLES[kind].encode()
        path.write_bytes(gzip.compress(content) if packed else content)
    if packed and kind not in TABLES:
        refused(path, "suffix '.gz', expected one of .npz")
        return
    found = read_returns(path)
    assert found.returns.dtype == bool
    np.testing.assert_array_equal(found.returns, WANTED)
    assert found.columns == ("task", "trial", "success")


def test_fields_that_are_not_read_may_hold_anything(tmp_path):
    extra = [["a"], "text", {"b": [1]}, None, 3, [{"role": "user", "content": ["x"]}]]
    rows = [row | {"transcript": extra[i % 6], "more": {}} for i, row in enumerate(ROWS)]
    np.testing.assert_array_equal(read_returns(saved(tmp_path, "r.jsonl", lines(rows))).returns, WANTED)
    refused(
        saved(tmp_path, "r.jsonl", lines(rows)), "field transcript holds lists, objects or several", task="transcript"
    )


def test_policies_in_nested_fields_are_not_pooled(tmp_path):
    rows = [row | {"config": {"model": "ab"[i % 2]}} for i, row in enumerate(ROWS)]
    refused(saved(tmp_path, "r.jsonl", lines(rows)), "rows of the same task differ in column 'config'")
    rows = [row | {"config": {"model": "a"}} for row in ROWS]
    np.testing.assert_array_equal(read_returns(saved(tmp_path, "r.jsonl", lines(rows))).returns, WANTED)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"task": 0, "score": 1}\n{"task": 1, "score"', "damaged or cut short"),
        ('{"task": 0, "score": 1}\n[1]\n', "expected an object in each line"),
        ('{"task": 0, "task": 1, "score": 1}\n', "damaged or cut short"),
        ('{"task": 0, "score": NaN}\n', "row 1: score is nan"),
        ('{"task": 0, "score": 1}\n{"task": 1, "score": null}\n', "row 2: score is empty"),
        ('{"task": 0, "score": 1}\n{"task": 1}\n', "row 2: score is empty"),
        ('{"task": 0, "score": 1}\n{"task": "1", "score": 1}\n', "field task holds lists, objects or several kinds"),
        ("\n", "has no column"),
    ],
)
def test_bad_lines_are_named(tmp_path, text, part):
    refused(saved(tmp_path, "r.jsonl", text), part, trial=None)


def test_kinds_are_those_of_all_lines(tmp_path):
    """A fraction, or a text among numbers, may come after the lines that say which fields there are."""
    rows = [{"task": i, "score": 0} for i in range(2500)]
    rows[2000]["score"] = 0.5
    found = read_returns(saved(tmp_path, "r.jsonl", lines(rows)), trial=None)
    assert found.returns[2000, 0] == 0.5
    rows[2000]["score"] = "0.5"
    refused(saved(tmp_path, "r.jsonl", lines(rows)), "field score holds lists, objects or several", trial=None)


def test_a_row_counts_trials(tmp_path):
    path = saved(tmp_path, "r.csv", "task,result\na,3/5\nb, 0 / 5\nc,5/5\n")
    found = read_returns(path, trial=None)
    assert found.returns.dtype == bool
    np.testing.assert_array_equal(found.returns.sum(axis=1), [3, 0, 5])
    assert found.returns.shape == (3, 5)
    np.testing.assert_array_equal(found.rows[:, 0], [1, 2, 3])
    path = saved(tmp_path, "two.csv", "task,run,result\na,0,3/5\nb,0,1/5\na,1,1/2\nb,1,2/2\n")
    with pytest.warns(UserWarning, match="if a row is one trial with points as its entry"):
        two = read_returns(path)
    np.testing.assert_array_equal(two.returns.sum(axis=1), [4, 3])
    for entry in ("6/5", "0/0", "x", "1", "1/2/3", "-1/5"):
        refused(saved(tmp_path, "bad.csv", f"task,result\na,3/5\nb,{entry}\n"), "row 2: result is", "31/50", trial=None)
    refused(saved(tmp_path, "many.csv", "task,result\na,1/999999999\n"), "counts 999999999 trials", trial=None)


NAMES = ["Task,Trial,Success", "TASK,episode_id,PASSED", "task_id,rollout,score", "task,attempt,return"]
NAMES += [f"{task},rep,score" for task in ("instance_id", "example_id", "doc_id", "problem", "env", "Scenario")]
NAMES += [f"task,episode,{value}" for value in ("pass", "resolved", "solved", "reward", "exact_match", "success")]


@pytest.mark.parametrize("names", NAMES)
def test_well_known_names_are_read_unnamed(tmp_path, names):
    rows = "".join(f"{i // 2},{i % 2},0.5\n" for i in range(6))
    found = read_returns(saved(tmp_path, "r.csv", f"{names}\n{rows}"))
    assert found.columns == found.usual_columns == tuple(names.split(","))
    assert found.returns.tolist() == [[0.5, 0.5]] * 3


def test_two_names_that_could_be_meant_are_a_question(tmp_path):
    path = saved(tmp_path, "r.csv", "example_id,task,reward\n0,default,1\n1,default,0\n")
    refused(path, "'example_id' and 'task'; expected one of these by name", trial=None)
    assert read_returns(path, task="example_id", trial=None).returns.shape == (2, 1)
    path = saved(tmp_path, "r.csv", "task,success,reward\n0,1,0.5\n1,0,0.25\n")
    refused(path, "'success' and 'reward'; expected one of these by name", trial=None)


def test_the_order_of_counted_trials_says_nothing(tmp_path):
    """The first trial of a task is a success in the share of its successes, whatever that is; equal counts differ."""
    path = saved(tmp_path, "r.csv", "task,result\n" + "".join(f"{i},{1 + i % 3}/4\n" for i in range(3000)))
    found = read_returns(path, trial=None).returns
    for successes in (1, 2, 3):
        own = found[successes - 1 :: 3]
        assert np.all(own.sum(axis=1) == successes)
        np.testing.assert_allclose(own.mean(axis=0), successes / 4, atol=0.07)  # 4.5 standard deviations
    np.testing.assert_array_equal(found, read_returns(path, trial=None).returns)


@pytest.mark.parametrize("names", [("successes", "trials"), ("won", "played")])
def test_successes_and_trials_may_be_two_columns(tmp_path, names):
    rows = [("a", 3, 5), ("b", 0, 5), ("c", 5, 5)]
    value = {} if names == ("successes", "trials") else {"successes": "won", "trials": "played"}
    table = {"task": [row[0] for row in rows], names[0]: [row[1] for row in rows], names[1]: [row[2] for row in rows]}
    text = "\n".join([",".join(table), *(",".join(map(str, row)) for row in rows), ""])
    lists = lines([dict(zip(table, row, strict=True)) for row in rows])
    expected = read_returns(saved(tmp_path, "one.csv", "task,result\na,3/5\nb,0/5\nc,5/5\n"), trial=None).returns
    contents = {"r.csv": text, "s.csv": text.replace(",", ";"), "r.jsonl": lists, "r.parquet": parquet(table)}
    found = [read_returns(saved(tmp_path, *each), trial=None, **value) for each in contents.items()]
    for each in (*found, from_frame(pa.table(table), trial=None, **value)):
        np.testing.assert_array_equal(each.returns, expected)
    assert found[0].columns.value == "/".join(names)
    for wrong in ("6,5", "1,0", ",5", "x,5", "1.5,5"):
        refused(saved(tmp_path, "r.csv", f"{text}d,{wrong}\n"), "row 4: ", "such as 31/50", trial=None, **value)


def test_a_field_that_comes_late_is_seen(tmp_path):
    """As where the lines of a second policy were appended."""
    rows = [{"task": t, "trial": i, "score": 1} | ({"arm": "b"} if i else {}) for i in range(2) for t in range(1500)]
    refused(saved(tmp_path, "r.jsonl", lines(rows)), "rows of the same task differ in column 'arm'")
    mixed = [row | {"prompt text": ["a"] if i % 2 else "a"} for i, row in enumerate(rows)]
    refused(saved(tmp_path, "r.jsonl", lines(mixed)), "rows of the same task differ in column 'arm'")


def test_counts_beside_a_score_are_a_question(tmp_path):
    path = saved(tmp_path, "r.csv", "task,successes,trials,score\na,1,2,0.5\nb,2,2,1\n")
    refused(path, "'score' and 'successes/trials'; expected one of these by name", trial=None)
    assert read_returns(path, trial=None, value="score").returns.shape == (2, 1)
    assert (
        read_returns(path, trial=None, successes="successes", trials="trials").returns.tolist().count([True, True]) == 1
    )


def test_policies_in_the_column_of_trials_are_warned_of(tmp_path):
    rows = "".join(f"{task},{name},pass\n" for task in range(6) for name in ("claude", "gpt4", "llama"))
    for column in ("attempt", "run"):
        path = saved(tmp_path, "r.csv", f"task,{column},solved\n{rows}")
        with pytest.warns(UserWarning, match=f"rows of the same task differ in column '{column}', of few entries"):
            read_returns(path)
        refused(path, f"differ in column '{column}', of few entries", strict=True)
    numbered = "".join(f"{task},r{i},pass\n" for task in range(6) for i in range(3))
    assert read_returns(saved(tmp_path, "r.csv", f"task,run,solved\n{numbered}"), strict=True).returns.shape == (6, 3)


@pytest.mark.parametrize("header", ["task,success,trials", "task,passed,total", "task,score,num_trials", "task,pass,n"])
def test_a_column_that_may_count_trials_is_a_question(tmp_path, header):
    """Read as one trial each, 1 success of 10 in each task would be certain success."""
    path = saved(tmp_path, "r.csv", header + "\n" + "".join(f"{i},1,10\n" for i in range(20)))
    _, value, total = header.split(",")
    refused(path, f"{value!r} and '{value}/{total}'; expected one of these by name", trial=None)
    assert read_returns(path, trial=None, successes=value, trials=total).returns.mean() == 0.1
    assert read_returns(path, trial=None, value=value).returns.shape == (20, 1)


def test_records_with_the_names_of_another_tool_are_a_table(tmp_path):
    rows = [{"task_id": t, "trial": i, "reward": 1} for t in range(3) for i in range(2)]
    assert read_returns(saved(tmp_path, "r.json", json.dumps(rows))).returns.shape == (3, 2)


def test_results_of_terminal_bench_are_no_report_of_swe_bench(tmp_path):
    rows = [
        {"task_id": f"t{i // 3}", "trial_name": f"t{i // 3}.{i}", "is_resolved": i % 2 == 0, "failure_mode": "unset"}
        for i in range(12)
    ]
    ids = {"resolved_ids": ["t0", "t0"], "unresolved_ids": []}
    content = {"id": "x", "results": rows, "n_resolved": 6, "pass_at_k": {}, **ids}
    found = read_returns(saved(tmp_path, "results.json", json.dumps(content)))
    assert found.told.startswith("read as Terminal-Bench results: 4 tasks, 12 rollouts")
    assert found.returns.sum() == 6


def test_trials_that_are_listed_by_outcome_are_put_in_another_order(tmp_path):
    """Rewards of a job stand in groups; checks of trends and of axes would see them."""
    rng = np.random.default_rng(0)
    trials = [f"task{i // 8}__{rng.bytes(4).hex()}" for i in range(240)]
    by_reward = {str(reward): [] for reward in (0.0, 0.5, 1.0)}
    for trial, reward in zip(trials, rng.choice(["0.0", "0.5", "1.0"], 240), strict=True):
        by_reward[reward].append(trial)
    content = {
        "n_total_trials": 240,
        "stats": {"evals": {"agent": {"reward_stats": {"reward": by_reward}, "exception_stats": {}}}},
    }
    found = read_returns(saved(tmp_path, "result.json", json.dumps(content)))
    assert found.returns.shape == (30, 8)
    assert np.abs(found.returns[:, :4].mean() - found.returns[:, 4:].mean()) < 0.2
    assert sorted(found.returns.ravel()) == sorted(float(k) for k, v in by_reward.items() for _ in v)
