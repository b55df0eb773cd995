"""The description of a band: a boundary for the share of tasks below each threshold."""

import dataclasses
from collections.abc import Callable

from jaxcert.certificates._method import Method


@dataclasses.dataclass(frozen=True)
class Band:
    """A kind of band as a static description.

    Attributes:
        method: turns k into min(1, u_k / (1 - beta)), at the band's level in place of delta; named as in
            ``certify_band(kind=...)``. It is no method of ``certify``.
        level: (n, delta, last) -> the level at which P[U_(k+1) > u_k for some k <= last] is at most delta, for the
            order statistics of n independent uniform numbers; on the host.
        parts: last -> a number such that delta / parts is such a level; for a delta that cannot be read.
        takes_smallest: whether the level is larger if only the smallest counts are certified.
    """

    method: Method
    level: Callable[[int, float, int], float]
    parts: Callable[[int], int]
    takes_smallest: bool = False

    @property
    def name(self) -> str:
        """That of its method."""
        return self.method.name
