"""Supports so wide that sums overflow: refused in words, or without checks nothing is certified."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert import (
    Status,
    certify,
    certify_cvar,
    certify_improvement,
    certify_mean,
    certify_mean_difference,
    certify_ranking,
    paired,
)

N, M, DELTA = 20, 3, 0.1
LARGEST = float(np.finfo(np.float32).max)
QUESTIONS = {
    "safety": lambda a, b, **s: certify(a, 0.0, **s),
    "mean": lambda a, b, **s: certify_mean(a, **s),
    "cvar": lambda a, b, **s: certify_cvar(a, 0.9, cap=s["support"][1], **s),
    "pairs": lambda a, b, **s: certify(paired(a, b), 0.0, **s),
    "mean of pairs": lambda a, b, **s: certify_mean(paired(a, b), **s),
    "improvement": lambda a, b, **s: certify_improvement(a, b, 0.0, **s),
    "improvement of unequal numbers": lambda a, b, **s: certify_improvement(a, b[:, 1:], 0.0, **s),
    "mean difference": lambda a, b, **s: certify_mean_difference(a, b[:, 1:], **s),
    "ranking": lambda a, b, **s: certify_ranking(jnp.stack([a, b]), **s),
}
WIDTHS = {"safety": 0.4, "improvement of unequal numbers": 0.2, "mean of pairs": 0.02, "mean difference": 0.02}
WIDTHS = {name: WIDTHS.get(name, 0.1) for name in QUESTIONS}


def sample(width: float, share: float) -> tuple[tuple[np.ndarray, np.ndarray], dict]:
    """Returns of A near the upper end, and of B as far below, with a support of that half width."""
    end = np.float32(width * LARGEST)
    a = np.full((N, M), share * end, np.float32)
    return (a, -a), {"support": (-float(end), float(end)), "delta": DELTA}


@pytest.mark.parametrize(("name", "width"), WIDTHS.items())
def test_what_overflows_is_refused_in_words(name, width):
    data, settings = sample(width, 0.99)
    with pytest.raises(ValueError, match=r"float32 cannot hold the sum of \d+ such returns: .* in a larger unit"):
        QUESTIONS[name](*data, **settings)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "width"), WIDTHS.items())
def test_what_overflows_and_is_not_checked_certifies_nothing(name, width):
    data, settings = sample(width, 0.99)
    found = jax.jit(lambda *x: QUESTIONS[name](*x, **settings, validate=False).status)(*data)
    assert (np.asarray(found) == Status.INVALID_INPUT).all()


class TooLargeError(Exception):
    """The refusal of what the type cannot hold."""


def refused_as_too_large(question, *data, **settings):
    try:
        return question(*data, **settings)
    except ValueError as error:
        raise (TooLargeError if "larger unit" in str(error) else ValueError)(error) from error


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_is_valid_and_can_be_read_is_answered_or_refused(name):
    """Whatever the widths: no certificate calls valid returns invalid."""
    answered = 0
    for width in (0.9, 0.1, 0.03, 0.01, 0.004, 0.003, 1e-4):
        for share in (0.99, 0.5, 0.0):
            data, settings = sample(width, share)
            with contextlib.suppress(TooLargeError):
                found = refused_as_too_large(QUESTIONS[name], *data, **settings)
                assert (np.asarray(found.status) != Status.INVALID_INPUT).all(), (width, share)
                answered += 1
    assert answered >= 6
