"""MuJoCo's warnings as Python warnings."""

import contextlib
import warnings
from collections.abc import Iterator

from jaxcert._extras import import_extra

# About an attribute in a model file of Playground, which a user cannot change.
_KNOWN = "settotalmass"


@contextlib.contextmanager
def mujoco_warnings() -> Iterator[None]:
    """By default MuJoCo prints its warnings and writes them to a file ``MUJOCO_LOG.TXT`` in the current folder."""
    mujoco = import_extra("mujoco", "brax")
    before, caught = mujoco.get_mju_user_warning(), []
    mujoco.set_mju_user_warning(caught.append)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)
    for message in dict.fromkeys(caught):
        if _KNOWN not in message:
            warnings.warn(f"MuJoCo: {message}", RuntimeWarning, stacklevel=3)
