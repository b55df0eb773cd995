"""The certificate on new tasks that differ from the sampled ones."""

import dataclasses
from typing import Any, Self

import jax

from jaxcert.certificates._certificate import Certificate, new_task_from
from jaxcert.certificates._figures import floor_figures
from jaxcert.certificates.shift._registry import DIVERGENCES


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ShiftCertificate(Certificate, shifts=True):
    """A ``Certificate`` for new tasks from another distribution, in an environment that may be worse, or both.

    ``epsilon``, ``safety``, ``thresholds`` and ``status`` are those after the shift; ``lower_bounds``,
    ``num_violations``, ``num_valid``, ``beta`` and ``delta`` those of the certificate that was shifted.

    Attributes:
        radius: how far the distribution of new tasks may be from that of the certificate, rounded up, a scalar; of
            several shifts together.
        performance_shift: c, by how much the performance on any task may be lower, rounded up, a scalar; likewise.
        divergence: in what the radius is measured; None if the distribution is that of the certificate (static).
        quantity: what the thresholds are of, in words (static).
        sampled: the certificate that was shifted, by the first shift if there were two; from which all this follows.

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
    def _apart(self) -> str:
        return "shifted tasks"

    @property
    def _source(self) -> str:
        return self.sampled._source

    @property
    def _when(self) -> str:
        return self.sampled._when

    @property
    def _new_task(self) -> str:
        """A smaller radius or shift than the one that was used is covered, so both are rounded down."""
        task, lower = new_task_from(self._source), floor_figures(float(self.performance_shift))
        if self.divergence is not None:
            near = f"the {self._source} one"
            task = DIVERGENCES[self.divergence].distribution.format(floor_figures(float(self.radius)), near)
            task = f"a new task from {task}"
        if float(self.performance_shift) == 0:
            return task
        return f"{task}, in an environment that lowers the {self.quantity} by at most {lower}"
