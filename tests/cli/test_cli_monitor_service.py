"""`jaxcert monitor` as a service, in processes of its own: two at a time on one file."""

import subprocess
import sys

import numpy as np
import pytest

from jaxcert.monitoring import Monitor, MonitoredClaim

pytest.importorskip("filelock")

OWN = ("--threshold", "0.5", "--epsilon", "0.1", "--successes", "--complete")


class Service:
    """One process, which is sent episodes and prints a row for each that it recorded."""

    def __init__(self, file):
        words = [sys.executable, "-m", "jaxcert", "monitor", "--state", str(file), *OWN, "--rows"]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.send("task,return\n")

    def send(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def row(self):
        return self.process.stdout.readline().decode().split(",")

    def end(self):
        """The rows that were not read yet, and what was said at the end."""
        out, err = self.process.communicate(timeout=300)
        assert self.process.returncode == 0
        return [line.split(",") for line in out.decode().splitlines()], err.decode()


@pytest.mark.slow
def test_two_processes_append_to_one_file(tmp_path):
    """They begin it at the same moment, take turns in both orders, then write at once, some of the same tasks."""
    one, other = Service(tmp_path / "m"), Service(tmp_path / "m")
    assert one.row()[0] == other.row()[0] == "number"
    turns = [(one, "a"), (other, "b"), (other, "c"), (one, "d"), (one, "e"), (other, "f")]
    for number, (service, task) in enumerate(turns, start=1):
        service.send(f"{task},1\n")
        assert service.row()[:2] == [str(number), task]
    values = np.random.default_rng(0).random(3000) < 0.97
    for first in range(0, 2000, 50):
        one.send("".join(f"t{i},{values[i]:d}\n" for i in range(first, first + 50)))
        other.send("".join(f"t{i},{values[i]:d}\n" for i in range(first + 1000, first + 1050)))
    other.send("a,1\n")
    ends = [service.end() for service in (one, other)]
    assert all(said.startswith("No alarm: ") for _, said in ends)
    rows = Monitor(tmp_path / "m").rows
    assert sorted(row.label for row in rows) == sorted([*(task for _, task in turns), *(f"t{i}" for i in range(3000))])
    printed = [row for rest, _ in ends for row in rest]
    assert sorted(int(row[0]) for row in printed) == list(range(7, 3007))  # each by the process that recorded it
    assert {int(row[0]): row[1] for row in printed} == {row.number: row.label for row in rows[6:]}
    for rest, _ in ends:
        mine = [int(row[1][1:]) for row in rest]
        assert mine
        assert mine == sorted(mine)  # in the order in which they were sent
    whole = Monitor.start(tmp_path / "whole", MonitoredClaim(0.5, 0.1), successes=True, complete=True)
    whole.add([(row.label, row.returns) for row in rows])
    assert whole.rows == rows
