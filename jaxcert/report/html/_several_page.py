"""The pages of several answers that hold together, as of policies or of groups of rows, and of policies in pairs."""

from os import PathLike
from typing import Any

from jaxcert.report._several import Several
from jaxcert.report.check_trials import BELIEVED_OF_PAIRS
from jaxcert.report.html._report_page import confidence_of, origins_of, rows_of_table, write_page
from jaxcert.report.plots._axes import svg_of
from jaxcert.report.plots._evidence_plot import plot_pairs
from jaxcert.report.plots._interval_plot import draw_intervals
from jaxcert.rollouts import PairedTrials

# Policies or groups that have a sentence; the table has all.
_MOST_CLAIMS = 3
_DOTS = "Dots are averages in the data, which certify nothing; bars are what is certified."


def write_several(path: str | PathLike[str], found: Several, *, title: str | None = None, **how: Any) -> None:
    """Write a leaderboard, or the answers of groups, as one page of HTML that needs no other file and no network."""
    said, first = found.said, found.questions[0]
    write_page(
        path,
        "several.html.j2",
        found.questions,
        title=title or found.title,
        kind=f"{found.kind} {'on a fixed list of tasks' if first.listed else 'for new tasks'}",
        claims=said[:_MOST_CLAIMS] or ["No order is certified."],
        more=[f"These are the first {_MOST_CLAIMS} of {len(said)}; the table has all."] * (len(said) > _MOST_CLAIMS),
        rows=rows_of_table(found.table),
        note=found.note,
        together=found.together,
        picture=None if first.takes("tasks") else svg_of(draw_intervals, found.intervals, **found.axis),
        caption=f"{_DOTS} {found.caption}".rstrip(),
        settings={"confidence": confidence_of(found.delta), **found.settings},
        not_about=found.not_about,
        check="With the certificate file and the returns, this computes every number again and says what differs",
        origins=origins_of(found.names, found.data),
        **how,
    )


# --- of policies in pairs ------------------------------------------------------------------------------------------


def write_pairs(path: str | PathLike[str], trials: PairedTrials, *, title: str | None = None, **how: Any) -> None:
    """Write what a log of policies in pairs shows as a page, by their labels in the log."""
    declared, noun = trials.declared, trials.declared.noun
    write_page(
        path,
        "several.html.j2",
        [],
        title=title or " against ".join(sorted(declared.labels)),  # an order that reveals no blinded policy
        kind=f"{len(declared.labels)} policies, {noun} by {noun}",
        together=f"This may be looked at after every {noun}, and the experiment may end at any moment, for any reason.",
        rows=[],
        picture=svg_of(lambda ax: plot_pairs(trials, ax=ax).set(title="")),
        caption=f"The evidence after every {noun}. What reaches the dotted line is shown.",
        settings={
            "outcomes": "successes" if declared.successes else "scores from {:g} to {:g}".format(*declared.support),
            "margin": f"{declared.margin:g}",
            f"most {noun}s": str(declared.max_pairs or ""),
            "confidence": confidence_of(declared.delta),
        },
        assumptions=[line[2:].rstrip(";.") for line in BELIEVED_OF_PAIRS.splitlines()[1:]],
        origins={trials.path.name: {"trials": len(trials.trials), "SHA-256": trials.sha256}},
        not_about="a single scene or trial",
        check="With the log alone, this proves the answer again in exact arithmetic",
        **how,
    )
