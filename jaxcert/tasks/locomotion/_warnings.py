"""What MuJoCo warns of, as warnings of Python."""

import contextlib
import warnings
from collections.abc import Iterator

from jaxcert._extras import import_extra

# Of an attribute in a model file that Playground ships: nothing that a user could change.
_KNOWN = "settotalmass"


@contextlib.contextmanager
def mujoco_warnings() -> Iterator[None]:
    """Left alone, MuJoCo prints its warnings and writes them to a file ``MUJOCO_LOG.TXT`` in the current folder."""
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
