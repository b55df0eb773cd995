"""`jaxcert rollout --rollouts`: as many of each task; an interruption loses half a second of them at most."""

import sys
import time
from typing import Any

import jax
import numpy as np
from rich.progress import ProgressColumn, Task
from rich.text import Text

from jaxcert.cli import _console
from jaxcert.cli._outputs import writing
from jaxcert.cli._run import FIXED, Run, Unfinished, unfinished
from jaxcert.planning import check
from jaxcert.rollouts import collect
from jaxcert.rollouts._policy import key_apart
from jaxcert.rollouts._resumption import task_columns
from jaxcert.tables import write_returns
from jaxcert.tables._returns import how_many
from jaxcert.tables._written import check_parameters

# Episodes that are made together: enough to keep the machine busy. And how often all so far are kept.
_EPISODES, _SECONDS = 1000, 0.5


def fixed_rollout(run: Run) -> None:
    """As many rollouts of each task, with a warning where they cannot certify what is wanted."""
    found, asked, out, num_rollouts = run.found, run.asked, run.asked.out, run.asked.rollouts or 0
    if asked.thresholds or asked.safety:
        wanted: Any = {"delta": asked.delta, "thresholds": asked.thresholds, "safety": asked.safety}
        for advice in check(run.num_tasks, num_rollouts, support=found.env.support, **wanted):
            print(f"warning: {advice}", file=sys.stderr)
    with unfinished(run, {"num_rollouts": num_rollouts}, FIXED) as kept:
        key_tasks, key_rollouts = jax.random.split(key_apart(jax.random.key(kept.seed)))
        sampled = found.env.sample_tasks(key_tasks, run.num_tasks)
        check_parameters(columns := task_columns(sampled))
        returns = _in_parts(run, sampled, key_rollouts, kept)
        with writing() as write:
            write(write_returns, out, returns, tasks=columns, facts=kept.facts, replace=kept.may_replace(out))
            kept.remove()
    means, of_each = returns.mean(axis=1), how_many(num_rollouts, "rollout")
    _console.say(
        f"{found.title}: {how_many(run.num_tasks, 'task')}, {of_each} each, seed {kept.seed}",
        f"mean return {_shown(returns.mean())}, of tasks {_shown(means.min())} to {_shown(means.max())}",
        f"written to {out}",
    )


def _in_parts(run: Run, tasks: Any, key: jax.Array, kept: Unfinished) -> np.ndarray:
    """Roll out all tasks, a few at a time, so that an interrupted run goes on."""
    env, num_tasks, num_rollouts = run.found.env, run.num_tasks, run.asked.rollouts or 0
    size = min(num_tasks, max(1, _EPISODES // num_rollouts))
    steps_per_task, wait, saved = num_rollouts * env.episode_length, _SECONDS, time.perf_counter()
    returns = np.empty((0, num_rollouts)) if kept.run is None else kept.run
    if returns.shape[1:] != (num_rollouts,) or len(returns) % size or len(returns) >= num_tasks + size:
        raise ValueError(f"{kept.path}: holds returns of shape {returns.shape}, damaged; remove it")
    done = [returns] if len(returns) else []
    with _console.bar("rollouts", _Speed(), quiet=run.asked.quiet) as update:
        update(total=num_tasks * steps_per_task, advance=min(len(returns), num_tasks) * steps_per_task)
        try:
            for start in range(len(returns), num_tasks, size):
                # The last part is as long as the others, so that it needs no recompilation.
                rows = np.minimum(np.arange(start, start + size), num_tasks - 1)
                chosen = jax.tree.map(lambda leaf, rows=rows: leaf[rows], tasks)
                own = jax.random.fold_in(key, start // size)
                done.append(np.asarray(collect(env, run.found.policy, chosen, own, num_rollouts=num_rollouts)))
                update(advance=min(size, num_tasks - start) * steps_per_task)
                if (begun := time.perf_counter()) - saved > wait:
                    kept.save(np.concatenate(done))
                    saved = time.perf_counter()
                    wait = max(_SECONDS, 10 * (saved - begun))  # what takes long is done seldom
        finally:
            if done:
                kept.save(np.concatenate(done))
    return np.concatenate(done)[:num_tasks]


def _shown(mean: float) -> str:
    return f"{mean:.1f}" if abs(mean) >= 10 else f"{mean:.3g}"


class _Speed(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:,.0f} steps/s")
