"""A lock, which ends with its process, tells files of a running process from files that a dead one left behind."""

import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows, which itself refuses to delete a file that is open
    fcntl = None


_TEMPORARY = r"\.[0-9a-f]{8}\.tmp"


class Held:
    """A lock on an open file; it ends with this object's `release`, or with the process."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """End it, if it has not ended."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def hold(file: IO[bytes]) -> Held | None:
    """Lock an open file; None if another process holds it, or it was deleted meanwhile.

    Where there are no locks, nothing is held, and nothing that others left behind is deleted.
    """
    if fcntl is None:
        return Held(None)
    descriptor = os.dup(file.fileno())  # the lock outlives the open file, until the file has its final name
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:  # a file system without locks
        os.close(descriptor)
        return Held(None)
    held = Held(descriptor)
    if os.fstat(descriptor).st_nlink:
        return held
    held.release()
    return None


@contextlib.contextmanager
def held_alone(path: Path) -> Iterator[bool]:
    """Whether no other process is in this context of a file, which exists as long as one is."""
    with open(path, "ab") as file:
        held = hold(file)
    try:
        yield held is not None
    finally:
        if held is not None:
            path.unlink(missing_ok=True)  # before the release: who locks it afterwards sees that it is deleted
            held.release()


def new_temporary(target: Path) -> tuple[IO[bytes], Held]:
    """A new file beside `target`, open and locked."""
    while True:
        file = open(target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp"), "xb")  # noqa: SIM115
        held = hold(file)
        if held is not None:
            return file, held
        file.close()  # deleted between its creation and its lock


def is_temporary(path: str | bytes) -> bool:
    """Whether a file has the name of a temporary one."""
    return re.search(f"{_TEMPORARY}$", os.fsdecode(path)) is not None


def remove_temporaries(target: Path) -> None:
    """Delete the temporary files of writes to `target`, and to no other file, that a killed process left behind."""
    theirs = re.compile(rf"\.{re.escape(target.name)}{_TEMPORARY}")
    with contextlib.suppress(OSError):  # a folder that cannot be listed
        for name in os.listdir(target.parent):
            if theirs.fullmatch(name):
                _remove_unless_held(target.with_name(name))


def _remove_unless_held(path: Path) -> None:
    with contextlib.suppress(OSError):  # a file of someone else, or one that is open
        if fcntl is None:
            path.unlink()
            return
        with open(path, "rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
