"""Settings of training, and the checkpoints from which it goes on."""

import dataclasses
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxcert._extras import import_extra
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.training._brax_env import brax_env
from jaxcert.training._policy_file import policy_facts, save_policy


@dataclasses.dataclass(frozen=True)
class PPOSettings:
    """Settings of Brax's PPO; the defaults are the paper's.

    Smaller settings, for two cores, are ``SMALL`` (cheetah and walker) and ``PENDULUM``.

    Attributes:
        num_timesteps: total number of environment steps.
        num_envs: environments in parallel.
        batch_size: unrolls per minibatch.
        num_minibatches: minibatches per update.
        num_updates_per_batch: passes over each batch.
        unroll_length: steps per unroll.
        discounting: discount of PPO, not of the certified return.
        learning_rate: learning rate of Adam.
        entropy_cost: weight of the entropy.
        reward_scaling: factor for rewards.
        num_evals: number of evaluations and checkpoints, the first before training.
        num_eval_envs: environments in Brax's own evaluation.
        policy_layers: hidden sizes of the actor.
        value_layers: hidden sizes of the critic.
        seed: seed of everything in training.
    """

    num_timesteps: int = 60_000_000
    num_envs: int = 2048
    batch_size: int = 1024
    num_minibatches: int = 32
    num_updates_per_batch: int = 16
    unroll_length: int = 30
    discounting: float = 0.995
    learning_rate: float = 1e-3
    entropy_cost: float = 1e-2
    reward_scaling: float = 10.0
    num_evals: int = 10
    num_eval_envs: int = 128
    policy_layers: tuple[int, ...] = (32,) * 4
    value_layers: tuple[int, ...] = (256,) * 5
    seed: int = 0


# The cheetah and the walker on a machine without a GPU.
SMALL = PPOSettings(
    num_timesteps=30_000_000,
    num_envs=256,
    batch_size=256,
    num_minibatches=16,
    num_updates_per_batch=8,
    unroll_length=20,
    num_evals=46,
    num_eval_envs=8,
    value_layers=(128,) * 3,
)

# A pendulum learns in about a minute on two cores.
PENDULUM = PPOSettings(
    num_timesteps=6_000_000,
    num_envs=256,
    batch_size=256,
    num_minibatches=8,
    num_updates_per_batch=4,
    unroll_length=20,
    discounting=0.97,
    entropy_cost=5e-3,
    reward_scaling=1.0,
    num_evals=11,
    policy_layers=(32, 32),
    value_layers=(64, 64),
)


# Brax writes it last, so a checkpoint that has it is complete.
_CONFIG = "ppo_network_config.json"


def network_factory(settings: PPOSettings) -> Callable[..., Any]:
    """The function that makes Brax's networks."""
    networks = import_extra("brax.training.agents.ppo.networks", "brax")
    return functools.partial(
        networks.make_ppo_networks,
        policy_hidden_layer_sizes=settings.policy_layers,
        value_hidden_layer_sizes=settings.value_layers,
    )


def save_checkpoint(folder: str | Path, step: int, params: Any, env: MultiTaskEnv, settings: PPOSettings) -> None:
    """Write both files, named by the total number of steps so far."""
    checkpoint = import_extra("brax.training.agents.ppo.checkpoint", "brax")
    trained, target = brax_env(env), Path(folder).resolve()
    target.mkdir(parents=True, exist_ok=True)
    size = trained.observation_size
    if isinstance(size, int):  # a compact file supports only observations that are one array
        facts: dict[str, Any] = {"num_steps": step, "seed": settings.seed}
        save_policy(target / f"{step:012d}.npz", params, environment=env.name, **facts)
    config = checkpoint.network_config(size, trained.action_size, True, network_factory(settings))
    checkpoint.save(str(target), step, params, config)


def last_checkpoint(folder: str | Path | None, env: MultiTaskEnv, settings: PPOSettings) -> Path | None:
    """The last complete checkpoint; ValueError if it belongs to other networks."""
    found = [] if folder is None else [path for path in _by_steps(Path(folder).resolve(), "*") if _is_complete(path)]
    if not found:
        return None
    _check_networks(found[-1], env, settings)
    return found[-1]


def load_params(checkpoint: Path) -> Any:
    """The parameters in one of Brax's checkpoints."""
    return import_extra("brax.training.agents.ppo.checkpoint", "brax").load(str(checkpoint))


def check_folder(folder: str | Path, env: MultiTaskEnv) -> None:
    """Raise for a folder that would hold policies of two environments, or of one without a name."""
    if not env.name:
        raise ValueError("checkpoints say which environment they are of: give the MultiTaskEnv a name")
    for path in _by_steps(Path(folder), "*.npz"):
        if (name := policy_facts(path)["environment"]) != env.name:
            raise ValueError(f"{path} is of {name!r}, not of {env.name!r}; choose another folder")


def find_policy(path: Path) -> Path:
    """The policy file of the last checkpoint in a folder, of one checkpoint in Brax's format, or the file itself."""
    beside = path.with_name(f"{path.name}.npz")
    if path.is_file():
        return path
    if path.name.isdigit() and path.is_dir() and beside.is_file():
        return beside
    found = _by_steps(path, "*.npz")
    if not found:
        raise FileNotFoundError(f"{path}: no checkpoint there")
    return found[-1]


def _by_steps(folder: Path, pattern: str) -> list[Path]:
    """Checkpoints, which are named by the number of steps, in their order."""
    return sorted((path for path in folder.glob(pattern) if path.stem.isdigit()), key=lambda path: int(path.stem))


def _is_complete(path: Path) -> bool:
    try:
        config = json.loads((path / _CONFIG).read_text())
        return {"observation_size", "action_size", "network_factory_kwargs"} <= set(config)
    except (OSError, ValueError, TypeError):
        return False


def _check_networks(last: Path, env: MultiTaskEnv, settings: PPOSettings) -> None:
    config, trained = json.loads((last / _CONFIG).read_text()), brax_env(env)
    layers = config["network_factory_kwargs"]
    has = {"observations": config["observation_size"], "actions": config["action_size"]}
    has |= {f"{name} layers": layers[f"{name}_hidden_layer_sizes"] for name in ("policy", "value")}
    wanted = {"observations": trained.observation_size, "actions": trained.action_size}
    wanted |= {"policy layers": list(settings.policy_layers), "value layers": list(settings.value_layers)}
    if has != wanted:
        raise ValueError(f"{last} has networks with {has}; training has {wanted}")
