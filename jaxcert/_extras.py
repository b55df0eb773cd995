"""Imports of optional dependencies at the moment of use."""

import importlib
from typing import Any


def import_extra(module: str, extra: str) -> Any:
    """Import `module`; if it is missing, name the extra of jaxcert that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        # No release is on an index yet.
        command = f"pip install '.[{extra}]' in the checkout of jaxcert"
        raise ImportError(f"{package} is needed for this: {command}") from error
