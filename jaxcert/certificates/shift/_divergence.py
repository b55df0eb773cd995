"""The description of a divergence between two distributions of tasks."""

import dataclasses
from collections.abc import Callable

import jax


@dataclasses.dataclass(frozen=True)
class Divergence:
    """How far the distribution of new tasks, D', is from the sampled one, D; hashable.

    Attributes:
        name: as in ``shifted_epsilon(divergence=...)``.
        distribution: a new task's distribution in words, with "{}" for the radius and for the one that it is near.
        least: the radius at which D' is D.
        largest: the largest radius that there is.
        enlarge: (epsilon, radius) -> the largest D'(A) with D(A) = epsilon within the radius, or more than 1 where that
            is 1; elementwise, for epsilon in (0, 1) and larger radii than ``least``. Never below the exact value.
        keeps_null: whether D(A) = 0 implies D'(A) = 0; otherwise the radius is what D'(A) can be.
        chain: (radius, one from there on) -> the radius of both together, rounded up; None where such distributions lie
            within no radius of this divergence.
    """

    name: str
    distribution: str
    least: float
    largest: float
    enlarge: Callable[[jax.Array, jax.Array], jax.Array]
    keeps_null: bool = True
    chain: Callable[[jax.Array, jax.Array], jax.Array] | None = None

    @property
    def expected(self) -> str:
        """Which radii there are, in words."""
        if self.largest < float("inf"):
            return f"a number from {self.least:g} to {self.largest:g}"
        return f"a finite number of at least {self.least:g}"
