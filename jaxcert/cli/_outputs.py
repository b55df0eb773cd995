"""The files that a command writes: they are checked before any computation and written after it."""

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from jaxcert._extras import import_extra
from jaxcert._files import check_output, check_suffix, write_whole
from jaxcert.certificates import confidence
from jaxcert.cli._options import flag, in_shell, no_option, option, options
from jaxcert.report import document_text, plot_intervals, save_figure
from jaxcert.report._groups import Groups
from jaxcert.report._leaderboard import Leaderboard
from jaxcert.report.html._several_page import write_several
from jaxcert.report.plots._axes import check_figure_path
from jaxcert.tables import ReturnsFile
from jaxcert.tables._entries import decoded

# What begins as a path or an address does, at a word or after a colon, ends as the path of a file, or has two slashes.
_PATH = re.compile(
    r"(^|[\s:=])([/~.\\]|[a-zA-Z]:[/\\])|\S@\S+:|:[^\s/\\]*[/\\]|[/\\].*[/\\]|[/\\][^/\\]*[.][a-zA-Z]+[0-9]?$"
)
_CLAIM = "certified with confidence"
Named = tuple[str, Path | None]  # a file, and what the user calls it


@options
class Outputs(NamedTuple):
    """Which files are wanted."""

    json: Path | None = option("FILE", "Write a certificate file there; - for stdout.")
    witness: bool = flag(
        "Add a proof to the certificate file that anyone with the returns can check in exact arithmetic "
        "(`jaxcert verify --exact`).",
        "--witness",
    )
    plot: Path | None = option("FILE", "Draw the result, or the evidence over time (.png, .svg, .pdf).")
    report: Path | None = option(
        "FILE",
        "Write a page to read, print and send (.html): the statement, settings and figures. It shows no "
        "single returns and no task labels.",
    )
    names: bool = flag("Name single tasks on the page by their labels in the file.", "--tasks-in-report")
    force: bool = flag("Replace files that exist.", "--force")
    title: str | None = option("TEXT", "Title of the page, and of the plot before the confidence.")

    @property
    def to_stdout(self) -> bool:
        """Whether only the record goes to stdout."""
        return self.json == Path("-")

    @property
    def record(self) -> Path | None:
        """The file of the record."""
        return None if self.to_stdout else self.json

    def check(self, *inputs: Named) -> None:
        """Raise beforehand for files that could not be written, or exist and may not be replaced."""
        if self.witness and self.json is None:
            raise ValueError("--witness is for a certificate file; expected --json")
        if self.names and self.report is None:
            raise ValueError("--tasks-in-report is for a page; expected --report")
        if self.title is not None and self.report is self.plot is None:
            raise ValueError("--title is for a page or a plot; expected --report or --plot")
        files = {**self._asdict(), "json": self.record}
        outputs = ((f"--{name}", path) for name, path in files.items() if isinstance(path, Path))
        check_outputs(inputs, *outputs, force=self.force)

    def write(
        self,
        found: Any = None,
        *,
        document: Callable[[], dict[str, Any]],
        names: Sequence[str] = (),
        axes: Callable[[], Any] | None = None,
        page: Callable[..., None] | None = None,
        protocol: Path | None = None,
    ) -> None:
        """Write the wanted files: of groups or policies (``found``) by default with a row for each of their names.

        Nothing is written if a page would show the path of a file, which one of the ``names`` may be.
        """
        how: dict[str, Any] = {"replace": self.force}
        if self.report and any(map(_PATH.search, map(decoded, names))):
            told = "names of policies, groups, strata or columns are paths, which a page does not show"
            raise ValueError(f"--report: {told}; expected others, of files by --names")
        if self.record:
            write_whole(self.record, document_text(document()), **how)
        if self.plot:
            ax = axes() if axes else self.draw_rows(found)
            try:
                save_figure(self.plot, ax, **how)
            finally:
                import_extra("matplotlib.pyplot", "plot").close(ax.figure)
        if self.report:
            verified = self.record and _verify_command(self.record, found.data, protocol)
            known = {"title": self.title, "date": date.today().isoformat(), "verify_command": verified}
            (page or functools.partial(write_several, found=found))(self.report, **known, **how)
        if self.to_stdout:
            print(document_text(document()), end="")

    def draw_rows(self, found: Groups | Leaderboard, ax: Any = None) -> Any:
        """A row for each name."""
        title = f"{self.title or found.title}: {_CLAIM} {confidence(found.delta)}"
        return plot_intervals(found.intervals, title=title, ax=ax, **found.axis)


def check_outputs(inputs: Iterable[Named], *outputs: Named, force: bool) -> None:
    """Raise ValueError for files that cannot be written, that exist, or that the command uses otherwise."""
    check_distinct(*inputs, *outputs)
    for name, path in outputs:
        if path is not None:
            if name == "--report":
                check_suffix(path, [".html"])
            (check_figure_path if name == "--plot" else check_output)(path)
            if path.exists() and not force:
                raise ValueError(
                    f"{path}: exists; expected a new file, or --force to replace it, as a job needs that runs again"
                )


def check_distinct(*named: Named) -> None:
    """Raise ValueError if two of the named files that a command reads or writes are the same."""
    seen: dict[Path, str] = {}
    for name, path in named:
        if path is not None and (other := seen.setdefault(path.resolve(), name)) != name:
            raise ValueError(f"{other} and {name} name the same file, expected different ones")


def _verify_command(json: Path, data: Sequence[ReturnsFile], protocol: Path | None) -> str:
    """The command that recomputes the certificate file, without paths; a table with all policies is named once."""
    files = [path.name for path in dict.fromkeys(each.path for each in data)]
    if len({*files}) < len(files):  # in folders of their own, which a page does not show
        files = [f"the file of {each.called}" for each in data]
    words = [] if protocol is None else ["--protocol", no_option(protocol.name)]
    return in_shell("verify", [json.name, *files], words)
