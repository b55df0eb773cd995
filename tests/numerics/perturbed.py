"""A program as a GPU may compute it: every inexact operation moved by what its instruction is allowed to be off.

Sums, differences and products round to nearest on every device. For quotients, square roots and elementary functions
of float32, XLA takes instructions and library functions of a GPU that are off by more; ``ALLOWED`` says by how much.
In float64 quotients and roots are rounded correctly there, too.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxprs import Interpreter

# Relative errors in units of u = 2**-24; a unit in the last place (ulp) is at most 2 u. Quotients (div.full.f32) are
# off by 2 ulp, reciprocals (rcp.approx) by 1, roots (sqrt.approx.f32) by 2**-23, their reciprocals by 2**-22.9 (PTX
# ISA). Functions (CUDA programming guide, table of maximum errors): log, log1p, expm1 and tanh by 1 ulp, exp by 2,
# powers by 4. The logistic function is a quotient of an exponential.
ALLOWED = {
    "div": 4.0,
    "sqrt": 2.0,
    "rsqrt": 2.2,
    "exp": 4.0,
    "exp2": 4.0,
    "expm1": 2.0,
    "log": 2.0,
    "log1p": 2.0,
    "logistic": 9.0,
    "tanh": 2.0,
    "pow": 8.0,
}
# What rounds to nearest everywhere, or does not round at all.
_EXACT = {
    "abs", "add", "add_any", "and", "argmax", "argmin", "bitcast_convert_type", "broadcast_in_dim", "ceil",
    "clamp", "concatenate", "convert_element_type", "copy", "copy_p", "cummax", "cumprod", "cumsum",
    "dynamic_slice", "dynamic_update_slice", "empty", "eq", "floor", "frexp", "gather", "ge", "gt", "integer_pow",
    "iota", "is_finite", "ldexp", "le", "lt", "max", "min", "mul", "ne", "neg", "nextafter", "not",
    "optimization_barrier", "or", "pad", "reduce_and", "reduce_max", "reduce_min", "reduce_or",
    "reduce_precision", "reduce_sum", "rem", "reshape", "rev", "round", "scatter", "scatter-add",
    "select_and_gather_add", "select_n", "shift_left", "shift_right_arithmetic", "shift_right_logical", "sign",
    "slice", "sort", "split", "square", "squeeze", "stack", "stop_gradient", "sub", "transpose", "unstack",
    "xor",
}  # fmt: skip


class Moved(Interpreter):
    """Moves the result of inexact operation i by ``moves[i]`` of what is allowed, in units of the result.

    Args:
        moves: float32[number of operations], in [-1, 1]; by default nothing moves and operations are only counted.
        seed: if not 0, the sign of each element changes at random, anew whenever the operation is met.
    """

    def __init__(self, moves: Any = None, seed: Any = 0) -> None:
        self.moves, self.seed, self.places = moves, seed, {}

    def finish(self, equation: Any, outputs: list) -> list:
        """The outputs, moved where they are inexact."""
        if not any(out.dtype == jnp.float32 for out in outputs):
            return outputs
        name = _name(equation)
        if name not in ALLOWED:
            if name not in _EXACT:
                raise NotImplementedError(f"{name}: no error is stated for it")
            return outputs
        # One equation, one place: however often JAX looks at it.
        place, _ = self.places.setdefault(id(equation), (len(self.places), equation))
        if self.moves is None:
            return outputs
        self.total = self.total + 1
        size = self.moves[place] * (ALLOWED[name] * 2.0**-24)
        return [out * (1 + size * self._signs(out.shape)) for out in outputs]

    def _signs(self, shape: tuple) -> jax.Array:
        element = jax.lax.iota(jnp.uint32, max(1, int(np.prod(shape)))).reshape(shape)
        bits = element * np.uint32(2654435761) + self.total.astype(jnp.uint32) * np.uint32(2246822519) + self.seed
        for shift, factor in ((16, 2146121005), (15, 2221713035)):
            bits = (bits ^ (bits >> np.uint32(shift))) * np.uint32(factor)
        random = 1 - 2 * (bits >> np.uint32(31)).astype(jnp.float32)
        return jnp.where(self.seed == 0, 1.0, random)


def _name(equation: Any) -> str:
    """Of the operation; JAX 0.12 has some of its functions as operations within one of another name."""
    inner = equation.params.get("_prim")
    return equation.primitive.name if inner is None else type(inner).__name__.lower()


def as_on_a_gpu(function: Callable, *arguments: Any) -> tuple[Callable[[Any, Any], Any], int]:
    """``function(*arguments)`` as a compiled function of (moves, seed), and how many moves it takes."""
    counting = Moved()
    jax.eval_shape(lambda *a: counting.run(function, *a)[0], *arguments)

    @jax.jit
    def call(moves: jax.Array, seed: jax.Array, *arguments: Any) -> Any:
        return Moved(moves, seed).run(function, *arguments)[0]

    def moved(moves: Any, seed: int = 0) -> Any:
        return call(jnp.asarray(moves, jnp.float32), jnp.uint32(seed), *arguments)

    return moved, len(counting.places)


def least_margin(margin: Callable[[np.ndarray, int], np.ndarray], count: int) -> np.ndarray:
    """The smallest margin of each element over many ways to move ``count`` operations.

    All up, all down, each element at random; and, for the elements that come closest to the edge so, every operation
    the way that hurts them most.

    Args:
        margin: (moves, seed) -> margins, [elements]; negative is unsafe.
        count: of operations.
    """
    if count < 1:
        raise ValueError("the program holds no operation that could move")
    still = margin(np.zeros(count), 0)
    found = [still, margin(np.ones(count), 0), margin(-np.ones(count), 0)]
    found += [margin(np.ones(count), seed) for seed in (1, 2, 3)]
    effects = np.array([margin(row, 0) for row in np.eye(count)]) - still
    closest = np.argsort(still - np.abs(effects).sum(axis=0))[:10]
    found += [margin(-np.sign(effects[:, element]), 0) for element in closest]
    return np.min(found, axis=0)
