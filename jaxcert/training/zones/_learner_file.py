"""Checkpoints on zones: a learner, with which training goes on as if it had never stopped, and policies."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._contents import parsed
from jaxcert._files import read_arrays, whole_file
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.training._checkpoints import policy_files
from jaxcert.training._policy_file import save_policy
from jaxcert.training.zones._learner import Learner, initial_learner, num_steps
from jaxcert.training.zones._zones_settings import ZonesSettings

_FILE, _FORMAT = "learner.npz", "jaxcert-zones-learner-1"
# Settings with which training may go on as it likes.
_FREE = ("num_timesteps", "num_evals", "num_eval_envs")


def save_checkpoint(folder: Path, learner: Learner, env: MultiTaskEnv, settings: ZonesSettings) -> None:
    """Write the learner, and then its policy, so that what has a policy can go on."""
    save_learner(folder / _FILE, learner, env, settings)
    _save_policy(folder, learner, env, settings)


def last_checkpoint(folder: Path, env: MultiTaskEnv, settings: ZonesSettings) -> Learner | None:
    """The learner in a folder, or None without one; its policy is written if training was stopped before that.

    Raises:
        ValueError: as ``load_learner``, and for a folder with policies whose learner is missing.
    """
    learner = load_learner(folder / _FILE, env, settings)
    if learner is None:
        if files := policy_files(folder):
            raise ValueError(f"{files[-1]} is of a training whose {_FILE} is missing; choose another folder")
    elif not _policy_file(folder, learner, settings).exists():
        _save_policy(folder, learner, env, settings)
    return learner


def _save_policy(folder: Path, learner: Learner, env: MultiTaskEnv, settings: ZonesSettings) -> None:
    facts = {"num_steps": num_steps(learner, settings), "seed": settings.seed}
    path = _policy_file(folder, learner, settings)
    save_policy(path, learner.params, environment=env.name, network="sequence", **facts)


def _policy_file(folder: Path, learner: Learner, settings: ZonesSettings) -> Path:
    return folder / f"{num_steps(learner, settings):012d}.npz"


def save_learner(path: Path, learner: Learner, env: MultiTaskEnv, settings: ZonesSettings) -> None:
    """Write all arrays of a learner."""
    about = json.dumps({"format": _FORMAT, **_facts(env, settings)})
    contents: dict[str, Any] = {name: np.asarray(leaf) for name, leaf in _named(_without_type(learner)).items()}
    with whole_file(path) as file:
        np.savez(file, about=np.array(about), **contents)


def load_learner(path: Path, env: MultiTaskEnv, settings: ZonesSettings) -> Learner | None:
    """The learner in a file, or None without one.

    Raises:
        ValueError: for a file that is damaged, or that other settings, another seed or another environment wrote.
    """
    if not path.is_file():
        return None
    try:
        arrays = read_arrays(path.read_bytes(), ["about"])
        about = parsed(str(arrays.pop("about")))
        facts = {name: about[name] for name in ("format", *_facts(env, settings))}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} holds no training on zones, or is damaged") from error
    for name, wanted in {"format": _FORMAT, **_facts(env, settings)}.items():
        if facts[name] != wanted:
            found = f"{name} {facts[name]}, not {wanted}"
            raise ValueError(f"{path} is of a training with {found}; choose another folder")
    like = jax.eval_shape(lambda: _without_type(initial_learner(jax.random.key(0), env, settings)))
    _check_arrays(path, arrays, _named(like))
    leaves = [jnp.asarray(arrays[name]) for name in _named(like)]
    learner = jax.tree.unflatten(jax.tree.structure(like), leaves)
    return learner._replace(key=jax.random.wrap_key_data(learner.key, impl=_implementation()))


def _check_arrays(path: Path, arrays: dict[str, np.ndarray], expected: dict[str, Any]) -> None:
    for name in sorted(set(arrays) | set(expected)):
        found, wanted = (_described(tree.get(name)) for tree in (arrays, expected))
        if found != wanted:
            raise ValueError(f"{path}: {name} is {found}; expected {wanted}")
        if arrays[name].dtype.kind == "f" and name.startswith(".params") and not np.all(np.isfinite(arrays[name])):
            raise ValueError(f"{path}: {name} is not finite")


def _facts(env: MultiTaskEnv, settings: ZonesSettings) -> dict[str, Any]:
    """What must not change when training goes on; as JSON has it."""
    fixed = {name: value for name, value in dataclasses.asdict(settings).items() if name not in _FREE}
    facts = {"environment": env.name, "jax_enable_x64": jax.config.read("jax_enable_x64"), **fixed}
    return json.loads(json.dumps(facts))


def _without_type(learner: Learner) -> Learner:
    """With the numbers of its random key."""
    return learner._replace(key=jax.random.key_data(learner.key))


def _implementation() -> str:
    return str(jax.random.key_impl(jax.random.key(0)))


def _named(tree: Any) -> dict[str, Any]:
    return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def _described(array: Any) -> str:
    return "missing" if array is None else f"{array.dtype}{list(array.shape)}"
