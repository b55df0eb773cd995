"""An episode as a video."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chex
import jax
import numpy as np

from jaxcert._extras import import_extra
from jaxcert._validation import check_count
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.rollouts._policy import PolicyOrFunction
from jaxcert.tasks import ltl
from jaxcert.tasks._video import check_video_path, steps_per_frame, write_video
from jaxcert.tasks.zones._robot import COLOURS, STEP
from jaxcert.tasks.zones._trajectories import Trajectories, formula_of, trajectories
from jaxcert.tasks.zones._trajectory_plot import DARK, LINE, draw_world, ending, robot_corners, wrapped

# Pixels of the square's side with its margin and of the margin of texts, dots per inch, and points of letters.
_SIDE, _MARGIN, _DPI = 448, 8, 100
_TITLE, _WORDS, _LETTERS = 10.0, 9.0, 9.0
# Width and height of a video come in blocks of so many pixels.
_BLOCK = 16
# How long the last picture stays, in s.
_LAST = 1.5


def render(
    path: str | Path,
    env: MultiTaskEnv,
    policy: PolicyOrFunction,
    task: ltl.ReachAvoid,
    key: chex.PRNGKey,
    *,
    frames_per_second: int = 20,
    replace: bool = True,
) -> None:
    """Write a video of one episode, with the formula as its title: the first of ``plot_trajectories`` for this key.

    Below the square is what is to be reached and avoided now; those zones have a solid and a dashed rim. It ends with
    the episode, after ``env.episode_length`` steps at the latest.

    Args:
        path: ``.gif`` or ``.mp4``.
        env: the result of ``zones.env``.
        policy: as in ``rollouts.collect``.
        task: one task, such as ``env.sample_task`` or ``ltl.from_formula`` gives.
        key: a JAX random key.
        frames_per_second: frames per second of simulated time.
        replace: whether to replace a file that exists; if not, it stays, and an error says where the new one is.

    Raises:
        FileExistsError: with `replace=False`, for a file that exists.
        ImportError: if the extra ``zones`` is missing.
        TypeError: for what is no task.
        ValueError: for another file type, or as ``trajectories``.

    Example:
        >>> from jaxcert.tasks import zones
        >>> task = zones.ENV.sample_task(jax.random.key(3))
        >>> render("video.gif", zones.ENV, zones.steering_policy(), task, jax.random.key(0))  # doctest: +SKIP
    """
    check_count("frames_per_second", frames_per_second)
    target = check_video_path(path, "zones")
    found = trajectories(env, policy, task, key, num_episodes=1)
    episode = jax.tree.map(lambda leaf: np.asarray(leaf)[0], found)
    every = steps_per_frame(STEP, frames_per_second)
    rate = 1 / (every * STEP)
    moments = [*range(0, int(episode.num_steps), every), *[int(episode.num_steps)] * math.ceil(_LAST * rate)]
    task = jax.tree.map(np.asarray, task)
    frames = _frames(episode, task, str(formula_of(env, task)), moments)
    write_video(target, frames, rate, "zones", replace=replace)


def _frames(episode: Trajectories, task: ltl.ReachAvoid, formula: str, moments: list[int]) -> Iterator[np.ndarray]:
    """The pictures of these moments. What does not move is drawn once for each stage."""
    canvas, axes, discs, words = _stage_picture(np.asarray(episode.centres), formula)
    moving = {"animated": True, "color": DARK, "zorder": 4}
    (way,) = axes.plot([], [], linewidth=1.2, **moving)
    (robot,) = axes.fill([0, 0, 0, 0], [0, 0, 0, 0], edgecolor="white", **moving)
    positions, shown, background = np.asarray(episode.positions), None, None
    for moment in moments:
        now = min(int(episode.stages[moment]), int(task.num_stages) - 1), moment == episode.num_steps
        if now != shown:
            _show_stage(discs, words, episode, task, *now)
            canvas.draw()
            shown, background = now, canvas.copy_from_bbox(canvas.figure.bbox)
        canvas.restore_region(background)
        way.set_data(*positions[: moment + 1].T)
        robot.set_xy(robot_corners(positions[moment], float(episode.headings[moment]), 0.4))
        for artist in (way, robot):
            axes.draw_artist(artist)
        yield np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _stage_picture(centres: np.ndarray, formula: str) -> tuple[Any, Any, list[Any], Any]:
    """The canvas, the axes, the discs of the zones and the text below them."""
    figures, agg = (import_extra(f"matplotlib.{name}", "zones") for name in ("figure", "backends.backend_agg"))
    title = wrapped(formula, (_SIDE - 2 * _MARGIN) / _DPI, _TITLE)
    above, below = _text_height(len(title), _TITLE), _text_height(3, _WORDS)
    height = _BLOCK * math.ceil((above + _SIDE + below) / _BLOCK)
    figure = figures.Figure(figsize=(_SIDE / _DPI, height / _DPI), dpi=_DPI)
    canvas = agg.FigureCanvasAgg(figure)
    axes = figure.add_axes((0, (height - above - _SIDE) / height, 1, _SIDE / height))
    figure.text(0.5, 1 - _MARGIN / height, "\n".join(title), ha="center", va="top", fontsize=_TITLE)
    words = figure.text(_MARGIN / _SIDE, below / height, "", va="top", fontsize=_WORDS)
    return canvas, axes, draw_world(axes, centres, _LETTERS), words


def _text_height(num_lines: int, font_size: float) -> float:
    """In pixels, with a margin on both sides."""
    return 2 * _MARGIN + num_lines * font_size * LINE / 72 * _DPI


def _show_stage(
    discs: list[Any], words: Any, episode: Trajectories, task: ltl.ReachAvoid, stage: int, over: bool
) -> None:
    """Rims of the zones to reach and to avoid, and what this stage asks for."""
    reach, avoid = ([name for name, on in zip(COLOURS, part[stage], strict=True) if on] for part in task[:2])
    for place, disc in enumerate(discs):
        name = COLOURS[place // (len(discs) // len(COLOURS))]
        disc.set(edgecolor=DARK, linewidth=2.2 if name in reach or name in avoid else 0)
        disc.set_linestyle((0, (2, 1)) if name in avoid else "solid")
    first = f"stage {stage + 1} of {task.num_stages}"
    if over:
        first = f"{first}: {ending(int(episode.outcomes), int(episode.num_steps))}"
    lines = [first, f"reach (solid rim): {' or '.join(reach)}", f"avoid (dashed rim): {', '.join(avoid) or 'nothing'}"]
    words.set_text("\n".join(lines))
