"""Concrete arrays used while something else is traced: checked as usual, and without errors."""

import collections
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxcert
from jaxcert import certify
from jaxcert.returns.summaries import Histogram

X = np.random.default_rng(0).permuted(np.linspace(0.2, 0.8, 600, dtype=np.float32).reshape(20, 30), axis=1)
SUPPORT = (jnp.float32(0), jnp.float32(1))
WRAPPERS = {
    "jit": jax.jit,
    "vmap": lambda f: lambda delta: jax.vmap(f)(delta[None])[0],
    "grad": lambda f: lambda delta: f(delta) + 0 * jax.grad(f)(delta),
    "scan": lambda f: lambda delta: jax.lax.scan(lambda _, d: (None, f(d)), None, delta[None])[1][0],
    "cond": lambda f: lambda delta: jax.lax.cond(delta > 0, f, lambda _: jnp.float32(9), delta),
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_only_delta_is_traced(wrapper):
    returns, where = jnp.asarray(X), jnp.ones(X.shape, bool)
    call = lambda delta: certify(  # noqa: E731
        returns, 0.1, support=SUPPORT, delta=delta, where=where, bound="hoeffding"
    ).safety[0]
    delta = jnp.float32(0.1)
    assert float(WRAPPERS[wrapper](call)(delta)) == pytest.approx(float(call(delta)), rel=1e-6)
    assert float(call(delta)) > 0.5


PLACES = np.arange(600).reshape(X.shape)
DATA = {"good": X, "bad": np.where(PLACES == 94, np.nan, X), "turned": X.T, "all": X > 0, "weights": np.full(20, 2.0)}
DATA |= {"single": (PLACES < 150) | (PLACES > 179) | (PLACES == 150), "empty": (PLACES < 180) | (PLACES > 209)}
REFUSED = {
    "a return": ("task 3, rollout 4 is nan", lambda d, x: certify(x.bad, 0.1, support=SUPPORT, delta=d)),
    "the mask": (
        "task 3, rollout 4 is nan",
        lambda d, x: certify(x.bad, 0.1, support=SUPPORT, delta=d, where=x.all),
    ),
    "the axes": ("axes were swapped", lambda d, x: certify(x.turned, 0.1, support=SUPPORT, delta=d)),
    "a single rollout": (
        "task 5 has 1 rollout",
        lambda d, x: certify(x.good, 0.1, support=SUPPORT, delta=d, where=x.single, bound="empirical_bernstein"),
    ),
    "no rollout": (
        "task 6 has every rollout masked",
        lambda d, x: certify(x.good, 0.1, support=SUPPORT, delta=d, where=x.empty),
    ),
    "the weights": (
        r"weights\[0\] is 2; expected a density ratio from 0 to max_weight, 1.5",
        lambda d, x: jaxcert.certify_weighted(x.good, 0.2, x.weights, max_weight=1.5, support=(0, 1), delta=d),
    ),
    "the cap": ("cap is 1.5", lambda d, x: jaxcert.certify_cvar(x.good, 0.2, cap=1.5, support=(0, 1), delta=d)),
}


@pytest.mark.parametrize("place", [np.asarray, jnp.asarray])
@pytest.mark.parametrize("name", REFUSED)
def test_constants_are_refused_as_outside(name, place):
    (words, call), data = REFUSED[name], SimpleNamespace(**{each: place(x) for each, x in DATA.items()})
    for wrapper in WRAPPERS.values():
        with pytest.raises(ValueError, match=words):
            wrapper(lambda delta: jax.tree.leaves(call(delta, data))[0].sum())(jnp.float32(0.1))


def test_a_summary_may_be_a_constant():
    found = Histogram.empty(20, support=(0, 1), num_bins=10).update(X)
    call = lambda delta, low=0.0: certify(found, 0.1, support=(low, 1), delta=delta)  # noqa: E731
    assert jax.eval_shape(call, 0.1).epsilon.shape == (1,)
    with pytest.raises(ValueError, match=r"the summary has \(0, 1\)"):
        jax.eval_shape(lambda delta: call(delta, -1.0), 0.1)


def test_the_way_of_the_returns_is_short_and_no_argument_is_read_twice():
    """Functions of this package that are given the returns, of any form, in a call that compiles nothing."""
    returns = jaxcert.sample_returns("cheetah")
    root, seen, calls = str(Path(jaxcert.__file__).parent), set(), collections.Counter()

    def note(frame, event, _):
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(root) or code.co_name.startswith("<"):
            return
        calls[code.co_name] += 1
        given = [v for value in frame.f_locals.values() for v in (value if isinstance(value, tuple) else (value,))]
        if any(getattr(v, "shape", ()) == returns.shape for v in given):
            seen.add((code.co_filename, code.co_name))

    try:
        for profile in (None, note):
            sys.setprofile(profile)
            jaxcert.certify(returns, [400.0, 500.0], support=(0.0, 1000.0), delta=0.01)
    finally:
        sys.setprofile(None)
    assert len(seen) <= 25
    assert len({file for file, _ in seen}) <= 10
    # Returns, two ends of the support, delta, beta and thresholds.
    assert calls["require_real"] == 6
    assert calls["convert_host"] == 6
