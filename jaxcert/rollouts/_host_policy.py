"""Policies that run on the host, and the actions that environments of Gymnasium take."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxcert.rollouts._policy import Policy, as_policy

# By the names of spaces, since Gymnasium need not be installed.
_OF_NUMBERS = {"Discrete", "MultiDiscrete", "MultiBinary", "Box"}


def as_action(space: Any, action: Any) -> Any:
    """The action in the type of the space; ValueError for one that is not in it. A Box takes any finite numbers."""
    kinds = {kind.__name__ for kind in type(space).__mro__}
    if "Dict" in kinds and isinstance(action, Mapping) and set(action) == set(space.spaces):
        return {name: as_action(part, action[name]) for name, part in space.spaces.items()}
    if "Tuple" in kinds and isinstance(action, Sequence) and len(action) == len(space.spaces):
        return tuple(as_action(part, one) for part, one in zip(space.spaces, action, strict=True))
    found = _numbers(space, action) if kinds & _OF_NUMBERS else action if space.contains(action) else None
    if found is None:
        raise ValueError(f"the policy gives the action {action!r:.80}; expected one in {space}")
    return found


def _numbers(space: Any, action: Any) -> Any:
    """The action as an array, or as a scalar, by which tables of transitions are looked up; None if it does not fit."""
    if hasattr(action, "detach"):  # a tensor of PyTorch, which may have a gradient or be on a GPU
        action = action.detach().cpu().numpy()
    try:
        array, is_whole = np.asarray(action), np.dtype(space.dtype).kind != "f"
    except ValueError:  # lists of unequal lengths
        return None
    fits = array.shape == space.shape and array.dtype.kind in ("biu" if is_whole else "biuf")
    if not fits or not np.all(np.isfinite(array)):
        return None
    is_box = hasattr(space, "low")
    if not is_box and not space.contains(array.astype(np.int64)[()]):  # before a narrow type wraps it
        return None
    return array.astype(space.dtype)[()]


# From the observations of episodes side by side, the places of those that go on and the step to actions by place.
Actor = Callable[[list[Any], list[int], int], Any]


def actor_of(policy: Any) -> Callable[[jax.Array], Actor]:
    """A function from the keys of some episodes to their actor; TypeError unless it is given a policy."""
    if isinstance(policy, Policy):
        return functools.partial(_compiled, policy)
    if callable(getattr(policy, "predict", None)):
        _check_predict(policy)
        return lambda keys: _predicting(policy.predict)
    if hasattr(policy, "forward") and hasattr(policy, "state_dict"):
        raise TypeError(
            f"policy is the module {type(policy).__name__} of PyTorch, which takes no arrays; give a function such as"
            " lambda obs: module(torch.as_tensor(obs)).argmax(-1)"
        )
    if callable(policy) and _takes_observation_alone(policy):
        return lambda keys: lambda obs, going, t: {i: policy(obs[i]) for i in going}
    return functools.partial(_compiled, as_policy(policy))


def _takes_observation_alone(policy: Callable) -> bool:
    try:
        parameters = list(inspect.signature(policy).parameters.values())
    except (TypeError, ValueError):  # of some functions written in C
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    return len(required) == 1 and "key" not in [p.name for p in positional[1:2]]


def _check_predict(policy: Any) -> None:
    parameters = inspect.signature(policy.predict).parameters
    kinds = {p.kind for p in parameters.values()}
    if "deterministic" not in parameters and inspect.Parameter.VAR_KEYWORD not in kinds:
        raise TypeError(
            f"{type(policy).__name__}.predict takes no argument deterministic, as in Stable-Baselines3;"
            " give a function of an observation, such as lambda obs: model.predict(obs)"
        )


def _predicting(predict: Callable[..., Any]) -> Actor:
    """A model of Stable-Baselines3, deterministic; the state of a recurrent one is handed from step to step."""
    carried: dict[str, Any] = {}

    def act(obs: list[Any], going: list[int], t: int) -> Any:
        found = predict(_stacked(obs), deterministic=True, **carried)
        if not isinstance(found, tuple) or len(found) != 2:
            raise TypeError(f"predict gives a {type(found).__name__}; expected a pair of actions and state")
        if found[1] is not None:
            carried["state"] = found[1]
        return _rows(found[0], len(obs))

    return act


def _compiled(policy: Policy, keys: jax.Array) -> Actor:
    """A policy of JAX, in one compiled call a step."""

    def act(obs: list[Any], going: list[int], t: int) -> Any:
        together = _stacked(obs)
        try:
            return _rows(jax.tree.map(np.asarray, _actions(policy, together, keys, t)), len(obs))
        except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
            raise TypeError(
                "JAX cannot trace the policy, a function of an observation and a key; one of NumPy or PyTorch is a"
                " function of the observation alone"
            ) from error

    return act


@jax.jit
def _actions(policy: Policy, obs: Any, keys: jax.Array, t: int) -> Any:
    keys = jax.vmap(lambda key: jax.random.fold_in(key, t))(keys)
    return jax.vmap(lambda obs, key: policy.apply(policy.params, obs, key))(obs, keys)


def _stacked(obs: list[Any]) -> Any:
    try:
        return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *obs)
    except ValueError as error:
        raise ValueError(
            "the tasks have observations of several shapes, which this policy cannot take together; give num_envs=1,"
            " or a policy that is a function of the observation alone"
        ) from error


def _rows(actions: Any, num_envs: int) -> list[Any]:
    """The action of each environment, from a batch of them."""
    leaves, structure = jax.tree.flatten(actions)
    for leaf in leaves:
        if np.shape(leaf)[:1] != (num_envs,):
            raise ValueError(f"the policy gives actions of shape {np.shape(leaf)} for {num_envs} observations")
    return [structure.unflatten([leaf[i] for leaf in leaves]) for i in range(num_envs)]
