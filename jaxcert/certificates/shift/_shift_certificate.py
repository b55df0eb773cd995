"""The certificate on new tasks that differ from the sampled ones."""

import dataclasses
from typing import Any, Self

import jax

from jaxcert.certificates._certificate import Certificate
from jaxcert.certificates._figures import floor_figures
from jaxcert.certificates.shift._registry import DIVERGENCES


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ShiftCertificate(Certificate):
    """A ``Certificate`` for new tasks from another distribution, in an environment that may be worse, or both.

    ``epsilon``, ``safety``, ``thresholds`` and ``status`` are those after the shift; ``lower_bounds``,
    ``num_violations``, ``num_valid``, ``beta`` and ``delta`` those of the certificate of the sampled tasks.

    Attributes:
        radius: how far the distribution of new tasks may be from the sampled one, rounded up, a scalar.
        performance_shift: c, by how much the performance on any task may be lower, rounded up, a scalar.
        divergence: in what the radius is measured; None if the distribution is the sampled one (static).
        quantity: what the thresholds are of, in words (static).
        sampled: the certificate of the sampled tasks, from which all this follows.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxcert import certify, certify_shift
        >>> sampled = certify(jnp.full((200, 100), 0.9), 0.8, support=(0, 1), delta=0.01)
        >>> print(certify_shift(sampled, divergence="kl", radius=0.02))
        With confidence 0.99: on a new task from any distribution within KL divergence 0.02 of the sampled one,
        the expected return is at least 0.8 with probability at least 0.9396.
    """

    radius: jax.Array
    performance_shift: jax.Array
    divergence: str | None = dataclasses.field(metadata={"static": True})
    quantity: str = dataclasses.field(metadata={"static": True})
    sampled: Certificate

    def __getitem__(self, index: int | slice) -> Self:
        """The certificate at one threshold, or at some of them, as the one of the sampled tasks."""
        return dataclasses.replace(super().__getitem__(index), sampled=self.sampled[index])

    def to_dict(self) -> dict[str, Any]:
        """The fields as numbers, strings and lists; ``sampled`` likewise."""
        return {**super().to_dict(), "sampled": self.sampled.to_dict()}

    def _is_column(self, name: str, value: Any) -> bool:
        return name != "sampled" and super()._is_column(name, value)

    @property
    def _quantity(self) -> str:
        return self.quantity

    @property
    def _new_task(self) -> str:
        """A smaller radius or shift than the one that was used is covered, so both are rounded down."""
        distribution, lower = "the same distribution", floor_figures(float(self.performance_shift))
        if self.divergence is not None:
            distribution = DIVERGENCES[self.divergence].distribution.format(floor_figures(float(self.radius)))
        if float(self.performance_shift) == 0:
            return f"a new task from {distribution}"
        return f"a new task from {distribution}, in an environment that lowers the {self.quantity} by at most {lower}"
