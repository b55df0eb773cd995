"""Frames as a video file, without a display."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import numpy as np

from jaxcert._extras import import_extra
from jaxcert._files import check_output, check_suffix, whole_file

_NEEDED = {".gif": ("PIL.Image",), ".mp4": ("imageio.v3", "imageio_ffmpeg")}


def check_video_path(path: str | Path, extra: str) -> Path:
    """The path, if a video can be written there; checked before a long computation.

    ImportError if the package that writes such a file is missing; ValueError for another file type or folder.
    """
    for module in _NEEDED[check_suffix(path, _NEEDED)]:
        import_extra(module, extra)
    return check_output(path)


def steps_per_frame(seconds_per_step: float, frames_per_second: int) -> int:
    """How many steps lie between two frames, at about so many frames per second of simulated time."""
    return max(1, round(1 / (frames_per_second * seconds_per_step)))


def write_video(path: Path, frames: Iterable[np.ndarray], rate: float, extra: str, *, replace: bool = True) -> None:
    """Write frames, uint8[height, width, 3] each, at ``rate`` per second. They stream, which limits memory."""
    write = _write_gif if path.suffix.lower() == ".gif" else _write_mp4
    with whole_file(path, replace=replace) as file:
        write(file, frames, rate, extra)


def _write_gif(file: IO[bytes], frames: Iterable[np.ndarray], rate: float, extra: str) -> None:
    """All frames in 64 colours of the first one, so that what does not move takes no space."""
    image = import_extra("PIL.Image", extra)
    pictures = map(image.fromarray, frames)
    first = next(pictures).quantize(64)
    rest = (picture.quantize(palette=first, dither=image.Dither.NONE) for picture in pictures)
    first.save(file, format="GIF", save_all=True, append_images=rest, duration=round(1000 / rate), loop=0)


def _write_mp4(file: IO[bytes], frames: Iterable[np.ndarray], rate: float, extra: str) -> None:
    iio = import_extra("imageio.v3", extra)
    settings = {"plugin": "FFMPEG", "extension": ".mp4", "is_batch": True}
    # Or imageio starts ffmpeg by a fork, of which JAX warns, since it can hang in a process of many threads.
    os.environ.setdefault("IMAGEIO_FFMPEG_NO_PREVENT_SIGINT", "1")
    content = iio.imwrite("<bytes>", frames, **settings, fps=rate, codec="libx264")
    file.write(content)
