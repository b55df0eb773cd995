"""`jaxcert monitor`: exit status, what it goes on with, and what is said of its input."""

import hashlib
import io
import json
import os
import shutil
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from chained_logs import entries_of, log_of
from cli_harness import command, refused, said, session, table

import jaxcert
from jaxcert.monitoring import Monitor, claim_of
from jaxcert.report import certificate_record, document_digest, write_certificates

NOTHING_READ = "warning: no episode was read from standard input\n"
OWN = ("--threshold", 0.5, "--epsilon", 0.1, "--successes", "--complete")


@pytest.fixture
def stream(monkeypatch):
    """Gives the standard input of the commands to come."""

    def give(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    return give


def certificate(path, thresholds=500.0, delta=0.01, certify=jaxcert.certify):
    """The answer about the cheetah, and its file."""
    asked = () if thresholds is None else (thresholds,)
    found = certify(jaxcert.sample_returns("cheetah"), *asked, support=(0, 1000), delta=delta)
    write_certificates(path, [certificate_record(found, support=(0, 1000))])
    return found


def test_the_exit_status(stream, tmp_path):
    file = tmp_path / "run.monitor"
    stream("task,success\na,pass\nb,fail\n")
    assert said("monitor", "--state", file, *OWN).startswith("No alarm: ")
    stream("".join(f'{{"task": {i}, "return": 0}}\n' for i in range(40)))
    status, out, err = command("monitor", "--state", file)
    assert status == 1
    assert out.startswith("ALARM after task ")
    assert err.count("alarm after task") == 1
    stream("")
    assert command("monitor", "--state", file) == (1, out, NOTHING_READ)
    assert len(Monitor(file).rows) == 42


def test_what_came_before_a_pause_is_looked_at(monkeypatch, tmp_path):
    """Before the input ends, which is damaged here."""
    (read, write), file = os.pipe(), tmp_path / "m"
    stdin = os.fdopen(read)
    monkeypatch.setattr(sys, "stdin", stdin)
    os.write(write, b"task,success\n" + b"".join(b"%d,fail\n" % i for i in range(40)))

    def end():
        for _ in range(300):
            if file.exists() and '"39"' in file.read_text():
                break
            time.sleep(0.1)
        os.write(write, b"40,1,2\n")
        os.close(write)

    sender = threading.Thread(target=end)
    sender.start()
    status, out, err = command("monitor", "--state", file, *OWN)
    sender.join()
    stdin.close()
    assert (status, len(Monitor(file).rows)) == (2, 40)
    assert err.index("alarm after task") < err.index("error: ")
    assert out.startswith("ALARM")


def test_a_certificate_file_is_monitored(stream, tmp_path):
    certificate(tmp_path / "c.json", [400.0, 500.0])
    stream("task,return\n" + "".join(f"{i},{900 + j}\n" for i in range(20) for j in range(5)))
    settings = ("monitor", tmp_path / "c.json", "--state", tmp_path / "m", "--rollouts", 5, "--complete")
    assert "has 2 thresholds" in refused(*settings)
    status, out, _ = command(*settings, "--threshold", 500)
    assert status == 0
    assert "the expected return is at least 500 with probability at least 0.9249" in out
    assert "confidence in both the certificate and the alarm: 0.93" in out
    monitor = Monitor(tmp_path / "m")
    assert (len(monitor.rows), monitor.declared.support) == (20, (0, 1000))


def test_an_edited_certificate_is_no_claim(stream, tmp_path):
    certificate(written := tmp_path / "c.json")
    written.write_text(written.read_text().replace('"delta": 0.0', '"delta": 0.001'))
    stream("task,return\na,900\n")
    told = refused("monitor", written, "--state", tmp_path / "m", "--complete")
    assert "was altered after it was written: its digest is that of another content" in told
    assert not (tmp_path / "m").exists()


@pytest.fixture(scope="module")
def monitors(tmp_path_factory):
    """Certificates, and the files of monitors that began with them, or with claims of their own."""
    folder, cheetah = tmp_path_factory.mktemp("monitors"), [400.0, 500.0]
    claim = claim_of(certificate(folder / "c.json", cheetah), threshold=500.0)
    certificate(folder / "other.json", cheetah, delta=0.02)
    certificate(folder / "one.json")
    for name, returns, support in (
        ("coins", np.ones((40, 10), bool), (0, 1)),
        ("scores", np.full((40, 10), 0.9), (0, 2)),
    ):
        found = jaxcert.certify(returns, 0.6, support=support, delta=0.05)
        write_certificates(folder / f"{name}.json", [certificate_record(found, support=support)])
    for name, other in {"delta": 0.02, "epsilon": claim.epsilon / 2, "python": 500.0}.items():
        changed = claim if name == "python" else claim._replace(**{name: other})
        Monitor.start(folder / name, changed, support=(0, 1000), num_rollouts=5, complete=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for begun, text in {
            "--state own --threshold 0.5 --epsilon 0.1 --successes --complete --rollouts 2 --alpha 0.04": "a,1\na,0\n",
            "--state plain --threshold 0.5 --epsilon 0.1 --successes --complete": "",
            "c.json --threshold 500 --state given --complete": "".join(f"{i},900\n" for i in range(5)),
            "coins.json --rollouts 4 --state coins --successes --complete": "",
            "scores.json --rollouts 4 --state scores --complete": "",
        }.items():
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"task,return\n{text}".encode())))
            session(f"monitor {begun} ~>")
    return folder


def altered(file, to, **entries):
    """The monitor of a file with other entries in its first line, `claim_x` for those of its claim, and all hashes."""
    first, *others = entries_of(file)
    for name, value in entries.items():
        part = first["claim"] if name.startswith("claim_") else first
        part[name.removeprefix("claim_")] = value
    to.write_bytes(log_of([first, *others]))


GIVEN, FIXED = "c.json --threshold 500", ", which is fixed"
# With which file a monitor goes on, what is altered there, what is asked, and what is said: with nothing but what it
# began with, or what follows from the certificate that is given. Whoever alters such a file can compute its hashes
# again; levels and numbers that were chosen after the tasks would raise any alarm, or none.
GOES_ON = [
    ("own", {}, "--threshold 0.5 --epsilon 0.1 --successes --complete --rollouts 2 --alpha 0.04 --support 0 1", "~>"),
    ("own", {}, "--threshold 0.6", f"=> threshold is 0.6; the monitor began with 0.5{FIXED}"),
    ("own", {}, "--epsilon 0.2", "=> epsilon is 0.2; the monitor began with 0.1"),
    ("own", {}, "--alpha 0.05", "=> alpha is 0.05; the monitor began with 0.04"),
    ("own", {}, "--rollouts 1", "=> num_rollouts is 1; the monitor began with 2"),
    ("own", {}, "--support 0 2", "=> support is (0.0, 2.0); the monitor began with (0.0, 1.0)"),
    ("plain", {}, "one.json", f"=> support is (0.0, 1000.0); the monitor began with (0.0, 1.0){FIXED}"),
    ("plain", {}, "one.json --successes",
     "=> threshold of its claim is 0.5; the claim that was given has 500: expected the claim that it beg"),
    ("given", {}, GIVEN, "~> expected return is at least 500 with probability at least 0.9249 (5 tasks"),
    ("given", {}, "c.json", "=> the certificate has 2 thresholds; expected threshold"),
    ("given", {}, "other.json --threshold 500", f"=> certificate_sha256 is OTHER; the monitor began with ONE{FIXED}"),
    ("given", {}, "--successes", "=> successes is True; the monitor began with False"),
    ("given", {"claim_threshold": 400}, GIVEN, f"=> threshold is 500.0; the monitor began with 400.0{FIXED}"),
    ("given", {"claim_epsilon": 0.01}, GIVEN, f"=> epsilon of its claim is {0.01:.17g}; the claim that was given has"),
    ("given", {"claim_delta": 1e-6}, GIVEN, f"=> delta of its claim is {1e-6:.17g}; the claim that was given has"),
    ("given", {"support": [0, 2000]}, GIVEN, "=> support is (0.0, 1000.0); the monitor began with (0.0, 2000.0)"),
    ("given", {"support": [0, 2000]}, f"{GIVEN} --support 0 2000", "~>"),  # as one that began with it
    ("given", {"alpha": 0.5}, GIVEN, "=> alpha is 0.05; the monitor began with 0.5"),
    ("given", {"claim_words": "all is well"}, GIVEN, "~> expected return is at least 500 with probability at least 0."),
    ("given", {"claim_words": "all is well"}, "",
     "~> the claim that on a new task, the performance is below 500 with probability at most 0.0750"),
    ("python", {}, f"{GIVEN} --rollouts 5", "~>"),
    ("python", {}, "c.json --threshold 400 --rollouts 5", "=> threshold is 400.0; the monitor began with 500.0, which"),
    *((name, {}, f"{GIVEN} --rollouts 5", f"=> {name} of its claim is") for name in ("delta", "epsilon")),
    *((name, {}, f"{name}.json --rollouts 4", "~>") for name in ("coins", "scores")),
    *(
        (name, changed, f"{name}.json --rollouts 4", f"=> {message}")
        for name, changed, message in (
            ("coins", {"most_successes": 3}, "most_successes is 0; the monitor began with 3"),
            ("coins", {"successes": False, "most_successes": None, "beta": 0.1}, f"the monitor began with 0.1{FIXED}"),
            ("scores", {"beta": 0.3}, f"the monitor began with 0.3{FIXED}"),
            *(("scores", {"alpha": alpha}, "alpha is 0.05; the monitor began with") for alpha in (1e-9, 0.9)),
            *((x, {"num_rollouts": 3}, "num_rollouts is 4; the monitor began w") for x in ("coins", "scores")),
            ("scores", {"certificate_sha256": "0" * 64}, f"{FIXED[2:]}: expected the same, none, or a new file"),
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("file", "changed", "asked", "said"), GOES_ON)
def test_a_monitor_goes_on_with_what_it_began_with(file, changed, asked, said, monitors, stream, there):
    for path in monitors.iterdir():
        shutil.copy(path, there)
    altered(there / file, there / "m", **changed)
    before = (there / "m").read_bytes()
    stream("task,return\nb,0\nb,0\n" if said.startswith("=>") else "")
    for name, path in (("ONE", "c.json"), ("OTHER", "other.json")):
        said = said.replace(name, hashlib.sha256((there / path).read_bytes()).hexdigest())
    session(f"monitor {asked} --state m {said}")
    assert (there / "m").read_bytes() == before


def test_an_alarm_is_told_where_the_input_ends_in_a_task(stream, tmp_path):
    lines = [f"{task},0" for task in range(40) for _ in range(2)]
    stream("\n".join(["task,return", *lines, "last,0", ""]))
    status, out, err = command("monitor", "--state", tmp_path / "m", *OWN, "--rollouts", 2)
    assert status == 2
    assert out.startswith("ALARM after task ")
    assert err.splitlines()[-1].startswith("error: task last has 1 rollouts; expected 2, as declared (one that broke")


RETURNS = ("--threshold", 500, "--epsilon", 0.1, "--support", 0, 1000, "--complete")
COSTS = ("--threshold", 0.5, "--epsilon", 0.1, "--support", 0, 1, "--complete", "--value", "cost")
PAIRS, FIVE = (*OWN, "--rollouts", 2), (*OWN, "--rollouts", 5)
TWO_POLICIES = "task,return,policy\n" + "".join(f"{i},1,{arm}\n" for i in range(6) for arm in "ab")
OF_STEPS = "{},task,return\n" + "".join(f"{j},z,1\n" for j in range(5))
A_NUMBER = "expected a number, since the support is not [0, 1]"
DEEP = '{"a": ' * 900 + "1" + "}" * 900
OF_TWO = "".join(f'{{"task": {i}, "return": 1, "policy": "{"ab"[i > 15]}", "path": [{i}]}}\n' for i in range(20))
NUDGES = "".join(f"{i},1,{i % 2},{i % 3 == 0}\n" for i in range(20))
STEPS = "".join(f"{i},1,{i * 3 + j},{150 + 50 * j + i},{10**400}\n" for i in range(3) for j in range(2))
# Options, what is sent, the exit status, the tasks that are recorded then, and parts of what is said on stderr.
SENT = [
    (RETURNS, "task,return\na,pass\n", 2, 0, [A_NUMBER]),
    (RETURNS, '{"task": "a", "return": true}\n', 2, 0, [A_NUMBER]),
    ((*RETURNS, "--unfinished", 0), "task,return\na,900\nb,error\n", 0, 2, []),
    ((*RETURNS, "--unfinished", 900), "task,return\na,900\nb,error\n", 2, 0, ["is 900; expected 0, the worst return"]),
    (
        (*OWN, "--value", "failed"),
        "task,failed\na,yes\nb,yes\n",
        2,
        0,
        ["is named after failures, not successes"],
    ),
    (COSTS, "task,cost\na,0.5\nb,0.25\n", 0, 2, ["column cost is a cost by its name"]),
    (OWN, "task,success\nmug-1,1\nmug\u20131,1\ncup,1\ncup.,1\n", 0, 4, ["counted twice", "'mug-1' and 'mug\u20131'"]),
    (
        OWN,
        f"task,return,nudges,intervention\n{NUDGES}",
        0,
        20,
        ["'intervention' sets 7 of 20 trials aside", ": nudges, intervention\n"],
    ),
    (OWN, "task,return\na,1\ntask,return\nb,0\n", 2, 0, ["row 2: task is 'task', expected the names of columns"]),
    (OWN, f'{{"task": "a", "return": 1, "more": {DEEP}}}\n', 0, 1, []),
    (OWN, "task,return,assisted\na,1,1\nb,0.", 2, 0, ["damaged or cut short"]),
    (OWN, "task,return\na,1\nb,0", 0, 2, ["its last line has no line ending"]),
    (OWN, "\ufefftask,return\na,1\n", 0, 1, []),
    (OWN, '{"task"\n', 2, 0, ["cannot be read as JSON Lines, damaged or cut short"]),
    (OWN, "x,return\n", 2, 0, ["has no column task_id; found 'x', 'return'"]),
    (OWN, "task,return\na,1\nb,oops\n", 2, 0, ["row 2: return is 'oops', expected a finite number"]),
    (OWN, "task,return\na,1\nb,2\n", 2, 0, ["returns[0] of task b is 2; expected binary returns, 0 or 1"]),
    (OWN, "task,return\na,1\na,0\n", 2, 0, ["task a has 2 rollouts; expected 1, as declared"]),
    (PAIRS, f"task,return,message,num_steps,nonce\n{STEPS}", 0, 3, ["one policy: num_steps, message\n"]),
    (PAIRS, "task,return\na,1\nb,0\n", 2, 0, ["task a has 1 rollouts; expected 2, as declared"]),
    (PAIRS, "task,return\na,1\na,0\nb,1\n", 2, 1, ["task b has 1 rollouts", "one that broke off has the worst return"]),
    (PAIRS, TWO_POLICIES, 2, 0, ["rows of the same task differ in column 'policy'", "(--where, --policy)"]),
    ((*OWN, "--where", "policy = a"), TWO_POLICIES, 0, 6, []),
    ((*OWN, "--policy", "policy", "--only", "b"), TWO_POLICIES, 0, 6, []),
    (PAIRS, TWO_POLICIES.replace("policy", "mode"), 0, 6, ["column 'mode', of few entries", "one policy: mode\n"]),
    (OWN, OF_TWO, 0, 20, ["warning: not read, so all rows count as one policy: policy, path\n"]),
    (PAIRS, "".join(f'{{"task": "a", "return": 1, "model": "{x}"}}\n' for x in "pq"), 2, 0, ["in column 'model'"]),
    (PAIRS, "".join(f'{{"task": "a", "return": 1, "agent": {{"name": "{x}"}}}}\n' for x in "pq"), 2, 0, ["'agent'"]),
    (FIVE, OF_STEPS.format("step"), 2, 0, ["column 'step' counts the steps of an episode"]),
    (OWN, OF_STEPS.format("t"), 2, 0, ["column 't' counts the steps of an episode"]),
    (OWN, "", 0, 0, [NOTHING_READ]),
    (OWN, "\n\n", 0, 0, [NOTHING_READ]),
    (OWN, "task,return\n", 0, 0, [NOTHING_READ]),
]


@pytest.mark.parametrize(("options", "text", "wanted", "num_tasks", "parts"), SENT)
def test_what_is_said_of_what_is_sent(options, text, wanted, num_tasks, parts, stream, tmp_path):
    """Each thing once, and not a word where there is nothing to say."""
    stream(text)
    status, out, err = command("monitor", "--state", tmp_path / "m", *options)
    assert (status, wanted > 0 or f"({num_tasks} task" in out) == (wanted, True), err
    assert len(Monitor(tmp_path / "m").rows) == num_tasks
    assert all(err.count(part) == 1 for part in parts), err
    assert bool(parts) == bool(err), err
    assert NOTHING_READ not in parts or err == NOTHING_READ


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """A certificate file of rows of one policy and condition, with a column of outcomes of its own."""
    folder = tmp_path_factory.mktemp("certified")
    kinds = [(policy, arm) for policy in ("pi0", "act") for arm in ("clean", "noisy")]
    rows = [(f"k{i}", j, policy, arm, 1, j % 2) for policy, arm in kinds for i in range(40) for j in range(5)]
    table(folder / "t.csv", "task,trial,policy,arm,grasp,success", rows)
    picked = ("--policy", "policy", "--only", "pi0", "--where", "arm != noisy", "--where", "trial != 4")
    asked = ("--delta", 0.1, "--threshold", 0.5, "--value", "grasp", "--json", folder / "c.json")
    assert command("certify", folder / "t.csv", *picked, *asked).status == 0
    return folder / "c.json"


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        ("policy,grasp", "act,1", "error: the certificate is for rows with 'policy = pi0', but here policy is 'act'"),
        ("arm,grasp", "noisy,1", "error: the certificate is for rows with 'arm != noisy', but here arm is 'noisy'"),
        ("grasp,success", "1,1", "error: the certificate is for the value in 'grasp', which these rows also have, but"),
        ("success", "1", "warning: the certificate is for the values in 'grasp', but 'success' is read"),
        ("task_id,grasp", "{0}x,1", "error: the certificate is for the task in 'task', which these rows also have"),
        ("policy,arm,trial,grasp", "pi0,clean,4,1", ""),
        ("return", "1", ""),
    ],
)
def test_an_input_of_what_is_not_certified_is_told(certified, stream, tmp_path, header, row, message):
    rows = "".join(f"n{i},{row.format(i)}\n" for i in range(3))
    stream(f"task,{header}\n{rows}")
    value = ("--value", header.split(",")[-1])
    status, _, err = command("monitor", certified, "--state", tmp_path / "m", "--complete", *value)
    assert (status, err.startswith(message), bool(err)) == (2 if "error" in message else 0, True, bool(message)), err
    assert len(Monitor(tmp_path / "m").rows) == (0 if "error" in message else 3)


def test_a_claim_about_a_group_names_it(stream, there):
    """Refused are a group that the file does not pick, one that its sentence does not name, and another quantity."""
    table("t.csv", "task,trial,kind,success", [(f"k{i}", j, "push: it", 1) for i in range(40) for j in range(5)])
    stream("task,success\n" + "".join(f"n{i},1\n" for i in range(3)))
    session("""
        certify t.csv --by kind --threshold 0.5 --delta 0.1 --json c.json
        monitor c.json --state m --complete -> the claim that where kind = "push: it", on a new task from the same
    """)
    stream("task,kind,success\nn0,pick,0\n")
    session("monitor c.json --state o --complete => is for rows with 'kind = push: it', but here kind is 'pick'")
    stream("task,success\n" + "".join(f"n{i},1\n" for i in range(3)))
    for told, old, new in (
        ("its group is 'kind = all', which is not among", '"group": "kind = push: it"', '"group": "kind = all"'),
        ("by its delta, and where kind = ", ', where kind = \\"push: it\\"', ""),
        ("expected them to agree", "probability of success", "expected return"),
    ):
        document = json.loads(Path("c.json").read_text().replace(old, new))
        document["digest"] = document_digest(document)
        Path("d.json").write_text(json.dumps(document))
        session(f"monitor d.json --state n --complete => {told}")


def test_a_monitor_is_declared(stream, tmp_path):
    stream("")
    assert "complete is False; expected True" in refused("monitor", "--state", tmp_path / "m", *OWN[:-1])
    assert "expected CERTIFICATE, or --threshold and --epsilon" in refused("monitor", "--state", tmp_path / "m")
