"""A folder of Parquet files with more rollouts than memory holds."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

NUM_ROWS, NUM_TASKS, NUM_FILES, BINS = 10**8, 10**5, 20, 100
_READ = """
import sys, time
import jaxcert
from jaxcert.tables import read_summary
folder, bins = sys.argv[1], int(sys.argv[2])
begin = time.perf_counter()
data = read_summary(folder, support=(0, 1), num_bins=bins)
read, total = time.perf_counter() - begin, int(data.num_rollouts.sum())
found = jaxcert.certify(data.returns, 0.4, delta=0.01, bound="dkw")
print(f"{read:.1f} s, {total / read / 1e6:.2f} million rows/s; safety at 0.4 {found.safety[0]:.6f}")
"""


def streaming(folder: Path) -> Iterator[str]:
    """Read in a new process; the folder is written if there is none."""
    if not folder.exists():
        write(folder)
    size = sum(file.stat().st_size for file in folder.iterdir())
    yield f"{size / 1e9:.2f} GB in {folder}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} threads"
    yield f"{BINS} bins: {measured(folder, BINS)}"
    yield f"load {os.getloadavg()[0]:.1f}"


def write(folder: Path) -> None:
    """Rows in random order, the worst case, since each one is of another task."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    folder.mkdir()
    rows = NUM_ROWS // NUM_FILES
    for number in range(NUM_FILES):
        rng = np.random.default_rng(number)
        task = rng.integers(0, NUM_TASKS, rows, dtype=np.int32)
        skill = np.random.default_rng(task.size).uniform(0.5, 1, NUM_TASKS)[task]
        columns = {
            "task_id": task,
            "episode_id": np.arange(number * rows, (number + 1) * rows),
            "total_return": (skill * rng.beta(8, 2, rows)).astype(np.float32),
        }
        parquet.write_table(pa.table(columns), folder / f"part-{number:05}.parquet")


def measured(*arguments: object) -> str:
    """What the script prints, with its time and the most memory that it held.

    Seconds of the processors say more than those of a clock where others are at work, too.
    """
    begin = time.perf_counter()
    command = [sys.executable, "-c", _READ, *map(str, arguments)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    said = running.stdout.read().strip()
    _, status, used = os.wait4(running.pid, 0)
    text = said if status == 0 else f"failed with status {os.waitstatus_to_exitcode(status)}"
    wall, processor = time.perf_counter() - begin, used.ru_utime + used.ru_stime
    return f"{text}; in all {wall:.1f} s, of processors {processor:.1f} s, at most {used.ru_maxrss / 2**10:,.0f} MiB"
