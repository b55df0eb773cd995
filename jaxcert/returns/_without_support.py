"""Returns for what needs no support: checked, and on the device."""

from typing import Any

import jax
import numpy as np

from jaxcert.returns._checks import check_axes, check_values
from jaxcert.returns._prepared import Prepared, to_device
from jaxcert.returns.summaries import Summary


def prepare_without_support(returns: Any, where: Any, validate: bool, *, needed_by: str) -> Prepared:
    """Returns [..., n, m] rounded down, in a support that holds every number; ``needed_by`` is for the message."""
    if isinstance(returns, Summary):
        raise ValueError(f"returns are a summary, without single rollouts; {needed_by} needs an array")
    # An explicit transfer, which a guard allows.
    low, high = jax.device_put((np.float32(-np.inf), np.float32(np.inf)))
    prepared = to_device(returns, low, high, where, certificate=True)
    if validate:
        values = returns if isinstance(returns, jax.Array) else np.asarray(returns)
        check_values(values, -np.inf, np.inf, prepared.where, binary=False)
        check_axes(prepared.returns, prepared.where)
    return prepared
