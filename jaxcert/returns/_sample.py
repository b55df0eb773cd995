"""The entrance for returns of any kind: they are checked, rounded to the safe side and padded once, for every question.

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
from jaxcert.numerics._rounding import Side, convert, convert_host, is_zero, known, most_whole
from jaxcert.returns._checks import check_counts, check_returns, checked_shapes, describe_index
from jaxcert.returns._paired import Paired
from jaxcert.returns._prepared import Needs, declared_support, returns_dtype, split_support, support_for
from jaxcert.returns._weighted import TaskWeights, Weighted
from jaxcert.returns.summaries import Histogram


class Apart(NamedTuple):
    """The two policies of a difference: samples of the returns of A and of the negated returns of B."""

    a: Any
    b: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the returns of A."""
        return self.a.values.shape


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class Sample:
    """Returns of a policy, or differences of two, of one float type and rounded down; a pytree.

    ``values`` are [..., n, m], or longer if padded; a summary of n tasks; or two samples, if the question is about the
    sum of their expected returns.
    """

    values: Any
    low: Any  # the ends of the support, rounded outwards
    high: Any
    where: Any  # which rollouts count, of the shape of the values; None if all that are there do
    num_tasks: Any  # n, int32
    num_rollouts: Any  # m, the most that a task has room for, int32
    weights: TaskWeights | None = None  # for tasks from another distribution
    padded: bool = dataclasses.field(default=False, metadata={"static": True})

    @property
    def is_full(self) -> bool:
        """Whether all tasks are known to have m rollouts."""
        return self.where is None and not isinstance(self.values, Histogram | Apart)

    @property
    def tasks(self) -> tuple[int, ...]:
        """The shape [..., n or more] of the tasks."""
        return self.values.shape[:-1]

    @property
    def dtype(self) -> np.dtype:
        """The float type of the computation."""
        return np.dtype(self.low.dtype)

    @property
    def mask(self) -> Any:
        """A mask of the values that are rollouts that count; None for all."""
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
        if isinstance(self.values, Apart):
            return self.replace(values=Apart(*(each.unpadded for each in self.values)), padded=False)
        n, m = int(self.num_tasks), int(self.num_rollouts)
        where = None if self.where is None else self.where[..., :n, :m]
        return self.replace(values=self.values[..., :n, :m], where=where, padded=False)

    @property
    def reflected(self) -> "Sample":
        """-X in (-b, -a); exact."""
        return self.replace(values=-self.values, low=-self.high, high=-self.low)

    @property
    def failing(self) -> "Sample":
        """Swap successes and failures, 0 and 1, within a program; any other value becomes NaN."""
        x = self.values
        return self.replace(values=jnp.where(is_zero(x), 1, jnp.where(x == 1, 0, jnp.nan)).astype(x.dtype))

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

    It is float[..., n, m] or bool, a summary, two policies (``paired``), or any of these with weights (``weighted``).
    ``of_tasks``: whether x has an axis of tasks, and has to pass the checks over all of them; ``first``: the index of
    x[0, ..., 0] in the caller's array, for messages; ``side``: to which returns are rounded.
    """
    where = automatic(where)
    if isinstance(x, Histogram):
        x = jax.tree.map(automatic, x)
        with kept_readable(x):
            return _of_summary(needs, x, support, where, validate)
    if not needs.support:
        require_real("returns", x)
    if isinstance(x, Weighted):
        if not needs.weights:
            taken = "certify, certify_mean and certify_cvar take weights"
            raise ValueError(f"returns are weighted, for which this is not proven; {taken}")
        sample = sample_of(dataclasses.replace(needs, weights=False), x.returns, support, where, validate)
        return sample.replace(weights=x.prepared(int(sample.num_tasks), sample.tasks, sample.dtype, validate))
    if isinstance(x, Paired):
        from jaxcert.returns._differences import sample_of_pairs  # which are made of two samples

        return sample_of_pairs(needs, x, support, where, validate)
    return _of_array(needs, automatic(x), support, where, validate, of_tasks, first, side)


def _of_array(
    needs: Needs, x: Any, support: Any, where: Any, validate: bool, of_tasks: bool, first: tuple[int, ...], side: Side
) -> Sample:
    x, where = checked_shapes(x, where, of_tasks=of_tasks)
    dtype, ends = returns_dtype(x), (-np.inf, np.inf)
    if needs.support:
        num_returns = math.prod(x.shape[-2:]) if of_tasks else 0
        declared = declared_support(needs, x, support)
        ends = support_for(needs, declared, dtype if validate else None, num_returns=num_returns)
    shapes = _padded_shapes(x, where, ends, validate) if needs.padded else None
    if shapes is not None:
        x, where = np.asarray(x), None if where is None or np.asarray(where).all() else np.asarray(where)
    elif isinstance(x, np.ndarray) and x.dtype == bool:
        with jax.ensure_compile_time_eval():  # also exact there, and checked by all threads
            x, where = jax.device_put((x, where))
    n, m = (1, *x.shape)[-2:]
    if m < needs.min_rollouts:
        found = f"{m} rollout{'s' * (m > 1)} per task"
        raise ValueError(f"returns have {found}; {needs.name} needs at least {needs.min_rollouts}")
    if validate:
        check_counts(needs, where, first)
        # Host values are checked before they are rounded, which would move some into the support.
        check_returns(x, *ends, where, binary=needs.binary, first=first, axes=of_tasks)
    values: Any = (convert if shapes is None else convert_host)(x, dtype, side)
    if shapes is not None:
        # Successes of tasks with their own numbers of rollouts are coins of their own, for which the work grows with
        # their square.
        shape = shapes[needs.costly or where is not None]
        values, where = padded_to(values, shape), None if where is None else padded_to(where, shape)
    # Outwards, or to nearest where returns are only compared with 0 and 1.
    sides: tuple[Side, Side] = ("nearest", "nearest") if needs.binary else ("down", "up")
    low, high = (known(end, dtype, side) for end, side in zip(ends, sides, strict=True))
    return Sample(values, low, high, where, np.int32(n), np.int32(m), padded=shapes is not None)


def numbers_as_sample(values: jax.Array, low: jax.Array, high: jax.Array, where: jax.Array | None = None) -> Sample:
    """Numbers [..., m] that were computed, each a rollout of its own, within a program."""
    n, m = (1, *values.shape)[-2:]
    return Sample(values, low, high, where, np.int32(n), np.int32(m))


def sample_of_numbers(values: Any) -> Sample:
    """One known number of each task, [..., n, 1], in front of a padding of -inf where there are few."""
    shape = (*values.shape[:-1], power_of_two(values.shape[-1], _FEWEST_TASKS))
    padded = isinstance(values, np.ndarray) and math.prod(shape) <= _MOST
    held = padded_to(values, shape, -np.inf) if padded else values
    low, high = (np.asarray(end, values.dtype) for end in (-np.inf, np.inf))
    return Sample(held[..., None], low, high, None, np.int32(values.shape[-1]), np.int32(1), padded=padded)


# --- padding ------------------------------------------------------------------------------------------------------

# Returns with their padding: beyond, it takes longer than it is worth.
_MOST = 2**17
_FEWEST_TASKS, _FEWEST_COSTLY, _FEWEST_ROLLOUTS, _FEWEST_ROWS = 512, 32, 128, 16


def _padded_shapes(x: Any, where: Any, ends: Any, validate: bool) -> list[tuple[int, ...]] | None:
    """The usual shape with a padding, and that for costly tasks; None for returns that get none.

    Few enough do, that can be read here and may be waited for.
    """
    arrays = [array for array in (x, where) if isinstance(array, jax.Array)]
    if not is_concrete(x, where, ends) or (arrays and not validate):
        return None
    if not all(array.sharding.device_set == {jax.devices()[0]} for array in arrays):
        return None
    *batch, n, m = (1, *x.shape) if x.ndim == 1 else x.shape
    rows = [power_of_two(n, fewest) for fewest in (_FEWEST_TASKS, _FEWEST_COSTLY)]
    found = [(*batch, *(row,) * (x.ndim > 1), power_of_two(m, _FEWEST_ROLLOUTS)) for row in rows]
    return found if math.prod(found[0]) <= _MOST else None


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


def padded_rows(row: Any, sample: Sample, fewest: int = _FEWEST_ROWS) -> Any:
    """Known numbers [t] that were fixed beforehand, in front of repetitions of the last, where the sample is padded."""
    if not (sample.padded and isinstance(row, np.ndarray)):
        return row
    return padded_to(row, (power_of_two(len(row), fewest),), row[-1])


Tree = TypeVar("Tree")


def placed(tree: Tree) -> Tree:
    """Move host arrays to the device in one explicit transfer, which a transfer guard allows; leave others alone."""
    leaves, structure = jax.tree.flatten(jax.tree.map(automatic, tree))
    host = [i for i, leaf in enumerate(leaves) if isinstance(leaf, np.ndarray | np.generic)]
    if is_concrete(leaves):
        for i, leaf in zip(host, jax.device_put([leaves[i] for i in host]), strict=True):
            leaves[i] = leaf
    return jax.tree.unflatten(structure, leaves)


# --- summaries ----------------------------------------------------------------------------------------------------


def _of_summary(needs: Needs, summary: Histogram, support: Any, where: Any, validate: bool) -> Sample:
    """A summary holds its support and has checked its returns."""
    if not needs.support:
        raise ValueError(f"returns are a summary, without single rollouts; {needs.name} needs an array")
    if where is not None:
        raise ValueError("where is for returns; a summary holds the rollouts that count")
    if needs.binary and summary.values.shape != (2,):
        raise ValueError(f"{needs.name} needs success counts; expected a Histogram with num_bins=1 on (0, 1)")
    held = summary.low, summary.high
    if support is not None and is_concrete(held, split_support(support)):
        low, high = map(float, held)
        if (known(support[0], summary.dtype, "down"), known(support[1], summary.dtype, "up")) != (low, high):
            raise ValueError(f"support is {support}; the summary has ({low:g}, {high:g})")
    support_for(needs, held)
    if validate and is_concrete(summary):
        count, valid = np.asarray(summary.num_rollouts), np.asarray(summary.valid)
        if not valid.any(axis=-1).all():
            raise ValueError("the summary met a return outside the support, or more than it counts: no task is valid")
        for bad, what in (
            (~valid, "met a return that is no number, or more than it counts"),
            (count < needs.min_rollouts, f"has too few rollouts; {needs.name} needs at least {needs.min_rollouts}"),
            (count > most_rollouts(summary.dtype), f"has more rollouts than {summary.dtype} can count"),
        ):
            if bad.any():
                raise ValueError(f"task {describe_index(np.argwhere(bad)[0])} of the summary {what}")
    most = jnp.max(summary.num_rollouts).astype(np.int32)
    return Sample(summary, *held, None, np.int32(summary.valid.shape[-1]), most)


def most_rollouts(dtype: np.dtype) -> int:
    """How many rollouts the float type can count, as far as int32 can hold them."""
    return min(most_whole(dtype), 2**31 - 1)
