"""Progression against the semantics on finite traces, by definition; tasks as formulas."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ltl_reference import NAMES, any_tasks, as_sets, holds, nth, sampled_tasks, stages_of, task_of

from jaxcert.tasks.zones import _formula as ltl

LENGTH = 7


@jax.jit
@jax.vmap
def states_after(task, trace):
    """The state before the first position and after each one, bool[T + 1, depth + 1]."""

    def step(state, holding):
        state = ltl.step(task, state, holding)
        return state, state

    start = ltl.initial_state(task)
    return jnp.concatenate([start[None], jax.lax.scan(step, start, trace)[1]])


def any_traces(rng, num_traces):
    """Positions with up to four propositions, or in half of the traces with at most one."""
    letters = rng.integers(0, len(NAMES) + 1, (num_traces, LENGTH))
    single = np.arange(len(NAMES)) == letters[..., None]
    several = rng.random(single.shape) < 0.3
    return np.where(np.arange(num_traces)[:, None, None] % 2, single, several)


@functools.cache
def cases(kind):
    """10,000 tasks, traces and states after each position."""
    rng = np.random.default_rng(1)
    num_tasks = 10_000
    tasks = sampled_tasks(num_tasks) if kind == "sampled" else any_tasks(rng, num_tasks)
    traces = any_traces(rng, num_tasks)
    return tasks, traces, np.asarray(states_after(tasks, traces))


KINDS = pytest.mark.parametrize("kind", ["sampled", "any"])


@functools.cache
def formulas(kind):
    tasks = cases(kind)[0]
    return [stages_of(nth(tasks, index)) for index in range(len(tasks.num_stages))]


@KINDS
def test_satisfied_as_by_definition(kind):
    _, traces, states = cases(kind)
    # Traces of every length, 0 included, of which none satisfies a formula that reaches something.
    lengths = np.arange(len(traces)) // 2 % (LENGTH + 1)
    found = np.asarray(ltl.is_satisfied(states[np.arange(len(traces)), lengths]))
    wanted = [
        bool(length) and holds(formula, as_sets(trace[:length]))
        for formula, trace, length in zip(formulas(kind), traces, lengths, strict=True)
    ]
    np.testing.assert_array_equal(found, wanted)
    assert 0.1 < found.mean() < 0.9


@KINDS
def test_violated_if_the_best_continuation_fails(kind):
    """What any continuation satisfies, one position with every proposition does."""
    _, traces, states = cases(kind)
    found = np.asarray(ltl.is_violated(states[:, 4]))
    everything = [set(NAMES)]
    wanted = [
        not holds(formula, as_sets(trace[:4]) + everything)
        for formula, trace in zip(formulas(kind), traces, strict=True)
    ]
    np.testing.assert_array_equal(found, wanted)
    assert 0.01 < found.mean() < 0.9


def test_a_state_is_what_is_left_to_do():
    """The formula holds on a trace if one of the stages in the state holds on the rest of it."""
    tasks, traces, states = cases("any")
    for index in range(1000):
        task, trace, state = nth(tasks, index), as_sets(traces[index]), states[index, 3]
        stages = formulas("any")[index]
        wanted = state[-1] or any(holds(stages[i:], trace[3:]) for i in range(task.num_stages) if state[i])
        assert holds(stages, trace) == wanted


@KINDS
def test_ends_are_final(kind):
    states = cases(kind)[2]
    for end in (ltl.is_satisfied(states), ltl.is_violated(states)):
        assert (np.diff(np.asarray(end).astype(int), axis=1) >= 0).all()
    assert not (ltl.is_satisfied(states) & ltl.is_violated(states)).any()


def run(task, word):
    """The states over a word of letters, of which - is a position where nothing holds."""
    trace = np.array([[letter == name for name in NAMES] for letter in word], bool).reshape(1, -1, len(NAMES))
    return states_after(jax.tree.map(lambda leaf: leaf[None], task), trace)[0]


LAST_STAGE_FAILS = "!d U (a & F(c & !a U b))"


@pytest.mark.parametrize(
    ("text", "word", "reach", "avoid", "mask"),
    [
        (LAST_STAGE_FAILS, "", "acb", "d-a", [1, 1, 1]),
        (LAST_STAGE_FAILS, "a", "cb-", "-a-", [1, 1, 0]),
        (LAST_STAGE_FAILS, "ac", "b--", "a--", [1, 0, 0]),
        (LAST_STAGE_FAILS, "aca", "cb-", "-a-", [1, 1, 0]),  # the last stage failed, the one before is shown again
        (LAST_STAGE_FAILS, "acacb", "---", "---", [0, 0, 0]),
        (LAST_STAGE_FAILS, "d", "---", "---", [0, 0, 0]),
    ],
)
def test_remaining(text, word, reach, avoid, mask):
    task = task_of(text, depth=3)
    found = ltl.remaining(task, run(task, word)[-1])
    assert found.mask.tolist() == mask
    for rows, letters in ((found.reach, reach), (found.avoid, avoid)):
        np.testing.assert_array_equal(rows, [[letter == name for name in NAMES] for letter in letters])


def test_rows_after_the_last_stage_are_not_read():
    short, long = task_of("!b U (a & F c)"), task_of("!b U (a & F c)", depth=4)
    noise = np.arange(4)[:, None] >= 2
    long = long._replace(reach=long.reach | noise, avoid=long.avoid | noise)
    for word in ("ac", "ba", "a-bc", "acdb"):
        for found, wanted in zip(run(long, word), run(short, word), strict=True):
            assert ltl.is_satisfied(found) == ltl.is_satisfied(wanted)
            assert ltl.is_violated(found) == ltl.is_violated(wanted)
            for row, wanted_row in zip(ltl.remaining(long, found), ltl.remaining(short, wanted), strict=True):
                np.testing.assert_array_equal(row[:2], wanted_row)
                assert not row[2:].any()


def test_tasks_that_are_not_masks_are_refused():
    good = ltl.ReachAvoid(jnp.eye(3, 4, dtype=bool), jnp.zeros((3, 4), bool), jnp.int32(1))
    state, none = jnp.arange(4) == 0, jnp.zeros(4, bool)
    for avoid in (jnp.zeros((3, 4), jnp.int32), jnp.zeros((1, 4), bool), jnp.zeros((3, 3), bool)):
        with pytest.raises(ValueError, match=r"avoid are .*expected bool"):
            ltl.step(good._replace(avoid=avoid), state, none)


# --- formulas -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "F d",
        "!a U b",
        "F(a | b)",
        "!(a | b | c) U d",
        "!(a | b) U ((c | d) & !c U a)",
        "F((a | c) & F b)",
        "F(a & !b U (c & F d))",
        "!d U (a & !d U ((b | c) & F b))",
        "F(a & F(b & F(c & F(d & F a))))",
    ],
)
def test_formulas(text):
    assert ltl.to_formula(task_of(text), names=NAMES) == text
