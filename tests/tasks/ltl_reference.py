"""Reach-avoid formulas on finite traces by their definition, and random tasks, in plain Python and NumPy."""

import functools
import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.tasks.zones import ReachAvoid
from jaxcert.tasks.zones._formula import sample_reach_avoid

NAMES = ("a", "b", "c", "d")


def holds(stages, trace, position=0):
    """(23.1) of docs/theory.md; stages and traces are lists of sets of names."""
    if not stages:
        return True
    (reach, avoid), *rest = stages
    return any(
        trace[at] & reach
        and holds(rest, trace, at)
        and not any(trace[before] & avoid for before in range(position, at))
        for at in range(position, len(trace))
    )


def stages_of(task, names=NAMES):
    """What each stage of one task reaches and avoids."""
    parts = (task.reach, task.avoid)
    return [tuple(as_sets(part, names)[stage] for part in parts) for stage in range(int(task.num_stages))]


def any_tasks(rng, num_tasks, *, depth=3):
    """Tasks without the sampler's rules: anything to reach and to avoid, also both."""
    shape = (num_tasks, depth, len(NAMES))
    reach, avoid = rng.random(shape) < 0.3, rng.random(shape) < 0.3
    reach[~reach.any(-1), 0] = True
    num_stages = rng.integers(1, depth + 1, num_tasks).astype(np.int32)
    return ReachAvoid(reach, avoid, num_stages)  # rows after the last stage are noise


@functools.cache
def sampled_tasks(num_tasks):
    """Tasks of the sampler."""
    keys = jax.random.split(jax.random.key(0), num_tasks)
    return jax.tree.map(np.asarray, jax.vmap(sample_reach_avoid)(keys))


def stages_in(text):
    """What each stage reaches and avoids, from the text of ``to_formula``."""
    until = re.fullmatch(r"(?:F ?|!(?P<avoid>\w+|\([^()]*\)) U )(?P<body>.*)", text)
    reach, _, rest = until["body"].partition(" & ")
    names = [re.findall(r"\w+", part or "") for part in (reach, until["avoid"])]
    return [tuple(names), *(stages_in(rest[:-1]) if rest else [])]


def task_of(text, names=NAMES, depth=None):
    stages = stages_in(text)
    rows = np.zeros((2, depth or len(stages), len(names)), bool)
    for stage, parts in enumerate(stages):
        rows[:, stage] = [[name in part for name in names] for part in parts]
    return ReachAvoid(jnp.asarray(rows[0]), jnp.asarray(rows[1]), jnp.int32(len(stages)))


def nth(tasks, index):
    return ReachAvoid(*(np.asarray(leaf[index]) for leaf in tasks))


def as_sets(trace, names=NAMES):
    return [set(itertools.compress(names, np.asarray(position))) for position in trace]
