"""Training with Brax's PPO, and which releases it works with."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxcert._extras import import_extra
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.training._brax_env import brax_env
from jaxcert.training._checkpoints import PPOSettings, last_checkpoint, load_params, network_factory, save_checkpoint
from jaxcert.training._hook import CertificationHook


@contextlib.contextmanager
def brax_compatibility() -> Iterator[None]:
    """A context in which the trainers of Brax 0.14 run on JAX 0.10 and newer.

    They call ``jax.device_put_replicated``, which JAX removed in 0.10. The context provides it, as written in JAX's
    guide to the migration of ``pmap``, and removes it afterwards. If JAX has it, nothing is done. ``train`` uses this
    context itself; your own training needs it around ``brax.training.agents.ppo.train``.

    Returns:
        A context manager.

    Example:
        >>> import jax
        >>> with brax_compatibility():
        ...     hasattr(jax, "device_put_replicated")
        True
    """
    if hasattr(jax, "device_put_replicated"):
        yield
        return
    setattr(jax, "device_put_replicated", _device_put_replicated)  # noqa: B010
    try:
        yield
    finally:
        delattr(jax, "device_put_replicated")


def _device_put_replicated(tree: Any, devices: Sequence[Any]) -> Any:
    """Each array with a new leading axis, one copy of it on every device."""
    spread = NamedSharding(Mesh(np.array(devices), ("device",)), PartitionSpec("device"))
    return jax.tree.map(
        lambda leaf: jax.device_put(jnp.broadcast_to(leaf, (len(devices), *jnp.shape(leaf))), spread), tree
    )


def check_brax_training(env: MultiTaskEnv) -> None:
    """Raise for observations that Brax's networks do not take, and if Brax is missing."""
    obs = jax.eval_shape(lambda key: env.environment(env.sample_task(key)).reset(key).obs, jax.random.key(0))
    if isinstance(obs, tuple):
        kind = type(obs).__name__
        raise ValueError(
            f"Brax's networks do not take the {kind} of {env.name or env!r}; expected observations that are arrays"
        )
    import_extra("brax.training.agents.ppo.train", "brax")


def train_with_brax(
    env: MultiTaskEnv,
    settings: PPOSettings,
    hook: CertificationHook | None,
    checkpoints: str | Path | None,
    progress_fn: Callable[[int, dict[str, Any]], None],
) -> tuple[Callable[..., Any], Any]:
    """Train as ``train`` does; return the function from parameters to a policy, and the parameters."""
    ppo = import_extra("brax.training.agents.ppo.train", "brax")
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
        make_policy, params, _ = ppo.train(
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
