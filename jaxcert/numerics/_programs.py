"""Programs of which the compilation counts for more than the speed.

A first call compiles for a second what then runs for a millisecond. XLA spends half of that second on its newer code
generator for fused loops, 12 ms of CPU time for each. The older one comes to the same bits, in up to a tenth more time.
A program that runs only once is compiled without the optimisations of LLVM as well, in a fifth of the time. Whether it
rounds a product before it is added may differ then: no proof relies on either.

A command runs programs that it kept in their place (``run_by``).
"""

import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.core

# Before any other module of this package was read, if that took no longer than a second.
BEGUN = time.time() - 1
_OFTEN: dict[str, Any] = {"xla_cpu_use_fusion_emitters": False}
_ONCE = _OFTEN | {"xla_backend_optimization_level": 0}
# With more numbers than this, a program runs for long enough that speed counts.
_MOST = 2**18
_runner: Callable[..., Any] | None = None


@contextlib.contextmanager
def run_by(runner: Callable[..., Any]) -> Iterator[None]:
    """A context in which such programs run by ``runner(function, compiled, static_argnums, options, arguments)``."""
    global _runner
    before, _runner = _runner, runner
    try:
        yield
    finally:
        _runner = before


def quickly(
    function: Callable[..., Any], *, static_argnums: int | tuple[int, ...] = (), once: bool = False
) -> Callable[..., Any]:
    """``jax.jit`` that compiles fast on a CPU, where the arguments are known and not many numbers.

    Within another program, whose options hold for all of it, and for more numbers it is ``jax.jit`` itself. One of the
    arguments is traced there, as ``placed`` returns them. ``once``: the result is kept, so that it runs once for each.
    """
    static = (static_argnums,) if isinstance(static_argnums, int) else static_argnums
    options = _ONCE if once else _OFTEN
    plain, fast = (jax.jit(function, static_argnums=static, compiler_options=each) for each in (None, options))

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        nonlocal fast
        if _are_few(arguments):
            try:
                if _runner is not None:
                    return _runner(function, fast, static, options, arguments)
                return fast(*arguments)
            except jax.errors.JaxRuntimeError:  # for the option, if a release of XLA no longer has it
                fast = plain
        return plain(*arguments)

    return call


def _are_few(arguments: tuple[Any, ...]) -> bool:
    arrays = [leaf for leaf in jax.tree.leaves(arguments) if isinstance(leaf, jax.Array)]
    known = not any(isinstance(array, jax.core.Tracer) for array in arrays)
    return known and sum(array.size for array in arrays) <= _MOST and jax.default_backend() == "cpu"
