"""The columns of a file with one row per rollout (`.csv`, `.parquet`)."""

from typing import Any

from jaxcert._extras import import_extra

COLUMNS = ("task_id", "episode_id", "total_return")


def csv_columns(content: bytes) -> list[Any]:
    """The three columns as text, so that a value that is not a number can be named."""
    pa, csv = import_extra("pyarrow", "io"), import_extra("pyarrow.csv", "io")
    if b"\0" in content:
        raise ValueError("not a CSV file: it holds bytes that are not text")
    if not content.endswith((b"\n", b"\r")):
        raise ValueError("its last line has no line ending, so it may be cut short; expected one")
    reading = csv.ReadOptions(use_threads=False)  # otherwise pyarrow's messages do not give the row
    converting = csv.ConvertOptions(column_types=dict.fromkeys(COLUMNS, pa.string()))
    try:
        table = csv.read_csv(pa.BufferReader(content), read_options=reading, convert_options=converting)
    except pa.ArrowException as error:
        raise ValueError(f"cannot be read as CSV, damaged or cut short ({error})") from error
    _check_names(table.column_names)
    return [table.column(name).combine_chunks() for name in COLUMNS]


def parquet_columns(content: bytes) -> list[Any]:
    """The three columns in the types of the file."""
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
    return [_decoded(table.column(name).combine_chunks()) for name in COLUMNS]


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
