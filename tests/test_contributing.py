"""The worked examples of CONTRIBUTING.md, run in a copy of the package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r'^```(python|diff) title="(.*?)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def carry_out(text: str, folder: Path) -> None:
    """Write the new files and edit the changed ones."""
    for language, path, body in BLOCK.findall(text):
        file = folder / path
        if language == "python":
            assert not file.exists()
            file.write_text(body)
        else:
            for lines in (hunk.splitlines() for hunk in body.split("@@\n")):
                before, after = ("\n".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +"))
                assert file.read_text().count(before) == 1, before
                file.write_text(file.read_text().replace(before, after))


@pytest.mark.parametrize(
    ("section", "name", "tests", "number"),
    [
        ("Add a bound", "cantelli", "tests/test_registries.py", 5),
        ("Add a method", "hoeffding_risk", "tests/test_registries.py", 7),
        ("Add a question", "median", "tests/questions", 12),
    ],
    ids=["bound", "method", "question"],
)
def test_an_example_passes_the_tests_of_its_registry(section, name, tests, number, tmp_path):
    text = (ROOT / "CONTRIBUTING.md").read_text()
    (chapter,) = (part for part in re.split(r"^## ", text, flags=re.MULTILINE) if part.startswith(section))
    for folder in ("jaxcert", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    carry_out(chapter, tmp_path)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    # One call that prints the location of the package and runs the tests of the additions.
    found = subprocess.run(
        [sys.executable, "-c", "import jaxcert; print(jaxcert.__file__)"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert Path(found.stdout.strip()).is_relative_to(tmp_path)
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests, "-k", name]
    outcome = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert f"{number} passed" in outcome.stdout
