"""Random tasks: the rules that they keep, and the distribution of their numbers."""

import jax
import numpy as np
from ltl_reference import sampled_tasks
from scipy import stats

from jaxcert.tasks.zones import _formula as ltl


def assert_uniform(values, low, high):
    high = int(high)
    counts = np.bincount(values, minlength=high + 1)
    assert counts[:low].sum() == counts[high + 1 :].sum() == 0
    assert low == high or stats.chisquare(counts[low : high + 1]).pvalue > 1e-3


def test_the_rules():
    reach, avoid, num_stages = sampled_tasks(20_000)
    used = np.arange(3) < num_stages[:, None]
    assert set(np.unique(num_stages)) == {1, 2, 3}
    assert (reach.any(-1) == used).all()
    assert not avoid[~used].any()
    assert (reach.sum(-1)[used] <= 2).all()
    assert (avoid.sum(-1)[used] <= 3).all()
    assert not (reach & avoid).any()
    assert not (reach[:, :-1] & (reach | avoid)[:, 1:]).any()


def test_numbers_are_uniform_on_what_is_left():
    """Of four propositions, one or two reached and as many reached before leave 0 to 2 to avoid."""
    reach, avoid, num_stages = sampled_tasks(20_000)
    assert_uniform(reach[:, 0].sum(-1), 1, 2)
    for stage in range(3):
        here = num_stages > stage
        left = 4 - reach[here, max(stage - 1, 0) : stage + 1].any(1).sum(-1)
        for number in np.unique(left):
            assert_uniform(avoid[here, stage].sum(-1)[left == number], 0, number)


def test_propositions_are_uniform():
    """Each subset of a size as often as any other, given what came before."""
    reach, avoid, num_stages = sampled_tasks(20_000)
    assert_uniform(reach[reach[:, 0].sum(-1) == 1, 0].argmax(-1), 0, 3)
    pairs = reach[reach[:, 0].sum(-1) == 2, 0] @ np.array([1, 2, 4, 8])
    assert stats.chisquare(np.unique(pairs, return_counts=True)[1]).pvalue > 1e-3
    assert len(np.unique(pairs)) == 6
    second = (num_stages > 1) & (reach[:, :2].sum(-1) == 1).all(-1) & (avoid[:, 1].sum(-1) == 1)
    kinds = reach[second, 0].argmax(-1) * 16 + reach[second, 1].argmax(-1) * 4 + avoid[second, 1].argmax(-1)
    values, counts = np.unique(kinds, return_counts=True)
    assert len(values) == 4 * 3 * 2
    assert stats.chisquare(counts).pvalue > 1e-3


def test_types_and_values_in_both_precisions(precision):
    task = ltl.sample_reach_avoid(jax.random.key(3))
    assert [leaf.dtype for leaf in task] == [bool, bool, np.int32]
    assert ltl.to_formula(task, names="abcd") == "!(a | c) U (d & F(a | c))"
