"""What makes a program large: the operations that XLA compiles for a call, by the function that asked for them.

    python -m benchmarks.operations [--only NAME] [--top 20]

Every instruction of the optimised program counts, as often as XLA has copied it into another kernel; compiling takes
about as long as there are instructions. *Traced* is the program that JAX hands to XLA. Seconds are CPU seconds of one
process, without a cache.
"""

import argparse
import collections
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"

import jax
import numpy as np

import jaxcert

NUM_TASKS, NUM_ROLLOUTS = 200, 100
_OPTIONS: dict[str, Any] = {"delta": 0.05, "validate": False}
_SUPPORT: dict[str, Any] = {"support": (0.0, 1.0), **_OPTIONS}
CALLS: dict[str, Callable[[jax.Array], Any]] = {
    "default": lambda x: jaxcert.certify(x, 0.5, **_SUPPORT),
    "the paper's method": lambda x: jaxcert.certify(
        x, 0.5, bound="empirical_bernstein", method="scenario", beta=1e-4, **_SUPPORT
    ),
    "Clopper-Pearson": lambda x: jaxcert.certify(x > 0.8, 0.5, bound="clopper_pearson", method="binomial", **_OPTIONS),
    "soft": lambda x: jaxcert.certify(x, 0.5, method="soft", **_SUPPORT),
    "Hoeffding": lambda x: jaxcert.certify(x, 0.5, bound="hoeffding", **_SUPPORT),
    "mean": lambda x: jaxcert.certify_mean(x, **_SUPPORT),
    "safety level": lambda x: jaxcert.certify_safety_level(x, 0.8, **_SUPPORT),
    "successes": lambda x: jaxcert.certify(x > 0.8, 0.5, **_OPTIONS),
}
_INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%[\w.-]+ = .*?[\])}] ([a-z][a-z-]*)\(")
_ROW = re.compile(r"^(\d+) (.*)$")
_NUMBER = re.compile(r"(\w+)=(\d+)")
_PACKAGE = f"{Path(jaxcert.__file__).parent}/"


def main() -> None:
    """Print a table of the calls, and for one of them what its operations come from."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=CALLS, help="this call, with the functions that its operations come from")
    parser.add_argument("--top", type=int, default=20, help="how many functions")
    arguments = parser.parse_args()
    x = np.random.default_rng(0).beta(9, 1, (NUM_TASKS, NUM_ROLLOUTS)).astype(np.float32)
    print("| call | operations | traced | loops | trace, s | compile, s |\n|---|---|---|---|---|---|")
    for name in [arguments.only] if arguments.only else CALLS:
        text, row = measured(CALLS[name], x)
        print(f"| {name} | {' | '.join(row)} |", flush=True)
        if arguments.only:
            for place, count in sources(text).most_common(arguments.top):
                print(f"{count:7} {place}")


def measured(call: Callable[[jax.Array], Any], x: np.ndarray) -> tuple[str, list[str]]:
    """The text of the optimised program, and a row of the table."""
    begin = time.process_time()
    lowered = jax.jit(call).lower(x)
    traced = time.process_time()
    text = lowered.compile().as_text() or ""
    compiled = time.process_time()
    kinds = collections.Counter(instructions(text).values())
    sizes = sum(kinds.values()), lowered.as_text().count(" = stablehlo."), kinds["while"]
    return text, [*(f"{size:,}" for size in sizes), f"{traced - begin:.2f}", f"{compiled - traced:.2f}"]


def instructions(text: str) -> dict[int, str]:
    """The kind of operation by line of the program."""
    found = ((number, _INSTRUCTION.match(line)) for number, line in enumerate(text.splitlines()))
    return {number: match[1] for number, match in found if match}


def sources(text: str) -> collections.Counter[str]:
    """How many operations each function of the package asked for, after the functions that called it."""
    lines, frames = text.splitlines(), _frames(text)
    places = (re.search(r"stack_frame_id=(\d+)", lines[number]) for number in instructions(text))
    return collections.Counter(frames.get(int(place[1]), "?") if place else "of XLA itself" for place in places)


def _frames(text: str) -> dict[int, str]:
    """The functions of the package on the stack of each frame, outermost first; empty before JAX 0.8."""
    files, functions, locations, stack = (
        _table(text, name) for name in ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
    )
    own = {number for number, name in files.items() if name.strip('"').startswith(_PACKAGE)}
    found: dict[int, str] = {}
    for number, row in stack.items():
        frame = dict(_NUMBER.findall(row))
        location = dict(_NUMBER.findall(locations[int(frame["file_location_id"])]))
        before = found.get(int(frame["parent_frame_id"]) - 1, "")  # 1 is for none
        name = functions[int(location["function_name_id"])].strip('"')
        named = int(location["file_name_id"]) in own and "<lambda>" not in name
        found[number] = f"{before} > {name}".removeprefix(" > ") if named else before
    return found


def _table(text: str, name: str) -> dict[int, str]:
    _, _, rest = text.partition(f"\n{name}\n")
    rows = (_ROW.match(line) for line in rest.partition("\n\n")[0].splitlines())
    return {int(row[1]): row[2] for row in rows if row}


if __name__ == "__main__":
    main()
