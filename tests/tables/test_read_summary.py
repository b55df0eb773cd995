"""Folders of Parquet files: the summary of what all of them hold, and what is refused with which message."""

import hashlib
import itertools
import os
import re
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import jaxcert
from jaxcert.returns.summaries import MOST, Histogram
from jaxcert.tables import _parts, read_summary
from jaxcert.tables._read_summary import Tally

N, M, BINS = 6, 40, 10


def rows(seed: int = 0, *, labels: str = "integers") -> pa.Table:
    """N tasks with M rollouts each, in random order."""
    rng = np.random.default_rng(seed)
    tasks = rng.permutation(np.repeat(np.arange(N), M))
    names = tasks if labels == "integers" else np.char.add("t", tasks.astype(str))
    return pa.table({"task_id": names, "seed": np.arange(N * M), "total_return": rng.beta(4, 2, N * M)})


def saved(folder: Path, name: str, table: pa.Table | dict, **options) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), path, **options)
    return path


def split(folder: Path, table: pa.Table, cuts: list[int], **options) -> Path:
    edges = [0, *cuts, len(table)]
    for i, (start, stop) in enumerate(itertools.pairwise(edges)):
        saved(folder, f"part-{i}.parquet", table.slice(start, stop - start), **options)
    return folder


def at_once(table: pa.Table):
    """The summary of all rows as one array, and its tasks, by `from_frame`."""
    data = jaxcert.from_frame(table, trial=None)
    empty = Histogram.empty(N, support=(0, 1), num_bins=BINS)
    return empty.update(np.nan_to_num(data.returns, nan=0.0), where=data.where), data.tasks


def refused(folder: Path, *words: str, **options) -> None:
    """A ValueError of one line that holds the words."""
    with pytest.raises(ValueError, match=re.escape(str(folder))) as caught:
        read_summary(folder, **{"support": (0, 1), **options})
    message = str(caught.value)
    assert "\n" not in message
    assert [word for word in words if word not in message] == []


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["integers", "text"]),
    st.integers(0, 99),
    st.lists(st.integers(0, N * M), max_size=4),
    st.integers(1, 300),
    st.integers(1, 300),
)
def test_the_summary_is_that_of_all_returns_at_once(tmp_path, labels, seed, cuts, group, batch):
    """Neither files nor groups nor batches nor the order of rows matter."""
    folder = tmp_path / "d"
    shutil.rmtree(folder, ignore_errors=True)
    table = rows(2, labels=labels)
    mixed = table.take(pa.array(np.random.default_rng(seed).permutation(len(table))))
    split(folder, mixed, sorted(cuts), row_group_size=group)
    with pytest.MonkeyPatch.context() as patched, warnings.catch_warnings():
        patched.setattr(_parts, "ROWS", batch)
        data = read_summary(folder, support=(0, 1), num_bins=BINS)
    expected, tasks = at_once(table)
    order = [tasks.tolist().index(label) for label in data.tasks]
    np.testing.assert_array_equal(data.returns.counts, np.asarray(expected.counts)[order])
    assert data.tasks.tolist() == list(dict.fromkeys(mixed["task_id"].to_pylist()))
    assert repr(data) == "ReturnsFile(6 tasks, 40 rollouts each)"


def successes(folder: Path) -> np.ndarray:
    success = np.random.default_rng(0).random((N, M)) < 0.8
    table = {"task": np.repeat(np.arange(N), M), "trial": np.tile(np.arange(M), N), "success": success.ravel()}
    split(folder, pa.table(table), [100])
    return success


def test_booleans_are_counted_exactly_and_need_no_support(tmp_path):
    success = successes(tmp_path / "d")
    data = read_summary(tmp_path / "d")
    np.testing.assert_array_equal(data.returns.counts[:, 1], success.sum(axis=1))
    assert data.like.dtype.name == "bool"
    refused(tmp_path / "d", "holds booleans; support is (0, 2), expected (0, 1) or none", support=(0, 2))


def test_partitions_are_labels(tmp_path):
    for i, name in enumerate(["task=pull/day=1", "task=push%20it/day=1", "task=pull/day=2"]):
        saved(tmp_path, f"{name}/a.parquet", {"score": [0.25 * i, 1.0]})
    with pytest.warns(UserWarning, match="1 of 2 tasks have fewer than 4 rollouts, 2 of 8 are missing"):
        data = read_summary(tmp_path, support=(0, 1), num_bins=4, across=["day"])
    assert data.tasks.tolist() == ["pull", "push it"]
    np.testing.assert_array_equal(data.returns.counts, [[1, 0, 1, 0, 2], [0, 1, 0, 0, 1]])
    assert data.columns == ("task", None, "score")
    refused(tmp_path, "1 of 2 tasks have fewer", across=["day"], strict=True)
    refused(tmp_path, "lies in partitions day, which may tell tasks apart; expected the partition of tasks as task")
    refused(tmp_path, "lies in no partition dya, which across names", across=["day", "dya"])
    refused(tmp_path, "has no column scores", value="scores", across=["day"])
    refused(tmp_path, "has no column world", task="world", across=["day"])
    refused(tmp_path, "task is a partition, expected a column of returns", task="score", value="task", across=["day"])
    saved(tmp_path, "task=pull/day=1/a.parquet", {"task": ["pull"], "score": [0.5]})
    refused(tmp_path, "has more than one column task", task="task", across=["day"])


def test_the_digest_is_that_of_sha256sum(tmp_path):
    for name in ("task=a/x.parquet", "task=B/x.parquet", "task=a b/x.parquet"):
        saved(tmp_path, name, {"score": [0.5], "note": [name]})
    (tmp_path / "_SUCCESS").touch()
    lines = "".join(
        f"{hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()}  {name}\n"
        for name in ("task=B/x.parquet", "task=a b/x.parquet", "task=a/x.parquet")
    )
    found = read_summary(tmp_path, support=(0, 1)).sha256
    assert found == hashlib.sha256(lines.encode()).hexdigest()
    if shutil.which("sha256sum"):
        command = "find * -name '*.parquet' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum"
        done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.split()[0] == found


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("notes.txt", "notes.txt: cannot be read as Parquet, damaged or cut short"),
        ("part-1.parquet", "part-1.parquet: cannot be read as Parquet, damaged or cut short"),
        ("sub/x.parquet", "sub: expected a partition, a folder with a name such as task=push"),
        ("task=/x.parquet", "task=: expected a partition"),
        ("task=__HIVE_DEFAULT_PARTITION__/x.parquet", "expected a partition"),
        ("a=%ff/x.parquet", "'utf-8' codec can't decode byte 0xff"),
        ("a=1/a=2/x.parquet", "a=2: expected a partition, a folder with a name such as task=push, each name once"),
        ("_a=1/x.parquet", "_a=1/x.parquet: its rows would be left out; expected no links to nothing, and no Parquet"),
        (".old/x.parquet", ".old/x.parquet: its rows would be left out"),
        ("_x.parquet", "_x.parquet: its rows would be left out"),
    ],
)
def test_what_is_no_part_of_a_folder_is_refused(tmp_path, name, words):
    folder = split(tmp_path / "d", rows(), [])
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes((folder / "part-0.parquet").read_bytes() if "/" in name else b"x")
    refused(folder, words)


def test_no_folder_and_an_empty_one(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing: no such folder"):
        read_summary(tmp_path / "nothing", support=(0, 1))
    refused(tmp_path, "holds no Parquet file, expected at least one")
    path = saved(tmp_path, "a.parquet", rows().slice(0, 0))
    refused(tmp_path, "has no rows, expected one per rollout")
    refused(path, "is a file, expected a folder of Parquet files")


def test_links_to_files_are_followed_but_no_file_counts_twice(tmp_path):
    folder = split(tmp_path / "d", rows(), [])
    elsewhere = (folder / "part-0.parquet").rename(tmp_path / "elsewhere.parquet")
    (folder / "part-0.parquet").symlink_to(elsewhere)
    assert read_summary(folder, support=(0, 1)).num_rollouts.sum() == N * M
    shutil.copy(elsewhere, folder / "part-1.parquet")
    refused(folder, "part-1.parquet: has the same content as part-0.parquet, byte for byte; expected no copies")
    (folder / "part-1.parquet").unlink()
    elsewhere.rename(tmp_path / "moved.parquet")
    refused(folder, "holds no Parquet file")
    saved(folder, "part-1.parquet", rows(1))
    refused(folder, "part-0.parquet: its rows would be left out; expected no links to nothing")


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = saved(tmp_path, "a.parquet", rows())
    find = _parts.names_to_judge

    def touched(*args):
        os.utime(path, ns=(0, 0))
        return find(*args)

    monkeypatch.setattr(_parts, "names_to_judge", touched)
    refused(tmp_path, "a.parquet: changed while it was read")


@pytest.mark.parametrize("as_column", [pa.array, lambda entries: pa.array(entries).dictionary_encode()])
def test_entries_of_all_row_groups_are_looked_at(tmp_path, as_column):
    """A batch of categories, which pandas writes, ends with its row group."""
    notes = as_column(["no"] * (N * M - 2) + ["human helped"] * 2)
    saved(tmp_path, "a.parquet", rows().append_column("notes", notes), row_group_size=50)
    refused(tmp_path, "notes")


@pytest.mark.parametrize("name", ["global_step", "timesteps", "train_iteration", "epoch", "training_seed"])
def test_an_order_by_moments_is_seen_across_row_groups(tmp_path, name):
    """No row group has more than a few moments, and each has few rows of a task."""
    tasks = pa.array([f"t{i}" for i in np.tile(np.arange(20), 40)]).dictionary_encode()
    moments = np.repeat(np.arange(40), 20)
    held = {"task_id": tasks, "total_return": np.linspace(0, 1, 800), name: moments}
    saved(tmp_path, "a.parquet", pa.table(held), row_group_size=20)
    refused(tmp_path, name, strict=True)


def test_equal_files_of_different_tasks_are_no_copies(tmp_path):
    for task in "ab":
        saved(tmp_path, f"task={task}/x.parquet", {"success": [True, True]})
    np.testing.assert_array_equal(read_summary(tmp_path).returns.counts, [[0, 2], [0, 2]])


BAD = [
    ("task_id", [0, 0, None, 0, 0], "row 8: task_id is empty, expected an entry; 1 of the 10 rows from 1 on are none"),
    (
        "total_return",
        [0, 0, 0, None, 1],
        "row 9: total_return is empty, expected a number in the support (0, 1); 1 of the 10",
    ),
    ("total_return", [0, np.nan, 0, 0, 1], "row 7: total_return is nan, expected a number in the support (0, 1); 1 of"),
    ("total_return", [0, 1.5, 0, -1, 1], "row 7: total_return is 1.5, expected a number in the support (0, 1); 2 of"),
    ("total_return", [0, 0.5, 0, 1, np.inf], "row 10: total_return is inf"),
]


@pytest.mark.parametrize(("name", "entries", "words"), BAD)
def test_an_entry_that_is_no_return_or_task_is_refused(tmp_path, name, entries, words):
    columns = {"task_id": pa.array([1] * 10), "total_return": pa.array([0.5] * 10)}
    columns[name] = pa.array([*columns[name].to_pylist()[:5], *entries], columns[name].type)
    saved(tmp_path, "a.parquet", {"task_id": [1], "total_return": [0.5]})
    path = saved(tmp_path, "b.parquet", columns, row_group_size=5)
    refused(tmp_path, f"{path}: {words}")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"task_id": ["a"], "total_return": [0.5]}, "has numbers in total_return, text in task_id, in no partition;"),
        ({"task_id": [1], "total_return": [True]}, "has booleans in total_return, integers in task_id"),
        ({"task_id": [1], "score": [0.5]}, "has other columns than the first file, score, total_return"),
        ({"task_id": [1.5], "total_return": [0.5]}, "column task_id holds double, expected integers or text"),
        ({"task_id": [1], "total_return": ["yes"]}, "column total_return holds string, expected booleans or numbers"),
        ({"task_id": [1], "points": [0.5]}, "has no column total_return; found 'task_id', 'points'"),
        ({"task_id": [1], "total_return": [2**60 + 1]}, "holds integers that double cannot hold"),
        ({"task_id": np.array([2**63], np.uint64), "total_return": [0.5]}, "holds integers that int64 cannot hold"),
    ],
)
def test_files_of_another_layout_are_refused(tmp_path, other, words):
    saved(tmp_path, "a.parquet", {"task_id": [1], "total_return": [0.5]})
    path = saved(tmp_path, "b.parquet", other)
    refused(tmp_path, str(path), words)


def test_widths_of_numbers_and_categories_do_not_matter(tmp_path):
    saved(tmp_path, "0.parquet", {"task": np.array([7, 8], np.int16), "score": np.array([0.5, 1], np.float16)})
    saved(tmp_path, "1.parquet", {"task": np.array([8, 7], np.uint64), "score": np.array([0, 1], np.int8)})
    data = read_summary(tmp_path, support=(0, 1), num_bins=2)
    assert data.tasks.tolist() == [7, 8]
    np.testing.assert_array_equal(data.returns.counts, [[0, 1, 1], [1, 0, 1]])
    saved(tmp_path / "text", "0.parquet", {"task": pa.array(["x", "y", "x"]).dictionary_encode(), "score": [0.5] * 3})
    saved(tmp_path / "text", "1.parquet", {"task": pa.array(["y"], pa.large_string()), "score": [0.25]})
    data = read_summary(tmp_path / "text", support=(0, 1), num_bins=4)
    assert data.tasks.tolist() == ["x", "y"]
    assert data.num_rollouts.tolist() == [2, 2]


def test_a_cut_or_damaged_file_is_refused(tmp_path):
    folder = split(tmp_path / "d", rows(), [100], compression="none", use_dictionary=False, write_page_checksum=True)
    path = folder / "part-1.parquet"
    whole = path.read_bytes()
    place = pq.ParquetFile(path).metadata.row_group(0).column(2).data_page_offset + 100
    damaged = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
    for content in (b"", whole[:-20], damaged):
        path.write_bytes(content)
        refused(folder, f"{path}: cannot be read as Parquet, damaged or cut short")


def test_arguments_are_checked(tmp_path):
    folder = split(tmp_path / "d", rows(), [])
    refused(folder, "holds numbers; support is not given, expected (a, b)", support=None)
    for options, words in {
        "num_bins is 0; expected a whole number from 1 to 2**20": {"num_bins": 0},
        "support is (0, inf); a summary needs a finite upper end": {"support": (0, np.inf)},
        "dtype is float16; expected float32": {"dtype": np.float16},
    }.items():
        with pytest.raises(ValueError, match=re.escape(options)):
            read_summary(folder, **{"support": (0, 1), **words})


TABLES = [
    ({"task": ["a", "", "b"], "score": [0.5] * 3}, "row 2: task is empty, expected an entry", {}),
    ({"task": ["a", "a", "b", "total"], "score": [1.0, 0.0, 1.0, 0.5]}, "ends with the entry 'total'", {}),
    ({"task": [*"abc"], "incorrect": [True, False, True]}, "is named after failures", {"value": "incorrect"}),
]


@pytest.mark.parametrize(("columns", "words", "options"), TABLES)
def test_what_is_refused_of_a_single_table_is_refused_of_a_folder(tmp_path, columns, words, options):
    saved(tmp_path, "a.parquet", columns)
    refused(tmp_path, words, **options)


LABELS = {
    "'mug' and 'mug\ufe0f', which differ in spelling alone": ["mug", "mug\ufe0f", "S2"],
    "holds 'S0' and 's0': if they are one task, it is counted twice": ["S0", "s0", "S1"],
    "if these tell policies": [f"{policy}/k{i}x" for policy in ("pi0", "act") for i in range(3)],
}


@pytest.mark.parametrize("words", LABELS)
def test_labels_of_a_folder_are_asked_about_as_in_a_single_table(tmp_path, words):
    for i, label in enumerate(LABELS[words]):
        saved(tmp_path, f"{i}.parquet", {"task": [label] * 2, "success": [True, i > 1]})
    refused(tmp_path, words, support=None, strict=True)


UUIDS = "2f1ea1b0-1111-4222-8333-944445555666", "3a1ea1b0-1111-4222-8333-944445555666"
OF_POLICIES = ["ckpt_1000 ckpt_2000", "baseline ours", "control treatment", "1000 2000", "epoch=1 epoch=2", "v1 v2"]
OF_TRIALS = ["part-0 part-1", "train-00000-of-00002 train-00001-of-00002", "seed_0 seed_1", "0-{}-c0 1-{}-c0"]


@pytest.mark.parametrize("names", [*OF_POLICIES, "policy_a policy_b", *(each.format(*UUIDS) for each in OF_TRIALS)])
def test_files_of_the_same_tasks_that_are_named_after_policies_are_told(tmp_path, names):
    for name in names.split():
        won = [name == names.split()[0], True, True, len(name) > 6]
        saved(tmp_path, f"{name}.parquet", {"task": ["pick", "push"] * 2, "success": won})
    if names in OF_POLICIES or "policy" in names:
        refused(tmp_path, "its files or partitions are named as", support=None, strict=True)
    else:
        assert read_summary(tmp_path, strict=True).num_rollouts.tolist() == [2 * len(names.split())] * 2


@pytest.mark.parametrize(
    ("name", "entries", "told"),
    [
        ("tag", "baseline ours", True),
        ("tag", "ckpt_1000 ckpt_2000", True),
        ("exp", "1 2", True),
        ("part", "1 2", False),
    ],
)
def test_partitions_across_of_the_same_tasks_are_asked_about_as_files_are(tmp_path, name, entries, told):
    for i, entry in enumerate(entries.split()):
        saved(
            tmp_path, f"{name}={entry}/a.parquet", {"task": ["pick", "push"] * 2, "success": [True, True, i > 0, True]}
        )
    refused(tmp_path, f"lies in partitions {name}, which may tell tasks apart", "the folder of one entry", support=None)
    if told:
        refused(tmp_path, "its files or partitions are named as", support=None, across=[name], strict=True)
    else:
        assert read_summary(tmp_path, across=[name], strict=True).num_rollouts.tolist() == [4, 4]


def test_files_of_other_tasks_may_have_any_name(tmp_path):
    for name, tasks in (("ckpt_1000", ["pick", "push"]), ("ckpt_2000", ["open", "shut"])):
        saved(tmp_path, f"{name}.parquet", {"task": tasks, "success": [True, False]})
    assert read_summary(tmp_path, strict=True).num_rollouts.tolist() == [1] * 4


def test_advice_on_a_folder_names_no_options_for_rows(tmp_path):
    saved(tmp_path, "a.parquet", rows().append_column("mode", pa.array(["left", "right"] * (N * M // 2))))
    with pytest.warns(UserWarning, match="in column 'mode', of few entries: .* expected rows of one of them$"):
        read_summary(tmp_path, support=(0, 1))


def test_a_folder_has_one_column_of_tasks(tmp_path):
    """No message proposes several."""
    columns = {"task": ["pick", "pick", "push", "push"], "suite": ["a", "b"] * 2, "success": [True, False] * 2}
    saved(tmp_path, "a.parquet", columns)
    refused(tmp_path, "differ in column 'suite'", "; expected rows of one of them, or a table", support=None)
    refused(tmp_path, "expected one column or partition", task="suite,task", support=None)


@pytest.mark.parametrize("name", ["frame_index", "frame_idx", "t"])
def test_steps_of_episodes_are_no_trials(tmp_path, name):
    """The outcome of an episode stands in each of its frames."""
    won = np.repeat([True, False], 100)
    saved(tmp_path, "a.parquet", {"task": np.repeat(np.arange(4), 50), name: np.tile(np.arange(50), 4), "success": won})
    told = f"column '{name}' counts the steps of an episode"
    refused(tmp_path, told, task="task", value="success", support=None)


def test_double_returns_are_rounded_down_to_single_values():
    """The value next above 0.3 in float64 lies below the float32 that is nearest to 0.3."""
    empty = Histogram.empty(1, support=(0, 1), num_bins=10)
    values = np.asarray(empty.values, np.float64)
    tally = Tally(empty)
    tally.add(np.arange(11), values)
    tally.add(np.arange(10), np.nextafter(values, -np.inf)[1:])
    expected = np.eye(11) + np.diag(np.arange(11) < 10)
    np.testing.assert_array_equal(tally.histogram().counts, expected)


def test_more_rows_than_a_summary_counts_are_refused():
    tally = Tally(Histogram.empty(1, support=(0, 1), num_bins=1))
    tally.add(np.zeros(1, int), np.ones(1))
    tally.num_rollouts[0] = MOST - 1
    tally.add(np.zeros(1, int), np.ones(1))
    with pytest.raises(ValueError, match=r"a task has 2147483648 rollouts; expected at most 2\*\*31 - 1"):
        tally.add(np.zeros(1, int), np.ones(1))
