"""A folder of Parquet files with more rollouts than memory holds: `python -m benchmarks.streaming FOLDER`.

Writes the folder if there is none: rows in random order, the worst case, since each one is of another task. Then each
number of processes reads it in a new process; what they hold together is added up every 50 ms from /proc, so that this
needs Linux. `--engines` runs the same count by DuckDB and Polars, where they are installed.
"""

import argparse
import importlib.util
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

_READ = """
import sys, time
if __name__ == "__main__":
    import jaxcert
    from jaxcert.tables import read_summary
    folder, processes, bins = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    begin = time.perf_counter()
    data = read_summary(folder, support=(0, 1), num_bins=bins or None, processes=processes)
    read, total = time.perf_counter() - begin, int(data.num_rollouts.sum())
    bound = "dkw" if bins else "hoeffding"
    found = jaxcert.certify(data.returns, 0.4, delta=0.01, bound=bound)
    print(f"{read:.1f} s, {total / read / 1e6:.2f} million rows/s; safety at 0.4 {found.safety[0]:.6f}")
"""
_DUCKDB = """
import sys, duckdb
connection = duckdb.connect()
connection.execute(f"set threads = {sys.argv[2]}; set temp_directory = ''")
place = "least(floor(total_return::double * 100), 100)"
query = f"select task_id, {place} place, count(*) from read_parquet('{sys.argv[1]}/*.parquet') group by 1, 2"
print(len(connection.execute(query).fetchnumpy()["place"]), "counts")
"""
_POLARS = """
import os, sys
os.environ["POLARS_MAX_THREADS"] = sys.argv[2]
import polars
place = (polars.col("total_return").cast(float) * 100).floor().clip(0, 100).cast(int).alias("place")
rows = polars.scan_parquet(sys.argv[1] + "/*.parquet").group_by("task_id", place).len()
print(rows.collect(engine="streaming").height, "counts")
"""
_ENGINES = {"duckdb": _DUCKDB, "polars": _POLARS}


def write(folder: Path, num_rows: int, num_tasks: int, num_files: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    folder.mkdir()
    rows = num_rows // num_files
    for number in range(num_files):
        rng = np.random.default_rng(number)
        task = rng.integers(0, num_tasks, rows, dtype=np.int32)
        skill = np.random.default_rng(task.size).uniform(0.5, 1, num_tasks)[task]
        columns = {
            "task_id": task,
            "episode_id": np.arange(number * rows, (number + 1) * rows),
            "total_return": (skill * rng.beta(8, 2, rows)).astype(np.float32),
        }
        parquet.write_table(pa.table(columns), folder / f"part-{number:05}.parquet")


def measured(script: str, *arguments: object) -> str:
    """What a script prints, with its time and the largest sum of what it and its processes held.

    Seconds of the processors say more than those of a clock where others are at work, too.
    """
    file = Path(os.environ.get("TMPDIR", "/tmp")) / f"streaming-{os.getpid()}.py"  # a spawned process reads it again
    file.write_text(script)
    try:
        begin, before, most = time.perf_counter(), _processor_seconds(), 0
        command = [sys.executable, str(file), *map(str, arguments)]
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while running.poll() is None:
            most = max(most, sum(map(_held, _family(running.pid))))
            time.sleep(0.05)
        said, errors = running.communicate()
        text = said.strip() if running.returncode == 0 else f"failed: {errors.strip().splitlines()[-1:]}"
        wall, processor = time.perf_counter() - begin, _processor_seconds() - before
        return f"{text}; in all {wall:.1f} s, of processors {processor:.1f} s, at most {most / 2**20:,.0f} MiB"
    finally:
        file.unlink()


def _processor_seconds() -> float:
    """Of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(each for child in children for each in _family(int(child)))]


def _held(pid: int) -> int:
    """The resident bytes of a process, of which those that it shares with others count in part (PSS)."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=10**8)
    parser.add_argument("--tasks", type=int, default=10**5)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--bins", type=int, nargs="*", default=[100], help="0 for moments")
    parser.add_argument("--engines", action="store_true")
    given = parser.parse_args()
    if not given.folder.exists():
        write(given.folder, given.rows, given.tasks, given.files)
    size = sum(file.stat().st_size for file in given.folder.iterdir())
    print(f"{size / 1e9:.2f} GB in {given.folder}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} threads")
    for bins in given.bins:
        for processes in given.processes:
            kind = f"{bins} bins" if bins else "moments"
            print(f"{kind}, {processes} processes: {measured(_READ, given.folder, processes, bins)}", flush=True)
    for name in _ENGINES if given.engines else ():
        if importlib.util.find_spec(name):
            print(f"{name}, 2 threads: {measured(_ENGINES[name], given.folder, 2)}")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
