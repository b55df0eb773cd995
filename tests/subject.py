"""A public function as one of arrays alone, and the arrays with which such functions are called."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from conftest import x64_context


@dataclasses.dataclass(frozen=True)
class Subject:
    """A public function as one of arrays alone, with two sets of arguments of the same shapes.

    Attributes:
        function: takes the arguments in their order.
        arguments: host arrays and Python numbers, as a user gives them; or what computes them.
        others: the same with other values.
        dtype: of the floats that come out, or of all if there are none; that of the arguments by default.
    """

    function: Callable
    arguments: tuple | Callable[[], tuple]
    others: tuple | Callable[[], tuple]
    dtype: str | None = None

    def sets(self) -> tuple[tuple, tuple]:
        """Both sets of arguments."""
        with x64_context(False):  # the same in every precision
            first, second = (a() if callable(a) else a for a in (self.arguments, self.others))
        return first, second


RNG = np.random.default_rng(0)
RETURNS = [RNG.uniform(0.3, 1, (8, 6)) for _ in range(2)]
HITS = [np.round(x) for x in RETURNS]
MASKS = [np.arange(6) < RNG.integers(3, 7, (8, 1)) for _ in range(2)]
LEVELS = (np.array([0.2, 0.4]), np.array([0.1, 0.5]))
SAFETIES = (np.array([0.3, 0.6]), np.array([0.5, 0.7]))
NAMES = ("betting", "clopper_pearson", "dkw", "empirical_bernstein", "hoeffding")
KEYS = [jax.random.key(seed) for seed in (0, 1)]
WORST = [x.min(axis=-1) for x in RETURNS]
OTHERS = [x[:, :4] for x in RETURNS[::-1]]
# Two values of arguments with these names.
USUAL = dict.fromkeys(("returns", "returns_a", "x"), RETURNS) | {"lower_bounds": WORST, "where": MASKS}
USUAL |= {"thresholds": LEVELS, "safety": SAFETIES, "low": (0.0, -1.0), "high": (1.0, 2.0)}
USUAL |= {"beta": (0.01, 0.012), "delta": (0.1, 0.2)}


def of(function: Callable, names: str, **settings: Any) -> Subject:
    """A function of the arguments with these names, ``low`` and ``high`` its support.

    ``settings`` has two values of an argument that is named and has not the usual ones, and what is fixed.
    """
    each = names.split()
    fixed = {name: value for name, value in settings.items() if name not in each}

    def call(*values, **validate):
        given = dict(zip(each, values, strict=True))
        if "low" in given:
            given["support"] = given.pop("low"), given.pop("high")
        return function(**given, **fixed, **validate)

    first, second = zip(*((USUAL | settings)[name] for name in each), strict=True)
    return Subject(call, first, second)
