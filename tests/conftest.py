"""Strict JAX for every test, its programs kept between runs, and the two precisions as a fixture."""

import contextlib
import os
import sys
from pathlib import Path

import hypothesis
import jax
import numpy as np
import pytest
from compilations import compile_quickly, keep_programs, so_far, trim_programs
from long_tests import entries, long_ones
from processor_time import FOLDER, Recorder

keep_programs()
compile_quickly()
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

# No deadline, since the first example of a shape is compiled. The same examples everywhere.
hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True)
hypothesis.settings.load_profile("repeatable")


# What is tested as users compile it: where last bits matter, what is compiled, and what computes for long.
EXACT = ("numerics/", "cli/test_kept_programs", "tasks/test_zones")
EXACT += tuple(
    f"certificates/test_{name}"
    for name in ("anytime", "batch_independence", "corners", "coverage", "epsilon_reference", "shifted_epsilon")
    + ("attained.py::test_a_l", "attained.py::test_the_closed_form", "attained_band.py::test_the_levels")
)
EXACT += tuple(
    f"bounds/test_{name}"
    for name in ("betting_rounding", "bounds_exact", "bounds_gradients", "bounds_reference")
    + ("clopper_pearson", "padding")
)
EXACT += ("benchmarks/test_paper", "benchmarks/test_tightness", "test_lowering")
EXACT += ("test_notebooks",)
# Pages that show a number to its last digit, or compute for long.
EXACT += tuple(f"test_docs.py::test_{what}_runs[docs/means_and_tails.md]" for what in ("the_first_example", "python"))
EXACT += tuple(f"test_docs.py::test_python_runs[docs/{name}.md]" for name in ("planning", "two_policies"))
EXACT += tuple(f"test_docs.py::test_commands_run[docs/{name}.md]" for name in ("agents", "planning"))


# A minute each: begun first, so that no worker waits for them at the end.
FIRST = "tests/test_strict_modes.py"

ROOT = Path(__file__).parents[1]
LISTED = entries()


def pytest_configure(config: pytest.Config) -> None:
    if folder := os.environ.get(FOLDER):
        config.pluginmanager.register(Recorder(folder))


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):  # once, not in every process of pytest-xdist
        trim_programs()


def is_exact(name: str) -> bool:
    """Whether a file or a test is compiled as users compile it."""
    return name.removeprefix("tests/").startswith(EXACT)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file of which `-m` chooses no test, which would take seconds in each process."""
    if collection_path.suffix != ".py" or not collection_path.is_relative_to(ROOT):
        return None
    chosen, name = config.option.markexpr, collection_path.relative_to(ROOT).as_posix()
    both = any(each.startswith(f"{name.removeprefix('tests/')}::") for each in EXACT)
    other = "exact" in chosen and is_exact(name) == ("not exact" in chosen)
    return (other and not both) or ("not slow" in chosen and "listed" not in chosen and name in LISTED) or None


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    unmarked = [item.nodeid for item in items if not item.get_closest_marker("slow")]
    found = long_ones(unmarked, LISTED)
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))
    for item in items:
        if is_exact(item.nodeid):
            item.add_marker(pytest.mark.exact)
        if item.nodeid in found:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.listed)


@pytest.fixture(scope="module", autouse=True)
def _let_go_of_programs():
    """Thousands of programs take gigabytes, and as many mappings of memory as Linux allows a process."""
    before = so_far()
    yield
    if so_far() - before > 50:
        jax.clear_caches()


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


def x64_context(enabled: bool) -> contextlib.AbstractContextManager:
    """A context in which 64-bit types are on or off; the name moved between JAX versions."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(enabled)
    from jax.experimental import disable_x64, enable_x64

    return enable_x64() if enabled else disable_x64()


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, in which the test works."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(params=["float32", pytest.param("float64", marks=pytest.mark.slow)])
def precision(request: pytest.FixtureRequest):
    """Run the test with 64-bit types off, and among the long tests with them on; gives the dtype's name."""
    with x64_context(request.param == "float64"):
        yield request.param


@pytest.fixture
def x64():
    """Run the test with 64-bit types on."""
    with x64_context(True):
        yield


@pytest.fixture
def promoting():
    """As users have JAX: other libraries promote types and ranks."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.fixture
def read_on_the_host(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of arrays whose values the host reads; JAX's guard of transfers does not see that on a CPU."""
    kind, shapes = type(jax.numpy.zeros(1)), []
    value = kind._value

    def read(array):
        shapes.append(array.shape)
        return value.fget(array)

    def seen(function):
        def convert(array, *args, **kwargs):
            if isinstance(array, kind):
                shapes.append(array.shape)
            return function(array, *args, **kwargs)

        return convert

    monkeypatch.setattr(kind, "_value", property(read))  # what float(), bool() and the like go through
    for name in ("asarray", "array"):  # what takes the memory as it lies
        monkeypatch.setattr(np, name, seen(getattr(np, name)))
    return shapes
