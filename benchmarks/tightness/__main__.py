"""How much of what could be certified is certified, and with how few rollouts.

    python -m benchmarks.tightness [--only NAME ...] [--plot docs/few_rollouts.png]

bounds      the performance certified on 50, 80, 90 and 95 % of new tasks (delta = 0.01) by every bound and method, as a
            share of what ``jaxcert.baselines.certify_known_performances`` certifies from the performances of the same
            tasks: means over seeds for worlds in which these are known, and the sample returns, where the average of
            all rollouts of a task has to stand in for its performance; to benchmarks/results/tightness.csv
successes   the same for the paper's domains whose returns are 0 or 1, few and many trials, by one lower bound per task
            and by attained levels; to benchmarks/results/tightness_successes.csv
hindsight   attained levels beside the one number of successes c, of all m, that says most on average over the
            repetitions of a law, which no one can know; and how often a certificate says nothing (less than .01) where
            hindsight says more than .05
bands       what all thresholds at once cost beside one that was fixed beforehand: fixed / band of attained levels / of
            lower bounds at beta = 0.05 / at 0.3
failures    how often a certificate of successes fails in the worst case, exactly
sequential  the sample returns in 20 random orders of each task's rollouts: the risk by the default and by the paper's
            method from all of them, and by ``certify_sequential``, with the rollouts per task that it used
adaptive    the rollouts, in all, until a wanted certificate is reached, by ``certify_adaptive`` on tasks and rollouts
            drawn anew from the samples, over 20 keys
levels      mean certified safety (betting) over repetitions, data and thresholds, for fixed betas, for ``beta="auto"``,
            and by soft counts
weights     certified safety of reweighted tasks on the illustrative grid, three ways, beside the exact one
"""

from collections.abc import Callable, Iterable

from benchmarks._common import parser, show
from benchmarks.tightness import bounds, few_rollouts, levels, successes, weights

PARTS: dict[str, Callable[[], Iterable[str]]] = {
    "bounds": bounds.of_all,
    "successes": bounds.of_successes,
    "hindsight": successes.hindsight,
    "bands": successes.bands,
    "failures": successes.failures,
    "sequential": few_rollouts.recorded,
    "adaptive": few_rollouts.until,
    "levels": levels.by_level,
    "weights": weights.reweighted,
}


def main(arguments: list[str] | None = None) -> None:
    """Print the tables of the parts that are asked for, by default all."""
    options = parser("tightness", __doc__, PARTS)
    options.add_argument("--plot", help="draw certified safety against rollouts per task to this file")
    given = options.parse_args(arguments)
    for name in given.only or PARTS:
        show(PARTS[name]())
    if given.plot is not None:
        few_rollouts.draw(given.plot)


if __name__ == "__main__":
    main()
