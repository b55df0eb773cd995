"""What `make test` takes of the processor where nothing is compiled, and which tests are long for that.

    python tests/budget.py            measure; the status is 1 if a test or all of them take more than they may
    python tests/budget.py --write    and add those that take more than their share to tests/long_tests.txt

Seconds are those of all processes together, with those of the system. On a slower machine, or beside other work, tests
may take as much more as a fixed piece of NumPy and of XLA does.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import numpy as np
from compilations import FOLDER as KEPT
from long_tests import LIST, entries, test_of
from processor_time import FOLDER, read, spent

ROOT = Path(__file__).parents[1]
TOTAL, ONE = 300.0, 2.0
# What a case of a test may take to stay short, by how its name begins; the largest counts. More where numbers are
# compared with exact ones, each question is asked on each surface, and a user does the first steps.
LEAST = 0.15
SHARES = {
    LEAST: ("",),
    0.3: ("bounds/", "certificates/", "report/test_check_", "returns/", "rollouts/", "sequential/"),
    0.6: ("bounds/test_bounds_exact", "bounds/test_clopper_pearson", "certificates/test_a", "planning/")
    + ("test_conformance", "test_registries"),
    ONE: (
        "certificates/test_certify_oracle",
        "numerics/",
        "questions/",
        "test_dependencies",
        "test_docs",
        "test_structure",
        # Without these a planted fault would not be found (benchmarks/faults).
        "certificates/test_anytime.py::test_tasks_without_a_violation_until_a_safety",
        "certificates/test_attained.py::test_a_safety_level_is_the_best_of_its_levels[0.5]",
        "certificates/test_certify.py::test_the_scenario_risk_is_never_below_the_exact_one",
        "certificates/test_levels.py::test_it_is_the_best_of_the_levels_at_a_smaller_delta[hoeffding]",
        "certificates/test_mean_over_tasks.py::test_sentences",
        "certificates/test_requirements.py::test_returns_and_successes_may_be_mixed[settings0-None]",
        "certificates/test_requirements.py::test_tasks_are_counted_that_miss_any_requirement[float32-0.02]",
        "certificates/test_soft.py::test_each_rounding_between_evidence_and_risk_is_on_the_safe_side[float32]",
        "certificates/test_stratified.py::test_it_fails_with_probability_at_most_delta_whatever_the_strata[0.25-sizes0-",
        "returns/test_task_weights.py::test_weights_are_at_least_the_density_ratio_and_close[float32]",
        "rollouts/test_certify_adaptive.py::test_it_is_the_sequential_certificate_of_its_returns",
        "rollouts/test_collect.py::test_what_is_not_finite",
        "sequential/test_sequential_experiment.py::test_an_impossible_return_is_a_violation_for_good_or_voids",
        "tasks/test_ltl_progression.py::test_satisfied_as_by_definition[any]",
        "tasks/test_pendulum.py::test_a_step_is_that_of_the_equation",
    ),
    6.0: ("test_docs.py::test_commands_",),  # the whole README
}
# Seconds of the fixed piece of work on the machine for which these numbers hold, and by how much two runs there differ:
# all tests together, and each of them, which may be the first of several to compile what they share.
UNIT, MARGIN, MARGIN_OF_ONE = 1.5, 1.4, 4.0


def unit() -> float:
    """Seconds that a fixed piece of work takes here."""
    before = spent()
    rng = np.random.default_rng(0)
    for _ in range(40):
        np.sort(rng.random((100, 10_000)), axis=1)

    def work(x: jax.Array) -> jax.Array:
        for i in range(80):
            x = jax.numpy.sort(jax.numpy.cumsum(x * i, axis=0), axis=0)
        return x

    jax.clear_caches()
    jax.jit(work).lower(np.ones((64, 8), np.float32)).compile()
    return spent() - before


def measured() -> tuple[int, float, dict[str, float]]:
    """Status and seconds of `make test` with nothing kept, and the seconds of each test.

    Where nothing is kept yet, as in the continuous integration, its programs are kept for the tests that follow.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in ("programs", "seconds"):
            Path(folder, name).mkdir()
        programs = Path(folder, "programs") if any(KEPT.glob("*")) else KEPT
        places = {"JAX_COMPILATION_CACHE_DIR": str(programs), FOLDER: f"{folder}/seconds"}
        status = subprocess.run(["make", "test"], cwd=ROOT, env={**os.environ, **places}).returncode
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return status, used.ru_utime + used.ru_stime, read(Path(folder, "seconds"))


def write(seconds: dict[str, float], slower: float) -> None:
    """Add those that take more than their share to the list."""
    more = {name for name, taken in seconds.items() if taken > share(name) * slower}
    # Of the others all cases, or the next one would compile what the first one did.
    listed = entries() | {name if share(name) > LEAST else test_of(name) for name in more}
    LIST.write_text("\n".join(["# Written by `python tests/budget.py --write`.", *sorted(listed), ""]))


def share(name: str) -> float:
    """The seconds that a test may take to stay short."""
    return max(seconds for seconds, starts in SHARES.items() if name.removeprefix("tests/").startswith(starts))


def main() -> None:
    """Measure, print and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="add to the list of long tests")
    options = parser.parse_args()
    before = unit()
    status, total, seconds = measured()
    slower = max(1.0, (before + unit()) / 2 / UNIT)
    most, of_tests = TOTAL * slower * MARGIN, sum(seconds.values())
    print(f"{len(seconds)} tests take {of_tests:.0f} s, `make test` {total:.0f} s; expected at most {most:.0f} s")
    limits = {name: max(ONE, share(name)) * slower for name in seconds}
    long = sorted(name for name, taken in seconds.items() if taken > limits[name])
    print(*(f"{name}: {seconds[name]:.1f} s, expected at most {limits[name]:.1f} s" for name in long), sep="\n")
    too_long = [name for name in long if seconds[name] > limits[name] * MARGIN_OF_ONE]
    if options.write:
        write(seconds, slower)
    sys.exit(status or bool(too_long) or total > most)


if __name__ == "__main__":
    main()
