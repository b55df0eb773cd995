"""`jaxcert train`: a policy, its checkpoints, and certificates on the way."""

import dataclasses
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax

from jaxcert._extras import import_extra
from jaxcert.certificates import floor_to
from jaxcert.cli import _console, _policies
from jaxcert.cli._tables import as_given
from jaxcert.tasks import MultiTaskEnv
from jaxcert.training import (
    PENDULUM,
    SMALL,
    CertificationHook,
    Checkpoint,
    CheckpointBudget,
    PPOSettings,
    train,
)

_SETTINGS = {"paper": PPOSettings(), "small": SMALL, "pendulum": PENDULUM}


@dataclasses.dataclass(frozen=True)
class Request:
    """What to train, how, and where to write; entries of `changes` that are not None replace settings."""

    name: str
    out: Path
    settings: str | None
    changes: Mapping[str, Any]
    authors_version: bool


@dataclasses.dataclass(frozen=True)
class Certified:
    """The certificates wanted at every checkpoint."""

    thresholds: Sequence[float]
    safeties: Sequence[float]
    num_tasks: int
    num_rollouts: int
    delta: float
    until: float | None


def train_policy(request: Request, certified: Certified, *, quiet: bool) -> None:
    """Train, or resume the training in the folder."""
    env = _policies.environment(request.name, authors_version=request.authors_version)
    settings = _settings(request)
    import_extra("brax.training.agents.ppo.train", "brax")
    hook = _hook(env, request, settings, certified)
    request.out.mkdir(parents=True, exist_ok=True)
    lines = _Lines(settings.num_timesteps, certified)
    with _console.warnings_on_stderr():
        train(env, settings, hook=hook, checkpoints=request.out, progress_fn=(lambda *_: None) if quiet else lines.show)
    console = _console.output()
    if hook is not None and (step := hook.ledger.reached) is not None:
        console.print(f"the wanted certificate was reached at step {step:,}", soft_wrap=True)
    console.print(f"policies and checkpoints are in {request.out}", soft_wrap=True)


def _settings(request: Request) -> PPOSettings:
    name = request.settings or ("pendulum" if request.name == "pendulum" else "paper")
    if name not in _SETTINGS:
        raise ValueError(f"settings is {name!r}; expected one of {', '.join(_SETTINGS)}")
    changes = {name: value for name, value in request.changes.items() if value is not None}
    rate = changes.get("learning_rate", 1.0)
    if not (math.isfinite(rate) and rate > 0):
        raise ValueError(f"--learning-rate is {rate}; expected a positive number")
    return dataclasses.replace(_SETTINGS[name], **changes)


def _hook(env: MultiTaskEnv, request: Request, settings: PPOSettings, certified: Certified) -> CertificationHook | None:
    if certified.until is not None and not certified.thresholds:
        raise ValueError("--until needs a --threshold, whose certified safety it waits for")
    if certified.until is not None and not 0 < certified.until < 1:
        raise ValueError(f"--until is {certified.until}; expected a number in (0, 1)")
    if not certified.thresholds and not certified.safeties:
        return None
    # An interrupted training has more checkpoints than planned, so their number is not fixed.
    return CertificationHook(
        env,
        jax.random.key(settings.seed),
        thresholds=certified.thresholds,
        safeties=certified.safeties,
        num_tasks=certified.num_tasks,
        num_rollouts=certified.num_rollouts,
        budget=CheckpointBudget(certified.delta),
        stop=None if certified.until is None else lambda checkpoint: _is_reached(checkpoint, certified.until),
    )


def _is_reached(checkpoint: Checkpoint, until: float | None) -> bool:
    return checkpoint.safety is not None and until is not None and float(checkpoint.safety.safety[0]) >= until


class _Lines:
    """One line per evaluation."""

    def __init__(self, total: int, certified: Certified) -> None:
        self.total, self.certified = total, certified
        self.first: tuple[float, int] | None = None

    def show(self, step: int, metrics: dict[str, Any]) -> None:
        """Show the metrics, the steps per second since the previous evaluation, and the remaining time at that pace."""
        now = time.perf_counter()
        parts = [f"step {step:,} of {self.total:,}"]
        if "eval/episode_reward" in metrics:
            parts.append(f"mean return {float(metrics['eval/episode_reward']):.1f}")
        for threshold in self.certified.thresholds:
            safety = metrics.get(f"certify/safety@{threshold:.12g}")
            parts += [] if safety is None else [f"at least {as_given(threshold)} on {floor_to(safety, 4)} of new tasks"]
        for wanted in self.certified.safeties:
            performance = metrics.get(f"certify/performance@{wanted:.12g}")
            parts += (
                []
                if performance is None
                else [f"at least {floor_to(performance, 2)} on {as_given(wanted)} of new tasks"]
            )
        if self.first is not None and step > self.first[1]:
            pace = (step - self.first[1]) / (now - self.first[0])
            parts += [f"{pace:,.0f} steps/s", f"{_duration((self.total - step) / pace)} left"]
        self.first = (now, step)
        _console.output().print(", ".join(parts), soft_wrap=True)


def _duration(seconds: float) -> str:
    minutes = max(0, round(seconds / 60))
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"
