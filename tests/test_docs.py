"""The fenced blocks of README.md and docs/, run as written."""

import ast
import builtins
import contextlib
import importlib.util
import io
import itertools
import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from cli_harness import Outcome, command
from cli_harness import table as csv_table
from tool_files import TAU, monitor, written

import jaxcert
from jaxcert import report

pytestmark = pytest.mark.usefixtures("there", "promoting")  # as users have it: an empty folder, and JAX as it comes
ROOT = Path(__file__).parents[1]
# What needs the extras brax or gymnax, which not every block names that does.
NEEDS_BRAX = re.compile(r"brax|mujoco|gymnax|locomotion")
# Robots: training takes hours, and to draw needs a driver, so these have a test of their own.
OF_ROBOTS = re.compile(r"locomotion")
# Run where they are installed.
OF_OTHERS = re.compile(r"^(?:from|import) (torch|stable_baselines3|jumanji|jaxmarl|dask)\b", re.MULTILINE)


class Block(NamedTuple):
    """The content of a fenced block."""

    line: int
    language: str
    text: str


def blocks(name: str) -> list[Block]:
    """All blocks of a file, in order."""
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", (ROOT / name).read_text(), re.MULTILINE | re.DOTALL)
    return [Block(match.string[: match.start()].count("\n") + 1, *match.groups()) for match in found]


def files(wanted: Callable[[str], object]) -> list:
    """Those that have what is wanted, as parameters of a test."""
    names = ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
    return [name for name in names if wanted(name)]


def python(name: str) -> list[str]:
    """Blocks of Python."""
    return [block.text for block in blocks(name) if block.language == "python"]


def run_python(name: str, *, with_brax: bool, most: int | None = None) -> int:
    """Python blocks, run one after the other as in one session; a text block after one shows its output."""
    namespace, output, ran = {"__name__": "__main__"}, None, 0
    for block in blocks(name):
        if block.language == "text" and output is not None:
            assert output == block.text
        if ran == most:
            break
        output = None
        if block.language != "python" or OF_ROBOTS.search(block.text):
            continue
        if not with_brax and NEEDS_BRAX.search(block.text):
            continue
        if any(importlib.util.find_spec(module) is None for module in OF_OTHERS.findall(block.text)):
            continue
        code = compile("\n" * block.line + block.text, ROOT / name, "exec")
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            exec(code, namespace)
        output, ran = stream.getvalue(), ran + 1
    return ran


def commands(name: str) -> list[list[str]]:
    """The calls of jaxcert on the command line."""
    lines = [line for block in blocks(name) if block.language == "console" for line in block.text.splitlines()]
    return [words[1:] for line in lines if (words := shlex.split(line, comments=True))[:1] == ["jaxcert"]]


def shown(name: str) -> dict[tuple[str, ...], list[str]]:
    """The lines that the text says a command prints: a text block right after its block, or in a table its row."""
    text = (ROOT / name).read_text()
    after = re.findall(r"^```console\n((?:(?!```).*\n)*)```\n\n```text\n((?:(?!```).*\n)*)```$", text, re.MULTILINE)
    found = {tuple(shlex.split(call.splitlines()[-1])[1:]): said.splitlines() for call, said in after}
    rows = re.findall(r"^\|[^|]*\| `jaxcert ([^`]*)`[^|]*\| ([^|]*) \|", text, re.MULTILINE)
    return found | {tuple(shlex.split(call)): [said] for call, said in rows}


def fed(words: list[str]) -> Outcome:
    """The outcome of a command, which may end in ``< FILE``."""
    if "<" not in words:
        return command(*words)
    *words, _, name = words
    with Path(name).open() as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", file)
        return command(*words)


@pytest.fixture
def _with_files(there, promoting):
    """The files that the text assumes."""
    pandas = pytest.importorskip("pandas")
    returns = jaxcert.sample_returns("cheetah")
    for file in ("returns.npz", "seed0.npz", "seed1.npz", "checkpoint1.npz", "new.npz"):
        np.savez(file, returns=returns)
    np.savez("old.npz", returns=0.7 * returns[:, ::-1])
    np.savez("older.npz", returns=0.5 * returns)
    task, episode = np.indices(returns.shape).reshape(2, -1)
    table = pandas.DataFrame({"task_id": task, "episode_id": episode, "total_return": np.ravel(returns)})
    table.to_parquet("returns.parquet")
    Path("scores.csv").write_text("world;score\nhill;0,5\nhill;1,0\nmaze;0,75\nmaze;0,25\n")
    passed = np.random.default_rng(3).random((60, 5)) < 0.9
    for file, kept in (("trials.csv", passed), ("once.csv", passed[:, :1])):
        csv_table(file, "task,trial,success", [(*at, "pass" if ok else "fail") for at, ok in np.ndenumerate(kept)])
    csv_table("metaworld.csv", "env,goal,trial,success", [(f"env{env}", *at, 1) for env, *at in np.ndindex(50, 5, 4)])
    deployed = [(f"task {i // 20}", value) for i, value in enumerate(returns[:30, :20].ravel())]
    csv_table("deployed.csv", "task,return", deployed)
    trials = [{"success": True}, {"success": False}]
    Path("runs.json").write_text(json.dumps({"tasks": {task: {"trials": trials} for task in ("push", "pull")}}))
    written(Path(), TAU)
    for task in ("hill", "maze"):
        monitor(Path("runs", task, "monitor.csv"), [0.5, 1.0])
    for day in (1, 2):
        Path(f"rollouts/day={day}").mkdir(parents=True)
        rows = pandas.DataFrame({"task": np.arange(2000) % 50, "seed": day, "score": np.linspace(0.7, 0.9, 2000)})
        rows.to_parquet(f"rollouts/day={day}/part-0.parquet")
    for name in ("agents", "robots", "requirements"):  # whose first block writes the file of the page
        run_python(f"docs/{name}.md", with_brax=False, most=1)


def test_nothing_is_left_to_fill_in():
    left = {name: re.findall(r"@[A-Z]+@", (ROOT / name).read_text()) for name in files(lambda name: True)}
    assert not any(left.values()), left


def test_the_start_page_has_the_table_of_the_readme():
    text = (ROOT / "docs/index.md").read_text()
    spec = importlib.util.spec_from_file_location("from_readme", ROOT / "docs/from_readme.py")
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(hook := importlib.util.module_from_spec(spec))
    rows = set(hook.on_page_markdown(text).splitlines()) - set(text.splitlines())
    assert len(rows) == 2 + 11
    assert {target for row in rows for target in re.findall(r"\]\(([^)#]*)", row)} <= set(os.listdir(ROOT / "docs"))


def unknown(code: str) -> set[str]:
    """Names that a program reads without having made or imported them."""
    nodes = list(ast.walk(ast.parse(code)))
    made = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    made |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    made |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler)}
    made |= {(node.asname or node.name).split(".")[0] for node in nodes if isinstance(node, ast.alias)}
    return {node.id for node in nodes if isinstance(node, ast.Name)} - made - set(dir(builtins))


@pytest.mark.parametrize("name", ["README.md", "docs/index.md", "docs/any_policy.md", "docs/training.md"])
def test_sections_to_which_a_way_in_leads_run_by_themselves(name):
    """Their first block, which a reader copies who comes by the link and has not seen the page above it."""
    found = {}
    for page, anchor in re.findall(r"\]\((?:docs/)?(\w+\.md)?#([\w-]+)\)", (ROOT / name).read_text()):
        path = f"docs/{page}" if page else name
        for heading, text in re.findall(r"^##+ (.*)\n((?:(?!##).*\n)*)", (ROOT / path).read_text(), re.MULTILINE):
            block = re.search(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
            if block and re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") == anchor:
                found[path, anchor] = unknown(block[1])
    assert found
    assert not any(found.values()), found


def test_the_gallery_has_a_picture_of_every_plot():
    text = (ROOT / "docs/gallery.md").read_text()
    drawn = set(re.findall(r'save_figure\("(\w+)\.png"', text))
    assert drawn == set(re.findall(r"\(gallery/(\w+)\.png\)", text))
    assert drawn == {path.stem for path in (ROOT / "docs/gallery").iterdir()}
    assert set(re.findall(r"report\.(plot_\w+)", text)) == {name for name in report.__all__ if name.startswith("plot_")}


# Whose first block takes more than a few seconds.
_LONG = {
    "anytime",
    "bridge_world",
    "few_rollouts",
    "gallery",
    "planning",
    "seeds_and_checkpoints",
    "sweeps",
    "zones",
}


@pytest.mark.filterwarnings("ignore:.*are missing. certificates hold:UserWarning")  # as the page says
@pytest.mark.parametrize("name", [name for name in files(python) if Path(name).stem not in _LONG])
def test_the_first_example_runs(name):
    run_python(name, with_brax=False, most=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*are missing. certificates hold:UserWarning")  # as the page says
@pytest.mark.parametrize("name", files(python))
def test_python_runs(name):
    assert run_python(name, with_brax=False)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", files(lambda name: any(NEEDS_BRAX.search(text) for text in python(name))))
def test_python_runs_with_brax(name):
    """All blocks, since those that need it build on those that do not."""
    pytest.importorskip("brax", reason="needs the extra brax")
    pytest.importorskip("gymnax", reason="needs the extra gymnax")
    pytest.importorskip("gymnasium")
    assert run_python(name, with_brax=True) > 2
    left = {path.name for path in Path.cwd().iterdir() if path.suffix != ".lock"}
    # What the text says, and no log of MuJoCo.
    assert left == {"params", "certificates.jsonl", "events", "pendulum"}


_OF_COMMANDS = pytest.mark.parametrize(
    "name", [name if name == "README.md" else pytest.param(name, marks=pytest.mark.slow) for name in files(commands)]
)


@pytest.mark.usefixtures("_with_files")
@_OF_COMMANDS
def test_commands_run(name):
    for words in commands(name):
        outcome = fed(words)
        assert (outcome.status, outcome.err) == (0, ""), words
        written = [word for option, word in itertools.pairwise(words) if option in ("--plot", "--json")]
        assert all(Path(word).is_file() for word in written)
    if name != "README.md":  # whose commands need no files of one another, so that they are a short test of their own
        test_commands_print_what_the_text_says(name)


@pytest.mark.usefixtures("_with_files")
@pytest.mark.parametrize("name", ["README.md"])
def test_commands_print_what_the_text_says(name):
    for words, lines in shown(name).items():
        out = " ".join(command(*words).out.split())
        assert [line for line in lines if " ".join(line.split()) not in out] == [], words


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_robots_are_trained_as_the_page_says(monkeypatch):
    """Training with fewer steps and smaller certificates."""
    pytest.importorskip("brax", reason="needs the extra brax")
    ppo = pytest.importorskip("brax.training.agents.ppo.train")
    sizes = {"num_timesteps": 1, "num_envs": 4, "batch_size": 4, "num_minibatches": 1, "num_evals": 1}
    learned = ppo.train
    monkeypatch.setattr(ppo, "train", lambda **given: learned(**{**given, **sizes}))
    (learn,) = (text for text in python("docs/training.md") if OF_ROBOTS.search(text))
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        exec(learn.replace('"num_tasks": 50, "num_rollouts": 10', '"num_tasks": 2, "num_rollouts": 1'), {})
    assert "certify/safety@500" in stream.getvalue()
    assert {"walker.jsonl", "walker_0"} < {path.name for path in Path.cwd().iterdir()}


def test_nothing_is_installed_by_name():
    """No release is on an index: what is said to be installed is a checkout, or a file that was made in one."""
    places = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")]
    places += [*(ROOT / "jaxcert").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py"), ROOT / "notebooks" / "run.py"]
    by_name = re.compile(r"pip install [\\\"'`-]*(?:-[a-z]+ )*[\\\"']*jaxcert")
    assert [str(path) for path in places if by_name.search(path.read_text())] == []
    in_code = [path.name for path in (ROOT / "jaxcert").rglob("*.py") if "pip install" in path.read_text()]
    assert in_code == ["_extras.py"]
