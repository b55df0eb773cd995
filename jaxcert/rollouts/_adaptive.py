"""Certificates that decide, while they roll out, which task needs another rollout."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Numeric
from jaxcert._validation import check_count, is_concrete, kept_readable
from jaxcert.certificates import Certificate
from jaxcert.certificates._answer import holds_values
from jaxcert.certificates._method import BINOMIAL, USUAL_BETA, binomial_epsilon
from jaxcert.certificates._registry import as_row, prepare_thresholds
from jaxcert.certificates._safety_level import allowed_counts
from jaxcert.numerics._rounding import known
from jaxcert.returns._checks import check_returns
from jaxcert.returns._prepared import probability
from jaxcert.rollouts._certify_policy import sampled_tasks
from jaxcert.rollouts._collect import batch_size, check_shapes
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.rollouts._policy import Policy, PolicyOrFunction, as_policy, episode_key, key_apart
from jaxcert.rollouts._rounds import Worker, go_on
from jaxcert.sequential._rule import MOST_ROLLOUTS, prepare_rule, takes_table
from jaxcert.sequential._wealth import SequentialState, certificate_of, start

_MOST_ROLLOUTS = 2**28
_UNDECLARED = (
    "All returns are 0 or 1: a new run with binary=True, or of an environment that declares it, would give up fewer "
    "tasks that fail at first."
)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, repr=False)
class AdaptiveCertificate:
    """A certificate with the rollouts behind it, at one moment of an adaptive run.

    The returns are no sample of a fixed size, since each was asked for because of those before: ``certify`` does not
    hold for them.

    Attributes:
        certificate: the certificate at the thresholds, with ``num_rollouts_used`` for each task.
        state: of the experiment, with ``passed`` and ``num_rollouts``.
        tasks: a pytree of arrays [n, ...].
        num_started: rollouts in all: the cost, with those that were not needed in the end.
        rollout_task: the task of each rollout, in the order in which they were taken in, int32[r]; -1 after the last.
        rollout_return: the return of each, float[r]; NaN after the last.
    """

    certificate: Certificate
    state: SequentialState
    tasks: Any
    num_started: jax.Array
    rollout_task: jax.Array
    rollout_return: jax.Array

    def __repr__(self) -> str:
        return f"{self.certificate!r}\n{_UNDECLARED}" if self._gave_up_successes() else repr(self.certificate)

    def _gave_up_successes(self) -> bool:
        """Whether tasks were given up by bets that are not made for the returns, all of which are 0 or 1."""
        state = self.state
        if not holds_values(self) or state.is_binary.ndim or state.is_binary or (state.low, state.high) != (0, 1):
            return False
        returns = np.asarray(self.rollout_return)[np.asarray(self.rollout_task) >= 0]
        was_given_up = ~np.asarray(state.passed) & ~np.asarray(state.is_open)
        return bool(np.all(np.isin(returns, (0, 1))) and was_given_up.any())


def certify_adaptive(
    env: MultiTaskEnv,
    policy: PolicyOrFunction,
    key: jax.Array,
    thresholds: Numeric | Sequence[float],
    *,
    num_tasks: int,
    max_rollouts: int,
    delta: Numeric,
    beta: Numeric | None = None,
    until: Numeric | Sequence[float] | None = None,
    give_up: float | None = None,
    binary: bool | None = None,
    max_rollouts_per_task: int | None = None,
    max_bytes: int = 2**30,
    validate: bool = True,
) -> AdaptiveCertificate:
    r"""Sample tasks, and roll out each of them until it passes or is given up: a certificate of few rollouts.

    It states what ``certify_sequential`` does: with probability at least 1 - delta for each threshold, the certificate
    holds at every moment, whichever task was rolled out next, and whenever and why the run ended. The run ends at the
    first of: every task is decided; ``until`` is certified; ``max_rollouts`` are made.

    Rollouts run side by side, in rounds, in one compiled call. Each round has the open tasks, first those with the
    fewest rollouts, some of them several times. Rollout j of task i has a random key of its own, so what a task returns
    does not depend on memory or order (with JAX's default keys; a batch of "rbg" keys draws as one).

    Args:
        env: the tasks and their environments; returns are undiscounted, in ``env.support``.
        policy: a ``rollouts.Policy`` or a function, as in ``rollouts.collect``; fixed before the key is drawn.
        key: a fresh JAX random key: the policy was chosen without it, and no other certificate uses it.
        thresholds: float[t], or a scalar for one; fixed before the data are seen.
        num_tasks: n; every one counts, whether it is rolled out or not.
        max_rollouts: the number of rollouts in all, at most; up to 2**28.
        delta: failure probability of each threshold's certificates, in (0, 1); a scalar.
        beta: probability with which a task with J < B may pass, in (0, 1), fixed before the data; 0.05 by default.
        until: wanted safety, a scalar or [t]: at a threshold where it is certified, no task is continued.
        give_up: as in ``certify_sequential``.
        binary: as in ``sequential.init``. By default what ``env.binary`` declares, unless levels are traced, or more
            than 2000 rollouts per task are wanted.
        max_rollouts_per_task: the number of rollouts after which a task is left. By default there is none; for binary
            returns it is four times the mean that ``max_rollouts`` allows, at most 2000.
        max_bytes: approximate memory for the states of episodes, which limits how many run side by side.
        validate: as in ``certify``; a return outside the support ends the run, a wanted safety that cannot be reached
            ends nothing.

    Returns:
        An ``AdaptiveCertificate``.

    Raises:
        TypeError: if the policy is not a function.
        ValueError: as ``certify_sequential`` and ``rollouts.collect``; for a wanted safety that so few tasks cannot
            reach.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxcert.rollouts import certify_adaptive
        >>> from jaxcert.tasks import pendulum
        >>> policy = lambda obs, key: jnp.sign(obs[2:3])  # push the way it swings
        >>> found = certify_adaptive(
        ...     pendulum.ENV, policy, jax.random.key(0), 40.0, num_tasks=100, max_rollouts=3000, delta=0.01, until=0.7
        ... )
        >>> print(found.certificate.safety[0] >= 0.7, found.num_started < 3000)
        True True

    Reference: the theory page, section 8.
    """
    for name, value in {"num_tasks": num_tasks, "max_rollouts": max_rollouts, "max_bytes": max_bytes}.items():
        check_count(name, value)
    if max_rollouts > _MOST_ROLLOUTS:
        raise ValueError(f"max_rollouts is {max_rollouts}; expected at most {_MOST_ROLLOUTS}, whose returns are kept")
    dtype = jnp.result_type(float)
    checks: dict[str, Any] = {"validate": validate, "scalar": True}
    share = probability("delta", delta, dtype, "down", **checks)
    level = probability("beta", USUAL_BETA if beta is None else beta, dtype, "nearest", **checks)
    rows: Any = prepare_thresholds(thresholds, dtype, validate)
    if binary is None:
        binary = env.binary and takes_table(max_rollouts_per_task, (rows, level))
    if binary and max_rollouts_per_task is None:
        max_rollouts_per_task = _most_per_task(max_rollouts, num_tasks)
    limits = {"give_up": give_up, "max_rollouts_per_task": max_rollouts_per_task, "binary": binary}
    rule = prepare_rule(rows, level, env.support, bets=None, **limits)
    needed = _needed(until, num_tasks, rows, level, share, validate)
    policy = as_policy(policy)
    state_bytes = check_shapes(env, policy, sampled_tasks.eval_shape(env, key, 1))
    # The log's length is a power of two, so that another number of rollouts seldom recompiles.
    capacity = 1 << (max_rollouts - 1).bit_length()
    sizes = {"num_slots": batch_size(state_bytes, num_tasks, max_bytes), "capacity": capacity}
    ends = known(env.support[0], dtype, "down"), known(env.support[1], dtype, "up")
    worker, state = _begin(env, policy, key, (rows, *ends, level, rule), num_tasks=num_tasks)
    run = go_on(env, worker, state, needed, jnp.asarray(max_rollouts, jnp.int32), **sizes)
    certificate = certificate_of(run.state, share, bool(binary))
    found = AdaptiveCertificate(certificate=certificate, tasks=worker.tasks, **run._asdict())
    if validate and is_concrete(found.state.valid) and not np.all(found.state.valid):
        task, place_of = np.asarray(found.rollout_task), lambda index: f"a return of task {task[index[0]]}"
        low, high = found.state.low, found.state.high
        check_returns(np.asarray(found.rollout_return), low, high, task >= 0, binary=bool(binary), place_of=place_of)
    return found


def _most_per_task(max_rollouts: int, num_tasks: int) -> int:
    """Four times the mean that may be spent, within the table's range; few tasks need that many to be decided."""
    return min(MOST_ROLLOUTS, 4 * -(-max_rollouts // num_tasks))


def _needed(
    until: Any, num_tasks: int, thresholds: jax.Array, beta: jax.Array, delta: jax.Array, validate: bool
) -> jax.Array:
    """How many tasks have to pass for the wanted safety, int32[t]; more than there are where none is wanted."""
    if until is None:
        return jnp.full(thresholds.shape, num_tasks + 1, jnp.int32)
    wanted = as_row("until", probability("until", until, thresholds.dtype, "up", validate=validate))
    if wanted.size not in (1, thresholds.size):
        raise ValueError(
            f"until has {wanted.size} entries; expected one, or one for each of {thresholds.size} thresholds"
        )
    with kept_readable(wanted, beta, delta):
        _, allowed, _ = allowed_counts(BINOMIAL, wanted, delta, beta, num_tasks)  # k* + 1; 0 where there is none
        least = binomial_epsilon(0, num_tasks, beta, delta, validate=False)
    if validate and is_concrete(allowed) and np.any(np.asarray(allowed) == 0):
        raise ValueError(
            f"until is {np.max(np.asarray(wanted)):.6g}; {num_tasks} tasks certify at most "
            f"{1 - float(least):.4f} at this delta and beta, if all of them pass"
        )
    return jnp.broadcast_to(jnp.where(allowed > 0, num_tasks + 1 - allowed, num_tasks + 1), thresholds.shape)


@functools.partial(jax.jit, static_argnames=("env", "num_tasks"))
def _begin(
    env: MultiTaskEnv, policy: Policy, key: jax.Array, settings: tuple[Any, ...], *, num_tasks: int
) -> tuple[Worker, SequentialState]:
    """The tasks, the same as ``certify_policy`` draws with this key, and their state before the first rollout."""
    key_tasks, key_rollouts = jax.random.split(key_apart(key))
    worker = Worker(policy, env.sample_tasks(key_tasks, num_tasks), episode_key(key_rollouts))
    return worker, start((num_tasks,), *settings)
