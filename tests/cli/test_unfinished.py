"""Files that a command may replace: that of an unfinished run, and outputs whose names are taken while it runs."""

import json

import numpy as np
import pytest
from cli_harness import command, refused

from jaxcert._files import held_alone
from jaxcert.cli import _answering, _rollout_command
from jaxcert.cli._run import Rolling, Unfinished
from jaxcert.rollouts import adaptive_facts, load_adaptive
from jaxcert.tables import read_returns

ADAPTIVE = ("rollout", "simple_grid", "--tasks", 5, "--threshold", 0.5, "--max-rollouts", 50)


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """What a run leaves whose deadline came, with a seed that was drawn."""
    folder = tmp_path_factory.mktemp("begun")
    asked = (*ADAPTIVE, "--out", folder / "run.npz", "--json", folder / "run.json")
    assert command(*asked, "--deadline", 1e-6).status == 0
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def out(begun, tmp_path):
    assert sorted(begun) == ["run.json", "run.npz", "run.npz.unfinished"]
    for name, content in begun.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path / "run.npz"


def kept(out):
    return out.with_name("run.npz.unfinished")


def goes_on(out, **options):
    """The run as the command goes on with it."""
    facts = {name: fact for name, fact in adaptive_facts(kept(out)).items() if name != "seed"}
    return Unfinished(asked(out, json=out.with_suffix(".json"), **options), facts)


def asked(out, **options):
    return Rolling(policy="simple_grid", out=out)._replace(**{"json": None, "seed": None, "force": False, **options})


def altered(path, **changes):
    """The file with some arrays changed by functions."""
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez(path.with_suffix(".npz"), **{**arrays, **{name: change(arrays[name]) for name, change in changes.items()}})
    path.with_suffix(".npz").replace(path)


def with_facts(**changes):
    def change(about):
        found = json.loads(str(about))
        return np.array(json.dumps({**found, "facts": {**found["facts"], **changes}}))

    return change


def test_only_what_is_of_this_run_from_the_beginning_is_replaced(out):
    one, record = goes_on(out), out.with_suffix(".json")
    assert one.may_replace(out)
    assert one.may_replace(record)
    content = record.read_bytes()
    record.write_text("another's")
    assert not one.may_replace(record)
    assert goes_on(out, force=True).may_replace(record)
    record.unlink()
    one = goes_on(out)
    record.write_bytes(content)  # of another process with the same settings
    assert one.may_replace(out)
    assert not one.may_replace(record)
    document = json.loads(content)
    document["certificates"][0]["rollouts"] = ["another's"]
    record.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"run\.json: exists; expected a new file, or --force"):
        goes_on(out)


def test_a_new_run_replaces_nothing(out):
    one, seed = goes_on(out), adaptive_facts(kept(out))["seed"]
    kept(out).unlink()
    facts = {name: fact for name, fact in one.facts.items() if name != "seed"}
    with pytest.raises(ValueError, match=r"run\.npz: exists; expected a new file, or --force"):
        Unfinished(asked(out, seed=seed), facts)
    new = out.with_name("new.npz")
    assert not Unfinished(asked(new, seed=seed), facts).may_replace(new)


def test_a_run_of_another_process_is_left_alone(out):
    before = kept(out).read_bytes()
    lock = kept(out).with_name("run.npz.unfinished.lock")
    asked = (*ADAPTIVE, "--out", out, "--json", out.with_suffix(".json"))
    with held_alone(lock) as is_alone:
        assert is_alone
        assert f"{kept(out)}: in use by another process; wait for it, or choose another --out" in refused(*asked)
        assert "in use by another process" in refused(*asked, "--force")
        assert kept(out).read_bytes() == before
        assert lock.exists()
    lock.touch()  # of a process that was killed
    assert command(*asked).status == 0
    assert sorted(file.name for file in out.parent.iterdir()) == ["run.json", "run.npz"]


SEEDS = ["abc", 1.5, [1], pytest.param(10**400, id="huge"), None, float("nan"), True, -1, 2**32]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_that_is_none_is_refused(out, seed):
    altered(kept(out), about=with_facts(seed=seed))
    line = refused(*ADAPTIVE, "--out", out, "--json", out.with_suffix(".json"))
    assert f"{kept(out)}: its seed is {seed!r:.40}; expected a whole number from 0 to 4294967295" in line


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("task_task", lambda x: x[:-1], "array 'task_task' has shape (4,), expected (5,): one row per task"),
        ("task_task", lambda x: x[0], "array 'task_task' has shape (), expected (5,): one row per task"),
        ("task_task", lambda x: np.array(["a"] * 5), "resume has other tasks than this key draws"),
        ("task_task", lambda x: x + 1, "resume has other tasks than this key draws"),
        (
            "about",
            lambda x: np.array(str(x).replace('"beta": 0.05', '"beta": 0.125')),
            "resume has beta 0.125; expected",
        ),
        ("num_started", lambda x: np.int32(105), "resume has 105 rollouts, more than max_rollouts"),
    ],
)
def test_what_does_not_fit_is_told_with_the_name_of_the_file(out, name, change, words):
    altered(kept(out), **{name: change})
    assert f"{kept(out)}: {words}" in refused(*ADAPTIVE, "--out", out, "--json", out.with_suffix(".json"))


@pytest.fixture
def meanwhile(monkeypatch):
    """Another writes files as soon as a function is called; gives the function that arranges that."""

    def arrange(module, name, *paths):
        function = getattr(module, name)

        def called(*arguments, **options):
            for path in paths:
                path.write_text("another's")
            return function(*arguments, **options)

        monkeypatch.setattr(module, name, called)

    return arrange


def check_taken(line, path, *others):
    """Each file is still another's, and what was to be in the first one is beside it."""
    assert {each.read_text() for each in (path, *others)} == {"another's"}
    beside = path.with_name(f"{path.stem}.1{path.suffix}")
    assert f"{path}: exists by now, and is not replaced; what was written is in {beside}" in line
    return beside


def test_names_that_certify_finds_taken(tmp_path, meanwhile):
    file, *outputs = (tmp_path / name for name in ("r.npz", "c.json", "c.png", "c.html"))
    np.savez(file, returns=np.random.default_rng(0).uniform(0.4, 1, (40, 20)))
    meanwhile(_answering, "ask", *outputs)
    options = [word for pair in zip(("--json", "--plot", "--report"), outputs, strict=True) for word in pair]
    line = refused("certify", file, "--support", 0, 1, "--delta", 0.05, "--threshold", 0.5, *options)
    record = check_taken(line, *outputs)
    assert json.loads(record.read_text())["certificates"][0]["rows"][0]["threshold"] == 0.5
    assert len(list(tmp_path.iterdir())) == 5


def test_a_name_that_rollouts_find_taken(tmp_path, meanwhile):
    out = tmp_path / "r.npz"
    meanwhile(_rollout_command, "collect", out)
    fixed = ("rollout", "simple_grid", "--tasks", 3, "--rollouts", 2, "--seed", 5)
    returns = check_taken(refused(*fixed, "--out", out), out)
    assert read_returns(returns).returns.shape == (3, 2)
    assert {file.name for file in tmp_path.iterdir()} == {"r.npz", "r.1.npz"}


def test_names_that_adaptive_rollouts_find_taken(tmp_path, meanwhile):
    out, record = tmp_path / "run.npz", tmp_path / "run.json"
    meanwhile(_rollout_command, "certify_adaptive", out, record)
    asked = (*ADAPTIVE, "--seed", 1, "--out", out, "--json", record)
    run = check_taken(refused(*asked), out, record)
    assert int(load_adaptive(run).num_started) > 0
    kept = {"run.npz", "run.json", run.name, "run.npz.unfinished"}  # so that nothing is rolled out again
    assert {file.name for file in tmp_path.iterdir()} == kept
    assert command(*asked, "--force").status == 0
    assert json.loads(record.read_text())["certificates"][0]["rollouts"]["seed"] == 1
