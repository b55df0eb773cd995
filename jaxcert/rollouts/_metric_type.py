"""What a metric allows: which bounds on its mean are bounds on the performance."""

import dataclasses
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import jax

_Metric = TypeVar("_Metric", bound=Callable[..., jax.Array])


@dataclasses.dataclass(frozen=True)
class MetricProperties:
    """What may be concluded from rollouts of a metric about the performance J = E[G(τ)].

    A rollout is *whole* if the metric depends on nothing that comes after it: the episode has terminated, or
    the horizon is finite and reached. Otherwise it is a *prefix* of an unbounded trajectory. On whole
    rollouts E[X] = J, and lower bounds on E[X] are lower bounds on J for every metric. On prefixes they
    are if the metric is monotone, for then E[X] <= J.

    Attributes:
        monotone: when the value of a prefix never exceeds the value of the whole trajectory:
            ``"always"``, or only with ``"non-negative rewards"`` (without them, certify whole rollouts only).
        upper_bounds: where an upper bound on E[X] is an upper bound on J: on ``"whole rollouts"`` only, or
            ``"never"``. On prefixes it is not, for any metric, whether monotone or not.
    """

    monotone: Literal["always", "non-negative rewards"]
    upper_bounds: Literal["whole rollouts", "never"]


_REGISTRY: dict[Any, MetricProperties] = {}


def metric(properties: MetricProperties) -> Callable[[_Metric], _Metric]:
    """Record the properties of the decorated metric, and leave the function as it is."""

    def register(function: _Metric) -> _Metric:
        _REGISTRY[function] = properties
        return function

    return register


def metric_properties(metric: Callable[..., jax.Array]) -> MetricProperties:
    """Whether a metric is monotone in the prefix, and where upper bounds on it are allowed.

    Args:
        metric: one of this package's metric functions, itself, not a wrapped or partial version of it.

    Returns:
        Its `MetricProperties`.

    Raises:
        ValueError: if `metric` is not a metric of this package.

    Example:
        >>> from jaxcert.rollouts import metric_properties, reach
        >>> metric_properties(reach)
        MetricProperties(monotone='always', upper_bounds='whole rollouts')
    """
    if metric not in _REGISTRY:
        choices = ", ".join(sorted(known.__name__ for known in _REGISTRY))
        raise ValueError(f"metric must be one of {choices}, got {metric!r}")
    return _REGISTRY[metric]
