"""Zones to look at: trajectories against steps one by one, and real files of pictures, read back."""

import dataclasses
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert.report import save_figure
from jaxcert.rollouts import Policy, collect
from jaxcert.rollouts._policy import episode_key
from jaxcert.tasks import ltl, pendulum, zones
from jaxcert.tasks.zones._robot import Layout
from jaxcert.tasks.zones._trajectory_plot import _END_MARKERS, _PALETTE
from jaxcert.tasks.zones._zone_env import ZoneEnv
from jaxcert.training import sample_policy

KEY = jax.random.key(0)
STEERING = zones.steering_policy()
SHORT = dataclasses.replace(zones.ENV, episode_length=150)


def task(text):
    return ltl.from_formula(ltl.parse(text), zones.COLOURS)


def forward(params, obs, key):
    return jnp.stack([jnp.ones_like(obs.motion[0]), jnp.zeros_like(obs.motion[0])])


FORWARD = Policy(forward, (), deterministic=True)


class Row(ZoneEnv):
    """Red, green and purple lie ahead of the robot, 1, 2 and 3 m away, in every episode; yellow is in a corner."""

    def reset(self, rng):
        now = jnp.result_type(float)
        ahead = jnp.arange(4, dtype=now)[:, None] - 1
        x = jnp.where(ahead < 2, ahead, 2.9) * jnp.ones((1, 2), now)
        y = jnp.where(ahead < 2, 0, 2.9) * jnp.ones((1, 2), now)
        return self.begin(Layout(jnp.stack([x, y], axis=-1), jnp.array([-2.0, 0.0], now)), jnp.zeros((), now))


ROW = dataclasses.replace(SHORT, environment=Row)


def outcomes(found):
    return [zones.OUTCOMES[i] for i in np.asarray(found.outcomes)]


def one_by_one(env, policy, task, key, episode, num_episodes):
    """The states of an episode until its end, one call a step."""
    world, keys = env.environment(task), jax.random.split(episode_key(key), num_episodes)
    first, key = jax.random.split(keys[episode])
    step = jax.jit(lambda state, key: world.step(state, policy.apply(policy.params, state.obs, key)))
    states = [jax.jit(world.reset)(first)]
    while not bool(states[-1].done) and len(states) <= env.episode_length:
        states.append(step(states[-1], jax.random.fold_in(key, np.int32(len(states) - 1))))
    return jax.device_get(states)


def test_trajectories_are_the_episodes_step_by_step(precision):
    formula = task("!red U ((green | purple) & !green U yellow)")
    found = jax.tree.map(np.asarray, zones.trajectories(SHORT, STEERING, formula, KEY, num_episodes=2))
    assert found.positions.shape == (2, 151, 2)
    assert found.positions.dtype == precision
    states = one_by_one(SHORT, STEERING, formula, KEY, 1, 2)
    steps = int(found.num_steps[1])
    assert steps == len(states) - 1
    wanted = [
        [state.robot.position for state in states],
        [state.robot.heading for state in states],
        [in_zones(state) for state in states],
        [state.progress for state in states],
    ]
    for array, values in zip(found[:4], wanted, strict=True):
        np.testing.assert_allclose(array[1, : steps + 1], np.stack(values), rtol=0, atol=1e-4)
        np.testing.assert_array_equal(array[1, steps:], array[1, [steps] * (151 - steps)])
    np.testing.assert_array_equal(found.centres[1], states[0].centres)


def in_zones(state):
    distance = np.linalg.norm(state.centres - state.robot.position, axis=-1)
    return np.any(distance < 0.4, axis=-1)


def at_random(params, obs, key):
    return jax.random.uniform(key, (2,), minval=-0.3, maxval=1.0)


@pytest.mark.parametrize("policy", [STEERING, Policy(at_random, ())], ids=["steering", "random"])
def test_they_are_the_episodes_of_collect_and_their_ends_those_of_the_formula(policy):
    """Returns of the same key; progression over the propositions gives progress, stages and outcome."""
    formula = task("!(red | purple) U ((green | yellow) & F purple)")
    found = jax.tree.map(np.asarray, zones.trajectories(SHORT, policy, formula, KEY, num_episodes=40))
    tasks = jax.tree.map(lambda leaf: leaf[None], formula)
    returns = np.asarray(collect(SHORT, policy, tasks, KEY, num_rollouts=40))[0]
    np.testing.assert_array_equal(np.array(outcomes(found)) == "satisfied", returns == 1)
    progress = np.asarray(jax.jit(jax.vmap(lambda trace: progression(formula, trace)))(found.propositions))
    for episode, (steps, outcome) in enumerate(zip(found.num_steps, outcomes(found), strict=True)):
        np.testing.assert_array_equal(found.progress[episode, : steps + 1], progress[episode, : steps + 1])
        last = progress[episode, steps]
        assert bool(ltl.is_satisfied(last)) == (outcome == "satisfied")
        assert bool(ltl.is_violated(last)) == (outcome == "violated")
        assert np.any(np.abs(found.positions[episode, -1]) > 3.3) == (outcome == "left the square")
        assert steps == 150 or outcome != "out of time"


@pytest.mark.slow
def test_few_episodes_end_otherwise_by_their_last_bits():
    """As docs/zones.md says of more tasks; other machines round in other ways."""
    tasks = zones.ENV.sample_tasks(jax.random.key(7), 12)
    for policy, most in ((STEERING, 3), (sample_policy("zones"), 3), (sample_policy("zones", deterministic=False), 9)):
        different = 0
        for i in range(12):
            one, key = jax.tree.map(lambda leaf, i=i: leaf[i], tasks), jax.random.key(100 + i)
            found = zones.trajectories(zones.ENV, policy, one, key, num_episodes=100)
            alone = jax.tree.map(lambda leaf: leaf[None], one)
            returns = collect(zones.ENV, policy, alone, key, num_rollouts=100)[0]
            different += int(np.sum((np.array(outcomes(found)) == "satisfied") != (np.asarray(returns) == 1)))
        print(f"{different} of 1,200 end otherwise")
        assert different <= most


def progression(formula, trace):
    """The state of the formula after each position of the trace."""

    def step(progress, holds):
        after = ltl.step(formula, progress, holds)
        return after, after

    return jax.lax.scan(step, ltl.initial_state(formula), trace)[1]


@pytest.mark.parametrize(
    ("formula", "end", "stages"),
    [
        ("F red", "satisfied", [0, 1]),
        ("F(red & F(green & F purple))", "satisfied", [0, 1, 2, 3]),
        ("!red U green", "violated", [0]),
        ("!green U (red & !green U purple)", "violated", [0, 1]),
        ("F yellow", "left the square", [0]),
        # The second stage fails in green, and the first one is to be satisfied again.
        ("F(red & !green U purple)", "left the square", [0, 1, 0]),
    ],
)
def test_ends_and_stages(formula, end, stages):
    found = zones.trajectories(ROW, FORWARD, task(formula), KEY, num_episodes=1)
    assert outcomes(found) == [end]
    passed = np.asarray(found.stages)[0]
    assert [passed[0], *passed[1:][np.diff(passed) != 0]] == stages


def test_an_episode_ends_at_the_length_of_the_environment():
    short = dataclasses.replace(zones.ENV, episode_length=5)
    found = zones.trajectories(short, STEERING, task("F red"), KEY, num_episodes=3)
    assert outcomes(found) == ["out of time"] * 3
    assert found.num_steps.tolist() == [5, 5, 5]


def test_what_cannot_be_followed():
    good = task("F red")
    tasks = zones.ENV.sample_tasks(KEY, 2)
    broken = Policy(lambda params, obs, key: jnp.full(2, jnp.nan), ())
    for env, policy, formula, error, words in (
        (SHORT, STEERING, "F red", TypeError, "expected an ltl.ReachAvoid, as ltl.from_formula gives it"),
        (SHORT, STEERING, tasks, ValueError, "task.reach is"),
        (SHORT, STEERING, good._replace(num_stages=jnp.int32(0)), ValueError, "num_stages is 0; expected"),
        (pendulum.ENV, STEERING, good, ValueError, "Pendulum is another environment; expected one of zones.env"),
        (SHORT, lambda obs, key: jnp.zeros(3), good, ValueError, r"float32\[3\]; expected an action of shape \(2,\)"),
        (SHORT, broken, good, ValueError, "an action of the policy is not finite, in episode 0"),
        (SHORT, 3, good, TypeError, "policy is 3"),
    ):
        with pytest.raises(error, match=words):
            zones.trajectories(env, policy, formula, KEY)
    with pytest.raises(ValueError, match="num_episodes is 0"):
        zones.plot_trajectories(SHORT, STEERING, good, KEY, num_episodes=0)


def test_a_picture_shows_zones_ways_stages_and_ends():
    formula = "F(red & F(green & !yellow U purple))"
    figure = zones.plot_trajectories(ROW, FORWARD, task(formula), KEY, num_episodes=2)
    assert figure.get_suptitle() == formula
    assert len(figure.axes) == 2
    for axes in figure.axes:
        assert axes.get_title().startswith("satisfied after ")
        assert [text.get_text() for text in axes.texts] == [*"RRGGPPYY", "1", "2"]
        assert len([patch for patch in axes.patches if type(patch).__name__ == "Circle"]) == 8
        assert [line.get_marker() for line in axes.lines] == ["None", (3, 0, -90), "o", "o", _END_MARKERS["satisfied"]]
        way = axes.lines[0].get_xydata()
        np.testing.assert_array_equal(way[0], [-2, 0])
        np.testing.assert_array_equal(way[-1], axes.lines[-1].get_xydata()[0])
        assert 0.6 < way[-1, 0] < 0.67  # just inside of purple
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["start", "number of stages passed", "satisfied"]


def test_ends_have_marks_of_different_shapes():
    assert set(_END_MARKERS) == set(zones.OUTCOMES)
    assert len(set(_END_MARKERS.values())) == len(zones.OUTCOMES)
    assert set(_PALETTE) == set(zones.COLOURS)
    assert len({name[0] for name in zones.COLOURS}) == 4


@pytest.mark.parametrize("num_episodes", [1, 4])
def test_long_titles_fit(num_episodes):
    """Nothing of the title, of the panels' titles and of the legend is cut or overlaps."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    formula = "F red"
    for _ in range(6):
        formula = f"!(purple | yellow) U ((red | green) & {formula})"
    short = dataclasses.replace(zones.ENV, episode_length=10)
    figure = zones.plot_trajectories(short, STEERING, task(formula), KEY, num_episodes=num_episodes)
    assert figure.get_suptitle().replace("\n", " ") == str(ltl.parse(formula))
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    title = figure._suptitle.get_window_extent(renderer)
    assert 0 <= title.x0 < title.x1 <= figure.bbox.width
    assert title.y1 <= figure.bbox.height
    heads = [axes.title.get_window_extent(renderer) for axes in figure.axes]
    assert max(head.y1 for head in heads) <= title.y0
    legend = figure.legends[0].get_window_extent(renderer)
    assert 0 <= legend.x0 < legend.x1 <= figure.bbox.width
    assert 0 <= legend.y0 < legend.y1 <= min(axes.get_window_extent(renderer).y0 for axes in figure.axes)
    sides = [axes.get_window_extent(renderer).width for axes in figure.axes]
    assert min(sides) > 0.8 * 2.5 * figure.dpi  # the panels keep their room


def test_the_file_of_a_picture_has_the_colours_of_the_zones(tmp_path):
    from matplotlib.colors import to_rgb
    from PIL import Image

    figure = zones.plot_trajectories(SHORT, STEERING, task("!red U (green & F yellow)"), KEY, num_episodes=3)
    save_figure(tmp_path / "zones.png", figure)
    with Image.open(tmp_path / "zones.png") as image:
        pixels = np.asarray(image.convert("RGB")).reshape(-1, 3).astype(int)
    assert len(pixels) > 200_000
    for name in zones.COLOURS:
        light = 255 * (0.6 * np.array(to_rgb(_PALETTE[name])) + 0.4 * np.array(to_rgb("#fafafa")))
        share = np.mean(np.all(np.abs(pixels - light) <= 2, axis=-1))
        assert 0.005 < share < 0.05  # two discs of radius 0.4 in a square of side 6.6 are 0.023 of it


def test_a_formula_that_another_colour_finishes():
    """Red, then yellow, or green at once: green comes after red here."""
    formula = task("F(green | red & F yellow)")
    found = zones.trajectories(ROW, FORWARD, formula, KEY, num_episodes=1)
    assert outcomes(found) == ["satisfied"]
    assert np.unique(found.stages[0]).tolist() == [0, 1, 2]
    alone = zones.trajectories(ROW, FORWARD, task("F(red & F yellow)"), KEY, num_episodes=1)
    assert outcomes(alone) != ["satisfied"]


def test_a_picture_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install '.\[plot\]'"):
        zones.plot_trajectories(SHORT, STEERING, task("F red"), KEY)
