"""Exact failure probabilities: every outcome of m rollouts from laws with two or three atoms."""

import itertools

import numpy as np
import pytest
from exact_bounds import CASES
from scipy.special import gammaln
from scipy.stats import binom

from jaxcert import bounds

BETAS = np.array([1e-3, 0.05, 0.3, 0.5, 0.9])
ATOMS = [(0.0, 0.5, 1.0), (0.0, 0.01, 1.0), (0.0, 0.9, 1.0), (0.25, 0.26, 1.0)]
BOUNDS = {name: case.bound for name, case in CASES.items()}
SIZES = (2, 5, 12)


def outcomes(m: int, atoms: int) -> np.ndarray:
    """How often each atom can come up in m rollouts, [outcomes, atoms]."""
    return np.array([c for c in itertools.product(range(m + 1), repeat=atoms) if sum(c) == m])


def laws(seed: int, atoms: int) -> np.ndarray:
    """Probabilities of the atoms, [laws, atoms], many of them of laws with two atoms, and near the corners."""
    rng = np.random.default_rng(seed)
    spread = rng.dirichlet(np.full(atoms, 0.5), 3000)
    edge = np.linspace(0, 1, 402)[1:-1]
    pairs = [np.stack([edge, 1 - edge]), np.stack([edge**4, 1 - edge**4]), np.stack([1 - edge**4, edge**4])]
    sides = [np.insert(np.concatenate(pairs, axis=1), i, 0.0, axis=0).T for i in range(atoms)]
    return np.concatenate([spread, *sides])


def likelihood(law: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Multinomial probabilities, [laws, outcomes]."""
    ways = np.exp(gammaln(counts.sum(-1) + 1) - gammaln(counts + 1).sum(-1))
    return ways * np.prod(law[:, None] ** counts, axis=-1)


def failures(bound, atoms: np.ndarray, law: np.ndarray, m: int, beta: np.ndarray, dtype: str) -> np.ndarray:
    """P[L > mean], [laws, betas]; support (atoms[0], 1)."""
    counts = outcomes(m, len(atoms))
    x = np.stack([np.repeat(atoms, c) for c in counts]).astype(dtype)
    shape = (len(beta), *x.shape)
    lower = np.asarray(bound(np.broadcast_to(x, shape), beta[:, None].astype(dtype), support=(atoms[0], 1.0)))
    above = lower > (law @ atoms)[:, None, None] * (1 + 1e-12)
    return np.einsum("lbo,lo->lb", above, likelihood(law, counts))


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("m", SIZES)
def test_fails_with_probability_beta_at_most(name, m, precision):
    worst = np.zeros(len(BETAS))
    for seed, atoms in enumerate(ATOMS):
        # Values that the type can hold: the law is that of the floats.
        values = np.array(atoms, precision).astype(float)
        rate = failures(BOUNDS[name], values, laws(seed, 3), m, BETAS, precision)
        assert (rate <= BETAS * (1 + 1e-6)).all()
        worst = np.maximum(worst, rate.max(axis=0))
    # With few rollouts some bounds say nothing; with 12 each of them can fail.
    assert m < 12 or worst[-1] > 0.05


@pytest.mark.parametrize("m", [1, 12])
def test_clopper_pearson_comes_up_to_beta(m, precision):
    x = np.broadcast_to(np.arange(m) < np.arange(m + 1)[:, None], (len(BETAS), m + 1, m)).astype(precision)
    limits = np.asarray(bounds.clopper_pearson(x, BETAS[:, None].astype(precision)), float)
    for beta, limit in zip(BETAS, limits, strict=True):
        p = np.concatenate([np.linspace(0, 1, 300), limit, limit[1:] * (1 - 1e-6)])
        rate = np.where(limit > p[:, None], binom.pmf(np.arange(m + 1), m, p[:, None]), 0).sum(axis=-1)
        assert rate.max() <= beta * (1 + 1e-6)
        np.testing.assert_allclose(rate[-m:], beta, rtol=1e-3)


@pytest.mark.parametrize("m", [1, 4, 12])
def test_betting_comes_up_to_beta_on_certain_success(m, precision):
    atoms = np.array([0.0, 1.0])
    p = BETAS ** (1 / m) - 1e-5
    rate = failures(bounds.betting, atoms, np.stack([1 - p, p], axis=-1), m, BETAS, precision)
    np.testing.assert_allclose(np.diagonal(rate), p**m, rtol=1e-9)
