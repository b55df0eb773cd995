"""`jaxcert monitor`: streams, exit status, rows, restarts after kill -9."""

import hashlib
import io
import sys

import pytest
from cli_harness import command, refused

import jaxcert
from jaxcert.monitoring import Monitor, claim_of
from jaxcert.report import certificate_record, write_certificates

NOTHING_READ = "warning: no episode was read from standard input\n"
OWN = ("--threshold", 0.5, "--epsilon", 0.1, "--successes", "--complete")


@pytest.fixture
def stream(monkeypatch):
    """Gives the standard input of the commands to come."""

    def give(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    return give


def test_rows_exit_status_and_plot(stream, tmp_path):
    file, plot = tmp_path / "run.monitor", tmp_path / "evidence.png"
    stream("task,success\na,pass\nb,fail\n")
    status, out, err = command("monitor", "--state", file, *OWN, "--rows", "--plot", plot)
    assert status == 0
    assert [line.split(",")[:4] for line in out.splitlines()[1:]] == [["1", "a", "1", "0"], ["2", "b", "0", "1"]]
    assert err.startswith("No alarm: ")
    assert plot.read_bytes().startswith(b"\x89PNG")
    stream("".join(f'{{"task": {i}, "return": 0}}\n' for i in range(40)))
    status, out, err = command("monitor", "--state", file)
    assert status == 1
    assert out.startswith("ALARM after task ")
    assert err.count("alarm after task") == 1
    stream("")
    assert command("monitor", "--state", file) == (1, out, NOTHING_READ)
    assert len(Monitor(file).rows) == 42


def test_a_certificate_file_is_monitored(stream, tmp_path):
    returns = jaxcert.sample_returns("cheetah")
    found = jaxcert.certify(returns, [400.0, 500.0], support=(0, 1000), delta=0.01)
    write_certificates(tmp_path / "c.json", [certificate_record(found, support=(0, 1000))])
    stream("task,return\n" + "".join(f"{i},{900 + j}\n" for i in range(20) for j in range(5)))
    settings = ("monitor", tmp_path / "c.json", "--state", tmp_path / "m", "--rollouts", 5, "--complete")
    assert "has 2 thresholds" in refused(*settings)
    status, out, _ = command(*settings, "--threshold", 500)
    assert status == 0
    assert "the expected return is at least 500 with probability at least 0.9249" in out
    assert "confidence in both the certificate and the alarm: 0.93" in out
    monitor = Monitor(tmp_path / "m")
    assert (len(monitor.rows), monitor.declared.support) == (20, (0, 1000))


def test_an_edited_sentence_of_a_certificate_is_no_claim(stream, tmp_path):
    found = jaxcert.certify(jaxcert.sample_returns("cheetah"), 500.0, support=(0, 1000), delta=0.01)
    record = certificate_record(found, support=(0, 1000))
    (row,) = record["rows"]
    row["sentence"] = row["sentence"].replace("probability at least 0.9249", "probability at least 0.9949")
    write_certificates(tmp_path / "c.json", [record])  # with the digest of what was edited
    stream("task,return\na,900\n")
    told = refused("monitor", tmp_path / "c.json", "--state", tmp_path / "m", "--complete")
    assert f"{tmp_path / 'c.json'}: its sentence says 'on a new task" in told
    assert "its numbers that on a new task from the same distribution, the expected return is at least 500 with" in told
    assert not (tmp_path / "m").exists()
    written = tmp_path / "c.json"
    write_certificates(written, [certificate_record(found, support=(0, 1000))])
    written.write_text(written.read_text().replace('"delta": 0.0', '"delta": 0.001'))
    told = refused("monitor", written, "--state", tmp_path / "m", "--complete")
    assert "was altered after it was written: its digest is that of another content" in told


def test_words_are_refused_where_they_are_no_returns(stream, tmp_path):
    """A success is 1, which would be next to nothing in [0, 1000]."""
    own = ("--threshold", 500, "--epsilon", 0.1, "--support", 0, 1000, "--complete")
    for text in ("task,return\na,pass\n", '{"task": "a", "return": true}\n'):
        stream(text)
        told = refused("monitor", "--state", tmp_path / "m", *own)
        assert "expected a number, since the support is not [0, 1]" in told


def test_a_certificate_of_means_is_refused(stream, tmp_path):
    found = jaxcert.certify_mean(jaxcert.sample_returns("cheetah"), support=(0, 1000), delta=0.01)
    write_certificates(tmp_path / "c.json", [certificate_record(found, support=(0, 1000))])
    stream("")
    message = refused("monitor", tmp_path / "c.json", "--state", tmp_path / "m", "--complete")
    assert "the question 'mean'" in message
    assert "has no answer that is monitored" in message
    assert not (tmp_path / "m").exists()


def test_options_that_a_monitor_did_not_begin_with_are_refused(stream, tmp_path):
    file, began = tmp_path / "m", (*OWN, "--rollouts", 2, "--alpha", 0.04)
    stream("task,return\na,1\na,0\n")
    assert command("monitor", "--state", file, *began).status == 0
    before = file.read_bytes()
    stream("")
    assert command("monitor", "--state", file, *began, "--support", 0, 1).status == 0
    for message, other in {
        "threshold is 0.6; the monitor began with 0.5, which is fixed": ("--threshold", 0.6),
        "epsilon is 0.2; the monitor began with 0.1": ("--epsilon", 0.2),
        "alpha is 0.05; the monitor began with 0.04": ("--alpha", 0.05),
        "num_rollouts is 1; the monitor began with 2": ("--rollouts", 1),
        "support is (0.0, 2.0); the monitor began with (0.0, 1.0)": ("--support", 0, 2),
        "beta is 0.1; the monitor began with None": ("--beta", 0.1),
    }.items():
        stream("task,return\nb,0\nb,0\n")
        assert message in refused("monitor", "--state", file, *other)
    assert file.read_bytes() == before


def test_another_certificate_is_refused(stream, tmp_path):
    for name, delta in (("one", 0.01), ("other", 0.02)):
        found = jaxcert.certify(jaxcert.sample_returns("cheetah"), 500.0, support=(0, 1000), delta=delta)
        write_certificates(tmp_path / name, [certificate_record(found, support=(0, 1000))])
    file, own = tmp_path / "m", tmp_path / "own"
    stream("")
    began = ("--complete", "--rollouts", 5)
    for _ in range(2):
        assert command("monitor", tmp_path / "one", "--state", file, *began).status == 0
    one, other = (hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("one", "other"))
    assert Monitor(file).declared.certificate_sha256 == one
    message = refused("monitor", tmp_path / "other", "--state", file, *began)
    assert f"certificate_sha256 is {other}; the monitor began with {one}, which is fixed" in message
    assert "successes is True; the monitor began with False" in refused("monitor", "--state", file, "--successes")
    assert command("monitor", "--state", own, *OWN).status == 0
    message = refused("monitor", tmp_path / "one", "--state", own)
    assert (
        "began without a certificate's file, with the claim that on a new task, the performance is below 0.5" in message
    )
    assert "one claims that on a new task from the same distribution, the expected return is at least 500" in message
    assert "expected a certificate of that claim, none, or a new --state" in message


def test_a_monitor_of_python_takes_the_certificate_whose_claim_it_watches(stream, tmp_path):
    found = jaxcert.certify(jaxcert.sample_returns("cheetah"), [400.0, 500.0], support=(0, 1000), delta=0.01)
    write_certificates(tmp_path / "c.json", [certificate_record(found, support=(0, 1000))])
    claim = claim_of(found, threshold=500.0)
    Monitor.start(tmp_path / "m", claim, support=(0, 1000), num_rollouts=5, complete=True)
    stream("")
    again = ("monitor", tmp_path / "c.json", "--state", tmp_path / "m")
    assert command(*again, "--threshold", 500).status == 0
    message = refused(*again, "--threshold", 400)
    assert "the expected return is at least 400" in message
    for name, other in {"delta": 0.02, "epsilon": claim.epsilon / 2, "words": "new tasks are good"}.items():
        path = tmp_path / name
        Monitor.start(path, claim._replace(**{name: other}), support=(0, 1000), num_rollouts=5, complete=True)
        assert "expected a certificate of that claim" in refused(
            "monitor", tmp_path / "c.json", "--state", path, "--threshold", 500
        )


def test_nothing_to_read_is_said_and_is_no_error(stream, tmp_path):
    for text in ("", "\n\n", "task,return\n"):
        stream(text)
        status, out, err = command("monitor", "--state", tmp_path / "m", *OWN)
        assert (status, err) == (0, NOTHING_READ)
        assert "(0 tasks, 0 of them against it" in out
    stream("task,return\na,1\n")
    assert command("monitor", "--state", tmp_path / "m").err == ""


def test_an_alarm_is_told_where_the_stream_ends_in_a_task(stream, tmp_path):
    lines = [f"{task},0" for task in range(40) for _ in range(2)]
    stream("\n".join(["task,return", *lines, "last,0", ""]))
    status, out, err = command("monitor", "--state", tmp_path / "m", *OWN, "--rollouts", 2)
    assert status == 2
    assert out.startswith("ALARM after task ")
    assert err.splitlines()[-1].startswith("error: the stream ends after 1 of 2 rollouts of task last")


BAD = {
    "no object of JSON: Expecting ':' delimiter after '{\"task\"'; expected a whole one in each line": '{"task"\n',
    "line 1: begins with a brace, but is no object of JSON: Extra data after ": (
        '{"task": "a", "return": 1} {"task": "b", "return": 1}\n'
    ),
    'it has [1, 2]; expected CSV with a header such as task,return, or lines of JSON such as {"task"': "[1, 2]\n",
    "line 1: the header lacks task_id": "x,return\n",
    "line 3: has 3 entries; expected 2": "task,return\na,1\nb,1,1\n",
    "line 3: the return is 'oops'; expected a finite number": "task,return\na,1\nb,oops\n",
    "line 3: the return is 'nan'": "task,return\na,1\nb,nan\n",
    "line 2: has no total_return; expected a task and its return": '{"task":"a","return":1}\n{"task":"b"}\n',
    "line 2: the key 'task' occurs twice": '{"task":"a","return":1}\n{"task":"b","task":"c","return":1}\n',
    "line 4: the task is 'a ', and was 'a', which differ in blanks alone; expected one spelling": (
        "task,return\na,1\n b ,1\na ,1\n"
    ),
    "line 3: the task is ' a', and was 'a'": "task,return\na,1\n a,0\n",
    "line 2: the task is None; expected a label": '{"task":"a","return":1}\n{"task":null,"return":1}\n',
    "task b: returns[0] is 2; expected 0 or 1": "task,return\nb,2\n",
    "task a is recorded with returns 1; expected the same, not 0": "task,return\na,1\na,0\n",
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_refused_by_its_place(message, stream, tmp_path):
    stream(BAD[message])
    assert message in refused("monitor", "--state", tmp_path / "m", *OWN)


def test_tasks_before_a_bad_line_are_recorded(stream, tmp_path):
    stream("task,return\na,1\nb,0\nc,oops\n")
    refused("monitor", "--state", tmp_path / "m", *OWN)
    assert [row.label for row in Monitor(tmp_path / "m").rows] == ["a", "b"]


def test_rollouts_of_a_task_come_in_a_row(stream, tmp_path):
    stream("task,return\na,1\nb,0\n")
    settings = ("monitor", "--state", tmp_path / "m", *OWN, "--rollouts", 2)
    assert "task b begins after 1 of 2 rollouts of task a" in refused(*settings)
    stream("task,return\na,1\na,0\nb,1\n")
    assert "the stream ends after 1 of 2 rollouts of task b, which is not recorded" in refused(*settings)
    assert [row.label for row in Monitor(tmp_path / "m").rows] == ["a"]


def test_a_monitor_is_declared(stream, tmp_path):
    stream("")
    assert "complete is False; expected True" in refused("monitor", "--state", tmp_path / "m", *OWN[:-1])
    assert "expected CERTIFICATE, or --threshold and --epsilon" in refused("monitor", "--state", tmp_path / "m")
