"""Pictures of trajectories in zones."""

import math
import textwrap
from typing import Any

import chex
import jax
import numpy as np

from jaxcert._extras import import_extra
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.rollouts._policy import PolicyOrFunction
from jaxcert.tasks import ltl
from jaxcert.tasks.zones._robot import COLOURS, HALF_SIDE, RADIUS, STEP
from jaxcert.tasks.zones._trajectories import OUTCOMES, Trajectories, formula_of, trajectories

# Paul Tol's bright scheme, which the colour-blind can tell apart; besides, each zone has its initial.
_PALETTE = {"red": "#ee6677", "green": "#228833", "purple": "#aa3377", "yellow": "#ccbb44"}
_DARK = "#222222"
_END_MARKERS = {"left the square": "D", "satisfied": "*", "violated": "X", "out of time": "s"}
_END_SIZES = {"left the square": 7.5, "satisfied": 12, "violated": 9, "out of time": 7.5}
# Half the side of what is drawn, in m, so that a robot that has left the square is seen.
_VIEW = HALF_SIDE + 0.1
# Width of a letter and height of a line, in sizes of the font.
_LETTER, _LINE = 0.56, 1.35
# In inches, and in points.
_PANEL, _LEGEND = 2.5, 0.45
_TITLE, _SMALL, _LETTERS = 10.0, 8.0, 7.0


def _draw_world(axes: Any, centres: np.ndarray) -> None:
    """The edge of the square and the zones."""
    patches, effects = (import_extra(f"matplotlib.{name}", "plot") for name in ("patches", "patheffects"))
    axes.set(xlim=(-_VIEW, _VIEW), ylim=(-_VIEW, _VIEW), aspect="equal")
    axes.axis("off")
    corner, side = (-HALF_SIDE, -HALF_SIDE), 2 * HALF_SIDE
    axes.add_patch(patches.Rectangle(corner, side, side, facecolor="#fafafa", edgecolor="#8a8a8a", linewidth=0.8))
    words = {"ha": "center", "va": "center_baseline", "fontsize": _LETTERS, "fontweight": "bold"}
    words["path_effects"] = [effects.withStroke(linewidth=2, foreground="white", alpha=0.7)]
    for name, centre in zip(np.repeat(COLOURS, centres.shape[1]), centres.reshape(-1, 2), strict=True):
        axes.add_patch(patches.Circle(tuple(centre), RADIUS, facecolor=(_PALETTE[name], 0.6), edgecolor=_PALETTE[name]))
        axes.text(*centre, name[0].upper(), color=_DARK, zorder=5, **words)


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
    found = jax.tree.map(np.asarray, trajectories(env, policy, task, key, num_episodes=num_episodes))
    columns = num_episodes if num_episodes <= 3 else math.ceil(math.sqrt(num_episodes))
    rows, width = math.ceil(num_episodes / columns), columns * _PANEL
    letters = max(1, math.floor((width - 0.3) * 72 / (_LETTER * _TITLE)))
    title = textwrap.wrap(str(formula_of(env, task)), letters, break_long_words=False)
    height = rows * (_PANEL + 0.2) + len(title) * _TITLE * _LINE / 72 + _LEGEND
    figure = import_extra("matplotlib.figure", "plot").Figure((width, height), dpi=120, layout="constrained")
    figure.suptitle("\n".join(title), fontsize=_TITLE)
    for episode in range(num_episodes):
        axes = figure.add_subplot(rows, columns, episode + 1)
        _draw_episode(axes, jax.tree.map(lambda leaf, episode=episode: leaf[episode], found))
    known = {artist.get_label(): artist for axes in figure.axes for artist in axes.get_legend_handles_labels()[0]}
    entries = sorted(known.values(), key=lambda artist: artist.get_zorder())
    together = {"ncols": 2 if columns == 1 else len(entries), "handletextpad": 0.1, "columnspacing": 1.2}
    figure.legend(handles=entries, loc="outside lower center", fontsize=_SMALL, frameon=False, **together)
    return figure


def _draw_episode(axes: Any, episode: Trajectories) -> None:
    """One panel, from the fields of one episode."""
    steps = int(episode.num_steps)
    way = episode.positions[: steps + 1]
    _draw_world(axes, np.asarray(episode.centres))
    axes.plot(*way.T, color=_DARK, linewidth=1.2, zorder=3)
    plain = {"linestyle": "none", "color": "white", "markeredgecolor": _DARK}
    heading = (3, 0, math.degrees(episode.headings[0]) - 90)
    axes.plot(*way[0], marker=heading, markersize=9, zorder=4, label="start", **plain)
    for moment in np.flatnonzero(np.diff(episode.stages[:steps])) + 1:
        axes.plot(*way[moment], marker="o", markersize=8, zorder=6, label="number of stages passed", **plain)
        words = {"fontsize": 6, "color": _DARK, "ha": "center", "va": "center_baseline", "annotation_clip": False}
        axes.annotate(str(episode.stages[moment]), way[moment], zorder=8, **words)
    outcome = OUTCOMES[episode.outcomes]
    end = {"marker": _END_MARKERS[outcome], "markersize": _END_SIZES[outcome], "label": outcome}
    axes.plot(*way[-1], zorder=7, **plain | {"color": _DARK, "markeredgecolor": "white"}, **end)
    axes.set_title(f"{outcome} after {episode.num_steps * STEP:.1f} s", fontsize=_SMALL, pad=2)
