"""Settings of training."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class PPOSettings:
    """Settings of Brax's PPO; by default those of the paper.

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
