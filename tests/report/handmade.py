"""Certificates made by hand, since reports do not depend on how certificates were computed."""

import numpy as np

from jaxcert import Certificate, Status


def make_certificate(dtype: str = "float32", *, delta: float = 0.01, method: str = "binomial") -> Certificate:
    """30 tasks, three thresholds in no order."""
    epsilon = np.array([0.4, 0.1, 1.0], dtype=dtype)
    violations = np.array([7, 0, 30], dtype=np.int32)
    return Certificate(
        thresholds=np.array([0.5, 0.25, 0.75], dtype=dtype),
        safety=1 - epsilon,
        epsilon=epsilon,
        num_violations=violations,
        lower_bounds=np.linspace(0.0, 1.0, 30, dtype=dtype),
        num_valid=30 - violations,
        status=np.array([Status.OUT_OF_RANGE, Status.CERTIFIED, Status.VACUOUS], dtype=np.int32),
        beta=np.array(0.05, dtype=dtype),
        delta=np.array(delta, dtype=dtype),
        num_tasks=30,
        bound="betting",
        method=method,
    )
