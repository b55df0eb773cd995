"""Compact policy files: the arrays of networks in a ``.npz``, without pickle."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from jaxcert._files import read_arrays, whole_file
from jaxcert.rollouts import Policy
from jaxcert.training._networks import NETWORKS

_FORMAT = "jaxcert-policy-1"
SHIPPED = ("cheetah", "walker", "zones")


def save_policy(path: str | Path, params: Any, *, environment: str, network: str = "brax", **facts: Any) -> None:
    """Write the networks of a policy, and facts about it.

    Args:
        path: the file.
        params: as returned by ``train``.
        environment: the environment on which it was trained; checked again on loading.
        network: ``"brax"`` for the actor of ``brax.training.agents.ppo`` with SiLU between layers and a tanh-normal
            distribution, from (normaliser, policy, value); ``"sequence"`` for that of ``zones.sequence_policy``.
        **facts: numbers and strings, such as steps and machine.

    Raises:
        ValueError: for parameters of another network, or that are not finite.

    Example:
        >>> save_policy("policy.npz", params, environment="cheetah", num_steps=60_000_000)  # doctest: +SKIP
    """
    if network not in NETWORKS:
        raise ValueError(f"network is {network!r}; expected one of {', '.join(NETWORKS)}")
    arrays = NETWORKS[network].arrays(params)
    for name, array in arrays.items():
        if not np.all(np.isfinite(array)):
            raise ValueError(f"{name} of the policy is not finite")
    about = json.dumps({"format": _FORMAT, "environment": environment, "network": network, **facts})
    contents: dict[str, Any] = {"about": np.array(about), **arrays}
    with whole_file(path) as file:
        np.savez_compressed(file, **contents)


def load_policy(path: str | Path, *, environment: str, deterministic: bool = True) -> Policy:
    """Read a policy file.

    Args:
        path: the file.
        environment: the environment on which it is to run.
        deterministic: take the mode of the distribution instead of a sample.

    Returns:
        A ``Policy``. Files of the same sizes share a compilation.

    Raises:
        ValueError: for a file that is damaged, of another environment, or not finite.

    Example:
        >>> policy = load_policy("policy.npz", environment="cheetah")  # doctest: +SKIP
    """
    arrays, about = _read(path)
    if about["environment"] != environment:
        raise ValueError(f"{path} holds a policy for {about['environment']!r}, not for {environment!r}")
    _check_finite(path, arrays)
    try:
        return NETWORKS[about["network"]].policy(arrays, deterministic)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def policy_facts(path: str | Path) -> dict[str, Any]:
    """The facts in a policy file.

    Args:
        path: the file.

    Returns:
        ``environment``, ``network``, and the facts with which it was saved.

    Raises:
        ValueError: for a file that is damaged.

    Example:
        >>> policy_facts("policy.npz")["environment"]  # doctest: +SKIP
        'cheetah'
    """
    return {name: value for name, value in _read(path)[1].items() if name != "format"}


def sample_policy(name: str, *, deterministic: bool = True) -> Policy:
    """A trained policy shipped with the package.

    It was trained by this package, that of the robots on the physical versions of the tasks; the README beside the
    files describes how, for how long, and how good it is.

    Args:
        name: ``"cheetah"``, ``"walker"`` or ``"zones"``.
        deterministic: as in ``load_policy``.

    Returns:
        A ``Policy`` for ``tasks.locomotion.cheetah()`` or ``walker()``, or for ``tasks.zones.ENV``.

    Raises:
        ValueError: if there is no policy of that name.

    Example:
        >>> sample_policy("cheetah").params["obs_mean"].shape
        (19,)
    """
    if name not in SHIPPED:
        raise ValueError(f"name must be one of {', '.join(SHIPPED)}, got {name!r}")
    with resources.as_file(resources.files("jaxcert") / "data" / f"{name}_policy.npz") as path:
        return load_policy(path, environment=name, deterministic=deterministic)


def _read(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    try:
        arrays = read_arrays(Path(path).read_bytes(), ["about"])
        about = json.loads(str(arrays.pop("about")))
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{path}: no such file") from error
    except (OSError, ValueError, RecursionError) as error:  # the last for JSON that is nested too deeply
        raise ValueError(f"{path} is no policy file, or damaged") from error
    if not isinstance(about, dict) or about.get("format") != _FORMAT or not isinstance(about.get("environment"), str):
        raise ValueError(f"{path} is no policy file of a known format")
    network = about.setdefault("network", "brax")
    if not isinstance(network, str) or network not in NETWORKS:
        raise ValueError(f"{path} holds a network {network!r}; expected one of {', '.join(NETWORKS)}")
    return arrays, about


def _check_finite(path: str | Path, arrays: dict[str, np.ndarray]) -> None:
    for name, array in arrays.items():
        if array.dtype.kind != "f" or not np.all(np.abs(array) <= np.finfo(np.float32).max):
            raise ValueError(f"{path}: {name} does not hold finite numbers of single precision")
