"""Each way to certify, as a function of returns and of the settings that ways have in common."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxcert


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
        data: the arguments that returns [..., n, m] become; a second policy has zeros.
    """

    function: Callable
    fixed: dict[str, Any]
    data: Callable = lambda x: {"returns": x}

    def __call__(self, x, **settings):
        return self.function(**{**self.data(x), **self.fixed, **settings})

    def takes(self, setting: str) -> bool:
        return setting in inspect.signature(self.function).parameters

    def among(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Those of the settings that it takes."""
        return {name: value for name, value in settings.items() if self.takes(name)}


def _beside_none(x) -> dict:
    return {"returns_a": x, "returns_b": (jnp if isinstance(x, jax.Array) else np).zeros_like(x)}


def _two_policies(x) -> dict:
    both = tuple(_beside_none(x).values())
    return {"returns": (jnp if isinstance(x, jax.Array) else np).stack(both, axis=max(-3, -1 - np.ndim(x)))}


def _with_weights(x) -> dict:
    return {"returns": x, "weights": np.ones(np.shape(x)[-2:-1])}


def ways(thresholds: Any = 0.3, safety: Any = 0.5, *, alpha: Any = 0.5, cap: Any = 1.0) -> dict[str, Way]:
    """By name, at these thresholds or safeties."""
    at = {"thresholds": thresholds}
    weighted = {**at, "max_weight": 1.0}
    return {
        "certify": Way(jaxcert.certify, at),
        "auto": Way(jaxcert.certify, {**at, "beta": "auto"}),
        "soft": Way(jaxcert.certify, {**at, "method": "soft"}),
        "safety_level": Way(jaxcert.certify_safety_level, {"safety": safety}),
        "together": Way(jaxcert.certify_safety_level, {"safety": safety, "simultaneous": True}),
        "band": Way(jaxcert.certify_band, at),
        "interval": Way(jaxcert.certify_interval, {**at, "complete": True}),
        "anytime": Way(jaxcert.certify_anytime, at),
        "sequential": Way(jaxcert.certify_sequential, at),
        "episode": Way(jaxcert.certify_episode, at),
        "weighted": Way(jaxcert.certify_weighted, weighted, _with_weights),
        "soft weighted": Way(jaxcert.certify_weighted, {**weighted, "method": "soft"}, _with_weights),
        "improvement": Way(jaxcert.certify_improvement, {"margins": thresholds}, _beside_none),
        "mean": Way(jaxcert.certify_mean, {}),
        "cvar": Way(jaxcert.certify_cvar, {"alpha": alpha, "cap": cap}),
        "mean_difference": Way(jaxcert.certify_mean_difference, {}, _beside_none),
        "ranking": Way(jaxcert.certify_ranking, {}, _two_policies),
        "suite": Way(jaxcert.certify_suite, at),
        "each_task": Way(jaxcert.certify_each_task, at),
        "suite_mean": Way(jaxcert.certify_suite_mean, {}),
    }
