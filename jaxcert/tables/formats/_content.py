"""The content of a file, parsed once."""

import functools
import io
import struct
import zipfile
import zlib
from collections import Counter
from typing import Any

from jaxcert._extras import import_extra
from jaxcert._files import in_file
from jaxcert.tables._file_tables import json_value, parse_errors_told

# The limit for one entry: a list of scores is never larger, and an archive may claim any size.
_MOST_BYTES = 2**30
_ZSTANDARD = 93


class Content:
    """The bytes of a file, parsed on demand. Each part is parsed at most once, when it is needed."""

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
