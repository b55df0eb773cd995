"""Whole experiments, imagined and certified: what a plan comes to, with the certificate itself as the judge."""

import dataclasses

import chex
import numpy as np

from jaxcert._validation import check_count
from jaxcert.certificates import Certificate
from jaxcert.planning._design import Costs, Design, usable
from jaxcert.planning._goals import CheapestCertificate
from jaxcert.planning._pilot import Assumptions, source_of, support_of
from jaxcert.planning._planner import check_question
from jaxcert.planning._simulation import Simulation, joint_value
from jaxcert.returns._prepared import Support


def simulate(
    pilot: chex.Array | Assumptions,
    design: Design,
    *,
    support: Support | None = None,
    delta: float,
    threshold: float | None = None,
    safety: float | None = None,
    num_repeats: int = 100,
    seed: int = 0,
) -> Certificate:
    """Certificates of whole data sets, resampled from a pilot by a design: what the plan may lead to.

    Args:
        pilot: as in ``plan``.
        design: what is fixed before the experiment, such as ``plan(...).best.design``.
        support: (a, b), as in ``plan``.
        delta: failure probability of the certificate, in (0, 1).
        threshold: B; the certificates come from ``certify``, or from ``certify_sequential``.
        safety: s; without a threshold, the certificates come from ``certify_safety_level``.
        num_repeats: how many data sets; all of them are in memory.
        seed: of the resampling; ``plan`` uses other random numbers.

    Returns:
        A ``Certificate`` with arrays [num_repeats, 1].

    Raises:
        ValueError: as ``plan``.

    Example:
        >>> import jaxcert
        >>> from jaxcert.planning import Design, simulate
        >>> pilot = jaxcert.sample_returns("cheetah")
        >>> design = Design("betting", num_tasks=200, num_rollouts=10, beta=0.3)
        >>> found = simulate(pilot, design, support=(0, 1000), delta=0.01, threshold=400.0, num_repeats=20)
        >>> found.safety.shape
        (20, 1)
    """
    question = check_question(support_of(pilot, support), delta, threshold, safety)
    check_count("num_repeats", num_repeats)
    kind = usable(design.name, question)
    rng = np.random.default_rng([seed, 1])
    source = source_of(pilot, support)
    data_sets = source.data_sets(rng, num_repeats, design.num_tasks, design.num_rollouts)
    return kind.certify(data_sets, design.beta, question)


def power_curve(
    pilot: chex.Array | Assumptions,
    num_tasks: chex.Array,
    *,
    design: Design,
    support: Support | None = None,
    delta: float,
    threshold: float,
    safety: float,
    seed: int = 0,
) -> np.ndarray:
    """The probability to certify a safety at a threshold, for several numbers of tasks.

    Args:
        pilot: as in ``plan``.
        num_tasks: n, integers [c], in place of the design's number.
        design: what else is fixed before the experiment.
        support: (a, b), as in ``plan``.
        delta: failure probability of the certificate, in (0, 1).
        threshold: B.
        safety: s, in (0, 1).
        seed: of the resampling.

    Returns:
        The probabilities, float[c].

    Raises:
        ValueError: as ``plan``.

    Example:
        >>> import jaxcert
        >>> from jaxcert.planning import Design, power_curve
        >>> pilot = jaxcert.sample_returns("cheetah")
        >>> design = Design("betting", num_tasks=200, num_rollouts=20, beta=0.1)
        >>> power_curve(pilot, [40, 60, 200], design=design, support=(0, 1000), delta=0.01, threshold=400.0,
        ...             safety=0.9).round(1).tolist()
        [0.0, 0.6, 1.0]
    """
    question = check_question(support_of(pilot, support), delta, threshold, safety)
    kind = usable(design.name, question)
    simulation = Simulation(source_of(pilot, support), question, design.num_rollouts, seed)
    goal = CheapestCertificate(question, Costs(0.0, 1.0, None), 0.5)
    if kind.joint:
        return np.asarray([joint_value(goal, simulation, one) for one in _sizes(design, num_tasks)])
    n, beta = np.asarray(num_tasks), np.full(np.shape(num_tasks), design.beta)
    lower = simulation.run(kind, design.num_rollouts, np.asarray([design.beta])).lower
    return goal.values(lower, n, goal.allowed(n, beta), beta)


def _sizes(design: Design, num_tasks: chex.Array) -> list[Design]:
    return [dataclasses.replace(design, num_tasks=n) for n in np.asarray(num_tasks).tolist()]
