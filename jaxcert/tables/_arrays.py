"""Arrays in `.npz` files: nothing is ever unpickled, and damage of any kind is a ValueError in words."""

import contextlib
import io
import zipfile
from collections import Counter
from collections.abc import Collection, Sequence
from typing import cast

import numpy as np

from jaxcert.tables._files import SaidError, damage_told


def read_arrays(content: bytes, required: Sequence[str], others: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` file: the required ones, and whichever of ``others`` there are (all if None).

    Nothing is ever unpickled, and damage of any kind is a ValueError.
    """
    if not content.startswith(b"PK\x03\x04"):
        raise ValueError("not an .npz file: it does not start as a zip archive does")
    with damage_told("an .npz file"), zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = members_of(archive)
        wanted = members if others is None else [name for name in members if name in (*required, *others)]
        arrays = {name: _array(archive, members[name], name) for name in wanted}
    for name in (name for name in required if name not in members):
        found = ", ".join(repr(other[:40]) for other in [*members][:8]) or "no array at all"
        raise ValueError(
            f"has no array {name!r}, found {found}; expected one of that name, as np.savez({name}=...) writes"
        )
    return arrays


def other_arrays(content: bytes, read: Collection[str | None]) -> dict[str, np.ndarray | None]:
    """The arrays of an `.npz` file that are not ``read`` elsewhere; None for a damaged one, or one that is pickled."""
    with damage_told("an .npz file"), zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = members_of(archive)
        found: dict[str, np.ndarray | None] = dict.fromkeys(name for name in members if name not in read)
        for name in found:
            with contextlib.suppress(ValueError), damage_told("an .npz file"):
                found[name] = _array(archive, members[name], name)
    return found


def whole_array(file: io.BufferedIOBase) -> np.ndarray:
    """The array that is all of a file, in NumPy's format.

    To its end: a shape that damage made smaller leaves bytes over, and an archive compares its checksum only there.
    """
    array = np.lib.format.read_array(file, allow_pickle=False)
    if file.read(1):
        raise SaidError("goes on after its array, damaged; expected one array")
    return array


def members_of(archive: zipfile.ZipFile, what: str = "arrays") -> dict[str, zipfile.ZipInfo]:
    """Its arrays by name, if no two have the same one: of these, readers take the first or the last."""
    members = archive.infolist()
    names = [member.filename.removesuffix(".npy") for member in members]
    (name, times), *_ = [*Counter(names).most_common(1), ("", 0)]
    if times > 1:
        raise SaidError(f"holds {times} {what} {name[:40]!r}; expected each name once")
    if min((member.header_offset for member in members), default=0):
        raise SaidError("its archive follows other content, such as another archive; expected one alone")
    return dict(zip(names, members, strict=True))


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> np.ndarray:
    with cast(zipfile.ZipExtFile, archive.open(member)) as file:
        if not file.peek(6).startswith(b"\x93NUMPY"):
            raise SaidError(f"{name!r} is no array; expected plain arrays")
        return whole_array(file)
