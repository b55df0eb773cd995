"""Two policies in pairs: how often a policy is shown to be better that is not, how soon one that is, and refusals."""

import functools
import itertools
import re
from fractions import Fraction
from operator import itemgetter
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import x64_context
from exact_pairs import evidence, pairs_needed, table_of
from rollouts.logs_of_trials import assert_same
from scipy import stats

from jaxcert.rollouts._declared import pairs_to_go
from jaxcert.sequential import init_pairs, shown_better, update_pairs
from jaxcert.sequential._pairs import PAIR_BETS, orders_of

LEVELS = (0.5, 0.2, 0.05, 0.01)


def better_policy(state) -> np.ndarray:
    """Of two: 1 for A, -1 for B, 0 for none."""
    shown = shown_better(state).astype(jnp.int32)
    return shown[..., 0, 1] - shown[..., 1, 0]


def shown_by(least, most: int) -> int:
    """Of 2^most equally likely outcomes of discordant pairs, how many show A to be better."""
    going, found = {0: 1}, 0
    for n in range(1, most + 1):
        after = {}
        for wins, ways in going.items():
            for each in (wins, wins + 1):
                after[each] = after.get(each, 0) + ways
        found += sum(ways << (most - n) for wins, ways in after.items() if wins >= least[n])
        going = {wins: ways for wins, ways in after.items() if wins < least[n]}
    return found


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("delta", LEVELS)
@pytest.mark.parametrize("most", [12, 30, 200])
def test_equal_policies_are_shown_to_differ_with_at_most_delta(delta, most, precision):
    """All pairs discordant, which is the worst: every outcome up to the last pair, in whole numbers."""
    with x64_context(precision == "float64"):
        least = table_of(init_pairs(delta=delta, max_pairs=most))
    chance = Fraction(2 * shown_by(least, most), 2**most)
    assert chance <= Fraction(delta)
    assert chance > (0.3 if most < 30 else 0.6) * delta


def test_no_rule_makes_a_policy_better_that_never_wins_more_than_half():
    """Scenes chosen by all that was seen: the largest probability over every choice is that of coins of 1/2."""
    most = 40
    least = table_of(init_pairs(delta=0.05, max_pairs=most))
    value = np.zeros((most + 2, most + 2))
    for n in range(most, -1, -1):
        for wins in range(n + 1):
            if n and wins >= least[n]:
                value[n, wins] = 1.0
            elif n < most:
                won, lost = value[n + 1, wins + 1], value[n + 1, wins]
                value[n, wins] = max(each * won + (1 - each) * lost for each in (0.0, 0.2, 0.5))
    np.testing.assert_allclose(value[0, 0], shown_by(least, most) / 2**most, rtol=1e-12)
    assert value[0, 0] <= 0.025


@pytest.mark.parametrize("delta", [0.5, 0.2])
def test_no_rule_makes_any_of_three_equal_policies_better_with_more_than_delta(delta):
    """The largest probability over all rules that choose each scene, or drop a policy, by all that was seen."""
    most, places = 8, [*itertools.combinations(range(3), 2)]
    least = table_of(init_pairs(delta=delta, max_pairs=most, num_policies=3))
    one_wins = np.eye(3)
    dropped = [np.array([[a, 1 - a, np.nan] for a in (0, 1)])[:, order] for order in ([0, 1, 2], [0, 2, 1], [2, 0, 1])]
    # What each outcome adds to the wins of both policies in each pair: of all three with one that wins or one that
    # loses, or of two.
    laws = [
        [tuple(int(x) for p, q in places for x in (each[p] > each[q], each[p] < each[q])) for each in law]
        for law in (one_wins, 1 - one_wins, *dropped)
    ]

    @functools.cache
    def value(counts: tuple[int, ...], left: int) -> float:
        if any(0 < own >= least[own + counts[i ^ 1]] for i, own in enumerate(counts)):
            return 1.0
        if not left:
            return 0.0
        after = ([value(tuple(map(sum, zip(counts, each, strict=True))), left - 1) for each in law] for law in laws)
        return max(sum(values) / len(values) for values in after)

    assert 0.2 * delta < value((0,) * 6, most) <= delta * (1 + 1e-12)


@pytest.mark.parametrize("settings", [{}, {"support": (0.0, 2.0), "margin": 0.25}])
def test_of_several_policies_each_two_are_compared_as_two(settings):
    """The same evidence, at a goal for the smaller share of delta; without one that is dropped from there on."""
    rng, delta = np.random.default_rng(3), 0.3
    returns = (
        rng.random((3, 40)) < [[0.6], [0.5], [0.4]]
        if not settings
        else rng.random((3, 40)) * [[0.8], [1.5], [0.2]] + [[1.2], [0], [0]]
    )
    three = init_pairs(delta=delta, num_policies=3, **settings)
    assert three.goal[0] == pytest.approx(float(init_pairs(delta=delta / 3, **settings).goal[0]), rel=2e-3)
    three = update_pairs(three, *returns[:, :25])
    three = update_pairs(three, *returns[:, 25:], where=[True, False, True])
    for at, (i, j) in enumerate(orders_of(3).tolist()):
        most = 40 if 1 not in (i, j) else 25
        two = init_pairs(delta=delta, **settings)._replace(goal=three.goal)
        two = update_pairs(two, returns[i, :most], returns[j, :most])
        np.testing.assert_allclose(three.wealth[at], two.wealth[0], rtol=1e-6)
        assert bool(shown_better(three)[i, j]) == (int(better_policy(two)) == 1)
    assert bool(np.any(shown_better(three)))
    apart = jax.jit(update_pairs)(init_pairs(delta=delta, num_policies=3, **settings), *jnp.asarray(returns))
    assert apart.wealth.shape == (6, 1, 3)


def pairs_of_mcnemar(a: float, b: float) -> int:
    """The least number, fixed beforehand, of which the exact test at 0.05 shows A to be better with probability 0.9."""
    win, loss = a * (1 - b), b * (1 - a)
    for n in itertools.count(5):
        d = np.arange(n + 1)
        least = np.array([next((w for w in range(k + 1) if stats.binom.sf(w - 1, k, 0.5) <= 0.025), k + 1) for k in d])
        power = stats.binom.pmf(d, n, win + loss) @ stats.binom.sf(least - 1, d, win / (win + loss))
        if power >= 0.9:
            return n
    raise AssertionError


@pytest.mark.slow
def test_the_table_on_the_page():
    page = Path(__file__).parents[2] / "docs" / "tightness.md"
    rows = re.findall(
        r"^\| (0[.\d]+) \| (0[.\d]+) \| (\d+) pairs \| (\d+) pairs \| (\d+) pairs \|$", page.read_text(), re.M
    )
    least = table_of(init_pairs(delta=0.05))
    assert len(rows) == 5
    for numbers in rows:
        (a, b), shown = map(float, numbers[:2]), [*map(int, numbers[2:])]
        assert [pairs_needed(least, a, b, 0.5), pairs_needed(least, a, b, 0.9), pairs_of_mcnemar(a, b)] == shown


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_it_decides_as_in_exact_arithmetic(precision):
    """Evidence is at most its exact value, hardly less, and both precisions decide at the same pair."""
    rng = np.random.default_rng(0)
    with x64_context(precision == "float64"):
        start = init_pairs(delta=0.1, max_pairs=60)
        least, low = table_of(start), 1 - (3e-4 if precision == "float32" else 1e-12)
        for skill in (0.5, 0.7, 0.9, 0.2):
            state, wins, expected = start, [0, 0], 0
            for a in (rng.random(60) < skill).tolist():
                b = not a if rng.random() < 0.7 else a
                state = update_pairs(state, a, b)
                wins = [wins[0] + (a > b), wins[1] + (b > a)] if not expected else wins
                for place in (0, 1):
                    exact = evidence(wins[place], wins[1 - place])
                    assert low * exact <= Fraction(float(state.mean_wealth[place, 0])) <= exact
                expected = expected or int(wins[0] >= least[sum(wins)]) - int(wins[1] >= least[sum(wins)])
                assert int(better_policy(state)) == expected


@pytest.mark.parametrize("margin", [0.0, 0.25])
def test_scores_show_a_margin_that_is_not_with_at_most_delta(margin):
    """Of three values with the margin as their mean, all outcomes of 30 pairs, by how often each occurred."""
    state = init_pairs(delta=0.1, support=(0.0, 1.0), margin=margin)
    goal, bets, most = Fraction(float(state.goal[0])), [*map(Fraction, PAIR_BETS)], 30
    assert goal >= 20
    for middle in (0, Fraction(1, 2)):
        up = (1 + Fraction(margin) - (1 + middle) / 2) / 2  # and as rarely -1, and else the middle, half of the time
        law = {Fraction(1): up, Fraction(middle): Fraction(1, 2), Fraction(-1): Fraction(1, 2) - up}
        assert sum(x * p for x, p in law.items()) == margin
        assert min(law.values()) >= 0
        factors = {x: [1 - bet + bet * (x + 1) / (Fraction(margin) + 1) for bet in bets] for x in law}
        going, shown = {(0, 0, 0): Fraction(1)}, Fraction(0)
        for _ in range(most):
            after = {}
            for counts, chance in going.items():
                for i, x in enumerate(law):
                    each = (*counts[:i], counts[i] + 1, *counts[i + 1 :])
                    after[each] = after.get(each, 0) + chance * law[x]
            going = {}
            for counts, chance in after.items():
                powers = [[f**n for f in factors[x]] for x, n in zip(law, counts, strict=True)]
                wealth = sum(a * b * c for a, b, c in zip(*powers, strict=True)) / len(bets)
                if wealth >= goal:
                    shown += chance
                else:
                    going[counts] = chance
        assert 0 < shown <= Fraction(1, 20)


def test_scores_by_their_definition():
    rng = np.random.default_rng(1)
    a, b = rng.uniform(2, 5, (2, 25)).round(2)
    for precision, low in (("float32", 1e-4), ("float64", 1e-12)):
        with x64_context(precision == "float64"):
            state = update_pairs(init_pairs(delta=0.05, support=(2, 5), margin=0.1), a, b)
            for place, sign in ((0, 1), (1, -1)):
                ratio = (sign * (a - b) + 3) / 3.1
                exact = np.mean([np.prod(1 - bet + bet * ratio) for bet in PAIR_BETS])
                assert (1 - low) * exact <= float(state.mean_wealth[place, 0]) <= exact * (1 + 1e-14)


def test_ends_of_the_support_are_possible_whatever_rounding_does():
    ends = (0.1, 0.7)
    state = update_pairs(init_pairs(delta=0.05, support=ends), [0.7, 0.1, 0.7], [0.1, 0.7, 0.7])
    assert state.valid.all()


def test_at_once_one_by_one_and_compiled_are_the_same():
    rng = np.random.default_rng(2)
    a, b = rng.random((2, 6, 40)) < np.array([0.9, 0.5])[:, None, None]
    start = init_pairs(delta=0.05)
    whole = [update_pairs(start, *each) for each in zip(a, b, strict=True)]
    by_one = start
    for pair in zip(a[0].tolist(), b[0].tolist(), strict=True):
        by_one = update_pairs(by_one, *pair)
    together = jax.jit(jax.vmap(update_pairs, in_axes=(None, 0, 0)))(start, jnp.asarray(a), jnp.asarray(b))
    for i, each in enumerate(whole):
        assert_same(each, jax.tree.map(itemgetter(i), together))
    assert_same(by_one, whole[0])
    assert np.array_equal(better_policy(together), [int(better_policy(each)) for each in whole])
    assert 1 in np.asarray(better_policy(together))


@pytest.mark.parametrize("settings", [{}, {"support": (0.1, 0.7)}, {"margin": 0.1}])
def test_a_whole_experiment_is_compiled(settings):
    most, least = settings.get("support", (0.0, 1.0))[::-1]

    def shown(a, b):
        return better_policy(update_pairs(init_pairs(delta=0.05, **settings), a, b))

    a, b = jnp.full(30, most), jnp.full(30, least)
    assert [int(jax.jit(shown)(*each)) for each in ((a, b), (b, a), (a, a))] == [1, -1, 0]


def test_what_comes_after_the_decision_changes_nothing():
    state = update_pairs(init_pairs(delta=0.05), [True] * 12, [False] * 12)
    after = update_pairs(state, [False] * 100, [True] * 100)
    assert int(better_policy(after)) == 1
    assert_same(state, after)


@pytest.mark.parametrize(
    ("support", "impossible"),
    [
        (None, [(np.nan, 0.0), (0.5, 0.5), (2.0, 2.0), (1.0, np.inf)]),
        ((0, 1), [(np.nan, 0.0), (1.5, 0.0), (np.inf, np.inf), (-np.inf, 0.0)]),
    ],
)
def test_an_impossible_return_leaves_no_decision(support, impossible):
    for values in impossible:
        state = update_pairs(init_pairs(delta=0.05, support=support), *values, validate=False)
        state = update_pairs(state, [1.0] * 30, [0.0] * 30)
        assert int(better_policy(state)) == 0


def test_how_many_more_if_it_goes_on_like_this():
    """By doubling what was seen until it decides."""
    a, b = [True, True, False, True, True], [False, False, True, False, True]
    state = update_pairs(init_pairs(delta=0.05), a, b)
    more = pairs_to_go(state, 5)
    assert more is not None
    for enough, factor in ((False, (5 + more - 1) / 5), (True, (5 + more) / 5)):
        logs = [factor * (3 * np.log1p(bet) + np.log1p(-bet)) for bet in PAIR_BETS]
        assert (np.mean(np.exp(logs)) >= float(state.goal[0])) == enough
    level = update_pairs(init_pairs(delta=0.05), [True, False], [False, True])
    assert pairs_to_go(level, 2) is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"delta": 1.0}, "delta is 1; expected a probability in (0, 1)"),
        ({"delta": [0.1, 0.2]}, "delta has shape (2,); expected a scalar"),
        ({"margin": -0.1}, "margin is -0.1; expected at least 0, and below 1, the largest possible difference"),
        ({"margin": 3, "support": (0, 3)}, "margin is 3; expected at least 0, and below 3, the largest"),
        ({"support": (0, np.inf)}, "support is (0, inf); a difference needs a finite upper end"),
        ({"support": (1, 1)}, "support is (1, 1); expected a < b"),
        ({"bets": [1.5]}, "bets hold 1.5; expected numbers in (0, 1]"),
        ({"max_pairs": 0}, "max_rollouts_per_task is 0; expected a whole number of at least 1"),
        ({"num_policies": 1}, "num_policies is 1; expected a whole number of at least 2"),
        ({"max_pairs": 5000}, "max_rollouts_per_task is 5000; binary needs a number of at most 2000"),
    ],
)
def test_what_cannot_be_begun(settings, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        init_pairs(**{"delta": 0.05, **settings})


@pytest.mark.parametrize(
    ("settings", "values", "message"),
    [
        ({}, (2.0, 0.0), "returns_a of pair 0 is 2; expected binary returns, 0 or 1"),
        ({}, ([True, False], [0, 0.5]), "returns_b of pair 1 is 0.5; expected binary returns, 0 or 1"),
        ({"support": (0, 1)}, (np.nan, 0.0), "returns_a of pair 0 is nan; expected a finite number"),
        ({"support": (0, 1)}, (2.0, 0.5), "the difference of returns of pair 0 is 1.5, outside the support (-1, 1)"),
        ({}, ([True], [True, False]), "returns have shapes (1,) and (2,); expected twice [s]"),
        ({}, ([[True]], [[True]]), "returns have shapes (1, 1) and (1, 1); expected twice [s]"),
        ({}, ("yes", "no"), "returns_a"),
        ({"num_policies": 3}, (True, False), "returns have shapes () and (); expected 3 times [s]"),
        (
            {"num_policies": 3, "support": (0, 1)},
            (1.5, 1.0, -0.5),
            "the difference of returns of returns_a and returns_c of pair 0 is 2, outside",
        ),
    ],
)
def test_what_is_no_pair(settings, values, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        update_pairs(init_pairs(delta=0.05, **settings), *values)
