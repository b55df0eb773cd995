"""The certificate that holds at every moment while tasks come in."""

import dataclasses

import chex
import jax
import jax.numpy as jnp

from jaxcert.certificates._certificate import Certificate
from jaxcert.numerics._rounding import complement_down
from jaxcert.returns._prepared import probability


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class AnytimeCertificate(Certificate, shifts=True):
    """A ``Certificate`` after all n tasks, with those after each earlier one; all of them hold together.

    Epsilon is the smallest one of all moments so far, so that it never grows with a task.

    Attributes:
        history: certified risk after each task, float[..., n, t]; the last one is ``epsilon``.
        prior: (alpha, gamma) of the mixture, float[2].

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxcert import certify_anytime
        >>> found = certify_anytime(jnp.full((200, 100), 0.9), 0.8, support=(0, 1), delta=0.01)
        >>> print(found)
        With confidence 0.99, at every moment of the sampling of tasks: on a new task from the same distribution, the
        expected return is at least 0.8 with probability at least 0.9665.
        >>> print(found.first_reached(0.9))
        [65]
    """

    history: jax.Array
    prior: jax.Array

    _per_threshold = (*Certificate._per_threshold, "history")

    def first_reached(self, safety: chex.Numeric) -> jax.Array:
        """The number of tasks after which a safety was certified; 0 if it was not.

        Args:
            safety: the wanted safety in (0, 1), a scalar or one for each threshold, float[t].

        Returns:
            int32[..., t].

        Raises:
            ValueError: for a safety outside (0, 1) that is concrete.

        Example:
            >>> import jax.numpy as jnp
            >>> from jaxcert import certify_anytime
            >>> found = certify_anytime(jnp.full((200, 100), 0.9), [0.8, 0.9], support=(0, 1), delta=0.01)
            >>> print(found.first_reached(0.95))
            [133   0]
        """
        wanted = probability("safety", safety, self.history.dtype, "up", validate=True)
        reached = complement_down(self.history) >= jnp.broadcast_to(wanted, self.history.shape)
        first = jnp.argmax(reached, axis=-2) + 1
        return jnp.where(jnp.any(reached, axis=-2), first, 0).astype(jnp.int32)

    @property
    def _when(self) -> str:
        return "at every moment of the sampling of tasks"
