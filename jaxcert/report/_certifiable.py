"""Protocols by which there can be a certificate, and the one of a plan."""

from typing import Any

import jax
import jax.numpy as jnp

from jaxcert.planning import Plan
from jaxcert.questions import QUESTIONS
from jaxcert.report._protocol import Protocol
from jaxcert.returns._required import requirements_of

# Sizes of arrays and what counts in them have 32 bits.
_MOST_EPISODES = 2**31 - 1


def check_certifiable(protocol: Protocol) -> None:
    """Raise ValueError for settings that `jaxcert certify` refuses whatever the returns are."""
    check_size(protocol.num_tasks, protocol.num_rollouts)
    question, dtype = QUESTIONS[protocol.asked], jnp.result_type(float)
    values = [] if protocol.fixed is None else protocol.fixed.tolist()
    repeated = [value for i, value in enumerate(values) if dtype.type(value) in map(dtype.type, values[:i])]
    if repeated:
        raise ValueError(f"{question.each} {repeated[0]} is given twice, as {dtype} has it; expected different ones")
    settings: dict[str, Any] = dict(protocol.settings) | ({question.fixed: protocol.fixed} if question.fixed else {})
    shape = protocol.num_tasks, protocol.num_rollouts
    returns: Any = jax.ShapeDtypeStruct(shape, dtype)
    if metrics := question.metrics(settings):
        wanted = requirements_of(settings["requirements"])
        kinds = {name: bool if wanted[name].support is None else dtype for name in metrics}
        returns = {name: jax.ShapeDtypeStruct(shape, kind) for name, kind in kinds.items()}
    jax.eval_shape(lambda x: question.function(x, **settings), returns)  # only traced


def check_size(num_tasks: int, num_rollouts: int) -> None:
    """Raise ValueError for more episodes than arrays can hold."""
    if num_tasks * num_rollouts > _MOST_EPISODES:
        found = f"{num_tasks} x {num_rollouts} episodes (tasks x rollouts)"
        raise ValueError(f"{found} cannot be held; expected at most {_MOST_EPISODES} in all")


def protocol_of(plan: Plan) -> Protocol:
    """The best design of a plan, as a protocol.

    Raises:
        ValueError: there is no design, or one whose rollouts stop by themselves.
    """
    if plan.best is None:
        raise ValueError("there is no design to lock: the budget allows none")
    design, wish = plan.best, plan.wish
    assert wish is not None
    if design.kind.stopped is not None:
        raise ValueError("a sequential design has no fixed number of rollouts; exclude it with --design")
    asked: dict[str, Any] = (
        {"thresholds": (wish.threshold,)} if wish.threshold is not None else {"safeties": (wish.safety,)}
    )
    return Protocol(
        support=wish.support,
        delta=float(wish.delta),
        num_tasks=design.num_tasks,
        num_rollouts=design.num_rollouts,
        beta=design.beta,
        **design.kind.arguments,
        **asked,
    )
