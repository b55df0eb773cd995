"""Bad input and files that cannot be read: one line on stderr, status 2, nothing written; the same words everywhere."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_harness import as_process, command, refused, said

import jaxcert
from jaxcert.tables._files import check_output, write_whole

ROOT = Path(jaxcert.__file__).parents[1]
GOOD = np.linspace(0, 1, 96).reshape(12, 8)


def stored(folder: Path, returns: np.ndarray, **arrays: np.ndarray) -> Path:
    path = folder / "r.npz"
    np.savez(path, returns=returns, **arrays)
    return path


def test_a_bad_return_is_named_by_file_row_and_label(tmp_path):
    """Row 6 of the table is rollout 2 of the second task."""
    rows = ["push,1,0", "pull,1,1", "push,2,1", "pull,2,0", "push,3,1", "pull,3,0.5"]
    table, settings = tmp_path / "r.csv", ("--delta", 0.1, "--threshold", 0.2)
    table.write_text("\n".join(["task_id,episode_id,total_return", *rows, ""]))
    place = f"error: {table}: row 6: the return of task 'pull' is 0.5"
    found = refused("certify", table, "--support", 0, 1, *settings, "--bound", "clopper_pearson")
    assert found == f"{place}; expected binary returns, 0 or 1\n"
    found = refused("certify", table, "--support", 0.5, 1, *settings)
    assert found == f"error: {table}: row 1: the return of task 'push' is 0, outside the support (0.5, 1)\n"
    other = tmp_path / "other.csv"
    other.write_text(table.read_text().replace("push,2,1", "push,2,7"))
    both = ("--support", 0, 1, "--delta", 0.1, "--margin", 0)
    found = refused("compare", table, other, *both)
    assert found == f"error: {other}: row 3: the return of task 'push' is 7, outside the support (0, 1)\n"
    assert "support is (0, 2)" in refused("certify", table, "--support", 0, 2, *settings, "--bound", "clopper_pearson")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1.5, -0.5])
def test_a_bad_return_is_named_and_no_output_begun(tmp_path, bad):
    returns = GOOD.copy()
    returns[3, 5] = bad
    outputs = ["--json", tmp_path / "out.json", "--plot", tmp_path / "out.png"]
    path = stored(tmp_path, returns)
    line = refused("certify", path, "--support", 0, 1, "--delta", 0.1, "--mean", *outputs)
    why = ", outside the support (0, 1)" if np.isfinite(bad) else "; expected a finite number"
    assert line == f"error: {path}: the return of task 3, rollout 5 is {bad:g}{why}\n"
    assert [file.name for file in tmp_path.iterdir()] == ["r.npz"]


@pytest.mark.parametrize(("module", "extra"), [("typer", "cli"), ("pyarrow", "io")])
def test_a_missing_extra_is_named(tmp_path, monkeypatch, module, extra):
    (tmp_path / "r.csv").write_text("task_id,episode_id,total_return\n1,1,0.5\n")
    monkeypatch.setitem(sys.modules, module, None)
    status, out, err = command("certify", tmp_path / "r.csv", "--support", 0, 1, "--delta", 0.1, "--mean")
    assert (status, out) == (1, "")
    assert err == f"error: {module} is needed for this: pip install '.[{extra}]' in the checkout of jaxcert\n"


def test_a_missing_plot_extra_is_named_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    arguments = ["--support", 0, 1, "--delta", 0.1, "--plot", tmp_path / "out.png"]
    status, _, err = command("certify", tmp_path / "none.npz", *arguments)
    assert status == 1
    assert "pip install '.[plot]'" in err


def test_an_interruption_ends_with_130_and_no_files(tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("jaxcert.cli._request.ask", interrupt)
    arguments = ["--support", 0, 1, "--delta", 0.1, "--mean", "--json", tmp_path / "out.json"]
    outcome = command("certify", stored(tmp_path, GOOD), *arguments)
    assert outcome == (130, "", "error: interrupted\n")
    assert [file.name for file in tmp_path.iterdir()] == ["r.npz"]


@pytest.mark.parametrize("arguments", [["--help"], [], ["-h"], ["certify", "--help"], ["certify", "-h"]])
def test_help(arguments):
    assert said(*arguments).lstrip().startswith("Usage: jaxcert")


def test_the_list_of_commands_needs_no_jax():
    code = "import sys; from jaxcert.cli import run; run(['--help']); sys.exit('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "certify  Certify the returns in FILE." in done.stdout


def test_version():
    assert command("--version") == (0, f"jaxcert {jaxcert.__version__}\n", "")


def test_a_refusal_as_a_process():
    done = as_process("certify", "none.npz", "--support", 0, 1, "--delta", 0.1, "--mean")
    assert done == (2, "", "error: none.npz: no such file\n")


def test_a_name_beside_which_no_other_has_room_is_refused_beforehand(tmp_path):
    longest = tmp_path / ("ä" * 112 + ".jsonl")
    assert len(longest.name.encode()) == 230
    write_whole(check_output(longest), b"1")
    too_long = tmp_path / ("ä" * 113 + ".jsonl")
    begin = ("trial", "start", too_long, "--tasks", "a,b,c", "--threshold", 0.5, "--delta", 0.1, "--successes")
    assert "a name of 232 bytes; expected at most 230" in refused(*begin)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_that_cannot_be_read(tmp_path, monkeypatch):
    file = tmp_path / "file.npz"
    arguments = ("certify", file, "--support", 0, 1, "--delta", 0.1, "--mean")
    file.mkdir()
    assert refused(*arguments).startswith(f"error: {file}: is a directory, expected a file")
    file.rmdir()
    file.touch()
    assert refused(*arguments).startswith(f"error: {file}: is empty (0 bytes), expected ")
    read = Path.read_bytes
    denied = PermissionError(13, "Permission denied", str(file))

    def unreadable(path):
        if path == file:
            raise denied
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", unreadable)
    assert refused(*arguments) == f"error: {file}: cannot be read (Permission denied)\n"
    assert [path.name for path in tmp_path.iterdir()] == ["file.npz"]
