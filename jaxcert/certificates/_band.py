"""From a band of levels to certificates at all thresholds together; the kinds of band."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._padding import padded_tasks
from jaxcert.certificates._arguments import divided
from jaxcert.certificates._band_levels import DKW_BAND, EQUAL_LOCAL_LEVELS, Band
from jaxcert.certificates._batch_axes import along
from jaxcert.certificates._certificate import Certificate, Status
from jaxcert.certificates._compiled import certify_given
from jaxcert.numerics._batches import counts_from_zero
from jaxcert.numerics._rounding import complement_down

_ALL = (
    DKW_BAND,
    EQUAL_LOCAL_LEVELS,
)
BANDS = {band.name: band for band in _ALL}


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class BandCertificate(Certificate, shifts=True):
    """A ``Certificate`` that holds at all thresholds together, whether they are listed or not, looked at or not.

    Attributes:
        level: eta <= delta of the single limits, rounded down; for "dkw" the level of the whole band; float[...].
        low: the lower end a of the support; -inf if it is not known; float[...].
        num_smallest: nothing is certified from so many violations on; None if there is no such number (static).
        num_successes: of each task, float[..., n], -1 for one with invalid returns; None but for "attained_levels".
        num_rollouts: of each task, float[..., n], or one number where all have as many; None as above.
        question: which of ``jaxcert.questions`` it answers, by name (static).

    Its ``method`` is the kind of the band. For "attained_levels" ``beta`` is the level attained at each threshold,
    float[..., t], and ``lower_bounds`` are computed at 0.05.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxcert import certify_lower_bounds_band
        >>> print(certify_lower_bounds_band(jnp.arange(200.0), 10.0, delta=0.01, beta=0.01))
        With confidence 0.99 for all together: on a new task from the same distribution,
        the expected return is at least 10 with probability at least 0.8735.
    """

    level: jax.Array
    low: jax.Array
    num_smallest: int | None = dataclasses.field(metadata={"static": True})
    num_successes: jax.Array | None = dataclasses.field(default=None, metadata=along("task"))
    num_rollouts: jax.Array | None = dataclasses.field(default=None, metadata=along("task", optional=True))
    question: str = dataclasses.field(default="band", kw_only=True, metadata={"static": True})


def level_of(band: Band, delta: Any, num_tasks: int, num_smallest: int | None, dtype: np.dtype) -> jax.Array:
    """The level of the band, rounded down; NaN for an invalid delta.

    Raises:
        ValueError: for a number of smallest counts that is out of range or without effect.
    """
    last = num_tasks - 1 if num_smallest is None else _checked(band, num_smallest, num_tasks) - 1
    return divided(delta, dtype, band.parts(last), lambda known: band.level(num_tasks, known, last))


def check_smallest(num_smallest: Any, num_tasks: int) -> None:
    """Raise ValueError for a number of smallest counts that is out of range."""
    whole = isinstance(num_smallest, int | np.integer) and not isinstance(num_smallest, bool)
    if not (whole and 1 <= num_smallest <= num_tasks):
        raise ValueError(f"num_smallest is {num_smallest!r}; expected a whole number from 1 to {num_tasks}, the tasks")


def _checked(band: Band, num_smallest: Any, num_tasks: int) -> int:
    check_smallest(num_smallest, num_tasks)
    if not band.takes_smallest:
        raise ValueError(f"num_smallest is {num_smallest}, which has no effect with kind {band.name!r}")
    return int(num_smallest)


def certify_at_level(
    bound: str,
    band: Band,
    lower: jax.Array,
    thresholds: jax.Array | None,
    *,
    level: jax.Array,
    num_smallest: int | None,
    beta: jax.Array,
    delta: jax.Array,
    low: jax.Array,
) -> BandCertificate:
    """From lower bounds [..., n] and thresholds [t], or their own steps, to a certificate [..., t]."""
    wanted = _steps(lower) if thresholds is None else thresholds
    found = certify_given(bound, band.method, padded_tasks(lower), wanted, beta, level)
    fields: dict[str, Any] = {"epsilon": found.epsilon, "safety": found.safety, "status": found.status}
    if num_smallest is not None:
        fields = _only_smallest(found.num_violations, found.epsilon, found.status, num_smallest=num_smallest)
    return BandCertificate(
        **fields,
        thresholds=wanted,
        num_violations=found.num_violations,
        lower_bounds=lower,
        num_valid=found.num_valid,
        beta=beta,
        delta=delta,
        num_tasks=found.num_tasks,
        bound=bound,
        method=band.name,
        simultaneous=True,
        quantity=found.quantity,
        level=level,
        low=low,
        num_smallest=None if num_smallest is None else int(num_smallest),
    )


_steps = jax.jit(functools.partial(jnp.sort, axis=-1))


@functools.partial(jax.jit, static_argnames="num_smallest")
def _only_smallest(violations, epsilon, status, *, num_smallest: int) -> dict[str, jax.Array]:
    """The fields with nothing certified from so many violations on."""
    beyond = violations >= num_smallest
    epsilon = jnp.where(beyond, 1.0, epsilon)
    vacuous = beyond & (status == Status.CERTIFIED.value)
    status = jnp.where(vacuous, Status.VACUOUS.value, status).astype(jnp.int32)
    return {"epsilon": epsilon, "safety": complement_down(epsilon), "status": status}


def risks(certificate: BandCertificate) -> jax.Array:
    """The certified risk for k = 0, 1, ..., n; the entries that pad the array hold at least the last one."""
    counts = counts_from_zero(certificate.num_tasks, certificate.level, certificate.beta, certificate.lower_bounds)
    found = BANDS[certificate.method].method.solve(*counts, certificate.beta, certificate.level)
    smallest = certificate.num_tasks if certificate.num_smallest is None else certificate.num_smallest
    return jnp.where(counts[0] < smallest, found.epsilon, 1.0)
