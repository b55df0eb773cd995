"""Certificates from returns: each kind is an entry in ``KINDS``, and is simulated in every world."""

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxcert
from benchmarks.coverage.cell import Cell
from benchmarks.coverage.worlds import BETA, DELTA, WORLDS, Data, World, draw
from jaxcert.baselines import certify_plug_in
from jaxcert.certificates._registry import METHODS

SHARE = 0.3  # of the worst tasks
EPISODE = 0.5  # a return in [0, 1]
MORE = 1.5  # how often bad tasks come in deployment, for once in the sample
Wrong = Callable[[World, Data], np.ndarray]


class Kind(NamedTuple):
    """A certificate: its name, and in which repetitions it says too much, bool[size]; or what is no certificate.

    ``binary``: whether it is for returns of 0 and 1 alone.
    """

    name: str
    wrong: Wrong
    sound: bool = True
    binary: bool = False


def _options(world: World, data: Data, **more: Any) -> dict[str, Any]:
    size = data.returns.shape[1]
    return {"support": world.support, "delta": DELTA, "where": data.mask(size), "validate": False} | more


def _below(risk: Any, world: World) -> np.ndarray:
    """Whether a certified risk, [size, 1], is too small."""
    return np.asarray(risk, np.float64)[:, 0] < world.risk


# --- one policy -----------------------------------------------------------------------------------------------------


def certify(world: World, data: Data, call: Any = jaxcert.certify, **options: Any) -> np.ndarray:
    """One threshold, fixed beforehand."""
    return _below(call(data.returns[0], world.threshold, **_options(world, data, **options)).epsilon, world)


def plug_in(world: World, data: Data) -> np.ndarray:
    """The averages of the tasks, as if they were their performances."""
    options = {name: value for name, value in _options(world, data).items() if name != "support"}
    return _below(certify_plug_in(data.returns[0], world.threshold, **options).epsilon, world)


def shift(world: World, data: Data, *, divergence: str, radius: float, risk: Callable[[float], float]) -> np.ndarray:
    """Where bad tasks are as much more frequent in deployment as the radius allows."""
    sampled = jaxcert.certify(data.returns[0], world.threshold, **_options(world, data))
    found = jaxcert.certify_shift(sampled, divergence=divergence, radius=radius, validate=False)
    return np.asarray(found.epsilon, np.float64)[:, 0] < risk(world.risk)


def weighted(world: World, data: Data, **options: Any) -> np.ndarray:
    """Where bad tasks are MORE times as frequent in deployment, which the weights say."""
    options = _options(world, data, max_weight=MORE, **options)
    found = jaxcert.certify_weighted(data.returns[0], world.threshold, _weights(world, data), **options)
    return np.asarray(found.epsilon, np.float64)[:, 0] < MORE * world.risk


def _weights(world: World, data: Data) -> jax.Array:
    good = (1 - MORE * world.risk) / (1 - world.risk)
    return jnp.where(data.is_bad, np.float32(MORE), np.nextafter(np.float32(good), np.float32(2)))


def stratified(world: World, data: Data, *, frequency: float, **options: Any) -> np.ndarray:
    """Of two strata, each with half of the tasks, of which new tasks are from one with that frequency."""
    n = data.returns[0].shape[-2]
    kinds = {"strata": np.arange(n) * 2 // n, "frequencies": {0: frequency, 1: 1 - frequency}}
    found = jaxcert.certify_stratified(data.returns[0], world.threshold, **kinds, **_options(world, data, **options))
    return np.asarray(found.epsilon, np.float64)[:, 0] < world.risk


def safety_level(world: World, data: Data, **options: Any) -> np.ndarray:
    """Of a safety that only the performance of bad tasks reaches."""
    wanted = np.array([1 - world.risk + 2.0**-17])
    found = jaxcert.certify_safety_level(data.returns[0], wanted, **_options(world, data, **options))
    return np.any(world.safety(np.asarray(found.thresholds, float)) < wanted, axis=-1)


def interval(world: World, data: Data) -> np.ndarray:
    found = jaxcert.certify_interval(data.returns[0], world.threshold, **_options(world, data, complete=True))
    safe = 1 - world.risk
    return _below(found.epsilon, world) | (np.asarray(found.safety_upper, float)[:, 0] < safe)


def requirements(
    world: World, data: Data, *, binary: bool = False, listed: bool = False, more: float = 1, **options: Any
) -> np.ndarray:
    """The same returns twice, reflected and at most so much: as dependent as metrics can be."""
    x, support = data.returns[0], None if binary else world.support
    x = x == 1 if binary else x
    metrics = {"reward": x, "cost": ~x if binary else sum(world.support) - x}
    reward = jaxcert.at_least(world.threshold, support=support)
    cost = jaxcert.at_most(sum(world.support) - world.threshold, support=support)
    options = {name: value for name, value in _options(world, data, **options).items() if name != "support"}
    call: Any = jaxcert.certify_suite_requirements if listed else jaxcert.certify_requirements
    sample = metrics if more == 1 else jaxcert.weighted(metrics, _weights(world, data), max_weight=more)
    found = call(sample, {"reward": reward, "cost": cost}, complete=True, **options)
    if listed:
        return np.asarray(found.num_good) > np.sum(~np.asarray(data.is_bad), axis=1)
    return np.asarray(found.epsilon, np.float64) < more * world.risk


def tail(world: World, data: Data) -> np.ndarray:
    """Quantiles and means of the worst tasks together."""
    band = jaxcert.certify_band(data.returns[0], None, **_options(world, data))
    found = jaxcert.certify_tail(band, [0.1, SHARE, 0.6])
    shares = np.asarray(found.shares, float)
    truths = np.array([world.worst(share) for share in shares])
    above = 1 - world.safety(np.asarray(found.quantiles, float)) > shares
    return np.any(above | (np.asarray(found.cvar, float) > truths), axis=-1)


def mean(world: World, data: Data, **options: Any) -> np.ndarray:
    return np.asarray(jaxcert.certify_mean(data.returns[0], **_options(world, data, **options)).mean) > world.mean


def cvar(world: World, data: Data) -> np.ndarray:
    """The mean over the worst tasks, with the best cap."""
    options = _options(world, data, cap=world.performances[1])
    found = jaxcert.certify_cvar(data.returns[0], SHARE, **options).mean
    return np.asarray(found, np.float64)[:, 0] > world.worst(float(np.float32(SHARE)))


def episode(world: World, data: Data, **options: Any) -> np.ndarray:
    options = {name: value for name, value in _options(world, data, **options).items() if name != "support"}
    found = jaxcert.certify_episode(data.returns[0], float(world.scaled(EPISODE)), **options).safety
    return np.asarray(found, np.float64)[:, 0] > world.share_from(EPISODE)


def _first_of_each(data: Data) -> Data:
    return data._replace(returns=data.returns[..., :1], where=None)


# --- the tasks themselves as a fixed list: of each repetition, other ones ---------------------------------------------


def suite(world: World, data: Data, **options: Any) -> np.ndarray:
    found = jaxcert.certify_suite(data.returns[0], world.threshold, **_options(world, data, **options))
    return np.asarray(found.num_good)[:, 0] > np.sum(~np.asarray(data.is_bad), axis=1)


def each_task(world: World, data: Data, **options: Any) -> np.ndarray:
    found = jaxcert.certify_each_task(data.returns[0], world.threshold, **_options(world, data, **options))
    good, bad = (np.asarray(each)[..., 0] for each in (found.good, found.bad))
    return np.any(np.where(data.is_bad, good, bad), axis=1)


def suite_mean(world: World, data: Data, **options: Any) -> np.ndarray:
    bad, good = world.performances
    found = jaxcert.certify_suite_mean(data.returns[0], **_options(world, data, **options)).mean
    return np.asarray(found, np.float64) > np.where(data.is_bad, bad, good).mean(axis=1)


# --- several policies: one, and its mirror image, whose returns are those of the other reflected ----------------------


def _mirrored(world: World, data: Data) -> jax.Array:
    return sum(world.support) - data.returns[1]


def _pair(world: World, data: Data, **more: Any) -> dict[str, Any]:
    options = _options(world, data, **more)
    where = options.pop("where")
    return options | {"where_a": where, "where_b": where}


def improvement(world: World, data: Data, **options: Any) -> np.ndarray:
    """J - (a + b - J) >= 2 B - a - b exactly where J >= B."""
    margin = 2 * world.threshold - sum(world.support)
    options = _pair(world, data, **options)
    found = jaxcert.certify_improvement(data.returns[0], _mirrored(world, data), margin, **options)
    return _below(found.epsilon, world)


def mean_difference(world: World, data: Data) -> np.ndarray:
    """To the mirror image."""
    found = jaxcert.certify_mean_difference(data.returns[0], _mirrored(world, data), **_pair(world, data))
    return np.asarray(found.mean, np.float64) > 2 * world.mean - sum(world.support)


def ranking(world: World, data: Data) -> np.ndarray:
    """Of both and the mirror image: two are equally good."""
    x = jnp.stack([*data.returns, _mirrored(world, data)], axis=1)
    options = _options(world, data, where=data.mask(*x.shape[:2]))
    found = jaxcert.certify_ranking(x, **options)
    means = np.array([world.mean, world.mean, sum(world.support) - world.mean])
    differences = means[:, None] - means
    beyond = np.asarray(found.differences, np.float64) > differences
    return np.any(beyond | (np.asarray(found.order) & (differences < 0)), axis=(1, 2))


# --------------------------------------------------------------------------------------------------------------------

_with = functools.partial
KINDS = (
    *(
        Kind(f"certify, {name}", _with(certify, method=name), binary=bool(each.bound and each.bound.binary))
        for name, each in METHODS.items()
    ),
    Kind("certify, scenario, beta = 0.05", _with(certify, method="scenario", beta=BETA)),
    Kind("certify, beta auto", _with(certify, beta="auto")),
    Kind("certify_band", _with(certify, call=jaxcert.certify_band)),
    Kind(
        "certify_band, attained_levels",
        _with(certify, call=jaxcert.certify_band, bound="clopper_pearson", beta="auto"),
        binary=True,
    ),
    Kind("certify_sequential", _with(certify, call=jaxcert.certify_sequential)),
    Kind("certify_safety_level", safety_level),
    Kind("certify_safety_level, attained", _with(safety_level, method="attained"), binary=True),
    Kind("certify_interval", interval),
    Kind("certify_requirements, binomial", requirements),
    Kind("certify_requirements, soft", _with(requirements, method="soft")),
    Kind("certify_requirements, successes", _with(requirements, binary=True), binary=True),
    Kind("certify_requirements, anytime", _with(requirements, method="anytime")),
    Kind("certify_requirements, weighted", _with(requirements, more=MORE)),
    Kind("certify_tail", tail),
    Kind("certify_mean", mean),
    Kind("certify_mean, hoeffding", _with(mean, bound="hoeffding")),
    Kind("certify_cvar", cvar),
    Kind("certify_episode, all", episode),
    Kind("certify_episode, first", lambda world, data: episode(world, _first_of_each(data))),
    Kind("certify_suite", suite),
    Kind("certify_suite, successes", _with(suite, bound="clopper_pearson"), binary=True),
    Kind("certify_each_task", each_task),
    Kind("certify_each_task, complete", _with(each_task, complete=True)),
    Kind("certify_suite_requirements", _with(requirements, listed=True)),
    Kind("certify_suite_requirements, successes", _with(requirements, listed=True, binary=True), binary=True),
    Kind("certify_suite_mean", suite_mean),
    Kind("certify_suite_mean, successes", _with(suite_mean, bound="clopper_pearson"), binary=True),
    Kind("certify_improvement, binomial", improvement),
    Kind("certify_improvement, soft", _with(improvement, method="soft")),
    Kind("certify_mean_difference", mean_difference),
    Kind("certify_ranking", ranking),
    Kind("certify_anytime", _with(certify, call=jaxcert.certify_anytime)),
    Kind("certify_shift, ratio", _with(shift, divergence="ratio", radius=MORE, risk=lambda risk: MORE * risk)),
    Kind(
        "certify_shift, total variation",
        _with(shift, divergence="total_variation", radius=0.125, risk=lambda risk: risk + 0.125),
    ),
    Kind("certify_weighted, binomial", weighted),
    Kind("certify_weighted, soft", _with(weighted, method="soft")),
    Kind("certify_stratified, as many as the frequency says", _with(stratified, frequency=0.5)),
    Kind("certify_stratified, another frequency", _with(stratified, frequency=0.75)),
    Kind("averages taken for performances", plug_in, sound=False),
)


def cells(kinds: tuple[Kind, ...] = KINDS) -> Iterator[Cell]:
    """Each kind in each world whose returns it is for."""
    for kind in kinds:
        for name, world in WORLDS.items():
            if world.binary or not kind.binary:
                yield Cell(kind.name, name, DELTA, _trial(kind, world), sound=kind.sound)


def _trial(kind: Kind, world: World) -> Callable[[jax.Array, int], np.ndarray]:
    return lambda key, size: kind.wrong(world, draw(world, key, size))
