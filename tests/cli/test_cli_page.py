"""The page of the command line: where the returns come from, and the command that checks it."""

import html
import re
import shlex

import numpy as np
import pytest
from cli_harness import command

from jaxcert.report import write_returns

RETURNS = np.random.default_rng(0).beta(5, np.random.default_rng(1).uniform(1, 4, (40, 1)), (40, 20)).astype(np.float32)
SETTINGS = ("--support", 0, 1, "--delta", 0.05, "--threshold", 0.5)


def page(folder, file, *options) -> str:
    status, _, err = command("certify", file, *SETTINGS, *options, "--report", folder / "c.html")
    assert (status, err) == (0, "")
    return (folder / "c.html").read_text()


def command_shown(text: str) -> list[str]:
    return shlex.split(html.unescape(re.search("<pre>(jaxcert verify .*)</pre>", text)[1]))


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_what_the_file_says_of_its_origin(tmp_path, suffix):
    facts = {"policy": "<mine>", "environment": "cheetah", "seed": 12345}
    write_returns(tmp_path / f"r{suffix}", RETURNS, facts=facts)
    text = page(tmp_path, tmp_path / f"r{suffix}")
    for name, value in (("policy", "&lt;mine&gt;"), ("environment", "cheetah"), ("seed", "12345")):
        assert f'<th scope="row">{name}</th><td>{value}</td>' in text
    assert re.search(r"for new tasks, \d{4}-\d\d-\d\d<", text)


def test_what_others_keep_under_that_name_is_no_fact(tmp_path):
    np.savez(tmp_path / "r.npz", returns=RETURNS, about=np.array({"policy": "pickled"}, object))
    assert "pickled" not in page(tmp_path, tmp_path / "r.npz")


def test_the_command_shown_verifies(tmp_path, monkeypatch):
    """Beside the files, whatever their names and columns; without a certificate file there is no such command."""
    rows = [f"{i},{value}" for i, task in enumerate(RETURNS.tolist()) for value in task]
    (tmp_path / "-a b.csv").write_text("\n".join(["world,my return", *rows, ""]))
    options = ("--task-column", "world", "--episode-column", "", "--value-column", "my return")
    monkeypatch.chdir(tmp_path)
    columns = ("--task-column", "world", "--value-column", "my return")
    assert command("lock", "p.toml", *SETTINGS, "--tasks", 40, "--rollouts", 20, *columns).status == 0
    options += ("--protocol", "p.toml", "--json", "it's.json", "./-a b.csv")
    assert command("certify", *SETTINGS, *options, "--report", "c.html").status == 0
    program, *arguments = command_shown((tmp_path / "c.html").read_text())
    assert program == "jaxcert"
    assert "--protocol" in arguments
    status, out, err = command(*arguments)
    assert (status, err) == (0, "")
    assert out == "verified: 1 certificate, 1 statement\n"
    assert "jaxcert verify" not in page(tmp_path, "./-a b.csv", *options[:-3], "--force")


def test_a_command_names_no_column_that_is_as_usual(tmp_path):
    np.savez(tmp_path / "r.npz", returns=RETURNS)
    text = page(tmp_path, tmp_path / "r.npz", "--json", tmp_path / "c.json")
    assert command_shown(text) == ["jaxcert", "verify", "c.json", "r.npz"]
