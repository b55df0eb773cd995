"""Pictures and videos of trajectories in zones."""

import math
import textwrap
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
from jaxcert.tasks.zones._robot import COLOURS, HALF_SIDE, RADIUS, STEP
from jaxcert.tasks.zones._trajectories import OUTCOMES, Trajectories, formula_of, trajectories

# Paul Tol's bright scheme, which the colour-blind can tell apart; besides, each zone has its initial.
PALETTE = {"red": "#ee6677", "green": "#228833", "purple": "#aa3377", "yellow": "#ccbb44"}
DARK = "#222222"
END_MARKERS = {"left the square": "D", "satisfied": "*", "violated": "X", "out of time": "s"}
# Half the side of what is drawn, in m, so that a robot that has left the square is seen.
_VIEW = HALF_SIDE + 0.1
# Width of a letter and height of a line, in sizes of the font.
_LETTER, LINE = 0.56, 1.35


def draw_world(axes: Any, centres: np.ndarray, letters: float) -> list[Any]:
    """The edge of the square and the zones, with letters of this size; gives the discs, in the order of the centres."""
    patches, effects = (import_extra(f"matplotlib.{name}", "plot") for name in ("patches", "patheffects"))
    axes.set(xlim=(-_VIEW, _VIEW), ylim=(-_VIEW, _VIEW), aspect="equal")
    axes.axis("off")
    corner, side = (-HALF_SIDE, -HALF_SIDE), 2 * HALF_SIDE
    axes.add_patch(patches.Rectangle(corner, side, side, facecolor="#fafafa", edgecolor="#8a8a8a", linewidth=0.8))
    discs = []
    for name, pair in zip(COLOURS, centres, strict=True):
        for centre in pair:
            disc = patches.Circle(tuple(centre), RADIUS, facecolor=(PALETTE[name], 0.6), edgecolor=PALETTE[name])
            discs.append(axes.add_patch(disc))
            words = {"ha": "center", "va": "center_baseline", "fontsize": letters, "fontweight": "bold"}
            words["path_effects"] = [effects.withStroke(linewidth=2, foreground="white", alpha=0.7)]
            axes.text(*centre, name[0].upper(), color=DARK, zorder=5, **words)
    return discs


def robot_corners(position: np.ndarray, heading: float, length: float) -> np.ndarray:
    """An arrowhead of this length, in m, along the heading, around the position; [4, 2]."""
    angles = heading + np.array([0.0, 2.5, np.pi, -2.5])
    radii = length * np.array([0.6, 0.5, 0.15, 0.5])
    return position + radii[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def ending(outcome: int, num_steps: int) -> str:
    """How an episode ended, and when."""
    return f"{OUTCOMES[outcome]} after {num_steps * STEP:.1f} s"


def wrapped(text: str, width: float, font_size: float) -> list[str]:
    """As few lines as fit into this width, in inches, in letters of this size, in points; about equally long ones."""
    most = max(1, math.floor(width * 72 / (_LETTER * font_size)))
    fewest = len(_lines(text, most))
    return next(lines for letters in range(1, most + 1) if len(lines := _lines(text, letters)) <= fewest)


def _lines(text: str, most: int) -> list[str]:
    return textwrap.wrap(text, most, break_long_words=False)


# In inches, and in points.
_PANEL, _LEGEND = 2.5, 0.45
_TITLE, _SMALL, _LETTERS = 10.0, 8.0, 7.0
_START = {"color": "white", "edgecolor": DARK, "linewidth": 1.0}


def plot_trajectories(
    env: MultiTaskEnv, policy: PolicyOrFunction, task: ltl.ReachAvoid, key: chex.PRNGKey, *, num_episodes: int = 6
) -> Any:
    """Draw episodes of one task side by side, with the formula as the title.

    An arrowhead is the robot at its start. Along its way a number shows where a stage was passed, and how many are
    then. The mark at its end says how the episode ended, as do the words above it.

    Args:
        env: the result of ``zones.env``.
        policy: as in ``rollouts.collect``.
        task: one task, such as ``env.sample_task`` or ``ltl.from_formula`` gives.
        key: a JAX random key.
        num_episodes: how many.

    Returns:
        A `matplotlib.figure.Figure` that is not registered with pyplot; see ``report.save_figure``.

    Raises:
        ImportError: matplotlib is missing (extra `plot`).
        TypeError: for what is no task.
        ValueError: as ``trajectories``.

    Example:
        >>> from jaxcert.tasks import zones
        >>> task = ltl.from_formula(ltl.parse("!red U (green & F yellow)"), zones.COLOURS)
        >>> figure = plot_trajectories(zones.ENV, zones.steering_policy(), task, jax.random.key(0), num_episodes=2)
        >>> figure.get_suptitle()
        '!red U (green & F yellow)'
    """
    new_figure = import_extra("matplotlib.figure", "plot").Figure
    found = jax.tree.map(np.asarray, trajectories(env, policy, task, key, num_episodes=num_episodes))
    columns = num_episodes if num_episodes <= 3 else math.ceil(math.sqrt(num_episodes))
    rows, width = math.ceil(num_episodes / columns), columns * _PANEL
    title = wrapped(str(formula_of(env, task)), width - 0.3, _TITLE)
    height = rows * (_PANEL + 0.2) + len(title) * _TITLE * LINE / 72 + _LEGEND
    figure = new_figure(figsize=(width, height), dpi=120, layout="constrained")
    figure.suptitle("\n".join(title), fontsize=_TITLE)
    for episode in range(num_episodes):
        axes = figure.add_subplot(rows, columns, episode + 1)
        _draw_episode(axes, jax.tree.map(lambda leaf, episode=episode: leaf[episode], found))
    _draw_legend(figure, found, columns)
    return figure


def _draw_episode(axes: Any, episode: Trajectories) -> None:
    """One panel, from the fields of one episode."""
    steps = int(episode.num_steps)
    way = np.asarray(episode.positions)[: steps + 1]
    draw_world(axes, np.asarray(episode.centres), _LETTERS)
    axes.plot(*way.T, color=DARK, linewidth=1.2, zorder=3)
    axes.fill(*robot_corners(way[0], float(episode.headings[0]), 0.45).T, zorder=4, **_START)
    for moment in np.flatnonzero(np.diff(episode.stages[:steps])) + 1:
        _mark_stage(axes, way[moment], int(episode.stages[moment]))
    marker = END_MARKERS[OUTCOMES[episode.outcomes]]
    axes.plot(*way[-1], marker, color=DARK, markeredgecolor="white", markersize=_size(marker), zorder=6)
    axes.set_title(ending(int(episode.outcomes), steps), fontsize=_SMALL, pad=2)


def _mark_stage(axes: Any, place: np.ndarray, passed: int) -> None:
    axes.plot(*place, "o", color="white", markeredgecolor=DARK, markersize=8, markeredgewidth=0.8, zorder=6)
    axes.annotate(
        str(passed), place, fontsize=6, color=DARK, ha="center", va="center_baseline", zorder=7, annotation_clip=False
    )


def _size(marker: str) -> float:
    return {"*": 12, "X": 9}.get(marker, 7.5)


def _draw_legend(figure: Any, found: Trajectories, columns: int) -> None:
    """The marks that occur."""
    line = import_extra("matplotlib.lines", "plot").Line2D
    plain = {"linestyle": "none", "color": "white", "markeredgecolor": DARK}
    entries = [line([], [], marker=(3, 0, -90), markersize=7, label="start", **plain)]
    if any(np.any(stages[:steps]) for stages, steps in zip(found.stages, found.num_steps, strict=True)):
        entries.append(line([], [], marker="o", markersize=8, label="number of stages passed", **plain))
    for outcome in np.unique(found.outcomes):
        name = OUTCOMES[outcome]
        end = {"marker": END_MARKERS[name], "markersize": _size(END_MARKERS[name]), "label": name}
        entries.append(line([], [], **plain | {"color": DARK, "markeredgecolor": "white"}, **end))
    together = {"ncols": 2 if columns == 1 else len(entries), "handletextpad": 0.1, "columnspacing": 1.2}
    figure.legend(handles=entries, loc="outside lower center", fontsize=_SMALL, frameon=False, **together)


# Pixels of the square's side with its margin and of the margin of texts, dots per inch, and points of letters.
_SIDE, _MARGIN, _DPI = 448, 8, 100
_HEADING, _WORDS, _ZONE_LETTERS = 10.0, 9.0, 9.0
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
    title = wrapped(formula, (_SIDE - 2 * _MARGIN) / _DPI, _HEADING)
    above, below = _text_height(len(title), _HEADING), _text_height(3, _WORDS)
    height = _BLOCK * math.ceil((above + _SIDE + below) / _BLOCK)
    figure = figures.Figure(figsize=(_SIDE / _DPI, height / _DPI), dpi=_DPI)
    canvas = agg.FigureCanvasAgg(figure)
    axes = figure.add_axes((0, (height - above - _SIDE) / height, 1, _SIDE / height))
    figure.text(0.5, 1 - _MARGIN / height, "\n".join(title), ha="center", va="top", fontsize=_HEADING)
    words = figure.text(_MARGIN / _SIDE, below / height, "", va="top", fontsize=_WORDS)
    return canvas, axes, draw_world(axes, centres, _ZONE_LETTERS), words


def _text_height(num_lines: int, font_size: float) -> float:
    """In pixels, with a margin on both sides."""
    return 2 * _MARGIN + num_lines * font_size * LINE / 72 * _DPI


def _show_stage(
    discs: list[Any], words: Any, episode: Trajectories, task: ltl.ReachAvoid, stage: int, over: bool
) -> None:
    """Rims of the zones to reach and to avoid, and what this stage asks for."""
    parts = (task.reach, task.avoid, np.zeros_like(task.reach) if task.finish is None else task.finish)
    reach, avoid, enough = ([name for name, on in zip(COLOURS, part[stage], strict=True) if on] for part in parts)
    wanted = [*(f"{name} (which is enough)" for name in enough), *(name for name in reach if name not in enough)]
    for place, disc in enumerate(discs):
        name = COLOURS[place // (len(discs) // len(COLOURS))]
        disc.set(edgecolor=DARK, linewidth=2.2 if name in reach + avoid + enough else 0)
        disc.set_linestyle((0, (2, 1)) if name in avoid else "solid")
    first = f"stage {stage + 1} of {task.num_stages}"
    if over:
        first = f"{first}: {ending(int(episode.outcomes), int(episode.num_steps))}"
    lines = [first, f"reach (solid rim): {' or '.join(wanted)}", f"avoid (dashed rim): {', '.join(avoid) or 'nothing'}"]
    words.set_text("\n".join(lines))
