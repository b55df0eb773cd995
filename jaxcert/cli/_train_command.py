"""`jaxcert train`: a policy, its checkpoints, and certificates on the way."""

import dataclasses
import math
import time
from pathlib import Path
from typing import Annotated, Any

import jax
import typer

from jaxcert.certificates import floor_to
from jaxcert.cli import _console, _policies
from jaxcert.cli._options import Quiet, several
from jaxcert.cli._tables import as_given
from jaxcert.rollouts import MultiTaskEnv
from jaxcert.training import (
    PENDULUM,
    SMALL,
    CertificationHook,
    Checkpoint,
    CheckpointBudget,
    PPOSettings,
    ZonesSettings,
    train,
)

_SETTINGS = {"paper": PPOSettings(), "small": SMALL, "pendulum": PENDULUM, "zones": ZonesSettings()}


def train_policy(
    environment: Annotated[str, typer.Argument(metavar="ENVIRONMENT", help=f"{', '.join(_policies.trainable())}.")],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for checkpoints; training resumes from those in it.")
    ],
    settings: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Settings of PPO: paper (60 million steps), small (for a machine without a GPU), pendulum or zones;"
            " by default the ones with the environment's name, or the paper's.",
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, metavar="N", help="Steps of the environment.")] = None,
    checkpoints: Annotated[
        int | None, typer.Option(min=2, metavar="C", help="Number of checkpoints, the first before training.")
    ] = None,
    learning_rate: Annotated[float | None, typer.Option(metavar="R", help="Overrides the settings' rate.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31, metavar="S", help="Of training.")] = 0,
    authors_version: Annotated[
        bool, typer.Option("--authors-version", help="The environment of the paper's authors, with its faults.")
    ] = False,
    threshold: Annotated[
        list[Any] | None,
        several("X", "Certify this return at every checkpoint"),
    ] = None,
    safety: Annotated[
        list[Any] | None,
        several("S", "Certify a return on this share of new tasks"),
    ] = None,
    tasks: Annotated[int, typer.Option(min=1, metavar="N", help="Tasks of each certificate.")] = 100,
    rollouts: Annotated[int, typer.Option(min=1, metavar="M", help="Rollouts of each task.")] = 10,
    delta: Annotated[float, typer.Option(metavar="D", help="Failure probability of all checkpoints together.")] = 0.01,
    until: Annotated[
        float | None,
        typer.Option(metavar="S", help="Stop once the first threshold is certified on this share."),
    ] = None,
    adaptive: Annotated[
        bool,
        typer.Option(
            "--adaptive", help="Roll out each task until it is decided; M is the most that a mean task takes."
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Train a policy by PPO, with checkpoints and, on request, a certificate at each of them."""
    env = _policies.environment(environment, authors_version=authors_version)
    changes = {"num_timesteps": steps, "num_evals": checkpoints, "learning_rate": learning_rate, "seed": seed}
    ppo = _settings(settings or (environment if environment in _SETTINGS else "paper"), changes)
    _check_until(until, threshold)
    if adaptive and not threshold:
        raise ValueError("--adaptive needs a --threshold, for which tasks are rolled out")
    asked = {"thresholds": threshold or [], "safeties": safety or []}
    sizes = {"num_tasks": tasks, "num_rollouts": rollouts, "adaptive": adaptive}
    hook = _hook(env, ppo.seed, delta, until, **asked, **sizes) if threshold or safety else None
    lines = _Lines(ppo.num_steps if isinstance(ppo, ZonesSettings) else ppo.num_timesteps, **asked)
    with _console.warnings_on_stderr():
        train(env, ppo, hook=hook, checkpoints=out, progress_fn=(lambda *_: None) if quiet else lines.show)
    console = _console.output()
    if hook is not None and (step := hook.ledger.reached) is not None:
        console.print(f"the wanted certificate was reached at step {step:,}")
    console.print(f"policies and checkpoints are in {out}")


def _settings(name: str, changes: dict[str, Any]) -> PPOSettings | ZonesSettings:
    """The named settings; entries of `changes` that are not None replace theirs."""
    if name not in _SETTINGS:
        raise ValueError(f"settings is {name!r}; expected one of {', '.join(_SETTINGS)}")
    changes = {name: value for name, value in changes.items() if value is not None}
    rate = changes.get("learning_rate", 1.0)
    if not (math.isfinite(rate) and rate > 0):
        raise ValueError(f"--learning-rate is {rate}; expected a positive number")
    return dataclasses.replace(_SETTINGS[name], **changes)


def _hook(
    env: MultiTaskEnv, seed: int, delta: float, until: float | None, *, adaptive: bool, **settings: Any
) -> CertificationHook:
    stop = None if until is None else lambda checkpoint: _is_reached(checkpoint, until)
    settings |= {"adaptive": adaptive, "until": until if adaptive else None}
    # An interrupted training has more checkpoints than planned, so their number is not fixed.
    return CertificationHook(env, jax.random.key(seed), budget=CheckpointBudget(delta), stop=stop, **settings)


def _check_until(until: float | None, thresholds: list[float] | None) -> None:
    if until is not None and not thresholds:
        raise ValueError("--until needs a --threshold, whose certified safety it waits for")
    if until is not None and not 0 < until < 1:
        raise ValueError(f"--until is {until}; expected a number in (0, 1)")


def _is_reached(checkpoint: Checkpoint, until: float) -> bool:
    return checkpoint.safety is not None and float(checkpoint.safety.safety[0]) >= until


class _Lines:
    """One line per evaluation. Training may take more steps than the total, since Brax rounds them up to batches."""

    def __init__(self, total: int, thresholds: list[float], safeties: list[float]) -> None:
        self.total, self.thresholds, self.safeties = total, thresholds, safeties
        self.previous: tuple[float, int] | None = None

    def show(self, step: int, metrics: dict[str, Any]) -> None:
        """Show the metrics, the steps per second since the previous evaluation, and the remaining time at that pace."""
        now = time.perf_counter()
        parts = [f"step {step:,} of {max(step, self.total):,}"]
        if "eval/episode_reward" in metrics:
            parts.append(f"mean return {float(metrics['eval/episode_reward']):.4g}")
        if "training/lesson" in metrics:
            parts.append(f"lesson {int(metrics['training/lesson']) + 1}")
        parts += self._certified(metrics)
        if self.previous is not None and step > self.previous[1]:
            pace = (step - self.previous[1]) / (now - self.previous[0])
            parts += [f"{pace:,.0f} steps/s", f"{_duration((self.total - step) / pace)} left"]
        self.previous = (now, step)
        _console.output().print(", ".join(parts))

    def _certified(self, metrics: dict[str, Any]) -> list[str]:
        """What is certified; not every evaluation has a certificate."""
        safeties = [metrics.get(f"certify/safety@{x:.12g}") for x in self.thresholds]
        performances = [metrics.get(f"certify/performance@{s:.12g}") for s in self.safeties]
        rows = [(as_given(x), floor_to(s, 4)) for x, s in zip(self.thresholds, safeties, strict=True) if s is not None]
        rows += [
            (floor_to(x, 2), as_given(s)) for x, s in zip(performances, self.safeties, strict=True) if x is not None
        ]
        return [f"at least {threshold} on {share} of new tasks" for threshold, share in rows]


def _duration(seconds: float) -> str:
    minutes = max(0, round(seconds / 60))
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"
