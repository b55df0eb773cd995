"""The solvers of both methods, as programs that depend on few lengths, and how their solutions become epsilon."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.certificates._binomial import inflate, upper_risk
from jaxcert.certificates._rows import padded_length
from jaxcert.certificates._scenario import ScenarioSolution, solve_scenario


class Solutions(NamedTuple):
    """What does not depend on anything but k, n and the levels; each a row.

    Attributes:
        risk: U(k; n, delta).
        printed: the scenario theorem's, for that method.
    """

    risk: jax.Array
    printed: ScenarioSolution | None


def solve(method: str, k: Any, n: Any, beta: jax.Array, delta: jax.Array) -> Solutions:
    """The solutions for a row of k, and n and levels that broadcast to it."""
    if isinstance(n, int):
        n = np.asarray(n, k.dtype)
    if is_concrete(k, n):
        k, n = jax.device_put((k, n))  # no transfer that a guard could take for a hidden one
    printed = solve_scenario(k, n, beta, delta) if method == "scenario" else None
    return Solutions(upper_risk(k, n, delta), printed)


def solve_all(method: str, n: int, beta: jax.Array, delta: jax.Array) -> Solutions:
    """The solutions for k = 0, ..., n; if the row is longer, the last repeats."""
    k = np.minimum(np.arange(padded_length(n + 1, beta, delta)), n).astype(beta.dtype)
    return solve(method, k, n, beta, delta)


def epsilon_of(solutions: Solutions, k: jax.Array, n: Any, beta) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Epsilon, K and feasibility for each k."""
    sound = inflate(solutions.risk, beta)
    if solutions.printed is None:
        return sound, jnp.broadcast_to(n - k, sound.shape).astype(jnp.int32), jnp.ones(sound.shape, bool)
    printed = solutions.printed
    return jnp.maximum(printed.epsilon, sound), printed.num_valid, printed.feasible


def solve_epsilon(method: str, k: jax.Array, n, beta, delta) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Epsilon, K and feasibility for each k; n and the levels broadcast to it."""
    n, beta, delta = (jnp.broadcast_to(jnp.asarray(v, k.dtype), k.shape) for v in (n, beta, delta))
    return epsilon_of(solve(method, k, n, beta, delta), k, n, beta)
