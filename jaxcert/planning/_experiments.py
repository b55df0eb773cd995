"""The smallest experiment, on two policies or on a list, that is sure to have the wanted power.

A size that suffices in some imagined experiments was lucky in them. So it is tried in sixteen times as many fresh
experiments, and so are sizes up to twice as large. The smallest size whose Clopper-Pearson limit reaches the wanted
power is taken. These sizes are fixed before the fresh experiments are drawn, and the limits hold for all of them
together with 95 % confidence.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxcert.bounds._betting import BETTING
from jaxcert.numerics._rounding import cast
from jaxcert.planning._designs import bounds_of_first
from jaxcert.planning._goals import doubted
from jaxcert.planning._least_tasks import least_number
from jaxcert.planning._plan import Design, Plan, table_of
from jaxcert.planning._search import TIMES, least_share

# Experiments that are imagined at once.
REPEATS = 200
# Failure probability of a limit that allows for a lucky pilot, and bets.
_DOUBT, _BETS = 0.05, (0.01, 0.125, 0.25, 0.5)
# Sizes around the one that was found.
_LARGER = (1, 1.02, 1.04, 1.07, 1.1, 1.15, 1.2, 1.3, 1.5, 2)


class Experiments(NamedTuple):
    """Simulated experiments; the certificate takes a part of each."""

    # From a generator, how many and a size to returns or differences [experiments, ..., size * unit].
    draw: Callable[[np.random.Generator, int, int], np.ndarray]
    # From these and a smaller size to which experiments certify what is wanted with that size.
    certified: Callable[[np.ndarray, int], np.ndarray]
    most: int  # the largest size
    unit: int = 1  # how many numbers in a row an experiment of size one has
    least_length: int = 256  # fewer numbers in a row would only compile more programs
    most_fresh: int = 2**24  # how many numbers all fresh experiments may have

    def drawn(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Some experiments, padded to one of a few lengths, so that one program serves them."""
        found = self.draw(rng, REPEATS, size)
        length = max(1 << (found.shape[-1] - 1).bit_length(), self.least_length)
        return np.pad(found.astype(np.float32), [(0, 0)] * (found.ndim - 1) + [(0, length - found.shape[-1])])

    def fresh(self, rng: np.random.Generator, size: int) -> list[np.ndarray]:
        """Draw as many batches as the limit allows."""
        first = self.drawn(rng, size)
        count = self.most_fresh // first[..., : size * self.unit].size
        return [first, *(self.drawn(rng, size) for _ in range(min(max(count, 1), TIMES) - 1))]


def fewest(experiments: Experiments, power: float, seed: tuple[int, ...], num_claims: int = 1) -> int:
    """A size that certifies the goal in at least this share of cases; 0 if no size up to the limit is sure to.

    This holds with 95 % confidence in the simulation, for all of these claims together.
    """
    for most in (max(experiments.most // 8, 1), experiments.most):
        first = experiments.drawn(np.random.default_rng(seed), most)

        def often(size: int, first: np.ndarray = first) -> bool:
            return bool(np.mean(experiments.certified(first, size)) >= power)

        if found := least_number(often, 0, most):
            return _sure(experiments, found, power, seed, num_claims)
    return 0


def _sure(experiments: Experiments, found: int, power: float, seed: tuple[int, ...], num_claims: int) -> int:
    """The first size, from the found one upwards, that passes in fresh experiments."""
    sizes = sorted({min(int(np.ceil(factor * found)), experiments.most) for factor in _LARGER})
    fresh = experiments.fresh(np.random.default_rng([*seed, 1]), sizes[-1])
    for size in sizes:
        passed = np.concatenate([experiments.certified(part, size) for part in fresh])
        if least_share(passed, num_claims * len(sizes)) >= power:
            return size
    return 0


class Margin(NamedTuple):
    """Certificates for two policies: a margin c between their means, from differences in sequence."""

    margin: float  # c
    width: float  # b - a, of the support of either policy
    delta: float  # failure probability of the certificate
    unit: int = 1  # how many differences a size of one has: a task has one, a trial of a list one of each of its tasks

    def __call__(self, differences: np.ndarray, size: int) -> np.ndarray:
        dtype = np.dtype(np.float32)
        width, delta = cast(self.width, dtype, "up"), cast(self.delta, dtype, "down")
        lower = bounds_of_first(BETTING, jnp.asarray(differences), np.int32(size * self.unit), -width, width, delta)
        return np.asarray(lower) >= self.margin


def unlucky(draw: Callable[..., np.ndarray], pilot: np.ndarray, wish: Margin) -> Callable[..., np.ndarray]:
    """Draws the same with the worst in place of a share of them, if a pilot's differences [units, repeats] were lucky.

    A certificate adds up evidence: a difference d is worth ln(1 - bet + bet (d + w) / (c + w)). With this share the
    mean evidence is at most its lower confidence limit, for each of several bets. The smallest bet does the same for
    the mean of d.
    """
    worth = (pilot.astype(np.float64) + wish.width) / (wish.margin + wish.width)
    most, kept = 2 * wish.width / (wish.margin + wish.width), []
    for bet in _BETS:
        least, largest = np.log1p(-bet), np.log1p(bet * (most - 1))
        share = np.clip((np.log1p(bet * (worth - 1)) - least) / (largest - least), 0, 1).mean(axis=1)
        kept.append(float(doubted(share, _DOUBT)) / max(float(share.mean()), 1e-9))

    def drawn(rng: np.random.Generator, num_repeats: int, size: int) -> np.ndarray:
        found = draw(rng, num_repeats, size)
        is_kept = rng.random(found.shape, dtype=np.float32) < min(*kept, 1.0)
        return np.where(is_kept, found, np.float32(-wish.width))

    return drawn


DOUBTED = "pessimistic: if the pilot was luckier than tasks and trials in general, at 95 % confidence"


def enough(like: int, sure: int | None, power: float, design: Callable[[int], Design]) -> list[Design]:
    """The designs of two sizes, one for tasks like the pilot's and one that holds if these were lucky; 0 has none."""
    held = {like: None} | ({sure: power} if sure else {})
    return [dataclasses.replace(design(size), least=power, pessimistic=each) for size, each in held.items() if size]


def plan_of(
    designs: Sequence[Design], *, heading: str, none: str, remarks: Sequence[str], power: float, own: str
) -> Plan:
    """The plan with these designs. ``none`` is what it says without any, ``own`` in what a pilot may be lucky."""
    ordered = sorted(designs, key=lambda design: (design.pessimistic is None, design.cost))
    doubted = [DOUBTED] if own and ordered else []
    return Plan(
        heading=heading,
        notice=_doubt(ordered[0], power, own) if ordered else none,
        table=table_of(ordered),
        remarks=("at least: the power at 95 % confidence in fresh simulations", *doubted, *remarks),
        designs=tuple(ordered),
        power=float(power),
    )


def _doubt(first: Design, power: float, own: str) -> str:
    """Whether the first design has the power even if the pilot was lucky; empty without a pilot."""
    if not own:
        return ""
    if first.pessimistic is not None:
        return f"The first design has power {power:g} even if the pilot was lucky (pessimistic)."
    like = f"power {power:g} if {own} in general are like its own, less if these were lucky (pessimistic)"
    return f"The pilot cannot tell: {like}. A larger pilot helps."
