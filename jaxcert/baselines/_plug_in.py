"""Certificates from known performances, and the same from averages of rollouts, which certify nothing."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert._validation import check_finite, is_concrete, require_real
from jaxcert.certificates import Certificate, Status, certify_lower_bounds, confidence, floor_figures, floor_to
from jaxcert.numerics._rounding import compute_dtype, known
from jaxcert.returns._sample import Needs, Sample, placed, sample_of


def certify_known_performances(
    performances: Array | Sequence[float],
    thresholds: Numeric | Sequence[Numeric],
    *,
    delta: Numeric,
    validate: bool = True,
) -> Certificate:
    r"""Certify from the exact performances of the sampled tasks, the limit of infinitely many rollouts.

    With k the number of sampled tasks with J < B, at each threshold B, fixed before the data are seen,

    .. math:: \hat\varepsilon(B) = U(k; n, \delta), \qquad P[\mathrm{Bin}(n, U) \le k] = \delta,

    which is the binomial certificate with beta = 0 (one-sided). It is sound if the performances are known, as in a
    world with an exact truth. Another certificate lies below it by the loss from finitely many rollouts; both share the
    loss from finitely many tasks. For averages of rollouts in place of performances, which is not sound, see
    ``certify_plug_in``.

    Args:
        performances: J, float[..., n], finite, of n i.i.d. tasks; leading axes are batched.
        thresholds: float[t], or a scalar for one.
        delta: failure probability of each certificate, in (0, 1); a scalar.
        validate: raise for invalid values that are concrete. Otherwise, and for traced values, a performance that is
            not finite counts as a violation, and the status says so.

    Returns:
        A ``Certificate`` with arrays [..., t], ``bound`` "known", beta 0, and the performances as ``lower_bounds``.

    Raises:
        ValueError: for invalid shapes or values.

    Example:
        >>> import jax.numpy as jnp
        >>> certificate = certify_known_performances(jnp.arange(100.0), 5.0, delta=0.01)
        >>> print(int(certificate.num_violations[0]), f"{certificate.safety[0]:.4f}")
        5 0.8741

    Reference: the theory page, section on the binomial certificate.
    """
    return _taken_for_bounds("known", _prepare(performances, validate), thresholds, delta=delta, validate=validate)


def _taken_for_bounds(name: str, numbers: Any, thresholds: Any, *, sound: bool = True, **given: Any) -> Certificate:
    """The certificate of numbers [..., n] that are known, or taken for known, and so never fail; -inf is invalid."""
    found = certify_lower_bounds(numbers, thresholds, beta=np.zeros((), numbers.dtype), **given)
    return dataclasses.replace(found, bound=name, status=_marked(found.status, found.lower_bounds, sound))


@functools.partial(jax.jit, static_argnums=2)
def _marked(status: jax.Array, numbers: jax.Array, sound: bool) -> jax.Array:
    invalid = jnp.any(jnp.isneginf(numbers), axis=-1, keepdims=True) | (status == Status.INVALID_INPUT.value)
    otherwise = status if sound else Status.UNSOUND.value
    return jnp.where(invalid, Status.INVALID_INPUT.value, otherwise).astype(jnp.int32)


def _prepare(performances: Any, validate: bool) -> Any:
    """Performances [..., n] rounded down; -inf, a violation, in place of what is not finite."""
    require_real("performances", performances)
    shape, dtype = np.shape(performances), compute_dtype(performances)
    if not shape or shape[-1] == 0:
        raise ValueError(f"performances have shape {shape}; expected [..., num_tasks] with at least one task")
    if validate and is_concrete(performances):
        check_finite("performances", performances, dtype=dtype)
    rounded = known(performances, dtype, "down")
    xp = np if isinstance(rounded, np.ndarray) else jnp
    return xp.where(xp.isfinite(rounded), rounded, np.asarray(-np.inf, dtype))


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PlugInEstimate(Certificate):
    """The form of a ``Certificate`` with what is none: ``status`` is ``UNSOUND`` throughout, or ``INVALID_INPUT``.

    ``lower_bounds`` are averages of rollouts, not lower bounds, and ``safety`` is not certified.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxcert.baselines import certify_plug_in
        >>> print(certify_plug_in(jnp.full((200, 100), 0.9), 0.8, delta=0.01))
        No certificate: if the average return of each task were its expected return, then with confidence 0.99,
        on a new task from the same distribution, it would be at least 0.8 with probability at least 0.9772.
    """

    question: str = dataclasses.field(default="", kw_only=True, metadata={"static": True})

    def _sentence(self, index: int) -> str:
        shown, safety = floor_figures(float(self.thresholds[index])), floor_to(float(self.safety[index]), 4)
        return (
            "No certificate: if the average return of each task were its expected return, then with confidence "
            f"{confidence(float(self.delta))},\non a new task from the same distribution, it would be at least {shown} "
            f"with probability at least {safety}.{self._note(index)}"
        )


def certify_plug_in(
    returns: Array,
    thresholds: Numeric | Sequence[Numeric],
    *,
    delta: Numeric,
    where: Array | None = None,
    validate: bool = True,
) -> PlugInEstimate:
    r"""Claims that ignore the randomness of rollouts. Unsound: this certifies nothing, and is for comparison.

    With k the number of tasks whose average return is below B,

    .. math:: \hat\varepsilon(B) = U(k; n, \delta), \qquad P[\mathrm{Bin}(n, U) \le k] = \delta,

    as if averages were expected returns. An average exceeds B by chance where J does not, so the failure probability
    can be anything up to 1: with few rollouts, or where many tasks have a J just below B. More tasks make that worse.

    Args:
        returns: float[..., n, m], as in ``certify``; no summary, and no support is needed.
        thresholds: float[t], or a scalar for one.
        delta: the failure probability that it would have, in (0, 1); a scalar.
        where: bool[..., n, m], which rollouts count; all by default. At least one per task.
        validate: as in ``certify``. Otherwise, and for traced values, a task with a return that is not finite counts as
            a violation, and the status says so.

    Returns:
        A ``PlugInEstimate`` with arrays [..., t], ``bound`` "plug_in" and beta 0.

    Raises:
        ValueError: for invalid shapes or values, as ``certify``, and for a summary.

    Example:
        >>> import jaxcert
        >>> estimate = certify_plug_in(jaxcert.sample_returns("cheetah")[:, :2], 500.0, delta=0.01)
        >>> print(f"{estimate.safety[0]:.3f}, {jaxcert.Status(int(estimate.status[0])).name}")
        0.936, UNSOUND

    Reference: the page on tightness.
    """
    sample = sample_of(Needs("the plug-in estimate", support=False), returns, None, where, validate)
    averages = _averages(placed(sample))[..., : int(sample.num_tasks)]
    found = _taken_for_bounds("plug_in", averages, thresholds, sound=False, delta=delta, validate=validate)
    held = {field.name: getattr(found, field.name) for field in dataclasses.fields(found) if field.name != "question"}
    return PlugInEstimate(**held)


@jax.jit
def _averages(sample: Sample) -> jax.Array:
    """The average of each task, to nearest; -inf for one with returns that are not finite, or with none."""
    mean = jnp.mean(sample.values, axis=-1, where=sample.mask)
    return jnp.where(jnp.isfinite(mean), mean, -jnp.inf)
