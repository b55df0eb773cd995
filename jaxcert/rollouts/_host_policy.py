"""Policies that act on the host: functions of NumPy or PyTorch, models with ``predict``, and compiled ones of JAX."""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, Protocol

import jax
import numpy as np

from jaxcert.rollouts._policy import Policy, as_policy


class Actor(Protocol):
    """What chooses the actions of some episodes that run side by side.

    Attributes:
        takes_batch: whether it takes the observations of all at once even where environments give them one by one.
    """

    takes_batch: bool

    def __call__(self, obs: Any, t: int) -> Any:
        """The action, or the batch of them, in step t."""
        ...


def actor_of(policy: Any) -> Callable[[jax.Array], Actor]:
    """From the keys of some episodes to their actor.

    Raises:
        TypeError: if it is not a policy.
    """
    if isinstance(policy, Policy):
        return lambda keys: _Compiled(policy, keys)
    if callable(getattr(policy, "predict", None)):
        _check_predict(policy)
        return lambda keys: _Predicting(policy.predict)
    if hasattr(policy, "forward") and hasattr(policy, "state_dict"):
        raise TypeError(
            f"policy is the module {type(policy).__name__} of PyTorch, which takes no arrays; give a function such as"
            " lambda obs: module(torch.as_tensor(obs)).argmax(-1)"
        )
    if callable(policy) and _takes_observation_alone(policy):
        return lambda keys: _Function(policy)
    compiled = as_policy(policy)
    return lambda keys: _Compiled(compiled, keys)


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
            f"{type(policy).__name__}.predict takes no argument deterministic, as that of Stable-Baselines3 does;"
            " give a function of an observation, such as lambda obs: model.predict(obs)"
        )


@dataclasses.dataclass
class _Function:
    """A function of an observation: one, or those of a vector environment at once."""

    function: Callable[[Any], Any]
    takes_batch = False

    def __call__(self, obs: Any, t: int) -> Any:
        return self.function(obs)


@dataclasses.dataclass
class _Predicting:
    """A model of Stable-Baselines3, deterministic; the state of a recurrent one is handed from step to step."""

    predict: Callable[..., Any]
    state: Any = None
    takes_batch = True

    def __call__(self, obs: Any, t: int) -> Any:
        carried = {} if self.state is None else {"state": self.state}
        found = self.predict(obs, deterministic=True, **carried)
        if not isinstance(found, tuple) or len(found) != 2:
            raise TypeError(f"predict gives a {type(found).__name__}; expected a pair of actions and state")
        actions, self.state = found
        return actions


@dataclasses.dataclass
class _Compiled:
    """A policy of JAX, in one compiled call a step."""

    policy: Policy
    keys: jax.Array
    takes_batch = True

    def __call__(self, obs: Any, t: int) -> Any:
        try:
            return jax.tree.map(np.asarray, _actions(self.policy, obs, self.keys, t))
        except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
            raise TypeError(
                "JAX cannot trace the policy, a function of an observation and a key; one of NumPy or PyTorch is a"
                " function of the observation alone"
            ) from error


@jax.jit
def _actions(policy: Policy, obs: Any, keys: jax.Array, t: int) -> Any:
    keys = jax.vmap(lambda key: jax.random.fold_in(key, t))(keys)
    return jax.vmap(lambda obs, key: policy.apply(policy.params, obs, key))(obs, keys)
