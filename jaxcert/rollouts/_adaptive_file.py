"""An adaptive run in a file: its rollouts, and what was fixed before them."""

import os
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._archive import ADAPTIVE, check_arrays, read_archive, write_archive
from jaxcert._files import in_file
from jaxcert._first_entry import fields_of
from jaxcert._validation import is_concrete
from jaxcert.rollouts._adaptive_certificate import AdaptiveCertificate, Fixed, fixed_in, task_columns
from jaxcert.rollouts._declared import fields_in
from jaxcert.sequential import SequentialState, init
from jaxcert.sequential._wealth import advance, certificate_of

_TASKS = "task_"
_COUNTS = ("num_started", "num_unfinished")
_LOG = ("rollout_task", "rollout_return")
# More than are rolled out one by one; a state of so many takes half a gigabyte.
_MOST_TASKS = 2**22
_FIELDS = ("delta", "num_tasks", *_COUNTS, *_LOG)


def save_adaptive(
    path: str | os.PathLike[str],
    found: AdaptiveCertificate,
    *,
    replace: bool = True,
) -> None:
    """Write an adaptive run to an `.npz` file, completely or not at all.

    The file has the rollouts in the order in which they were taken in (`rollout_task`, `rollout_return`), the
    parameters of the tasks (`task_...`), `delta`, and `about`: what else was fixed beforehand, and the sentences of the
    certificate, as JSON. Its returns are no sample of a fixed size, and `read_returns` refuses it.

    Args:
        path: the file.
        found: the result of ``certify_adaptive``, or one's own, of rollouts that were made elsewhere; ``tasks`` may be
            None.
        replace: whether to replace a file that exists; if not, it stays, and an error says where the new one is.

    Raises:
        FileExistsError: with `replace=False`, for a file that exists.
        ValueError: if no file can be written there, or for a run that is traced or whose numbers do not fit together.

    Example:
        >>> import tempfile
        >>> import jax
        >>> from jaxcert.rollouts import certify_adaptive
        >>> from jaxcert.tasks import pendulum
        >>> found = certify_adaptive(
        ...     pendulum.ENV, lambda obs, key: -obs[2:3], jax.random.key(0), 40.0,
        ...     num_tasks=20, max_rollouts=100, delta=0.05,
        ... )
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_adaptive(f"{folder}/run.npz", found)
        ...     again = load_adaptive(f"{folder}/run.npz")
        >>> bool((again.certificate.safety == found.certificate.safety).all())
        True
    """
    if not isinstance(found, AdaptiveCertificate) or not is_concrete(found) or np.ndim(found.state.beta):
        raise ValueError(f"found is a {type(found).__name__}, or traced; expected a concrete AdaptiveCertificate")
    about = {"certificate": str(found).splitlines(), "deterministic": found.deterministic}
    about["fixed"] = fields_in(fixed_in(found.state))
    arrays = {name: np.asarray(getattr(found, name)) for name in (*_COUNTS, *_LOG)}
    taken = int(np.sum(arrays["rollout_task"] >= 0))
    arrays |= {name: arrays[name][:taken] for name in _LOG} | {"delta": np.asarray(found.certificate.delta)}
    arrays["num_tasks"] = np.asarray(found.state.valid.size, np.int32)
    arrays |= {f"{_TASKS}{name}": column for name, column in task_columns(found.tasks).items()}
    _begun(about, arrays)
    write_archive(path, ADAPTIVE, about, arrays, replace=replace)


def load_adaptive(path: str | os.PathLike[str]) -> AdaptiveCertificate:
    """Read a run that ``save_adaptive`` wrote; nothing is ever unpickled.

    Wealth, decisions and the certificate are computed again from the rollouts in the log; the sentences in the file are
    for other readers. Whoever makes up the rollouts is not found out.

    Args:
        path: the file.

    Returns:
        The same run. The log has no entries after the last rollout, and ``tasks`` are a dictionary of arrays [n], by
        the names of the parameters.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is damaged or holds something else, or numbers of 64 bits while those are off.

    Example:
        >>> load_adaptive("README.md")
        Traceback (most recent call last):
        ValueError: README.md: not an .npz file: it does not start as a zip archive does
    """
    about, arrays = read_archive(path, ADAPTIVE, _FIELDS)
    with in_file(path):
        state = _rebuilt(_begun(about, arrays), *(arrays[name] for name in _LOG))
    return AdaptiveCertificate(
        certificate=certificate_of(state, jnp.asarray(arrays["delta"]), bool(state.is_binary)),
        state=state,
        tasks={name.removeprefix(_TASKS): column for name, column in arrays.items() if name.startswith(_TASKS)},
        **{name: jnp.asarray(arrays[name]) for name in (*_COUNTS, *_LOG)},
        deterministic=about["deterministic"],
    )


def _check_head(about: Mapping[str, Any]) -> None:
    if not isinstance(about.get("fixed"), dict) or about.get("deterministic", ...) not in (True, False, None):
        raise ValueError("array 'about' is of no adaptive run, or does not say whether its policy is deterministic")


def _check(arrays: Mapping[str, np.ndarray]) -> None:
    """Raise ValueError unless these can be the arrays of one run."""
    dtype, whole, r = arrays["rollout_return"].dtype, np.dtype(np.int32), arrays["rollout_task"].shape[:1]
    expected = {
        "delta": (dtype, ()),
        **dict.fromkeys(("num_tasks", *_COUNTS), (whole, ())),
        "rollout_task": (whole, r),
        "rollout_return": (dtype, r),
    }
    check_arrays(arrays, expected)
    task, n, begun = arrays["rollout_task"], arrays["num_tasks"], arrays["num_started"]
    known = 0 < n <= _MOST_TASKS and np.all((task >= 0) & (task < n)) and dtype in (np.float32, np.float64)
    if not (known and 0 <= arrays["num_unfinished"] <= begun - task.size and 0 < arrays["delta"] < 1):
        raise ValueError("holds numbers that no adaptive run gives")
    for name, column in arrays.items():
        if name.startswith(_TASKS) and column.shape != (n,):
            raise ValueError(f"array {name!r} has shape {column.shape}, expected {(int(n),)}: one row per task")


# --- the state, from what was fixed beforehand and the log of the rollouts ----------------------------------------


def _begun(about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> SequentialState:
    """The state before the first rollout, as ``init`` builds it; ValueError for what no run has."""
    _check_head(about)
    _check(arrays)
    if (dtype := arrays["rollout_return"].dtype) == np.float64 and jnp.result_type(float) != np.float64:
        raise ValueError("holds numbers of 64 bits; expected jax_enable_x64 to be on, as when it was written")
    fixed = fields_of(about["fixed"], Fixed, Fixed._fields)
    return init(int(arrays["num_tasks"]), np.asarray(fixed.pop("thresholds"), dtype), **fixed)


def _rebuilt(state: SequentialState, task: np.ndarray, returns: np.ndarray) -> SequentialState:
    """The state after rollouts [r], in the order in which they were taken in; nothing else is believed."""
    count = np.bincount(task, minlength=state.valid.size).astype(np.int32)
    first = np.cumsum(count, dtype=np.int32) - count
    in_order = np.append(returns[np.argsort(task, kind="stable")], np.asarray(state.low))  # one more, if there are none
    return _after(state, in_order, first, count)


@jax.jit
def _after(state: SequentialState, returns: jax.Array, first: jax.Array, count: jax.Array) -> SequentialState:
    """The state after the rollouts of each task, which are listed in order from the first one."""

    def one(number: jax.Array, state: SequentialState) -> SequentialState:
        is_there = number < count
        return advance(state, returns[jnp.where(is_there, first + number, 0)], is_there)

    return jax.lax.fori_loop(0, jnp.max(count), one, state)
