"""The certificate: what was certified, from what, and how it came out."""

import dataclasses
import math
from typing import Any

import jax
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.certificates._status import Status


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Certificate:
    """Certified safety of a policy at one or several thresholds; a pytree of arrays.

    At each threshold B, fixed before the data were seen: with probability at least 1 - delta over the sampled tasks and
    rollouts, a new task from the same distribution has an expected return of at least B with probability at least
    ``safety`` = 1 - ``epsilon``.

    Attributes:
        thresholds: B, float[..., t].
        safety: certified P[J >= B], rounded down, float[..., t].
        epsilon: certified risk, float[..., t].
        num_violations: k, tasks whose lower bound is not at least B, int32[..., t].
        lower_bounds: per-task lower bounds, float[..., n]; -inf for a task with invalid returns.
        num_valid: K of the scenario certificate (0: none); n - k for the binomial one, int32[..., t].
        status: codes of ``Status``, int32[..., t].
        beta: failure probability of each lower bound, float[...].
        delta: failure probability of the certificate, float[...].
        num_tasks: n (static).
        bound: name of the per-task bound (static).
        method: "binomial" or "scenario" (static).

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxcert import certify
        >>> print(certify(jnp.full((200, 100), 0.9), 0.8, support=(0, 1), delta=0.01))
        With confidence 0.99: on a new task from the same distribution,
        the expected return is at least 0.8 with probability at least 0.9760.
    """

    thresholds: jax.Array
    safety: jax.Array
    epsilon: jax.Array
    num_violations: jax.Array
    lower_bounds: jax.Array
    num_valid: jax.Array
    status: jax.Array
    beta: jax.Array
    delta: jax.Array
    num_tasks: int = dataclasses.field(metadata={"static": True})
    bound: str = dataclasses.field(metadata={"static": True})
    method: str = dataclasses.field(metadata={"static": True})

    def __str__(self) -> str:
        if not _readable(self):
            return repr(self)
        sentences = [sentence(self, i) for i in range(self.thresholds.shape[0])]
        return "\n".join(sentences)

    def __repr__(self) -> str:
        shape = getattr(self.safety, "shape", None)
        settings = f"num_tasks={self.num_tasks}, bound={self.bound!r}, method={self.method!r}"
        if not _readable(self):
            return f"Certificate(safety of shape {shape}, {settings})"
        return (
            f"Certificate(thresholds={_row(self.thresholds)}, safety={_row(self.safety)}, beta={float(self.beta):.6g}, "
            f"delta={float(self.delta):.6g}, {settings})"
        )


def sentence(certificate: Certificate, index: int) -> str:
    """What the certificate says at one threshold, with every figure rounded to the safe side.

    Args:
        certificate: concrete and without batch axes.
        index: which threshold.

    Example:
        >>> from jaxcert import certify
        >>> import jax.numpy as jnp
        >>> print(sentence(certify(jnp.zeros((20, 10)), 0.5, support=(0, 1), delta=0.1), 0))
        With confidence 0.9: nothing is certified about an expected return of at least 0.5.
    """
    threshold, safety = float(certificate.thresholds[index]), float(certificate.safety[index])
    confidence = f"With confidence {_confidence(float(certificate.delta))}"
    if not safety > 0:
        return f"{confidence}: nothing is certified about an expected return of at least {_short(threshold)}."
    status = Status(int(certificate.status[index]))
    note = "" if status in (Status.CERTIFIED, Status.OUT_OF_RANGE) else f" ({status.advice})"
    return (
        f"{confidence}: on a new task from the same distribution, the expected return is at least {_short(threshold)} "
        f"with probability at least {floor_to(safety, 4)}.{note}"
    )


def floor_to(value: float, digits: int) -> str:
    """The value with that many decimals, rounded down."""
    scale = 10**digits
    floored = math.floor(value * scale) / scale
    # value * scale may have been rounded up over a whole number.
    floored = floored if floored <= value else floored - 1 / scale
    return f"{floored:.{digits}f}"


def _short(threshold: float) -> str:
    """A threshold in seven digits, rounded down, unless that is what was asked for up to the rounding of float32."""
    text = f"{threshold:.7g}"
    if float(text) <= threshold or np.float32(text) == np.float32(threshold):
        return text
    return f"{threshold - abs(threshold) * 5e-7:.7g}"


def _confidence(delta: float) -> str:
    """1 - delta with delta to six digits, or to all of them where that would overstate it by more than its rounding."""
    short = float(f"{delta:.6g}")
    return f"{1 - (short if short >= delta * (1 - 1e-7) else delta):.10g}"


def _readable(certificate: Certificate) -> bool:
    leaves: list[Any] = jax.tree.leaves(certificate)
    arrays = all(isinstance(leaf, jax.Array | np.ndarray) for leaf in leaves)
    return arrays and is_concrete(leaves) and certificate.thresholds.ndim == 1 and certificate.safety.ndim == 1


def _row(values: jax.Array) -> str:
    return np.array2string(np.asarray(values), threshold=6, precision=6, separator=", ")
