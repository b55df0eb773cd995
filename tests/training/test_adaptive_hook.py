"""Checkpoints that are certified by as many rollouts as each task needs."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from coins import COINS, answer, make_policy

from jaxcert.rollouts import Policy, certify_adaptive
from jaxcert.training import CertificationHook, CheckpointBudget

KEY = jax.random.key(11)


def hook(**changes):
    options = {"thresholds": [0.1, 0.2], "num_tasks": 50, "num_rollouts": 40, "adaptive": True, "until": 0.2}
    return CertificationHook(COINS, KEY, **{**options, "budget": CheckpointBudget(0.1, num_checkpoints=3), **changes})


def test_each_checkpoint_is_certified_afresh(tmp_path):
    """As by a call of one's own with the key and the part of delta of that checkpoint."""
    one = hook(log=tmp_path / "log.jsonl")
    for step, quality in ((0, 0.2), (100, 1.0)):
        one(step, make_policy, jnp.float32(quality))
    first, second = one.checkpoints
    alone = certify_adaptive(
        COINS,
        Policy(answer, jnp.float32(1)),
        jax.random.fold_in(KEY, 2),
        [0.1, 0.2],
        num_tasks=50,
        max_rollouts=2000,
        delta=second.delta,
        until=0.2,
    )
    np.testing.assert_array_equal(second.safety.safety, alone.certificate.safety)
    np.testing.assert_array_equal(second.safety.num_rollouts_used, alone.certificate.num_rollouts_used)
    task, returns = np.asarray(alone.rollout_task), np.asarray(alone.rollout_return)
    mean = np.mean([returns[np.flatnonzero(task == i)[0]] for i in range(50)])
    assert second.mean_return == pytest.approx(mean)
    assert 50 < second.num_started == int(alone.num_started) < 2000
    # A bad policy takes all that may be spent, a good one little; the certificate at 0.2 is what was wanted.
    assert first.safety.safety[1] == 0
    assert 0.2 <= second.safety.safety[1] < 0.25
    assert set(one.scalars(second)) == {
        "certify/safety@0.1",
        "certify/safety@0.2",
        "certify/delta",
        "certify/mean_return",
        "certify/rollouts",
        "certify/seconds",
    }
    assert one.scalars(second)["certify/rollouts"] == second.num_started
    entry = json.loads((tmp_path / "log.jsonl").read_text().splitlines()[-1])
    facts = {"adaptive": True, "bound": "sequential", "until": 0.2, "max_rollouts": 2000, "num_tasks": 50}
    assert {name: entry[name] for name in facts} == facts
    assert entry["certify/rollouts"] == second.num_started


def test_a_part_of_delta_that_is_too_small_for_the_wanted_safety_ends_nothing_early():
    """At the first checkpoint 0.917 can be reached, at the second 0.90; then all tasks are decided."""
    one = hook(budget=CheckpointBudget(0.03), until=0.915)
    for step in (0, 1):
        one(step, make_policy, jnp.float32(1))
    whole = hook(budget=CheckpointBudget(0.03), until=None)
    for step in (0, 1):
        whole(step, make_policy, jnp.float32(1))
    np.testing.assert_array_equal(one.checkpoints[1].safety.safety, whole.checkpoints[1].safety.safety)


def test_thresholds_that_every_return_reaches_need_no_rollout(tmp_path):
    one = hook(thresholds=[-0.5, 0.0], log=tmp_path / "log.jsonl")
    one(0, make_policy, jnp.float32(1))
    (checkpoint,) = one.checkpoints
    assert checkpoint.num_started == 0
    assert np.isnan(checkpoint.mean_return)
    assert np.all(np.asarray(checkpoint.safety.safety) > 0.85)
    assert json.loads((tmp_path / "log.jsonl").read_text().splitlines()[-1])["certify/mean_return"] is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"safeties": [0.5]}, "an adaptive hook certifies thresholds alone"),
        ({"thresholds": []}, "nothing to certify"),
        ({"bound": "hoeffding"}, "bound is 'hoeffding'; an adaptive hook has 'betting' alone"),
        ({"method": "scenario", "beta": 1e-4}, "method is 'scenario'; an adaptive hook has 'binomial' alone"),
        ({"until": 0.95}, "until is 0.95; 50 tasks certify at most 0.9308"),
        ({"until": np.nan}, "until is nan; expected a probability in"),
        ({"until": [0.1, 0.2]}, r"until has shape \(2,\); expected one number"),
        ({"adaptive": False}, "until is 0.2; expected it with adaptive=True"),
        ({"num_rollouts": 0}, "num_rollouts is 0"),
        ({"beta": 2.0}, "beta is 2"),
        ({"beta": "auto"}, "beta is 'auto'; expected a number or None for an adaptive hook"),
    ],
)
def test_settings_are_refused_before_delta_is_spent(tmp_path, changes, words):
    with pytest.raises(ValueError, match=words):
        hook(log=tmp_path / "log.jsonl", **changes)
    assert not list(tmp_path.iterdir())
