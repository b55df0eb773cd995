"""Run the notebooks in place, skipping those whose packages are missing: ``python notebooks/run.py [NAME ...]``."""

import argparse
import importlib.util
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
# In the order in which they are meant to be read.
NOTEBOOKS = (
    "quickstart",
    "reading_a_certificate",
    "choosing_a_question",
    "bridge_world",
    "planning_and_adaptive",
    "massive_ablation",
    "gymnasium",
    "brax_training",
    "from_plan_to_report",
)
# What a notebook imports beyond the extra "notebooks", and what to install for it.
NEEDS = {
    "gymnasium": ("gymnasium", "gymnasium"),
    "brax_training": ("brax", ".[brax,notebooks]"),
    "from_plan_to_report": ("jsonschema_rs", ".[cli,notebooks]"),
}
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_LONGEST_CELL = 600  # seconds


def missing(name: str) -> str | None:
    """Why a notebook cannot run here, or None if it can."""
    module, package = NEEDS.get(name, ("jaxcert", "jaxcert"))
    return None if importlib.util.find_spec(module) else f"{module} is missing: pip install '{package}'"


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a run in its own folder.

    Raises:
        nbclient.exceptions.CellExecutionError: if a cell raises.
    """
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=_LONGEST_CELL,
        coalesce_streams=True,  # or what is printed at once comes in pieces that vary
        extra_arguments=["--Application.log_level=ERROR"],
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    return cleaned(notebook)


def cleaned(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Without times and versions of the machine, so that running it again changes results alone."""
    notebook.metadata = nbformat.from_dict({"kernelspec": _KERNEL, "language_info": {"name": "python"}})
    for cell in notebook.cells:
        tags = cell.metadata.get("tags")
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
    return notebook


def main() -> None:
    """Run all of them, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NOTEBOOKS))
    wanted = parser.parse_args().names or NOTEBOOKS
    unknown = sorted(set(wanted) - set(NOTEBOOKS))
    if unknown:
        parser.error(f"there is no notebook {', '.join(unknown)}; expected {', '.join(NOTEBOOKS)}")
    for name in wanted:
        if reason := missing(name):
            print(f"{name}: skipped, {reason}", flush=True)
            continue
        begin, path = time.perf_counter(), FOLDER / f"{name}.ipynb"
        nbformat.write(executed(path), path)
        print(f"{name}: {time.perf_counter() - begin:.0f} s, {path.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
