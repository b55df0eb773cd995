"""MuJoCo's warnings, which it prints anew for every environment and episode: here once each, as Python's."""

import contextlib
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

# Where and when, in which warnings of one kind differ.
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)


@contextlib.contextmanager
def mujoco_warnings(*known: str) -> Iterator[Callable[[], None]]:
    """A context in which MuJoCo prints no warnings, and writes none to ``MUJOCO_LOG.TXT`` in the current folder.

    At its end it issues one ``RuntimeWarning`` for each kind, except kinds that contain a text of ``known``. MuJoCo may
    be imported within the context; then call the function that it yields.
    """
    caught: list[str] = []
    replaced: list[tuple[Any, Any]] = []

    def listen() -> None:
        mujoco: Any = sys.modules.get("mujoco")
        if not replaced and hasattr(mujoco, "set_mju_user_warning"):
            replaced.append((mujoco, mujoco.get_mju_user_warning()))
            mujoco.set_mju_user_warning(caught.append)

    listen()
    try:
        yield listen
    finally:
        for mujoco, before in replaced:
            mujoco.set_mju_user_warning(before)
        for message in _one_of_each(caught, known):
            warnings.warn(message, RuntimeWarning, stacklevel=4)


def _one_of_each(caught: list[str], known: tuple[str, ...]) -> list[str]:
    """The first message of each kind, and how many there are."""
    kinds: dict[str, list[str]] = {}
    for message in caught:
        if not any(text in message for text in known):
            kinds.setdefault(_NUMBER.sub("#", message), []).append(message)
    return [
        f"MuJoCo: {first}" if not more else f"MuJoCo, {len(more) + 1} times, first: {first}"
        for first, *more in kinds.values()
    ]
