"""What arguments may be: arrays of JAX or NumPy, and numbers."""

import jax
import numpy as np

Array = jax.Array | np.ndarray | np.bool_ | np.number
Numeric = Array | float | int
