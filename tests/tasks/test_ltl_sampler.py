"""Random tasks: the rules that they keep, and the distribution of their numbers."""

import functools

import jax
import numpy as np
import pytest
from scipy import stats

from jaxcert.tasks import ltl


@functools.cache
def sampled(num_propositions=4, *, depth=3, num_stages=(1, 3), num_reach=(1, 2), num_avoid=(0, 3)):
    ranges = {"num_stages": num_stages, "num_reach": num_reach, "num_avoid": num_avoid}
    sample = jax.vmap(lambda key: ltl.sample_reach_avoid(key, num_propositions, depth=depth, **ranges))
    found = sample(jax.random.split(jax.random.key(0), 20_000))
    return ltl.ReachAvoid(*map(np.asarray, found))


def assert_uniform(values, low, high):
    high = int(high)
    counts = np.bincount(values, minlength=high + 1)
    assert counts[:low].sum() == counts[high + 1 :].sum() == 0
    assert low == high or stats.chisquare(counts[low : high + 1]).pvalue > 1e-3


@pytest.mark.parametrize("num_propositions", [3, 4, 8])
def test_the_rules(num_propositions):
    reach, avoid, num_stages = sampled(num_propositions=num_propositions)
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
    reach, avoid, num_stages = sampled()
    assert_uniform(reach[:, 0].sum(-1), 1, 2)
    for stage in range(3):
        here = num_stages > stage
        left = 4 - reach[here, max(stage - 1, 0) : stage + 1].any(1).sum(-1)
        for number in np.unique(left):
            assert_uniform(avoid[here, stage].sum(-1)[left == number], 0, number)


def test_propositions_are_uniform():
    """Each subset of a size as often as any other, given what came before."""
    reach, avoid, num_stages = sampled()
    assert_uniform(reach[reach[:, 0].sum(-1) == 1, 0].argmax(-1), 0, 3)
    pairs = reach[reach[:, 0].sum(-1) == 2, 0] @ np.array([1, 2, 4, 8])
    assert stats.chisquare(np.unique(pairs, return_counts=True)[1]).pvalue > 1e-3
    assert len(np.unique(pairs)) == 6
    second = (num_stages > 1) & (reach[:, :2].sum(-1) == 1).all(-1) & (avoid[:, 1].sum(-1) == 1)
    kinds = reach[second, 0].argmax(-1) * 16 + reach[second, 1].argmax(-1) * 4 + avoid[second, 1].argmax(-1)
    values, counts = np.unique(kinds, return_counts=True)
    assert len(values) == 4 * 3 * 2
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize(
    "ranges",
    [
        {"num_stages": (1, 1), "num_reach": (1, 1), "num_avoid": (0, 0)},
        {"num_stages": (2, 2), "num_avoid": (1, 2)},
        {"num_stages": (1, 4), "depth": 5, "num_reach": (2, 2), "num_avoid": (0, 1)},
    ],
)
def test_ranges(ranges):
    reach, avoid, num_stages = sampled(8, **ranges)
    depth = ranges.get("depth", 3)
    used = np.arange(depth) < num_stages[:, None]
    assert reach.shape == (20_000, depth, 8)
    for values, wanted in (
        (num_stages, ranges["num_stages"]),
        (reach.sum(-1)[used], ranges.get("num_reach", (1, 2))),
        (avoid.sum(-1)[used], ranges["num_avoid"]),
    ):
        assert (values.min(), values.max()) == wanted


def test_types_and_values_in_both_precisions(precision):
    task = ltl.sample_reach_avoid(jax.random.key(3), 4)
    assert [leaf.dtype for leaf in task] == [bool, bool, np.int32]
    assert str(ltl.to_formula(task, ["a", "b", "c", "d"])) == "!(a | c) U (d & F(a | c))"


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({"num_stages": (0, 3)}, r"num_stages is \(0, 3\); expected \(a, b\), whole numbers with 1 <= a <= b <= 3"),
        ({"num_stages": (1, 4)}, r"num_stages is \(1, 4\)"),
        ({"num_stages": 2}, "num_stages is 2; expected"),
        ({"num_reach": (2, 1)}, r"num_reach is \(2, 1\); expected .* with 1 <= a <= b <= 4"),
        ({"num_reach": (1, 2.0)}, r"num_reach is \(1, 2.0\)"),
        ({"num_avoid": (-1, 2)}, r"num_avoid is \(-1, 2\); expected .* with 0 <= a <= b <= 4"),
        ({"num_reach": (2, 3)}, r"num_reach is \(2, 3\); expected at most 4 together: propositions are not reached tw"),
        ({"depth": 0}, "depth"),
    ],
)
def test_bad_ranges(ranges, message):
    with pytest.raises(ValueError, match=message):
        ltl.sample_reach_avoid(jax.random.key(0), 4, **ranges)


def test_number_of_propositions():
    with pytest.raises(ValueError, match="num_propositions"):
        ltl.sample_reach_avoid(jax.random.key(0), 0)
    assert ltl.sample_reach_avoid(jax.random.key(0), 3, num_stages=(1, 1), num_reach=(2, 3)).reach.shape == (3, 3)
