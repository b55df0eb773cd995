"""The best of the certificates at a few levels, where the data choose beta."""

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._padding import Tasks, unpadded_tasks
from jaxcert.certificates._arguments import AUTO, divided, is_auto
from jaxcert.certificates._certificate import Certificate, quantity_of
from jaxcert.certificates._compiled import any_neginf, bad_levels, count_first, number_of, status_of
from jaxcert.certificates._method import Choice, Method, Solution
from jaxcert.numerics._batches import padded_length
from jaxcert.numerics._rounding import complement_down
from jaxcert.returns._prepared import probability


class Levels(NamedTuple):
    """The levels among which the data choose, and the delta of the certificate at each; a pytree.

    Attributes:
        betas: in increasing order, [g].
        delta_each: a scalar.
    """

    betas: jax.Array
    delta_each: jax.Array


def prepare_choice(
    method: Method, delta: Any, beta: str | Levels, num_tasks: int, dtype: np.dtype, validate: bool
) -> tuple[jax.Array, Levels]:
    """Delta rounded down, and the levels for ``beta="auto"``; levels that were prepared before stay as they are.

    Raises:
        ValueError: for an invalid delta, another word, or a method without a choice.
    """
    rounded = probability("delta", delta, dtype, "down", validate=validate, scalar=True)
    if isinstance(beta, Levels):
        return rounded, beta
    if beta != AUTO:
        raise ValueError(f"beta is {beta!r}; expected a number, or {AUTO!r}")
    if method.choice is None:
        raise ValueError(f"beta is {beta!r}; {method.name} needs a number, or None for its default")
    betas = jax.device_put(np.asarray(method.choice.betas, dtype))
    each = functools.partial(_delta_each, method.choice, num_tasks)
    return rounded, Levels(betas, divided(delta, dtype, len(method.choice.betas), each))


def _delta_each(choice: Choice, num_tasks: int, delta: float) -> float:
    return choice.delta_each(num_tasks, delta, choice.betas)


def usual_beta(method: Method, beta: Any) -> Any:
    """Beta, or None, its default, for "auto" where the method chooses a level for each threshold anyway."""
    derive = method.from_returns
    return None if derive is not None and derive.chooses and is_auto(beta) else beta


def refuse_choice(beta: Any, instead: str) -> None:
    """Raise ValueError for a word in place of a level, where there is nothing to choose from."""
    if isinstance(beta, str):
        raise ValueError(f"beta is {beta!r}; expected {instead}")


def certify_best_level(
    bound: str, method: Method, lower: Tasks, thresholds: jax.Array, levels: Levels, delta: jax.Array
) -> Certificate:
    """From lower bounds [g, ..., n], one row for each level, and thresholds [t] to a certificate [..., t]."""
    (num_levels, *others, _), n = lower.values.shape, lower.num_tasks
    size = math.prod(others) * num_levels * thresholds.size
    # One problem per level and certificate, or one per level and k, whichever are fewer.
    direct = size <= num_levels * n
    values = lower.values if direct else unpadded_tasks(lower)
    length = padded_length(size if direct else num_levels * (n + 1), values, thresholds, *levels, delta)
    number = number_of(lower)
    values, violations, k, tasks, beta = _problems(
        values, number, thresholds, levels.betas, length=length, direct=direct
    )
    solution = method.solve(k, tasks, beta, levels.delta_each)
    fields, first = _best(method, thresholds, values, number, violations, solution, levels.betas, delta, direct)
    first = unpadded_tasks(Tasks(first, n))
    settings = {"num_tasks": n, "bound": bound, "method": method.name, "quantity": quantity_of(bound)}
    return Certificate(**fields, lower_bounds=first, delta=delta, **settings)


@functools.partial(jax.jit, static_argnames=("length", "direct"))
def _problems(lower, n, thresholds, betas, *, length: int, direct: bool) -> tuple[jax.Array, ...]:
    """Nested lower bounds, their violations [g, ..., t], and rows of k, n and beta to solve for."""
    # A task passes at a level only if it passes at every larger one, too, however the bounds are rounded.
    lower = jax.lax.cummin(lower, axis=0, reverse=True)
    wanted = jnp.broadcast_to(thresholds, (*lower.shape[:-1], thresholds.shape[-1]))
    violations, counts = count_first(lower, n, wanted), lower.shape[-1] + 1
    k = violations.reshape(betas.size, -1) if direct else jnp.broadcast_to(jnp.arange(counts), (betas.size, counts))
    beta = jnp.broadcast_to(betas[:, None], k.shape).reshape(-1)
    padding = (0, length - k.size)
    row = jnp.pad(k.astype(lower.dtype).reshape(-1), padding)
    return lower, violations, row, n.astype(lower.dtype), jnp.pad(beta, padding)


@functools.partial(jax.jit, static_argnums=(0, 8))
def _best(
    method: Method, thresholds, lower, n, violations, solution: Solution, betas, delta, direct
) -> tuple[dict, jax.Array]:
    """The fields of certificates, each at the level with the smallest risk, the first of several; the bounds there."""
    where = _positions(violations, lower.shape[-1], direct)
    level = jnp.argmin(solution.epsilon[where], axis=0)[None]
    (epsilon, num_valid, feasible), violations, beta = jax.tree.map(
        lambda each: jnp.take_along_axis(each, level, axis=0)[0],
        (
            jax.tree.map(lambda column: column[where], solution),
            violations,
            jnp.broadcast_to(jnp.expand_dims(betas, range(1, where.ndim)), where.shape),
        ),
    )
    bad = jnp.broadcast_to(~jnp.isfinite(thresholds), epsilon.shape) | bad_levels(beta, delta)
    epsilon = jnp.where(bad, 1.0, epsilon)
    invalid = bad | any_neginf(lower[0], n)
    fields = {
        "thresholds": thresholds,
        "safety": complement_down(epsilon),
        "epsilon": epsilon,
        "num_violations": violations,
        "num_valid": num_valid,
        "status": status_of(method, epsilon, feasible, invalid, beta, delta, n.astype(lower.dtype)),
        "beta": beta,
    }
    return fields, lower[0]


def _positions(violations: jax.Array, n: int, direct: bool) -> jax.Array:
    """Where the solution for each level and certificate is in the row, [g, ..., t]."""
    if direct:
        return jnp.arange(violations.size).reshape(violations.shape)
    first = (n + 1) * jnp.arange(violations.shape[0], dtype=violations.dtype)
    return jnp.expand_dims(first, range(1, violations.ndim)) + violations
