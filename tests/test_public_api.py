"""What is exported, and that it is documented."""

import importlib
import inspect

import pytest

PACKAGES = (
    "jaxcert",
    "jaxcert.bounds",
    "jaxcert.certificates",
    "jaxcert.numerics",
    "jaxcert.report",
    "jaxcert.rollouts",
)


@pytest.mark.parametrize("name", PACKAGES)
def test_the_export_list_is_sorted_and_complete(name):
    package = importlib.import_module(name)
    imported = {key for key, value in vars(package).items() if not key.startswith("_") and not inspect.ismodule(value)}
    exported = {key for key in package.__all__ if not inspect.ismodule(getattr(package, key)) and key != "__version__"}
    assert exported == imported
    assert list(package.__all__) == sorted(package.__all__)


DOCUMENTED = [
    (package, name)
    for package in ("jaxcert", "jaxcert.bounds", "jaxcert.report", "jaxcert.rollouts", "jaxcert.tasks.simple_grid")
    for name, value in vars(importlib.import_module(package)).items()
    if not name.startswith("_") and callable(value) and getattr(value, "__module__", "").startswith("jaxcert")
]


@pytest.mark.parametrize(("package", "name"), DOCUMENTED)
def test_every_public_name_is_documented(package, name):
    value = getattr(importlib.import_module(package), name)
    text = inspect.getdoc(value) or ""
    assert len(text.splitlines()) > 2
    if inspect.isfunction(inspect.unwrap(value)):
        assert "Args:" in text
        assert "Example" in text
