"""Files of returns as bytes, and what is said of one that is refused."""

import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jaxcert.tables import read_returns

HEADER = "task_id,episode_id,total_return\n"
SIX_ROWS = HEADER + "a,1,0.25\na,2,0.5\nb,1,1.0\nb,2,0.75\nc,1,-2e-1\nc,2,.5\n"


def saved(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def archive(**arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def single(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def parquet(columns: dict) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


def refused(path: Path, *words: str, at: Path | None = None, **options) -> None:
    """A ValueError of one line that starts with the file, or with ``at``, and holds the words."""
    with pytest.raises(ValueError, match=rf"\A{re.escape(str(at or path))}: [^\n]*\Z") as caught:
        read_returns(path, **options)
    assert [word for word in words if word not in str(caught.value)] == []


def said(reader: Callable[[Path], Any], path: Path) -> str:
    """The path if it reads the file, else the message of a ValueError."""
    try:
        reader(path)
    except ValueError as error:
        return str(error)
    return str(path)


def check_said(words: str, read: Callable[..., Any]) -> Any:
    """What is said of a table: it is refused; in brackets, asked about, and refused where it is strict; or read.

    With several doubts any of them is refused.
    """
    if not words:
        return read(strict=True)
    if words[0] != "(":
        with pytest.raises(ValueError, match=re.escape(words)):
            return read()
        return None
    with warnings.catch_warnings(record=True, action="always") as told:
        found = read()
    doubts = [str(each.message) for each in told]
    assert words[1:-1] in " ".join(doubts)
    with pytest.raises(ValueError, match="|".join(re.escape(doubt[:80]) for doubt in doubts)):
        read(strict=True)
    return found


GOOD = {"task_id": [1, 1, 2], "episode_id": [0, 1, 0], "total_return": [1.0, 2.0, 3.0]}


SOME_ARE_MISSING = pytest.mark.filterwarnings("ignore:.* are missing:UserWarning")
