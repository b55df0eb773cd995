"""The page of the command line: what it holds, and the command that checks it."""

import hashlib
import html
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from cli_harness import RETURNS, command, said, session, table

from jaxcert.tables import write_returns

SETTINGS = ("--support", 0, 1, "--delta", 0.05, "--threshold", 0.5)


def page(folder, file, *options) -> str:
    said("certify", file, *SETTINGS, *options, "--report", folder / "c.html")
    return (folder / "c.html").read_text()


def command_shown(text: str) -> list[str]:
    return shlex.split(html.unescape(re.search("<pre>(jaxcert verify .*)</pre>", text)[1]))


ASKED = {
    "certify": [
        ("--sampled", "--threshold", 0.5),
        ("--suite", "--threshold", 0.5),
        ("--suite", "--threshold", 0.3, "--each-task"),
        ("--suite", "--threshold", 0.3, "--each-task", "--by", "kind"),
        ("--sampled", "--mean"),
    ],
    "compare": [("--sampled", "--mean"), ("--suite", "--each-task", "--support", 0, 1, "--threshold", 0)],
}


HOSTS, KINDS = ("https://you:secret@gpu01.org", "bucket.org/m.pt?key=secret"), ("a != b", "c")


@pytest.fixture(scope="module")
def private(tmp_path_factory):
    """Trials of two policies, in a table that holds more than is to be sent."""
    folder, rng = tmp_path_factory.mktemp("secret_folder"), np.random.default_rng(0)
    for name, share in (("a", 0.9), ("b", 0.4)):
        rows = [
            (f"secret{i}", j, "pass" if rng.random() < share else "fail", "Secret Doe", "secret@example.org")
            + (f"/home/secret/{i}-{j}", f"Secret{i}", f"Secret{i}" if i < 3 else "room", f"open Secret{i}")
            + (HOSTS[i % 2], KINDS[i % 2], f"s3://in/{i % 2}.usd?key=secret/of#mine")
            for i, j in np.ndindex(30, 5)
        ]
        table(folder / f"{name}.csv", "task,trial,success,name,email,path,alias,scene,prompt,host,kind,world", rows)
    return folder


@pytest.mark.parametrize(("verb", "asked"), [(verb, each) for verb, asked in ASKED.items() for each in asked])
def test_a_page_holds_no_returns_no_other_columns_and_names_only_on_request(private, tmp_path, verb, asked):
    files = [private / "a.csv", private / "b.csv"][: 2 if verb == "compare" else 1]
    for names in ((), ("--tasks-in-report",)):
        path = tmp_path / f"{len(names)}.html"
        status, _, err = command(verb, *files, *asked, "--delta", 0.1, "--report", path, *names)
        assert status == 0, err
        text = path.read_text().replace(*("secret", "") if names else ("", ""))
        assert "secret" not in text.lower()
        assert "pass" not in re.sub(r"which\s+passes", "", text)
        assert hashlib.sha256(files[0].read_bytes()).hexdigest() in text
        assert "<script" not in text


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        ("task != secret3", "some tasks by task"),
        ("task in secret1, secret2, secret4, secret5", "some tasks by task"),
        ("path != /home/secret/3-1", "some rows by path"),
        ("path in /home/secret/1-1, /home/secret/2-1", "where path in 1-1, 2-1"),
        ("alias in Secret1, Secret2", "some tasks by alias"),
        ("scene in Secret1, Secret2, room", "some tasks by scene"),
        ("prompt in open Secret1, open Secret2", "some tasks by prompt"),
        ("world = s3://in/1.usd?key=secret/of#mine", "where world = 1.usd"),
        ("host = https://you:secret@gpu01.org", "where host = gpu01.org"),
        ("host = bucket.org/m.pt?key=secret", "where host = m.pt"),
        ("kind = a != b", 'where kind = "a != b"'),
    ],
)
def test_a_page_names_neither_tasks_nor_what_a_condition_leaves_out(private, tmp_path, where, shown):
    path = tmp_path / "page.html"
    asked = ("--where", where, "--threshold", 0.1, "--delta", 0.1, "--report", path)
    status, _, err = command("certify", private / "a.csv", *asked)
    assert status == 0, err
    assert "secret" not in path.read_text().lower()
    assert shown in html.unescape(path.read_text())


def test_a_page_shows_neither_paths_nor_what_a_file_says_of_its_origin(there):
    places = "/home/secret,you/{}.pt", "C:\\secret\\{}.pt", "secret@host:{}.pt", "file%3A%2F%2Fsecret%2F{}.pt"
    rows = [
        (i, *(f'"{place.format(name)}"' for place in places), int(i % 4 > 0))
        for i in range(20)
        for name in ("new", "old")
    ]
    table("t.csv", "task,policy,copy,there,coded,success", rows)
    write_returns("r.npz", RETURNS, facts={"environment": "/home/secret/envs.py:Pole", "operator": "secret"})
    session("""
        ASKED --policy policy --only /home/secret,you/new.pt --report p.html
        ASKED --policy coded --only file%3A%2F%2Fsecret%2Fnew.pt --report f.html
        ASKED --policy there --only secret@host:new.pt --report h.html
        ASKED --policy copy --only 'C:\\secret\\new.pt' --report w.html
        certify r.npz --support 0 1 --threshold 0.1 --delta 0.1 --report e.html
    """, ASKED="certify t.csv --trial '' --threshold 0.1 --delta 0.1")  # fmt: skip
    for page, shown in (
        ("p.html", "where policy = new.pt"),
        ("w.html", "where copy = new.pt"),
        ("h.html", "where there = new.pt"),
        ("f.html", "where coded = new.pt"),
        ("e.html", "r.npz"),
    ):
        assert shown in (there / page).read_text()
        assert "secret" not in (there / page).read_text()


def test_a_page_counts_what_ended_early_and_not_the_words_of_its_errors(there):
    words, records = "401 for secret@example.org", [(i, k, 3 * i + k) for i in range(8) for k in range(2)]
    early = [
        {"task_id": i, "trial": k, "reward": float(j > 3), "info": {"error": words} if j < 2 else {}, "traj": []}
        for i, k, j in records
    ]
    Path("early.json").write_text(json.dumps(early))
    lost = [{"task": i, "trial": k, "reward": int(j > 3), **({"why": words} if j < 2 else {})} for i, k, j in records]
    Path("lost.json").write_text(json.dumps({"runs": lost}))
    fields = 'task = "task"\ntrial = "trial"\nunfinished = "why"\nvalues = { reward = "reward" }\n'
    Path("my.toml").write_text(f'name = "my log"\nrecords = "runs.*"\n{fields}')
    session("""
        certify early.json ASKED --report early.html ~> 2 ended early, 401 for secret@example.org (2)
        certify lost.json ASKED --recipe my.toml --unfinished 0 --report lost.html ~> ended by 401 for secret@
    """, ASKED="--suite --mean --support 0 1 --delta 0.1")  # fmt: skip
    for page, told in ("early.html", "; 2 ended early<"), ("lost.html", "2 of 16 rollouts unfinished, counted as 0<"):
        text = (there / page).read_text()
        assert told in text
        assert "secret" not in text


def test_the_command_shown_verifies(tmp_path, monkeypatch):
    """Beside the files, whatever their names and columns; without a certificate file there is no such command."""
    table(tmp_path / "-a b.csv", "world,my return", [(i, value) for (i, _), value in np.ndenumerate(RETURNS)])
    options = ("--task", "world", "--trial", "", "--value", "my return")
    monkeypatch.chdir(tmp_path)
    columns = ("--task", "world", "--value", "my return")
    assert command("lock", "p.toml", *SETTINGS, "--tasks", 40, "--rollouts", 20, *columns).status == 0
    options += ("--protocol", "p.toml", "--json", "it's.json", "./-a b.csv")
    assert command("certify", *SETTINGS, *options, "--report", "c.html").status == 0
    program, *arguments = command_shown((tmp_path / "c.html").read_text())
    assert program == "jaxcert"
    assert "--protocol" in arguments
    out = said(*arguments)
    assert out == "verified: 1 certificate, 1 statement\n"
    assert "<pre>jaxcert verify" not in page(tmp_path, "./-a b.csv", *options[:-3], "--force")


def test_a_page_of_groups_says_what_its_sentences_do_not_cover(there):
    table("g.csv", "task,room,trial,success", [(f"q{i}x", i % 2, j, 1) for i in range(12) for j in range(30)])
    session("""
        ASKED --question episode --report e.html
        ASKED --suite --each-task --report t.html
        ASKED --suite --each-task --report n.html --tasks-in-report
    """, ASKED="certify g.csv --threshold 0.5 --delta 0.05 --by room")  # fmt: skip
    episode, places, labels = (" ".join((there / f"{name}.html").read_text().split()) for name in "etn")
    assert "or about a given task" in episode
    assert "or about tasks that are not in the list, or a single episode" in places
    assert "on tasks 0, 1, 2, 3, 4, 5 (6 of 6)" in places
    assert "on q0x, q2x, q4x, q6x, q8x, q10x (6 of 6)" in labels


def test_strata_that_are_tasks_are_shown_on_request_alone(there):
    labels = [(f"q{i}", f"q{i}", f"Q{i}", f"open {i}", max(i, 1), i, i, i % 2) for i in range(6)]
    rows = [(*of, j, int((i + j) % 4 > 0)) for i, of in enumerate(labels) for j in range(8)]
    table("g.csv", "task,same,shouted,prompt,shared,number,copy,room,trial,success", rows)
    told = "groups or strata are labels of tasks, parts of them, or of one task, which a page shows with"
    session(f"""
        ASKED --strata task --report q.html => {told}
        ASKED --strata same --report q.html => {told}
        ASKED --task room,task --strata task --report q.html => {told}
        ASKED --by same --report q.html => {told}
        ASKED --by shouted --report q.html => {told}
        ASKED --by prompt --report q.html => {told}
        ASKED --by shared --report q.html => {told}
        ASKED --strata shared --report q.html => {told}
        ASKED --task number --strata copy --report q.html => {told}
        ASKED --task room,task --strata same --report q.html => {told}
        ASKED --strata task --report q.html --tasks-in-report
        ASKED --strata room --report r.html
    """, ASKED="certify g.csv --threshold 0.5 --delta 0.05")  # fmt: skip
