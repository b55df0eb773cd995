"""Supports so wide that sums overflow: what can be read is refused in words, the rest certifies nothing."""

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
REFUSED = [
    ("safety", 0.4, "the returns of task 0 sum to more than float32 can hold; certify them in a larger unit"),
    ("mean", 0.1, "the averages of all tasks sum to more than float32 can hold"),
    ("cvar", 0.1, "the averages of all tasks sum to more than float32 can hold"),
    ("pairs", 0.1, "the differences of task 0 sum to more than float32 can hold"),
    ("mean of pairs", 0.02, "the averages of all tasks sum to more than float32 can hold"),
    ("improvement", 0.1, "the differences of task 0 sum to more than float32 can hold"),
    ("improvement of unequal numbers", 0.2, "returns_a: the returns of task 0 sum to more than float32 can hold"),
    ("mean difference", 0.02, "the averages of all tasks sum to more than float32 can hold"),
    ("ranking", 0.02, "the averages of all tasks sum to more than float32 can hold"),
    ("pairs", 0.6, "returns_a: support is .*, wider than float32 can hold; certify returns in a larger unit"),
]


def sample(width: float, share: float) -> tuple[tuple[np.ndarray, np.ndarray], dict]:
    """Returns of A near the upper end, and of B as far below, with a support of that half width."""
    end = np.float32(width * LARGEST)
    a = np.full((N, M), share * end, np.float32)
    return (a, -a), {"support": (-float(end), float(end)), "delta": DELTA}


@pytest.mark.parametrize(("name", "width", "message"), REFUSED)
def test_what_overflows_is_refused_in_words(name, width, message):
    data, settings = sample(width, 0.99)
    with pytest.raises(ValueError, match=message):
        QUESTIONS[name](*data, **settings)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "width"), [row[:2] for row in REFUSED if "support" not in row[2]])
def test_what_overflows_and_cannot_be_read_certifies_nothing(name, width):
    data, settings = sample(width, 0.99)
    found = jax.jit(lambda *x: QUESTIONS[name](*x, **settings).status)(*data)
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
    for width in (0.9, 0.45, 0.2, 0.1, 0.03, 0.01, 1e-4):
        for share in (0.99, 0.5, 0.0):
            data, settings = sample(width, share)
            with contextlib.suppress(TooLargeError):
                found = refused_as_too_large(QUESTIONS[name], *data, **settings)
                assert (np.asarray(found.status) != Status.INVALID_INPUT).all(), (width, share)
                answered += 1
    assert answered >= 6
