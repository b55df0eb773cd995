"""From a band of levels to certificates at all thresholds together."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._bound import Bound
from jaxcert.bounds._evaluate import task_bounds
from jaxcert.certificates._arguments import divided
from jaxcert.certificates._batch_axes import along, answer, padded_rows
from jaxcert.certificates._binomial import BINOMIAL
from jaxcert.certificates._calibration import local_level
from jaxcert.certificates._certificate import Certificate, Status, quantity_of
from jaxcert.certificates._counting import fields_of_bounds
from jaxcert.certificates._method import solve_every, table_of
from jaxcert.numerics._batches import in_front
from jaxcert.numerics._rounding import complement_down
from jaxcert.returns._sample import Sample, placed

# The kind of band that counts lower bounds: u_k = U(k; n, level), the binomial certificate at a smaller delta.
EQUAL_LOCAL_LEVELS = "equal_local_levels"
_TAIL: Any = BINOMIAL.tail


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class BandCertificate(Certificate):
    """A ``Certificate`` that holds at all thresholds together, whether they are listed or not, looked at or not.

    Attributes:
        level: eta <= delta of the single limits, rounded down; float[...].
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


def level_of(delta: Any, num_tasks: int, num_smallest: int | None, dtype: np.dtype) -> Any:
    """The level of the band, rounded down; NaN for an invalid delta.

    Raises:
        ValueError: for a number of smallest counts that is out of range.
    """
    last = last_count(num_smallest, num_tasks)
    return divided(delta, dtype, last + 1, lambda known: local_level(num_tasks, known, last))


def last_count(num_smallest: Any, num_tasks: int) -> int:
    """The largest number of violations that certifies anything; ValueError for one that is out of range."""
    if num_smallest is None:
        return num_tasks - 1
    whole = isinstance(num_smallest, int | np.integer) and not isinstance(num_smallest, bool)
    if not (whole and 1 <= num_smallest <= num_tasks):
        raise ValueError(f"num_smallest is {num_smallest!r}; expected a whole number from 1 to {num_tasks}, the tasks")
    return int(num_smallest) - 1


def band_of(
    bound: Bound | str, sample: Sample, thresholds: Any, *, level: Any, num_smallest: int | None, beta: Any, delta: Any
) -> BandCertificate:
    """From a sample, or numbers of tasks that are lower bounds already, and thresholds [t] or their own steps."""
    n, given = int(sample.num_tasks), isinstance(bound, str)
    rows = thresholds if thresholds is None else padded_rows(thresholds, sample)
    table = table_of(_TAIL, n, (sample.values.shape if given else sample.tasks)[-1], level)
    fields = _band(bound, num_smallest, *placed((sample, rows, beta, level, table)))
    fields |= {"beta": beta, "delta": delta, "level": level, "low": sample.low}
    name = bound if isinstance(bound, str) else bound.name
    settings = {"num_tasks": n, "bound": name, "quantity": quantity_of(name), "method": EQUAL_LOCAL_LEVELS}
    settings |= {"simultaneous": True, "num_smallest": None if num_smallest is None else int(num_smallest)}
    sizes = {"task": n, "threshold": n if thresholds is None else len(thresholds)}
    return answer(BandCertificate, fields, sizes, **settings)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _band(bound: Bound | str, num_smallest: int | None, sample: Sample, thresholds, beta, level, table) -> dict:
    given, n = isinstance(bound, str), sample.num_tasks
    lower = jnp.asarray(sample.values) if isinstance(bound, str) else task_bounds(bound, sample, beta)
    wanted = jnp.sort(jnp.where(in_front(lower, n), lower, jnp.inf), axis=-1) if thresholds is None else thresholds
    fields = fields_of_bounds(BINOMIAL, lower, n, wanted, beta, level, table, given=given)
    if num_smallest is not None:
        fields |= only_smallest(fields, num_smallest)
    return fields | {"thresholds": wanted}


def only_smallest(fields: dict[str, Any], num_smallest: int) -> dict[str, jax.Array]:
    """The fields with nothing certified from so many violations on."""
    beyond = fields["num_violations"] >= num_smallest
    epsilon = jnp.where(beyond, 1.0, fields["epsilon"])
    vacuous = beyond & (fields["status"] == Status.CERTIFIED.value)
    status = jnp.where(vacuous, Status.VACUOUS.value, fields["status"]).astype(jnp.int32)
    return {"epsilon": epsilon, "safety": complement_down(epsilon), "status": status}


def risks(certificate: BandCertificate) -> jax.Array:
    """The certified risk for k = 0, 1, ..., n."""
    n = certificate.num_tasks
    table = table_of(_TAIL, n, n, certificate.level)
    return _risks(n, certificate.num_smallest, *placed((certificate.beta, certificate.level, table)))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _risks(n: int, num_smallest: int | None, beta, level, table) -> jax.Array:
    epsilon = solve_every(_TAIL, jnp.asarray(n, np.int32), beta, level, table, size=n).epsilon
    return jnp.where(jnp.arange(n + 1, dtype=np.int32) < (n if num_smallest is None else num_smallest), epsilon, 1.0)
