"""The paper's figures and tables, beside the newer methods.

    python -m benchmarks.paper [--only NAME] [--full] [--out paper-results]

Experiments show the paper's method (scenario, beta = 1e-4), the default of jaxcert and adaptive rollouts. By default
all take less than half an hour on two cores; --full is the paper's number of tasks and rollouts. Seeds and thresholds
are fixed beforehand.

Reference: Schnitzer, Jackermeier, Abate and Parker, Probabilistic Performance Guarantees for Multi-Task Reinforcement
Learning, ICML 2026, arXiv:2602.02098.
"""

import time
from pathlib import Path

from benchmarks._common import parser
from benchmarks.paper import bounds, bridge_world, distributions, levels, robots, simple_grid, timing, world, zones
from benchmarks.paper.experiment import Experiment, write

# By name, in the order in which they run.
_MODULES = (simple_grid, world, bridge_world, robots, zones, levels, bounds, timing, distributions)
EXPERIMENTS = {module.EXPERIMENT.name: module.EXPERIMENT for module in _MODULES}


def main(arguments: list[str] | None = None) -> None:
    """Run the experiments that are asked for, by default all."""
    given = parser("paper", __doc__, EXPERIMENTS)
    given.add_argument("--full", action="store_true", help="the paper's size: hours for all, without a GPU")
    given.add_argument("--out", type=Path, default=Path("paper-results"), help="folder for tables and figures")
    given.add_argument("--list", action="store_true", help="show the experiments, and run none")
    options = given.parse_args(arguments)
    chosen = [EXPERIMENTS[name] for name in options.only or EXPERIMENTS]
    if options.list:
        print(*(f"{each.name:16}{each.shows}" for each in chosen), sep="\n")
        return
    options.out.mkdir(parents=True, exist_ok=True)
    for experiment in chosen:
        print(f"== {experiment.name}: {experiment.shows}", flush=True)
        print(_run(experiment, options.out, full=options.full), flush=True)


def _run(experiment: Experiment, out: Path, *, full: bool) -> str:
    begin = time.perf_counter()
    found = experiment.run(full)
    found = found._replace(lines=list(found.lines))
    files = write(found, out, experiment.name)
    spent = time.perf_counter() - begin
    return "\n".join([*found.lines, f"{', '.join(map(str, files))}: {spent:.0f} s"])


if __name__ == "__main__":
    main()
