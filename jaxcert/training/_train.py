"""Train a policy on all tasks at once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.training._brax_training import check_brax_training, train_with_brax
from jaxcert.training._certifying import Checkpoint, Reached
from jaxcert.training._checkpoints import PPOSettings, check_folder
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
        progress_fn: as in Brax, of the step and metrics; it also gets the scalars of the certificates.

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
    check_brax_training(env)
    if checkpoints is not None and not env.name:
        raise ValueError("checkpoints say which environment they are of: give the MultiTaskEnv a name")
    if hook is not None:
        progress_fn = hook.progress_fn(progress_fn)
    if checkpoints is not None:
        check_folder(checkpoints, env)
        Path(checkpoints).mkdir(parents=True, exist_ok=True)
        if hook is not None:
            hook.keep_log(Path(checkpoints) / "certificates.jsonl")
    try:
        make_policy, params = train_with_brax(env, settings, hook, checkpoints, progress_fn)
    except Reached as reached:
        return Trained(reached.make_policy, reached.checkpoint.params, reached.checkpoint)
    return Trained(make_policy, params, None)
