"""A policy as a file: the networks of PPO and their parameters."""

from importlib import resources
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._archive import POLICY, read_archive, write_archive
from jaxcert._files import in_file
from jaxcert.rollouts import Policy
from jaxcert.tasks.zones import sequence_policy

# Lower limits in Brax: of the normalisation, and of the noise of the tanh-normal distribution.
_SMALLEST_STD, _LEAST_NOISE = 1e-6, 1e-3


def actor_arrays(params: Any) -> dict[str, np.ndarray]:
    """The normalisation of observations and the layers, from (normaliser, policy, value) of ``ppo.train``."""
    try:
        normaliser, actor = params[0], params[1]["params"]
        layers = [actor[f"hidden_{i}"] for i in range(len(actor))]
        found = {"obs_mean": normaliser.mean, "obs_std": normaliser.std}
        found |= {f"w{i}": layer["kernel"] for i, layer in enumerate(layers)}
        found |= {f"b{i}": layer["bias"] for i, layer in enumerate(layers)}
        arrays = {name: np.asarray(array) for name, array in found.items()}
        _check(arrays)
    except (AttributeError, KeyError, TypeError, IndexError, ValueError) as error:
        message = "params are no parameters of Brax's PPO with observations as one array"
        raise ValueError(f"{message}: {error!r}") from error
    return arrays


def actor_policy(arrays: dict[str, np.ndarray], deterministic: bool) -> Policy:
    """The policy with these arrays, which share a compilation with others of the same sizes."""
    _check(arrays)
    act = _mode if deterministic else _sample
    return Policy(act, {name: jnp.asarray(array) for name, array in arrays.items()}, deterministic)


def _check(arrays: dict[str, np.ndarray]) -> None:
    depth = (len(arrays) - 2) // 2
    names = {"obs_mean", "obs_std", *(f"{kind}{i}" for kind in "wb" for i in range(depth))}
    if depth < 1 or set(arrays) != names:
        raise ValueError(f"holds {sorted(arrays)}; expected the layers of one network")
    size = arrays["obs_mean"].shape
    for i in range(depth):
        w, b = arrays[f"w{i}"], arrays[f"b{i}"]
        if w.ndim != 2 or (w.shape[0],) != size or b.shape != w.shape[1:]:
            raise ValueError(f"layer {i} has shapes {w.shape}, {b.shape} after {size}")
        size = b.shape
    if arrays["obs_std"].shape != arrays["obs_mean"].shape or size[0] % 2:
        raise ValueError("the shapes of normalisation or output do not fit")


def _mode(params: dict[str, jax.Array], obs: jax.Array, key: jax.Array) -> jax.Array:
    centre, _ = jnp.split(_network(params, obs), 2)
    return jnp.tanh(centre)


def _sample(params: dict[str, jax.Array], obs: jax.Array, key: jax.Array) -> jax.Array:
    centre, spread = jnp.split(_network(params, obs), 2)
    noise = jax.random.normal(key, centre.shape, centre.dtype)
    return jnp.tanh(centre + (jax.nn.softplus(spread) + _LEAST_NOISE) * noise)


def _network(params: dict[str, jax.Array], obs: jax.Array) -> jax.Array:
    depth = (len(params) - 2) // 2
    x = (obs - params["obs_mean"]) / jnp.maximum(params["obs_std"], _SMALLEST_STD)
    for i in range(depth):
        x = (jax.nn.silu(x) if i else x) @ params[f"w{i}"] + params[f"b{i}"]
    return x


# From the arrays of a file to a policy; ValueError for another network's.
NETWORKS = {
    "brax": actor_policy,
    "sequence": lambda arrays, deterministic: sequence_policy(
        jax.tree.map(jnp.asarray, arrays), deterministic=deterministic
    ),
}
SHIPPED = ("cheetah", "walker", "zones")


def save_policy(path: str | Path, params: Any, *, environment: str, **facts: Any) -> None:
    """Write the networks of a policy, and facts about it.

    Args:
        path: the file.
        params: (normaliser, policy, value) as ``brax.training.agents.ppo`` returns them; the actor has
            SiLU between its layers and a tanh-normal distribution.
        environment: the environment on which it was trained; checked again on loading.
        **facts: numbers and strings, such as steps and machine.

    Raises:
        ValueError: for parameters of another network, or that are not finite in single precision; for an environment
            without a name, and a fact that JSON does not have or called ``format`` or ``network``.

    Example:
        >>> save_policy("policy.npz", params, environment="cheetah", num_steps=60_000_000)  # doctest: +SKIP
    """
    if not isinstance(environment, str):
        raise ValueError(f"environment is {environment!r}; expected its name")
    if "network" in facts:
        raise ValueError(f"network is {facts['network']!r}; expected it to be left out, as it is Brax's")
    arrays = _single("params:", actor_arrays(params))
    write_archive(path, POLICY, {"environment": environment, "network": "brax", **facts}, arrays)


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
    arrays = _single(f"{path}:", arrays)
    with in_file(path):
        return NETWORKS[about["network"]](arrays, deterministic)


def sample_policy(name: str, *, deterministic: bool = True) -> Policy:
    """A trained policy shipped with the package.

    It was trained by this package, for the robots on the physical versions of the tasks; the README beside the
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
    about, arrays = read_archive(path, POLICY)
    if not isinstance(about.get("environment"), str):
        raise ValueError(f"{path} is a policy for {about.get('environment')!r}, expected the name of an environment")
    network = about.setdefault("network", "brax")
    if not isinstance(network, str) or network not in NETWORKS:
        raise ValueError(f"{path} holds a network {network!r}; expected one of {', '.join(NETWORKS)}")
    return arrays, about


def _single(where: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays in single precision, if they fit."""
    for name, array in arrays.items():
        floating = jnp.issubdtype(array.dtype, jnp.floating)
        if not floating or not np.all(np.abs(array) <= np.finfo(np.float32).max):
            raise ValueError(f"{where} {name} does not hold finite numbers of single precision")
    return {name: array.astype(np.float32) for name, array in arrays.items()}
