"""The grid of a sweep, the settings whose combinations are certified, and the cells of its result."""

import collections
import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert._types import Numeric
from jaxcert._validation import check_finite, check_open_unit, is_count
from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._attained import ATTAINED
from jaxcert.certificates._figures import STATUSES, Status
from jaxcert.certificates._registry import COUNTING, METHODS

if TYPE_CHECKING:
    import pandas


@dataclasses.dataclass(frozen=True, init=False)
class Grid:
    """Settings of a sweep; every combination of them is certified, for every seed.

    Each axis is a sequence without repetition, or one value.

    Attributes:
        thresholds: wanted expected returns B, fixed before the data are seen.
        bounds: names of per-task bounds, as in ``certify``; None, until the returns are known, for its default.
        methods: names of methods, as in ``certify``, that count lower bounds, or "attained", which counts successes and
            has no other bound than "clopper_pearson"; None, until the returns are known, for the default.
        betas: failure probabilities of one lower bound, in (0, 1); None for the default of ``certify``, which depends
            on the method, delta and the number of tasks. "attained" then chooses one for each threshold.
        deltas: failure probabilities of a certificate, in (0, 1).
        budgets: pairs (n, m): certify from the first n tasks and the first m rollouts of each; None for all of them.

    Raises:
        ValueError: for an unknown name, an empty axis, a repeated or an impossible value, which the message names, and
            for a bound that one of the methods does not use.

    Example:
        >>> grid = Grid(thresholds=[0.5, 0.7], bounds=("betting", "dkw"), betas=(0.01, 0.05), deltas=0.01)
        >>> grid.bounds, grid.deltas
        (('betting', 'dkw'), (0.01,))
    """

    thresholds: tuple[float, ...]
    bounds: tuple[str, ...]
    methods: tuple[str, ...]
    betas: tuple[float | None, ...]
    deltas: tuple[float, ...]
    budgets: tuple[tuple[int, int], ...] | None

    def __init__(
        self,
        thresholds: Numeric | Sequence[float],
        bounds: str | Sequence[str] | None = None,
        methods: str | Sequence[str] | None = None,
        betas: float | Sequence[float | None] | None = None,
        deltas: Numeric | Sequence[float] = 0.01,
        budgets: Sequence[tuple[int, int]] | np.ndarray | None = None,
    ) -> None:
        pairs = "pairs (num_tasks, num_rollouts)"
        axes = {
            "thresholds": _axis("thresholds", thresholds, _number, "numbers"),
            "bounds": None if bounds is None else _names("bounds", bounds, tuple(BOUNDS)),
            "methods": None if methods is None else _names("methods", methods, (*COUNTING, ATTAINED.name)),
            "betas": _axis("betas", betas, lambda beta: None if beta is None else _number(beta), "numbers"),
            "deltas": _axis("deltas", deltas, _number, "numbers"),
            "budgets": None if budgets is None else _axis("budgets", budgets, _budget, pairs),
        }
        for name, values in axes.items():
            object.__setattr__(self, name, values)
        check_finite("thresholds", self.thresholds)
        check_open_unit("deltas", self.deltas)
        check_open_unit("betas", [0.5 if beta is None else beta for beta in self.betas])
        check_pairs(self.bounds or (), self.methods or ())


def check_pairs(bounds: tuple[str, ...], methods: tuple[str, ...]) -> None:
    """Raise ValueError for a bound without effect on a method, which every combination would hold."""
    for bound, method in itertools.product(bounds, methods):
        own = METHODS[method].bound
        if own is not None and own.name != bound:
            raise ValueError(
                f"bounds of the grid holds {bound!r}, which has no effect with method {method!r}; expected "
                f"{own.name!r} alone, and other bounds in a grid of their own"
            )


def _axis(name: str, values: Any, read: Callable[[Any], Any], expected: str) -> tuple:
    """The values of an axis as a tuple of what ``read`` makes of each; ValueError for none, and for one twice."""
    entries = (values,) if isinstance(values, str) or values is None or np.ndim(values) == 0 else tuple(values)
    if not entries:
        raise ValueError(f"{name} of the grid is empty; expected at least one value")
    found = []
    for entry in entries:
        try:
            found.append(read(entry))
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{name} of the grid holds {entry!r}; expected {expected}") from None
    twice = [value for value, count in collections.Counter(found).items() if count > 1]
    if twice:
        raise ValueError(f"{name} of the grid holds {twice[0]!r} twice; expected each value once")
    return tuple(found)


def _names(name: str, values: Any, known: tuple[str, ...]) -> tuple[str, ...]:
    return _axis(name, values, lambda entry: known[known.index(entry)], ", ".join(known))


def _number(value: Any) -> float:
    if isinstance(value, str | bytes | bool) or np.ndim(value) != 0:
        raise ValueError
    # In single precision, the decimal that was meant: 0.05, not 0.05000000074505806.
    return float(str(value) if getattr(value, "dtype", np.float64) != np.float64 else value)


def _budget(pair: Any) -> tuple[int, int]:
    if np.shape(pair) != (2,) or not all(map(is_count, pair)):
        raise ValueError
    return int(pair[0]), int(pair[1])


# --- the result ----------------------------------------------------------------------------------------------------

# The axes of a result, and its arrays.
_AXES = ("seed", "budget", "bound", "method", "beta", "delta", "threshold")
FIELDS = ("epsilon", "safety", "num_violations", "num_valid", "status")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SweepResult:
    """Certificates of a whole grid, on the host.

    Every array has the axes (seed, budget, bound, method, beta, delta, threshold), in the order of the grid.

    Attributes:
        grid: the settings.
        support: (a, b).
        budgets: pairs (n, m) of the budget axis.
        beta: the failure probabilities in use, [budgets, methods, betas, deltas]: the grid's, or the defaults; NaN for
            "attained" by default, which has a level for each threshold and seed.
        epsilon: certified risk.
        safety: certified P[J >= B] = 1 - epsilon, rounded down.
        num_violations: k.
        num_valid: K, as in ``Certificate``.
        status: codes of ``jaxcert.Status``.
    """

    grid: Grid
    support: tuple[float, float]
    budgets: tuple[tuple[int, int], ...]
    beta: np.ndarray
    epsilon: np.ndarray
    safety: np.ndarray
    num_violations: np.ndarray
    num_valid: np.ndarray
    status: np.ndarray

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {size}" for name, size in zip(_AXES, self.epsilon.shape, strict=True))
        certified = float(np.mean(self.status == Status.CERTIFIED)) if self.status.size else 0.0
        return f"SweepResult({self.epsilon.size} certificates, {sizes}; {100 * certified:.3g} % certified)"

    def to_frame(self) -> "pandas.DataFrame":
        """One row per certificate, seeds slowest and thresholds fastest; needs the extra "io".

        ``beta`` is the grid's value, or the default in use, NaN for "attained"; bound, method and status are
        categories.
        """
        pandas, shape = import_extra("pandas", "io"), self.epsilon.shape
        sizes = np.asarray(self.budgets, np.int32)
        seed, budget, bound, method, beta, delta, threshold = np.ogrid[tuple(slice(size) for size in shape)]
        given = np.asarray([np.nan if each is None else each for each in self.grid.betas])[beta]
        used = self.beta.astype(str).astype(np.float64)  # 0.05 where single precision holds 0.05000000074505806
        columns = {
            "seed": seed.astype(np.int32),
            "num_tasks": sizes[budget, 0],
            "num_rollouts": sizes[budget, 1],
            "bound": bound.astype(np.int8),
            "method": method.astype(np.int8),
            "beta": np.where(np.isnan(given), used[budget, method, beta, delta], given),
            "delta": np.asarray(self.grid.deltas)[delta],
            "threshold": np.asarray(self.grid.thresholds)[threshold],
            **{name: getattr(self, name) for name in FIELDS},
        }
        rows: dict[str, Any] = {name: np.broadcast_to(column, shape).ravel() for name, column in columns.items()}
        named = {"bound": self.grid.bounds, "method": self.grid.methods, "status": tuple(STATUSES)}
        for name, names in named.items():
            rows[name] = pandas.Categorical.from_codes(rows[name], list(names))
        return pandas.DataFrame(rows)
