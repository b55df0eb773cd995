"""Requirements on every public function on arrays: types, jit, vmap, no recompilation, no hidden transfers."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import compilations
from conftest import x64_context

import jaxcert
from jaxcert import (
    anytime_epsilon,
    baselines,
    binomial_epsilon,
    bounds,
    certify,
    certify_anytime,
    certify_band,
    certify_cvar,
    certify_episode,
    certify_improvement,
    certify_interval,
    certify_lower_bounds,
    certify_lower_bounds_band,
    certify_mean,
    certify_mean_difference,
    certify_ranking,
    certify_safety_level,
    certify_sequential,
    certify_shift,
    certify_tail,
    certify_weighted,
    consecutive_successes_threshold,
    numerics,
    rollouts,
    scenario_epsilon,
    shifted_epsilon,
    task_weights,
)
from jaxcert.baselines import interval_mdp
from jaxcert.tasks import bridge_world, simple_grid


@dataclasses.dataclass(frozen=True)
class Subject:
    """A public function as one of arrays alone, with two sets of arguments of the same shapes.

    Attributes:
        function: takes the arguments in their order.
        arguments: host arrays and Python numbers, as a user gives them; or what computes them.
        others: the same with other values.
        dtype: of the floats that come out, or of all if there are none; that of the arguments by default.
    """

    function: Callable
    arguments: tuple | Callable[[], tuple]
    others: tuple | Callable[[], tuple]
    dtype: str | None = None

    def sets(self) -> tuple[tuple, tuple]:
        """Both sets of arguments."""
        with x64_context(False):  # the same in every precision
            first, second = (a() if callable(a) else a for a in (self.arguments, self.others))
        return first, second


RNG = np.random.default_rng(0)
RETURNS = [RNG.uniform(0.3, 1, (8, 6)) for _ in range(2)]
HITS = [np.round(x) for x in RETURNS]
MASKS = [np.arange(6) < RNG.integers(3, 7, (8, 1)) for _ in range(2)]
REWARDS = [RNG.uniform(-1, 1, (4, 5)) for _ in range(2)]
EVENTS = [RNG.random((4, 5)) < 0.3 for _ in range(4)]


def _bound(function: Callable, data: list = RETURNS, *, support: bool = True, **options: Any) -> Subject:
    def call(x, beta, low, high, where, **validate):
        ends = {"support": (low, high)} if support else {}
        return function(x, beta, where=where, **ends, **options, **validate)

    return Subject(call, (data[0], 0.3, 0.0, 1.0, MASKS[0]), (data[1], 0.2, -1.0 * support, 1.0 + support, MASKS[1]))


def _certify(function: Callable, wanted: tuple, bound: str, method: str) -> Subject:
    def call(returns, wanted, beta, delta, low, high, **validate):
        options = {"bound": bound, "method": method, "beta": beta, "delta": delta}
        return function(returns, wanted, support=(low, high), **options, **validate)

    binary = bound == "clopper_pearson"
    first, second = HITS if binary else RETURNS
    low, high = (0.0, 1.0) if binary else (-1.0, 2.0)
    return Subject(call, (first, wanted[0], 0.01, 0.1, 0.0, 1.0), (second, wanted[1], 0.012, 0.2, low, high))


def _given(method: str) -> Subject:
    def call(lower, thresholds, beta, delta, **validate):
        return certify_lower_bounds(lower, thresholds, beta=beta, delta=delta, method=method, **validate)

    first, second = (x.min(axis=-1) for x in RETURNS)
    return Subject(call, (first, LEVELS[0], 0.01, 0.1), (second, LEVELS[1], 0.012, 0.2))


def _metric(function: Callable, *names: str, values: tuple = (-1.0, -2.0)) -> Subject:
    def call(r_t, done_t, *options):
        return function(r_t, done_t, **dict(zip(names, options, strict=True)))

    settings = [{"discount": 0.9, "min_reward": values[0]}, {"discount": 0.5, "min_reward": values[1]}]
    chosen = [tuple(s[name] for name in names) for s in settings]
    return Subject(call, (REWARDS[0], EVENTS[0], *chosen[0]), (REWARDS[1], EVENTS[1], *chosen[1]))


LEVELS = (np.array([0.2, 0.4]), np.array([0.1, 0.5]))
SAFETIES = (np.array([0.3, 0.6]), np.array([0.5, 0.7]))
NAMES = ("betting", "clopper_pearson", "dkw", "empirical_bernstein", "hoeffding")
KEYS = [jax.random.key(seed) for seed in (0, 1)]

BOUNDS = {
    **{name: _bound(getattr(bounds, name)) for name in NAMES if name != "clopper_pearson"},
    "clopper_pearson": _bound(bounds.clopper_pearson, HITS, support=False),
    "dkw_discrete_two_sided": _bound(bounds.dkw, form="discrete", constant="two-sided"),
}
EPSILONS = {
    "binomial_epsilon": Subject(binomial_epsilon, (np.arange(5), 20, 0.1, 0.01), (np.arange(3, 8), 30, 0.0, 0.2)),
    "scenario_epsilon": Subject(scenario_epsilon, (np.arange(5), 20, 1e-3, 0.01), (np.arange(3, 8), 30, 1e-2, 0.2)),
}
SHIFTS = {
    f"shifted_epsilon-{name}": Subject(
        functools.partial(shifted_epsilon, divergence=name),
        (np.array([0.01, 0.1, 0.5]), radii[0]),
        (np.array([0.02, 0.2, 0.6]), radii[1]),
    )
    for name, radii in {
        "chi2": (0.1, 0.2),
        "kl": (0.1, 0.2),
        "ratio": (1.1, 1.2),
        "total_variation": (0.1, 0.2),
    }.items()
}


def _anytime_epsilon(k, n, beta, delta, alpha, gamma, **validate):
    return anytime_epsilon(k, n, beta=beta, delta=delta, prior=(alpha, gamma), **validate)


EPSILONS["anytime_epsilon"] = Subject(
    _anytime_epsilon, (np.arange(5), 20, 0.1, 0.01, 1.0, 1.0), (np.arange(3, 8), 30, 0.0, 0.2, 0.5, 3.0)
)
TAILS = {
    name: Subject(getattr(numerics, name), (np.arange(5), 20, 0.1), (np.arange(3, 8), 30, 0.3))
    for name in ("binomial_cdf", "binomial_sf", "clopper_pearson_lower", "clopper_pearson_upper")
}
TAILS["consecutive_successes_threshold"] = Subject(
    consecutive_successes_threshold, (np.array([0.5, 0.9]), 5), (np.array([0.3, 1.0]), 2)
)
CERTIFICATES = {
    "certify_lower_bounds-binomial": _given("binomial"),
    "certify_lower_bounds-scenario": _given("scenario"),
}
# A method sees lower bounds alone, so one bound is enough for the second one.
for _method, _names in (("binomial", NAMES), ("scenario", ("betting",))):
    for _name in _names:
        CERTIFICATES[f"certify-{_name}-{_method}"] = _certify(certify, LEVELS, _name, _method)
        CERTIFICATES[f"certify_safety_level-{_name}-{_method}"] = _certify(
            certify_safety_level, SAFETIES, _name, _method
        )
CERTIFICATES["certify-betting-soft"] = _certify(certify, LEVELS, "betting", "soft")


def _one_after_another(returns, thresholds, beta, delta, low, high, **validate):
    settings = {"beta": beta, "delta": delta, "give_up": 0.1}
    return certify_sequential(returns, thresholds, support=(low, high), **settings, **validate)


CERTIFICATES["certify_sequential"] = Subject(
    _one_after_another, (RETURNS[0], LEVELS[0], 0.5, 0.1, 0.0, 1.0), (RETURNS[1], LEVELS[1], 0.3, 0.2, -1.0, 2.0)
)


def _chosen_from_the_data(returns, thresholds, low, high, **validate):
    return certify(returns, thresholds, support=(low, high), beta="auto", delta=0.2, **validate)


CERTIFICATES["certify-betting-auto"] = Subject(
    _chosen_from_the_data, (RETURNS[0], LEVELS[0], 0.0, 1.0), (RETURNS[1], LEVELS[1], -1.0, 2.0)
)


def _anytime(returns, thresholds, beta, delta, low, high, alpha, gamma, **validate):
    settings = {"beta": beta, "delta": delta, "prior": (alpha, gamma)}
    return certify_anytime(returns, thresholds, support=(low, high), **settings, **validate)


CERTIFICATES["certify_anytime"] = Subject(
    _anytime,
    (RETURNS[0], LEVELS[0], 0.5, 0.1, 0.0, 1.0, 1.0, 1.0),
    (RETURNS[1], LEVELS[1], 0.3, 0.2, -1.0, 2.0, 0.5, 3.0),
)


def _band(returns, thresholds, beta, low, high, **validate):
    return certify_band(returns, thresholds, support=(low, high), beta=beta, delta=0.2, **validate)


def _given_band(lower, beta, low, *, kind="equal_local_levels", **validate):
    return certify_lower_bounds_band(lower, None, beta=beta, delta=0.2, low=low, kind=kind, **validate)


def _tail(lower, beta, low, shares, **validate):
    return certify_tail(_given_band(lower, beta, low, **validate), shares, **validate)


def _together(returns, low, high, **validate):
    options = {"beta": 0.125, "delta": 0.25, "simultaneous": True}
    return certify_safety_level(returns, [0.25, 0.5], support=(low, high), **options, **validate)


def _interval(returns, thresholds, beta, delta, low, high, **validate):
    settings = {"beta": beta, "delta": delta, "complete": True}
    return certify_interval(returns, thresholds, support=(low, high), **settings, **validate)


WORST = [x.min(axis=-1) for x in RETURNS]
CERTIFICATES |= {
    "certify_band": Subject(_band, (RETURNS[0], LEVELS[0], 0.1, 0.0, 1.0), (RETURNS[1], LEVELS[1], 0.3, -1.0, 2.0)),
    "certify_lower_bounds_band": Subject(_given_band, (WORST[0], 0.1, 0.0), (WORST[1], 0.3, -1.0)),
    "certify_lower_bounds_band-dkw": Subject(
        functools.partial(_given_band, kind="dkw"), (WORST[0], 0.1, 0.0), (WORST[1], 0.3, -1.0)
    ),
    "certify_tail": Subject(_tail, (WORST[0], 0.1, 0.0, SAFETIES[0]), (WORST[1], 0.3, -1.0, SAFETIES[1])),
    "certify_safety_level-together": Subject(_together, (RETURNS[0], 0.0, 1.0), (RETURNS[1], -1.0, 2.0)),
    "certify_interval": Subject(
        _interval, (RETURNS[0], LEVELS[0], 0.1, 0.1, 0.0, 1.0), (RETURNS[1], LEVELS[1], 0.2, 0.2, -1.0, 2.0)
    ),
}
OTHERS = [x[:, :4] for x in RETURNS[::-1]]
FUNCTIONALS = {
    "certify_mean": Subject(
        lambda x, delta, low, high, where, **validate: certify_mean(
            x, support=(low, high), delta=delta, where=where, **validate
        ),
        (RETURNS[0], 0.1, 0.0, 1.0, MASKS[0]),
        (RETURNS[1], 0.2, -1.0, 2.0, MASKS[1]),
    ),
    "certify_cvar": Subject(
        lambda x, alpha, cap, delta, low, high, **validate: certify_cvar(
            x, alpha, cap=cap, support=(low, high), delta=delta, **validate
        ),
        (RETURNS[0], LEVELS[0], 0.7, 0.5, 0.0, 1.0),
        (RETURNS[1], LEVELS[1], 0.8, 0.6, -1.0, 2.0),
    ),
    **{
        f"certify_episode-{rollouts}": Subject(
            functools.partial(
                lambda x, t, delta, rollouts, **validate: certify_episode(
                    x, t, delta=delta, rollouts=rollouts, **validate
                ),
                rollouts=rollouts,
            ),
            (RETURNS[0], LEVELS[0], 0.1),
            (RETURNS[1], LEVELS[1], 0.2),
        )
        for rollouts in ("all", "first")
    },
    **{
        f"certify_improvement-{name}": Subject(
            lambda a, b, c, beta, delta, low, high, **validate: certify_improvement(
                a, b, c, support=(low, high), delta=delta, beta=beta, **validate
            ),
            (RETURNS[0], second[0], LEVELS[0] - 0.7, 0.3, 0.2, 0.0, 1.0),
            (RETURNS[1], second[1], LEVELS[1] - 0.7, 0.4, 0.3, -0.1, 1.1),
        )
        for name, second in (("pairs", RETURNS[::-1]), ("unequal", OTHERS))
    },
    "certify_mean_difference": Subject(
        lambda a, b, delta, low, high, **validate: certify_mean_difference(
            a, b, support=(low, high), delta=delta, **validate
        ),
        (RETURNS[0], OTHERS[0], 0.1, 0.0, 1.0),
        (RETURNS[1], OTHERS[1], 0.2, -1.0, 2.0),
    ),
    "certify_ranking": Subject(
        lambda x, delta, low, high, **validate: certify_ranking(x, support=(low, high), delta=delta, **validate),
        (np.stack([RETURNS[0], 0.5 * RETURNS[0], RETURNS[1]]), 0.1, 0.0, 1.0),
        (np.stack([RETURNS[1], RETURNS[0], 0.4 * RETURNS[1]]), 0.2, 0.0, 1.1),
    ),
}
CERTIFICATES |= FUNCTIONALS


def _shift(returns, beta, delta, radius, performance_shift, thresholds, low, high, **validate):
    settings = {"support": (low, high), "beta": beta, "delta": delta, "bound": "hoeffding"}
    before = certify(returns, thresholds, **settings, **validate)
    shift = {"radius": radius, "performance_shift": performance_shift}
    return certify_shift(before, divergence="kl", **shift, **validate)


CERTIFICATES["certify_shift"] = Subject(
    _shift,
    (RETURNS[0], 0.3, 0.4, 0.01, 0.1, LEVELS[0], 0.0, 1.0),
    (RETURNS[1], 0.2, 0.5, 0.1, 0.2, LEVELS[1], -0.1, 1.1),
)


class Density:
    """A density that increases with the task."""

    def __init__(self, rate) -> None:
        self.rate = rate

    def log_prob(self, x):
        return self.rate * x


RATIOS = [np.array([0.5, 1.5] * 4), np.array([1.25, 0.75] * 4)]
CERTIFICATES |= {
    f"certify_weighted-{method}": Subject(
        functools.partial(
            lambda x, b, w, most, beta, delta, low, high, method, **validate: certify_weighted(
                x, b, w, max_weight=most, support=(low, high), beta=beta, delta=delta, method=method, **validate
            ),
            method=method,
        ),
        (RETURNS[0], LEVELS[0], RATIOS[0], 1.5, 0.3, 0.2, 0.0, 1.0),
        (RETURNS[1], LEVELS[1], RATIOS[1], 1.25, 0.4, 0.3, -0.1, 1.1),
    )
    for method in ("binomial", "soft")
}
TAILS["task_weights"] = Subject(
    lambda x, q, p: task_weights(Density(q), Density(p), x), (RETURNS[0], 1.0, 2.0), (RETURNS[1], 2.0, 1.5)
)
METRICS = {
    "undiscounted_return": _metric(rollouts.undiscounted_return),
    "discounted_return": _metric(rollouts.discounted_return, "discount"),
    "truncated_return": _metric(rollouts.truncated_return, "discount", "min_reward"),
    "shifted_return": _metric(rollouts.shifted_return, "discount", "min_reward"),
    "threshold_shift": Subject(
        lambda discount, min_reward: rollouts.threshold_shift(discount=discount, min_reward=min_reward),
        (0.9, -1.0),
        (0.5, -2.0),
    ),
    "reach": Subject(rollouts.reach, (EVENTS[0], EVENTS[1]), (EVENTS[2], EVENTS[3]), dtype="float32"),
    "reach_avoid": Subject(rollouts.reach_avoid, tuple(EVENTS[:3]), tuple(EVENTS[1:]), dtype="float32"),
}
TASKS = {
    "sample_tasks": Subject(lambda key: simple_grid.ENV.sample_tasks(key, 5), (KEYS[0],), (KEYS[1],)),
    "collect": Subject(
        lambda key, p: rollouts.collect(simple_grid.ENV, simple_grid.POLICY, p, key, num_rollouts=9),
        (KEYS[0], np.full(3, 0.1)),
        (KEYS[1], np.full(3, 0.3)),
    ),
    "performance": Subject(simple_grid.performance, (np.full(3, 0.2),), (np.full(3, 0.7),)),
    "safety": Subject(simple_grid.safety, (np.array([0.6, 0.8]),), (np.array([0.7, 0.9]),)),
}
POLICY = bridge_world.left_policy()
CHAIN = bridge_world.chain(POLICY)


# Compiled when a test asks for them, not when tests are collected.
@functools.cache
def episodes(which: int) -> np.ndarray:
    return np.asarray(bridge_world.trajectories(KEYS[which], SLIPS[1], 60, POLICY))


@functools.cache
def counts(which: int) -> np.ndarray:
    return np.asarray(interval_mdp.count_transitions(episodes(which), CHAIN.successors, max_visits=None))


@functools.cache
def intervals(which: int) -> tuple[np.ndarray, ...]:
    found = interval_mdp.probability_intervals(counts(which), CHAIN, 0.1, max_visits=None)
    return tuple(np.asarray(end, float) for end in found)


def _stepped(task: Any, key: jax.Array, action: Any) -> tuple:
    """Observation and reward after one step; the key in the state is no array of numbers."""
    after = task.step(task.reset(key), action)
    return after.obs.astype(after.reward.dtype), after.reward, jax.random.uniform(after.key, (), after.reward.dtype)


STEP = ((KEYS[0], 0.3, 0), (KEYS[1], 1.0, 0))
SLIPS = [np.full((3, 2), slip) for slip in (0.1, 0.3)]
WINS = [np.array([0.6, 0.8]), np.array([0.7, 0.9])]
WORLD = {
    "step": Subject(lambda key, p, action: _stepped(simple_grid.SimpleGrid(p), key, action), STEP[0], STEP[1]),
    "step-bridge_world": Subject(
        lambda key, slip, action: _stepped(bridge_world.BridgeWorld(slip), key, action),
        (KEYS[0], SLIPS[0][0], 0),
        (KEYS[1], SLIPS[1][0], 3),
    ),
    "table_policy": Subject(
        lambda table, cell: bridge_world.table_policy(table).params[cell], (POLICY, 71), (POLICY, 52), dtype="int32"
    ),
    "sample_tasks-bridge_world": Subject(lambda key: bridge_world.ENV.sample_tasks(key, 5), (KEYS[0],), (KEYS[1],)),
    "collect-bridge_world": Subject(
        lambda key, tasks: rollouts.collect(
            bridge_world.ENV, bridge_world.table_policy(POLICY), tasks, key, num_rollouts=9
        ),
        (KEYS[0], SLIPS[0]),
        (KEYS[1], SLIPS[1]),
    ),
    "trajectories": Subject(
        lambda key, tasks: bridge_world.trajectories(key, tasks, 9, POLICY),
        (KEYS[0], SLIPS[0]),
        (KEYS[1], SLIPS[1]),
        dtype="int32",
    ),
    "performance-bridge_world": Subject(
        lambda tasks: bridge_world.performance(tasks, POLICY), (SLIPS[0],), (SLIPS[1],)
    ),
    "transition_probabilities": Subject(
        lambda tasks: bridge_world.transition_probabilities(tasks, POLICY), (SLIPS[0],), (SLIPS[1],)
    ),
    "crossing_probability": Subject(bridge_world.crossing_probability, (SLIPS[0],), (SLIPS[1],)),
    "safety-bridge_world": Subject(lambda wins: bridge_world.safety(wins, "right"), (WINS[0],), (WINS[1],)),
}
INTERVAL_MDP = {
    "count_transitions": Subject(
        lambda episodes: interval_mdp.count_transitions(episodes, CHAIN.successors, max_visits=None),
        lambda: (episodes(0),),
        lambda: (episodes(1),),
        dtype="int32",
    ),
    "probability_intervals": Subject(
        lambda counts, beta: interval_mdp.probability_intervals(counts, CHAIN, beta, max_visits=None),
        lambda: (counts(0), 0.1),
        lambda: (counts(1), 0.2),
    ),
    "robust_value": Subject(
        lambda low, high: interval_mdp.robust_value(interval_mdp.Intervals(low, high), CHAIN),
        lambda: intervals(0),
        lambda: intervals(1),
    ),
    "lower_bound": Subject(
        lambda episodes, beta: interval_mdp.lower_bound(episodes, beta, CHAIN, max_visits=None),
        lambda: (episodes(0), 0.1),
        lambda: (episodes(1), 0.2),
    ),
}
SUBJECTS = {**BOUNDS, **EPSILONS, **SHIFTS, **TAILS, **CERTIFICATES, **METRICS, **TASKS, **WORLD, **INTERVAL_MDP}
BASELINES = {
    "certify_known_performances": Subject(
        lambda known, thresholds, delta, **validate: baselines.certify_known_performances(
            known, thresholds, delta=delta, **validate
        ),
        (WORST[0], LEVELS[0], 0.1),
        (WORST[1], LEVELS[1], 0.2),
    ),
    "certify_plug_in": Subject(
        lambda x, thresholds, delta, where, **validate: baselines.certify_plug_in(
            x, thresholds, delta=delta, where=where, **validate
        ),
        (RETURNS[0], LEVELS[0] + 0.4, 0.1, MASKS[0]),
        (RETURNS[1], LEVELS[1] + 0.2, 0.2, MASKS[1]),
    ),
}
SUBJECTS |= BASELINES
# Certificates and limits take seconds to compile: most of them are left to long runs.
LONG = {*CERTIFICATES, "probability_intervals", "lower_bound"} - {
    "certify-betting-binomial",
    "certify_safety_level-betting-binomial",
    "certify_lower_bounds-binomial",
}
LONG |= set(BASELINES)
# Those of which every argument can be an array; elsewhere Python numbers have to get to the device.
ARRAYS_ONLY = {name for name in {**BOUNDS, **CERTIFICATES} if name.startswith(("certify", *NAMES, "dkw"))}
ARRAYS_ONLY -= {
    "clopper_pearson",
    "certify-betting-auto",
    "certify_band",
    "certify_tail",
    "certify_safety_level-together",
    *(name for name in CERTIFICATES if name.startswith("certify_lower_bounds")),
}
ARRAYS_ONLY |= set(BASELINES)


def cases() -> list:
    """Names of subjects and precisions."""
    quick = {"certify-betting-binomial", "empirical_bernstein"}
    return [
        pytest.param(name, precision, marks=pytest.mark.slow if name in slow else (), id=f"{name}-{precision}")
        for precision, slow in (("float32", LONG), ("float64", set(SUBJECTS) - quick))
        for name in SUBJECTS
    ]


@pytest.fixture(autouse=True)
def _the_flag_is_left_alone():
    before = jax.config.jax_enable_x64
    yield
    assert jax.config.jax_enable_x64 == before


def on_device(arguments: tuple, precision: str) -> tuple:
    """The arguments as arrays, floats of one type."""
    return tuple(
        jnp.asarray(a, precision if np.asarray(a).dtype == np.float64 else None) if not _is_key(a) else a
        for a in arguments
    )


def _is_key(value: Any) -> bool:
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def assert_trees_close(found: Any, wanted: Any, precision: str) -> None:
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    room = 64 * float(np.finfo(precision).eps)
    for f, w in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert f.dtype == w.dtype
        bound = room if jnp.issubdtype(f.dtype, jnp.floating) else 0
        np.testing.assert_allclose(f, w, rtol=bound, atol=bound)


def test_every_public_function_on_arrays_is_here():
    here = {name.split("-")[0] for name in SUBJECTS}
    helpers = {"return_support", "sample_returns"}
    helpers |= {"align_tasks", "from_frame", "from_lists", "from_xarray", "paired", "weighted"}
    types = {"Chain", "Intervals", "SimpleGridParams", "State", "World", "LARGE", "STANDARD", "ENV", "POLICY"}
    types |= {"EpisodeCertificate", "ImprovementCertificate", "MeanCertificate", "RankingCertificate"}
    types |= {"ShiftCertificate"}
    types |= {"WeightedCertificate"}
    types |= {"AdaptiveCertificate", "BridgeWorld", "MultiTaskEnv", "PolicyCertificate", "SimpleGrid", "summaries"}
    of_static_arguments = {"chain", "env", "left_policy", "right_policy"}
    of_static_arguments |= {"task_distribution"}
    of_policies = {"Policy", "brax_policy", "certify_adaptive", "certify_policy", "collect", "collect_gymnasium"}
    files = {"adaptive_facts", "load_adaptive", "save_adaptive"}
    rooms = (bounds, rollouts, simple_grid, bridge_world, interval_mdp)
    rooms += (baselines,)
    types |= {"PlugInEstimate", "interval_mdp"}
    public = {name for room in rooms for name in room.__all__} - helpers - types - of_static_arguments
    public |= {name for name in jaxcert.__all__ if inspect.isfunction(inspect.unwrap(getattr(jaxcert, name)))} - helpers
    assert public - of_policies - files <= here


@pytest.mark.parametrize(("name", "precision"), cases(), indirect=["precision"])
def test_conforms(name, precision):
    subject = SUBJECTS[name]
    arguments, others = (on_device(a, precision) for a in subject.sets())
    found, other = subject.function(*arguments), subject.function(*others)
    assert {str(leaf.dtype) for leaf in floats(found) or jax.tree.leaves(found)} == {subject.dtype or precision}
    assert any(np.any(f != o) for f, o in zip(*map(jax.tree.leaves, (found, other)), strict=True))
    check_other_values_do_not_compile_again(subject)
    check_arguments_may_be_constants_of_a_compiled_function(subject, arguments)
    if name in ARRAYS_ONLY:
        check_arrays_stay_on_the_device(subject, others)
    if name not in {*CERTIFICATES, *TAILS}:
        assert_trees_close(jax.jit(subject.function)(*arguments), found, precision)
    mapped = jax.jit(jax.vmap(subject.function))(*map(_pair, arguments, others))
    assert_trees_close(mapped, jax.tree.map(_pair, found, other), precision)


def _pair(first: jax.Array, second: jax.Array) -> jax.Array:
    return jnp.stack([first, second])


def floats(tree: Any) -> list[jax.Array]:
    return [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.floating)]


def check_other_values_do_not_compile_again(subject: Subject) -> None:
    arguments, others = subject.sets()
    jax.block_until_ready(subject.function(*arguments))
    assert compilations(lambda: subject.function(*others)) == 0


def check_arguments_may_be_constants_of_a_compiled_function(subject: Subject, arguments: tuple) -> None:
    for constants in (arguments, subject.sets()[0]):
        jax.eval_shape(lambda x, c=constants: (x, subject.function(*c)), 0.0)


def check_arrays_stay_on_the_device(subject: Subject, arguments: tuple) -> None:
    with jax.transfer_guard("disallow"):
        subject.function(*arguments, validate=False)


def test_transfers_are_noticed():
    with pytest.raises(Exception, match="Disallowed host-to-device transfer"):
        check_arrays_stay_on_the_device(BOUNDS["hoeffding"], BOUNDS["hoeffding"].sets()[0])


@pytest.mark.parametrize("name", ["hoeffding", "clopper_pearson", "certify-betting-binomial", "undiscounted_return"])
@pytest.mark.parametrize("dtype", ["int32", "bool", "bfloat16", "float16"])
def test_narrow_types_become_float32(name, dtype, precision):
    data, *rest = SUBJECTS[name].sets()[0]
    data = np.round(np.abs(data)).astype(np.float32)
    wanted = SUBJECTS[name].function(data, *rest)
    narrow = jnp.asarray(data).astype(dtype)
    for values in (narrow, np.asarray(narrow)):
        found = SUBJECTS[name].function(values, *rest)
        assert all(leaf.dtype == jnp.float32 for leaf in floats(found))
        assert_trees_close(found, wanted, "float32")
