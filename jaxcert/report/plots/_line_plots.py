"""Plots by task, of plans, and over time: certificates by training step, of one run or several, and evidence."""

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxcert._extras import import_extra
from jaxcert._types import Array
from jaxcert._validation import kind_of
from jaxcert.certificates import confidence, floor_figures
from jaxcert.report.plots._axes import (
    GREY,
    Quantiles,
    check_batch,
    check_quantiles,
    draw,
    drawing,
    dress,
    explain_band,
    median_words,
    styles,
    thresholds_of,
)
from jaxcert.returns._labels import quoted

if TYPE_CHECKING:
    from jaxcert.certificates import Certificate
    from jaxcert.monitoring import Row
    from jaxcert.planning import Plan
    from jaxcert.rollouts import PairedTrials
    from jaxcert.training import Checkpoint

_NO_CHECKPOINTS = "expected checkpoints with certificates at thresholds, at least one"
_LOWEST, _HIGHEST = -14.0, 700.0  # of the logarithms that are drawn


def plot_training(
    checkpoints: "Sequence[Checkpoint] | Certificate",
    *,
    steps: Sequence[int] | Array | None = None,
    band: str = "",
    quantiles: Quantiles = (0, 1),
    title: str = "",
    ax: Any = None,
) -> Any:
    """Draw the certified safety at every checkpoint of a training run, one line per threshold.

    With the probability that the run's budget leaves, the certificates of all checkpoints hold at once.

    Args:
        checkpoints: of a `jaxcert.training.CertificationHook`, with thresholds. Or a batch of certificates, with an
            axis of checkpoints, from returns [checkpoints, n, m]; with `band` one of [seeds, checkpoints, n, m].
        steps: of each checkpoint of a batch, [checkpoints]; by default they are numbered as they are indexed, from 0.
        band: what the first axis of a batch runs over, in a word, such as "seed". Then a line is the median over it,
            and the band shows how the certificates vary; it is no confidence band, and the median is no certificate.
        quantiles: lower and upper end of the band, shares of the batch; by default from the least to the largest.
        title: of the axes.
        ax: axes of matplotlib to draw in, which are returned; by default those of a new figure, for `save_figure`.

    Raises:
        ValueError: no checkpoint, or one without a certificate at thresholds; a band of a single run; a batch with
            other axes, or steps that do not fit it.
        ImportError: matplotlib is missing (extra `plot`).

    Example:
        >>> import numpy as np
        >>> import jaxcert
        >>> lower_bounds = np.random.default_rng(0).uniform(size=(5, 8, 50))  # 5 seeds, 8 checkpoints, 50 tasks
        >>> found = jaxcert.certify_lower_bounds(lower_bounds, [0.2, 0.4], delta=0.01, beta=0.05)
        >>> axes = plot_training(found, steps=range(1000, 9000, 1000), band="seed")
        >>> [line.get_label() for line in axes.lines]
        ['at least 0.2, median of 5 seeds', 'at least 0.4, median of 5 seeds']
    """
    check_quantiles(quantiles, band or "seed")
    steps, xlabel, thresholds, safety = _recorded(checkpoints, steps, band)
    with drawing(ax) as ax:
        for threshold, values, style in zip(thresholds.tolist(), safety.T, styles(marked=True), strict=False):
            text = f"at least {floor_figures(threshold)}"
            of_seeds, text = (values.T, median_words(text, band, len(safety))) if band else (values[:, 0], text)
            draw(ax, steps, of_seeds, text, style, quantiles)
        if band:
            explain_band(ax, band, quantiles)
        dress(ax, title=title, xlabel=xlabel, ylabel="certified safety 1−ε", shares=True)
    return ax


def _recorded(checkpoints: Any, steps: Any, band: str) -> tuple[np.ndarray, str, np.ndarray, np.ndarray]:
    """The steps and their name, the thresholds [t] and the safety [seeds, checkpoints, t], of one seed without band."""
    if not isinstance(checkpoints, Sequence):
        return _of_batch(checkpoints, steps, band)
    if steps is not None:
        raise ValueError("checkpoints of training have steps of their own; expected no steps")
    if band:
        raise ValueError(f"checkpoints are of one run of training; expected a batch of certificates over {band}s")
    found = [one.safety for one in checkpoints]
    if not found or any(one is None for one in found):
        raise ValueError(_NO_CHECKPOINTS)
    safety = np.stack([np.asarray(each.safety) for each in found])
    steps, thresholds = np.asarray([one.step for one in checkpoints]), np.asarray(found[0].thresholds)
    return steps, "environment steps", thresholds, safety[None]


def _of_batch(certificate: Any, steps: Any, band: str) -> tuple[np.ndarray, str, np.ndarray, np.ndarray]:
    if not hasattr(certificate, "safety"):
        raise ValueError(f"checkpoints are {kind_of(certificate)}; expected certificates of a share of new tasks")
    axes = (f"{band}s", "checkpoints") if band else ("checkpoints",)
    check_batch(certificate, axes, "returns [checkpoints, n, m], or band='seed' for [seeds, checkpoints, n, m]")
    count = certificate.batch_shape[-1]
    if steps is not None and np.shape(steps) != (count,):
        raise ValueError(f"steps has shape {np.shape(steps)}; expected one of each of the {count} checkpoints")
    safety = np.asarray(certificate.safety)
    numbers, unit = (np.arange(count), "checkpoint") if steps is None else (np.asarray(steps), "step")
    return numbers, unit, thresholds_of(certificate), safety.reshape((-1, *safety.shape[-2:]))


def plot_evidence(rows: "Sequence[Row]", *, alpha: float, title: str = "", ax: Any = None) -> Any:
    """Draw the evidence against a claim after each deployed task, and the evidence of a change.

    Args:
        rows: of a `jaxcert.monitoring.Monitor`.
        alpha: its probability of a false alarm; the alarm is at evidence of 1/alpha.
        title: of the axes.
        ax: axes of matplotlib to draw in, which are returned; by default those of a new figure, for `save_figure`.

    Example:
        >>> from jaxcert.monitoring import Row
        >>> rows = [Row(i, str(i), (0.0,), True, i / 2, i / 2) for i in range(1, 10)]
        >>> plot_evidence(rows, alpha=0.05).get_ylabel()
        'evidence'
    """
    numbers = [row.number for row in rows]
    curves = {
        "that the claim does not hold": [row.log_evidence for row in rows],
        "that it has ceased to hold": [row.log_change for row in rows],
    }
    return _evidence(ax, numbers, curves, {"alarm": 1 / alpha}, title=title, xlabel="deployed tasks")


def plot_pairs(trials: "PairedTrials", *, ax: Any = None) -> Any:
    """Draw the evidence that a policy is better than another, after each pair or block, by their labels in the log."""
    declared, evidence = trials.declared, trials.evidence()
    claims = [f"{one} better than {other}" for one, other in itertools.permutations(map(quoted, declared.labels), 2)]
    curves = sorted(zip(claims, np.log(evidence).T.tolist(), strict=True))  # an order that reveals no blinded policy
    level = {f"shown, with confidence {confidence(declared.delta)}": float(trials.state.goal[0])}
    how = {"title": trials.path.name, "xlabel": f"{declared.noun}s"}
    return _evidence(ax, range(len(evidence)), dict(curves), level, **how)


def _evidence(
    ax: Any, numbers: Sequence[int], curves: Mapping[str, Any], level: Mapping[str, float], **how: Any
) -> Any:
    """Draw logarithms of evidence over time by what it is evidence of, and the level at which it is enough."""
    with drawing(ax) as ax:
        for (label, logs), style in zip(curves.items(), styles(), strict=False):
            ax.plot(numbers, np.exp(np.clip(logs, _LOWEST, _HIGHEST)), label=label, **style)
        for what, enough in level.items():
            ax.axhline(enough, color=GREY, linewidth=0.9, linestyle=":", label=f"{what}: {enough:g}")
        ax.set_yscale("log")
        ax.xaxis.set_major_locator(import_extra("matplotlib.ticker", "plot").MaxNLocator(integer=True))
        dress(ax, ylabel="evidence", **how)
    return ax


def plot_bounds(
    lower_bounds: Mapping[str, Array], *, performances: Array | None = None, title: str = "", ax: Any = None
) -> Any:
    """Draw per-task lower bounds beside each other, tasks in the order of their performance.

    Args:
        lower_bounds: by their label in the legend, float[n] each, of the same tasks; -inf is not drawn.
        performances: float[n], exact or as the mean of the returns. Without any, each bound is sorted by itself.
        title: of the axes.
        ax: axes of matplotlib to draw in, which are returned; by default those of a new figure, for `save_figure`.

    Raises:
        ValueError: no bound, or arrays that are not [n] with the same n.
        ImportError: matplotlib is missing (extra `plot`).

    Example:
        >>> import jaxcert
        >>> returns = jaxcert.sample_returns("cheetah")
        >>> found = {"betting": jaxcert.bounds.betting(returns, 0.05, support=(0, 1000))}
        >>> plot_bounds(found, performances=returns.mean(axis=1)).get_ylabel()
        'return'
    """
    values = {label: np.asarray(bound) for label, bound in lower_bounds.items()}
    given = [*values.values(), *([] if performances is None else [np.asarray(performances)])]
    if not values or {one.shape for one in given} != {(len(given[0]),)}:
        raise ValueError(f"lower_bounds and performances have shapes {[one.shape for one in given]}, expected one [n]")
    order = None if performances is None else np.argsort(given[-1])
    with drawing(ax) as ax:
        if order is not None:
            ax.plot(given[-1][order], color="black", linewidth=0.9, label="performance")
        for (label, bound), style in zip(values.items(), styles(), strict=False):
            ax.plot(
                np.where(np.isfinite(bound), bound, np.nan)[np.argsort(bound) if order is None else order],
                label=label,
                **style,
            )
        dress(ax, title=title, xlabel="tasks, from the worst", ylabel="return")
    return ax


def plot_plan(plan: "Plan", *, ax: Any = None) -> Any:
    """Draw what the wanted power of a plan costs, or the power if no design has it, by the rollouts of a task.

    Args:
        plan: of `jaxcert.planning.plan`.
        ax: axes of matplotlib to draw in, which are returned; by default those of a new figure, for `save_figure`.

    Example:
        >>> from jaxcert.planning import Assumptions, plan
        >>> assumed = Assumptions(mean=0.8, task_spread=0.05, rollout_spread=0.1)
        >>> found = plan(assumed, support=(0, 1), delta=0.05, threshold=0.5, safety=0.9, designs=("betting",))
        >>> plot_plan(found).get_ylabel()
        'least cost'
    """
    enough = [one for one in plan.considered if one.value >= (plan.power or 0)]
    names = dict.fromkeys(design.name for design in plan.considered)
    with drawing(ax) as ax:
        for name, style in zip(names, styles(marked=True), strict=False):
            shown = [one for one in (enough or plan.considered) if one.name == name]
            rollouts = [design.num_rollouts for design in shown]
            heights = [design.cost if enough else design.value for design in shown]
            ax.plot(rollouts, heights, label=name, **style)
        ylabel = "least cost" if enough else "power"
        ax.set(xscale="log", yscale="log" if enough else "linear")  # costs differ by orders
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter(import_extra("matplotlib.ticker", "plot").NullFormatter())
        title = plan.heading.removeprefix("Wanted: ")
        dress(ax, title=title, xlabel="rollouts per task (sequential: at most)", ylabel=ylabel)
    return ax
