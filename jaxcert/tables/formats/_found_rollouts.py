"""Another tool's file: its content, parsed once, and the rollouts in it, one entry each."""

import dataclasses
import functools
import io
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert._extras import import_extra
from jaxcert.tables._arranged import arrange, check_pairs
from jaxcert.tables._arrays import members_of
from jaxcert.tables._coded import Coded, as_objects, check_labels_whole, coded
from jaxcert.tables._files import damage_told, in_file
from jaxcert.tables._json_records import Place, json_value, objects_of_lines
from jaxcert.tables._label_doubts import ask_about_labels
from jaxcert.tables._names import tells
from jaxcert.tables._read import Read, nested
from jaxcert.tables._returns import Returns
from jaxcert.tables._roles import Columns, Roles
from jaxcert.tables._sum_doubts import check_rows

# The limit for one entry: a list of scores is never larger, and an archive may claim any size.
_MOST_BYTES = 2**30
_ZSTANDARD = 93


class Content:
    """The bytes of a file, parsed on demand. Each part is parsed at most once, when it is needed."""

    def __init__(self, data: bytes, *, of_lines: bool = False) -> None:
        self.data, self.of_lines = data, of_lines

    @functools.cached_property
    def json(self) -> Any:
        """The value of JSON, a list for an object in each line; None for what does not begin as an object or a list."""
        if self.of_lines:
            return objects_of_lines(self.data)
        begins_as_json = self.data[:64].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
        return json_value(self.data) if begins_as_json else None

    def holds(self, *paths: str) -> bool:
        """Whether it is JSON with something at each of these places."""
        return all(any(Place(self.json).find(path)) for path in paths)

    @functools.cached_property
    def entries(self) -> dict[str, zipfile.ZipInfo]:
        """The entries of a zip archive by name; none for another file."""
        if not self.data.startswith(b"PK\x03\x04"):
            return {}
        with damage_told("an archive"), zipfile.ZipFile(io.BytesIO(self.data)) as archive:
            return members_of(archive, "entries")

    def json_of(self, name: str) -> Any:
        """The JSON of an entry of the archive."""
        if name not in self.entries:
            raise ValueError(f"has no entry {name!r}, unfinished or cut short")
        with in_file(f"entry {name!r}"):
            return json_value(self._unpacked(self.entries[name]))

    def _unpacked(self, entry: zipfile.ZipInfo) -> bytes:
        if entry.file_size > _MOST_BYTES:
            raise ValueError(f"unpacks to {entry.file_size} bytes; expected at most {_MOST_BYTES}")
        with damage_told("an archive"):
            if entry.compress_type == _ZSTANDARD:
                return self._of_zstandard(entry)
            with zipfile.ZipFile(io.BytesIO(self.data)) as archive:
                return archive.read(entry)

    def _of_zstandard(self, entry: zipfile.ZipInfo) -> bytes:
        """An entry that Python's module reads from version 3.14 on."""
        start = entry.header_offset
        lengths = self.data[start + 26 : start + 30]
        if entry.flag_bits & 1 or len(lengths) < 4:
            raise ValueError("encrypted, or outside of the file")
        start += 30 + sum(struct.unpack("<HH", lengths))
        packed = self.data[start : start + entry.compress_size]
        found = import_extra("pyarrow", "io").decompress(packed, entry.file_size, "zstd", asbytes=True)
        if zlib.crc32(found) != entry.CRC:
            raise ValueError("not the content whose checksum is given")
        return found


# A file may ask for any number of rollouts, and those that it lacks are made here.
_MOST_ROLLOUTS = 10_000_000


class Row(NamedTuple):
    """A rollout: the label of its task, what tells it apart there, its values by name, and why it has no outcome."""

    task: Any
    trial: Any
    values: Mapping[str, Any]
    ended: str = ""


class Rollouts(NamedTuple):
    """The rollouts of a file, whose values are numbers, bools, or None where there is none."""

    columns: Columns  # as the tool calls them, and the usual value; "" where several could be meant
    rows: Sequence[Row]
    stopped: str = ""  # why the run itself is not complete
    supports: Mapping[str, tuple[float, float]] = {}  # of the values for which the tool fixes it
    remark: str = ""  # what is worth knowing, after the rest
    reasons: str = ""  # the part of it in words of the file
    num_errors: int = 0  # rollouts that an error ended, which count as the worst return
    counted: bool = False  # whether each value is of several rollouts, as 31/50
    others: Mapping[str, Coded] = {}  # what its records hold besides, and the file around them


class Format(NamedTuple):
    """A kind of file: of many tasks, or of the episodes of one, which only a folder of such files is a sample of."""

    name: str  # with its article, such as "an Inspect log"; of one task in the plural
    recognises: Callable[[Content], bool]  # by its content; another version of it is of this kind, too
    read: Callable[[Content], Any]  # its ``Rollouts``; of one task a table of pyarrow, whose first column is the value
    fixed_list: bool = True  # whether its tasks are a list that somebody made, such as a benchmark
    alone: str = ""  # why one such file is no sample of tasks
    remark: str = ""
    is_log: bool = False  # whether a trainer writes such files, too, as it goes along


def kind_of(content: Content, kinds: Iterable[Format], *, own: bool) -> Format | None:
    """The first kind that fits a file; damage to jaxcert's ``own`` files is reported elsewhere."""
    try:
        return next((each for each in kinds if each.recognises(content)), None)
    except ValueError:
        if own:
            return None
        raise


def fields_beside(
    records: Sequence[Mapping[str, Any]], own: Collection[str], of_rows: Sequence[int]
) -> dict[str, Coded]:
    """The fields of records, and those around them, that are not the tool's ``own``, nor in them, each as a column.

    ``of_rows`` is the record of each rollout, of one that is not there the first. Places in lists are no fields.
    """
    found = ((name, entry) for record in records for name, entry in record.items() if name not in own)
    names = dict.fromkeys(name for name, entry in found if not (isinstance(entry, int) and name[:1] == "$"))
    columns = {name: coded(as_objects(record.get(name) for record in records)) for name in names}
    parts = dict(part for name, column in columns.items() for part in nested(name, column))
    left_out = tuple(f"{name}." for name in own)
    held = {name: each for name, each in parts.items() if not f"{name.removeprefix('$0.')}.".startswith(left_out)}
    return {name: each.at(np.asarray(of_rows)) for name, each in held.items()}


def names_of(rows: Sequence[Row]) -> list[str]:
    """The names of the values."""
    return list(dict.fromkeys(name for row in rows for name in row.values))


def not_run(tasks: Sequence[Any], first: int, count: int, found: Collection[Any], by: str) -> list[tuple[Any, int]]:
    """Each task with each of its episodes, from ``first`` on, that is not found; ``by`` says who lists them."""
    if len(tasks) * count > _MOST_ROLLOUTS:
        shown = count if count < 10**12 else "trillions of"
        raise ValueError(f"asks for {len(tasks)} x {shown} rollouts; expected at most {_MOST_ROLLOUTS}")
    wanted, held = dict.fromkeys((task, first + i) for task in tasks for i in range(count)), {*found}
    for task, trial in (pair for pair in found if pair not in wanted):
        raise ValueError(f"holds trial {trial} of the task {task!r:.60}, which {by} not list")
    return [pair for pair in wanted if pair not in held]


def arranged(kind: Format, found: Rollouts, roles: Roles, *, is_known: bool = True) -> tuple[Returns, dict[str, Any]]:
    """The returns of the value that is wanted, and what else is known of the file.

    Fields beside them are checked as columns of a table. A format that ``is_known`` has only its policies checked.
    """
    if picked := [each for each in roles.picked if each != "recipe"]:
        raise ValueError(f"is read as {kind.name}, which has no columns for {', '.join(picked)}; expected a table")
    if not found.rows:
        raise ValueError("has no rows, expected one per rollout")
    columns, unfinished = _chosen(found, roles), roles.unfinished
    tasks, trials = (coded(as_objects(row[part] for row in found.rows)) for part in (0, 1))
    check_labels_whole(tasks, columns.task)
    given = [row.values.get(columns.value) for row in found.rows]
    values, trial = coded(as_objects(given)), trials if columns.trial else None
    others = [*found.others], found.others.__getitem__
    read = Read(columns, tasks, trial, *others, [values], picked="")
    check_pairs(read)  # so that none of them counts as unfinished first
    ended = [row.ended or "without a score" * (each is None) for row, each in zip(found.rows, given, strict=True)]
    (lost, reasons), lacking = _lost(found, ended, unfinished), np.asarray([bool(why) for why in ended])
    ask_about_labels(tasks.listed())
    named = [name for name in read.others if tells(name).apart]  # others of its own may differ as they like
    check_rows(dataclasses.replace(read, others=named) if is_known else read)
    support = found.supports.get(columns.value)
    returns = arrange(read, values, roles, counted=found.counted, lacking=lacking, support=support)
    count = returns.num_unfinished
    told = f"{len(returns.tasks)} tasks, {returns.num_rollouts.sum()} rollouts"
    counted = f"{lost or f'{count} without an outcome'}, counted as {unfinished:g}" if count else ""
    words = [f"read as {kind.name}: {told}, value {columns.value}", found.stopped, counted, found.remark]
    said = {"said": "; ".join(filter(None, words)), "reasons": (*filter(None, [reasons, found.reasons]),)}
    facts = {"usual_columns": found.columns, "fixed_list": kind.fixed_list, "num_errors": found.num_errors, **said}
    return dataclasses.replace(returns, rows=None), {**facts, "columns": columns, "known_support": support}


def _lost(found: Rollouts, ended: Sequence[str], unfinished: float | None) -> tuple[str, str]:
    """How many rollouts have no outcome, in words, with the part that says why; an error, if none is to count."""
    counts = Counter(filter(None, ended))
    reasons = ", ".join(why if len(counts) == 1 else f"{why} ({count})" for why, count in counts.items())
    lost = f"{counts.total()} of {len(ended)} rollouts unfinished ({reasons})" if counts else ""
    if unfinished is None and (lost or found.stopped):
        first = next((row for row, why in zip(found.rows, ended, strict=True) if why), found.rows[0])
        number = "" if first.trial is None else f", {first.trial}"
        place = f"{lost}, the first of them {first.task!r:.60}{number}" if lost else ""
        raise ValueError(
            f"{'; '.join(filter(None, [found.stopped, place]))}; without them the rest may look better than it is: "
            "expected every rollout finished, or `unfinished` (--unfinished), the return that each of them counts as: "
            "the worst one possible"
        )
    return lost, f" ({reasons})"


def _chosen(found: Rollouts, wanted: Roles) -> Columns:
    """The columns; the tool names the columns of tasks and trials."""
    usual, names = Columns(), names_of(found.rows)
    for part in ("task", "trial"):
        given, own = getattr(wanted, part), getattr(found.columns, part)
        if given not in (getattr(usual, part), own):
            raise ValueError(f"has each {part} under {own!r}; expected no other name, {given!r}")
    if not names:
        raise ValueError("holds no value of any rollout; expected scores")
    shown = " and ".join(map(repr, names[:8]))
    value = found.columns.value if wanted.value == usual.value and usual.value not in names else wanted.value
    if value not in names:
        none = f"has no value {value!r:.42}; found {shown}" if value else f"has the values {shown}"
        raise ValueError(f"{none}; expected one of these by name (--value)")
    return found.columns._replace(value=value)
