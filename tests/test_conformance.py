"""Requirements on every public function on arrays: types, jit, vmap, no recompilation, no hidden transfers."""

import dataclasses
import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import compilations
from subject import NAMES, Subject
from subjects_of_certificates import CERTIFICATES
from subjects_of_functions import BASELINES, BOUNDS, EPSILONS, SHIFTS, TAILS
from subjects_of_tasks import INTERVAL_MDP, TASKS, WORLD

import jaxcert
from jaxcert import bounds, rollouts
from jaxcert.baselines import interval_mdp
from jaxcert.tasks import bridge_world, simple_grid

SUBJECTS = {**BOUNDS, **EPSILONS, **SHIFTS, **TAILS, **CERTIFICATES, **TASKS, **WORLD, **INTERVAL_MDP}
SUBJECTS |= BASELINES
# Certificates and limits take seconds to compile: most of them are left to long runs.
LONG = {*CERTIFICATES, "lower_bound"} - {
    "certify-betting-binomial",
    "certify_safety_level-betting-binomial",
    "certify_lower_bounds-binomial",
}
LONG |= set(BASELINES)
# How a function is traced is the same in both precisions, of which these see all.
IN_BOTH = {"certify-betting-binomial", "empirical_bernstein"}
# Those of which every argument can be an array; elsewhere Python numbers have to get to the device.
ARRAYS_ONLY = {name for name in {**BOUNDS, **CERTIFICATES} if name.startswith(("certify", *NAMES, "dkw"))}
ARRAYS_ONLY -= {
    "clopper_pearson",
    "certify-betting-auto",
    "certify_band",
    "certify_tail",
    *(name for name in CERTIFICATES if name.startswith("certify_lower_bounds")),
}
ARRAYS_ONLY |= set(BASELINES)


def cases() -> list:
    """Names of subjects and precisions."""
    return [
        pytest.param(name, precision, marks=pytest.mark.slow if name in slow else (), id=f"{name}-{precision}")
        for precision, slow in (("float32", LONG), ("float64", set(SUBJECTS) - IN_BOTH))
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
    rooms = (jaxcert, bounds, rollouts, simple_grid, bridge_world, interval_mdp)
    public = {name for room in rooms for name in room.__all__ if is_function(getattr(room, name))}
    # Of settings, samples, policies, environments and files.
    others = {"sample_returns", "at_least", "at_most", "paired", "stratified", "weighted"}
    others |= {"align_tasks", "from_frame", "from_lists", "from_xarray", "read_returns", "chain", "env", "left_policy"}
    others |= {"right_policy", "brax_policy", "certify_adaptive", "certify_policy", "collect"}
    others |= {"collect_gymnasium", "table_policy"}
    assert public - others <= here


def is_function(value: Any) -> bool:
    return inspect.isfunction(inspect.unwrap(value)) if callable(value) else False


@pytest.mark.parametrize(("name", "precision"), cases(), indirect=["precision"])
def test_conforms(name, precision):
    subject = SUBJECTS[name]
    arguments, others = (on_device(a, precision) for a in subject.sets())
    found, other = subject.function(*arguments), subject.function(*others)
    assert {str(leaf.dtype) for leaf in floats(found) or jax.tree.leaves(found)} == {subject.dtype or precision}
    assert any(np.any(f != o) for f, o in zip(*map(jax.tree.leaves, (found, other)), strict=True))
    if precision == "float64" and name not in IN_BOTH:
        return
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


@pytest.mark.parametrize("name", ["hoeffding", "clopper_pearson", "certify-betting-binomial"])
@pytest.mark.parametrize("dtype", ["int32", "bool", "bfloat16", "float16"])
def test_narrow_types_become_float32(name, dtype, precision):
    data, *rest = SUBJECTS[name].sets()[0]
    data = np.round(np.abs(data)).astype(np.float32)
    wanted = SUBJECTS[name].function(data, *rest)
    narrow = jnp.asarray(data).astype(dtype)
    for values in (narrow, np.asarray(narrow)):
        found = SUBJECTS[name].function(values, *rest)
        assert all(leaf.dtype == jnp.float32 for leaf in floats(found))
        if dtype == "bool" and name.startswith("certify"):  # of successes, which it says
            found = dataclasses.replace(found, quantity=wanted.quantity)
        assert_trees_close(found, wanted, "float32")
