"""Certificates of checkpoints: how delta is spent, what is reported, and their validity if training stops early."""

import json
import re
import subprocess
import sys
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from coins import COINS, answer, make_policy
from compilations import compilations
from scipy import stats

from jaxcert import certify, certify_policy
from jaxcert.rollouts import Policy
from jaxcert.training import CertificationHook, CheckpointBudget
from jaxcert.training._checkpoint_budget import Ledger

KEY = jax.random.key(11)
SIZES = {"num_tasks": 50, "num_rollouts": 20}


def hook(**changes):
    options = {"thresholds": [0.1, 0.4], "budget": CheckpointBudget(0.1, num_checkpoints=3)}
    return CertificationHook(COINS, KEY, **{**SIZES, **options, **changes})


def test_a_budget_is_never_overspent():
    for delta in (0.01, 0.1, 0.3, 1e-9):
        planned = CheckpointBudget(delta, num_checkpoints=7)
        assert sum(Fraction(planned.level(c)) for c in range(1, 8)) <= Fraction(delta)
        assert planned.level(7) == pytest.approx(delta / 7)
        endless = [CheckpointBudget(delta).level(c) for c in range(1, 2001)]
        # The rest of the series is at least 1 / 2001.
        rest = Fraction(6 * delta / 9.8697) / 2001
        assert sum(map(Fraction, endless)) + rest <= Fraction(delta) * Fraction(1 + 1e-9)
        assert endless[0] == pytest.approx(0.607927 * delta, rel=1e-5)


def test_what_is_chosen_among_all_is_stated_with_the_confidence_of_all():
    """With delta divided among all, or less for each later one; a certificate at more is refused."""
    returns = np.random.default_rng(0).uniform(0.5, 1, (40, 20)).astype(np.float32)
    for budget, number in ((CheckpointBudget(0.05, num_checkpoints=40), 40), (CheckpointBudget(0.05), 2)):
        found = certify(returns, 0.1, support=(0, 1), delta=budget.level(number))
        said = budget.chosen(found, number)
        assert said.startswith("With confidence 0.95: on a new task")
        assert said.split(": ", 1)[1] == str(found).split(": ", 1)[1]
        assert "confidence 0.95:" not in str(found)
    with pytest.raises(ValueError, match=r"delta is 0\.0075\d*; expected at most 0\.0033"):
        CheckpointBudget(0.05).chosen(found, 3)
    with pytest.raises(ValueError, match="expected at most"):
        CheckpointBudget(0.05, num_checkpoints=2).chosen(certify(returns, 0.1, support=(0, 1), delta=0.05), 1)


def test_budgets_without_meaning_are_refused():
    for call, words in (
        (lambda: CheckpointBudget(1.5), r"delta is 1\.5"),
        (lambda: CheckpointBudget(0.1, num_checkpoints=0), "num_checkpoints is 0"),
        (lambda: CheckpointBudget(0.1).level(0), "checkpoint is 0"),
        (lambda: CheckpointBudget(0.1, num_checkpoints=3).level(4), "checkpoint 4 comes after the 3"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_each_checkpoint_is_certified_afresh():
    one = hook()
    for step, quality in ((0, 0.2), (100, 0.9)):
        assert one(step, make_policy, jnp.float32(quality)) is one.checkpoints[-1]
    first, second = one.checkpoints
    assert (first.number, second.number, second.step) == (1, 2, 100)
    assert first.delta == second.delta == pytest.approx(0.1 / 3)
    assert second.params == 0.9
    # Fresh tasks: the same as a call of one's own with the key of that checkpoint.
    alone = certify_policy(
        COINS, Policy(answer, jnp.float32(0.9)), jax.random.fold_in(KEY, 2), [0.1, 0.4], delta=second.delta, **SIZES
    )
    np.testing.assert_array_equal(second.safety.safety, alone.certificate.safety)
    assert second.mean_return == pytest.approx(float(alone.returns.mean()))
    assert np.all(np.asarray(second.safety.safety) > np.asarray(first.safety.safety))
    scalars = one.scalars(second)
    assert set(scalars) == {
        "certify/safety@0.1",
        "certify/safety@0.4",
        "certify/delta",
        "certify/mean_return",
        "certify/seconds",
    }
    assert scalars["certify/safety@0.1"] == pytest.approx(float(second.safety.safety[0]))
    assert all(isinstance(value, float) for value in scalars.values())


def test_checkpoints_share_one_compilation():
    one = hook()
    one(0, make_policy, jnp.float32(0.2))
    other = jnp.float32(0.4)
    assert compilations(lambda: one(1, make_policy, other)) == 0


def test_the_data_may_choose_the_level(tmp_path):
    log = tmp_path / "certificates.jsonl"
    one = hook(beta="auto", log=log)
    one(0, make_policy, jnp.float32(0.9))
    found = one.checkpoints[0].safety
    alone = certify(one_look(0.9), [0.1, 0.4], support=COINS.support, delta=one.checkpoints[0].delta, beta="auto")
    np.testing.assert_array_equal(found.beta, alone.beta)
    np.testing.assert_allclose(found.safety, alone.safety, rtol=1e-6)
    assert json.loads(log.read_text().splitlines()[1])["beta"] == "auto"


def one_look(quality):
    """The returns behind the first checkpoint of a hook."""
    policy, key = Policy(answer, jnp.float32(quality)), jax.random.fold_in(KEY, 1)
    return certify_policy(COINS, policy, key, 0.1, delta=0.1, **SIZES).returns


@jax.jit
def best_of_many_looks(keys, threshold, levels):
    """The highest of one certified safety at each level, for each key."""

    def look(key, number, level):
        policy, key = Policy(answer, jnp.float32(1)), jax.random.fold_in(key, number)
        return certify_policy(COINS, policy, key, threshold, delta=level, **SIZES).certificate.safety

    looks = jax.vmap(look, (None, 0, 0))
    return jax.vmap(lambda key: looks(key, jnp.arange(len(levels)), levels).max())(keys)


@pytest.mark.parametrize("planned", [pytest.param(8, marks=pytest.mark.slow), None])
def test_stopping_at_the_first_good_certificate_keeps_the_promise(planned):
    """A policy that never improves, certified eight times: a certificate above the truth at any time is a failure."""
    threshold, delta, budget = 0.4, 0.2, CheckpointBudget(0.2, num_checkpoints=planned)
    levels = jnp.array([budget.level(c) for c in range(1, 9)])
    best = np.asarray(best_of_many_looks(jax.random.split(KEY, 1000), jnp.float32(threshold), levels))
    failures = int((best > 1 - threshold).sum())
    assert stats.binomtest(failures, 1000, delta, alternative="greater").pvalue > 1e-3


def test_a_resumed_run_goes_on_counting(tmp_path):
    """Also after an incomplete line; and with different tasks."""
    log = tmp_path / "certificates.jsonl"
    one = hook(log=log)
    one(0, make_policy, jnp.float32(1))
    log.write_bytes(log.read_bytes() + b'{"number": 2, "checkpoint": 2, "st')
    other = hook(log=log)
    with pytest.warns(UserWarning, match="its last line was incomplete, and is cut off"):
        other(100, make_policy, jnp.float32(1))
    assert other.checkpoints[0].number == 2
    assert other.checkpoints[0].mean_return != one.checkpoints[0].mean_return
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(entry["checkpoint"], entry.get("done", False)) for entry in entries] == [
        (1, False),
        (1, True),
        (2, False),
        (2, True),
    ]
    hook(log=log)(200, make_policy, jnp.float32(1))
    with pytest.raises(ValueError, match="checkpoint 4 comes after the 3"):
        hook(log=log)(300, make_policy, jnp.float32(1))
    with pytest.raises(ValueError, match="does not exist"):
        hook(log=tmp_path / "none" / "log.jsonl")


def test_a_checkpoint_that_fails_has_spent_its_part(tmp_path):
    """Its tasks were drawn, so they are not drawn again."""
    log = tmp_path / "certificates.jsonl"
    with pytest.raises(ValueError, match="no return is finite"):
        hook(log=log)(0, make_policy, jnp.float32(np.nan))
    other = hook(log=log)
    other(0, make_policy, jnp.float32(1))
    assert other.checkpoints[0].number == 2
    assert other.ledger.spent == Fraction(CheckpointBudget(0.1, num_checkpoints=3).level(1)) * 2


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (CheckpointBudget(0.1, num_checkpoints=2), CheckpointBudget(0.1, num_checkpoints=6)),
        (CheckpointBudget(0.1), CheckpointBudget(0.1, num_checkpoints=3)),
        (CheckpointBudget(0.5), CheckpointBudget(0.1)),
    ],
)
def test_another_budget_spends_no_more_than_is_left(tmp_path, first, then):
    log = tmp_path / "certificates.jsonl"
    for step in (0, 1):
        hook(log=log, budget=first)(step, make_policy, jnp.float32(1))

    def go_on():
        for step in range(2, 6):
            hook(log=log, budget=then)(step, make_policy, jnp.float32(1))

    with pytest.raises(ValueError, match=r"of delta = 0\.1, of which .* is already spent"):
        go_on()
    spent = hook(log=log, budget=first).ledger.spent
    assert spent <= Fraction(max(first.delta, then.delta))


def test_a_policy_that_breaks_down_is_named_and_one_broken_episode_is_told_of():
    with pytest.raises(ValueError, match="step 0: no return is finite: actions of the policy, or rewards, are not"):
        hook()(0, make_policy, jnp.float32(np.nan))

    def sometimes(params, deterministic=False):
        return lambda obs, key: (jnp.where(jax.random.uniform(key) < 0.01, jnp.nan, params) * jnp.ones(1), {})

    one = hook()
    with pytest.warns(UserWarning, match="some returns are not finite"):
        one(0, sometimes, jnp.float32(1))
    assert np.isfinite(one.checkpoints[0].mean_return)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"thresholds": [np.nan]}, "expected a finite number"),
        ({"thresholds": []}, "thresholds"),
        ({"thresholds": [0.1, 0.1]}, "the same number twice"),
        ({"num_tasks": 0}, "num_tasks is 0"),
        ({"bound": "best"}, "bound is 'best'"),
        ({"beta": 2.0}, "beta is 2"),
        ({"beta": "best"}, "beta is 'best'; expected a number"),
    ],
)
def test_settings_are_refused_before_delta_is_spent(tmp_path, changes, words):
    with pytest.raises(ValueError, match=words):
        hook(log=tmp_path / "log.jsonl", **changes)
    assert not list(tmp_path.iterdir())


_SPENDER = """
import pathlib, sys, time
from jaxcert.training import CheckpointBudget
from jaxcert.training._checkpoint_budget import Ledger

log, me, other = map(pathlib.Path, sys.argv[1:])
ledger, budget = Ledger(log), CheckpointBudget(0.1)
me.touch()
while not other.exists():  # both at once
    time.sleep(0.001)
print(*[ledger.begin(step, budget)[0] for step in range(100)])
"""


def test_two_processes_never_spend_the_same_part_of_delta(tmp_path):
    log, marks = tmp_path / "log.jsonl", [tmp_path / name for name in ("first", "second")]
    commands = [[sys.executable, "-c", _SPENDER, log, *order] for order in (marks, marks[::-1])]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    numbers = [int(number) for process in running for number in process.communicate(timeout=120)[0].split()]
    assert sorted(numbers) == list(range(1, 201))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["checkpoint"] for line in lines] == list(range(1, 201))
    assert Ledger(log).spent == sum(Fraction(CheckpointBudget(0.1).level(number)) for number in numbers)


def test_a_log_without_the_library_that_locks_it_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "filelock", None)
    with pytest.raises(ImportError, match=re.escape("filelock is needed for this: pip install '.[io]'")):
        hook(log=tmp_path / "log.jsonl")


def test_returns_never_leave_the_device(read_on_the_host):
    """Only reported values are transferred: a number for each threshold, never one per rollout."""
    one = hook()
    one(0, make_policy, jnp.float32(1))
    read_on_the_host.clear()
    one(1, make_policy, jnp.float32(1))
    assert read_on_the_host
    risks = (2048,)  # a row of them is computed at once, of which one is asked
    assert max(int(np.prod(shape)) for shape in read_on_the_host if shape != risks) <= 2
