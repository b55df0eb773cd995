"""What compiles: first calls, and calls with other numbers of tasks and rollouts."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

import jaxcert
from benchmarks._common import machine, markdown

SUPPORT: dict[str, Any] = {"support": (0.0, 1.0), "delta": 0.05}
Call = Callable[[Any], Any]

FIRST, OTHERS = (200, 100), ((150, 80), (190, 70), (60, 20), (50, 25))
CALLS: dict[str, Call] = {
    "certify": lambda x: jaxcert.certify(x, 0.5, **SUPPORT),
    "certify_safety_level": lambda x: jaxcert.certify_safety_level(x, 0.8, **SUPPORT),
    "Clopper-Pearson": lambda x: jaxcert.certify(np.round(x), 0.5, bound="clopper_pearson", **SUPPORT),
    "certify_mean": lambda x: jaxcert.certify_mean(x, **SUPPORT),
}
_programs: list[str] = []


def _note(event: str, duration_secs: float, **kwargs: str | int) -> None:
    if event == "/jax/core/compile/backend_compile_duration":
        _programs.append(event)


def first_calls() -> Iterator[str]:
    """CPU seconds and programs by shape and call, at one shape, then at others, of which some are padded alike."""
    jax.monitoring.register_event_duration_secs_listener(_note)
    rng, total = np.random.default_rng(0), {}

    def row(shape: tuple[int, int]) -> tuple[str, ...]:
        x = rng.beta(9, 1, shape).astype(np.float32)
        found = [_measured(call, x) for call in CALLS.values()]
        total[shape] = sum(seconds for seconds, _ in found)
        return f"{[*shape]}", *(f"{seconds:.2f} ({number})" for seconds, number in found), f"{total[shape]:.2f}"

    yield from markdown(("CPU s (programs)", *CALLS, "together"), map(row, (FIRST, *OTHERS)))
    others, count = sum(total.values()) - total[FIRST], len(CALLS) * len(OTHERS)
    yield f"\nthe {count} calls after the first shape: {others:.2f} CPU s\n{machine()}"


def _measured(call: Call, x: np.ndarray) -> tuple[float, int]:
    begin, before = time.process_time(), len(_programs)
    jax.block_until_ready(call(x))
    return time.process_time() - begin, len(_programs) - before
