"""The files that a command writes: they are checked before any computation and written after it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from jaxcert._extras import import_extra
from jaxcert._files import check_output, check_suffix
from jaxcert.cli._options import flag, option, options
from jaxcert.report import save_figure
from jaxcert.report.plots._axes import check_figure_path

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


def write_plot(file: Path, ax: Any, *, replace: bool = True) -> None:
    """Write the figure of these axes, and close it."""
    try:
        save_figure(file, ax, replace=replace)
    finally:
        import_extra("matplotlib.pyplot", "plot").close(ax.figure)
