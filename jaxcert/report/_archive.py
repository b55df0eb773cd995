"""Returns from arrays of NumPy, `.npz` and `.npy`."""

import io

import numpy as np

from jaxcert._files import read_arrays
from jaxcert.returns._rows import Returns


def read_archive(content: bytes) -> Returns:
    """The arrays `returns` and, if there is one, `where`; other arrays are not read."""
    if "rollout_return" in read_arrays(content, [], ["rollout_return"]):
        raise ValueError(
            "holds an adaptive run, whose returns are no sample of a fixed size: its certificate is in the file "
            "itself, and any other one needs new rollouts"
        )
    arrays = read_arrays(content, ["returns"], ["where"])
    returns, where = _checked_returns(arrays["returns"], "array 'returns'"), arrays.get("where")
    if where is not None and where.dtype != np.bool_:
        raise ValueError(f"array 'where' has dtype {where.dtype}, expected bool")
    if where is not None and where.shape != returns.shape:
        raise ValueError(f"array 'where' has shape {where.shape}, expected that of 'returns', {returns.shape}")
    return Returns(returns, where, np.arange(len(returns)))


def read_npy(content: bytes) -> Returns:
    """The one array of an `.npy` file. Nothing is ever unpickled."""
    if not content.startswith(b"\x93NUMPY"):
        raise ValueError("not an .npy file: it does not start as one")
    buffer = io.BytesIO(content)
    try:
        array = np.load(buffer, allow_pickle=False)
    except Exception as error:  # any error of the parser on damaged bytes
        if "Object arrays" in str(error):
            raise ValueError("holds pickled objects, which are never loaded; expected a plain array") from error
        raise ValueError(f"cannot be read as an .npy file, damaged or cut short ({error})") from error
    if buffer.read(1):
        raise ValueError("goes on after its array, damaged; expected one array")
    returns = _checked_returns(array, "its array")
    return Returns(returns, None, np.arange(len(returns)))


def _checked_returns(returns: np.ndarray, name: str) -> np.ndarray:
    """Returns as float32, float64 or bool [n, m]; integers become float64, float16 float32."""
    if returns.dtype.kind not in "biuf":
        raise ValueError(f"{name} has dtype {returns.dtype}, expected real numbers")
    if returns.ndim != 2:
        raise ValueError(f"{name} has shape {returns.shape}, expected [num_tasks, num_rollouts]")
    if returns.size == 0:
        raise ValueError(f"{name} has shape {returns.shape}, expected at least one task and one rollout")
    if returns.dtype == bool:
        return returns
    narrow = returns.dtype.kind == "f" and returns.dtype.itemsize <= 4
    return returns.astype(np.float32 if narrow else np.float64)
