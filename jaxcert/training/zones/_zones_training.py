"""Training in zones, from a file of its state if there is one."""

import dataclasses
import functools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._archive import LEARNER, check_arrays, read_archive, write_archive
from jaxcert._extras import import_extra
from jaxcert._files import in_file
from jaxcert.rollouts import MultiTaskEnv, collect
from jaxcert.rollouts._policy import key_apart
from jaxcert.tasks.zones import sequence_policy
from jaxcert.tasks.zones._zone_env import ZoneEnv
from jaxcert.tasks.zones._zone_policies import make_sequence_policy
from jaxcert.training._checkpoints import policy_files
from jaxcert.training._hook import CertificationHook
from jaxcert.training._policy_file import save_policy
from jaxcert.training.zones._learner import Learned, Learner, initial_learner, num_steps, update
from jaxcert.training.zones._zones_settings import ZonesSettings

_FILE = "learner.npz"
# Settings with which training may go on as it likes.
_FREE = ("num_timesteps", "num_evals", "num_eval_envs")


def _save(folder: Path, learner: Learner, env: MultiTaskEnv, settings: ZonesSettings) -> None:
    """Write the learner, and then its policy, so that what has a policy can go on."""
    arrays = {name: np.asarray(leaf) for name, leaf in _named(_without_type(learner)).items()}
    write_archive(folder / _FILE, LEARNER, _facts(env, settings), arrays)
    _save_policy(folder, learner, env, settings)


def _save_policy(folder: Path, learner: Learner, env: MultiTaskEnv, settings: ZonesSettings) -> None:
    facts = {"num_steps": num_steps(learner, settings), "seed": settings.seed}
    path = folder / f"{facts['num_steps']:012d}.npz"
    if not path.exists():
        save_policy(path, learner.params, environment=env.name, network="sequence", **facts)


def _last(folder: Path, env: MultiTaskEnv, settings: ZonesSettings) -> Learner | None:
    """The learner in a folder, or None without one; its policy is written if training was stopped before that.

    ValueError if it is damaged, missing beside policies, or of other settings, another seed or another environment.
    """
    path = folder / _FILE
    if not path.is_file():
        if files := policy_files(folder):
            raise ValueError(f"{files[-1]} is of a training whose {_FILE} is missing; choose another folder")
        return None
    facts, arrays = read_archive(path, LEARNER)
    for name, wanted in _facts(env, settings).items():
        if (found := facts.get(name, "missing")) != wanted:
            raise ValueError(f"{path} is of a training with {name} {found}, not {wanted}; choose another folder")
    like = jax.eval_shape(lambda: _without_type(initial_learner(jax.random.key(0), env, settings)))
    with in_file(path):
        check_arrays(arrays, {name: (leaf.dtype, leaf.shape) for name, leaf in _named(like).items()})
        for name, array in arrays.items():
            if name.startswith(".params") and not np.all(np.isfinite(array)):
                raise ValueError(f"{name} is not finite")
    leaves = [jnp.asarray(arrays[name]) for name in _named(like)]
    learner = jax.tree.unflatten(jax.tree.structure(like), leaves)
    kind = str(jax.random.key_impl(jax.random.key(0)))
    learner = learner._replace(key=jax.random.wrap_key_data(learner.key, impl=kind))
    _save_policy(folder, learner, env, settings)
    return learner


def _facts(env: MultiTaskEnv, settings: ZonesSettings) -> dict[str, Any]:
    """Settings that must not change when training resumes, as plain JSON values."""
    fixed = {name: value for name, value in dataclasses.asdict(settings).items() if name not in _FREE}
    facts = {"environment": env.name, "jax_enable_x64": jax.config.read("jax_enable_x64"), **fixed}
    return json.loads(json.dumps(facts, default=lambda number: number.item()))


def _without_type(learner: Learner) -> Learner:
    """With the numbers of its random key."""
    return learner._replace(key=jax.random.key_data(learner.key))


def _named(tree: Any) -> dict[str, Any]:
    return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def check_zones_training(env: MultiTaskEnv, settings: ZonesSettings) -> None:
    """Raise for a missing package, and for what is no zones or has lessons of too many stages."""
    import_extra("optax", "zones")
    task = jax.eval_shape(env.sample_task, jax.random.key(0))
    if not isinstance(env.environment(task), ZoneEnv):
        raise ValueError(f"ZonesSettings train on zones, not on {env.name or env!r}")
    depth, longest = task.reach.shape[0], max((each.num_stages[1] for each in settings.lessons), default=0)
    if longest > depth:
        raise ValueError(f"lessons have up to {longest} stages; the tasks of {env.name} have room for {depth}")


@dataclasses.dataclass(frozen=True)
class _Run:
    """One call of ``train``."""

    env: MultiTaskEnv
    settings: ZonesSettings
    hook: CertificationHook | None
    folder: Path | None
    progress_fn: Callable[[int, dict[str, Any]], None]

    def step(self, learner: Learner) -> int:
        """Steps of the environment so far."""
        return num_steps(learner, self.settings)

    def keep(self, learner: Learner) -> None:
        """Write the files of a checkpoint; ValueError, before that, for a policy that no file can hold."""
        for name, array in learner.params.items():
            if not jnp.all(jnp.isfinite(array)):
                last = "" if self.folder is None else f"; the checkpoint before it is in {self.folder}"
                raise ValueError(f"training diverged: after {self.step(learner):,} steps {name} is not finite{last}")
        if self.folder is not None:
            _save(self.folder, learner, self.env, self.settings)

    def report(self, learner: Learner, learned: Learned | None) -> None:
        """Evaluate, certify, and tell the progress."""
        step = self.step(learner)
        metrics = {f"training/{name}": float(x) for name, x in learned._asdict().items()} if learned else {}
        policy = sequence_policy(learner.params)
        key_tasks, key = jax.random.split(jax.random.fold_in(key_apart(jax.random.key(self.settings.seed)), step))
        tasks = self.env.sample_tasks(key_tasks, self.settings.num_eval_envs)
        returns = collect(self.env, policy, tasks, key, num_rollouts=1)
        metrics["eval/episode_reward"] = float(jnp.mean(returns))
        if self.hook is not None:
            self.hook(step, make_sequence_policy, learner.params)
        self.progress_fn(step, metrics)


def train_on_zones(
    env: MultiTaskEnv,
    settings: ZonesSettings,
    hook: CertificationHook | None,
    checkpoints: str | Path | None,
    progress_fn: Callable[[int, dict[str, Any]], None],
) -> tuple[Callable[..., Any], Any]:
    """As ``train``: the function that makes a policy of parameters, and the parameters."""
    run = _Run(env, settings, hook, None if checkpoints is None else Path(checkpoints), progress_fn)
    restored = None if run.folder is None else _last(run.folder, env, settings)
    learner = initial_learner(jax.random.key(settings.seed), env, settings) if restored is None else restored
    if restored is None:
        run.keep(learner)
        run.report(learner, None)
    elif hook is not None and not hook.is_certified(run.step(learner), learner.params):
        run.report(learner, None)
    elif hook is not None and hook.has_ended(run.step(learner), learner.params):
        return make_sequence_policy, learner.params
    batch = jax.jit(functools.partial(update, env=env, settings=settings))
    marks = [mark for mark in _marks(settings) if mark > int(learner.num_updates)]
    while marks:
        learner, learned = batch(learner)
        if int(learner.num_updates) == marks[0]:
            run.keep(learner)
            run.report(learner, learned)
            marks.pop(0)
    return make_sequence_policy, learner.params


def _marks(settings: ZonesSettings) -> list[int]:
    """Numbers of updates at which checkpoints are saved, without the one before training."""
    parts = max(settings.num_evals - 1, 1)
    return sorted({math.ceil(settings.num_batches * part / parts) for part in range(1, parts + 1)})
