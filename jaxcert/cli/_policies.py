"""Environments by name, and policies by file or name."""

import hashlib
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from jaxcert._files import content_of
from jaxcert.rollouts import Policy
from jaxcert.tasks import MultiTaskEnv
from jaxcert.tasks._registry import ENVIRONMENTS
from jaxcert.training import find_policy, load_policy, policy_facts, sample_policy
from jaxcert.training._policy_file import SHIPPED

_AUTHORS = " (authors' version)"


class Found(NamedTuple):
    """A policy with the environment on which it was trained.

    Attributes:
        env: the environment.
        policy: the policy.
        source: its name, or the name of its file.
        sha256: of the file.
        file: from which it was read; None if it is shipped.
    """

    env: MultiTaskEnv
    policy: Policy
    source: str
    sha256: str
    file: Path | None = None


def trainable() -> list[str]:
    """The environments that `train` takes."""
    return [name for name, entry in ENVIRONMENTS.items() if entry.trainable and not name.endswith(_AUTHORS)]


def shipped() -> list[str]:
    """The policies that come with the package."""
    return [*SHIPPED, *(name for entry in ENVIRONMENTS.values() for name in entry.policies)]


def environment(name: str, *, authors_version: bool = False) -> MultiTaskEnv:
    """The environment of that name, if `train` takes it."""
    if name not in trainable():
        raise ValueError(f"environment is {name!r}; expected one of {', '.join(trainable())}")
    wanted = name + _AUTHORS if authors_version else name
    if wanted not in ENVIRONMENTS:
        having = [other for other in trainable() if other + _AUTHORS in ENVIRONMENTS]
        raise ValueError(f"{name} has no authors' version; expected one of {', '.join(having)}")
    return ENVIRONMENTS[wanted].make()


def find(checkpoint: Path, *, deterministic: bool) -> Found:
    """The policy of a policy file, a checkpoint or a folder of them; without any, the shipped policy of that name."""
    name = str(checkpoint)
    if name in shipped() and not checkpoint.exists():
        return _shipped(name, deterministic=deterministic)
    try:
        path = find_policy(checkpoint)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{error}; expected a checkpoint, or one of {', '.join(shipped())}") from error
    trained_on = policy_facts(path)["environment"]
    if trained_on not in ENVIRONMENTS:
        raise ValueError(f"{path} holds a policy for {trained_on!r}; expected one of {', '.join(ENVIRONMENTS)}")
    env = ENVIRONMENTS[trained_on].make()
    policy = load_policy(path, environment=env.name, deterministic=deterministic)
    return Found(env, policy, str(path), _digest(content_of(path, "a policy")), path)


def _shipped(name: str, *, deterministic: bool) -> Found:
    if name in SHIPPED:
        file = resources.files("jaxcert") / "data" / f"{name}_policy.npz"
        policy, digest = sample_policy(name, deterministic=deterministic), _digest(file.read_bytes())
        return Found(ENVIRONMENTS[name].make(), policy, f"{name} (shipped)", digest)
    entry = next(entry for entry in ENVIRONMENTS.values() if name in entry.policies)
    policy = entry.policies[name]()
    if policy.deterministic and not deterministic:
        raise ValueError(f"{name} has no stochastic form; expected it without --stochastic")
    digest = _digest(name.encode() + b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(policy.params)))
    return Found(entry.make(), policy, f"{name} (shipped)", digest)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
