"""Every certificate, for the requirements on every public function on arrays."""

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np
from subject import HITS, LEVELS, NAMES, OTHERS, RETURNS, SAFETIES, WORST, Subject, of

from jaxcert import (
    at_least,
    at_most,
    certify,
    certify_anytime,
    certify_band,
    certify_cvar,
    certify_each_task,
    certify_episode,
    certify_improvement,
    certify_interval,
    certify_lower_bounds,
    certify_lower_bounds_band,
    certify_mean,
    certify_mean_difference,
    certify_ranking,
    certify_requirements,
    certify_safety_level,
    certify_sequential,
    certify_shift,
    certify_stratified,
    certify_suite,
    certify_suite_mean,
    certify_suite_requirements,
    certify_tail,
    certify_weighted,
)

ASKED = "thresholds beta delta low high"
BINARY = {"returns": HITS, "low": (0.0, 0.0), "high": (1.0, 1.0)}
SUPPORTS = {"betting": {}, "clopper_pearson": BINARY}
NARROW = {"low": (0.0, -0.1), "high": (1.0, 1.1)}
RATIOS = [np.array([0.5, 1.5] * 4), np.array([1.25, 0.75] * 4)]
RANKED = [np.stack([first, 0.5 * first, second]) for first, second in (RETURNS, RETURNS[::-1])]


def _anytime(returns, thresholds, delta, **validate):
    return certify_anytime(returns, thresholds, delta=delta, support=(-1.0, 2.0), **validate)


def _band(lower, beta, **validate):
    return certify_lower_bounds_band(lower, None, beta=beta, delta=0.2, **validate)


def _tail(lower, beta, end, shares, **validate):
    band = _band(lower, beta, **validate)
    known = dataclasses.replace(band, low=jnp.asarray(end, band.thresholds.dtype))
    return certify_tail(known, shares, **validate)


def _requirements(certify_all, reward, cost, least, most, delta, high, **validate):
    wanted = {"reward": at_least(least, support=(0.0, high)), "cost": at_most(most, support=(0.0, high))}
    return certify_all({"reward": reward, "cost": cost}, wanted, delta=delta, complete=True, **validate)


def _shift(returns, beta, delta, radius, thresholds, low, high, **validate):
    settings = {"support": (low, high), "beta": beta, "delta": delta, "bound": "hoeffding"}
    before = certify(returns, thresholds, **settings, **validate)
    return certify_shift(before, divergence="kl", radius=radius, **validate)


CERTIFICATES: dict[str, Subject] = {}
# A method sees lower bounds alone, and a bound returns, whichever function asks: one of each is enough for the others.
for _name in NAMES:
    _how = SUPPORTS.get(_name, {}) | {"bound": _name, "method": "binomial"}
    CERTIFICATES[f"certify-{_name}-binomial"] = of(certify, f"returns {ASKED}", **_how)
for _method in ("binomial", "scenario"):
    CERTIFICATES[f"certify_safety_level-betting-{_method}"] = of(
        certify_safety_level, "returns safety beta delta low high", bound="betting", method=_method
    )
    CERTIFICATES[f"certify_lower_bounds-{_method}"] = of(
        certify_lower_bounds, "lower_bounds thresholds beta delta", method=_method
    )
CERTIFICATES |= {
    "certify_mean": of(certify_mean, "returns delta low high where"),
    "certify_cvar": of(
        certify_cvar, "returns alpha cap delta low high", alpha=LEVELS, cap=(0.7, 0.8), delta=(0.5, 0.6)
    ),
    "certify_episode": of(certify_episode, "returns thresholds delta"),
    "certify_mean_difference": of(certify_mean_difference, "returns_a returns_b delta low high", returns_b=OTHERS),
    "certify_ranking": of(certify_ranking, "returns delta low high", returns=RANKED),
}
for _name, _second in (("pairs", RETURNS[::-1]), ("unequal", OTHERS)):
    _how = {"returns_b": _second, "margins": tuple(level - 0.7 for level in LEVELS), "beta": (0.3, 0.4)} | NARROW
    CERTIFICATES[f"certify_improvement-{_name}"] = of(
        certify_improvement, "returns_a returns_b margins beta delta low high", **_how
    )
CERTIFICATES |= {
    "certify-betting-soft": of(certify, f"returns {ASKED}", method="soft"),
    "certify-betting-auto": of(certify, "returns thresholds low high", beta="auto", delta=0.2),
    "certify_sequential": of(certify_sequential, f"returns {ASKED}", beta=(0.5, 0.3), give_up=0.1),
    "certify_anytime": Subject(_anytime, (RETURNS[0], LEVELS[0], 0.1), (RETURNS[1], LEVELS[1], 0.2)),
    "certify_band": of(certify_band, "returns thresholds beta low high", beta=(0.1, 0.3), delta=0.2),
    "certify_lower_bounds_band": Subject(_band, (WORST[0], 0.1), (WORST[1], 0.3)),
    "certify_tail": Subject(_tail, (WORST[0], 0.1, 0.0, SAFETIES[0]), (WORST[1], 0.3, -1.0, SAFETIES[1])),
    "certify_interval": of(certify_interval, f"returns {ASKED}", beta=(0.1, 0.2), complete=True),
    **{
        each.__name__: Subject(
            functools.partial(_requirements, each),
            (RETURNS[0], RETURNS[1], 0.2, 0.9, 0.1, 1.0),
            (RETURNS[1], RETURNS[0], 0.1, 1.5, 0.2, 2.0),
        )
        for each in (certify_requirements, certify_suite_requirements)
    },
    "certify_shift": Subject(
        _shift,
        (RETURNS[0], 0.3, 0.4, 0.01, LEVELS[0], 0.0, 1.0),
        (RETURNS[1], 0.2, 0.5, 0.1, LEVELS[1], -0.1, 1.1),
    ),
}
for _method in ("binomial", "soft"):
    _how = {"weights": RATIOS, "max_weight": (1.5, 1.25), "beta": (0.3, 0.4), "method": _method} | NARROW
    CERTIFICATES[f"certify_weighted-{_method}"] = of(
        certify_weighted, "returns thresholds weights max_weight beta delta low high", **_how
    )
for _name, _frequencies in (("even", None), ("other", {0: 0.25, 1: 0.75})):
    _how = {"beta": (0.3, 0.4), "strata": np.arange(8) % 2, "frequencies": _frequencies} | NARROW
    CERTIFICATES[f"certify_stratified-{_name}"] = of(certify_stratified, f"returns {ASKED}", **_how)
for _name, _how in SUPPORTS.items():
    _how = _how | {"bound": _name}
    CERTIFICATES[f"certify_suite-{_name}"] = of(certify_suite, "returns thresholds delta low high", **_how)
    CERTIFICATES[f"certify_suite_mean-{_name}"] = of(certify_suite_mean, "returns delta low high", **_how)
    CERTIFICATES[f"certify_each_task-{_name}"] = of(
        certify_each_task, "returns thresholds delta low high", delta=(0.9, 0.8), **_how
    )
CERTIFICATES["certify_each_task-complete"] = of(
    certify_each_task, "returns thresholds delta low high", delta=(0.9, 0.8), complete=True, bound="betting"
)
