"""Returns from the arrays of an `.npz` file."""

import io

import numpy as np


def read_archive(content: bytes) -> tuple[np.ndarray, np.ndarray | None]:
    """The arrays `returns` and, if there is one, `where`."""
    if not content.startswith(b"PK\x03\x04"):
        raise ValueError("not an .npz file: it does not start as a zip archive does")
    arrays = _load(content)
    if "returns" not in arrays:
        raise ValueError(f"has no array 'returns', found {_listed(arrays)}")
    returns = _checked_returns(arrays["returns"])
    return returns, _checked_where(arrays["where"], returns.shape) if "where" in arrays else None


def _load(content: bytes) -> dict[str, object]:
    """The wanted members; other members are named but not read."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return {name: archive[name] if name in ("returns", "where") else None for name in archive.files}
    except Exception as error:  # any error of the zip and array parsers on damaged bytes
        if "Object arrays" in str(error):
            raise ValueError("holds pickled objects, which are never loaded; expected plain arrays") from error
        raise ValueError(f"cannot be read as an .npz file, damaged or cut short ({error})") from error


def _checked_returns(returns: object) -> np.ndarray:
    """`returns` as float32 or float64 [n, m]; integers and booleans become float64, float16 float32."""
    if not isinstance(returns, np.ndarray) or returns.dtype.kind not in "biuf":
        raise ValueError(f"array 'returns' has {_dtype_name(returns)}, expected real numbers")
    if returns.ndim != 2:
        raise ValueError(f"array 'returns' has shape {returns.shape}, expected [num_tasks, num_rollouts]")
    if returns.size == 0:
        raise ValueError(f"array 'returns' has shape {returns.shape}, expected at least one task and one rollout")
    narrow = returns.dtype.kind == "f" and returns.dtype.itemsize <= 4
    return returns.astype(np.float32 if narrow else np.float64)


def _checked_where(where: object, shape: tuple[int, ...]) -> np.ndarray:
    """`where`, unchanged, if its type and shape fit."""
    if not isinstance(where, np.ndarray) or where.dtype != np.bool_:
        raise ValueError(f"array 'where' has {_dtype_name(where)}, expected bool")
    if where.shape != shape:
        raise ValueError(f"array 'where' has shape {where.shape}, expected that of 'returns', {shape}")
    return where


def _dtype_name(value: object) -> str:
    return f"dtype {value.dtype}" if isinstance(value, np.ndarray) else "no array in it"


def _listed(names: dict[str, object]) -> str:
    return ", ".join(repr(name[:40]) for name in list(names)[:8]) or "no array at all"
