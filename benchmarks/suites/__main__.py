"""Fixed lists of tasks: the usual levels beside the best number of successes in hindsight, means, and exact failures.

    python -m benchmarks.suites [--only levels|mean|figures|failures] [--out benchmarks/results/suites.csv]

*Levels*: lists from several laws of success probabilities, and how many of their tasks are certified on average: by the
usual levels, by other sets of them at equal shares of delta, and by the one number of successes c, of all m, that says
most on average over the repetitions of a law, which no one can know. The file has a row for each world. *Mean*: the
mixture of bets beside the best single bet in hindsight, one bet on each task's average, Hoeffding's inequality with all
rollouts and, for successes, their binomial limit. *Figures*: one list of 40 tasks, 50 trials each. *Failures*: how
often the certificates fail in the worst case, exactly.
"""

import argparse
from pathlib import Path

from benchmarks.suites import failures, levels, means


def main(arguments: list[str] | None = None) -> None:
    """Print all tables, or one of them."""
    tables = {"levels": levels.table, "mean": means.table, "figures": means.figures, "failures": failures.table}
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.suites", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=tables)
    parser.add_argument("--out", type=Path, help="file for the rows of the levels")
    options = parser.parse_args(arguments)
    for name, table in tables.items():
        if options.only in (None, name):
            print(*(table(options.out) if name == "levels" else table()), sep="\n", end="\n\n")


if __name__ == "__main__":
    main()
