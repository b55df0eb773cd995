"""What is chosen before an experiment, and how each kind of design is simulated and certified."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import check_count, check_open_unit
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import evaluate
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates import Certificate, certify, certify_safety_level
from jaxcert.certificates._arguments import choose
from jaxcert.numerics._rounding import cast
from jaxcert.sequential import certify_sequential


@dataclasses.dataclass(frozen=True)
class Design:
    """What is fixed before an experiment.

    Attributes:
        name: ``"betting"`` and ``"clopper_pearson"``, bounds for a fixed number of rollouts, or ``"sequential"``: each
            task is rolled out until it passes or is given up (``certify_sequential``).
        num_tasks: n.
        num_rollouts: m, rollouts per task; the most for a sequential design.
        beta: failure probability of one lower bound.

    Example:
        >>> from jaxcert.planning import Design
        >>> print(Design("betting", num_tasks=200, num_rollouts=10, beta=0.4))
        200 tasks × 10 rollouts, beta 0.4, betting
    """

    name: str
    num_tasks: int
    num_rollouts: int
    beta: float

    def __post_init__(self) -> None:
        choose("design", self.name, DESIGNS)
        check_count("num_tasks", self.num_tasks)
        check_count("num_rollouts", self.num_rollouts)
        check_open_unit("beta", self.beta)

    def __str__(self) -> str:
        most = "at most " if DESIGNS[self.name].needs_threshold else ""
        return f"{self.num_tasks} tasks × {most}{self.num_rollouts} rollouts, beta {self.beta:.4g}, {self.name}"


class PerTask(NamedTuple):
    """What becomes of imagined tasks [N] at levels [G]: their lower bounds, and the rollouts that each takes."""

    lower: np.ndarray
    used: np.ndarray


class Question(NamedTuple):
    """What is to be certified: at a threshold, or at a safety, or both."""

    support: tuple[float, float]
    delta: float
    threshold: float | None
    safety: float | None


@dataclasses.dataclass(frozen=True)
class Kind:
    """How designs of one name are simulated and certified.

    Attributes:
        name: of the designs.
        per_task: (returns [N, M], how many of the M count, betas [G], question) -> ``PerTask``. Tasks are independent,
            so that the chance of a certificate follows from those of a task.
        stopped: (``PerTask``, m, a) -> that of at most m rollouts, if it can be read off; else None.
        certify: (returns [..., n, m], design, question) -> ``Certificate`` of whole data sets.
        suits: of whether returns are 0 or 1: whether designs of this kind are worth a try.
        needs_threshold: whether it certifies at a threshold only, with rollouts up to ``num_rollouts``.
    """

    name: str
    per_task: Callable[[Any, int, np.ndarray, Question], PerTask]
    certify: Callable[[Any, Design, Question], Certificate]
    suits: Callable[[bool], bool]
    stopped: Callable[[PerTask, int, float], PerTask] | None = None
    needs_threshold: bool = False


# --- a fixed number of rollouts -----------------------------------------------------------------------------------


def _fixed(bound: str, suits: Callable[[bool], bool]) -> Kind:
    return Kind(bound, functools.partial(_bounds_per_task, BOUNDS[bound]), _certify_fixed, suits)


def _bounds_per_task(bound: Bound, returns: Any, m: int, betas: np.ndarray, question: Question) -> PerTask:
    dtype = returns.dtype
    low, high = cast(question.support[0], dtype, "down"), cast(question.support[1], dtype, "up")
    fixed = bound, jnp.asarray(returns), np.int32(m)
    # Level by level, for memory, and so that one program serves any number of them.
    lower = np.stack([_bounds(*fixed, beta, low, high) for beta in cast(betas, dtype, "nearest")])
    return PerTask(lower, np.full(lower.shape, m, np.int32))


@functools.partial(jax.jit, static_argnums=0)
def _bounds(bound: Bound, returns, m, beta, low, high) -> jax.Array:
    """Lower bounds [N] from the first m rollouts."""
    mask = jnp.broadcast_to(jnp.arange(returns.shape[-1], dtype=m.dtype) < m, returns.shape)
    return evaluate(bound, returns, beta, low, high, mask)


def _certify_fixed(returns: Any, design: Design, question: Question) -> Certificate:
    settings = {"support": question.support, "delta": question.delta, "beta": design.beta, "bound": design.name}
    if question.threshold is None:
        return certify_safety_level(returns, question.safety, **settings)  # type: ignore[arg-type]
    return certify(returns, question.threshold, **settings)


# --- rollouts one after another -----------------------------------------------------------------------------------


def _decided_per_task(returns: Any, m: int, betas: np.ndarray, question: Question) -> PerTask:
    """Tasks that pass within m rollouts."""
    assert question.threshold is not None
    threshold = cast(question.threshold, returns.dtype, "up")
    returns, levels = jnp.asarray(returns[:, :m]), cast(betas, returns.dtype, "nearest")
    lower, used = zip(*(_run(returns, threshold, beta, question[:2]) for beta in levels), strict=True)
    return PerTask(np.stack(lower), np.stack(used))


def _stopped(course: PerTask, m: int, low: float) -> PerTask:
    """What the first m rollouts decide, which depends on no later one."""
    return PerTask(np.where(course.used <= m, course.lower, np.float32(low)), np.minimum(course.used, m))


@functools.partial(jax.jit, static_argnums=3)
def _run(returns, threshold, beta, fixed) -> tuple[jax.Array, jax.Array]:
    """Lower bounds, and after how many rollouts tasks pass or are given up, [N]."""
    support, delta = fixed
    found = certify_sequential(returns, threshold, support=support, delta=delta, beta=beta, validate=False)
    return found.lower_bounds, found.num_rollouts_used[..., 0]


def _certify_in_order(returns: Any, design: Design, question: Question) -> Certificate:
    assert question.threshold is not None
    return certify_sequential(
        returns, question.threshold, support=question.support, delta=question.delta, beta=design.beta
    )


# Adding a kind of designs is one line here.
_ALL = (
    _fixed("betting", lambda binary: not binary),
    _fixed("clopper_pearson", lambda binary: binary),
    Kind("sequential", _decided_per_task, _certify_in_order, lambda binary: True, _stopped, needs_threshold=True),
)
DESIGNS = {kind.name: kind for kind in _ALL}


def usable(name: str, question: Question) -> Kind:
    """The kind of that name, if it can answer the question."""
    kind = choose("design", name, DESIGNS)
    if kind.needs_threshold and question.threshold is None:
        raise ValueError(f"design is {name!r}, which needs a threshold; expected one that can do without")
    return kind
