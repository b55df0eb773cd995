"""The one door for a sample: returns, a summary of them, or pairs of two policies, as a bound uses them."""

from typing import Any

from jaxcert._validation import kept_readable
from jaxcert.bounds._bound import Bound
from jaxcert.bounds._pairs import check_pairs, paired_differences, prepare_both
from jaxcert.bounds._prepare_array import prepare_array, prepare_summary
from jaxcert.returns._prepared import Prepared
from jaxcert.returns._sample import Paired, Weighted
from jaxcert.returns.summaries import Summary


def prepare(
    bound: Bound,
    x: Any,
    support: Any,
    where: Any,
    validate: bool,
    *,
    certificate: bool = False,
    first: tuple[int, ...] = (),
) -> Prepared:
    """Check a sample for this bound and move it to the device, rounded to its safe sides.

    ``certificate``: whether the returns have an axis of tasks, and have to pass the checks over all tasks. ``first``:
    the index of x[0, ..., 0] in the caller's array, for messages.
    """
    if isinstance(x, Summary):
        with kept_readable(x):
            return prepare_summary(bound, x, support, where, validate)
    if isinstance(x, Weighted):
        raise ValueError(
            "returns are weighted, for which this is not proven; certify, certify_mean and certify_cvar take weights"
        )
    if isinstance(x, Paired):
        return _prepare_pairs(bound, x, support, where, validate)
    return prepare_array(bound, x, support, where, validate, certificate=certificate, first=first)


def _prepare_pairs(bound: Bound, pairs: Paired, support: Any, where: Any, validate: bool) -> Prepared:
    """The differences of two policies, rounded down, in [a - b, b - a]."""
    if where is not None:
        raise ValueError("where is for returns of one policy; pairs hold where_a and where_b")
    if bound.binary:
        raise ValueError(f"bound is {bound.name!r}, which is for binary returns; differences of them are not binary")
    both = prepare_both(pairs.returns_a, pairs.returns_b, support, pairs.where_a, pairs.where_b, validate, bound=bound)
    prepared = paired_differences(both)
    if validate:
        check_pairs(prepared, bound)
    return prepared
