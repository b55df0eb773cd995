"""What a page holds so that a browser can check its certificate: document, witnesses, returns and program."""

import dataclasses
import decimal
import hashlib
import importlib.resources
import json
import warnings
from typing import Any, NamedTuple

import numpy as np

from jaxcert.certificates._question import Question
from jaxcert.report._document import certificate_document, document_text
from jaxcert.report._readers import ReturnsFile
from jaxcert.report._writers import certificate_record
from jaxcert.returns._columns import Columns

MOST_BYTES = 2_000_000
_MOST_ROWS = 20
_MOST_DIGITS = 400  # of a number that exact checks read
_PROGRAM = ("exact.js", "check_certificate.js", "check_page.js")
_COLUMNS = Columns(task="task", episode="", value="return")


class Check(NamedTuple):
    """What a button needs, as texts within a page.

    Attributes:
        certificate: the document with witnesses, a text of JSON within JSON.
        returns: the table of returns, likewise.
        program: what checks the one with the other.
        is_file: whether the table is the file of returns itself, byte for byte.
    """

    certificate: str
    returns: str
    program: str
    is_file: bool


def check_of(
    certificate: Any, question: Question, support: tuple[float, float] | None, data: ReturnsFile | None, num_rows: int
) -> Check | str:
    """What the page needs to check itself, or why it cannot, in words; of `num_rows` that were fixed beforehand."""
    if question.witness is None:
        reason = "its tasks stop by themselves, and what proves it is their log"
        return reason if question.stops else "a certificate of this kind has no witnesses"
    if data is None or not data.has_rollouts:
        return "it was written without the returns of single rollouts in a file"
    if num_rows == 0:
        return "its thresholds come from the data, and a choice among them is not certified"
    if num_rows > _MOST_ROWS:
        return f"it has more than {_MOST_ROWS} rows, as a curve has: fix a few beforehand"
    table, read = _table(data)
    if read is not data and max(map(len, table.splitlines())) > _MOST_DIGITS:
        return f"some returns have more than {_MOST_DIGITS} decimals"
    asked: dict[str, Any] = {"support": support, "data": read}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # of a row that is not proven
            record = certificate_record(certificate, witness=True, **asked)
    except (ValueError, UserWarning) as error:
        return str(error)
    text = document_text(certificate_document([record]))
    if len(text) + len(table) > MOST_BYTES:
        return f"with its returns it would be larger than {MOST_BYTES // 1_000_000} MB"
    return Check(_within(text), _within(table), "\n".join(map(_part, _PROGRAM)), read is data)


def _table(data: ReturnsFile) -> tuple[str, ReturnsFile]:
    """The returns as a text in CSV, and the file that it stands for: the file itself where it is such a text."""
    if data.columns is not None and data.path.name.lower().endswith(".csv") and not data.num_unfinished:
        content = data.path.read_bytes()
        try:
            return content.decode("utf-8"), data
        except UnicodeDecodeError:
            pass
    where = np.ones(data.returns.shape, bool) if data.where is None else np.asarray(data.where)
    places = zip(*np.nonzero(where), strict=True)
    lines = [f"{i},{_exact(data.returns[i, j].item())}" for i, j in places]
    text = "\n".join(["task,return", *lines, ""])
    digest = hashlib.sha256(text.encode()).hexdigest()
    changed: dict[str, Any] = {"columns": _COLUMNS, "sha256": digest, "num_unfinished": 0}
    return text, dataclasses.replace(data, path=data.path.with_name("returns in this page"), **changed)


def _exact(value: float) -> str:
    """All decimals of a float."""
    return format(decimal.Decimal(int(value) if float(value).is_integer() else value), "f")


def _within(text: str) -> str:
    """A text as a string of JSON, which no parser of HTML changes."""
    return json.dumps(text).replace("<", "\\u003c")


def _part(name: str) -> str:
    return importlib.resources.files("jaxcert.report.html").joinpath(name).read_text(encoding="utf-8").strip()
