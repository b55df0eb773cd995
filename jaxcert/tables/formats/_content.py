"""What a file holds, parsed once, and the fields of its JSON: of the expected type, or an error with the place."""

import functools
import io
import math
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from jaxcert._extras import import_extra
from jaxcert._files import in_file
from jaxcert.tables._file_tables import json_value, parse_errors_told

# Of one entry: more is no list of scores, and an archive may claim any size.
_MOST_BYTES = 2**30
_ZSTANDARD = 93
_MOST_NAMED = 8


class Content:
    """The bytes of a file, and what they mean. Nothing is parsed before it is asked for, nor twice."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @property
    def is_zip(self) -> bool:
        """Whether it begins as a zip archive does."""
        return self.data.startswith(b"PK\x03\x04")

    @functools.cached_property
    def json(self) -> Any:
        """The value of JSON; None for what does not begin as an object or a list."""
        begins_as_json = self.data[:64].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
        return json_value(self.data) if begins_as_json else None

    @functools.cached_property
    def entries(self) -> dict[str, zipfile.ZipInfo]:
        """The entries of a zip archive by name; none for another file."""
        if not self.is_zip:
            return {}
        damage = (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error)
        with parse_errors_told("a zip archive", *damage), zipfile.ZipFile(io.BytesIO(self.data)) as archive:
            found = archive.infolist()
        (name, times), *_ = [*Counter(each.filename for each in found).most_common(1), ("", 0)]
        if times > 1:  # readers take the first or the last
            raise ValueError(f"holds {times} entries {name[:60]!r}; expected each name once")
        return {each.filename: each for each in found}

    def json_of(self, name: str) -> Any:
        """The JSON of an entry of the archive."""
        if name not in self.entries:
            raise ValueError(f"has no entry {name!r}, unfinished or cut short")
        with in_file(f"entry {name!r}"):
            return json_value(self._unpacked(self.entries[name]))

    def _unpacked(self, entry: zipfile.ZipInfo) -> bytes:
        if entry.file_size > _MOST_BYTES:
            raise ValueError(f"unpacks to {entry.file_size} bytes; expected at most {_MOST_BYTES}")
        try:
            if entry.compress_type == _ZSTANDARD:
                return self._of_zstandard(entry)
            with zipfile.ZipFile(io.BytesIO(self.data)) as archive:
                return archive.read(entry)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError, ValueError) as error:
            raise ValueError(f"cannot be unpacked, damaged or cut short ({error})") from error

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


class Place(NamedTuple):
    """A value, and where it stands in a file, as in "trials[0] has no field 'score'"; the whole file has no name."""

    value: Any
    name: str = ""

    def field(self, name: str) -> "Place":
        """A field that has to be there."""
        fields = self._of(dict, "an object with fields")
        if name not in fields:
            found = ", ".join(repr(other[:40]) for other in list(fields)[:_MOST_NAMED]) or "none"
            raise ValueError(f"{self._named} has no field {name!r}; found {found}")
        return Place(fields[name], f"{self.name}.{name[:40]}" if self.name else name[:40])

    def maybe(self, name: str) -> "Place | None":
        """A field that may be absent or null, which both are None."""
        return None if self._of(dict, "an object with fields").get(name) is None else self.field(name)

    def fields(self) -> dict[str, "Place"]:
        """The fields of an object, by their names."""
        return {name: self.field(name) for name in self._of(dict, "an object with fields")}

    def items(self) -> list["Place"]:
        """The entries of a list."""
        return [Place(each, f"{self.name}[{i}]") for i, each in enumerate(self._of(list, "a list"))]

    def find(
        self, path: str, keys: tuple[Any, ...] = (), *, all_there: bool = False
    ) -> Iterator[tuple[tuple[Any, ...], "Place"]]:
        """Each value at a path of names with dots, where ``*`` is each entry; with what every ``*`` stands for.

        ``all_there``: ValueError where the path ends early; else there are no values there.
        """
        name, _, rest = path.partition(".")
        if not path:
            yield keys, self
        elif name == "*" and isinstance(self.value, dict | list):
            for key in self.value if isinstance(self.value, dict) else range(len(self.value)):
                each = self.field(key) if isinstance(key, str) else Place(self.value[key], f"{self.name}[{key}]")
                yield from each.find(rest, (*keys, key), all_there=all_there)
            if all_there and not self.value:
                raise ValueError(f"{self._named} is empty; expected records")
        elif isinstance(self.value, dict) and name in self.value:
            yield from self.field(name).find(rest, keys, all_there=all_there)
        elif all_there:
            raise ValueError(f"{self._named} has no {name!r:.40} on the way to its records, {path!r:.60}")

    def first(self, path: str) -> Any:
        """The first value at a path; None if there is none."""
        return next((place.value for _, place in self.find(path)), None)

    def text(self) -> str:
        """A text."""
        return self._of(str, "a text")

    def truth(self) -> bool:
        """True or false, and no number."""
        return self._of(bool, "true or false")

    def integer(self) -> int:
        """A whole number."""
        return self._of(int, "a whole number")

    def number(self) -> float:
        """A finite number, as float64."""
        try:
            found = float(self._of((int, float), "a finite number"))
        except OverflowError:
            found = math.inf
        if not math.isfinite(found):
            raise self._other("a finite number")
        return found

    def label(self) -> int | str:
        """What names a task: a whole number or a text that is not empty."""
        if self.value == "":
            raise self._other("a whole number or a text")
        return self._of((int, str), "a whole number or a text")

    @property
    def _named(self) -> str:
        return self.name or "the file"

    def _of(self, kinds: Any, expected: str) -> Any:
        """The value, if it is of these kinds; true and false are no numbers."""
        if not isinstance(self.value, kinds) or (isinstance(self.value, bool) and kinds is not bool):
            raise self._other(expected)
        return self.value

    def _other(self, expected: str) -> ValueError:
        kinds = {dict: "an object", list: "a list", type(None): "empty"}
        shown = kinds.get(type(self.value)) or ("empty" if self.value == "" else "")
        if isinstance(self.value, int) and abs(self.value) > 10**40:
            shown = "a number of more than forty digits"
        return ValueError(f"{self._named} is {shown or repr(self.value)[:40]}, expected {expected}")
