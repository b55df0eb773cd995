"""Import what an optional extra brings, at the moment of use."""

import importlib
from typing import Any


def import_extra(module: str, extra: str) -> Any:
    """Import `module`; where it is missing, say which extra of jaxcert installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{package} is needed for this: pip install 'jaxcert[{extra}]'") from error
