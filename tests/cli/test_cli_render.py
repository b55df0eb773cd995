"""`jaxcert render` for zones: videos and pictures, of the wanted formula or a random one, and what it refuses."""

import dataclasses
import sys

import jax
import numpy as np
import pytest
from cli_harness import command, refused

from jaxcert.report import save_figure
from jaxcert.tasks import ltl, zones
from jaxcert.tasks._registry import ENVIRONMENTS
from jaxcert.tasks.zones._network import NetworkSizes, initial_params
from jaxcert.training import load_policy, save_policy

SMALL = NetworkSizes(robot=(8, 8), proposition=4, colours=(8, 4), sequence=8, actor=(8,), critic=(8,))
FORMULA = "!red U (green & F yellow)"


@pytest.fixture
def policy_file(tmp_path):
    path = tmp_path / "policy.npz"
    save_policy(path, initial_params(jax.random.key(0), SMALL), environment="zones", network="sequence")
    return path


def pixels(path):
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def test_a_video_of_a_formula(tmp_path):
    out = tmp_path / "zones.gif"
    outcome = command("render", "zones_steering", "--formula", FORMULA, "--steps", 40, "--seed", 2, "--out", out)
    assert outcome == (0, f"zones_steering (shipped), {FORMULA}: written to {out}\n", "")
    from PIL import Image

    with Image.open(out) as image:
        assert 30 <= image.n_frames <= 41
    zones.render(
        tmp_path / "same.gif",
        zones.ENV,
        zones.steering_policy(),
        ltl.from_formula(ltl.parse(FORMULA), zones.COLOURS),
        jax.random.key(2),
    )
    np.testing.assert_array_equal(pixels(out), pixels(tmp_path / "same.gif"))


def test_a_trained_policy_as_mp4(tmp_path, policy_file):
    out = tmp_path / "zones.mp4"
    outcome = command("render", policy_file, "--steps", 5, "--out", out)
    assert outcome.status == 0, outcome.err
    assert outcome.out.startswith(f"{policy_file}, ")
    assert out.read_bytes()[4:8] == b"ftyp"


def test_actions_may_be_samples(tmp_path, policy_file):
    mode, sample = tmp_path / "mode.png", tmp_path / "sample.png"
    given = ("render", policy_file, "--formula", FORMULA, "--steps", 30, "--out")
    assert command(*given, mode).status == 0
    outcome = command(*given, sample, "--stochastic")
    assert outcome == (0, f"{policy_file}, stochastic, {FORMULA}: written to {sample}\n", "")
    task = ltl.from_formula(ltl.parse(FORMULA), zones.COLOURS)
    env = dataclasses.replace(zones.ENV, episode_length=30)
    for out, deterministic in ((mode, True), (sample, False)):
        policy = load_policy(policy_file, environment="zones", deterministic=deterministic)
        save_figure(tmp_path / "same.png", zones.plot_trajectories(env, policy, task, jax.random.key(0)))
        np.testing.assert_array_equal(pixels(out), pixels(tmp_path / "same.png"))
    assert np.any(pixels(mode) != pixels(sample))


def test_a_random_task_by_its_seed_as_a_picture(tmp_path):
    for seed in (3, 4):
        out = tmp_path / f"{seed}.png"
        outcome = command("render", "zones_steering", "--seed", seed, "--steps", 20, "--out", out)
        assert outcome.status == 0, outcome.err
        task = zones.ENV.sample_task(jax.random.key(seed))
        assert str(ltl.to_formula(task, zones.COLOURS)) in outcome.out
        assert len(np.unique(pixels(out).reshape(-1, 3), axis=0)) > 100
    assert command("render", "zones_steering", "--steps", 20, "--out", tmp_path / "a.SVG").status == 0
    assert b"<svg" in (tmp_path / "a.SVG").read_bytes()


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("a.jpg", [], "suffix '.jpg', expected one of .gif, .mp4, .pdf, .png, .svg"),
        ("none/a.png", [], "the folder 'none' does not exist"),
        ("none/a.gif", [], "the folder 'none' does not exist"),
        ("a.gif", ["--mass", 1], "--mass does not belong to zones, whose tasks have --formula"),
        ("a.png", ["--size", 1], "--size does not belong to zones"),
        ("a.gif", ["--formula", "!red U (green"], "position 14 of '!red U (green' is its end; expected"),
        ("a.gif", ["--formula", "G red"], "'G red' lies outside of the reach-avoid fragment"),
        ("a.gif", ["--formula", "F blue"], "unknown propositions: blue; expected red, green, purple, yellow"),
        ("a.gif", ["--steps", 0], "--steps"),
        ("a.gif", ["--steps", 1001], "--steps is 1001; expected at most 1000, an episode of zones"),
        ("a.png", ["--steps", 1001], "--steps is 1001; expected at most 1000, an episode of zones"),
        ("a.gif", ["--stochastic"], "zones_steering has no stochastic form"),
        ("a.gif", ["--seed", -1], "--seed"),
    ],
)
def test_bad_arguments(tmp_path, monkeypatch, name, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert words in refused("render", "zones_steering", *arguments, "--out", name)
    assert not list(tmp_path.iterdir())


def test_tasks_in_words():
    """Of the robots, too, whose videos need more than these tests do."""
    robots, key = ENVIRONMENTS["cheetah"].pictures, jax.random.key(0)
    assert robots.describe(robots.task(None, key, mass=1.3)) == "mass 1.3, size 1"
    for value in (-1.0, 0.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"size is .*; expected a positive number"):
            robots.task(None, key, size=value)
    worlds = ENVIRONMENTS["zones"].pictures
    assert worlds.describe(worlds.task(zones.ENV, key, formula="F (red&F(green))")) == "F(red & F green)"


def test_policies_without_pictures(tmp_path):
    out = tmp_path / "a.gif"
    words = refused("render", "bridge_world_left", "--out", out)
    assert "bridge_world has no pictures; expected a policy for one of cheetah" in words
    assert "expected a checkpoint, or one of" in refused("render", "nowhere", "--out", out)
    assert not out.exists()


@pytest.mark.parametrize(
    ("module", "name", "extra"),
    [
        ("PIL.Image", "a.gif", "zones"),
        ("imageio_ffmpeg", "a.mp4", "zones"),
        ("matplotlib.backend_bases", "a.png", "plot"),
    ],
)
def test_a_missing_extra_is_named(tmp_path, monkeypatch, module, name, extra):
    monkeypatch.setitem(sys.modules, module, None)
    outcome = command("render", "zones_steering", "--out", tmp_path / name)
    assert (outcome.status, outcome.out) == (1, "")
    assert f"pip install '.[{extra}]'" in outcome.err
    assert not list(tmp_path.iterdir())
