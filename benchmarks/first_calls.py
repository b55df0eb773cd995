"""What a person waits for in a notebook: first calls, and calls with other numbers of tasks and rollouts.

    python -m benchmarks.first_calls

Four kinds of certificates in a fresh process without a cache, each of float32 returns on the host: at one shape, then
at others, some of whose padded size was met before and some not. CPU seconds, which include compilation, and the number
of programs that were compiled.
"""

import os
import time
from collections.abc import Callable
from typing import Any

os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"

import jax
import numpy as np

import jaxcert
from benchmarks.speed.timing import machine

FIRST, OTHERS = (200, 100), ((150, 80), (190, 70), (60, 20), (50, 25))
_SETTINGS: dict[str, Any] = {"support": (0.0, 1.0), "delta": 0.05}
CALLS: dict[str, Callable[[np.ndarray], Any]] = {
    "certify": lambda x: jaxcert.certify(x, 0.5, **_SETTINGS),
    "certify_safety_level": lambda x: jaxcert.certify_safety_level(x, 0.8, **_SETTINGS),
    "Clopper-Pearson": lambda x: jaxcert.certify(np.round(x), 0.5, bound="clopper_pearson", **_SETTINGS),
    "certify_mean": lambda x: jaxcert.certify_mean(x, **_SETTINGS),
}
_programs: list[str] = []


def _note(event: str, duration_secs: float, **kwargs: str | int) -> None:
    if event == "/jax/core/compile/backend_compile_duration":
        _programs.append(event)


def main() -> None:
    """Print a table: seconds and programs by shape and call, and the sums."""
    jax.monitoring.register_event_duration_secs_listener(_note)
    rng, total = np.random.default_rng(0), {}
    print(f"| CPU s (programs) | {' | '.join(CALLS)} | together |\n|---|{'---|' * (len(CALLS) + 1)}")
    for shape in (FIRST, *OTHERS):
        x = rng.beta(9, 1, shape).astype(np.float32)
        seconds, programs = zip(*(_measured(call, x) for call in CALLS.values()), strict=True)
        cells = [f"{each:.2f} ({number})" for each, number in zip(seconds, programs, strict=True)]
        print(f"| {list(shape)} | {' | '.join(cells)} | {sum(seconds):.2f} |", flush=True)
        total[shape] = sum(seconds)
    print(
        f"\nthe {len(CALLS) * len(OTHERS)} calls after the first shape: {sum(total.values()) - total[FIRST]:.2f} CPU s"
    )
    print(machine())


def _measured(call: Callable[[np.ndarray], Any], x: np.ndarray) -> tuple[float, int]:
    begin, before = time.process_time(), len(_programs)
    jax.block_until_ready(call(x))
    return time.process_time() - begin, len(_programs) - before


if __name__ == "__main__":
    main()
