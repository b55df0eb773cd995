"""The door: returns of any kind, checked, rounded to their safe side and padded once, as every question uses them.

Compiling a program takes a second, and running it on a few thousand returns less than a millisecond. So few returns
that can be read here are padded to one of few shapes, and their true numbers of tasks and rollouts are data of the
program: other sizes find a program that is there already. Within a compiled function nothing is padded. Results may
differ in their last bits, since the rounding error that is subtracted is computed for the padded length; both are safe.
"""

import dataclasses
import math
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._validation import is_concrete, kept_readable, require_real
from jaxcert.numerics._meshes import automatic
from jaxcert.numerics._rounding import Side, convert, convert_host, known
from jaxcert.returns._checks import check_returns, check_sums, checked_shapes, describe_index
from jaxcert.returns._paired import Paired
from jaxcert.returns._prepared import Support, is_successes, returns_dtype, split_support
from jaxcert.returns._weighted import TaskWeights, Weighted
from jaxcert.returns.summaries import Histogram, Moments, Summary


class Needs(NamedTuple):
    """What a question needs of the returns.

    Attributes:
        name: who needs it, in messages.
        min_rollouts: the fewest rollouts of a task.
        width: whether b has to be finite, because b - a is used.
        binary: whether returns have to be 0 or 1.
        moments: whether ``Moments`` are enough.
        support: whether returns have a support at all.
        costly: whether a task costs much beside its returns, so that few are added as a padding.
        padded: whether few returns get a padding at all, which costs little as long as they are gone through once.
        apart: whether the policies of pairs may have other numbers of rollouts.
        weights: whether tasks may have weights.
    """

    name: str
    min_rollouts: int = 1
    width: bool = False
    binary: bool = False
    moments: bool = False
    support: bool = True
    costly: bool = False
    padded: bool = True
    apart: bool = False
    weights: bool = False


class Apart(NamedTuple):
    """Two policies of a difference: the returns of A, and those of B with the other sign, as samples."""

    a: Any
    b: Any


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Sample:
    """Returns of a policy, or differences of two, of one float type and rounded down; a pytree.

    Attributes:
        values: [..., n, m], or more of both where it is padded; or a summary of n tasks; or two samples apart, of
            whose expected returns the sum is asked.
        low, high: the ends of the support, rounded outwards.
        where: which rollouts count, of the shape of the values; None if all that are there do.
        num_tasks: n, int32.
        num_rollouts: m, the most that a task has room for, int32.
        weights: of the tasks, for others than the sampled ones; None for these.
        padded: whether there are values in addition (static).
    """

    values: Any
    low: Any
    high: Any
    where: Any
    num_tasks: Any
    num_rollouts: Any
    weights: TaskWeights | None = None
    padded: bool = dataclasses.field(default=False, metadata={"static": True})

    @property
    def is_summary(self) -> bool:
        """Whether single returns are not known."""
        return isinstance(self.values, Summary)

    @property
    def is_apart(self) -> bool:
        """Whether it is of two policies apart."""
        return isinstance(self.values, Apart)

    @property
    def is_full(self) -> bool:
        """Whether all tasks are known to have m rollouts."""
        return self.where is None and not (self.is_summary or self.is_apart)

    @property
    def tasks(self) -> tuple[int, ...]:
        """The shape [..., n or more] of the tasks."""
        if self.is_apart:
            return self.values.a.tasks
        return self.values.valid.shape if self.is_summary else self.values.shape[:-1]

    @property
    def dtype(self) -> np.dtype:
        """The float type of the computation."""
        return np.dtype(self.low.dtype)

    @property
    def mask(self) -> Any:
        """Which values are rollouts that count; None for all."""
        if self.where is not None or not self.padded:
            return self.where
        shape = self.values.shape
        inside = jax.lax.broadcasted_iota(np.int32, shape, len(shape) - 1) < self.num_rollouts
        if len(shape) == 1:
            return inside
        return inside & (jax.lax.broadcasted_iota(np.int32, shape, len(shape) - 2) < self.num_tasks)

    @property
    def unpadded(self) -> "Sample":
        """The returns alone."""
        n, m = int(self.num_tasks), int(self.num_rollouts)
        where = None if self.where is None else self.where[..., :n, :m]
        return self.replace(values=self.values[..., :n, :m], where=where, padded=False)

    @property
    def reflected(self) -> "Sample":
        """-X in (-b, -a); exact."""
        return self.replace(values=-self.values, low=-self.high, high=-self.low)

    def as_type(self, dtype: np.dtype) -> "Sample":
        """The same numbers in another float type."""
        return self.replace(**{name: getattr(self, name).astype(dtype) for name in ("values", "low", "high")})

    def replace(self, **fields: Any) -> "Sample":
        """The sample with other fields."""
        return dataclasses.replace(self, **fields)


def sample_of(
    needs: Needs,
    x: Any,
    support: Any,
    where: Any = None,
    validate: bool = True,
    *,
    of_tasks: bool = True,
    first: tuple[int, ...] = (),
    side: Side = "down",
) -> Sample:
    """Check what stands for returns, and round it to its safe side.

    Args:
        needs: what the question needs.
        x: float[..., n, m] or bool, a summary, two policies (``paired``), or any of these with weights (``weighted``).
        support: (a, b), or None where it is known.
        where: which rollouts count, of the shape of x, or None.
        validate: raise for values that are concrete and impossible; others fail closed.
        of_tasks: whether x has an axis of tasks, and has to pass the checks over all of them.
        first: the index of x[0, ..., 0] in the caller's array, for messages.
        side: to which returns are rounded.

    Raises:
        ValueError: for shapes, types and names, whatever the values are; for values that are concrete and impossible,
            with task and rollout.
    """
    x, where = jax.tree.map(automatic, x) if isinstance(x, Summary) else automatic(x), automatic(where)
    if isinstance(x, Summary):
        with kept_readable(x):
            return _of_summary(needs, x, support, where, validate)
    if not needs.support:
        require_real("returns", x)
    if isinstance(x, Weighted):
        if not needs.weights:
            raise ValueError(
                "returns are weighted, for which this is not proven; "
                "certify, certify_mean and certify_cvar take weights"
            )
        sample = sample_of(needs._replace(weights=False), x.returns, support, where, validate)
        return sample.replace(weights=x.prepared(int(sample.num_tasks), sample.tasks, sample.dtype, validate))
    if isinstance(x, Paired):
        # Differences are made of two samples.
        from jaxcert.returns._differences import sample_of_pairs

        return sample_of_pairs(needs, x, support, where, validate)
    return _of_array(needs, x, support, where, validate, of_tasks, first, side)


def _of_array(
    needs: Needs, x: Any, support: Any, where: Any, validate: bool, of_tasks: bool, first: tuple[int, ...], side: Side
) -> Sample:
    if support is None and needs.support:
        require_real("returns", x)  # before a support is missed that other returns would not need
    ends = support_for(needs, declared_support(needs, x, support)) if needs.support else (-np.inf, np.inf)
    x, where = checked_shapes(x, where, of_tasks=of_tasks)
    few = needs.padded and is_few(x, where, ends, validate)
    if few:
        x, where = np.asarray(x), None if where is None or np.asarray(where).all() else np.asarray(where)
    elif isinstance(x, np.ndarray) and x.dtype == bool:
        with jax.ensure_compile_time_eval():  # exact there, too, and checked by all threads
            x, where = jax.device_put((x, where))
    dtype, m = returns_dtype(x), x.shape[-1]
    if m < needs.min_rollouts:
        raise ValueError(f"returns have {m} rollout per task; {needs.name} needs at least {needs.min_rollouts}")
    if validate:
        check_range(ends, dtype, needs_width=needs.width and of_tasks)
        # Host values are checked before they are rounded, which would move some into the support.
        check_returns(x, *ends, where, binary=needs.binary, first=first, axes=of_tasks)
        check_counts(needs, where, first)
    values = convert_host(x, dtype, side) if few else convert(x, dtype, side)
    if validate and of_tasks and needs.support:
        check_sums(values, where, ends)
    low, high = rounded_ends(ends, dtype, exact=needs.binary)
    n = np.asarray(x.shape[-2] if x.ndim > 1 else 1, np.int32)
    sample = Sample(values, low, high, where, n, np.asarray(m, np.int32))
    return _padded(sample, needs) if few else sample


def declared_support(needs: Needs, returns: Any, support: Support | None) -> Support | None:
    """The support that is given, or (0, 1): of successes, of type bool, and where returns are 0 or 1 alone."""
    return (0.0, 1.0) if support is None and (needs.binary or is_successes(returns)) else support


def support_for(needs: Needs, support: Any) -> Support:
    """The ends of the support, or ValueError if it does not suit, whatever the returns are."""
    low, high = split_support(support)
    if not is_concrete(low, high):
        return low, high
    if needs.binary and (float(low), float(high)) != (0.0, 1.0):
        raise ValueError(f"support is ({low:g}, {high:g}); {needs.name} expects binary returns with support (0, 1)")
    if needs.width and not np.isfinite(float(high)):
        raise ValueError(f"support is ({low:g}, {high:g}); {needs.name} needs a finite upper end")
    return low, high


def rounded_ends(ends: Support, dtype: np.dtype, *, exact: bool = False) -> tuple[Any, Any]:
    """The ends of the support, rounded outwards; to nearest where returns are compared with 0 and 1 alone."""
    sides: tuple[tuple[Any, Side], ...] = ((ends[0], "down"), (ends[1], "up"))
    low, high = (known(end, dtype, "nearest" if exact else side) for end, side in sides)
    return low, high


def check_range(support: Support, dtype: np.dtype, *, needs_width: bool = False) -> None:
    """Raise ValueError for ends of the support that the type cannot hold, or whose distance, if it is needed."""
    if not is_concrete(*support):
        return
    (low, high), largest = map(float, support), float(jnp.finfo(dtype).max)
    for end in (low, high):
        if np.isfinite(end) and abs(end) > largest:
            raise ValueError(f"support holds {end:g}; expected numbers within the range of {dtype}")
    if needs_width and high / largest - low / largest >= 1:
        raise ValueError(
            f"support is ({low:g}, {high:g}), wider than {dtype} can hold; certify returns in a larger unit"
        )


def check_counts(needs: Needs, where: Any, first: tuple[int, ...] = (), which: str = "that is not masked") -> None:
    """Raise ValueError for a task with too few rollouts that count, if they can be read."""
    if where is None or not is_concrete(where):
        return
    counts = np.asarray(where).sum(axis=-1)
    few = np.argwhere(counts < needs.min_rollouts)
    if few.size:
        task, count = describe_index(np.add(few[0], first[:-1] or 0)), counts[tuple(few[0])]
        rollouts = "rollout" if count == 1 else "rollouts"
        raise ValueError(
            f"task {task} has {count} {rollouts} {which}; {needs.name} needs at least {needs.min_rollouts}"
        )


# --- padding ------------------------------------------------------------------------------------------------------

# Returns with their padding: beyond, it takes longer than it is worth.
_MOST = 2**17
_FEWEST_TASKS, _FEWEST_COSTLY, _FEWEST_ROLLOUTS = 512, 32, 128


def is_few(x: Any, where: Any, ends: Any, validate: bool) -> bool:
    """Whether the returns can be read here, are few enough to be padded, and may be waited for."""
    arrays = [array for array in (x, where) if isinstance(array, jax.Array)]
    if not is_concrete(x, where, ends) or (arrays and not validate):
        return False
    here = all(array.sharding.device_set == {jax.devices()[0]} for array in arrays)
    return here and math.prod(_padded_shape(x.shape)) <= _MOST


def _padded_shape(shape: tuple[int, ...], fewest_tasks: int = _FEWEST_TASKS) -> tuple[int, ...]:
    *others, m = shape
    tasks = [power_of_two(n, fewest_tasks) for n in others[-1:]]
    return *others[:-1], *tasks, power_of_two(m, _FEWEST_ROLLOUTS)


def power_of_two(size: int, fewest: int) -> int:
    """The least power of two of at least both."""
    return max(fewest, 1 << (size - 1).bit_length())


def padded_to(x: np.ndarray, shape: tuple[int, ...], fill: Any = 0) -> np.ndarray:
    """A host array in front of a padding."""
    if x.shape == shape:
        return x
    padded = np.full(shape, fill, x.dtype)
    padded[tuple(map(slice, x.shape))] = x
    return padded


def _padded(sample: Sample, needs: Needs) -> Sample:
    # Tasks with their own numbers of successes are coins of their own, for which the work grows with their square.
    costly = needs.costly or (needs.binary and sample.where is not None)
    fewest = _FEWEST_COSTLY if costly else _FEWEST_TASKS
    shape = _padded_shape(sample.values.shape, fewest)
    where = None if sample.where is None else padded_to(sample.where, shape)
    return sample.replace(values=padded_to(sample.values, shape), where=where, padded=True)


def numbers_as_sample(values: jax.Array, low: jax.Array, high: jax.Array, where: jax.Array | None = None) -> Sample:
    """Numbers [..., m] that were computed, each a rollout of its own, within a program."""
    n, m = (np.asarray(size, np.int32) for size in (1, *values.shape)[-2:])
    return Sample(values, low, high, where, n, m)


def sample_of_numbers(values: Any) -> Sample:
    """One known number of each task, [..., n, 1], in front of a padding of -inf where there are few."""
    n, shape = values.shape[-1], (*values.shape[:-1], power_of_two(values.shape[-1], _FEWEST_TASKS))
    padded = isinstance(values, np.ndarray) and math.prod(shape) <= _MOST
    held = padded_to(values, shape, -np.inf) if padded else values
    low, high = (np.asarray(end, values.dtype) for end in (-np.inf, np.inf))
    return Sample(held[..., None], low, high, None, np.asarray(n, np.int32), np.asarray(1, np.int32), padded=padded)


Tree = TypeVar("Tree")


def placed(tree: Tree) -> Tree:
    """Host arrays on the device, in one explicit transfer, which a transfer guard allows; others as they are."""
    leaves, structure = jax.tree.flatten(jax.tree.map(automatic, tree))
    host = [i for i, leaf in enumerate(leaves) if isinstance(leaf, np.ndarray | np.generic)]
    if is_concrete(leaves):
        for i, leaf in zip(host, jax.device_put([leaves[i] for i in host]), strict=True):
            leaves[i] = leaf
    return jax.tree.unflatten(structure, leaves)


# --- summaries ----------------------------------------------------------------------------------------------------


def _of_summary(needs: Needs, summary: Summary, support: Any, where: Any, validate: bool) -> Sample:
    """A summary holds its support and has checked its returns."""
    if not needs.support:
        raise ValueError(f"returns are a summary, without single rollouts; {needs.name} needs an array")
    if where is not None:
        raise ValueError("where is for returns; a summary holds the rollouts that count")
    if isinstance(summary, Moments) and not needs.moments:
        raise ValueError(
            f"{needs.name} needs more than moments; expected a Histogram, or a bound that moments suffice for"
        )
    if needs.binary and isinstance(summary, Histogram) and summary.values.shape != (2,):
        raise ValueError(f"{needs.name} needs success counts; expected a Histogram with num_bins=1 on (0, 1)")
    if support is not None and is_concrete(summary.low, summary.high, *split_support(support)):
        ends = rounded_ends(support, summary.low.dtype)
        if (float(ends[0]), float(ends[1])) != (float(summary.low), float(summary.high)):
            raise ValueError(f"support is {support}; the summary has ({float(summary.low):g}, {float(summary.high):g})")
    support_for(needs, (summary.low, summary.high))
    if validate and is_concrete(summary):
        _check_summary(needs, summary)
    most = jnp.max(summary.num_rollouts).astype(np.int32)
    return Sample(summary, summary.low, summary.high, None, np.asarray(summary.valid.shape[-1], np.int32), most)


def most_rollouts(dtype: np.dtype) -> int:
    """How many rollouts the float type can count, as far as int32 can hold them."""
    return min(2 ** (jnp.finfo(dtype).nmant + 1), 2**31 - 1)


def _check_summary(needs: Needs, summary: Summary) -> None:
    count, valid = np.asarray(summary.num_rollouts), np.asarray(summary.valid)
    if not valid.any(axis=-1).all():
        raise ValueError("the summary met a return outside the support, or more than it counts: no task is valid")
    for bad, what in (
        (~valid, "met a return that is no number, or more than it counts"),
        (count < needs.min_rollouts, f"has too few rollouts; {needs.name} needs at least {needs.min_rollouts}"),
        (count > most_rollouts(summary.low.dtype), f"has more rollouts than {summary.low.dtype} can count"),
    ):
        if bad.any():
            raise ValueError(f"task {describe_index(np.argwhere(bad)[0])} of the summary {what}")
