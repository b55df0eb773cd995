"""Files with one row per rollout (`.csv`, `.parquet`), as returns [n, m] with a mask."""

from typing import Any

import numpy as np

from jaxcert._extras import import_extra

COLUMNS = ("task_id", "episode_id", "total_return")
# Arrow also accepts nan, inf and +5; here only decimal and exponent notation is accepted.
_NUMBER = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def read_csv(content: bytes) -> tuple[np.ndarray, np.ndarray | None]:
    """The rollouts of a CSV file, as (returns, where)."""
    pa, csv = import_extra("pyarrow", "io"), import_extra("pyarrow.csv", "io")
    if b"\0" in content:
        raise ValueError("not a CSV file: it holds bytes that are not text")
    if not content.endswith((b"\n", b"\r")):
        raise ValueError("its last line has no line ending, so it may be cut short; expected one")
    reading = csv.ReadOptions(use_threads=False)  # otherwise pyarrow's messages do not give the row
    # As text, so that a value that is not a number can be named.
    converting = csv.ConvertOptions(column_types=dict.fromkeys(COLUMNS, pa.string()))
    try:
        table = csv.read_csv(pa.BufferReader(content), read_options=reading, convert_options=converting)
    except pa.ArrowException as error:
        raise ValueError(f"cannot be read as CSV, damaged or cut short ({error})") from error
    _check_names(table.column_names)
    return _arranged(*(table.column(name).combine_chunks() for name in COLUMNS))


def read_parquet(content: bytes) -> tuple[np.ndarray, np.ndarray | None]:
    """The rollouts of a Parquet file, as (returns, where)."""
    pa, parquet = import_extra("pyarrow", "io"), import_extra("pyarrow.parquet", "io")
    if not content.startswith(b"PAR1"):
        raise ValueError("not a Parquet file: it does not start with PAR1")
    if not content.endswith(b"PAR1") or len(content) < 12:
        raise ValueError("does not end with PAR1, damaged or cut short")
    try:
        file = parquet.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
        names = file.schema_arrow.names
        table = file.read(columns=[name for name in COLUMNS if name in names])
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"cannot be read as Parquet, damaged or cut short ({error})") from error
    _check_names(names)
    return _arranged(*(_decoded(table.column(name).combine_chunks()) for name in COLUMNS))


def _check_names(names: list[str]) -> None:
    """Check that every column occurs once."""
    missing = [name for name in COLUMNS if name not in names]
    twice = [name for name in COLUMNS if names.count(name) > 1]
    found = ", ".join(repr(name[:40]) for name in names[:12]) + (", ..." if len(names) > 12 else "")
    if missing:
        raise ValueError(f"has no column {', '.join(missing)}; found {found or 'none'}")
    if twice:
        raise ValueError(f"has more than one column {', '.join(twice)}; found {found}")


def _decoded(column: Any) -> Any:
    """A categorical column as its values."""
    pa = import_extra("pyarrow", "io")
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _arranged(task_ids: Any, episode_ids: Any, total_return: Any) -> tuple[np.ndarray, np.ndarray | None]:
    if len(task_ids) == 0:
        raise ValueError("has no rows, expected one per rollout")
    tasks, episodes = _codes(task_ids, "task_id"), _codes(episode_ids, "episode_id")
    totals = _numbers(total_return)
    _check_pairs(tasks, episodes, task_ids, episode_ids)
    return _padded(tasks, totals)


def _codes(column: Any, name: str) -> np.ndarray:
    """The index of each entry in order of first appearance, int64 [rows]."""
    pa, compute = import_extra("pyarrow", "io"), import_extra("pyarrow.compute", "io")
    try:
        empty = compute.is_null(column, nan_is_null=True)
        if _is_text(column):
            empty = compute.or_kleene(empty, compute.equal(column, ""))
        codes = column.dictionary_encode().indices
    except pa.ArrowException as error:
        raise ValueError(f"column {name} has type {column.type}, expected integers or text") from error
    _check_rows(empty, name, column, "an entry")
    return codes.to_numpy(zero_copy_only=False).astype(np.int64)


def _numbers(column: Any) -> np.ndarray:
    """The returns, finite float64 [rows]."""
    pa, compute = import_extra("pyarrow", "io"), import_extra("pyarrow.compute", "io")
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    _check_rows(compute.is_null(column), "total_return", column)
    values = column
    if _is_text(column):
        values = compute.utf8_trim_whitespace(column)
        _check_rows(compute.invert(compute.match_substring_regex(values, _NUMBER)), "total_return", column)
    elif not any(kind(column.type) for kind in kinds):
        raise ValueError(f"column total_return has type {column.type}, expected numbers")
    numbers = compute.cast(values, pa.float64())
    _check_rows(compute.invert(compute.is_finite(numbers)), "total_return", column)
    return numbers.to_numpy(zero_copy_only=False)


def _is_text(column: Any) -> bool:
    types = import_extra("pyarrow", "io").types
    return types.is_string(column.type) or types.is_large_string(column.type)


def _check_rows(wrong: Any, name: str, column: Any, expected: str = "a finite number") -> None:
    """Name the first row where `wrong` holds; the header is not counted, the first row is row 1."""
    row = import_extra("pyarrow.compute", "io").index(wrong, True).as_py()
    if row >= 0:
        value = column[row].as_py()
        shown = "empty" if value is None or value == "" else repr(value)[:40]
        raise ValueError(f"row {row + 1}: {name} is {shown}, expected {expected}")


def _check_pairs(tasks: np.ndarray, episodes: np.ndarray, task_ids: Any, episode_ids: Any) -> None:
    """Check that each (task, episode) occurs once."""
    pairs, first, inverse = np.unique(tasks * (episodes.max() + 1) + episodes, return_index=True, return_inverse=True)
    if len(pairs) == len(tasks):
        return
    again = int(np.flatnonzero(first[inverse] != np.arange(len(tasks)))[0])
    pair = f"task_id {task_ids[again]}, episode_id {episode_ids[again]}"
    raise ValueError(f"rows {first[inverse[again]] + 1} and {again + 1} both are {pair}; expected each pair once")


def _padded(tasks: np.ndarray, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Returns [n, m] with m the largest number of rollouts, and their mask; None if none is missing.

    Missing rollouts are NaN, so that a forgotten mask gives an error, not a wrong result.
    """
    counts = np.bincount(tasks)
    order = np.argsort(tasks, kind="stable")
    rows, starts = tasks[order], np.cumsum(counts) - counts
    columns = np.arange(len(tasks)) - starts[rows]
    returns = np.full((len(counts), int(counts.max())), np.nan)
    returns[rows, columns] = totals[order]
    return returns, None if counts.min() == counts.max() else ~np.isnan(returns)
