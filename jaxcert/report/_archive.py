"""Returns from the arrays of an `.npz` file."""

import numpy as np

from jaxcert._files import read_arrays


def read_archive(content: bytes) -> tuple[np.ndarray, np.ndarray | None]:
    """The arrays `returns` and, if there is one, `where`; other arrays are not read."""
    if "rollout_return" in read_arrays(content, [], ["rollout_return"]):
        raise ValueError(
            "holds an adaptive run, whose returns are no sample of a fixed size: its certificate is in the file "
            "itself, and any other one needs new rollouts"
        )
    arrays = read_arrays(content, ["returns"], ["where"])
    returns, where = _checked_returns(arrays["returns"]), arrays.get("where")
    if where is not None and where.dtype != np.bool_:
        raise ValueError(f"array 'where' has dtype {where.dtype}, expected bool")
    if where is not None and where.shape != returns.shape:
        raise ValueError(f"array 'where' has shape {where.shape}, expected that of 'returns', {returns.shape}")
    return returns, where


def _checked_returns(returns: np.ndarray) -> np.ndarray:
    """`returns` as float32 or float64 [n, m]; integers and booleans become float64, float16 float32."""
    if returns.dtype.kind not in "biuf":
        raise ValueError(f"array 'returns' has dtype {returns.dtype}, expected real numbers")
    if returns.ndim != 2:
        raise ValueError(f"array 'returns' has shape {returns.shape}, expected [num_tasks, num_rollouts]")
    if returns.size == 0:
        raise ValueError(f"array 'returns' has shape {returns.shape}, expected at least one task and one rollout")
    narrow = returns.dtype.kind == "f" and returns.dtype.itemsize <= 4
    return returns.astype(np.float32 if narrow else np.float64)
