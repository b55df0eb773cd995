"""The Parquet files of a folder and its partitions, and their rows, a batch at a time, each checked."""

import hashlib
import os
import urllib.parse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert.tables._coded import Coded, of_series, plain_type
from jaxcert.tables._doubts import listed, tell
from jaxcert.tables._entries import as_text, is_empty
from jaxcert.tables._file_tables import as_plain, open_parquet
from jaxcert.tables._files import in_file
from jaxcert.tables._names import tells
from jaxcert.tables._parquet_rows import ROWS, Layout, batches_of, check_rows, constant_in, in_one_type, names_to_judge
from jaxcert.tables._read import Read
from jaxcert.tables._roles import Roles, checked

_SUFFIX = ".parquet"
# Where Hive and Spark put rows without a value.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
# Bytes of a column that are read ahead.
_READING = {"buffer_size": 2**20, "pre_buffer": False}
_TASKS = {"is_integer": "integers", "is_string": "text", "is_large_string": "text"}
_VALUES = {"is_boolean": "booleans", "is_integer": "numbers", "is_floating": "numbers"}


class Files:
    """The files of a folder, which are all of one layout and one policy; each is the same while it is read.

    ``task`` is a column or a partition; partitions ``across`` do not tell tasks apart.
    """

    def __init__(self, folder: Path, task: str, value: str, across: Sequence[str]) -> None:
        self.folder, self.parts, self.digests = folder, _parts_of(folder), dict[str, str]()
        self._wanted, self._across = Roles(task, None, value), across
        self._policy: dict[str, str] = {}
        self.places: dict[Any, int] = {}  # of the labels of tasks, in the order in which they first appear
        self.share_tasks = False  # whether several files have rows of one task
        self._entries: dict[str, set[str]] = defaultdict(set)  # of columns that may tell policies apart
        self._of_tasks: dict[str, dict[Any, str | None]] = {}  # and of each task, where there are several
        first = next(iter(self.parts))
        with in_file(folder / first):
            self.names, self.layout = self._layout_of(first, open_parquet(folder / first))

    def batches(self, support: tuple[float, float]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The rows of all files: the place of each task among the labels, int64, and its return, float64.

        After the last one ``digests`` has the SHA-256 of each file. Errors name the file and the row.
        """
        seen: dict[tuple[str, str | None], str] = {}
        for name, outer in self.parts.items():
            with in_file(self.folder / name), (self.folder / name).open("rb") as file:
                before = os.fstat(file.fileno())
                digest = self.digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
                if (other := seen.setdefault((digest, outer.get(self.layout.columns.task)), name)) != name:
                    raise ValueError(f"has the same content as {other}, byte for byte; expected no copies")
                file.seek(0)
                yield from self._rows(name, open_parquet(file, **_READING), support)
                after = os.fstat(file.fileno())
                if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
                    raise ValueError("changed while it was read")  # the digest may be of other rows

    def _rows(self, part: str, parquet: Any, support: tuple[float, float]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        names, layout = self._layout_of(part, parquet)
        if other := sorted({*names} ^ {*self.names}):
            raise ValueError(f"has other columns than the first file, {listed(other)}; expected the same in each")
        self._check_alike(layout, {})
        (task, _, value), label = layout.columns, self.parts[part].get(layout.columns.task)
        beside, start, num_before = names_to_judge(parquet, layout), 0, len(self.places)
        self._check_alike(layout, constant_in(parquet, label, layout, beside))
        apart = [name for name in beside if tells(name).apart]
        for rows in batches_of(parquet, [*[task] * (label is None), value, *apart], ROWS):
            if label is not None:
                rows = rows.append_column(task, [import_extra("pyarrow", "io").repeat(label, len(rows))])
            tasks = of_series(in_one_type(rows.column(task), task, layout.tasks))
            values = in_one_type(rows.column(value), value, layout.values).to_numpy()
            check_rows(tasks.each(lambda entry: is_empty(entry) or entry == ""), "an entry", rows, task, start)
            expected = "a number in the support ({:g}, {:g})".format(*support)
            check_rows(~((values >= support[0]) & (values <= support[1])), expected, rows, value, start)
            self._check_conditions(rows, tasks, apart)
            found = [self.places.setdefault(label, len(self.places)) for label in tasks.listed()]
            self.share_tasks |= min(found, default=num_before) < num_before
            yield np.asarray(found, np.int64)[tasks.places], values
            start += len(rows)

    def _check_conditions(self, rows: Any, tasks: Coded, names: Sequence[str]) -> None:
        """Raise ValueError for a task with two policies or conditions, whichever files of the folder have them."""
        read = Read(self.layout.columns, tasks, None, names, lambda name: of_series(as_plain(rows.column(name))))
        for each in (each for each in read.beside if each.told.apart):
            if each.differs or not self._is_one_of_each_task(each.name, tasks, each.entries):
                tell("pooled", it=each, picked="")

    def _is_one_of_each_task(self, name: str, tasks: Coded, entries: Coded) -> bool:
        """Whether tasks with one entry in these rows had it in all rows before; nothing is kept of a constant."""
        texts, every = [*map(as_text, entries.listed())], self._entries[name]
        before = next(iter(every), None)
        every.update(texts)
        if len(every) == 1:
            return True
        if name not in self._of_tasks:  # all tasks before had the same entry
            self._of_tasks[name] = dict.fromkeys(self.places, before)
        known, of_task = self._of_tasks[name], np.zeros(len(tasks.entries), np.int64)
        of_task[tasks.places] = entries.places
        found = zip(tasks.listed(), map(texts.__getitem__, of_task.tolist()), strict=True)
        return all(known.setdefault(label, text) == text for label, text in found)

    def _check_alike(self, layout: Layout, policy: Mapping[str, str]) -> None:
        """Raise ValueError for a file of another layout than the first one, or of another policy."""
        policy = {name: entry for name, entry in policy.items() if tells(name).policies or tells(name).curve}
        if layout != self.layout or policy | self._policy != self._policy | policy:
            expected = f"expected, as in the first file, {_shown(self.layout, self._policy)}"
            raise ValueError(f"has {_shown(layout, policy)}; {expected}")
        self._policy |= policy

    def _layout_of(self, part: str, parquet: Any) -> tuple[list[str], Layout]:
        """The columns of a file, read only from its head, and their roles."""
        outer, schema = self.parts[part], parquet.schema_arrow
        names = [*schema.names, *(name for name in outer if name not in self._across)]
        columns = checked(names, self._wanted)
        if len(columns.of_task(names)) > 1:
            raise ValueError(
                f"task is {columns.task!r:.60}; expected one column or partition in a folder of Parquet files"
            )
        if columns.value not in names:
            raise ValueError(
                f"counts trials in {columns.value}; expected one row per trial in a folder of Parquet files"
            )
        if columns.value in outer:
            raise ValueError(f"{columns.value} is a partition, expected a column of returns")
        told = {name: tells(name) for name in self._across}
        if pooled := sorted(n for n, each in told.items() if each.apart or each.ending or each.moment):
            tell("partitions_across", names=listed(pooled))
        if unnamed := sorted(outer.keys() - {columns.task, *self._across}):
            raise ValueError(
                f"lies in partitions {', '.join(unnamed)}, which may tell tasks apart; expected the partition of tasks "
                "as task, those that tell neither tasks nor policies, conditions or moments apart in across, and of "
                "any other the folder of one entry"
            )
        if unknown := sorted(set(self._across) - outer.keys()):
            raise ValueError(f"lies in no partition {', '.join(unknown)}, which across names")
        tasks = "text" if columns.task in outer else _kind(schema.field(columns.task), _TASKS, "integers or text")
        values = _kind(schema.field(columns.value), _VALUES, "booleans or numbers, integers or floats")
        return names, Layout(columns, tasks, values, tuple(outer))


def _shown(layout: Layout, policy: Mapping[str, str]) -> str:
    within = f"in partitions {', '.join(layout.partitions)}" if layout.partitions else "in no partition"
    entries = "".join(f", {name} {entry}" for name, entry in policy.items())
    return f"{layout.values} in {layout.columns.value}, {layout.tasks} in {layout.columns.task}, {within}{entries}"


# --- which files there are -----------------------------------------------------------------------------------------


def _parts_of(folder: Path) -> dict[str, dict[str, str]]:
    """The partitions around each file of a folder, by its path there with slashes.

    Those that begin with `_` or `.`, such as `_SUCCESS`, are no data by convention; but a Parquet file among them is
    refused, as is a link to nothing, since the rows that it stands for would be missing. Links to files are followed.
    """
    if not folder.is_dir():
        if folder.exists():
            raise ValueError(f"{folder}: is a file, expected a folder of Parquet files")
        raise FileNotFoundError(f"{folder}: no such folder")
    no_schema = import_extra("pyarrow", "io").schema([])  # each file is looked at later
    paths = import_extra("pyarrow.dataset", "io").dataset(folder, schema=no_schema, format="parquet").files
    names = sorted(Path(path).relative_to(folder).as_posix() for path in paths)
    if not names:
        raise ValueError(f"{folder}: holds no Parquet file, expected at least one")
    rows = (path for path in folder.rglob("*") if path.suffix == _SUFFIX or not path.exists())
    if missing := sorted({path.relative_to(folder).as_posix() for path in rows} - set(names)):
        expected = "expected no links to nothing, and no Parquet files at paths where a name begins with _ or ."
        raise ValueError(f"{folder / missing[0]}: its rows would be left out; {expected}")
    with in_file(folder):
        return {name: _partitions(name.split("/")[:-1]) for name in names}


def _partitions(folders: Sequence[str]) -> dict[str, str]:
    """The names and values of folders `name=value`, the outermost first; special characters are percent-encoded."""
    found: dict[str, str] = {}
    for folder in folders:
        name, _, value = folder.partition("=")
        if not (name and value) or value == _NO_VALUE or name in found:  # tasks of one label would be merged
            raise ValueError(f"{folder}: expected a partition, a folder with a name such as task=push, each name once")
        found[name] = urllib.parse.unquote(value, errors="strict")
    return found


def _kind(field: Any, kinds: dict[str, str], expected: str) -> str:
    types = import_extra("pyarrow.types", "io")
    for name, words in kinds.items():
        if getattr(types, name)(plain_type(field.type)):
            return words
    raise ValueError(f"column {field.name} holds {field.type}, expected {expected}")
