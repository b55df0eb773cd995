"""The smallest experiment, on two policies or on a list, that is sure to have the wanted power.

A size that suffices in some imagined experiments was lucky in them. So it is tried in sixteen times as many fresh
experiments, and so are sizes up to twice as large. The smallest size whose Clopper-Pearson limit reaches the wanted
power is taken. These sizes are fixed before the fresh experiments are drawn, and the limits hold for all of them
together with 95 % confidence.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.bounds import betting
from jaxcert.bounds._bound import evaluate
from jaxcert.bounds._registry import BOUNDS
from jaxcert.numerics._rounding import cast
from jaxcert.planning._goals import doubted
from jaxcert.planning._least_tasks import least_number
from jaxcert.planning._plan import Design, Plan
from jaxcert.planning._search import TIMES, least_share
from jaxcert.returns._sample import numbers_as_sample

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


def with_failures(draw: Callable[..., np.ndarray], kept: float, worst: float) -> Callable[..., np.ndarray]:
    """Draws the same, but that only this share is kept, and the others are the worst."""

    def drawn(rng: np.random.Generator, num_repeats: int, size: int) -> np.ndarray:
        found = draw(rng, num_repeats, size)
        return np.where(rng.random(found.shape, dtype=np.float32) < kept, found, np.float32(worst))

    return drawn


class Margin(NamedTuple):
    """Certificates for two policies: a margin c between their means, from differences in sequence."""

    margin: float  # c
    width: float  # b - a, of the support of either policy
    delta: float  # failure probability of the certificate
    unit: int = 1  # how many differences a size of one has: a task has one, a trial of a list one of each of its tasks

    def __call__(self, differences: np.ndarray, size: int) -> np.ndarray:
        dtype = np.dtype(np.float32)
        given = jnp.asarray(differences), cast(self.width, dtype, "up"), cast(self.delta, dtype, "down")
        return np.asarray(_lower(*given, np.int32(size * self.unit))) >= self.margin


def kept_if_lucky(differences: np.ndarray, wish: Margin) -> float:
    """The share of differences to keep, with the worst in place of the others, if a pilot [units, repeats] was lucky.

    A certificate adds up evidence: a difference d is worth ln(1 - bet + bet (d + w) / (c + w)). With this share the
    mean evidence is at most its lower confidence limit, for each of several bets. The smallest bet does the same for
    the mean of d.
    """
    worth = (differences.astype(np.float64) + wish.width) / (wish.margin + wish.width)
    most, kept = 2 * wish.width / (wish.margin + wish.width), []
    for bet in _BETS:
        least, largest = np.log1p(-bet), np.log1p(bet * (most - 1))
        share = np.clip((np.log1p(bet * (worth - 1)) - least) / (largest - least), 0, 1).mean(axis=1)
        kept.append(float(doubted(share, _DOUBT)) / max(float(share.mean()), 1e-9))
    return min(*kept, 1.0)


@jax.jit
def _lower(differences, width, delta, count) -> jax.Array:
    """Lower bounds on the mean from the first differences of each row."""
    mask: Any = jnp.broadcast_to(jnp.arange(differences.shape[-1]) < count, differences.shape)
    return evaluate(BOUNDS[betting.__name__], numbers_as_sample(differences, -width, width, mask), delta)


DOUBTED = "pessimistic: if the pilot was luckier than tasks and trials in general, at 95 % confidence"


class Size(NamedTuple):
    """How many tasks are enough with these rollouts, or how many rollouts of these tasks; 0 where none are.

    ``like``: enough for tasks like those of the pilot. ``sure``: enough even if these were luckier; None without a
    pilot.
    """

    like: int
    sure: int | None
    beside: int  # the known number of rollouts or, of a list, of tasks
    listed: bool
    num_policies: int = 2

    @property
    def holds(self) -> bool:
        return self.sure != 0

    @property
    def size(self) -> int:
        return self.sure or self.like

    @property
    def all_rollouts(self) -> int:
        return self.num_policies * self.size * self.beside

    def design(self, name: str, power: float) -> Design:
        n, m = (self.beside, self.size) if self.listed else (self.size, self.beside)
        doubted = power if self.sure else None
        return Design(name, n, m, None, None, m, float(self.all_rollouts), power, least=power, pessimistic=doubted)


def plan_of(
    sizes: Sequence[Size], *, heading: str, notice: str = "", remarks: Sequence[str], most: int, name: str, power: float
) -> Plan:
    """The plan with these sizes, of a certificate that a design of that name has; ``notice``: in place of the doubt."""
    ordered = sorted(sizes, key=lambda size: (not size.holds, size.all_rollouts or np.inf))
    doubted = [DOUBTED] if any(size.sure is not None for size in sizes) else []
    return Plan(
        heading=heading,
        notice=notice or _doubt(ordered[0], power),
        table=_table(ordered, most),
        remarks=("in at least so many cases: at 95 % confidence in fresh simulations", *doubted, *remarks),
        designs=tuple(size.design(name, power) for size in ordered if size.size),
        power=float(power),
    )


def _table(sizes: Sequence[Size], most: int) -> dict[str, list[str]]:
    """A row for each; ``most``: the largest size that was tried."""
    listed, of_each = sizes[0].listed, f"rollouts of {'either' if sizes[0].num_policies > 1 else 'each'}"
    known, found = ("tasks", of_each) if listed else (of_each, "tasks")

    def shown(size: int | None) -> str:
        return f"{size:,}" if size else f"> {most:,}"

    columns = {known: [f"{size.beside:,}" for size in sizes], found: [shown(size.like) for size in sizes]}
    if any(size.sure is not None for size in sizes):
        columns |= {f"{found} (pessimistic)": [shown(size.sure) for size in sizes]}
    order = sorted(columns, key=lambda name: not name.startswith(of_each))
    total = {"rollouts in all": [f"{size.all_rollouts:,}" if size.size else "" for size in sizes]}
    return {name: columns[name] for name in order} | total


def _doubt(first: Size, power: float) -> str:
    """Whether the first design has the power even if the pilot was lucky; empty without a pilot, or a design."""
    if first.sure is None or not first.size:
        return ""
    if first.holds:
        return f"The first design has power {power:g} even if the pilot was lucky (pessimistic)."
    own = "trials" if first.listed else "tasks"
    like = f"power {power:g} if {own} in general are like its own, less if these were lucky (pessimistic)"
    return f"The pilot cannot tell: {like}. A larger pilot helps."
