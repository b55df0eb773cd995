"""Certificates while a policy trains."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count, warn
from jaxcert.certificates import Certificate, Status
from jaxcert.rollouts import MultiTaskEnv, brax_policy, certify_policy
from jaxcert.rollouts._certify_policy import checked_settings
from jaxcert.rollouts._policy import digest
from jaxcert.training._checkpoint_budget import CheckpointBudget, Ledger


class Checkpoint(NamedTuple):
    """The certificates at one point of training.

    Attributes:
        number: the number of the checkpoint, from 1.
        step: the environment steps so far, as counted by the training.
        delta: failure probability of each of its certificates.
        safety: the certificate at the thresholds.
        mean_return: mean over tasks and rollouts; not a certificate.
        seconds: time for rollouts and certificates.
        params: parameters of the policy.
    """

    number: int
    step: int
    delta: float
    safety: Certificate
    mean_return: float
    seconds: float
    params: Any


class CertificationHook:
    """Certifies every checkpoint of training.

    It is the ``policy_params_fn`` of ``brax.training.agents.ppo.train``, or is called by one's own, which may log its
    result, and end training by an exception.

    Each checkpoint has fresh tasks, fresh rollouts and its own part of delta, so with probability at least 1 - delta,
    for each threshold, the certificates of all checkpoints hold at once, whichever of them is used
    and whenever training stops. This is a statement about one training run; delta has to be divided among several runs.

    Args:
        env: the tasks and their environments.
        key: a JAX random key, which may be the key of training; the keys of the checkpoints are derived from it.
        thresholds: returns B whose safety is certified.
        num_tasks: n per checkpoint.
        num_rollouts: m per task.
        budget: how delta is spent.
        beta: as in ``certify``.
        bound: as in ``certify_policy``.
        method: as in ``certify_policy``.
        deterministic: certify the mode of the policy's distribution instead of its samples.
        max_bytes: as in ``rollouts.collect``.
        log: a file that gets two lines of JSON per checkpoint: its part of delta, before its tasks are drawn, and its
            result. If the file exists from an earlier run, the numbering of checkpoints continues from it, so that
            delta is not spent twice and no tasks are repeated; concurrent processes may share it, under a lock (it
            needs filelock).

    Attributes:
        checkpoints: all checkpoints so far.

    Raises:
        ImportError: for a log without filelock (extra ``io``).
        ValueError: for thresholds or settings that ``certify`` would refuse; for a damaged log.

    Example:
        >>> import jax
        >>> from jaxcert.tasks import pendulum
        >>> hook = CertificationHook(
        ...     pendulum.ENV, jax.random.key(1), thresholds=[20.0], num_tasks=50, num_rollouts=4,
        ...     budget=CheckpointBudget(0.01, num_checkpoints=5),
        ... )
        >>> def make_policy(params, deterministic=False):
        ...     return lambda obs, key: (params * jax.numpy.sign(obs[2:3]), {})
        >>> checkpoint = hook(1000, make_policy, jax.numpy.float32(1))
        >>> sorted(hook.scalars(checkpoint))[:2]
        ['certify/delta', 'certify/mean_return']

    Reference: the theory page, section on looking during training.
    """

    def __init__(
        self,
        env: MultiTaskEnv,
        key: jax.Array,
        *,
        thresholds: Sequence[float],
        num_tasks: int,
        num_rollouts: int,
        budget: CheckpointBudget,
        beta: float | Literal["auto"] | None = None,
        bound: str | None = None,
        method: str | None = None,
        deterministic: bool = True,
        max_bytes: int = 2**30,
        log: str | Path | None = None,
    ) -> None:
        self.env, self.key, self.budget = env, key, budget
        self.thresholds = np.atleast_1d(np.asarray(thresholds, np.float64))
        self.sizes, self.max_bytes = {"num_tasks": num_tasks, "num_rollouts": num_rollouts}, max_bytes
        self.deterministic = deterministic
        self.settings = self._checked({"beta": beta, "bound": bound, "method": method})
        self.ledger = Ledger(log)
        self.checkpoints: list[Checkpoint] = []

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        """The settings of each checkpoint; ValueError now for what the first, which spends delta, would refuse."""
        check_count("max_bytes", self.max_bytes)
        if len({_shown(value) for value in self.thresholds.ravel()}) < self.thresholds.size:
            raise ValueError(f"thresholds {self.thresholds} hold the same number twice, up to twelve digits")
        found = checked_settings(self.env, self.thresholds, **self.sizes, delta=self.budget.level(1), **settings)
        return {name: found[name] for name in settings}

    def __call__(self, step: int, make_policy: Callable[..., Any], params: Any) -> Checkpoint:
        """Certify a checkpoint.

        Raises:
            ValueError: as ``certify_policy``, and after the last checkpoint that the budget planned.
        """
        checkpoint = self._certified(step, make_policy, params)
        self.checkpoints.append(checkpoint)
        scalars = {key: value if np.isfinite(value) else None for key, value in self.scalars(checkpoint).items()}
        self.ledger.finish(checkpoint.number, checkpoint.step, digest(params), {**scalars, **self._facts()})
        return checkpoint

    def _facts(self) -> dict[str, Any]:
        beta = self.settings["beta"]
        return {
            "deterministic": self.deterministic,
            **self.sizes,
            "support": [float(end) if np.isfinite(end) else None for end in self.env.support],
            **self.settings,
            "beta": beta if beta is None or isinstance(beta, str) else float(beta),
        }

    def _certified(self, step: int, make_policy: Callable[..., Any], params: Any) -> Checkpoint:
        begin = time.perf_counter()
        number, delta = self.ledger.begin(int(step), self.budget)
        # On the host: the sharding of Brax's arrays changes after the first checkpoint.
        policy = brax_policy(make_policy, jax.device_get(params), deterministic=self.deterministic)
        settings: dict[str, Any] = {**self.settings, "delta": delta, "max_bytes": self.max_bytes, "validate": False}
        key = jax.random.fold_in(self.key, number)
        found = certify_policy(self.env, policy, key, self.thresholds, **self.sizes, **settings)
        mean = _mean_return(found.returns, found.certificate, step)
        return Checkpoint(number, int(step), delta, found.certificate, mean, time.perf_counter() - begin, params)

    def scalars(self, checkpoint: Checkpoint) -> dict[str, float]:
        """The scalars for logs: ``certify/safety@B``, delta, mean return and seconds."""
        safety = zip(self.thresholds, np.asarray(checkpoint.safety.safety, np.float64), strict=True)
        return {
            "certify/delta": checkpoint.delta,
            "certify/mean_return": checkpoint.mean_return,
            "certify/seconds": checkpoint.seconds,
            **{f"certify/safety@{_shown(b)}": float(s) for b, s in safety},
        }


def _mean_return(returns: jax.Array, safety: Certificate, step: int) -> float:
    """Mean of the finite returns; ValueError if there are none, since then the policy or the rewards are broken.

    An episode without a return gives a warning and a violation.
    """
    mean = float(jnp.nanmean(returns))
    if not np.isfinite(mean):
        raise ValueError(f"step {step}: no return is finite: actions of the policy, or rewards, are not")
    if np.any(np.asarray(safety.status) == Status.INVALID_INPUT):
        warn(
            f"step {step}: some returns are not finite or outside the support: a task with a return that is no number "
            "counts as a violation, and a return outside certifies nothing"
        )
    return mean


def _shown(value: float) -> str:
    return f"{value:.12g}"
