"""The names that packages export, and their docstrings."""

import ast
import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import Any

import pytest

import jaxcert

PACKAGES = [
    "jaxcert",
    *(f"jaxcert.{found.name}" for found in pkgutil.iter_modules(jaxcert.__path__) if found.ispkg),
]
# What users call, documented by its docstring.
DOCUMENTED = [
    "jaxcert",
    "jaxcert.baselines.interval_mdp",
    "jaxcert.bounds",
    "jaxcert.diagnostics",
    "jaxcert.numerics",
    "jaxcert.planning",
    "jaxcert.report",
    "jaxcert.rollouts",
    "jaxcert.rollouts.summaries",
    "jaxcert.sequential",
    "jaxcert.sweep",
    "jaxcert.tasks",
    "jaxcert.tasks.bridge_world",
    "jaxcert.tasks.locomotion",
    "jaxcert.tasks.ltl",
    "jaxcert.tasks.pendulum",
    "jaxcert.tasks.simple_grid",
    "jaxcert.tasks.zones",
    "jaxcert.training",
    "jaxcert.training.zones",
]


def provided(module: ModuleType) -> set[str]:
    """Names that a package imports from itself or another, or defines, without an underscore (its version excepted)."""
    names = set()
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ImportFrom) and (_within(node.module, module) or node.module in PACKAGES):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_") or name == "__version__"}


def _within(name: str | None, package: ModuleType) -> bool:
    return f"{name}.".startswith(f"{package.__name__}.")


@pytest.mark.parametrize("name", PACKAGES)
def test_all_is_what_the_package_provides(name):
    module = importlib.import_module(name)
    assert set(module.__all__) == provided(module)
    assert all(hasattr(module, exported) for exported in module.__all__)


@pytest.mark.parametrize("name", PACKAGES)
def test_all_is_sorted_and_without_repetition(name):
    exported = importlib.import_module(name).__all__
    # Constants, classes, functions.
    assert list(exported) == sorted(set(exported), key=lambda name: (not name.isupper(), name[0].islower(), name))


@pytest.mark.parametrize("name", PACKAGES)
def test_modules_within_are_private_or_exported(name):
    package = importlib.import_module(name)
    inside = {found.name for found in pkgutil.iter_modules(package.__path__) if not found.ispkg}
    assert {module for module in inside if not module.startswith("_")} <= set(package.__all__)


def documented() -> list:
    """Every public function and class, once."""
    found = {}
    for name in DOCUMENTED:
        module = importlib.import_module(name)
        for exported in module.__all__:
            value = getattr(module, exported)
            if callable(value):
                found[f"{inspect.unwrap(value).__module__}.{exported}"] = value
    return [pytest.param(value, id=name) for name, value in sorted(found.items())]


def parameters(value: Any) -> list[str]:
    """The names that a docstring has to describe: arguments of a function, fields of a class."""
    if inspect.isclass(value):
        return [name for name in getattr(value, "__annotations__", {}) if not name.startswith("_")]
    return list(inspect.signature(value).parameters)


@pytest.mark.parametrize("value", documented())
def test_docstring_has_its_sections(value):
    lines = inspect.getdoc(value).splitlines()
    assert lines[0]
    assert not parameters(value) or ("Attributes:" if inspect.isclass(value) else "Args:") in lines
    if not inspect.isclass(value):
        assert "Example:" in lines
        assert any(line.strip().startswith(">>> ") for line in lines)
        gives_nothing = inspect.signature(value).return_annotation is None
        assert gives_nothing or "Returns:" in lines or inspect.unwrap(value).__module__.startswith("jaxcert.report")


@pytest.mark.parametrize("value", documented())
def test_every_argument_is_described(value):
    lines = inspect.getdoc(value).splitlines()
    assert [name for name in parameters(value) if not any(_describes(line, name) for line in lines)] == []


def _describes(line: str, name: str) -> bool:
    """Whether the line is an entry for the argument, alone or with others: ``low, high: the ends``."""
    head, colon, _ = line.strip().partition(":")
    return bool(colon) and name in [part.strip().lstrip("*") for part in head.split(",")]


@pytest.mark.parametrize("value", [entry for entry in documented() if inspect.isfunction(entry.values[0])])
def test_optional_parameters_are_keywords(value):
    for parameter in inspect.signature(value).parameters.values():
        optional = parameter.default is not inspect.Parameter.empty
        # Dones are an array beside the rewards.
        assert not optional or parameter.kind is inspect.Parameter.KEYWORD_ONLY or parameter.name == "done_t"
