"""Exact values to compare a device with, where there is no interval arithmetic.

``reference.csv`` beside this file holds them, each as a sum of two float64, good to 2**-95 (bets to 2**-50), which
``tests/benchmarks/test_gpu_benchmark.py`` proves by interval arithmetic. Arguments are numbers of float32, so that one
table serves both precisions.
"""

import csv
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

TABLE = Path(__file__).with_name("reference.csv")
SUPPORTS = ((0.0, 1.0), (-4.0, 4.0))
BOUNDS = ("hoeffding", "empirical_bernstein", "dkw", "betting")


class Case(NamedTuple):
    """A function, its arguments, and its exact value."""

    function: str
    arguments: tuple[float, ...]
    exact: Fraction


def read() -> dict[str, list[Case]]:
    """The cases of each function."""
    cases: dict[str, list[Case]] = {}
    with TABLE.open() as file:
        for name, *numbers in csv.reader(file):
            *arguments, high, low = map(float.fromhex, numbers)
            cases.setdefault(name, []).append(Case(name, tuple(arguments), Fraction(high) + Fraction(low)))
    return cases


def returns(m: int, kind: int, support: tuple[float, float]) -> np.ndarray:
    """Returns of one task, [m]: multiples of 2**-10 of the width, spread out, close together or at the ends."""
    step = (np.arange(m) * 7919 + 13 * kind) % 1025
    share = (step, 900 + step % 100, np.where(step < 600, 1024, 0))[kind] / 1024
    return (support[0] + share * (support[1] - support[0])).astype(np.float32)
