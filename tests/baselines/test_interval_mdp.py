"""PAC-IMDP: counts by hand, the Bellman step against a linear program, intervals against SciPy, coverage."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from jaxcert.baselines import interval_mdp
from jaxcert.baselines.interval_mdp import lower_bound
from jaxcert.numerics._rounding import cast
from jaxcert.returns._prepared import probability
from jaxcert.tasks import bridge_world
from jaxcert.tasks.bridge_world import Chain

# For which the intervals of the fork are compiled once.
NUM_TASKS = 41
FORK = Chain(np.array([[1, 2], [-1, -1], [-1, -1]], np.int32), np.array([0.0, 1.0, 0.0]), 0, 5)
_count, _find = jax.jit(interval_mdp.count_transitions), jax.jit(interval_mdp.intervals)
_robust_value = jax.jit(interval_mdp.robust_value, static_argnames=("initial", "horizon"))


def robust_value(lower, upper, chain):
    """Of intervals that are not from counts."""
    payoff = cast(chain.payoff, lower.dtype, "down")
    return float(_robust_value(lower, upper, chain.successors, payoff, initial=chain.initial, horizon=chain.horizon))


def count_transitions(episodes, successors, *, max_visits):
    limit = None if max_visits is None else np.int32(max_visits)
    return _count(interval_mdp._as_integers(episodes), jnp.asarray(successors, jnp.int32), limit)


def intervals(counts, chain, beta, *, max_visits):
    limit = None if max_visits is None else np.int32(max_visits)
    level = probability("beta", beta, jnp.result_type(float), "down", validate=True)
    level = jnp.broadcast_to(level, np.shape(counts)[:-2])
    return _find(jnp.asarray(counts, jnp.int32), level, limit, np.flatnonzero(chain.uncertain()))


def random_chain(rng, num_states: int) -> Chain:
    """Any graph, with ends, dead ends and loops."""
    successors = np.full((num_states, 2), -1)
    for state in range(num_states - 2):
        chosen = rng.choice(num_states, rng.integers(1, 3), replace=False)
        successors[state, : len(chosen)] = chosen
    return Chain(successors, rng.random(num_states), 0, int(rng.choice([1, 3, 7])))


def random_intervals(rng, chain: Chain) -> tuple[np.ndarray, np.ndarray]:
    """Around a random probability, some empty of width, some [0, 1]."""
    p = rng.random(len(chain.successors))
    reach = rng.choice([0, 0.1, 0.5, 1], size=len(p)) * rng.random(p.shape)
    two = chain.successors[:, 1] >= 0
    return np.where(two, np.clip(p - reach, 0, 1), 1), np.where(two, np.clip(p + reach, 0, 1), 1)


def value_by_programs(chain: Chain, lower, upper) -> float:
    """The least expectations by linear programs."""
    value = chain.payoff.copy()
    for _ in range(chain.horizon):
        following = chain.payoff.copy()
        for state, row in enumerate(chain.successors):
            if (row >= 0).any():
                ends = [(lower[state], upper[state]), (0, 1)]
                found = optimize.linprog(value[row], A_eq=np.ones((1, 2)), b_eq=[1], bounds=ends)
                assert found.success
                following[state] = found.fun
        value = following
    return value[chain.initial]


@pytest.mark.parametrize("seed", range(12))
def test_robust_value_is_that_of_linear_programs(seed, precision):
    rng = np.random.default_rng(seed)
    chain = random_chain(rng, 7)
    lower, upper = (a.astype(precision) for a in random_intervals(rng, chain))
    wanted = value_by_programs(chain, lower.astype(float), upper.astype(float))
    tolerance = 1e-9 if precision == "float64" else 1e-4
    assert wanted - tolerance <= robust_value(lower, upper, chain) <= wanted + 1e-9


def test_without_unknown_probabilities_the_value_is_exact():
    line = Chain(np.array([[1, -1], [2, -1], [-1, -1]]), np.array([0, 0, 0.7]), 0, 2)
    assert float(lower_bound(np.array([[[0, 1, 2]]]), 0.1, line, max_visits=None)[0]) == np.float32(0.7) - (
        np.spacing(np.float32(0.7)) if np.float32(0.7) > 0.7 else 0
    )
    assert np.isneginf(lower_bound(np.array([[[0, 2, -1]]]), 0.1, line, max_visits=None)[0])


# --- counts -----------------------------------------------------------------------------------------------------------


def counts_by_hand(episodes, graph, max_visits):
    counts = np.zeros(graph.shape, int)
    seen = np.zeros(len(graph), int)
    for episode in episodes:
        for source, target in itertools.pairwise(episode):
            if source < 0 or target < 0:
                break
            if max_visits is None or seen[source] < max_visits:
                counts[source, list(graph[source]).index(target)] += 1
            seen[source] += 1
    return counts


@given(seed=st.integers(0, 2**32 - 1), max_visits=st.sampled_from([None, 1, 2, 5, 1000]))
@settings(max_examples=25)
def test_counts(seed, max_visits):
    rng = np.random.default_rng(seed)
    graph = np.array([[1, 2], [0, 3], [2, 3], [-1, -1]])
    episodes = np.full((2, 6, 9), -1)
    for episode in episodes.reshape(-1, 9):
        episode[0] = 0
        for step in range(1, 9):
            following = graph[episode[step - 1]]
            if not (following >= 0).any():
                break
            episode[step] = rng.choice(following[following >= 0])
    got = np.asarray(count_transitions(episodes, graph, max_visits=max_visits))
    for one, found in zip(episodes, got, strict=True):
        np.testing.assert_array_equal(found, counts_by_hand(one, graph, max_visits))


def test_transitions_that_the_graph_does_not_have_certify_nothing():
    good, bad = [[0, 1, -1]], [[1, 0, -1]]
    counts = count_transitions(np.array([good, bad]), FORK.successors, max_visits=None)
    assert counts[0].tolist() == [[1, 0], [0, 0], [0, 0]]
    assert counts[1, 1].tolist() == [-1, -1]
    bounds = lower_bound(np.array([good, bad, [[7, 0, -1]], [[0, 9, -1]]]), 0.1, FORK, max_visits=None)
    assert np.isneginf(np.asarray(bounds)).tolist() == [False, True, True, True]


@pytest.mark.parametrize("episode", [[0, -1, -1], [0, -1, 1], [-1, -1, -1], [-1, 0, 1], [0, 2, 2]])
def test_episodes_that_the_graph_does_not_have_certify_nothing(episode):
    """Cut off before their end, with gaps, begun elsewhere, going on after the end."""
    line = Chain(np.array([[1, 2], [-1, -1], [-1, -1]]), np.array([0, 1.0, 1.0]), 0, 2)
    options = {"max_visits": None}
    assert float(lower_bound(np.array([[[0, 1, -1]]]), 0.1, line, **options)[0]) > 0.99
    assert np.isneginf(lower_bound(np.array([[[0, 1, -1], episode]]), 0.1, line, **options)[0])


def test_narrow_integers_do_not_wrap():
    graph = np.full((70, 2), -1)
    graph[0], graph[64], graph[6] = (64, 1), (6, 1), (7, 8)
    chain = Chain(graph, np.arange(70) == 8, 0, 3)
    episodes = np.tile(np.array([0, 64, 6, 7], np.int8), (1, 40, 1))
    for one in (episodes, jnp.asarray(episodes), episodes.astype(np.uint16), episodes.astype(np.int64)):
        assert count_transitions(one, graph, max_visits=None)[0, [0, 64, 6]].tolist() == [[40, 0]] * 3
        assert float(lower_bound(one, 0.1, chain, max_visits=None)[0]) == 0


# --- intervals --------------------------------------------------------------------------------------------------------


def test_intervals_against_scipy(precision):
    k = np.arange(NUM_TASKS)
    counts = np.zeros((NUM_TASKS, 3, 2), np.int32)
    counts[:, 0] = np.stack([k, 40 - k], axis=-1)
    lower, upper = (np.asarray(a)[:, 0] for a in intervals(counts, FORK, 0.05, max_visits=None))
    exact = [stats.binomtest(int(i), 40).proportion_ci(0.95, method="exact") for i in k]
    low, high = np.array([(ci.low, ci.high) for ci in exact]).T
    tolerance = 1e-9 if precision == "float64" else 2e-5
    np.testing.assert_allclose(lower, low, atol=tolerance)
    np.testing.assert_allclose(upper, high, atol=tolerance)
    assert np.all(lower <= low + 1e-12)
    assert np.all(upper >= high - 1e-12)


@pytest.mark.parametrize("failures", [0, 3, 2**25 + 1])
def test_clopper_pearson_of_counts_beyond_single_precision(failures):
    counts = np.zeros((NUM_TASKS, 3, 2), np.int32)
    counts[:, 0] = 2**25 + 3, failures
    lower, upper = intervals(counts, FORK, 0.05, max_visits=None)
    exact = stats.beta.ppf([0.025, 0.975], [2**25 + 3, 2**25 + 4], [failures + 1, max(failures, 1)])
    low, high = exact[0], exact[1] if failures else 1.0
    assert low - 1e-5 <= float(lower[0, 0]) <= low
    assert high <= float(upper[0, 0]) <= high + 1e-5


def test_the_level_is_shared_by_what_is_unknown():
    """Two states with two successors that are reached, and one that is never reached."""
    successors = np.array([[1, 2], [3, 4], [3, -1], [-1] * 2, [-1] * 2, [3, 4]])
    chain = Chain(successors, np.array([0, 0, 0, 1, 0, 0.0]), 0, 4)
    counts = np.zeros((6, 2), np.int32)
    counts[0] = 30, 10
    lower, upper = intervals(counts, chain, 0.1, max_visits=None)
    exact = stats.binomtest(30, 40).proportion_ci(1 - 0.1 / 2, method="exact")
    assert float(lower[0]) == pytest.approx(exact.low, abs=1e-5)
    assert float(upper[0]) == pytest.approx(exact.high, abs=1e-5)
    # Nothing is known of what was not visited.
    assert (lower[1], upper[1]) == (0, 1)


def test_fewer_visits_than_fixed_say_nothing():
    counts = np.array([[[9, 0], [0, 0], [0, 0]], [[10, 0], [0, 0], [0, 0]]], np.int32)
    lower, upper = intervals(counts, FORK, 0.1, max_visits=10)
    assert (lower[0, 0], upper[0, 0]) == (0, 1)
    assert float(lower[1, 0]) > 0.6


def test_bounds_fail_no_more_often_than_beta_by_enumeration(precision):
    """One unknown probability, 12 rollouts: every possible outcome, weighted exactly. The lower side has beta / 2."""
    wins, beta = np.arange(13), 0.5
    episodes = np.where(np.arange(12) < wins[:, None], 1, 2)
    bounds = np.asarray(lower_bound(_from_start(episodes), beta, FORK, max_visits=12), float)
    chance = np.linspace(0.01, 0.99, 197)
    failure = [stats.binom.pmf(wins, 12, p)[bounds > p].sum() for p in chance]
    assert max(failure) <= beta / 2
    assert max(failure) > beta / 2.5


def _from_start(ends: np.ndarray) -> np.ndarray:
    return np.stack([np.zeros_like(ends), ends], axis=-1)


def test_bounds_fail_no_more_often_than_beta_where_visits_are_random():
    """A state that is left with success only after a random time: the number of its visits says how it went."""
    loop = Chain(np.array([[0, 1], [-1, -1]]), np.array([0.0, 1.0]), 0, 3)
    chance, beta, num_tasks, num_rollouts, max_visits = 0.35, 0.5, 20_000, 8, 10
    left = np.random.default_rng(0).random((num_tasks, num_rollouts, 3)) < chance
    gone = np.cumsum(left, axis=-1)
    cells = np.where(gone == 0, 0, np.where((gone == 1) & left, 1, -1))
    episodes = np.concatenate([np.zeros_like(cells[..., :1]), cells], axis=-1)
    bounds = np.asarray(lower_bound(episodes, beta, loop, max_visits=max_visits))
    failures = int((bounds > 1 - (1 - chance) ** 3).sum())
    assert stats.binomtest(failures, num_tasks, beta / 2, alternative="greater").pvalue > 1e-3
    assert failures > num_tasks * beta / 50


def test_refusals():
    episodes = np.zeros((1, 1, 2), int)
    for changes, message in (
        ({"max_visits": 0}, "max_visits is 0; expected a whole number"),
        ({"max_visits": 2**31}, r"max_visits is 2147483648; expected a whole number from 1 to 2\*\*31 - 1"),
        ({"trajectories": episodes[0]}, "trajectories have shape"),
        ({"trajectories": np.zeros((2, 0, 3), int)}, r"trajectories have shape \(2, 0, 3\)"),
        ({"trajectories": np.zeros((1, 1, 2))}, "trajectories are float64; expected integers"),
        *(({"beta": beta}, r"beta is .* expected a probability in") for beta in (0.0, 1.0, 1.5, np.nan)),
    ):
        with pytest.raises(ValueError, match=message):
            lower_bound(**{"trajectories": episodes, "beta": 0.1, "chain": FORK, "max_visits": None, **changes})


@pytest.mark.parametrize("beta", [0.0, 1.0, 7.0, np.nan])
def test_a_traced_beta_without_meaning_certifies_nothing(beta):
    policy = bridge_world.left_policy()
    chain = bridge_world.chain(policy)
    episodes = bridge_world.trajectories(jax.random.key(0), [[0.25, 0.1]], 100, policy)
    found = jax.jit(lambda b: lower_bound(episodes, b, chain, max_visits=None))(beta)
    assert np.isneginf(found).all()


def test_values_that_underflow_are_rounded_down():
    halves = np.full(3, 0.5, np.float32)
    for height in (2e-38, 1e-37, 1e-30):
        assert robust_value(halves, halves, Chain(FORK.successors, np.array([0, height, 0]), 0, 1)) <= height / 2
