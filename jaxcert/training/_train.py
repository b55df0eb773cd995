"""Train a policy on all tasks at once, by Brax's PPO."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax

from jaxcert._extras import import_extra
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.training._brax_compatibility import brax_compatibility
from jaxcert.training._brax_env import brax_env
from jaxcert.training._certifying import Checkpoint, Reached
from jaxcert.training._checkpoints import (
    PPOSettings,
    check_folder,
    last_checkpoint,
    load_params,
    network_factory,
    save_checkpoint,
)
from jaxcert.training._hook import CertificationHook


class Trained(NamedTuple):
    """The result of training.

    Attributes:
        make_policy: a function from parameters to a policy.
        params: the parameters at the end, or where training stopped.
        reached: the checkpoint at which training stopped early, or None.
    """

    make_policy: Callable[..., Any]
    params: Any
    reached: Checkpoint | None


def train(
    env: MultiTaskEnv,
    settings: PPOSettings,
    *,
    hook: CertificationHook | None = None,
    checkpoints: str | Path | None = None,
    progress_fn: Callable[[int, dict[str, Any]], None] = lambda *_: None,
) -> Trained:
    """Train a policy on all tasks at once, with a certificate at every checkpoint.

    Args:
        env: the tasks and their environments.
        settings: of Brax's PPO.
        hook: certifies the checkpoints; its ``stop`` ends training.
        checkpoints: a folder for checkpoints (Brax's in its own format, and compact policy files) and the hook's log.
            If it holds checkpoints, training resumes from the last one with the remaining steps; it does not if the
            hook's ``stop`` had ended it. It resumes with the parameters, but a new optimiser and new environments. The
            certificates of a policy are in the log under a hash of its parameters.
        progress_fn: as in Brax, of the step and metrics; the hook's ``writers`` get the scalars of the certificates.

    Returns:
        The policy.

    Raises:
        ImportError: if the extra ``brax`` is missing.
        ValueError: for checkpoints of another environment, of one without a name, of other networks or other settings,
            for settings that do not fit the environment, for parameters that become infinite or NaN, and as the hook
            does.

    Example:
        >>> from jaxcert.tasks import pendulum
        >>> from jaxcert.training import PENDULUM
        >>> trained = train(pendulum.ENV, PENDULUM)  # doctest: +SKIP
    """
    _check_observations(env)
    import_extra("brax.training.agents.ppo.train", "brax")
    if checkpoints is not None:
        check_folder(checkpoints, env)
        Path(checkpoints).mkdir(parents=True, exist_ok=True)
        if hook is not None:
            hook.keep_log(Path(checkpoints) / "certificates.jsonl")
    try:
        return Trained(*_train(env, settings, hook, checkpoints, progress_fn), None)
    except Reached as reached:
        return Trained(reached.make_policy, reached.checkpoint.params, reached.checkpoint)


def _check_observations(env: MultiTaskEnv) -> None:
    obs = jax.eval_shape(lambda key: env.environment(env.sample_task(key)).reset(key).obs, jax.random.key(0))
    if isinstance(obs, tuple):
        kind = f"the {type(obs).__name__} of {env.name or env!r}"
        raise ValueError(f"Brax's networks do not take {kind}; expected observations that are arrays")


def _train(
    env: MultiTaskEnv,
    settings: PPOSettings,
    hook: CertificationHook | None,
    checkpoints: str | Path | None,
    progress_fn: Callable[[int, dict[str, Any]], None],
) -> tuple[Callable[..., Any], Any]:
    """Train from the last checkpoint on; return the function from parameters to a policy, and the parameters."""
    last = last_checkpoint(checkpoints, env, settings)
    done = int(last.name) if last is not None else 0
    options = _left_over(settings, done)
    if hook is not None and last is not None and hook.has_ended(done, load_params(last)):
        options["num_timesteps"] = 0

    def keep(step: int, make_policy: Callable[..., Any], params: Any) -> None:
        restored = step == 0 and last is not None
        if hook is not None and restored and hook.is_certified(done, params):
            return
        if checkpoints is not None and not restored:
            save_checkpoint(checkpoints, done + step, params, env, settings)
        if hook is not None:
            hook(done + step, make_policy, params)

    with brax_compatibility():
        make_policy, params, _ = import_extra("brax.training.agents.ppo.train", "brax").train(
            environment=brax_env(env),
            episode_length=env.episode_length,
            normalize_observations=True,
            deterministic_eval=True,
            # Between resets, Brax returns environments to their first state, and so to their first task.
            num_resets_per_eval=1,
            network_factory=network_factory(settings),
            progress_fn=lambda step, metrics: progress_fn(done + step, metrics),
            policy_params_fn=keep,
            restore_checkpoint_path=None if last is None else str(last),
            **options,
        )
        if options["num_timesteps"] == 0:
            keep(0, make_policy, params)  # Brax does not call it then
    return make_policy, params


def _left_over(settings: PPOSettings, done: int) -> dict[str, Any]:
    """Arguments of Brax for the remaining steps, with the evaluations that were planned for them."""
    options = {name: value for name, value in dataclasses.asdict(settings).items() if not name.endswith("_layers")}
    left = max(settings.num_timesteps - done, 0)
    share = left / max(settings.num_timesteps, 1)
    # The first evaluation comes before any training.
    num_evals = 1 + max(1, round((settings.num_evals - 1) * share)) if settings.num_evals > 1 else settings.num_evals
    # A new seed, so that the environments differ from those already seen.
    return {**options, "num_timesteps": left, "num_evals": num_evals, "seed": settings.seed + done}
