"""A recorded certificate, computed again from the returns."""

import contextlib
import importlib
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates import (
    Certificate,
    certify,
    certify_anytime,
    certify_band,
    certify_safety_level,
    certify_shift,
)
from jaxcert.certificates._registry import METHODS
from jaxcert.certificates.band._attained_levels import ATTAINED_LEVELS
from jaxcert.certificates.band._registry import BANDS
from jaxcert.report._protocol import Protocol
from jaxcert.report._readers import ReturnsFile


def recompute(record: Mapping[str, Any], data: ReturnsFile) -> Certificate:
    """The certificate of these returns by the settings of a record, in its precision.

    Raises:
        ValueError: the settings are not those of `certify`, `certify_safety_level`, `certify_band`, `certify_anytime`
            or `certify_shift`, or not valid for these returns.
    """
    settings = record["settings"]
    with precision(settings["dtype"]):
        dtype = np.dtype(settings["dtype"])
        fixed = np.asarray(fixed_of(record), dtype)
        options: dict[str, Any] = {
            "support": support_of(record),
            "delta": dtype.type(settings["delta"]),
            "beta": settings["beta"] if isinstance(settings["beta"], str) else dtype.type(settings["beta"]),
            "bound": settings["bound"],
            "where": data.where,
        }
        found = _certified(record["fixed_beforehand"], settings, data.returns, fixed, options)
        return shifted(found, settings)


def fixed_of(record: Mapping[str, Any]) -> list[float]:
    """The thresholds or safeties that a record says were fixed beforehand: in a shift, those of the sampled tasks."""
    return [row.get("sampled", row)[record["fixed_beforehand"]] for row in record["rows"]]


def support_of(record: Mapping[str, Any]) -> tuple[float, float]:
    """The support, with the open end that JSON has no number for."""
    low, high = record["settings"]["support"]
    return (-np.inf if low is None else low, np.inf if high is None else high)


def by_protocol(locked: Protocol, data: ReturnsFile, dtype: str) -> Certificate:
    """The certificate of these returns that a protocol asks for.

    Raises:
        ValueError: its settings are not valid for these returns.
    """
    function = certify if locked.thresholds else certify_safety_level
    settings = {name: getattr(locked, name) for name in ("support", "delta", "beta", "bound", "method")}
    with precision(dtype):
        fixed = np.asarray(locked.thresholds or locked.safeties)
        return function(data.returns, fixed, where=data.where, **settings)


def _certified(
    asked: str, settings: Mapping[str, Any], returns: Any, fixed: Any, options: dict[str, Any]
) -> Certificate:
    method = settings["method"]
    if settings["bound"] not in BOUNDS:  # of given lower bounds, or of rollouts one after another
        raise ValueError(f"a certificate of bound {settings['bound']!r} cannot be computed again from returns alone")
    if (method in BANDS or method == ATTAINED_LEVELS.name) and asked == "threshold":
        return certify_band(returns, fixed, kind=method, num_smallest=settings["num_smallest"], **options)
    if method == "anytime" and "prior" in settings:
        prior = tuple(np.asarray(settings["prior"], fixed.dtype))
        return certify_anytime(returns, fixed, prior=prior, **options)
    if method not in METHODS:
        raise ValueError(f"method {method!r} cannot be computed again from a file of returns alone")
    if asked == "safety":
        return certify_safety_level(returns, fixed, method=method, simultaneous=settings["simultaneous"], **options)
    return certify(returns, fixed, method=method, **options)


def shifted(found: Certificate, settings: Mapping[str, Any]) -> Certificate:
    """The certificate after the shift that the settings of a record name, if they name one."""
    if "performance_shift" not in settings:
        return found
    shift = {"divergence": settings["divergence"], "radius": settings["radius"]}
    return certify_shift(found, performance_shift=settings["performance_shift"], **shift)


def precision(dtype: str) -> contextlib.AbstractContextManager:
    """64-bit types on or off, as a certificate was computed; the name moved between releases of JAX."""
    wanted = dtype == "float64"
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(wanted)
    older: Any = importlib.import_module("jax.experimental")
    return older.enable_x64() if wanted else older.disable_x64()
