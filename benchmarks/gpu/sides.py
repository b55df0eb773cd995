"""Side and accuracy of every numeric function on the device, beside exact values, and its bits beside the CPU's."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxcert
from benchmarks._common import Row
from benchmarks.gpu.reference import BOUNDS, SUPPORTS, Case, read, returns
from jaxcert import bounds, numerics
from jaxcert.numerics import _elementary, _rounding
from jaxcert.numerics._rounding import unit_roundoff
from jaxcert.numerics._summation import sum_error, tree_sum


class Function(NamedTuple):
    """A function of columns of arguments; the side it claims (1: never below, -1: never above, 0: none)."""

    call: Callable[..., Any]
    side: int
    allowed: float = 0.0  # the relative error that is stated, in units of u, where there is no side


def _tail(function: Callable, side: str) -> Callable[..., Any]:
    return lambda k, n, p: function(k, n, p, side=side)


# By the name of the exact values, then by the name of what is measured.
FUNCTIONS: dict[str, dict[str, Function]] = {
    "binomial_cdf": {
        "binomial_cdf, up": Function(_tail(numerics.binomial_cdf, "up"), 1),
        "binomial_cdf, down": Function(_tail(numerics.binomial_cdf, "down"), -1),
    },
    "binomial_sf": {
        "binomial_sf, up": Function(_tail(numerics.binomial_sf, "up"), 1),
        "binomial_sf, down": Function(_tail(numerics.binomial_sf, "down"), -1),
    },
    "clopper_pearson_upper": {"clopper_pearson_upper": Function(numerics.clopper_pearson_upper, 1)},
    "clopper_pearson_lower": {"clopper_pearson_lower": Function(numerics.clopper_pearson_lower, -1)},
    "binomial_epsilon": {"binomial_epsilon": Function(jaxcert.binomial_epsilon, 1)},
    "scenario_epsilon": {"scenario_epsilon": Function(lambda *a: jaxcert.scenario_epsilon(*a).epsilon, 1)},
    **{
        name: {name: Function(jax.jit(getattr(_elementary, name)), 0, allowed)}
        for name, allowed in (("exp", 2), ("expm1", 5), ("log", 3), ("log1p", 3))
    },
}


def sides(*, limit: int | None = None) -> Iterator[Row]:
    """The largest error of each function in each precision, and the share of results beyond their side or bound."""
    table = read()
    for precision in ("float32", "float64"):
        with jax.enable_x64(precision == "float64"):
            for exact, functions in FUNCTIONS.items():
                for name, function in functions.items():
                    yield from compare(name, function, table[exact][:limit], precision)
            for name in BOUNDS:
                yield from _bound(name, table[name][:limit], precision)
            yield from _sums(precision)
            yield from _roundings(precision)


def compare(name: str, function: Function, cases: list[Case], precision: str) -> Iterator[Row]:
    """The rows of one function, for which 64-bit types are on where they are asked for."""
    arguments = [np.asarray(column, precision) for column in zip(*(case.arguments for case in cases), strict=True)]
    here, there = _on_both(function.call, arguments)
    yield from _rows(name, precision, cases, here, function)
    yield from _bits(name, precision, here, there)


def _on_both(call: Callable, arguments: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The results on the default device and on the CPU."""
    here = np.asarray(call(*map(jnp.asarray, arguments)))
    if jax.default_backend() == "cpu":
        return here, here
    with jax.default_device(jax.devices("cpu")[0]):
        return here, np.asarray(call(*map(jnp.asarray, arguments)))


def _rows(name: str, precision: str, cases: list[Case], values: np.ndarray, function: Function) -> Iterator[Row]:
    errors = [_error(value, case.exact) for value, case in zip(values.tolist(), cases, strict=True)]
    if function.side:
        wrong = [function.side * error < 0 for error in errors]
    else:
        room = Fraction(function.allowed * unit_roundoff(np.dtype(precision)))
        wrong = [abs(error) > room for error in errors]
    yield Row("sides", name, precision, float(max(map(abs, errors))), "largest error", f"{len(cases)} results")
    yield Row("sides", name, precision, float(np.mean(wrong)), "unsafe", "" if function.side else "beyond the bound")


def _error(value: float, exact: Fraction) -> Fraction:
    """The signed relative error; infinite errors and NaN count as the worst."""
    if not np.isfinite(value):
        return Fraction(-(10**30))
    return (Fraction(value) - exact) / abs(exact) if exact else Fraction(value)


def _bits(name: str, precision: str, here: np.ndarray, there: np.ndarray) -> Iterator[Row]:
    same = (here == there) | (np.isnan(here) & np.isnan(there))
    apart = np.abs(here - there) / np.spacing(np.maximum(np.abs(there), np.finfo(there.dtype).tiny))
    note = f"up to {np.max(apart, where=~same, initial=0.0):.3g} ulp apart"
    yield Row("bits", name, precision, float(np.mean(same)), "as on the CPU", note)


def _bound(name: str, cases: list[Case], precision: str) -> Iterator[Row]:
    """Errors in units of the width, which is what a bound's own scale is."""
    errors, pairs = [], []
    for case in cases:
        m, kind, place, beta = case.arguments
        support = SUPPORTS[int(place)]
        x = returns(int(m), int(kind), support).astype(precision)
        beta = np.asarray(beta, precision)

        def call(x: Any, beta: Any, support: tuple[float, float] = support) -> Any:
            return getattr(bounds, name)(x, beta, support=support)

        here, there = _on_both(call, [x, beta])
        errors.append((Fraction(float(here)) - case.exact) / Fraction(support[1] - support[0]))
        pairs.append((here, there))
    note = f"{len(cases)} results, of the width"
    yield Row("sides", name, precision, float(max(map(abs, errors))), "largest error", note)
    yield Row("sides", name, precision, float(np.mean([error > 0 for error in errors])), "unsafe")
    yield from _bits(name, precision, *(np.array(column) for column in zip(*pairs, strict=True)))


def _sums(precision: str) -> Iterator[Row]:
    """Sums of terms of one sign, beside rational arithmetic; sums round alike on every device."""
    for m in (100, 10_000):
        x = np.random.default_rng(m).random(m).astype(precision)
        here, there = _on_both(jax.jit(tree_sum), [x])
        exact = sum(map(Fraction, x.tolist()))
        error = abs(Fraction(float(here)) - exact) / exact
        note = f"of {sum_error(m, np.dtype(precision)):.2g} stated"
        yield Row("sides", f"tree_sum of {m}", precision, float(error), "error", note)
        yield Row("sides", f"tree_sum of {m}", precision, float(error > sum_error(m, np.dtype(precision))), "unsafe")
        yield from _bits(f"tree_sum of {m}", precision, np.atleast_1d(here), np.atleast_1d(there))


def _roundings(precision: str) -> Iterator[Row]:
    """Conversions and complements, which round to the float that is next on their side, on a device as on the CPU."""
    x = np.random.default_rng(0).normal(size=2000) * 10.0 ** np.linspace(-30, 20, 2000)
    p = np.abs(np.sin(x)).astype(precision)
    calls = {
        "cast, down": (lambda v: _rounding.cast(v, np.float32, "down"), x.astype(precision)),
        "cast, up": (lambda v: _rounding.cast(v, np.float32, "up"), x.astype(precision)),
        "complement_down": (_rounding.complement_down, p),
        "complement_up": (_rounding.complement_up, p),
    }
    for name, (call, argument) in calls.items():
        here, there = _on_both(jax.jit(call), [argument])
        yield Row("sides", name, precision, float(np.mean(here != there)), "unsafe", "other than on the CPU")
