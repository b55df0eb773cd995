"""The sample data shipped with the package."""

from importlib import resources

import numpy as np

_NAMES = ("cheetah", "walker")


def sample_returns(name: str) -> np.ndarray:
    """Load returns of a trained policy on sampled tasks, shipped with the package as an example.

    They are real rollouts, of 1000 steps each, of the multi-task policies published with the reference below. A task
    scales the mass and the size of the robot, each by 2^u with u uniform on (-1, 1). The support is
    (0, 1000). ``cheetah`` has 200 tasks × 100 rollouts, ``walker`` 200 × 90; the README beside the files says
    how they were made.

    Args:
        name: ``"cheetah"`` or ``"walker"``.

    Returns:
        Returns, a new float32 NumPy array [n, m]; row i holds the rollouts of task i.

    Raises:
        ValueError: if there is no sample of that name.

    Example:
        >>> from jaxcert import sample_returns
        >>> sample_returns("cheetah").shape
        (200, 100)

    Reference:
        Schnitzer, Jackermeier, Abate, Parker, Probabilistic Performance Guarantees for Multi-Task
        Reinforcement Learning, ICML 2026, arXiv 2602.02098, fig. 4b and 4c.
    """
    if name not in _NAMES:
        raise ValueError(f"name must be one of {', '.join(_NAMES)}, got {name!r}")
    file = resources.files("jaxcert") / "data" / f"{name}_returns.npz"
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        return arrays["returns"]
