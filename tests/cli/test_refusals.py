"""What is refused: one line on stderr that says why, status 2, and no file is begun or changed."""

import shlex

import numpy as np
import pytest
from cli_harness import RETURNS, command, refused, table

from jaxcert.report import Protocol

LOCKED = {"support": (0, 1), "delta": 0.05, "thresholds": (0.5,), "num_tasks": 40, "num_rollouts": 20}
SHORT = {
    "BASE": "--support 0 1 --delta 0.1",
    "CERTIFY": "certify r.npz --support 0 1 --delta 0.1",
    "BOARD": "compare r.npz b.npz c.npz --support 0 1 --delta 0.1",
    "NAMES": "compare r.npz b.npz --support 0 1 --delta 0.1 --names",
    "REQUIRE": "certify m.csv --delta 0.1 --requirement",
    "ASKED": "'reward >= 0.4 in 0 1' --requirement 'cost <= 0.6 in 0 1'",
    "LOCK": "lock new.toml --delta 0.05 --tasks 40 --rollouts 20",
    "COINS": "--tasks a,b --threshold 0.8 --delta 0.05 --successes",
    "PAIRS": "trial start new.jsonl --delta 0.05 --policies",
    "PLAN": "plan r.npz --support 0 1 --delta 0.1",
}
# A command, and a part of its message.
CASES = r"""
certfy => No such command 'certfy'
certify => Missing argument 'FILE'
certify none.npz BASE --threshold 0.5 => none.npz: no such file
certify r.npz --support 0 => '--support'
certify r.npz --support 0 1 --delta small => '--delta'
CERTIFY --colour => --colour
CERTIFY --support 1 0 --threshold 0.5 => support is (1, 0)
certify r.npz --support 0,1, --delta 0.1 => Invalid value for '--support'
certify r.npz --delta 0.05 --support 0,5 1 => Invalid value for '--support'
CERTIFY --beta best => 'best' is not a number, or 'auto'
CERTIFY --threshold 1,,2 => Invalid value for '--threshold'
CERTIFY --safety 0.5 --require 0.9 => --require needs a threshold
CERTIFY --threshold 0.5 --require 90 => --require is 90
CERTIFY --threshold 0.5 --suite --require 0.5 => expected a number of tasks
CERTIFY --threshold 0.5 --suite --require 0 => expected a number of tasks
CERTIFY --suite --mean --safety 0.5 => --safety is given, which the question 'suite_mean' does not take (
CERTIFY --confidence 0.95 => No such option: --confidence
verify c.json r.npz r.npz --exact => --exact takes one CERTIFICATE and RETURNS
choose none.csv => none.csv: no such file
verify none.json r.npz => none.json: no such file
plan none.npz BASE --threshold 0.5 --safety 0.5 => none.npz: no such file
certify r.npz --protocol none.toml => none.toml: no such file
LOCK --support 0 1 --threshold 0.5 --policy none.pt => none.pt: no such file
choose r.npz b.npz c.npz => expected one or two, or a leaderboard by jaxcert compare
choose r.npz few.npz => expected both on the same tasks
certify r.npz => nothing is asked; expected --threshold X, --safety S, --mean or another question
certify r.npz --mean => --support and --delta missing
CERTIFY --json none/c.json => none/c.json: the folder 'none' does not exist
CERTIFY --json . => is a directory
CERTIFY --json mine.json => mine.json: exists; expected a new file, or --force to replace it
CERTIFY --plot c.xyz => suffix '.xyz'
CERTIFY --json c.png --plot ./c.png => --json and --plot name the same file
CERTIFY --report c.htm => suffix '.htm'
CERTIFY --threshold 0.5 --safety 0.5 --json c.json --report c.html => expected one of the two
CERTIFY --threshold 0.5 --tasks-in-report => --tasks-in-report is for a page; expected --report
CERTIFY --threshold 0.5 --title T => --title is for a page or a plot; expected --report or --plot
CERTIFY --threshold 0.5 --witness => --witness is for a certificate file
CERTIFY --question mean --witness --json c.json => the question 'mean' has no witnesses
certify r.npz --protocol p.toml --delta 0.1 => delta is 0.1, the protocol says 0.05
certify r.npz --protocol p.toml --support 0 2 => support is 0, 2, the protocol says 0, 1
certify r.npz --protocol p.toml --threshold 0.6 => thresholds is 0.6, the protocol says 0.5
certify r.npz --protocol p.toml --force --json p.toml => --protocol and --json name the same file
certify few.npz --protocol p.toml => num_tasks is 39, the protocol says 40
BOARD --require 0.5 => --require is given, which a leaderboard does not take
BOARD --safety 0.9 => --safety is given, which a leaderboard does not take
BOARD --bound hoeffding => --bound is given, which a leaderboard does not take
BOARD --json b.npz --force => name the same file
BOARD --question ranking --require 0.5 => --require is given, which the order alone does not take
BOARD --question ranking --threshold 0.2 => --threshold is given, which the order alone does not take
compare r.npz b.npz c.npz --delta 0.1 => every policy
NAMES a,a => expected 2 different names
NAMES a,b,c => expected 2 different names
NAMES 'a,bell' => expected 2 different names
compare arms.csv --policy arm --delta 0.1 --names a,b => whose column names the policies
compare r.npz b.npz --margin 0 BASE --suite => the question 'improvement' is about new tasks
compare r.npz b.npz BASE --each-task --threshold 0.1 => expected --suite as well
compare r.npz b.npz BASE --mean --question improvement => --mean and --question are given
REQUIRE ASKED => cost is to be at most a number; expected complete=True (--complete)
REQUIRE ASKED --complete --value reward => --value given; --requirement already names the outcome columns
REQUIRE 'time >= 1 in 0 2' => has no column time
REQUIRE 'task >= 0.5 in 0 1' => task
REQUIRE ASKED --complete --threshold 0.5 => --threshold is given, which the question 'requirements' does not take
LOCK --support 0 10 --threshold 0.5 --bound clopper_pearson => clopper_pearson expects binary returns
LOCK --support 0 1 --safety 0.9 --method soft => expected another method
LOCK --support 0 1 --threshold 0.5 --tasks 100000000000000000000 => expected at most 2147483647 in all
lock p.toml --delta 0.05 --tasks 40 --rollouts 20 --support 0 1 --threshold 0.5 => p.toml
trial start new.npz COINS => suffix '.npz', expected one of .jsonl
trial start new.jsonl --threshold 0.8 --delta 0.05 --successes => --tasks is None; expected labels, A,B,..., or a number
trial start run.jsonl COINS => run.jsonl: exists, and is not replaced
trial status run.jsonl --json run.jsonl --force => name the same file
trial status run.jsonl --plot new.png => --plot is for policies in pairs; of tasks --json writes what is certified
trial status run.jsonl --report c.html => --report is for policies in pairs; of tasks --json writes what is certified
trial status ab.jsonl --plot new.txt => new.txt
trial status ab.jsonl --report new.txt => new.txt
trial status run.jsonl --json mine.json => mine.json: exists
trial add run.jsonl --task a => expected one of --success, --failure and --score, for a success or a failure
PAIRS new,old --threshold 0.5 => --threshold is given; --policies does not take it
PAIRS new,old --successes --support 0 1 => --successes and --support are given; expected one of them
trial start new.jsonl COINS --pairs 9 => --pairs is given; an experiment without
trial start new.jsonl --tasks 3 --delta 0.1 => expected --threshold, the performance to certify, or --policies A,B
certify s.npz --by a --threshold 0.5 --delta 0.1 => expected a table
plan --delta 0.1 --threshold 1 => --threshold needs PILOT
plan --delta 0.1 --lock new.toml => a table (without PILOT) does not take; a plan for new tasks
plan --delta 0.1 --against r.npz => does not take; a plan for two policies (--against, or --only A,B) does
plan r.npz --delta 0.1 --against b.npz --safety 0.9 => --safety is given, which a plan for two policies
plan --delta 0.1 --good 5 => which a table (without PILOT) does not take; a plan for the tasks of PILOT (--good) does
plan r.npz --delta 0.1 --good 5 --safety 0.9 => --safety is given, which a plan for the tasks of PILOT (--good) does not
plan r.npz --delta 0.1 --good 5 => --threshold is not given; expected the performance
plan r.npz --delta 0.1 --good 5 --threshold 0.5 => support
plan r.npz --delta 0.1 --threshold 0.5 --safety 0.5 => support
PLAN --threshold 0.5 --safety 0.8 --safety 0.9 => --safety is given several times
PLAN --threshold 0.5 --safety 0.7 --lock r.npz => PILOT and --lock name the same file
PLAN --threshold 0.5 --safety 0.7 --lock p.toml => exists
"""
LINES = CASES.strip("\n").split("\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Returns in arrays and tables, a protocol, logs of trials, and a file that is somebody's."""
    folder = tmp_path_factory.mktemp("refused")
    for name, returns in (("r", RETURNS), ("b", 0.9 * RETURNS), ("c", 0.8 * RETURNS), ("few", RETURNS[:39])):
        np.savez(folder / f"{name}.npz", returns=returns)
    (folder / "mine.json").write_text("mine")
    np.savez(folder / "s.npz", returns=np.ones((5, 4), bool))
    table(folder / "arms.csv", "task,arm,success", [(0, "a", 1), (1, "a", 1), (0, "b", 0), (1, "b", 1)])
    table(folder / "m.csv", "task,episode,reward,cost", [(*at, x, x / 2) for at, x in np.ndenumerate(RETURNS)])
    Protocol(**LOCKED).write(folder / "p.toml")
    for name, words in (("run", SHORT["COINS"]), ("ab", "--policies new,old --delta 0.05 --seed 1 --pairs 60")):
        assert command("trial", "start", folder / f"{name}.jsonl", *words.split()).status == 0
    return folder


@pytest.mark.parametrize("line", LINES)
def test_refused(line, folder, monkeypatch):
    monkeypatch.chdir(folder)
    words, message = line.split(" => ")
    for name, text in SHORT.items():
        words = words.replace(name, text)
    before = contents(folder)
    assert message in refused(*shlex.split(words.replace("bell", "b\x07")))
    assert contents(folder) == before


def contents(folder):
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".jsonl.lock")]
    return {path: path.read_bytes() for path in files}
