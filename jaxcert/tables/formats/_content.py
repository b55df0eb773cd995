"""What a file holds, parsed once: JSON, the entries of a zip archive, or text."""

import functools
import io
import struct
import zipfile
import zlib
from collections import Counter
from typing import Any

from jaxcert._archive import read_arrays
from jaxcert._extras import import_extra
from jaxcert._files import parsed

# Of one entry: more is no list of scores, and an archive may claim any size.
_MOST_BYTES = 2**30
_ZSTANDARD = 93
_CHUNK = 2**20


class Content:
    """The bytes of a file, and what they mean. Nothing is parsed before it is asked for, nor twice."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @property
    def is_json(self) -> bool:
        """Whether it begins as an object or a list does."""
        return self.data[:64].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")

    @property
    def is_zip(self) -> bool:
        """Whether it begins as a zip archive does."""
        return self.data.startswith(b"PK\x03\x04")

    @functools.cached_property
    def json(self) -> Any:
        """The value of JSON; None for what does not begin as an object or a list.

        Raises:
            ValueError: it is damaged, or has an object with a name twice.
        """
        return _value(self.data) if self.is_json else None

    @functools.cached_property
    def entries(self) -> dict[str, zipfile.ZipInfo]:
        """The entries of a zip archive by name; none for another file.

        Raises:
            ValueError: it is damaged, or two entries have one name, of which readers take the first or the last.
        """
        if not self.is_zip:
            return {}
        try:
            with zipfile.ZipFile(io.BytesIO(self.data)) as archive:
                found = archive.infolist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error) as error:
            raise ValueError(f"cannot be read as a zip archive, damaged or cut short ({error})") from error
        (name, times), *_ = [*Counter(each.filename for each in found).most_common(1), ("", 0)]
        if times > 1:
            raise ValueError(f"holds {times} entries {name[:60]!r}; expected each name once")
        return {each.filename: each for each in found}

    def json_of(self, name: str) -> Any:
        """The JSON of an entry of the archive.

        Raises:
            ValueError: there is no such entry, or it is damaged or too large.
            ImportError: it is packed with Zstandard, and pyarrow is missing (extra `io`).
        """
        if name not in self.entries:
            raise ValueError(f"has no entry {name!r}, unfinished or cut short")
        try:
            return _value(self._unpacked(self.entries[name]))
        except ValueError as error:
            raise ValueError(f"entry {name!r}: {error}") from error

    def arrays(self, *names: str) -> dict[str, Any]:
        """Those arrays of an `.npz` file of these names that are there."""
        return read_arrays(self.data, [], names)

    def _unpacked(self, entry: zipfile.ZipInfo) -> bytes:
        if entry.file_size > _MOST_BYTES:
            raise ValueError(f"unpacks to {entry.file_size} bytes; expected at most {_MOST_BYTES}")
        try:
            if entry.compress_type == _ZSTANDARD:
                return self._of_zstandard(entry)
            with zipfile.ZipFile(io.BytesIO(self.data)) as archive:
                return archive.read(entry)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
            raise ValueError(f"cannot be unpacked, damaged or cut short ({error})") from error

    def _of_zstandard(self, entry: zipfile.ZipInfo) -> bytes:
        """An entry that Python's module reads from version 3.14 on."""
        pa = import_extra("pyarrow", "io")
        start = entry.header_offset
        lengths = self.data[start + 26 : start + 30]
        if entry.flag_bits & 1 or len(lengths) < 4:
            raise zipfile.BadZipFile("encrypted, or outside of the file")
        start += 30 + sum(struct.unpack("<HH", lengths))
        packed, parts, size = self.data[start : start + entry.compress_size], [], 0
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            while size <= entry.file_size and (part := stream.read(_CHUNK)):
                parts.append(part)
                size += len(part)
        found = b"".join(parts)
        if size != entry.file_size or zlib.crc32(found) != entry.CRC:
            raise zipfile.BadZipFile("not the content whose checksum is given")
        return found


def _value(data: bytes) -> Any:
    try:
        return parsed(data)
    except ValueError as error:
        raise ValueError(f"cannot be read as JSON, damaged or cut short ({error})") from error
