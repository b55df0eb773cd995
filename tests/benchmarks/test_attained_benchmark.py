"""The failure probabilities of successes: those of the benchmark, which are exact, and by all outcomes."""

import itertools

import numpy as np
import pytest
from lists import chances, data_set, multisets

from benchmarks.tightness.successes import largest_failure
from jaxcert import certify
from tests.certificates.test_attained import laws


@pytest.mark.parametrize("n", [3, 12, 30])
def test_no_certificate_fails_more_often_than_delta_over_the_grid(n):
    settings = itertools.product([1, 2, 4, 5, 10, 50], [0.05, 0.5, 0.8, 0.95], [0.01, 0.05, 0.2])
    worst = {setting: largest_failure(n, *setting) / setting[2] for setting in settings}
    assert max(worst.values()) <= 1
    assert worst[1, 0.5, 0.2] > 0.9999  # one number of successes: nothing is lost
    if n > 3:
        assert np.median(list(worst.values())) > 0.6


@pytest.mark.parametrize(("n", "m", "threshold"), [(8, 2, 0.7), (6, 3, 0.3), (5, 4, 0.7)])
def test_the_largest_failure_is_that_of_all_outcomes(n, m, threshold):
    delta, counts, threshold = 0.2, multisets(n, m + 1), float(np.float32(threshold))
    said = np.asarray(certify(data_set(counts, m), threshold, delta=delta, validate=False).epsilon[:, 0], float)
    risks = np.nextafter(np.unique(said[said < 1]), 2)
    every = [chances(counts, law)[said < risk].sum() for risk in risks for law in laws(m, threshold, risk)]
    assert largest_failure(n, m, threshold, delta) == pytest.approx(max(every), rel=1e-9)
