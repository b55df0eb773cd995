"""Policies that run on the host, and the actions that environments of Gymnasium take."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxcert.rollouts._policy import Policy, as_policy


def as_action(space: Any, action: Any) -> Any:
    """The action in the type of the space.

    TypeError for an action of another kind than the space's, ValueError for another shape, or values that are not
    finite or not in a discrete space.
    """
    kinds = [kind.__name__ for kind in type(space).__mro__]
    for name, convert in _OF_SPACES.items():
        if name in kinds:
            return convert(space, action)
    if not space.contains(action):
        raise ValueError(f"the policy gives the action {action!r}; expected one in {space}")
    return action


def _dict_action(space: Any, action: Any) -> dict:
    if not isinstance(action, Mapping) or set(action) != set(space.spaces):
        has = f"the keys {sorted(action)}" if isinstance(action, Mapping) else f"a {type(action).__name__}"
        raise TypeError(f"the policy gives {has} as action; expected a dict with the keys {sorted(space.spaces)}")
    return {key: as_action(part, action[key]) for key, part in space.spaces.items()}


def _tuple_action(space: Any, action: Any) -> tuple:
    if not isinstance(action, Sequence) or len(action) != len(space.spaces):
        raise TypeError(
            f"the policy gives a {type(action).__name__} as action; expected a tuple of {len(space.spaces)}"
        )
    return tuple(as_action(part, one) for part, one in zip(space.spaces, action, strict=True))


def _array(space: Any, action: Any) -> np.ndarray:
    if hasattr(action, "detach"):  # a tensor of PyTorch, which may have a gradient or be on a GPU
        action = action.detach().cpu().numpy()
    try:
        array = np.asarray(action)
    except ValueError:  # nested lists of several lengths
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"the policy gives a {type(action).__name__} as action; expected numbers of {space}")
    if array.shape != space.shape:
        one = "" if space.shape else ", the number of one action (the argmax, if these are scores)"
        raise ValueError(f"the policy gives an action of shape {array.shape}; expected {space.shape}{one}")
    return array


def _whole_action(space: Any, action: Any) -> Any:
    array = _array(space, action)
    if array.dtype.kind == "f":
        raise TypeError(f"the policy gives an action of type {array.dtype}; expected whole numbers for {space}")
    if not space.contains(np.asarray(array, np.int64)[()]):
        raise ValueError(f"the policy gives the action {array}, which is not in {space}")
    # A scalar, not an array without axes: tables of transitions are looked up by it.
    return array.astype(space.dtype)[()]


def _box_action(space: Any, action: Any) -> np.ndarray:
    array = _array(space, action)
    if not np.all(np.isfinite(array)):
        raise ValueError("the policy gave an action that is not finite")
    if array.dtype.kind == "f" and np.dtype(space.dtype).kind != "f":
        raise TypeError(f"the policy gives an action of type {array.dtype}; expected {space.dtype} for {space}")
    return array.astype(space.dtype)


# By the names of spaces, since Gymnasium need not be installed.
_OF_SPACES: dict[str, Callable[..., Any]] = {
    "Dict": _dict_action,
    "Tuple": _tuple_action,
    **dict.fromkeys(("Discrete", "MultiDiscrete", "MultiBinary"), _whole_action),
    "Box": _box_action,
}


class Actor(NamedTuple):
    """Chooses the actions of episodes that run side by side, from their observations and the step.

    ``takes_batch``: whether it takes the observations of all at once.
    """

    act: Callable[[Any, int], Any]
    takes_batch: bool


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
        return lambda keys: Actor(lambda obs, t: policy(obs), takes_batch=False)
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

    def act(obs: Any, t: int) -> Any:
        found = predict(obs, deterministic=True, **carried)
        if not isinstance(found, tuple) or len(found) != 2:
            raise TypeError(f"predict gives a {type(found).__name__}; expected a pair of actions and state")
        if found[1] is not None:
            carried["state"] = found[1]
        return found[0]

    return Actor(act, takes_batch=True)


def _compiled(policy: Policy, keys: jax.Array) -> Actor:
    """A policy of JAX, in one compiled call a step."""

    def act(obs: Any, t: int) -> Any:
        try:
            return jax.tree.map(np.asarray, _actions(policy, obs, keys, t))
        except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
            raise TypeError(
                "JAX cannot trace the policy, a function of an observation and a key; one of NumPy or PyTorch is a"
                " function of the observation alone"
            ) from error

    return Actor(act, takes_batch=True)


@jax.jit
def _actions(policy: Policy, obs: Any, keys: jax.Array, t: int) -> Any:
    keys = jax.vmap(lambda key: jax.random.fold_in(key, t))(keys)
    return jax.vmap(lambda obs, key: policy.apply(policy.params, obs, key))(obs, keys)
