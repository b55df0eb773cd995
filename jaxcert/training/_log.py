"""Writers for the scalars of checkpoints."""

import atexit
from collections.abc import Callable, Mapping
from pathlib import Path

from jaxcert._extras import import_extra

Writer = Callable[[int, Mapping[str, float]], None]


def tensorboard_writer(folder: str | Path) -> Writer:
    """Write scalars for TensorBoard; tensorboardX writes ``certify/safety_0.5`` for ``certify/safety@0.5``.

    Args:
        folder: the folder for the event files.

    Returns:
        A writer for ``CertificationHook``.

    Raises:
        ImportError: if tensorboardX is missing; it comes with the extra ``brax``.

    Example:
        >>> tensorboard_writer("runs")(100, {"certify/safety@0.5": 0.9})  # doctest: +SKIP
    """
    # Its flush() does not write queued events: its thread writes every second, and the rest when the process ends.
    writer = import_extra("tensorboardX", "brax").SummaryWriter(str(folder), flush_secs=1)
    atexit.register(writer.close)

    def write(step: int, scalars: Mapping[str, float]) -> None:
        for name, value in scalars.items():
            writer.add_scalar(name, value, step)

    return write
