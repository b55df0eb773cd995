"""Compact policy files: the actor's arrays in a ``.npz``, without pickle."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._files import read_arrays, whole_file
from jaxcert.rollouts import Policy

_FORMAT = "jaxcert-policy-1"
# Lower limits in Brax: of the normalisation, and of the noise of the tanh-normal distribution.
_SMALLEST_STD, _LEAST_NOISE = 1e-6, 1e-3
_SAMPLES = ("cheetah", "walker")


def save_policy(path: str | Path, params: Any, *, environment: str, **facts: Any) -> None:
    """Write the actor of Brax's PPO: the normalisation of observations, the layers, and facts about it.

    The networks are those of ``brax.training.agents.ppo`` with SiLU between layers and a tanh-normal distribution.

    Args:
        path: the file.
        params: (normaliser, policy, value), as returned by ``ppo.train``.
        environment: the environment on which it was trained; checked again on loading.
        **facts: numbers and strings, such as steps and machine.

    Raises:
        ValueError: for parameters of another network, or that are not finite.

    Example:
        >>> save_policy("policy.npz", params, environment="cheetah", num_steps=60_000_000)  # doctest: +SKIP
    """
    arrays = _arrays(params)
    for name, array in arrays.items():
        if not np.all(np.isfinite(array)):
            raise ValueError(f"{name} of the policy is not finite")
    about = json.dumps({"format": _FORMAT, "environment": environment, **facts})
    contents: dict[str, Any] = {"about": np.array(about), **arrays}
    with whole_file(path) as file:
        np.savez_compressed(file, **contents)


def _arrays(params: Any) -> dict[str, np.ndarray]:
    try:
        normaliser, actor = params[0], params[1]["params"]
        layers = [actor[f"hidden_{i}"] for i in range(len(actor))]
        found = {"obs_mean": normaliser.mean, "obs_std": normaliser.std}
        found |= {f"w{i}": layer["kernel"] for i, layer in enumerate(layers)}
        found |= {f"b{i}": layer["bias"] for i, layer in enumerate(layers)}
    except (AttributeError, KeyError, TypeError, IndexError) as error:
        raise ValueError(f"these are no parameters of Brax's PPO with observations as one array: {error!r}") from error
    return {name: np.asarray(array, np.float32) for name, array in found.items()}


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
    _check(path, arrays)
    act = _mode if deterministic else _sample
    return Policy(act, {name: jnp.asarray(array) for name, array in arrays.items()}, deterministic)


def policy_facts(path: str | Path) -> dict[str, Any]:
    """The facts in a policy file.

    Args:
        path: the file.

    Returns:
        ``environment``, and the facts with which it was saved.

    Raises:
        ValueError: for a file that is damaged.

    Example:
        >>> policy_facts("policy.npz")["environment"]  # doctest: +SKIP
        'cheetah'
    """
    return {name: value for name, value in _read(path)[1].items() if name != "format"}


def sample_policy(name: str, *, deterministic: bool = True) -> Policy:
    """A trained policy shipped with the package.

    It was trained by this package on the physical versions of the tasks; the README beside the files describes how, for
    how long, and how good it is.

    Args:
        name: ``"cheetah"`` or ``"walker"``.
        deterministic: as in ``load_policy``.

    Returns:
        A ``Policy`` for ``tasks.locomotion.cheetah()`` or ``walker()``.

    Raises:
        ValueError: if there is no policy of that name.

    Example:
        >>> sample_policy("cheetah").params["obs_mean"].shape
        (19,)
    """
    if name not in _SAMPLES:
        raise ValueError(f"name must be one of {', '.join(_SAMPLES)}, got {name!r}")
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
    return arrays, about


def _check(path: str | Path, arrays: dict[str, np.ndarray]) -> None:
    depth = (len(arrays) - 2) // 2
    names = {"obs_mean", "obs_std", *(f"{kind}{i}" for kind in "wb" for i in range(depth))}
    if depth < 1 or set(arrays) != names:
        raise ValueError(f"{path} holds {sorted(arrays)}; expected the layers of one network")
    size = arrays["obs_mean"].shape
    for i in range(depth):
        w, b = arrays[f"w{i}"], arrays[f"b{i}"]
        if w.ndim != 2 or (w.shape[0],) != size or b.shape != w.shape[1:]:
            raise ValueError(f"{path}: layer {i} has shapes {w.shape}, {b.shape} after {size}")
        size = b.shape
    if arrays["obs_std"].shape != arrays["obs_mean"].shape or size[0] % 2:
        raise ValueError(f"{path}: the shapes of normalisation or output do not fit")
    for name, array in arrays.items():
        if array.dtype.kind != "f" or not np.all(np.abs(array) <= np.finfo(np.float32).max):
            raise ValueError(f"{path}: {name} does not hold finite numbers of single precision")


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
