"""What certificates cost while a pendulum learns, beside the rollouts that they need.

    python -m benchmarks.in_loop

Needs the extra ``brax``. The time of each checkpoint is set against that of the same rollouts without a certificate,
and both against the time of training. The first checkpoint compiles, and is counted apart.
"""

import platform
import time

import jax
import numpy as np

from jaxcert import certify
from jaxcert.rollouts import brax_policy, collect
from jaxcert.tasks import pendulum
from jaxcert.training import PENDULUM, CertificationHook, CheckpointBudget, train

NUM_TASKS, NUM_ROLLOUTS = 100, 50


def main() -> None:
    hook = CertificationHook(
        pendulum.ENV,
        jax.random.key(1),
        thresholds=[40.0, 80.0],
        num_tasks=NUM_TASKS,
        num_rollouts=NUM_ROLLOUTS,
        budget=CheckpointBudget(0.01, num_checkpoints=PENDULUM.num_evals),
    )
    begin = time.perf_counter()
    trained = train(pendulum.ENV, PENDULUM, hook=hook)
    total = time.perf_counter() - begin
    first, *others = (checkpoint.seconds for checkpoint in hook.checkpoints)
    rollouts, first_rollouts = _seconds_of_rollouts(brax_policy(trained.make_policy, trained.params))
    certificate = _seconds_to_compile_a_certificate()
    training = total - first - sum(others)
    beyond = sum(others) - len(others) * rollouts
    print(f"jax {jax.__version__}, {jax.devices()[0].device_kind}, {platform.processor() or platform.machine()}")
    print(f"training of {PENDULUM.num_timesteps:,} steps without checkpoints: {training:.1f} s")
    print(
        f"{len(others)} checkpoints after the first: {sum(others):.2f} s, rollouts alone {len(others) * rollouts:.2f} s"
    )
    print(f"beyond the rollouts: {beyond:.2f} s, {100 * beyond / training:.2f} % of the training")
    print(f"the first compiles: {first:.1f} s, rollouts alone {first_rollouts:.1f} s, certificate {certificate:.1f} s")
    for checkpoint in hook.checkpoints:
        assert checkpoint.safety is not None
        safety = np.asarray(checkpoint.safety.safety)
        print(f"  step {checkpoint.step:>9,}: {checkpoint.seconds:6.3f} s, certified safety {safety}")


def _seconds_of_rollouts(policy) -> tuple[float, float]:
    """Median of five, and the first, which compiles."""
    times = []
    for i in range(6):
        key = jax.random.key(100 + i)
        begin = time.perf_counter()
        tasks = pendulum.ENV.sample_tasks(key, NUM_TASKS)
        jax.block_until_ready(collect(pendulum.ENV, policy, tasks, key, num_rollouts=NUM_ROLLOUTS))
        times.append(time.perf_counter() - begin)
    return float(np.median(times[1:])), times[0]


def _seconds_to_compile_a_certificate() -> float:
    returns = np.random.default_rng(0).uniform(0, 100, (NUM_TASKS, NUM_ROLLOUTS)).astype(np.float32)
    begin = time.perf_counter()
    jax.block_until_ready(certify(returns, [40.0, 80.0], support=(0.0, 200.0), delta=0.01))
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
