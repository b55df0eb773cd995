"""Whole experiments, resampled from a pilot."""

import chex
import numpy as np

from jaxcert._validation import check_count
from jaxcert.certificates import Certificate
from jaxcert.planning._design import Design
from jaxcert.planning._design_kind import check_wish
from jaxcert.planning._known_designs import usable
from jaxcert.planning._pilot import Assumptions, source_of, support_of
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
        design: what is fixed before the experiment, such as ``plan(...).best``.
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
    wish = check_wish(support_of(pilot, support), delta, threshold, safety)
    check_count("num_repeats", num_repeats)
    kind = usable(design.name, wish)
    rng = np.random.default_rng([seed, 1])
    source = source_of(pilot, support)
    data_sets = source.data_sets(rng, num_repeats, design.num_tasks, design.num_rollouts)
    return kind.certify(data_sets, design.beta, wish)
