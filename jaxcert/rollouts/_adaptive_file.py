"""An adaptive run in a file: its certificate, its rollouts, and the state to resume it."""

import os
import warnings
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxcert._archive import ADAPTIVE, check_arrays, read_archive, write_archive
from jaxcert._files import in_file
from jaxcert._validation import is_concrete
from jaxcert.certificates import Certificate
from jaxcert.rollouts._resumption import AdaptiveCertificate, task_columns
from jaxcert.sequential import SequentialState
from jaxcert.sequential._experiment import FIXED, begun, rebuilt
from jaxcert.sequential._wealth import certificate_of

_FIXED, _TASKS = "fixed_", "task_"
_COUNTS = ("num_started", "num_unfinished")
_LOG = ("rollout_task", "rollout_return")
# Fields of the certificate, written for others to read: they follow from the rest.
_FIGURES = ("thresholds", "safety", "epsilon", "num_violations")
_FIELDS = (
    *(f"{_FIXED}{name}" for name in FIXED),
    *("delta", "passed_after", "rollout_number", *_COUNTS, *_LOG, *_FIGURES),
)
# In units of the rounding: risks were found to differ by up to 15 of them between devices.
_ROUNDING = 32


def save_adaptive(
    path: str | os.PathLike[str],
    found: AdaptiveCertificate,
    *,
    facts: Mapping[str, Any] | None = None,
    replace: bool = True,
) -> None:
    """Write an adaptive run to an `.npz` file, completely or not at all: as `progress`, after every look.

    The file has the rollouts in the order in which they were taken in (`rollout_task`, `rollout_number` within
    the task, `rollout_return`), the parameters of the tasks (`task_...`), the figures of the certificate
    (`thresholds`, `safety`, `epsilon`, `num_violations`, `delta`), what was fixed beforehand (`fixed_...`), and
    `about`, the sentences of the certificate and the facts as JSON. Its returns are no sample of a fixed size, and
    `read_returns` refuses it.

    Args:
        path: the file.
        found: the result of ``certify_adaptive``, or one's own, of rollouts that were made elsewhere; ``tasks`` may be
            None.
        facts: the origin of the rollouts, and what must not change when they go on, as values for JSON.
        replace: whether to replace a file that exists; if not, it stays, and an error says where the new one is.

    Raises:
        FileExistsError: with `replace=False`, for a file that exists.
        ValueError: if no file can be written there, or for a run that is traced or whose numbers do not fit together.

    Example:
        >>> import functools, tempfile
        >>> import jax
        >>> from jaxcert.rollouts import certify_adaptive
        >>> from jaxcert.tasks import pendulum
        >>> run = functools.partial(
        ...     certify_adaptive, pendulum.ENV, lambda obs, key: -obs[2:3], jax.random.key(0), 40.0,
        ...     num_tasks=20, max_rollouts=100, delta=0.05,
        ... )
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = f"{folder}/run.npz"
        ...     found = run(progress=lambda so_far: save_adaptive(path, so_far))
        ...     again = run(resume=load_adaptive(path))  # after an interruption
        >>> bool((again.certificate.safety == found.certificate.safety).all())
        True
    """
    if not isinstance(found, AdaptiveCertificate) or not is_concrete(found):
        raise ValueError(f"found is a {type(found).__name__}, or traced; expected a concrete AdaptiveCertificate")
    arrays = _to_arrays(found)
    certificate, task = found.certificate, arrays["rollout_task"]
    sentences = str(found).splitlines()
    about = {"certificate": sentences, "deterministic": found.deterministic, "facts": dict(facts or {})}
    figures = {name: np.asarray(getattr(certificate, name)) for name in _FIGURES}
    others = {"rollout_number": _numbers(task), **figures}
    tasks = {f"{_TASKS}{name}": column for name, column in task_columns(found.tasks).items()}
    _check_tasks(tasks, found.state)
    _check({**arrays, **others})
    write_archive(path, ADAPTIVE, about, {**arrays, **others, **tasks}, replace=replace)


def load_adaptive(path: str | os.PathLike[str]) -> AdaptiveCertificate:
    """Read a run that ``save_adaptive`` wrote, for ``certify_adaptive(..., resume=)``; nothing is ever unpickled.

    Wealth, decisions and the certificate are computed again from the rollouts in the log; the figures and sentences in
    the file are for other readers. Whoever makes up the rollouts is not found out.

    Args:
        path: the file.

    Returns:
        The same run. The log has no entries after the last rollout, and ``tasks`` are a dictionary of arrays [n], by
        the names of the parameters.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is damaged or holds something else, or numbers of 64 bits while those are off.

    Warns:
        UserWarning: the figures in the file are not what its log gives; the log counts.

    Example:
        >>> load_adaptive("README.md")
        Traceback (most recent call last):
        ValueError: README.md: not an .npz file: it does not start as a zip archive does
    """
    about, arrays = read_archive(path, ADAPTIVE, _FIELDS)
    with in_file(path):
        _check_head(about)
        _check(arrays)
        fixed = {name: arrays[f"{_FIXED}{name}"] for name in FIXED}
        state = rebuilt(fixed, len(arrays["passed_after"]), *(arrays[name] for name in _LOG))
        tasks = {name: column for name, column in arrays.items() if name.startswith(_TASKS)}
        _check_tasks(tasks, state)
        certificate = certificate_of(state, jnp.asarray(arrays["delta"]), bool(state.is_binary))
    _warn_of_figures(path, arrays, certificate)
    return AdaptiveCertificate(
        certificate=certificate,
        state=state,
        tasks={name.removeprefix(_TASKS): column for name, column in tasks.items()},
        passed_after=jnp.asarray(_passed_after(arrays, state)),
        **{name: jnp.asarray(arrays[name]) for name in (*_COUNTS, *_LOG)},
        deterministic=about["deterministic"],
    )


def adaptive_facts(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The facts with which ``save_adaptive`` wrote a file.

    Args:
        path: the file.

    Returns:
        The facts.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is damaged or holds something else.

    Example:
        >>> adaptive_facts("run.npz")["seed"]  # doctest: +SKIP
        7
    """
    about, _ = read_archive(path, ADAPTIVE)
    with in_file(path):
        _check_head(about)
    return about["facts"]


def _check_head(about: Mapping[str, Any]) -> None:
    if not isinstance(about.get("facts"), dict) or about.get("deterministic", ...) not in (True, False, None):
        raise ValueError("array 'about' has no facts of an adaptive run, or not whether its policy is deterministic")


def _to_arrays(found: AdaptiveCertificate) -> dict[str, np.ndarray]:
    """The arrays that ``load_adaptive`` needs, on the host."""
    held = {name: np.asarray(getattr(found.state, name)) for name in FIXED}
    begun(held, found.state.valid.size)
    fixed = {f"{_FIXED}{name}": array for name, array in held.items()}
    rest = {name: np.asarray(getattr(found, name)) for name in ("passed_after", *_COUNTS, *_LOG)}
    size = int(np.sum(rest["rollout_task"] >= 0))
    rest |= {name: rest[name][:size] for name in _LOG}
    return {**fixed, **rest, "delta": np.asarray(found.certificate.delta)}


def _numbers(task: np.ndarray) -> np.ndarray:
    """The number of each rollout among the rollouts of its task, from 0."""
    order = np.argsort(task, kind="stable")
    first = np.searchsorted(task[order], task)
    place = np.empty_like(order)
    place[order] = np.arange(task.size)
    return (place - first).astype(np.int32)


def _check(arrays: Mapping[str, np.ndarray]) -> None:
    """Raise ValueError unless these can be the arrays of one run."""
    dtype, whole = arrays[f"{_FIXED}thresholds"].dtype, np.dtype(np.int32)
    n, t, r = (arrays[name].shape[:1] for name in ("passed_after", "thresholds", "rollout_task"))
    expected = {
        "delta": (dtype, ()),
        **dict.fromkeys(("thresholds", "safety", "epsilon"), (dtype, t)),
        "num_violations": (whole, t),
        "passed_after": (whole, (*n, arrays[f"{_FIXED}thresholds"].size)),
        **dict.fromkeys(_COUNTS, (whole, ())),
        **dict.fromkeys(("rollout_task", "rollout_number"), (whole, r)),
        "rollout_return": (dtype, r),
    }
    check_arrays(arrays, expected)
    task, after, begun = arrays["rollout_task"], arrays["passed_after"], arrays["num_started"]
    known = n[0] > 0 and np.all((task >= 0) & (task < n[0])) and np.all((after >= 0) & (after <= task.size))
    if not (known and 0 <= arrays["num_unfinished"] <= begun - task.size and 0 < arrays["delta"] < 1):
        raise ValueError("holds numbers that no adaptive run gives")


def _warn_of_figures(path: Any, arrays: Mapping[str, np.ndarray], certificate: Certificate) -> None:
    """Warn of figures that differ from the certificate's by more than rounding."""
    room = _ROUNDING * float(np.finfo(certificate.epsilon.dtype).eps) / 2
    for name in _FIGURES:
        found, size = np.asarray(getattr(certificate, name)), room if name in ("safety", "epsilon") else 0.0
        if arrays[name].shape != found.shape or not np.allclose(arrays[name], found, rtol=0, atol=size):
            warnings.warn(
                f"{path}: array {name!r} is not what the rollouts in its log give, which count; it was altered, or "
                "another device rounded otherwise",
                stacklevel=3,
            )


def _passed_after(arrays: Mapping[str, np.ndarray], state: SequentialState) -> np.ndarray:
    """When each task passed: not before the last rollout that it needed was taken in."""
    task, used = arrays["rollout_task"], np.asarray(state.num_rollouts_used)
    order = np.argsort(task, kind="stable")
    before = np.searchsorted(task[order], np.arange(len(used)))[:, None]
    taken_in = np.append(0, order + 1)[np.where(used > 0, before + used, 0)]
    return np.where(state.passed, np.maximum(arrays["passed_after"], taken_in), 0).astype(np.int32)


def _check_tasks(tasks: Mapping[str, np.ndarray], state: SequentialState) -> None:
    for name, column in tasks.items():
        if column.shape != state.valid.shape:
            raise ValueError(f"array {name!r} has shape {column.shape}, expected {state.valid.shape}: one row per task")
