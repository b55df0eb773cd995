"""Environments by name, and policies by file or name."""

import hashlib
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from jaxcert.rollouts import Policy
from jaxcert.tasks import MultiTaskEnv, pendulum
from jaxcert.tasks.locomotion import cheetah, walker
from jaxcert.training import find_policy, load_policy, policy_facts, sample_policy

NAMES = ("cheetah", "walker", "pendulum")
_SHIPPED = ("cheetah", "walker")
_AUTHORS = " (authors' version)"


class Found(NamedTuple):
    """A policy with the environment on which it was trained."""

    env: MultiTaskEnv
    policy: Policy
    source: str
    sha256: str


def environment(name: str, *, authors_version: bool = False) -> MultiTaskEnv:
    """One of `NAMES`."""
    if name not in NAMES:
        raise ValueError(f"environment is {name!r}; expected one of {', '.join(NAMES)}")
    if name == "pendulum":
        if authors_version:
            raise ValueError("the pendulum has no authors' version; expected cheetah or walker")
        return pendulum.ENV
    return {"cheetah": cheetah, "walker": walker}[name](authors_version=authors_version)


def find(checkpoint: Path, *, deterministic: bool) -> Found:
    """The policy of a policy file, a checkpoint or a folder of them; without any, the shipped policy of that name."""
    name = str(checkpoint)
    if name in _SHIPPED and not checkpoint.exists():
        with resources.as_file(resources.files("jaxcert") / "data" / f"{name}_policy.npz") as path:
            digest = _digest(path)
        return Found(environment(name), sample_policy(name, deterministic=deterministic), f"{name} (shipped)", digest)
    path = find_policy(checkpoint)
    trained_on = policy_facts(path)["environment"]
    plain = trained_on.removesuffix(_AUTHORS)
    if plain not in NAMES:
        raise ValueError(f"{path} holds a policy for {trained_on!r}; expected one of {', '.join(NAMES)}")
    env = environment(plain, authors_version=trained_on != plain)
    policy = load_policy(path, environment=env.name, deterministic=deterministic)
    return Found(env, policy, str(path), _digest(path))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
