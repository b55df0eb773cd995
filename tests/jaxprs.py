"""An interpreter of jaxprs: the same program with a rule of one's own for some of its operations.

``Interpreter.run`` is a JAX function itself: it may be compiled, mapped and called with real data. Calls and branches
are looked into; loops stay loops, so that they run as often as their data say.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

# By primitive, where the program that is called is kept.
_CALLS = {
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "eval_jaxpr": "call_jaxpr",
    "jit": "jaxpr",
    "pjit": "jaxpr",
}
# The programs of these say how two scalars are combined; they are part of one kernel.
_COMBINERS = ("reduce", "scatter", "scatter-add", "scatter_max", "scatter_min", "scatter_mul", "sort")


class Interpreter:
    """Evaluates jaxprs; a subclass says what is different.

    ``total`` is a number that goes through the whole program, loops included, and that rules may add to.
    """

    total: Any

    def run(self, function: Callable, *arguments: Any) -> tuple[Any, Any]:
        """(what the function returns, the total)."""
        program, shape = jax.make_jaxpr(function, return_shape=True)(*arguments)
        self.total = jnp.zeros((), jnp.int32)
        leaves = self.evaluate(program, *jax.tree.leaves(arguments))
        return jax.tree.unflatten(jax.tree.structure(shape), leaves), self.total

    def replace(self, equation: Any, inputs: list) -> list | None:
        """What the equation gives by another rule, or None for its own."""
        return None

    def finish(self, equation: Any, outputs: list) -> list:
        """The outputs of an equation that no other rule holds for."""
        return outputs

    def enter_scan(self, equation: Any) -> None:
        """Called once for each scan, before its first step."""

    def enter_trip(self, equation: Any) -> None:
        """Called in every trip of a while loop."""

    def evaluate(self, program: ClosedJaxpr, *inputs: Any) -> list:
        """The program's outputs for flat inputs."""
        jaxpr = program.jaxpr
        values: dict[Any, Any] = dict(zip(jaxpr.constvars, program.consts, strict=True))
        values.update(zip(jaxpr.invars, inputs, strict=True))
        for equation in jaxpr.eqns:
            outputs = self._apply(equation, [_read(values, v) for v in equation.invars])
            values.update(zip(equation.outvars, outputs, strict=True))
        return [_read(values, v) for v in jaxpr.outvars]

    def _apply(self, equation: Any, inputs: list) -> list:
        replaced = self.replace(equation, inputs)
        if replaced is not None:
            return replaced
        name = equation.primitive.name
        if name == "platform_index":  # a program for devices that nothing is said of
            return [jnp.int32(equation.params["platforms"].index(None))]
        if name in _CALLS:
            return self.evaluate(_closed(equation.params[_CALLS[name]]), *inputs)
        structure = {"while": self._while, "scan": self._scan, "cond": self._cond}.get(name)
        if structure is not None:
            return structure(equation, inputs)
        # A program inside one that is not known here would go unseen.
        if any(True for _ in inner_programs(equation)) and name not in _COMBINERS:
            raise NotImplementedError(f"{name} holds a program; no rule says how to look into it")
        outputs = equation.primitive.bind(*inputs, **equation.params)
        return self.finish(equation, list(outputs) if equation.primitive.multiple_results else [outputs])

    def _while(self, equation: Any, inputs: list) -> list:
        p = equation.params
        first, second = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]
        in_cond, in_body, begin = inputs[:first], inputs[first:second], inputs[second:]

        def unfinished(state: tuple) -> Any:
            kept, self.total = self.total, state[0]
            (goes_on,) = self.evaluate(p["cond_jaxpr"], *in_cond, *state[1])
            self.total = kept
            return goes_on

        def body(state: tuple) -> tuple:
            self.total = state[0]
            self.enter_trip(equation)
            after = self.evaluate(p["body_jaxpr"], *in_body, *state[1])
            return self.total, after

        self.total, outputs = jax.lax.while_loop(unfinished, body, (self.total, begin))
        return list(outputs)

    def _scan(self, equation: Any, inputs: list) -> list:
        p = equation.params
        constants, begin, slices = _scan_inputs(p, inputs)
        self.enter_scan(equation)

        def step(state: tuple, each: list) -> tuple:
            self.total = state[0]
            outputs = self.evaluate(p["jaxpr"], *constants, *state[1], *each)
            return (self.total, outputs[: len(begin)]), outputs[len(begin) :]

        state, stacked = jax.lax.scan(step, (self.total, begin), slices, length=p["length"], reverse=p["reverse"])
        self.total = state[0]
        return [*state[1], *stacked]

    def _cond(self, equation: Any, inputs: list) -> list:
        index, *operands = inputs

        def branch(program: ClosedJaxpr) -> Callable:
            def taken(total: Any, *values: Any) -> tuple:
                self.total = total
                outputs = self.evaluate(program, *values)
                return self.total, outputs

            return taken

        branches = [branch(program) for program in equation.params["branches"]]
        self.total, outputs = jax.lax.switch(index, branches, self.total, *operands)
        return list(outputs)


def inner_programs(equation: Any) -> Iterator[ClosedJaxpr]:
    """The programs among the parameters of an equation."""
    for value in equation.params.values():
        for each in value if isinstance(value, Sequence) and not isinstance(value, str) else (value,):
            if isinstance(each, ClosedJaxpr | Jaxpr):
                yield _closed(each)


def _scan_inputs(params: dict, inputs: list) -> tuple[list, list, list]:
    """Constants, carry and slices; before JAX 0.11 they were counted."""
    if "ft_in" in params:
        constants, carry, slices = (list(part) for part in params["ft_in"].update(inputs).unpack())
        return constants, carry, slices
    first, second = params["num_consts"], params["num_consts"] + params["num_carry"]
    return inputs[:first], inputs[first:second], inputs[second:]


def _closed(program: ClosedJaxpr | Jaxpr) -> ClosedJaxpr:
    return program if isinstance(program, ClosedJaxpr) else ClosedJaxpr(program, [])


def _read(values: dict, variable: Any) -> Any:
    return variable.val if isinstance(variable, Literal) else values[variable]


class _Trips(Interpreter):
    """Adds up the trips of all loops; those of a loop inside one count once for each trip of the outer one."""

    def enter_trip(self, equation: Any) -> None:
        self.total = self.total + 1

    def enter_scan(self, equation: Any) -> None:
        length, unroll = equation.params["length"], equation.params["unroll"]
        # As JAX lowers it: what is left over is written out, and so is a loop of one trip that would hold all of it.
        trips, rest = divmod(length, unroll) if unroll else (0, length)
        self.total = self.total + (0 if unroll != 1 and trips == 1 and not rest else trips)


def count_trips(function: Callable, *arguments: Any) -> int:
    """How many trips of `while` and `scan` a call makes one after the other, on real data."""
    return int(jax.jit(lambda *a: _Trips().run(function, *a)[1])(*arguments))
