"""Several requirements at once on the command line: one column each, a file, a protocol, a page."""

import json

import numpy as np
import pytest
from cli_harness import command

from jaxcert.report import document_digest

ASKED = ["--requirement", "reward >= 0.4 in 0 1", "--requirement", "cost <= 0.6 in 0 1", "--complete"]
DELTA = ["--delta", 0.1]


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(0)
    reward = np.clip(rng.beta(8, 2, (40, 1)) + rng.uniform(-0.1, 0.1, (40, 20)), 0, 1)
    return {"reward": reward, "cost": reward[:, ::-1] * 0.5, "collision": rng.random((40, 20)) < 0.05}


@pytest.fixture(scope="module")
def folder(arrays, tmp_path_factory):
    """The same numbers in a table and in arrays."""
    path = tmp_path_factory.mktemp("metrics")
    np.savez(path / "m.npz", **arrays)
    lines = ["task,episode,light,reward,cost,collision"]
    for i, j in np.ndindex(40, 20):
        values = [repr(float(arrays["reward"][i, j])), repr(float(arrays["cost"][i, j])), arrays["collision"][i, j]]
        lines.append(",".join(map(str, [f"kitchen-{i}", j, "ab"[i % 2], *values])))
    (path / "m.csv").write_text("\n".join([*lines, ""]))
    return path


def test_columns_and_arrays_give_the_same(folder):
    told = [command("certify", folder / name, *ASKED, *DELTA, "--strict") for name in ("m.npz", "m.csv")]
    assert [each.status for each in told] == [0, 0], told
    sentences = [each.out.partition("With confidence")[2] for each in told]
    assert sentences[0] == sentences[1] != ""
    assert "the expected reward is at least 0.4 and the expected cost is at most 0.6, all at once," in sentences[0]


def test_an_event_that_is_no_success_may_be_required_to_be_rare(folder):
    found = command("certify", folder / "m.csv", "--requirement", "collision <= 0.3", "--complete", *DELTA, "--strict")
    assert found.status == 0
    assert "the probability of collision is at most 0.3 with probability at least" in found.out


def test_a_line_says_which_requirement_is_not_shown(folder):
    harder = ["--requirement", "reward >= 0.8 in 0 1", "--requirement", "cost <= 0.6 in 0 1", "--complete"]
    told = command("certify", folder / "m.csv", *harder, *DELTA).out
    assert "are not shown to meet every requirement: reward >= 0.8 on " in told
    assert "cost <= 0.6 on 0." in told


def test_a_file_is_verified_and_an_altered_one_is_not(folder, tmp_path):
    out = tmp_path / "c.json"
    assert command("certify", folder / "m.csv", *ASKED, *DELTA, "--json", out).status == 0
    assert command("verify", out, folder / "m.csv").status == 0
    for old, new in (("cost <= 0.6", "cost <= 0.5"), ("reward >= 0.4", "reward >= 0.45"), ('"cost"', '"reward"')):
        text = out.read_text()
        assert old in text
        (tmp_path / "other.json").write_text(text.replace(old, new))
        assert command("verify", tmp_path / "other.json", folder / "m.csv").status == 1


def test_a_metric_is_the_column_of_its_name(folder, tmp_path):
    """Whoever writes another name into all places of a file has read another column."""
    out = tmp_path / "c.json"
    asked = ["--requirement", "reward >= 0.3 in 0 1", "--requirement", "cost <= 0.9 in 0 1", "--complete"]
    assert command("certify", folder / "m.csv", *asked, *DELTA, "--json", out).status == 0
    document = json.loads(out.read_text().replace("cost <=", "reward2 <=").replace("expected cost", "expected reward2"))
    document["digest"] = document_digest(document)
    out.write_text(json.dumps(document))
    found = command("verify", out, folder / "m.csv")
    assert found.status == 1
    assert "reward2 is required, and its values are from cost" in found.out
    document["certificates"][0]["data"] = None
    out.write_text(json.dumps({**document, "digest": document_digest(document)}))
    assert "Traceback" not in "".join(map(str, command("verify", out, folder / "m.csv")))


def test_a_protocol_of_successes_asks_as_certify_does(folder, tmp_path):
    asked = ["--requirement", "reward >= 0.4 in 0 1", "--requirement", "collision <= 0.3", "--complete", *DELTA]
    assert command("lock", tmp_path / "p.toml", *asked, "--tasks", 40, "--rollouts", 20).status == 0
    told = [
        command("certify", folder / "m.csv", *options).out.partition("With confidence")[2]
        for options in (asked, ["--protocol", tmp_path / "p.toml"])
    ]
    assert told[0] == told[1] != ""
    refused = command("lock", tmp_path / "q.toml", *asked, "--tasks", 40, "--rollouts", 20, "--value", "reward")
    assert refused.status == 2
    assert "--requirement already names" in refused.err


def test_a_protocol_locks_them(folder, tmp_path):
    locked, out = tmp_path / "p.toml", tmp_path / "c.json"
    sizes = ["--tasks", 40, "--rollouts", 20]
    assert command("lock", locked, *ASKED, *DELTA, *sizes).status == 0
    assert command("certify", folder / "m.csv", "--protocol", locked, "--json", out).status == 0
    assert command("verify", out, folder / "m.csv", "--protocol", locked).status == 0
    easier = [each.replace("0.4", "0.3") if isinstance(each, str) else each for each in ASKED]
    refused = command("certify", folder / "m.csv", "--protocol", locked, *easier)
    assert refused.status == 2
    assert "the protocol says" in refused.err
    assert command("certify", folder / "m.csv", *easier, *DELTA, "--json", out, "--force").status == 0
    assert command("verify", out, folder / "m.csv", "--protocol", locked).status == 1


def test_a_page_says_which_tasks_miss_what_and_names_them_on_request(folder, tmp_path):
    harder = ["--requirement", "reward >= 0.8 in 0 1", "--requirement", "cost <= 0.6 in 0 1", "--complete"]
    asked = ["certify", folder / "m.csv", *harder, *DELTA, "--json", tmp_path / "c.json", "--force"]
    for more, named in (([], False), (["--tasks-in-report"], True)):
        assert command(*asked, "--report", tmp_path / "page.html", *more).status == 0
        page = (tmp_path / "page.html").read_text()
        assert "Tasks not shown to meet a requirement" in page
        assert ("kitchen-" in page) == named
        assert "jaxcert verify c.json m.csv" in page
        assert str(folder) not in page


def test_groups_are_answered_apart(folder):
    found = command("certify", folder / "m.csv", *ASKED, *DELTA, "--by", "light")
    assert found.status == 0
    assert found.out.count("all at once") == 2


def test_what_is_chosen_can_be_typed(folder):
    found = json.loads(command("choose", folder / "m.csv", "--value", "reward", "--json").out)
    (proposed,) = [each["command"] for each in found["questions"] if each["name"] == "requirements"]
    assert "--requirement 'reward >= X in LOW HIGH'" in proposed
    assert proposed.endswith("--complete --delta 0.05")
