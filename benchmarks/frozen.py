"""Every question on many samples, in both precisions, beside the numbers of an earlier commit.

A redesign must not move a number to its unsafe side, and loosens none by more than a stated amount. The numbers of the
earlier commit are in benchmarks/results/frozen.json::

    python -m benchmarks.frozen           # compares, and ends with 1 if a number moved too far
    python -m benchmarks.frozen --write   # replaces the stored numbers
"""

import functools
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks._common import RESULTS, parser

STORED = RESULTS / "frozen.json"
# By how much a number may change, as a part of its range: of 1 for probabilities, of the support for returns.
MOST = 1e-5
# Each program takes pages of memory of its own, and a process can hold no more than some three hundred programs.
MOST_PROGRAMS = 200
# Fields of which a larger number claims more, a smaller one, and those that have to be equal.
LARGER, SMALLER = ("safety", "mean", "thresholds", "differences", "quantiles", "cvar"), ("safety_upper",)
EQUAL = ("num_good", "num_bad", "order", "status")


def returns_of(kind: str, n: int, m: int, seed: int) -> np.ndarray:
    """Returns [n, m] of tasks that differ: floats in [0, 1], in [-3, 7], or successes."""
    rng = np.random.default_rng(seed)
    centre = rng.beta(6, 2, n)[:, None]
    if kind == "successes":
        return rng.random((n, m)) < centre
    values = np.clip(centre + 0.1 * rng.standard_normal((n, m)), 0, 1)
    values = np.where(rng.random((n, m)) < 0.01, 0, values)
    return values if kind == "floats" else 10 * values - 3


SHAPES = ((12, 3), (40, 1), (60, 5), (60, 20), (200, 100), (290, 110), (700, 8), (5, 400))


def samples() -> Iterator[tuple[str, str, np.ndarray, Any]]:
    """(name, kind, returns, mask)."""
    for kind in ("floats", "wide", "successes"):
        for seed, (n, m) in enumerate(SHAPES):
            returns = returns_of(kind, n, m, seed)
            yield f"{kind} {n}x{m}", kind, returns, None
            if m > 2 and n < 300:
                mask = np.random.default_rng(99).random((n, m)) < 0.8
                mask[:, :2] = True
                yield f"{kind} {n}x{m} masked", kind, returns, mask


def calls(kind: str, returns: np.ndarray, mask: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The questions of one sample, as functions without arguments."""
    import jaxcert

    low, high = (-3.0, 7.0) if kind == "wide" else (0.0, 1.0)
    at = lambda share: low + share * (high - low)  # noqa: E731
    (n, m), success = returns.shape, kind == "successes"
    pair: dict[str, Any] = {"support": (low, high), "delta": 0.05}
    usual: dict[str, Any] = {"delta": 0.05} if success else pair
    known = {**usual, "where": mask}
    some = [at(0.3), at(0.6), at(0.85)]

    def ask(name: str, *args: Any, **options: Any) -> tuple[str, Callable[[], Any]]:
        words = ", ".join([*map(str, args), *(f"{key}={value}" for key, value in options.items())])
        function = getattr(jaxcert, f"certify{name}")
        return f"certify{name}({words})", functools.partial(function, returns, *args, **{**known, **options})

    yield ask("", some)
    yield ask("", some, delta=0.3)
    yield ask("", some, beta=0.2)
    yield ask("", some, method="scenario")
    yield ask("", some, method="binomial", beta="auto")
    if not success:
        yield ask("", some, method="soft")
        yield from (ask("", some, bound=name) for name in ("hoeffding", "empirical_bernstein", "dkw") if m > 1)
    yield ask("_sequential", some)
    yield ask("_safety_level", [0.5, 0.9])
    yield ask("_safety_level", [0.5, 0.9], beta=0.1)
    yield ask("_band", None)
    yield from (ask(name, some) for name in ("_band", "_anytime"))
    yield ask("_interval", some, complete=True)
    yield from (ask(name, some) for name in ("_suite", "_each_task"))
    yield ask("_each_task", some, complete=True)
    yield from (ask(name) for name in ("_suite_mean", "_mean"))
    yield ask("_cvar", [0.2, 0.5], cap=[at(0.5), at(0.7)])
    episode = functools.partial(jaxcert.certify_episode, returns, at(0.6), delta=0.05, where=mask)
    yield "certify_episode", episode
    if m > 2:
        yield "certify_episode(num_episodes=2)", functools.partial(episode, num_episodes=2)
    weights = np.where(np.arange(n) % 2, 0.5, 1.5)
    yield "certify_weighted", lambda: jaxcert.certify_weighted(returns, some, weights, max_weight=1.5, **known)
    weighted = jaxcert.weighted(returns, weights, max_weight=1.5)
    kinds = {"strata": np.arange(n) % 3, "frequencies": {0: 0.5, 1: 0.25, 2: 0.25} if n > 2 else None}
    yield "certify_stratified", lambda: jaxcert.certify_stratified(returns, some, **kinds, **known)
    yield "certify_mean(weighted)", lambda: jaxcert.certify_mean(weighted, **known)
    if mask is not None:
        return
    other = returns[:, ::-1] if success else at(0) + 0.9 * (returns[:, ::-1] - at(0))
    few, less = other[:, : max(1, m // 2)], -0.3 * (high - low)
    yield "certify_improvement", lambda: jaxcert.certify_improvement(returns, other, [less, 0.0], **pair)
    yield "certify_improvement(few)", lambda: jaxcert.certify_improvement(returns, few, [less, 0.0], **pair)
    yield "certify_mean_difference", lambda: jaxcert.certify_mean_difference(returns, few, **pair)
    pairs = jaxcert.paired(returns, other)
    yield "certify(paired)", lambda: jaxcert.certify(pairs, [less], **pair)
    yield "certify_mean(paired)", lambda: jaxcert.certify_mean(pairs, **pair)
    yield "certify_ranking", lambda: jaxcert.certify_ranking(np.stack([returns, other, other[::-1]]), **usual)
    yield "certify(batch)", lambda: jaxcert.certify(np.stack([returns, other]), some, **usual)


def computed() -> dict[str, dict[str, Any]]:
    """What every question says of every sample, in the precision of this process."""
    import jax
    import jax.numpy as jnp

    precision, found, compiled = str(jnp.result_type(float)), {}, [0]

    def count(event: str, duration_secs: float, **_: str | int) -> None:
        compiled[0] += event == "/jax/core/compile/backend_compile_duration" and duration_secs > 0

    jax.monitoring.register_event_duration_secs_listener(count)
    for name, kind, returns, mask in samples():
        if compiled[0] > MOST_PROGRAMS:
            jax.clear_caches()
            compiled[0] = 0
        print(f"{precision} {name}: {compiled[0]} programs", file=sys.stderr)
        typed = returns if returns.dtype == bool else returns.astype(precision)
        for question, call in calls(kind, typed, mask):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    answer = call()
                except ValueError as error:
                    found[f"{precision} | {name} | {question}"] = {"refused": str(error)[:40]}
                    continue
            held = {field: getattr(answer, field, None) for field in (*LARGER, *SMALLER, *EQUAL)}
            width = 10.0 if kind == "wide" else 1.0
            found[f"{precision} | {name} | {question}"] = {"width": width} | {
                field: [float(f"{number:.9g}") for number in np.ravel(value)]
                for field, value in held.items()
                if value is not None
            }
    return found


def differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[tuple[str, float, float]]:
    """(what, by how much it claims more, by how much less), of each number that changed."""
    for key, before in old.items():
        after = new.get(key, {})
        for field in before.keys() - {"width"}:
            if field == "refused" or field in EQUAL:
                if before[field] != after.get(field):
                    yield f"{key} | {field}: {str(before[field])[:40]} is now {str(after.get(field))[:40]}", 1, 1
                continue
            unit = before["width"] if field not in ("safety", "safety_upper") else 1.0
            first, second = (
                np.nan_to_num(np.asarray(each.get(field, [])), neginf=-9e9, posinf=9e9) for each in (before, after)
            )
            if first.shape != second.shape:
                yield f"{key} | {field}: of shape {first.shape} is now of {second.shape}", 1, 1
                continue
            change = (second - first) / unit * (-1 if field in SMALLER else 1)
            yield f"{key} | {field}", float(max(change.max(initial=0), 0)), float(max(-change.min(initial=0), 0))


def main() -> int:
    options = parser("frozen", __doc__)
    options.add_argument("--write", action="store_true", help="replace the stored numbers")
    options.add_argument("--one", action="store_true", help="print those of this process, in its precision")
    arguments = options.parse_args()
    if arguments.one:
        json.dump(computed(), sys.stdout)
        return 0
    found: dict[str, Any] = {}
    command = [sys.executable, "-m", "benchmarks.frozen", "--one"]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"JAX_ENABLE_X64": x64}) for x64 in "01"
    ]
    for process in processes:
        found |= json.loads(process.communicate()[0])
    if arguments.write:
        STORED.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}\n")
        print(f"{len(found)} answers written")
        return 0
    changes: list[Any] = list(differences(json.loads(STORED.read_text()), found))
    for side, place in (("more", 1), ("less", 2)):
        beyond = sorted((change for change in changes if change[place] > MOST), key=lambda change: -change[place])
        most = max(change[place] for change in changes)
        print(f"{len(beyond)} of {len(changes)} claim {side} by more than {MOST:g}; most {most:.3g}")
        for change in beyond[:40]:
            print(f"  {change[place]:.3g}  {change[0]}")
    return int(any(max(change[1:]) > MOST for change in changes))


if __name__ == "__main__":
    sys.exit(main())
