"""The bets of a monitor and their weights: a mixture that is fixed before the first task."""

from collections.abc import Sequence

import jax
import numpy as np

from jaxcert._validation import refuse
from jaxcert.numerics._rounding import cast, next_down

# Found by `python -m benchmarks.monitoring`: 1/4 for a risk that triples, 1/32 for one that grows by half.
BETS, WEIGHTS = (0.25, 0.125, 0.0625, 0.03125), (3 / 9, 3 / 9, 2 / 9, 1 / 9)


def prepare_bets(bets: Sequence[float], weights: Sequence[float], dtype: np.dtype) -> tuple[jax.Array, jax.Array]:
    """Bets [g], and the logarithms of their weights [g], rounded down so that the weights do not exceed 1 together."""
    found = np.asarray(bets, np.float64), np.asarray(weights, np.float64)
    for name, array in zip(("bets", "weights"), found, strict=True):
        if array.ndim != 1 or array.size == 0 or array.shape != found[0].shape:
            raise ValueError(f"{name} has shape {array.shape}; expected one number for each of at least one bet")
        refuse(name, array, (array > 0) & (array <= 1), "a number in (0, 1]")
    if abs(found[1].sum() - 1) > 1e-9:
        raise ValueError(f"weights add up to {found[1].sum():.9g}; expected 1")
    # Doubles that add up to 1 up to 1e-9, and its own rounding and that of the logarithm, 2**-50: less than this.
    logs = np.log(found[1]) - np.log(max(found[1].sum(), 1.0)) - 1e-14
    return cast(found[0], dtype, "nearest"), next_down(cast(logs, dtype, "down"))
