"""How many programs the first call of a question compiles."""

import jax
import numpy as np
import pytest
from compilations import compilations

import jaxcert

X = np.random.default_rng(0).random((60, 5), np.float32)
SCORES = {"support": (0.0, 1.0)}
# One for the question, one for the table of its risks, and for successes those of their levels.
CALLS = {
    "floats": (2, lambda delta: jaxcert.certify(X, 0.5, **SCORES, delta=delta)),
    "successes": (3, lambda delta: jaxcert.certify(X > 0.3, 0.5, delta=delta)),
    "mean": (1, lambda delta: jaxcert.certify_mean(X, **SCORES, delta=delta)),
    "list of successes": (3, lambda delta: jaxcert.certify_suite(X > 0.3, 0.5, delta=delta)),
    "safety level": (2, lambda delta: jaxcert.certify_safety_level(X, 0.8, **SCORES, delta=delta)),
    "scenario": (2, lambda delta: jaxcert.certify(X, 0.5, **SCORES, delta=delta, method="scenario")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_a_question_is_few_programs(name):
    most, call = CALLS[name]
    jax.clear_caches()
    assert compilations(lambda: call(0.0123)) <= most
    assert compilations(lambda: call(0.0321)) == 0
