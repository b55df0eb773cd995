"""Each question of the registry, and other methods for some, as functions of returns and of settings in common."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert import at_least
from jaxcert.questions import QUESTIONS


def spoilt(x: np.ndarray, value: float) -> np.ndarray:
    """With another return of task 3 in rollout 4."""
    x = x.copy()
    x[3, 4] = value
    return x


class Way(NamedTuple):
    """A public function with what it is asked.

    Attributes:
        function: the public function.
        fixed: its settings, beside those of a call.
        data: the arguments that returns [..., n, m] become.
    """

    function: Callable
    fixed: dict[str, Any]
    data: Callable = lambda x: {"returns": x}

    def __call__(self, x, **settings):
        return self.function(**{**self.data(x), **self.fixed, **settings})

    def asked(self, **settings) -> "Way":
        """The same with more settings."""
        return self._replace(fixed={**self.fixed, **settings})

    def takes(self, setting: str) -> bool:
        return setting in inspect.signature(self.function).parameters

    def among(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Those of the settings that it takes."""
        return {name: value for name, value in settings.items() if self.takes(name)}


def _data(name: str, x) -> dict[str, Any]:
    """As a metric, beside a policy that returns only 0, with weights of 1 or strata, where a question has those."""
    if name.endswith("requirements"):
        return {"returns": {"x": x}}
    if name == "stratified":
        return {"returns": x, "strata": np.arange(max(1, *np.shape(x)[-2:-1], 0)) % 2}
    if name == "ranking" or len(QUESTIONS[name].inputs) > 1:
        xp = jnp if isinstance(x, jax.Array) else np
        zeros, weights = xp.zeros_like(x), np.ones(np.shape(x)[-2:-1])
        both = xp.stack([x, zeros], axis=max(-3, -1 - np.ndim(x))) if name == "ranking" else x
        data = {"returns": both, "returns_a": x, "returns_b": zeros, "weights": weights}
        return {each: data[each] for each in QUESTIONS[name].inputs}
    return {"returns": x}


def ways(thresholds: Any = 0.3, safety: Any = 0.5, *, alpha: Any = 0.5, cap: Any = 1.0) -> dict[str, Way]:
    """By name, at these numbers."""
    at = {"threshold": thresholds, "margin": thresholds, "safety": safety, "alpha": alpha}
    own = {"cvar": {"cap": cap}, "weighted": {"max_weight": 1.0}}
    required = {"requirements": {"x": at_least(0.3, support=(0.0, 1.0))}}
    own |= {"requirements": required, "suite_requirements": required}
    found = {}
    for name, question in QUESTIONS.items():
        fixed = {question.fixed: at[question.each]} if question.fixed else {}
        fixed |= question.declared | own.get(name, {})
        found[name] = Way(question.function, fixed, functools.partial(_data, name))
    return found | {
        "auto": found["safety"].asked(beta="auto"),
        "soft": found["safety"].asked(method="soft"),
        "soft weighted": found["weighted"].asked(method="soft"),
    }
