"""Sweeps as tables on disk."""

from os import PathLike
from typing import Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert._files import check_suffix, whole_file
from jaxcert.sweep import SweepResult

FORMATS = (".parquet", ".csv")


def write_sweep(path: str | PathLike[str], result: SweepResult, *, replace: bool = True) -> None:
    """Write the certificates of a sweep, one row each, completely or not at all; the file's suffix says how.

    The columns are seed, num_tasks, num_rollouts, bound, method, beta (the grid's, or the default in use, NaN for
    "attained"), delta, threshold, epsilon, safety, num_violations, num_valid, status. The table is written seed by
    seed: besides the result, memory holds the rows of one seed, about 60 bytes each.

    Args:
        path: the file, `.parquet` or `.csv`.
        result: the sweep.
        replace: whether to replace a file that exists; if not, it stays, and an error says where the new one is.

    Raises:
        FileExistsError: with `replace=False`, for a file that exists.
        ValueError: another suffix, or no file can be written there.
        ImportError: without pyarrow (extra `io`).

    Example:
        >>> import pathlib, tempfile
        >>> import jaxcert
        >>> from jaxcert.sweep import Grid, sweep
        >>> result = sweep(jaxcert.sample_returns("cheetah"), Grid([400, 500]), support=(0, 1000))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "sweep.csv"
        ...     write_sweep(path, result)
        ...     print(path.read_text().splitlines()[0][:40])
        "seed","num_tasks","num_rollouts","bound
    """
    exact = check_suffix(path, FORMATS) == ".csv"
    module, writer = ("pyarrow.csv", "CSVWriter") if exact else ("pyarrow.parquet", "ParquetWriter")
    create = getattr(import_extra(module, "io"), writer)
    with whole_file(path, replace=replace) as file, create(file, _table(result, 0, exact).schema) as table:
        for seed in range(len(result.epsilon)):
            table.write_table(_table(result, seed, exact))


def _table(result: SweepResult, seed: int, exact: bool) -> Any:
    """The rows of one seed; ``exact`` has float32 as float64, as its own shortest decimal may lie above its value."""
    pyarrow = import_extra("pyarrow", "io")
    columns: dict[str, Any] = result.columns(slice(seed, seed + 1))
    if exact:
        columns = {name: v.astype(np.float64) if v.dtype == np.float32 else v for name, v in columns.items()}
    for name, names in result.categories().items():
        columns[name] = pyarrow.DictionaryArray.from_arrays(columns[name], pyarrow.array(names))
    return pyarrow.table(columns)
