"""The names that packages export, and their docstrings."""

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jaxcert

PACKAGES = [
    "jaxcert",
    *(f"jaxcert.{found.name}" for found in pkgutil.iter_modules(jaxcert.__path__) if found.ispkg),
]
# What users call, documented by its docstring.
DOCUMENTED = ["jaxcert"]
for _names in (
    "baselines.interval_mdp bounds diagnostics monitoring numerics planning report returns returns.summaries rollouts",
    "sequential sweep tasks tasks.bridge_world tasks.locomotion tasks.pendulum tasks.simple_grid",
    "tasks.zones training",
):
    DOCUMENTED += [f"jaxcert.{name}" for name in _names.split()]


# What a package exports to other ones, and not to users.
OF_ROOMS_ALONE = {"Option", "Question", "ceil_figures", "confidence", "floor_figures", "floor_to"}


def provided(module: ModuleType) -> set[str]:
    """Names that a package imports from itself or another, or defines, without an underscore (its version excepted)."""
    names, body = set(), ast.parse(inspect.getsource(module)).body
    for node in [*body, *_read_by_type_checkers(body)]:
        if isinstance(node, ast.ImportFrom) and (_within(node.module, module) or node.module in PACKAGES):
            every = [alias.asname or alias.name for alias in node.names]
            names |= {*every} if every != ["*"] else {*importlib.import_module(node.module).__all__} - OF_ROOMS_ALONE
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_") or name == "__version__"}


def _read_by_type_checkers(body: list[ast.stmt]) -> list[ast.stmt]:
    """What is imported where it is first asked for; a package under its own name is no name of the package."""
    blocks = [node.body for node in body if isinstance(node, ast.If)]
    return [each for block in blocks for each in block if isinstance(each, ast.ImportFrom) and not each.names[0].asname]


def _within(name: str | None, package: ModuleType) -> bool:
    return f"{name}.".startswith(f"{package.__name__}.")


def differences(expected: Callable[[ModuleType], Any], found: Callable[[ModuleType], Any]) -> dict[str, tuple]:
    """By package, what it has beside what it should have."""
    modules = [importlib.import_module(name) for name in PACKAGES]
    pairs = {module.__name__: (found(module), expected(module)) for module in modules}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def test_all_is_what_the_package_provides():
    assert differences(provided, lambda module: set(module.__all__)) == {}
    assert differences(lambda module: [], lambda m: [name for name in m.__all__ if not hasattr(m, name)]) == {}


def test_all_is_sorted_and_without_repetition():
    def in_order(module: ModuleType) -> list[str]:  # constants, classes, functions
        return sorted(set(module.__all__), key=lambda name: (not name.isupper(), name[0].islower(), name))

    assert differences(in_order, lambda module: list(module.__all__)) == {}


def test_modules_within_are_private_or_exported():
    def public(module: ModuleType) -> set[str]:
        inside = {found.name for found in pkgutil.iter_modules(module.__path__) if not found.ispkg}
        return {name for name in inside if not name.startswith("_")}

    assert differences(public, lambda module: public(module) & set(module.__all__)) == {}


def documented() -> dict[str, Any]:
    """Every public function and class by its name, once."""
    found = {}
    for name in DOCUMENTED:
        module = importlib.import_module(name)
        for exported in module.__all__:
            value = getattr(module, exported)
            if callable(value):
                found[f"{inspect.unwrap(value).__module__}.{exported}"] = value
    return dict(sorted(found.items()))


def parameters(value: Any) -> list[str]:
    """The names that a docstring has to describe: arguments of a function, fields of a class."""
    if inspect.isclass(value):
        return [name for name in getattr(value, "__annotations__", {}) if not name.startswith("_")]
    return list(inspect.signature(value).parameters)


def lacking(value: Any) -> list[str]:
    """The sections that a docstring should have, and has not."""
    lines = inspect.getdoc(value).splitlines()
    needed = {"Attributes:" if inspect.isclass(value) else "Args:"} if parameters(value) else set()
    if not inspect.isclass(value):
        gives_nothing = inspect.signature(value).return_annotation is None
        writes = inspect.unwrap(value).__module__.startswith("jaxcert.report")
        needed |= {"Example:"} | (set() if gives_nothing or writes else {"Returns:"})
        if not any(line.strip().startswith(">>> ") for line in lines):
            return ["a line of code"]
    return sorted(needed - set(lines)) if lines[0] else ["a first line"]


def test_docstrings_have_their_sections():
    assert {name: found for name, value in documented().items() if (found := lacking(value))} == {}


def undescribed(value: Any) -> list[str]:
    """The arguments or fields that a docstring does not describe."""
    lines = inspect.getdoc(value).splitlines()
    return [name for name in parameters(value) if not any(_describes(line, name) for line in lines)]


def test_every_argument_is_described():
    assert {name: found for name, value in documented().items() if (found := undescribed(value))} == {}


def _describes(line: str, name: str) -> bool:
    """Whether the line is an entry for the argument, alone or with others: ``low, high: the ends``."""
    head, colon, _ = line.strip().partition(":")
    return bool(colon) and name in [part.strip().lstrip("*") for part in head.split(",")]


def by_place(function: Callable) -> list[str]:
    """Optional parameters that are no keywords."""
    optional = [each for each in inspect.signature(function).parameters.values() if each.default is not each.empty]
    return [each.name for each in optional if each.kind is not each.KEYWORD_ONLY]


def test_optional_parameters_are_keywords():
    functions = {name: value for name, value in documented().items() if inspect.isfunction(value)}
    assert len(functions) > 100
    assert {name: found for name, function in functions.items() if (found := by_place(function))} == {}
