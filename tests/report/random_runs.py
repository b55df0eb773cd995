"""Random runs of tasks that stop by themselves, with witnesses: logs of single trials."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from chained_logs import entries_of, log_of
from random_certificates import Made

from jaxcert.report import trial_records, write_certificates
from jaxcert.rollouts import Trials

_TASKS, _MOST = 30, 60


# By name, whether trials are successes.
KINDS = {"trials of successes": True, "trials with scores": False}


def made_run(successes: bool, seed: int, folder: Path) -> Made:
    """A random run of that kind in its file, and its certificate file with witnesses."""
    rng = np.random.default_rng(seed)
    path, later = _log(rng, successes, folder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (record,) = trial_records(Trials(path))
    path.write_bytes(later)
    write_certificates(folder / "c.json", [{**record, "rollouts": {"source": "random"}}])
    return Made(folder / "c.json", path, [str(each.message) for each in caught if "no witness" in str(each.message)])


def _settings(rng: np.random.Generator, successes: bool) -> tuple[dict[str, Any], np.ndarray]:
    """What is declared, and the returns [n, m] that the tasks have; few numbers decide the shapes."""
    low, high = (0.0, 1.0) if successes else (-2.0, float(rng.choice([6.0, np.inf])))
    means = rng.beta(6, 1, (_TASKS, 1))
    x = rng.random((_TASKS, _MOST)) < means if successes else _scores(rng, means, low)
    thresholds = low + (1.0 if successes else 8.0) * np.round(np.sort(rng.uniform(0.2, 0.8, 2)), 2)
    settings = {
        "thresholds": thresholds.tolist(),
        "support": (low, high),
        "delta": float(rng.choice([0.01, 0.05, 0.1])),
    }
    return settings | {"give_up": float(rng.choice([0.0, 0.1, 0.5])), "beta": float(rng.choice([0.05, 0.1]))}, x


def _scores(rng: np.random.Generator, means: np.ndarray, low: float) -> np.ndarray:
    x = low + 8 * rng.beta(20 * means, 20 * (1 - means) + 0.01, (_TASKS, _MOST))
    return np.round(np.where(rng.random(x.shape) < 0.02, low, x), 4)


def _log(rng: np.random.Generator, successes: bool, folder: Path) -> tuple[Path, bytes]:
    """A log in which tasks were tried in random order, some trials withdrawn, and what it holds after one more."""
    settings, x = _settings(rng, successes)
    labels = [f"p{i}" for i in range(_TASKS)]
    path, name = folder / "run.jsonl", "success" if successes else "score"
    Trials.start(path, labels, successes=successes, max_trials=_MOST, **settings)
    written, made = entries_of(path), np.zeros(_TASKS, int)

    def write(task: int, value: Any) -> None:
        value = bool(value) if successes else float(value)
        written.append({"number": len(written), "time": "now", "task": labels[task], name: value})

    for task in rng.permutation(np.repeat(np.arange(_TASKS), 25))[: rng.integers(300, 700)].tolist():
        write(task, x[task, made[task]])
        made[task] += 1
        if rng.random() < 0.01:
            last = len(written) - 1
            written.append({"number": last + 1, "time": "now", "withdrawn": last, "why": "mistyped"})
    path.write_bytes(log_of(written))
    write(0, x[0, -1])
    return path, log_of(written)
