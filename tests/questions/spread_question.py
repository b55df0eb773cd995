"""A question with an answer of its own, as an example: the spread of performances over tasks.

``tests/test_contributing.py`` adds it to a copy of the package as ``jaxcert/certificates/_spread.py``.
"""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._types import Array, Numeric
from jaxcert._validation import check_open_unit, require_real
from jaxcert.certificates._access import Answer
from jaxcert.certificates._certificate import EXPECTED_RETURN, Status
from jaxcert.certificates._figures import Told, ceil_figures, floor_figures, nothing, short_figures
from jaxcert.certificates._interval import half_of
from jaxcert.certificates._question import Option, Question, Rows
from jaxcert.certificates._safety_level import certify_safety_level
from jaxcert.numerics._rounding import complement_up
from jaxcert.returns._prepared import Support, probability, returns_dtype, split_support


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SpreadCertificate(Answer):
    """The performances that the middle tasks span.

    With probability at least 1 - delta, at most a share ``tail`` of new tasks performs below ``lower``, and at most as
    large a share above ``upper``.
    """

    lower: jax.Array
    upper: jax.Array
    tail: jax.Array
    status: jax.Array
    delta: jax.Array
    num_tasks: int = dataclasses.field(metadata={"static": True})
    bound: str = dataclasses.field(metadata={"static": True})
    quantity: str = dataclasses.field(default=EXPECTED_RETURN, metadata={"static": True})

    question = "spread"
    _decimals: ClassVar = {**Answer._decimals, "tail": ceil_figures}

    def _told(self, index: int) -> Told:
        if self.status != Status.CERTIFIED:
            return nothing(f"the spread of the {self.quantity}", self._note(index))
        tail, upper = ceil_figures(float(self.tail)), ceil_figures(float(self.upper))
        return Told(
            f"of new tasks from the same distribution, at most a share of {tail} has an {self.quantity} "
            f"below {floor_figures(float(self.lower))}, and at most as many one above "
            f"{ceil_figures(float(self.upper), 7)}.",
            f"Between {short_figures(float(self.lower))} and {upper} on most new tasks",
            f"is the {self.quantity}, but for a share of {tail} at either end",
        )


def certify_spread(
    returns: Array,
    *,
    support: Support | None = None,
    delta: Numeric,
    tail: Numeric = 0.1,
    complete: bool = False,
    where: Array | None = None,
    validate: bool = True,
) -> SpreadCertificate:
    r"""Certify between which two performances all but a share ``tail`` of new tasks at either end lie.

    .. math:: P\big[\, P_{M \sim D}[J_M < A] \le q \ \text{and}\ P_{M \sim D}[J_M > B] \le q \,\big] \ge 1 - \delta

    Either end is ``certify_safety_level`` of a safety 1 - q at delta / 2; for B it is asked of -X in (-b, -a), so that
    every return has to be one of a whole rollout, as for ``certify_interval``.

    Args:
        returns: floats [..., n, m], as in ``certify``; no pairs, no summary.
        support: (a, b), as in ``certify``; both ends finite.
        delta: failure probability of both ends together, in (0, 1); a scalar.
        tail: q in (0, 1), fixed before the data are seen; a scalar.
        complete: True declares that each return is one of a whole rollout, of a finite horizon.
        where: as in ``certify``.
        validate: as in ``certify``; what cannot be checked fails closed, with ends of -inf and inf.

    Returns:
        A ``SpreadCertificate`` with arrays [...].

    Raises:
        ValueError: as ``certify``; without complete=True, or for returns of another type.

    Example:
        >>> import jaxcert
        >>> returns = jaxcert.sample_returns("cheetah")
        >>> print(certify_spread(returns, support=(0, 1000), delta=0.01, tail=0.2, complete=True))
        With confidence 0.99: of new tasks from the same distribution, at most a share of 0.2 has an expected return
        below 586.4..., and at most as many one above 935.3....
    """
    if complete is not True:
        raise ValueError(f"complete is {complete!r}; expected True: returns of prefixes have no upper bounds")
    require_real("returns", returns)
    values = returns if isinstance(returns, jax.Array) else np.asarray(returns)
    if not jnp.issubdtype(values.dtype, jnp.floating):
        raise ValueError(f"returns have dtype {values.dtype}; expected floats, since they are asked with both signs")
    low, high = split_support(support)
    dtype = returns_dtype(values)
    delta = probability("delta", delta, dtype, "down", validate=validate, scalar=True)
    tail = probability("tail", tail, dtype, "down", validate=validate, scalar=True)
    settings = {"delta": half_of(delta), "bound": "betting", "method": "binomial", "where": where, "validate": validate}
    below = certify_safety_level(values, complement_up(tail), support=(low, high), **settings)
    above = certify_safety_level(-values, complement_up(tail), support=(-high, -low), **settings)
    lower, upper = below.thresholds[..., 0], -above.thresholds[..., 0]
    bad = (below.status == Status.INVALID_INPUT) | (above.status == Status.INVALID_INPUT)
    status = jnp.where(bad, Status.INVALID_INPUT.value, jnp.minimum(below.status, above.status))
    return SpreadCertificate(lower, upper, tail, status[..., 0], delta, below.num_tasks, below.bound)


SPREAD = Question(
    name="spread",
    words="between which two performances do the middle tasks lie?",
    function=certify_spread,
    rows=Rows(
        {"lower": "lower", "upper": "upper", "tail": "tail", "status": "status"},
        "lower",
        {"lower": min, "upper": max, "tail": max},
        {"tail": None},
    ),
    each=None,
    options=(
        Option("tail", float, "Share of tasks left out at either end", check=check_open_unit),
        Option("complete", bool, "Declare that each return is one of a whole rollout, of a finite horizon", True),
    ),
)
