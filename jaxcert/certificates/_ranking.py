"""The order of several policies by their mean performance; of single trials by the tasks on which they differ."""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert._validation import require_real
from jaxcert.bounds._bound import Bound
from jaxcert.certificates._answer import Answer
from jaxcert.certificates._averages import Averages, averages_of, mean_over_tasks, sum_of
from jaxcert.certificates._batch_axes import STATIC, along
from jaxcert.certificates._certificate import answer
from jaxcert.certificates._counting import status_where
from jaxcert.certificates._figures import nothing
from jaxcert.certificates._mean import mean_bound
from jaxcert.certificates._question import NO_ROWS, Question
from jaxcert.numerics._rounding import cast, in_unit, is_zero, next_down
from jaxcert.numerics._tails import limit
from jaxcert.returns._differences import apart
from jaxcert.returns._paired import refuse_summary
from jaxcert.returns._prepared import Support, as_successes, part_of, probability
from jaxcert.returns._sample import Apart, Needs, Sample, placed, sample_of


def discordant_bound(differences: jax.Array, delta: jax.Array) -> jax.Array:
    """Lower bound on the mean difference or on 0, whichever is smaller, from differences [..., n] of -1, 0 and 1.

    The differences may be rounded. With probability at least 1 - delta it is at most both; -inf for an invalid delta.
    """
    wins, losses = (jnp.sum(x > 0.5, axis=-1, dtype=np.int32) for x in (differences, -differences))
    counted = cast(wins, delta.dtype, "down", whole=True), cast(wins + losses, delta.dtype, "up", whole=True)
    # The first policy's share of wins among the tasks on which exactly one of the two succeeds.
    share = limit(counted[0], jnp.maximum(counted[1], 1), delta, upper=False)
    least = jnp.where(share >= 0.5, 0, jnp.maximum(next_down(2 * share - 1), -1))
    return jnp.where(in_unit(delta), least, -jnp.inf)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RankingCertificate(Answer):
    """The certified order of several policies; a pytree of arrays.

    With probability at least 1 - delta over the sampled tasks and rollouts, all of it holds at once: policy i's mean
    expected return over tasks from the same distribution is at least policy j's plus ``differences[i, j]``, and at
    least policy j's wherever ``order[i, j]``.

    Attributes:
        differences: at most the mean difference of policies i and j, and at most 0, float[..., p, p]; -inf where a
            return or delta is invalid.
        order: whether i is certified to be at least as good as j, directly or through others, bool[..., p, p]; no
            policy but itself where a return is invalid, since they share the support that it refutes.
        status: codes of ``Status``, int32[...].
        delta: failure probability of all of it together, a scalar.
        num_tasks: n (static).
        bound: name of the bound over the tasks (static).
    """

    differences: jax.Array = dataclasses.field(metadata=along("policy", "other", column="difference"))
    order: jax.Array = dataclasses.field(metadata=along("policy", "other"))
    status: jax.Array
    delta: jax.Array
    num_tasks: int = dataclasses.field(metadata=STATIC)
    bound: str = dataclasses.field(metadata=STATIC)

    question = "ranking"

    def _lines(self) -> list[str]:
        others = {i: [str(j) for j in np.flatnonzero(row) if j != i] for i, row in enumerate(np.asarray(self.order))}
        lines = [
            f"policy {i} is at least as good as polic{'y' if len(js) == 1 else 'ies'} {', '.join(js)}"
            for i, js in others.items()
            if js
        ]
        if not lines:
            return [f"{self._start}: {nothing('the order of the policies', self._note(0))}"]
        return [f"{self._start}: over new tasks from the same distribution, on average,", ";\n".join(lines) + "."]


def certify_ranking(
    returns: Array,
    *,
    support: Support | None = None,
    delta: Numeric,
    bound: str | None = None,
    where: Array | None = None,
    validate: bool = True,
) -> RankingCertificate:
    r"""Certify the order of several policies by their mean expected return over tasks, as far as the data show it.

    Every policy i is compared with every other j, with the bound of ``certify_mean_difference`` at one level:

    .. math:: P\big[\, E[J^i - J^j] \ge \min(0, L_{ij}) \text{ for all } i \ne j \,\big] \ge 1 - \delta, \qquad
              L_{ij} \text{ at level } \frac{\delta}{p (p - 1) / 2},

    and i is at least as good as j wherever L_ij >= 0, or where other policies link them. There are p (p - 1) bounds but
    half as many ways to fail: of the two directions of a pair, at most one can be claimed falsely. Two policies
    therefore cost nothing, and how many claims are made does not matter.

    With one trial per task, an array of bool with m = 1, the test is exact: only the tasks count on which exactly one
    of two policies succeeds, and i is at least as good as j if fair coins would win as many of them as i does with a
    probability of at most that level (McNemar's exact test).

    Args:
        returns: float[..., p, n, m], m rollouts of each of p policies on the same n i.i.d. tasks, in the same order.
        support, validate: as in ``certify_mean_difference``.
        delta: failure probability of all claims together, in (0, 1); a scalar.
        bound: "betting" or "hoeffding", as in ``certify_mean``, or "clopper_pearson" for one return of 0 or 1 per task.
            The last is the default for an array of bool with m = 1, betting for others.
        where: bool[..., p, n, m], as in ``certify``. Policies with fewer rollouts than others are filled up and masked.

    Returns:
        A ``RankingCertificate`` with arrays [..., p, p].

    Raises:
        ValueError: as ``certify_mean_difference``, for fewer than two policies, and for "clopper_pearson" with other
            returns than one 0 or 1 per task.

    Example:
        >>> import numpy as np
        >>> import jaxcert
        >>> cheetah = jaxcert.sample_returns("cheetah")
        >>> found = certify_ranking(np.stack([0.8 * cheetah, cheetah, 0.79 * cheetah]), support=(0, 1000), delta=0.01)
        >>> print(found)
        With confidence 0.99: over new tasks from the same distribution, on average,
        policy 1 is at least as good as policies 0, 2.

    Reference: the theory page, section 18; its equations (18.3) and (18.4).
    """
    returns = as_successes(returns, support, where, bound)
    chosen = mean_bound(bound, returns)
    refuse_summary("returns", returns)
    require_real("returns", returns)
    shape = np.shape(returns)
    if len(shape) < 3 or shape[-3] < 2:
        raise ValueError(
            f"returns have shape {shape}; expected [..., num_policies, num_tasks, num_rollouts] of two policies or more"
        )
    # Each policy as policy A of a difference, and as policy B.
    needs = Needs("a difference", needs_width=True, binary=chosen.binary)
    a, b = (sample_of(needs, returns, support, where, validate, side=side) for side in ("down", "up"))
    each = apart(Apart(a, b.reflected))
    rounded = probability("delta", delta, each.dtype, "down", validate=validate, scalar=True)
    num_pairs = math.comb(shape[-3], 2)
    level = part_of(rounded, np.asarray(1 / num_pairs, each.dtype))
    fields = _ranking(chosen, *placed((each, level))) | {"delta": rounded}
    return answer(RankingCertificate, fields, each.num_tasks, bound=chosen.name)


def _spread(averages: Averages, axis: int) -> Averages:
    by_task = {name: jnp.expand_dims(getattr(averages, name), axis) for name in ("excess", "valid", "there")}
    return averages._replace(**by_task)


@functools.partial(jax.jit, static_argnums=0)
def _ranking(bound: Bound, each: Sample, level: jax.Array) -> dict:
    first, second = map(averages_of, each.values)
    # For each ordered pair of policies, the difference of their averages less its least value: [..., p, p, n].
    crossed = sum_of(_spread(first, -2), _spread(second, -3))
    p, good = crossed.excess.shape[-2], jnp.all(crossed.valid, axis=(-3, -2, -1))
    if bound.binary:
        differences = jnp.where(crossed.there, crossed.excess - crossed.width / 2, 0)
        returns = each.values.a.values  # a padding is 0
        good = good & jnp.all(is_zero(returns) | (returns == 1), axis=(-3, -2, -1))
        lower = discordant_bound(differences, level)
    else:
        there = crossed.there if each.padded else None
        lower = mean_over_tasks(bound, crossed.excess, level, jnp.zeros_like(each.low), crossed.width, there)
        lower = next_down(lower + each.low)
    lower = jnp.where(good[..., None, None], lower, -jnp.inf)
    itself = jnp.broadcast_to(jnp.eye(p, dtype=bool), lower.shape)
    differences = jnp.where(itself, 0, jnp.minimum(lower, 0))
    differences = jnp.where(jnp.isneginf(lower), -jnp.inf, differences)
    order = linked(itself | (lower >= 0))
    claims = jnp.any(order & ~itself, axis=(-2, -1))
    good = ~jnp.any(jnp.isneginf(lower), axis=(-2, -1))
    return {"differences": differences, "order": order, "status": status_where(claims, good)}


def linked(order: jax.Array) -> jax.Array:
    """The transitive closure of a relation, [..., p, p]."""
    for _ in range(math.ceil(math.log2(order.shape[-1]))):
        order = jnp.any(order[..., :, :, None] & order[..., None, :, :], axis=-2)
    return order


RANKING = Question(
    name="ranking",
    words="in which order are several policies on average over new tasks?",
    function=certify_ranking,
    rows=NO_ROWS,
    each=None,
)
