"""A policy by its name, with its environment: shipped, from a file, or of one's own."""

import hashlib
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from jaxcert._files import content_of
from jaxcert.rollouts import Policy
from jaxcert.rollouts._own_programs import ENV, POLICY, Named, check_together, is_named, own_environment, own_policy
from jaxcert.rollouts._policy import digest
from jaxcert.tasks import MultiTaskEnv
from jaxcert.tasks._registry import ENVIRONMENTS
from jaxcert.training._policy_file import SHIPPED, load_policy, policy_facts, sample_policy


class Found(NamedTuple):
    """A policy with the environment in which it acts.

    Attributes:
        source: its name, or the name of its file.
        sha256: of the file, or of what else the policy is made of.
        file: from which it was read; None if it is shipped.
        own: the environment, if it is not a shipped one.
    """

    env: MultiTaskEnv
    policy: Policy
    source: str
    sha256: str
    file: Path | None = None
    own: Named | None = None

    @property
    def title(self) -> str:
        """Its name, and, if known, whether it samples its actions."""
        kind = {True: ", deterministic", False: ", stochastic", None: ""}
        return f"{self.source}{kind[self.policy.deterministic]}"

    @property
    def facts(self) -> dict[str, Any]:
        """Its origin, as files of returns record it."""
        named = self.env.name or (self.own.text if self.own else "")
        made_of = {} if self.own is None else {"environment_sha256": self.own.sha256}
        source = self.source if self.file is None or is_named(self.source) else self.file.name  # and no folders
        facts = {"policy": source, "policy_sha256": self.sha256, "environment": named, **made_of}
        return {**facts, "deterministic": self.policy.deterministic}

    @property
    def files(self) -> list[tuple[str, Path]]:
        """The files that are read, by the user's names; a file with both environment and policy appears once."""
        files = {self.own.file: ENV} if self.own else {}
        files |= {self.file: POLICY} if self.file else {}
        return [(name, file) for file, name in files.items()]


def shipped() -> list[str]:
    """The policies that come with the package."""
    return [*SHIPPED, *(name for entry in ENVIRONMENTS.values() for name in entry.policies)]


def find(policy: Path, env: str | None = None, *, deterministic: bool | None = None) -> Found:
    """The policy of a module, of a policy file, or the shipped policy of that name.

    ``env``: the module and name of its environment, if that is not a shipped one. ``deterministic``: whether it takes
    the mode of its distribution of actions, as most do, or samples them; None if nobody asks.
    """
    name = str(policy)
    if is_named(name):
        return _of_module(name, env, deterministic)
    if name in shipped() and not policy.exists():
        if env is not None:
            raise ValueError(f"{name} is shipped with its environment; expected a policy of your own with {ENV}")
        return _shipped(name, deterministic=deterministic is not False)
    if not policy.is_file():
        expected = f"a policy file, one of {', '.join(shipped())}, or MODULE:NAME with {ENV}"
        raise FileNotFoundError(f"{policy}: no file there; expected {expected}")
    return _of_file(policy, None if env is None else _own_environment(env), deterministic=deterministic is not False)


def _own_environment(text: str) -> Named:
    """The user's own environment; a protocol distinguishes it from a shipped one of the same name."""
    own = own_environment(text)
    if own.value.name in ENVIRONMENTS:
        raise ValueError(f"{text} is named {own.value.name!r}, as a shipped environment is; expected another name")
    return own


def environment_facts(text: str) -> dict[str, str]:
    """Facts that a protocol locks: the environment's name, and the digest of a user's own."""
    if not is_named(text):
        return {"environment": text}
    own = _own_environment(text)
    return {"environment": own.value.name or own.text, "environment_sha256": own.sha256}


def digest_of(policy: Path) -> str:
    """The SHA-256 by which `rollout` knows the policy of a module or a policy file."""
    if is_named(str(policy)):
        return own_policy(str(policy)).sha256
    return _digest(content_of(policy, "a policy"))


def _of_module(name: str, env: str | None, deterministic: bool | None) -> Found:
    if env is None:
        raise ValueError(f"{name} is a policy of your own; expected its environment, {ENV} MODULE:NAME")
    own, found = _own_environment(env), own_policy(name)
    declared = found.value.deterministic
    if deterministic is not None and declared is not deterministic:
        wanted = f"expected Policy(..., deterministic={deterministic}), as --stochastic or a protocol asks for"
        raise ValueError(f"{name} is a policy with deterministic={declared}; {wanted}")
    check_together(own.value, found.value, name)
    return Found(own.value, found.value, name, found.sha256, found.file, own)


def _of_file(path: Path, own: Named | None, *, deterministic: bool) -> Found:
    trained_on = policy_facts(path)["environment"]
    if own is None and trained_on not in ENVIRONMENTS:
        expected = f"expected one of {', '.join(ENVIRONMENTS)}, or {ENV} MODULE:NAME"
        raise ValueError(f"{path} holds a policy for {trained_on!r}; {expected}")
    env = own.value if own else ENVIRONMENTS[trained_on].make()
    policy = load_policy(path, environment=env.name, deterministic=deterministic)
    if own:
        check_together(env, policy, str(path))
    return Found(env, policy, str(path), _digest(content_of(path, "a policy")), path, own)


def _shipped(name: str, *, deterministic: bool) -> Found:
    if name in SHIPPED:
        file = resources.files("jaxcert") / "data" / f"{name}_policy.npz"
        policy = sample_policy(name, deterministic=deterministic)
        return Found(ENVIRONMENTS[name].make(), policy, f"{name} (shipped)", _digest(file.read_bytes()))
    entry = next(entry for entry in ENVIRONMENTS.values() if name in entry.policies)
    policy = entry.policies[name]()
    if policy.deterministic and not deterministic:
        raise ValueError(f"{name} has no stochastic form; expected it without --stochastic")
    return Found(entry.make(), policy, f"{name} (shipped)", digest(policy.params, name.encode()))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
