"""One format for arrays with a head: an `.npz` file whose array `about` is the head as JSON, with what the file is."""

import contextlib
import io
import json
import os
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from jaxcert._files import content_of, in_file, parsed, whole_file

# What a file can be, with the version of its format, as its head says it and as messages do.
ADAPTIVE, POLICY = "jaxcert-adaptive-1", "jaxcert-policy-1"
_WORDS = {
    ADAPTIVE: "an adaptive run",
    POLICY: "a policy",
}


def write_archive(
    path: str | os.PathLike[str],
    kind: str,
    head: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    *,
    replace: bool = True,
) -> None:
    """Write head and arrays, completely or not at all; ValueError for what would not come back as it is."""
    if "format" in head:
        raise ValueError("format is the name by which a file says what it is; expected another one")
    about = json.dumps({"format": kind, **{name: _plain(name, value) for name, value in head.items()}})
    for name, array in arrays.items():
        if array.dtype.kind in "OV":
            raise ValueError(f"array {name!r} has dtype {array.dtype}, expected numbers, truth values or texts")
    contents: dict[str, Any] = {**arrays, "about": np.array(about)}
    with whole_file(path, replace=replace) as file:
        np.savez(file, **contents)


def _plain(name: str, value: Any) -> Any:
    """The value as JSON gives it back, with numbers of NumPy as numbers of Python."""
    try:
        return parsed(json.dumps(value, default=_number, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{name} cannot be written as JSON ({error}); expected numbers, texts or lists") from error


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else json.JSONEncoder().default(value)


def read_archive(
    path: str | os.PathLike[str], kind: str, required: Sequence[str] = ()
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Head and arrays of a file that `write_archive` wrote, of this kind and version, with the required arrays."""
    content = content_of(path, _WORDS[kind])
    with in_file(path):
        head = _head(read_arrays(content, ["about"], [])["about"], kind)
        arrays = read_arrays(content, required)
    del arrays["about"]
    return head, arrays


def _head(about: np.ndarray, kind: str) -> dict[str, Any]:
    try:
        head = parsed(str(about))
    except ValueError as error:
        raise ValueError(f"array 'about' is no JSON ({error}); expected {_WORDS[kind]}") from error
    found = head.pop("format", None) if isinstance(head, dict) else None
    if found != kind:
        words = _WORDS.get(str(found), f"of the format {found!r:.60}")
        raise ValueError(f"is {words}, expected {_WORDS[kind]} ({kind})")
    return head


def check_arrays(arrays: Mapping[str, np.ndarray], expected: Mapping[str, tuple[Any, tuple[int, ...]]]) -> None:
    """Raise ValueError unless arrays of these names are there, with these types and shapes."""
    _check_names([*arrays], expected)
    for name, (dtype, shape) in expected.items():
        if ((array := arrays[name]).dtype, array.shape) != (dtype, shape):
            found = f"{array.dtype} of shape {array.shape}"
            raise ValueError(f"array {name!r} is {found}, expected {dtype} of shape {shape}")


class _SaidError(ValueError):
    """Says already what is wrong."""


def read_arrays(content: bytes, required: Sequence[str], others: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` file: the required ones, and whichever of ``others`` there are (all if None).

    Nothing is ever unpickled, and damage of any kind is a ValueError.
    """
    if not content.startswith(b"PK\x03\x04"):
        raise ValueError("not an .npz file: it does not start as a zip archive does")
    with damage_told(".npz"), zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = _members(archive)
        wanted = members if others is None else [name for name in members if name in (*required, *others)]
        arrays = {name: _array(archive, members[name], name) for name in wanted}
    _check_names([*members], required)
    return arrays


def array_names(content: bytes) -> list[str]:
    """The names of the arrays of an `.npz` file, none of which is read."""
    with damage_told(".npz"), zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [*_members(archive)]


def whole_array(file: io.BufferedIOBase) -> np.ndarray:
    """The array that is all of a file, in NumPy's format.

    To its end: a shape that damage made smaller leaves bytes over, and an archive compares its checksum only there.
    """
    array = np.lib.format.read_array(file, allow_pickle=False)
    if file.read(1):
        raise _SaidError("goes on after its array, damaged; expected one array")
    return array


@contextlib.contextmanager
def damage_told(kind: str) -> Iterator[None]:
    """Any error of a parser on damaged bytes as a ValueError in words."""
    try:
        yield
    except _SaidError:
        raise
    except Exception as error:
        if "Object arrays" in str(error):
            raise ValueError("holds pickled objects, which are never loaded; expected plain arrays") from error
        raise ValueError(f"cannot be read as an {kind} file, damaged or cut short ({error})") from error


def _check_names(found: Sequence[str], required: Iterable[str]) -> None:
    for name in required:
        if name not in found:
            listed = ", ".join(repr(other[:40]) for other in found[:8]) or "no array at all"
            raise ValueError(
                f"has no array {name!r}, found {listed}; expected one of that name, as np.savez({name}=...) writes"
            )


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Its arrays by name, if no two have the same one: of these, readers take the first or the last."""
    members = archive.infolist()
    names = [member.filename.removesuffix(".npy") for member in members]
    (name, times), *_ = [*Counter(names).most_common(1), ("", 0)]
    if times > 1:
        raise _SaidError(f"holds {times} arrays {name[:40]!r}; expected each name once")
    if min((member.header_offset for member in members), default=0):
        raise _SaidError("its archive follows other content, such as another archive; expected one alone")
    return dict(zip(names, members, strict=True))


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> np.ndarray:
    with cast(zipfile.ZipExtFile, archive.open(member)) as file:
        if not file.peek(6).startswith(b"\x93NUMPY"):
            raise _SaidError(f"{name!r} is no array; expected plain arrays")
        return whole_array(file)
