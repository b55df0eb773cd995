"""Programs kept in a folder: found again only for the same source, function, arguments and settings."""

import functools
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert.certificates._registry import METHODS
from jaxcert.cli import _kept_programs
from jaxcert.cli._kept_programs import kept_in
from jaxcert.numerics._programs import quickly

traced: list[int] = []


@pytest.fixture(autouse=True)
def old_source(monkeypatch):
    """As if the checkout had not just been written, as a copy of it may have been."""
    monkeypatch.setattr(_kept_programs, "BEGUN", math.inf)
    _kept_programs._source.cache_clear()


def powers(factor: Any = 2.0, *, module: str = "jaxcert.of_tests") -> Callable[..., Any]:
    """A function as of this package that says when it is traced; each call of this one stands for a process."""

    def scaled(power: int, x: jax.Array) -> jax.Array:
        traced.append(power)
        return x**power * factor

    scaled.__module__ = module
    return quickly(scaled, static_argnums=(0,))


def is_traced(function: Callable[..., Any], folder: Path, power: int = 3, x: Any = (1.0, 2.0)) -> bool:
    """Whether it is traced, in a context that keeps programs; its result must be right."""
    before = len(traced)
    with kept_in(folder):
        found = function(power, jnp.asarray(x))
    np.testing.assert_array_equal(found, np.asarray(x) ** power * 2)
    return len(traced) > before


def test_a_second_process_traces_nothing(tmp_path):
    assert is_traced(powers(), tmp_path)
    assert not is_traced(powers(), tmp_path)
    assert not is_traced(powers(), tmp_path, x=(3.0, 4.0))
    assert len([*tmp_path.iterdir()]) == 1


@pytest.mark.parametrize(
    ("power", "x"),
    [(2, (1.0, 2.0)), (3, (1.0,)), (3, np.ones(2, np.float16)), (3, 1.0)],
    ids=["static", "shape", "type", "scalar"],
)
def test_other_arguments_are_another_program(power, x, tmp_path):
    is_traced(powers(), tmp_path)
    assert is_traced(powers(), tmp_path, power, x)
    assert len([*tmp_path.iterdir()]) == 2


def _base(power: int, x: jax.Array) -> jax.Array:
    return x**power


_base.__module__ = "jaxcert.of_tests"


def wrapped(factor: float) -> Callable[..., Any]:
    """A wrapper of one function, with a factor of its own."""
    return quickly(functools.wraps(_base)(lambda power, x: _base(power, x) * factor), static_argnums=(0,))


@pytest.mark.parametrize("made", [powers, wrapped])
def test_what_a_function_captures_counts(made, tmp_path):
    for factor in (2.0, 3.0):
        with kept_in(tmp_path):
            np.testing.assert_array_equal(made(factor)(2, jnp.ones(2)), [factor, factor])
    assert len([*tmp_path.iterdir()]) == 2


def test_other_source_is_another_program(tmp_path, monkeypatch):
    is_traced(powers(), tmp_path)
    monkeypatch.setattr(_kept_programs, "_source", lambda: "another")
    assert is_traced(powers(), tmp_path)


def test_other_settings_of_jax_are_another_program(tmp_path):
    is_traced(powers(), tmp_path)
    with jax.enable_x64(not jax.config.read("jax_enable_x64")):
        assert is_traced(powers(), tmp_path)


@pytest.mark.parametrize("damage", [lambda _: b"", lambda _: b"cut", lambda x: x[:-9] + bytes([x[-9] ^ 1]) + x[-8:]])
def test_a_damaged_file_is_replaced(damage, tmp_path):
    is_traced(powers(), tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert is_traced(powers(), tmp_path)
    assert not is_traced(powers(), tmp_path)


def test_a_file_of_another_program_or_of_others_is_not_loaded(tmp_path):
    is_traced(powers(), tmp_path, 2)
    (one,) = tmp_path.iterdir()
    is_traced(powers(), tmp_path, 3)
    (other,) = {*tmp_path.iterdir()} - {one}
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    assert is_traced(powers(), tmp_path, 2)
    one.write_bytes(content + b"more")
    assert is_traced(powers(), tmp_path, 2)
    one.chmod(0o666)
    assert is_traced(powers(), tmp_path, 2)
    assert not one.stat().st_mode & 0o022


def test_what_was_loaded_before_its_source_changed_is_not_kept(tmp_path, monkeypatch):
    _kept_programs._source.cache_clear()
    monkeypatch.setattr(_kept_programs, "BEGUN", 0.0)
    is_traced(powers(), tmp_path)
    assert not [*tmp_path.iterdir()]


def capturing_itself() -> Callable[..., Any]:
    def doubled(power: int, x: jax.Array) -> jax.Array:
        return x * 2 if power == 1 else x * doubled(power - 1, x)

    doubled.__module__ = "jaxcert.of_tests"
    return quickly(doubled, static_argnums=(0,))


@pytest.mark.parametrize(
    "function",
    [powers(np.full(2, 2.0, np.float32)), powers(module="another_package"), capturing_itself()],
    ids=["array", "module", "itself"],
)
def test_what_cannot_be_described_is_not_kept(function, tmp_path):
    is_traced(function, tmp_path)
    assert not [*tmp_path.iterdir()]


def test_the_programs_that_were_not_used_for_longest_go(tmp_path, monkeypatch):
    kept = []
    for power in (1, 2):
        is_traced(powers(), tmp_path, power)
        kept += [file for file in tmp_path.iterdir() if file not in kept]
    for file in kept:
        os.utime(file, (1, 1))  # a clock may give all of them the same moment
    sizes = [file.stat().st_size for file in kept]
    monkeypatch.setattr(_kept_programs, "_MAX_BYTES", sum(sizes) + max(sizes) // 2)  # two of them, which may differ
    is_traced(powers(), tmp_path, 1)  # used again
    assert is_traced(powers(), tmp_path, 3)
    assert len([*tmp_path.iterdir()]) == 2
    assert kept[0].exists()
    assert not kept[1].exists()


def test_methods_have_descriptions_of_their_own():
    found = [repr(_kept_programs._described(method)) for method in METHODS.values()]
    assert len({*found}) == len(METHODS)
