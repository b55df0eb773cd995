"""From a policy to its certificate."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Numeric
from jaxcert._validation import check_count
from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._certify import certify
from jaxcert.certificates._registry import defaults
from jaxcert.rollouts._collect import collect
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.rollouts._policy import PolicyOrFunction, as_policy, key_apart


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, repr=False)
class PolicyCertificate:
    """A certificate with the returns and tasks behind it.

    Attributes:
        certificate: the certificate at the thresholds.
        returns: [n, m].
        tasks: a pytree of arrays [n, ...].
    """

    certificate: Certificate
    returns: jax.Array
    tasks: Any

    def __repr__(self) -> str:
        return repr(self.certificate)


def certify_policy(
    env: MultiTaskEnv,
    policy: PolicyOrFunction,
    key: jax.Array,
    thresholds: Numeric | Sequence[float],
    *,
    num_tasks: int,
    num_rollouts: int,
    delta: Numeric,
    beta: Numeric | Literal["auto"] | None = None,
    bound: str | None = None,
    method: str | None = None,
    max_bytes: int = 2**30,
    validate: bool = True,
) -> PolicyCertificate:
    """Sample tasks, run a fixed policy on them, and certify it; returns stay on the device.

    It states what ``certify`` does, for the undiscounted return and ``env.support``. It holds for the policy as it is
    run: sampled actions certify the stochastic policy, the mode certifies the deterministic one.

    Args:
        env: the tasks and their environments.
        policy: a ``rollouts.Policy`` or a function, as in ``rollouts.collect``; fixed before the key is drawn.
        key: a fresh JAX random key: the policy was chosen without it, and no other certificate uses it.
        thresholds: as in ``certify``.
        num_tasks: n.
        num_rollouts: m per task.
        delta: as in ``certify``.
        beta: as in ``certify``.
        bound: as in ``certify``; returns that ``env.binary`` declares to be 0 or 1 count as an array of bool.
        method: as in ``certify``, likewise.
        max_bytes: as in ``rollouts.collect``.
        validate: raise for invalid values that are concrete.

    Returns:
        A ``PolicyCertificate``.

    Raises:
        TypeError: if the policy is not a function.
        ValueError: as ``certify`` and ``rollouts.collect``.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxcert.tasks import pendulum
        >>> policy = lambda obs, key: jnp.sign(obs[2:3])  # push the way it swings
        >>> found = certify_policy(
        ...     pendulum.ENV, policy, jax.random.key(0), 40.0, num_tasks=100, num_rollouts=10, delta=0.01
        ... )
        >>> print(found.returns.shape, f"{found.certificate.safety[0]:.2f}")
        (100, 10) 0.70

    Reference: as ``certify``.
    """
    given: dict[str, Any] = {"delta": delta, "beta": beta, "bound": bound, "method": method, "validate": validate}
    settings = checked_settings(env, thresholds, num_tasks, num_rollouts, **given)
    key_tasks, key_rollouts = jax.random.split(key_apart(key))
    policy, tasks = as_policy(policy), sampled_tasks(env, key_tasks, num_tasks)
    sizes = {"num_rollouts": num_rollouts, "max_bytes": max_bytes}
    returns = collect(env, policy, tasks, key_rollouts, **sizes, validate=validate)
    certificate = certify(returns, thresholds, support=env.support, **settings)
    return PolicyCertificate(certificate, returns, tasks)


def checked_settings(
    env: MultiTaskEnv, thresholds: Any, num_tasks: Any, num_rollouts: Any, **given: Any
) -> dict[str, Any]:
    """The settings of ``certify``, with the bound and the method that successes, or other returns, have by default.

    ValueError, before any rollout, for what ``certify`` refuses whatever the returns are; it is only traced.
    """
    for name, value in {"num_tasks": num_tasks, "num_rollouts": num_rollouts}.items():
        check_count(name, value)
    bound, method = defaults(given["bound"], given["method"], np.zeros(0, bool if env.binary else float), given["beta"])
    settings = {**given, "bound": bound.name, "method": method.name}
    returns = jax.ShapeDtypeStruct((num_tasks, num_rollouts), jnp.result_type(float))
    jax.eval_shape(lambda x: certify(x, thresholds, support=env.support, **settings), returns)
    return settings


@functools.partial(jax.jit, static_argnames=("env", "num_tasks"))
def sampled_tasks(env: MultiTaskEnv, key: jax.Array, num_tasks: int) -> Any:
    """The tasks, compiled; its ``eval_shape`` traces once."""
    return env.sample_tasks(key, num_tasks)
