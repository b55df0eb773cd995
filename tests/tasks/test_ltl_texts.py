"""Formulas as the programs of the paper and of DeepLTL write them: all are tasks, with the meaning of the text."""

import itertools
import random

import jax
import numpy as np

from jaxcert.tasks import ltl, zones

COLOURS = list(zones.COLOURS)
# Nothing or one colour at each of three positions.
TRACES = list(itertools.product([None, *COLOURS], repeat=3))


def stages_of_the_paper(rng):
    """What each stage reaches and avoids, by the rules of ``sample_reach_avoid``."""
    last = []
    for _ in range(rng.randint(1, 3)):
        free = [colour for colour in COLOURS if colour not in last]
        reach = rng.sample(free, rng.randint(1, 2))
        free = [colour for colour in free if colour not in reach]
        avoid = rng.sample(free, min(rng.randint(0, 3), len(free)))
        yield reach, avoid
        last = reach


def text_of_the_paper(stages):
    """Around ``true``, from the last stage to the first; what is reached after an until has no parentheses."""
    text = "true"
    for reach, avoid in reversed(stages):
        wanted = " | ".join(reach)
        text = f"(!({' | '.join(avoid)}) U ({wanted} & {text}))" if avoid else f"F(({wanted}) & {text})"
    return text


def meant(stages, trace):
    """Whether a trace satisfies the text as Rabinizer reads it: after an until, & joins the last colour alone."""
    if not stages:
        return True
    (reach, avoid), *rest = stages
    for position, colour in enumerate(trace):
        on_the_way = avoid and colour in reach[:-1]
        if on_the_way or (colour in reach and meant(rest, trace[position:])):
            return True
        if colour in avoid:
            return False
    return False


@jax.jit
def satisfied(tasks, traces):
    """Whether each trace satisfies each task, bool[tasks, traces]."""

    def follow(task, trace):
        states = jax.lax.scan(lambda state, held: (ltl.step(task, state, held), None), ltl.initial_state(task), trace)
        return ltl.is_satisfied(states[0])

    return jax.vmap(lambda task: jax.vmap(lambda trace: follow(task, trace))(traces))(tasks)


def read(texts):
    tasks = [ltl.from_formula(text, COLOURS, depth=3) for text in texts]
    return ltl.ReachAvoid(*(np.stack(leaves) for leaves in zip(*tasks, strict=True)))


def test_all_formulas_of_the_paper_are_read_as_their_parser_does():
    """The figures of docs/ltl.md."""
    rng = random.Random(0)
    drawn = [list(stages_of_the_paper(rng)) for _ in range(2000)]
    tasks = read([text_of_the_paper(stages) for stages in drawn])
    traces = np.array([[[colour == name for name in COLOURS] for colour in trace] for trace in TRACES])
    wanted = np.array([[meant(stages, trace) for trace in TRACES] for stages in drawn])
    np.testing.assert_array_equal(satisfied(tasks, traces), wanted)
    assert tasks.finish.any(axis=(1, 2)).sum() == 621
    assert 0.1 < wanted.mean() < 0.5
