"""The parts from which `jaxcert rollout` resumes: altered, left behind, or those of another process."""

import json
import shutil

import numpy as np
import pytest
from cli_harness import command, refused

from jaxcert.cli import _rollout_command
from jaxcert.cli._unfinished import Parts, parts_of
from jaxcert.tables import read_returns

ROLLOUT = ("rollout", "simple_grid", "--tasks", 6, "--rollouts", 2, "--seed", 5, "--out")


@pytest.fixture(autouse=True)
def _parts_of_two_tasks(monkeypatch):
    monkeypatch.setattr(_rollout_command, "_EPISODES", 4)


@pytest.fixture
def calls(monkeypatch):
    """A list that grows with every part that is made; the third one is interrupted."""
    collect, calls = _rollout_command.collect, []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return collect(*arguments, **options)

    monkeypatch.setattr(_rollout_command, "collect", interrupted)
    return calls


@pytest.fixture
def out(tmp_path, calls):
    """The output of an interrupted run: two of three parts are made."""
    assert command(*ROLLOUT, tmp_path / "r.npz").status == 130
    assert len(parts(tmp_path / "r.npz")) == 2
    return tmp_path / "r.npz"


def folder(out):
    return out.with_name(f"{out.name}.parts")


def parts(out):
    return sorted(folder(out).glob("*.npy"))


def names(path):
    return sorted(file.name for file in path.iterdir())


def altered(part, _):
    np.save(part, 1 - np.load(part))


def damaged(part, _):
    part.write_bytes(part.read_bytes()[:-4])


def foreign(part, _):
    part.write_bytes(b"PK\x03\x04 but no archive")


def exchanged(part, other):
    part.write_bytes(other.read_bytes())


def renamed(part, other):
    """The other one as if it was this, with its own hash."""
    part.unlink()
    shutil.copy(other, part.with_name(part.name[:6] + other.name[6:]))


@pytest.mark.parametrize("harm", [altered, damaged, foreign, exchanged, renamed])
def test_a_part_that_is_not_as_it_was_written_is_made_again(out, calls, harm):
    harm(*parts(out))
    harmed = parts(out)[0]
    outcome = command(*ROLLOUT, out)
    assert outcome.status == 0
    assert outcome.err == f"warning: {harmed}: damaged or altered, or of other settings; made again\n"
    assert len(calls) == 3 + 2
    assert names(out.parent) == ["r.npz"]
    assert command(*ROLLOUT, out.with_name("whole.npz")).status == 0
    np.testing.assert_array_equal(read_returns(out).returns, read_returns(out.with_name("whole.npz")).returns)


def test_settings_that_were_altered_take_no_parts(out):
    file = folder(out) / "settings.json"
    settings = json.loads(file.read_text())
    file.write_text(json.dumps({**settings, "episode_length": 3}))
    assert "holds parts of other rollouts" in refused(*ROLLOUT, out)
    file.write_text("[" * 100_000)
    outcome = command(*ROLLOUT, out)
    assert (outcome.status, outcome.err) == (0, "")  # the same settings again, as the parts tell


def test_parts_of_a_finished_file_are_removed(out):
    """As if the process had been killed when its file was complete."""
    kept = shutil.copytree(folder(out), out.with_name("kept"))
    assert command(*ROLLOUT, out).status == 0
    content = out.read_bytes()
    shutil.move(kept, folder(out))
    assert "r.npz: exists; expected a new file" in refused(*ROLLOUT, out)
    assert (names(out.parent), out.read_bytes()) == (["r.npz"], content)


def test_parts_of_another_run_than_the_file_stay(out):
    out.write_bytes(b"another's")
    before = names(folder(out))
    assert "r.npz: exists; expected a new file" in refused(*ROLLOUT, out)
    assert names(folder(out)) == before
    assert command(*ROLLOUT, out, "--force").status == 0
    assert names(out.parent) == ["r.npz"]


def test_parts_of_a_process_that_goes_on_are_left_alone(out, tmp_path):
    pytest.importorskip("fcntl")
    facts = json.loads((folder(out) / "settings.json").read_text())
    facts = {name: fact for name, fact in facts.items() if name not in ("seed", "episodes_per_part")}
    with parts_of(out, facts, 5, 4) as held:
        assert isinstance(held, Parts)
        assert "r.npz.parts: in use by another process" in refused(*ROLLOUT, out)
        assert command(*ROLLOUT, tmp_path / "whole.npz").status == 0
        shutil.move(tmp_path / "whole.npz", out)
        assert "r.npz: exists; expected a new file" in refused(*ROLLOUT, out)
        assert len(parts(out)) == 2


@pytest.mark.parametrize("settings", [None, "", "{}", "[1]", '{"policy": '])
def test_parts_without_their_settings_are_kept(out, calls, settings):
    file = folder(out) / "settings.json"
    file.unlink() if settings is None else file.write_text(settings)
    before = names(folder(out))
    message = refused(*ROLLOUT[:6], "--out", out)
    assert f"{file} is damaged or missing, so that {folder(out)} holds parts of unknown rollouts; remove it" in message
    assert {*before} == {*names(folder(out))}
    assert len(calls) == 3
    assert command(*ROLLOUT, out).status == 0  # with the seed that the parts are of
    assert len(calls) == 4


@pytest.mark.parametrize("text", ['"abc"', "1.5", "[1]", "1" + 400 * "0", "NaN", "null", "-5", "true", str(2**40)])
def test_a_seed_that_is_none_is_refused(out, text):
    file = folder(out) / "settings.json"
    file.write_text(file.read_text().replace('"seed": 5', f'"seed": {text}'))
    assert f"{file} holds no seed from 0 to 4294967295" in refused(*ROLLOUT[:6], "--out", out)
    assert len(parts(out)) == 2


def test_parts_of_another_seed_are_kept(out):
    file = folder(out) / "settings.json"
    file.write_text(file.read_text().replace('"seed": 5', '"seed": 6'))
    assert f"{folder(out)} holds parts of other rollouts; remove it" in refused(*ROLLOUT[:6], "--out", out)
    file.unlink()
    assert "holds parts of other rollouts" in refused(*ROLLOUT[:6], "--seed", 6, "--out", out)
    assert len(parts(out)) == 2


@pytest.mark.parametrize("kind", ["link", "file", "dead link"])
def test_a_folder_of_parts_that_is_none_is_refused_beforehand(tmp_path, calls, kind):
    place = folder(tmp_path / "r.npz")
    if kind == "file":
        place.write_text("mine")
    else:
        place.symlink_to(tmp_path if kind == "link" else tmp_path / "none", target_is_directory=True)
    assert f"{place}: is no folder, expected the one for parts" in refused(*ROLLOUT, tmp_path / "r.npz")
    assert (names(tmp_path), calls) == (["r.npz.parts"], [])


@pytest.mark.parametrize("name", ["lock", "settings.json", "000001-0.npy"])
@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_part_that_is_no_file_is_refused_beforehand(tmp_path, calls, name, kind):
    place = folder(tmp_path / "r.npz")
    place.mkdir()
    (place / name).mkdir() if kind == "folder" else (place / name).symlink_to(tmp_path / "other")
    message = refused(*ROLLOUT, tmp_path / "r.npz")
    assert f"{place / name}: is no regular file, expected one of the parts of the rollouts; remove {place}" in message
    assert (names(tmp_path), calls) == (["r.npz.parts"], [])
