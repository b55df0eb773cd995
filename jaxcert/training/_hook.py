"""Certificates while a policy trains."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np

from jaxcert._types import Array
from jaxcert._validation import check_count
from jaxcert.certificates import certify_safety_level
from jaxcert.certificates._arguments import choose
from jaxcert.certificates._method import BINOMIAL
from jaxcert.certificates._registry import COUNTING, defaults
from jaxcert.rollouts import MultiTaskEnv, brax_policy, certify_policy
from jaxcert.rollouts._certify_policy import check_settings
from jaxcert.rollouts._multi_task import kind_of_returns
from jaxcert.rollouts._policy import digest
from jaxcert.training._certifying import Checkpoint, Reached, mean_return, settled
from jaxcert.training._checkpoint_budget import CheckpointBudget, Ledger

Scalars = Mapping[str, float]


class CertificationHook:
    """Certifies every checkpoint of training.

    It is the ``policy_params_fn`` of ``brax.training.agents.ppo.train``.

    Each checkpoint has fresh tasks, fresh rollouts and its own part of delta, so with probability at least 1 - delta,
    for each threshold (or wanted safety), the certificates of all checkpoints hold at once, whichever of them is used
    and whenever training stops. This is a statement about one training run; delta has to be divided among several runs.

    Args:
        env: the tasks and their environments.
        key: a JAX random key, which may be the key of training; the keys of the checkpoints are derived from it.
        thresholds: returns B whose safety is certified.
        safeties: wanted shares of new tasks, for each of which a return is certified.
        num_tasks: n per checkpoint.
        num_rollouts: m per task.
        budget: how delta is spent.
        beta: as in ``certify``.
        bound: as in ``certify_policy``.
        method: as in ``certify_policy``; for safeties, one that counts lower bounds, by default "binomial".
        deterministic: certify the mode of the policy's distribution instead of its samples.
        max_bytes: as in ``rollouts.collect``.
        stop: a function from a checkpoint to whether training is over; then ``Reached`` is raised. By default never.
        writers: functions of the step and the scalars of each checkpoint.
        log: a file that gets two lines of JSON per checkpoint: its part of delta, before its tasks are drawn, and its
            result. If the file exists from an earlier run, the numbering of checkpoints continues from it, so that
            delta is not spent twice and no tasks are repeated; concurrent processes may share it, under a lock (it
            needs filelock).

    Attributes:
        checkpoints: all checkpoints so far.

    Raises:
        ImportError: for a log without filelock (extra ``io``).
        ValueError: for thresholds, safeties or settings that ``certify`` would refuse, or that do not go together; for
            a damaged log.

    Example:
        >>> import jax
        >>> from jaxcert.tasks import pendulum
        >>> hook = CertificationHook(
        ...     pendulum.ENV, jax.random.key(1), thresholds=[20.0], safeties=[0.9], num_tasks=50, num_rollouts=4,
        ...     budget=CheckpointBudget(0.01, num_checkpoints=5),
        ... )
        >>> def make_policy(params, deterministic=False):
        ...     return lambda obs, key: (params * jax.numpy.sign(obs[2:3]), {})
        >>> hook(1000, make_policy, jax.numpy.float32(1))
        >>> sorted(hook.scalars(hook.checkpoints[0]))[:2]
        ['certify/delta', 'certify/mean_return']

    Reference: the theory page, section on looking during training.
    """

    def __init__(
        self,
        env: MultiTaskEnv,
        key: jax.Array,
        *,
        thresholds: Sequence[float] = (),
        safeties: Sequence[float] = (),
        num_tasks: int,
        num_rollouts: int,
        budget: CheckpointBudget,
        beta: float | Literal["auto"] | None = None,
        bound: str | None = None,
        method: str | None = None,
        deterministic: bool = True,
        max_bytes: int = 2**30,
        stop: Callable[[Checkpoint], bool | Array] | None = None,
        writers: Sequence[Callable[[int, Scalars], None]] = (),
        log: str | Path | None = None,
    ) -> None:
        self.env, self.key, self.budget = env, key, budget
        self.thresholds = np.atleast_1d(np.asarray(thresholds, np.float64))
        self.safeties = np.atleast_1d(np.asarray(safeties, np.float64))
        if self.thresholds.ndim > 1 or self.safeties.ndim > 1:
            raise ValueError("thresholds and safeties have more than one axis; expected lists of numbers")
        if self.thresholds.size + self.safeties.size == 0:
            raise ValueError("nothing to certify: give thresholds, or safeties, or both")
        self.sizes = {"num_tasks": num_tasks, "num_rollouts": num_rollouts, "max_bytes": max_bytes}
        if method is None and self.safeties.size:
            method = BINOMIAL.name
        per_task, chosen = defaults(bound, method, kind_of_returns(env), beta)
        self.settings = {"beta": beta, "bound": per_task.name, "method": chosen.name}
        self.deterministic, self.stop, self.writers = deterministic, stop, tuple(writers)
        self._check()
        self.ledger = Ledger(log)
        self.checkpoints: list[Checkpoint] = []

    def _check(self) -> None:
        """Raise now for what would be refused at the first checkpoint, when delta is already spent."""
        check_count("max_bytes", self.sizes["max_bytes"])
        if not np.all(np.isfinite(self.thresholds)):
            raise ValueError(f"thresholds are {self.thresholds}; expected finite numbers")
        if not np.all((self.safeties > 0) & (self.safeties < 1)):
            raise ValueError(f"safeties are {self.safeties}; expected numbers in (0, 1)")
        if self.safeties.size and isinstance(beta := self.settings["beta"], str):
            raise ValueError(f"beta is {beta!r}; expected a number or None, as safeties are wanted")
        for values in (self.thresholds, self.safeties):
            if len({_shown(value) for value in values}) < len(values):
                raise ValueError(f"{values} has the same number twice, up to twelve digits")
        sizes, delta = (self.sizes["num_tasks"], self.sizes["num_rollouts"]), self.budget.level(1)
        check_settings(self.env, self._asked(), *sizes, delta=delta, **self.settings)
        if self.safeties.size:
            choose("method", self.settings["method"], COUNTING)

    def _asked(self) -> np.ndarray:
        """The thresholds; if there are none, one that is always reached, since the rollouts are needed anyway."""
        return self.thresholds if self.thresholds.size else np.array([self.env.support[0]])

    def __call__(self, step: int, make_policy: Callable[..., Any], params: Any) -> None:
        """Certify a checkpoint; training stops when ``stop`` returns True.

        Raises:
            ValueError: as ``certify_policy``, and after the last checkpoint that the budget planned.
        """
        checkpoint = self._certified(step, make_policy, params)
        self.checkpoints.append(checkpoint)
        scalars, name = self.scalars(checkpoint), digest(params)
        result = {key: value if np.isfinite(value) else None for key, value in scalars.items()}
        result |= self._facts()
        reached = self.stop is not None and bool(self.stop(checkpoint))
        self.ledger.finish(checkpoint.number, checkpoint.step, name, result, reached=reached)
        for writer in self.writers:
            writer(step, scalars)
        if reached:
            raise Reached(checkpoint, make_policy)

    def _facts(self) -> dict[str, Any]:
        beta = self.settings["beta"]
        return {
            "deterministic": self.deterministic,
            "num_tasks": self.sizes["num_tasks"],
            "num_rollouts": self.sizes["num_rollouts"],
            "support": [float(end) if np.isfinite(end) else None for end in self.env.support],
            **self.settings,
            "beta": beta if beta is None or isinstance(beta, str) else float(beta),
        }

    def _certified(self, step: int, make_policy: Callable[..., Any], params: Any) -> Checkpoint:
        begin = time.perf_counter()
        number, delta = self.ledger.begin(int(step), self.budget)
        policy = brax_policy(make_policy, settled(params), deterministic=self.deterministic)
        settings: dict[str, Any] = {**self.settings, "delta": delta, "validate": False}
        key, level = jax.random.fold_in(self.key, number), None
        found = certify_policy(self.env, policy, key, self._asked(), **self.sizes, **settings)
        if self.safeties.size:
            level = certify_safety_level(found.returns, self.safeties, support=self.env.support, **settings)
        mean = mean_return(found.returns, found.certificate, step)
        certificates = found.certificate if self.thresholds.size else None, level
        return Checkpoint(number, int(step), delta, *certificates, mean, time.perf_counter() - begin, params)

    def scalars(self, checkpoint: Checkpoint) -> dict[str, float]:
        """The scalars for logs: ``certify/safety@B``, ``certify/performance@s``, delta, mean return and seconds."""
        found = {
            "certify/delta": checkpoint.delta,
            "certify/mean_return": checkpoint.mean_return,
            "certify/seconds": checkpoint.seconds,
        }
        if checkpoint.safety is not None:
            values = np.asarray(checkpoint.safety.safety, np.float64)
            found |= {f"certify/safety@{_shown(b)}": float(s) for b, s in zip(self.thresholds, values, strict=True)}
        if checkpoint.performance is not None:
            values = np.asarray(checkpoint.performance.thresholds, np.float64)
            found |= {f"certify/performance@{_shown(s)}": float(b) for s, b in zip(self.safeties, values, strict=True)}
        return found


def _shown(value: float) -> str:
    return f"{value:.12g}"
