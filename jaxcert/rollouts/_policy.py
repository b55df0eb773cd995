"""Policies as data: a fixed function, and parameters that may change."""

import contextlib
import dataclasses
import functools
import hashlib
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Policy:
    """A fixed policy; a pytree of its parameters, so that new parameters do not trigger a recompilation.

    Attributes:
        apply: from parameters, an observation and a JAX random key to an action, for one episode.
        params: any pytree of arrays.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> policy = Policy(lambda gain, obs, key: gain * obs[:1], jnp.float32(0.5))
        >>> print(policy.apply(policy.params, jnp.ones(3), jax.random.key(0)))
        [0.5]
    """

    apply: Callable[[Any, Any, jax.Array], Any] = dataclasses.field(metadata={"static": True})
    params: Any


PolicyOrFunction = Policy | Callable[[Any, jax.Array], Any]


@functools.lru_cache
def _made(make_policy: Callable[..., Callable], deterministic: bool) -> Callable[[Any, Any, jax.Array], Any]:
    """``apply`` of a Brax policy: the same for the same ``make_policy``, so that checkpoints share a compilation."""
    return lambda params, obs, key: make_policy(params, deterministic=deterministic)(obs, key)[0]


def brax_policy(make_policy: Callable[..., Callable], params: Any, *, deterministic: bool = True) -> Policy:
    """A policy trained by Brax, from what ``ppo.train`` returns or passes to ``policy_params_fn``.

    Args:
        make_policy: a function from parameters to a policy, with an argument ``deterministic``.
        params: the parameters.
        deterministic: take the mode of the distribution instead of a sample.

    Returns:
        A ``Policy``.

    Example:
        >>> def make_policy(params, deterministic=False):
        ...     return lambda obs, key: (params * obs, {})
        >>> policy = brax_policy(make_policy, 2.0)
        >>> policy.apply(policy.params, 3.0, jax.random.key(0))
        6.0
    """
    return Policy(_made(make_policy, deterministic), params)


def digest(params: Any) -> str:
    """SHA-256 of arrays with their types and shapes; each after its length."""
    parts: list[bytes] = []
    for leaf in map(_plain, jax.tree.leaves(params)):
        parts += [f"{leaf.dtype} {leaf.shape}".encode(), leaf.tobytes()]
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).hexdigest()


def _plain(leaf: Any) -> np.ndarray:
    is_key = isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    array = np.asarray(jax.random.key_data(leaf) if is_key else leaf)
    if array.dtype == object:
        raise ValueError(f"the parameters of the policy hold a {type(leaf).__name__}; expected arrays")
    return array


# Larger than the number of keys that are ever split from one.
_APART = 0x6A61782B


def key_apart(key: jax.Array) -> jax.Array:
    """A key that training does not reach if it starts from the same key.

    Splitting a key gives the same keys as folding in 0, 1, 2, ..., so a certificate that did either could draw the
    tasks on which the policy was trained.
    """
    return jax.random.fold_in(key, _APART)


# Folded in, so that episodes share no key with tasks that were sampled from the same key.
_OF_EPISODES = 0x65706973


def episode_key(key: jax.Array) -> jax.Array:
    """The key of all episodes that ``collect`` runs with this key."""
    return jax.random.fold_in(key, _OF_EPISODES)


def as_policy(policy: Any) -> Policy:
    """The policy; a function of an observation and a key becomes one without parameters.

    TypeError for a method, whose object may change unnoticed, for a module that holds arrays, and for anything but a
    function.
    """
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, types.MethodType) or not callable(policy):
        raise TypeError(
            f"policy is {policy!r}; expected a Policy(apply, params), or a function of an observation and a key"
        )
    try:
        hash(policy)
    except TypeError as error:
        raise TypeError(
            f"{type(policy).__name__} holds arrays: give Policy(apply, params), with them in params"
        ) from error
    captured = tuple(_captured(policy))
    return Policy(_Plain(policy, captured, tuple(map(id, captured))), ())


@dataclasses.dataclass(frozen=True)
class _Plain:
    """A function with the current values of its outer variables; reassigning these makes another policy.

    Values are equal if they are one object, since objects with arrays can neither be compared nor hashed.
    """

    function: Callable[[Any, jax.Array], Any]
    captured: tuple[Any, ...] = dataclasses.field(compare=False)  # kept, so that no other object has one of the ids
    ids: tuple[int, ...]

    def __call__(self, params: tuple[()], obs: Any, key: jax.Array) -> Any:
        return self.function(obs, key)


def _captured(function: Any) -> Iterator[Any]:
    function = inspect.unwrap(function)
    if not isinstance(function, types.FunctionType):
        return
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # not set yet
            yield cell.cell_contents
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [const for const in code.co_consts if isinstance(const, types.CodeType)]
        yield from (function.__globals__[name] for name in code.co_names if name in function.__globals__)
