"""`jaxcert rollout`: returns of a policy on tasks, to a file; an interruption loses one part at most."""

import contextlib
import hashlib
import json
import secrets
import shutil
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from jaxcert._files import whole_file
from jaxcert.cli import _console, _policies
from jaxcert.report import check_returns_path, write_returns
from jaxcert.rollouts import collect
from jaxcert.rollouts._policy import key_apart

# Episodes per part: enough to keep the machine busy, few enough to lose.
_EPISODES = 1000


def rollout(
    checkpoint: Path,
    out: Path,
    *,
    num_tasks: int,
    num_rollouts: int,
    seed: int | None,
    deterministic: bool,
    quiet: bool,
) -> None:
    """Sample tasks, run the policy on them in parts, and write the returns."""
    out = check_returns_path(out)
    for name, value in {"tasks": num_tasks, "rollouts": num_rollouts}.items():
        if value < 1:
            raise ValueError(f"--{name} is {value}; expected at least 1")
    found = _policies.find(checkpoint, deterministic=deterministic)
    facts = {
        "policy": found.source,
        "policy_sha256": found.sha256,
        "environment": found.env.name,
        "deterministic": deterministic,
        "num_tasks": num_tasks,
        "num_rollouts": num_rollouts,
        "episode_length": found.env.episode_length,
        "precision": str(jnp.result_type(float)),
        "versions": _versions(),
    }
    parts = _Parts(out, facts, seed, found.env.support)
    facts["seed"] = parts.seed
    key_tasks, key_rollouts = jax.random.split(key_apart(jax.random.key(parts.seed)))
    tasks = found.env.sample_tasks(key_tasks, num_tasks)
    returns = _in_parts(found, tasks, key_rollouts, num_tasks, num_rollouts, parts, quiet=quiet)
    write_returns(out, returns, tasks=_columns(tasks), facts=facts)
    parts.remove()
    kind = "deterministic" if deterministic else "stochastic"
    size = f"{num_tasks} tasks, {num_rollouts} rollouts each, seed {parts.seed}"
    console = _console.output()
    console.print(f"{found.source}, {kind}: {size}", soft_wrap=True)
    console.print(f"mean return {_shown(returns.mean())}, of tasks {_ends(returns.mean(axis=1))}", soft_wrap=True)
    console.print(f"written to {out}", soft_wrap=True)


def _in_parts(
    found: _policies.Found,
    tasks: Any,
    key: jax.Array,
    num_tasks: int,
    num_rollouts: int,
    parts: "_Parts",
    *,
    quiet: bool,
) -> np.ndarray:
    size = min(num_tasks, max(1, _EPISODES // num_rollouts))
    starts = range(0, num_tasks, size)
    steps_per_task = num_rollouts * found.env.episode_length
    with _bar(quiet, num_tasks * steps_per_task) as advance:
        for i, start in enumerate(starts):
            if not parts.has(i, (size, num_rollouts)):
                # The last part is as long as the others, so that it needs no recompilation.
                rows = np.minimum(np.arange(start, start + size), num_tasks - 1)
                chosen = jax.tree.map(lambda leaf, rows=rows: leaf[rows], tasks)
                own = jax.random.fold_in(key, i)
                parts.put(i, np.asarray(collect(found.env, found.policy, chosen, own, num_rollouts=num_rollouts)))
            advance(min(size, num_tasks - start) * steps_per_task)
    return np.concatenate([parts.get(i) for i in range(len(starts))])[:num_tasks]


def _columns(tasks: Any) -> dict[str, np.ndarray]:
    """The parameters of tasks by name, each [n]; a task without names is called `task`."""
    columns = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(tasks):
        parts = [str(getattr(key, "name", getattr(key, "key", getattr(key, "idx", "")))) for key in path]
        name, rows = "_".join(parts) or "task", np.asarray(leaf).reshape(len(leaf), -1)
        several = rows.shape[1] > 1
        for i, column in enumerate(rows.T):
            full = f"{name}_{i}" if several else name
            if full in columns:
                raise ValueError(f"two parameters of the tasks are called {full}; expected different names")
            columns[full] = column
    return columns


def _ends(means: np.ndarray) -> str:
    return f"{_shown(means.min())} to {_shown(means.max())}"


def _shown(mean: float) -> str:
    return f"{mean:.1f}" if abs(mean) >= 10 else f"{mean:.3g}"


def _versions() -> dict[str, str]:
    found = {}
    for package in ("jaxcert", "jax", "mujoco-mjx"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


class _Parts:
    """Finished parts in a folder beside the output, until the output is written."""

    def __init__(self, out: Path, facts: dict[str, Any], seed: int | None, support: tuple[float, float]) -> None:
        self.folder, self.support = out.with_name(f"{out.name}.parts"), support
        file, wanted = self.folder / "settings.json", {**facts, "episodes_per_part": _EPISODES}
        begun = _read(file) if list(self.folder.glob("*.npy")) else {}
        # A random seed, so that none repeats by accident: a policy must not be certified on the tasks it was chosen on.
        self.seed = begun.get("seed", secrets.randbits(31)) if seed is None else seed
        wanted["seed"] = self.seed
        if begun and begun != wanted:
            raise ValueError(f"{self.folder} holds parts of other rollouts; remove it, or choose another --out")
        text = json.dumps(wanted)
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.folder.mkdir(exist_ok=True)
        with whole_file(file) as stream:
            stream.write(text.encode())

    def _path(self, i: int) -> Path:
        return self.folder / f"{i:06d}-{self.digest}.npy"  # other files are not taken for parts

    def has(self, i: int, shape: tuple[int, int]) -> bool:
        """Whether the part exists and is complete; otherwise it is computed again."""
        try:
            returns = self.get(i)
        except (OSError, ValueError, EOFError):
            return False
        low, high = self.support
        return returns.shape == shape and bool(np.all((low <= returns) & (returns <= high)))

    def put(self, i: int, returns: np.ndarray) -> None:
        with whole_file(self._path(i)) as file:
            np.save(file, returns, allow_pickle=False)

    def get(self, i: int) -> np.ndarray:
        return np.load(self._path(i), allow_pickle=False)

    def remove(self) -> None:
        shutil.rmtree(self.folder)


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


class _Speed(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:,.0f} steps/s")


@contextlib.contextmanager
def _bar(quiet: bool, total: int) -> Iterator[Any]:
    """A progress bar in environment steps, on a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), _Speed(), TimeRemainingColumn())
    console = _console.errors()
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal, transient=True) as bar:
        task = bar.add_task("rollouts", total=total)
        yield lambda steps: bar.advance(task, steps)
