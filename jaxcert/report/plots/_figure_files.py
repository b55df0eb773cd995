"""Figures as files."""

import io
from os import PathLike
from pathlib import Path
from typing import Any

from jaxcert._extras import import_extra
from jaxcert._files import check_output, check_suffix, write_whole


def save_figure(path: str | PathLike[str], figure: Any, *, replace: bool = True) -> None:
    """Write a figure, completely or not at all; the suffix of `path` gives the format.

    Args:
        path: the file.
        figure: a matplotlib figure, or axes, for the figure that they belong to.
        replace: whether to replace a file that exists; if not, it stays, and an error says where the new one is.

    Raises:
        FileExistsError: with `replace=False`, for a file that exists.
        ValueError: matplotlib does not write such files, or no file can be written there.

    Example:
        >>> import pathlib, tempfile
        >>> from matplotlib.figure import Figure
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_figure(pathlib.Path(folder) / "empty.svg", Figure())
        ...     [file.name for file in pathlib.Path(folder).iterdir()]
        ['empty.svg']
    """
    path = check_figure_path(path)
    buffer = io.BytesIO()
    getattr(figure, "figure", figure).savefig(buffer, format=path.suffix[1:].lower())
    write_whole(path, buffer.getvalue(), replace=replace)


def check_figure_path(path: str | PathLike[str]) -> Path:
    """The path, if a figure can be written there; checked before a long computation.

    Args:
        path: the file; its suffix gives the format.

    Raises:
        ValueError: matplotlib does not write such files, or no file can be written there.

    Example:
        >>> check_figure_path("curve.png").name
        'curve.png'
    """
    bases = import_extra("matplotlib.backend_bases", "plot")
    check_suffix(path, [f".{name}" for name in bases.FigureCanvasBase.get_supported_filetypes()])
    return check_output(path)
