"""The certificate at all thresholds together."""

import dataclasses

import jax

from jaxcert.certificates._certificate import Certificate


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class BandCertificate(Certificate, shifts=True):
    """A ``Certificate`` that holds at all thresholds together, whether they are listed or not, looked at or not.

    Attributes:
        level: eta <= delta of the single limits, rounded down; that of the whole band for "dkw"; float[...].
        low: the lower end a of the support; -inf if it is not known; float[...].
        num_smallest: nothing is certified from so many violations on; None if there is no such number (static).
        num_successes: of each task, float[..., n], -1 for one with invalid returns; None but for "attained_levels".
        num_rollouts: of each task, float[..., n], or one number where all have as many; None as above.

    Its ``method`` is the kind of the band. For "attained_levels" ``beta`` is the level attained at each threshold,
    float[..., t], and ``lower_bounds`` are those at 0.05.

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
    num_successes: jax.Array | None = None
    num_rollouts: jax.Array | None = None
