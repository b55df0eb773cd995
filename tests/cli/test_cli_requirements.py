"""Several requirements at once on the command line: one column each, a file, a protocol, a page."""

import functools
import re

import numpy as np
import pytest
from cli_harness import command, session, table
from report.alterations import altered

from jaxcert import certify_suite_requirements, paired

SHORT = {
    "ASKED": "--requirement 'reward >= 0.4 in 0 1' --requirement 'cost <= 0.6 in 0 1' --complete --delta 0.1",
    "HARDER": "--requirement 'reward >= 0.8 in 0 1' --requirement 'cost <= 0.6 in 0 1' --complete --delta 0.1",
    "EASIER": "--requirement 'reward >= 0.3 in 0 1' --requirement 'cost <= 0.9 in 0 1' --complete --delta 0.1",
    "RARE": "--requirement 'reward >= 0.4 in 0 1' --requirement 'collision <= 0.3' --complete --delta 0.1",
    "MORE": "--requirement 'reward >= 0.1 in 0 1' --requirement 'cost <= 0.6 in 0 1' --complete --delta 0.1",
    "TWO": "compare two.csv --policy policy",
    "OTHERS": "--ignore light --ignore reward --ignore cost",
    "SIZES": "--tasks 40 --rollouts 20",
}
run = functools.partial(session, **SHORT)


@pytest.fixture(scope="module")
def metrics(tmp_path_factory):
    """The same numbers in a table and in arrays."""
    folder, rng = tmp_path_factory.mktemp("metrics"), np.random.default_rng(0)
    reward = np.clip(rng.beta(8, 2, (40, 1)) + rng.uniform(-0.1, 0.1, (40, 20)), 0, 1)
    arrays = {"reward": reward, "cost": reward[:, ::-1] * 0.5, "collision": rng.random((40, 20)) < 0.05}
    np.savez(folder / "m.npz", **arrays)
    rows = [(f"kitchen-{i}", j, "ab"[i % 2], *(x[i, j].item() for x in arrays.values())) for i, j in np.ndindex(40, 20)]
    table(folder / "m.csv", "task,episode,light,reward,cost,collision", rows)
    return folder


@pytest.fixture(autouse=True)
def folder(metrics, there):
    for file in metrics.iterdir():
        (there / file.name).write_bytes(file.read_bytes())
    return there


def sentence(script):
    return run(script).partition("With confidence")[2]


def test_what_is_said():
    """Of columns as of arrays; an event that is no success may have to be rare; a line says what is not shown."""
    told = sentence("certify m.npz ASKED --strict --ignore collision")
    assert told == sentence("certify m.csv ASKED --strict --ignore collision --ignore light") != ""
    assert "the expected reward is at least 0.4 and the expected cost is at most 0.6, all at once," in told
    few = "--method soft or --beta auto often certify more, if chosen before the data"
    run(f"""
        choose m.csv --value reward -> Of several requirements: with so few rollouts of each task, {few}.
        certify m.csv --requirement 'collision <= 0.3' --complete --delta 0.1 --strict OTHERS -> is at most 0.3
        certify m.csv HARDER -> not shown to meet every requirement: reward >= 0.8 on | cost <= 0.6 on 0. | {few}.
    """)
    assert run("certify m.csv ASKED --by light").count("all at once") == 2


@pytest.mark.parametrize("command", ["certify m.npz", "compare m.npz low.npz"])
def test_of_a_list_it_says_how_many_trials_like_these_certify_any_task(folder, command):
    """As many times the same trials, of which one fewer would certify nothing."""
    reward, passed = (np.load("m.npz")[name][:, :2] for name in ("reward", "collision"))
    short = {"reward": reward, "passed": ~passed}
    np.savez("m.npz", **short)
    np.savez("low.npz", **{name: each * 0 for name, each in short.items()})
    lines = ["reward >= 0.7 in 0 1", "passed >= 0.3"]
    asked = " ".join(f"--requirement '{line}'" for line in lines)
    out = run(f"{command} {asked} --suite --delta 0.1 --ignore passed -> reward >= 0.7 on 40, passed >= 0.3 on")
    trials, good = map(int, re.search(r"With (\d+) trials of each task that go like these, (\d+) of 40", out).groups())

    def certified(m):
        more = {name: np.tile(each, (1, 16))[:, :m] for name, each in short.items()}
        if command.startswith("compare"):
            more = {name: paired(each, each * 0) for name, each in more.items()}
        return int(certify_suite_requirements(more, lines, delta=0.1).num_good)

    assert certified(trials - 1) == 0
    assert certified(trials) == good > 0


def test_a_file_is_verified_and_an_altered_one_is_not(folder):
    run("""
        certify m.csv ASKED --strata light --json s.json -> on a new task from a or b, each as likely, the expected
        verify s.json m.csv -> verified: 1 certificate, 1 statement
        certify m.csv ASKED --method anytime --json d.json -> With confidence 0.9, at every moment of the sampling
        verify d.json m.csv -> verified: 1 certificate, 1 statement
        certify m.csv ASKED --suite --strata light => the question 'suite_requirements' is not about strata
        certify m.csv ASKED --json c.json
        verify c.json m.csv
    """)
    text = (folder / "c.json").read_text()
    for old, new in (("cost <= 0.6", "cost <= 0.5"), ("reward >= 0.4", "reward >= 0.45"), ('"cost"', '"reward"')):
        assert old in text
        (folder / "other.json").write_text(text.replace(old, new))
        run("verify other.json m.csv !>")

    def other_rows(document):
        document["certificates"][0]["others"][0]["roles"] = {"where": ["light = a"]}

    def other_tasks(document):
        document["certificates"][0]["others"][0]["columns"]["task"] = "light"

    for change in (other_rows, other_tasks):
        altered(folder / "c.json", change, name="rows.json")
        run("verify rows.json m.csv => its metrics are not of the same rollouts")


def test_of_two_policies_they_are_about_one_minus_the_other(folder):
    head, *rows = (folder / "m.csv").read_text().splitlines()
    of_two, split = [f"new,{row}" for row in rows], (row.split(",") for row in rows)
    of_two += [",".join(["old", *start, cost, reward, hit]) for *start, reward, cost, hit in split]
    (folder / "two.csv").write_text("\n".join([f"policy,{head}", *of_two, ""]))
    run("""
        TWO MORE --strata light --json s.json -> on a new task from a or b, each as likely, the expected reward of new
        verify s.json two.csv -> verified: 1 certificate, 1 statement
        TWO HARDER -> reward of new minus that of old is at least 0.8 and | reward >= 0.8 on 40
        TWO RARE --suite --report page.html ~> the probability of collision of new minus that of old is at most 0.3
        TWO --requirement 'reward >= 0.99 in 0 1' --delta 0.1 -> even if all were 1: it needs
        TWO --requirement 'cost <= 0.1 in 0 1' --delta 0.1 => expected complete=True
        TWO --requirement 'reward >= 0.1' --delta 0.1 => reward: a support is missing
        TWO ASKED --support 0 1 => --support is given, which the question 'requirements' does not take
    """)
    page = (folder / "page.html").read_text()
    assert "new against old" in page
    assert "reward &gt;= 0.4 in 0 1" in page


def test_a_metric_is_the_column_of_its_name(folder):
    """Whoever writes another name into all places of a file has read another column."""
    run("certify m.csv EASIER --json c.json")
    out = folder / "c.json"
    out.write_text(out.read_text().replace("cost <=", "reward2 <=").replace("expected cost", "expected reward2"))
    altered(out, lambda document: None)
    run("verify c.json m.csv !> reward2 is required, and its values are from cost")
    altered(out, lambda document: document["certificates"][0].update(data=None))
    assert "Traceback" not in "".join(map(str, command("verify", out, folder / "m.csv")))


def test_a_protocol_locks_them():
    run("""
        lock r.toml RARE SIZES
        lock q.toml RARE SIZES --value reward => --requirement already names
        lock p.toml ASKED SIZES
        certify m.csv --protocol p.toml --json c.json
        verify c.json m.csv --protocol p.toml
        certify m.csv --protocol p.toml EASIER => the protocol says
        certify m.csv EASIER --json c.json --force
        verify c.json m.csv --protocol p.toml !>
    """)
    assert sentence("certify m.csv RARE") == sentence("certify m.csv --protocol r.toml") != ""


@pytest.mark.parametrize("more", ["", "--tasks-in-report"])
def test_a_page_says_which_tasks_miss_what_and_names_them_on_request(folder, more):
    run(f"certify m.csv HARDER --json c.json --report page.html {more}")
    page = (folder / "page.html").read_text()
    assert "Tasks not shown to meet a requirement" in page
    assert ("kitchen-" in page) == bool(more)
    assert "jaxcert verify c.json m.csv" in page
    assert "value from reward, cost" in page
    assert str(folder) not in page
