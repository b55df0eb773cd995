"""Proof of an adaptive run's certificate in exact arithmetic: the number of rollouts after which each task passed."""

from typing import Any

import numpy as np

from jaxcert.rollouts._resumption import AdaptiveCertificate


def stops_of(run: AdaptiveCertificate, index: int) -> dict[str, Any] | None:
    """After how many rollouts each task passes a threshold, None where it does not; None where nothing is claimed.

    With fixed bets the wealth falls in B, so that a task that passes a larger threshold has passed this one then. For
    successes, `goal` is the wealth at which tasks pass.
    """
    thresholds, lower = np.asarray(run.certificate.thresholds), np.asarray(run.certificate.lower_bounds)
    if not run.certificate.safety[index] > 0 or not thresholds[index] > run.state.low:
        return None
    is_binary = bool(run.state.is_binary)
    at = np.full(lower.shape, index) if is_binary else np.argmax(thresholds == lower[:, None], axis=1)
    used = np.take_along_axis(np.asarray(run.certificate.num_rollouts_used), at[:, None], axis=1)[:, 0]
    passed = (lower >= thresholds[index]).tolist()
    stops = [count if ok else None for count, ok in zip(used.tolist(), passed, strict=True)]
    return {"rollouts": stops, **({"goal": float(run.state.goal[index])} if is_binary else {})}


def declared_by(run: AdaptiveCertificate) -> dict[str, Any]:
    """The settings fixed beforehand, under their names in a log of trials."""
    state = run.state
    return {
        "thresholds": np.asarray(state.thresholds).tolist(),
        "support": [float(state.low), float(state.high) if np.isfinite(state.high) else None],
        "delta": float(run.certificate.delta),
        "beta": float(state.beta),
        "bets": np.asarray(state.bets).tolist(),
        "give_up": float(state.give_up),
        "max_trials": int(state.max_rollouts_per_task),
        "successes": bool(state.is_binary),
    }


def returns_by_task(run: AdaptiveCertificate) -> list[list[float]]:
    """The returns of each task in their order, of every one, rolled out or not."""
    tasks = np.asarray(run.rollout_task)
    order = np.argsort(tasks, kind="stable")[np.sum(tasks < 0) :]  # without what follows the last one
    ends = np.cumsum(np.bincount(tasks[order], minlength=run.certificate.num_tasks))
    return [part.tolist() for part in np.split(np.asarray(run.rollout_return)[order], ends[:-1])]
