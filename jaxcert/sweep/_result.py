"""The cells of a sweep, and how to select one."""

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert.certificates import Status
from jaxcert.sweep._grid import Grid

if TYPE_CHECKING:
    import pandas
    import xarray


# The arrays of a result.
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
        axes = zip(self.coordinates(), self.epsilon.shape, strict=True)
        sizes = ", ".join(f"{name}: {size}" for name, size in axes)
        certified = float(np.mean(self.status == Status.CERTIFIED)) if self.status.size else 0.0
        return f"SweepResult({self.epsilon.size} certificates, {sizes}; {100 * certified:.3g} % certified)"

    def coordinates(self) -> dict[str, np.ndarray]:
        """The labels of each axis; a default beta is NaN there, a budget is written "n x m"."""
        return {
            "seed": np.arange(self.epsilon.shape[0]),
            "budget": np.asarray([f"{n}x{m}" for n, m in self.budgets]),
            "bound": np.asarray(self.grid.bounds),
            "method": np.asarray(self.grid.methods),
            "beta": np.asarray([np.nan if beta is None else beta for beta in self.grid.betas]),
            "delta": np.asarray(self.grid.deltas),
            "threshold": np.asarray(self.grid.thresholds),
        }

    def to_xarray(self) -> "xarray.Dataset":
        """The arrays with their labels; needs the extra "io".

        Select methods by a mapping, ``data.sel({"method": "scenario"})``, since ``sel(method=...)`` is an option of
        xarray.
        """
        xarray = import_extra("xarray", "io")
        axes = tuple(self.coordinates())
        variables: dict[str, Any] = {name: (axes, getattr(self, name)) for name in FIELDS}
        variables["beta_used"] = (("budget", "method", "beta", "delta"), self.beta)
        sizes = np.asarray(self.budgets)
        labels = {**self.coordinates(), "num_tasks": ("budget", sizes[:, 0]), "num_rollouts": ("budget", sizes[:, 1])}
        return xarray.Dataset(variables, labels, attrs={"support": list(self.support)})

    def to_frame(self) -> "pandas.DataFrame":
        """One row per certificate, seeds slowest and thresholds fastest; needs the extra "io".

        ``beta`` is the grid's value, or the default in use, NaN for "attained"; bound, method and status are
        categories.
        """
        pandas = import_extra("pandas", "io")
        columns: dict[str, Any] = self.columns()
        for name, names in self.categories().items():
            columns[name] = pandas.Categorical.from_codes(columns[name], list(names))
        return pandas.DataFrame(columns)

    def categories(self) -> dict[str, tuple[str, ...]]:
        """The meaning of the codes in ``columns``."""
        status = tuple(each.name.lower() for each in sorted(Status, key=lambda each: each.value))
        return {"bound": self.grid.bounds, "method": self.grid.methods, "status": status}

    def columns(self, seeds: slice = slice(None)) -> dict[str, np.ndarray]:
        """The rows of ``to_frame``, for some seeds, with codes for the categories."""
        shape = self.epsilon[seeds].shape
        sizes = np.asarray(self.budgets, np.int32)
        seed, budget, bound, method, beta, delta, threshold = np.ogrid[tuple(slice(size) for size in shape)]
        given = self.coordinates()["beta"][beta]
        used = self.beta.astype(str).astype(np.float64)  # 0.05 where single precision holds 0.05000000074505806
        columns = {
            "seed": np.arange(len(self.epsilon), dtype=np.int32)[seeds][seed],
            "num_tasks": sizes[budget, 0],
            "num_rollouts": sizes[budget, 1],
            "bound": bound.astype(np.int8),
            "method": method.astype(np.int8),
            "beta": np.where(np.isnan(given), used[budget, method, beta, delta], given),
            "delta": np.asarray(self.grid.deltas)[delta],
            "threshold": np.asarray(self.grid.thresholds)[threshold],
            **{name: getattr(self, name)[seeds] for name in FIELDS},
        }
        columns["status"] = columns["status"].astype(np.int8)
        return {name: np.broadcast_to(column, shape).ravel() for name, column in columns.items()}
