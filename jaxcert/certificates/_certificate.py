"""The certificate: what was certified, from what, and how it came out."""

import dataclasses
import decimal
from typing import Any

import jax
import numpy as np

from jaxcert._validation import is_concrete
from jaxcert.certificates._status import Status


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
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
    safety, shown = float(certificate.safety[index]), _short(np.asarray(certificate.thresholds)[index])
    start = f"With confidence {confidence(float(certificate.delta))}"
    if not safety > 0:
        return f"{start}: nothing is certified about an expected return of at least {shown}."
    status = Status(int(certificate.status[index]))
    note = "" if status in (Status.CERTIFIED, Status.OUT_OF_RANGE) else f" ({status.advice})"
    return (
        f"{start}: on a new task from the same distribution, the expected return is at least {shown} "
        f"with probability at least {floor_to(safety, 4)}.{note}"
    )


def floor_to(value: float, digits: int) -> str:
    """The value with that many decimals, rounded down."""
    step = decimal.Decimal(1).scaleb(-digits)
    with decimal.localcontext() as context:
        context.prec = 400
        return f"{decimal.Decimal(value).quantize(step, decimal.ROUND_FLOOR):f}"


def _short(threshold: np.floating) -> str:
    """A threshold in seven digits, rounded down unless its own type cannot tell it from them."""
    text = f"{float(threshold):.7g}"
    if float(text) <= threshold or threshold.dtype.type(text) == threshold:
        return text
    return f"{float(threshold) - abs(float(threshold)) * 5e-7:.7g}"


def confidence(delta: float) -> str:
    """1 - delta in all its digits, with delta to six unless that would understate it by more than float32 rounds.

    Example:
        >>> confidence(float(np.float32(0.01))), confidence(1e-11)
        ('0.99', '0.99999999999')
    """
    short = f"{delta:.6g}"
    kept = short if float(short) >= delta * (1 - 1e-7) else f"{delta:.17g}"
    with decimal.localcontext() as context:
        context.prec = 60
        return f"{1 - decimal.Decimal(kept):f}"


def _readable(certificate: Certificate) -> bool:
    leaves: list[Any] = jax.tree.leaves(certificate)
    arrays = all(isinstance(leaf, jax.Array | np.ndarray) for leaf in leaves)
    return arrays and is_concrete(leaves) and certificate.thresholds.ndim == 1 and certificate.safety.ndim == 1


def _row(values: jax.Array) -> str:
    return np.array2string(np.asarray(values), threshold=6, precision=6, separator=", ")
