"""The whole way on the command line: plan, lock, certify, verify; a gate; and what is never replaced."""

import functools
import json

import numpy as np
import pytest
from cli_harness import RETURNS, session, table

from jaxcert.cli import _request
from jaxcert.report import Protocol, document_digest
from jaxcert.tables import write_returns

SIZES, HALF = "--tasks 40 --rollouts 20", "--threshold 0.5"
SIZED = f"--support 0 1 --delta 0.1 --tasks 12 --rollouts 6 {HALF}"
SHORT = {"SETTINGS": "--support 0 1 --delta 0.05", "HALF": HALF, "LOCK": f"--support 0 1 --delta 0.05 {SIZES}"}
run = functools.partial(session, **SHORT)


@pytest.fixture(autouse=True)
def folder(there):
    np.savez("r.npz", returns=RETURNS)
    return there


def made(file, seed, *, num_tasks=40, num_rollouts=20):
    """Successes in a world, whose file says where they are from."""
    passed = np.random.default_rng(seed).random((num_tasks, num_rollouts)) < 0.8
    write_returns(file, passed.astype(float), facts={"environment": "grid", "seed": seed, "deterministic": True})


def test_the_whole_way(folder):
    made("a.npz", 1, num_tasks=30)
    planned = "--threshold 0.5 --safety 0.7 --delta 0.05 --support 0 1 --max-rollouts 20 --design attained"
    digest = run(f"plan a.npz {planned} --lock p.toml").splitlines()[-1].rpartition(" ")[2]
    locked = Protocol.read("p.toml")
    made("b.npz", 2, num_tasks=locked.num_tasks, num_rollouts=locked.num_rollouts)
    run("""
        certify b.npz --protocol p.toml --json c.json
        verify c.json b.npz --protocol p.toml -> = verified: 1 certificate, 1 statement
    """)
    assert json.loads((folder / "c.json").read_text())["protocol"] == digest


@pytest.mark.parametrize("entry", ["num_tasks = 40", "num_rollouts = 20"])
def test_a_protocol_of_more_than_floats_can_count_is_none(entry, folder):
    run("lock p.toml LOCK HALF\ncertify r.npz --protocol p.toml --json c.json")
    name = entry.split(" = ")[0]
    (folder / "other.toml").write_text((folder / "p.toml").read_text().replace(entry, f"{name} = {'1' * 400}"))
    run(f"""
        certify r.npz --protocol other.toml => no protocol: {name} is 111111
        verify c.json r.npz --protocol other.toml => no protocol: {name} is 111111
    """)


def test_a_record_on_stdout_is_all_there_is():
    out = run("certify r.npz SETTINGS HALF --json - ->")
    assert json.loads(out)["certificates"][0]["rows"][0]["threshold"] == 0.5


def test_a_gate():
    run("""
        certify r.npz SETTINGS --threshold 0.25,0.5 --require 0.2
        certify r.npz SETTINGS --threshold 0.25,0.5 --require 0.9 !> With confidence 0.95 | error: less is certified in
        certify r.npz SETTINGS --threshold 0.01 --suite --require 2
        lock p.toml LOCK --safety 0.5
        certify r.npz --protocol p.toml --require 0.9 --json c.json => --require needs a threshold
    """)


def test_nothing_is_replaced_without_force(folder):
    for option, name in (("--json", "c.json"), ("--plot", "c.png"), ("--report", "c.html")):
        (folder / name).write_text("mine")
        asked = f"certify r.npz SETTINGS HALF {option} {name}"
        run(f"{asked} => {name}: exists; expected a new file, or --force to replace it")
        assert (folder / name).read_text() == "mine"
        run(f"{asked} --force")
        assert (folder / name).read_bytes() != b"mine"


def test_names_that_are_taken_while_a_command_runs_are_not_replaced(folder, monkeypatch):
    outputs, ask = [folder / f"c.{suffix}" for suffix in ("json", "png", "html")], _request.ask

    def meanwhile(*arguments, **options):
        for path in outputs:
            path.write_text("another's")
        return ask(*arguments, **options)

    monkeypatch.setattr(_request, "ask", meanwhile)
    run("certify r.npz SETTINGS HALF --json c.json --plot c.png --report c.html => c.json: exists, and is not replaced")
    assert [each.read_text() for each in outputs] == ["another's"] * 3
    assert len(list(folder.iterdir())) == 4


def test_settings_come_from_the_protocol():
    run("lock p.toml LOCK HALF")
    locked, typed = run("certify r.npz --protocol p.toml"), run("certify r.npz SETTINGS HALF")
    assert locked.split("\n", 1)[1] == typed.split("\n", 1)[1]
    run("certify r.npz --protocol p.toml --delta 0.05 --bound betting")


def test_other_data_are_refused():
    """Too few rollouts, of another origin, or of none that their file knows."""
    np.savez("short.npz", returns=RETURNS, where=np.arange(800).reshape(40, 20) < 795)
    made("of.npz", 8)
    run("""
        lock p.toml LOCK HALF
        certify short.npz --protocol p.toml => num_rollouts is 15, the protocol says 20
        lock seed.toml LOCK HALF --seed 7
        certify r.npz --protocol seed.toml => seed is not recorded in the file of returns, the protocol says 7; expected
        lock grid.toml LOCK HALF --environment grid --seed 7
        certify of.npz --protocol grid.toml => seed is 8, the protocol says 7
    """)


def test_a_protocol_settles_the_column_of_returns(folder):
    rows = [(i, j, RETURNS[i, j], 1 - RETURNS[i, j]) for i in range(40) for j in range(20)]
    table("r.csv", "task_id,episode_id,total_return,score", rows)
    run("""
        lock p.toml LOCK HALF --value score --task task_id
        certify r.csv --protocol p.toml --value total_return => value is total_return, the protocol says score
        certify r.csv --protocol p.toml --json c.json
        verify c.json r.csv --protocol p.toml
        lock open.toml LOCK HALF
        certify r.csv --protocol open.toml --value score => the protocol locks no value; expected total_return
        certify r.csv --protocol open.toml --value total_return
    """)
    columns = json.loads((folder / "c.json").read_text())["certificates"][0]["data"]["columns"]
    assert columns == {"task": "task_id", "trial": "episode_id", "value": "score"}


@pytest.mark.parametrize(
    ("asked", "others"),
    [
        ("--threshold 0.5", ["--strata place"]),
        ("--threshold 0.5 --frequency a=0.5 --frequency b=0.5", []),
        ("--threshold 0.5 --of-stratum a=30,b=10", ["--strata place"]),
        ("--question mean", ["--strata place", ""]),
    ],
)
def test_the_column_of_strata_is_locked(folder, asked, others):
    rows = [(i, j, f"{RETURNS[i, j]:.6f}", "ab"[i % 4 == 0], "xy"[i % 2]) for i in range(40) for j in range(20)]
    table("t.csv", "task,trial,score,kind,place", rows)
    run(f"""
        lock p.toml LOCK {asked} --strata kind
        certify t.csv --protocol p.toml --json c.json
        verify c.json t.csv --protocol p.toml
        certify t.csv --protocol p.toml --strata place => strata is place, the protocol says kind
    """)
    assert json.loads((folder / "c.json").read_text())["certificates"][0]["data"]["roles"]["strata"] == "kind"
    for strata in others:
        run(f"""
            certify t.csv SETTINGS {asked.partition(" --of")[0]} {strata} --json c.json --force
            verify c.json t.csv --protocol p.toml !>
        """)


def test_the_number_of_tasks_of_each_stratum_is_locked(folder):
    rows = [(i, j, f"{RETURNS[i, j]:.6f}", "ab"[i % 4 == 0]) for i in range(40) for j in range(20)]
    table("t.csv", "task,trial,score,kind", rows)
    run("""
        lock p.toml LOCK --threshold 0.5 --strata kind --of-stratum a=20 --of-stratum b=20
        certify t.csv --protocol p.toml => of_strata is a 30; b 10, the protocol says a 20; b 20
        certify t.csv SETTINGS --threshold 0.5 --strata kind --json c.json
        verify c.json t.csv --protocol p.toml !>
        lock q.toml LOCK --threshold 0.5 --strata kind --of-stratum a=20,b=30 => a 20; b 30; num_tasks is 40
        lock q.toml LOCK --threshold 0.5 --of-stratum a=40 => of_strata is a 40; no column of strata is given
        lock q.toml LOCK --threshold 0.5 --strata kind --of-stratum a=39.5,b=0.5 => expected how many tasks are drawn
        lock q.toml LOCK --threshold 0.5 --strata kind --of-stratum a => hold 'a'; expected a label and its number
    """)


def test_a_protocol_settles_whether_actions_are_sampled():
    made("new.npz", 1)
    run(f"""
        lock mode.toml LOCK HALF --policy {__file__} --deterministic
        certify new.npz --protocol mode.toml => policy_sha256 is not recorded
        lock sampled.toml LOCK HALF --stochastic
        certify new.npz --protocol sampled.toml => deterministic is True, the protocol says False
        lock open.toml LOCK HALF
        certify new.npz --protocol open.toml
    """)
    locked = [Protocol.read(f"{name}.toml").deterministic for name in ("mode", "sampled", "open")]
    assert locked == [True, False, None]


def test_a_design_that_cannot_succeed_is_told_before_its_data(there):
    settings = "--tasks 20 --rollouts 10 --delta 0.05"
    run(f"""
        lock a.toml {settings} --support 0 1 --threshold 0.99 ~> no lower bound can pass 0.7412 with 10 rollouts
        lock b.toml {settings} --support 0 1 --safety 0.9 ~> a protocol with --method attained certifies more
        lock c.toml {settings} --method attained --threshold 0.5 -> locked in c.toml
        lock d.toml {settings} --support 0 1000 --threshold 300 -> locked in d.toml
    """)


def test_which_records_are_read_is_locked_or_refused(folder):
    """Of a folder the pattern of its files is the column of tasks; records of JSON are none that a protocol locks."""
    for i in range(12):
        for name in ("evals", "dev"):
            table(f"runs/k{i}/{name}.csv", "trial,success", [(j, int((i + j) % 5 > 0)) for j in range(6)])
    run(f"""
        lock p.toml {SIZED}
        lock q.toml {SIZED} --task '{{task}}/evals.csv'
    """)
    run("""
        certify runs --task-from-path '{task}/dev.csv' --protocol p.toml => the protocol locks no task
        certify runs --task-from-path '{task}/dev.csv' --protocol q.toml => task is
        certify runs --task-from-path '{task}/evals.csv' --protocol q.toml --json c.json
        verify c.json runs --protocol q.toml -> ^verified
        certify j.json --records 'runs.*.evals' --protocol p.toml => --records given, which a protocol does not lock
    """)


def test_a_protocol_is_about_one_policy(folder):
    """A question of one name for one policy and for two is locked for one."""
    np.savez("worse.npz", returns=RETURNS / 2)
    run("""
        lock p.toml --support 0 1 --delta 0.05 --tasks 40 --rollouts 20 --question suite --threshold 0.1
        compare r.npz worse.npz --support 0 1 --delta 0.05 --suite --threshold 0.1 --json c.json
    """)
    document = json.loads((folder / "c.json").read_text()) | {"protocol": Protocol.read("p.toml").digest}
    (folder / "c.json").write_text(json.dumps(document | {"digest": document_digest(document)}))
    run("verify c.json r.npz worse.npz --protocol p.toml !> it is about 2 policies, the protocol about one")
