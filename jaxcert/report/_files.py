"""Write a file whole or not at all."""

import contextlib
import os
import secrets
from pathlib import Path


def check_output(path: str | os.PathLike[str]) -> Path:
    """The path, if a file can be written there: asked before long work, so that nothing is lost at its end.

    Args:
        path: the file; an existing one would be replaced.

    Raises:
        ValueError: the folder does not exist or cannot be written to, or the path is no regular file.

    Example:
        >>> check_output("result.json").name
        'result.json'
    """
    path = Path(path)
    folder = path.parent
    if not folder.is_dir():
        raise ValueError(f"{path}: the folder {str(folder)!r} does not exist, expected an existing one")
    if path.exists() and not path.is_file():
        kind = "a directory" if path.is_dir() else "not a regular file"
        raise ValueError(f"{path}: is {kind}, expected the name of a file to write")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path}: the folder {str(folder)!r} cannot be written to")
    return path


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write `content` to a new file beside `path` and move it there in one step."""
    target = Path(os.path.realpath(check_output(path)))  # through a link, so that the link stays
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise
