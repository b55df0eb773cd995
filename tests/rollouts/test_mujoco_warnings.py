"""MuJoCo's warnings come once each, from environments of Gymnasium too."""

import sys
import types

import gymnasium
import jax
import numpy as np
import pytest

from jaxcert.rollouts import collect_gymnasium
from jaxcert.rollouts._mujoco_warnings import mujoco_warnings

MODEL = "compiler attribute 'x' is deprecated"
UNSTABLE = "Nan, Inf or huge value in QACC at DOF {}. The simulation is unstable. Time = {:.4f}."


class Warner(types.ModuleType):
    """As the module of MuJoCo: prints warnings unless a function takes them."""

    taker = None

    def get_mju_user_warning(self):
        return self.taker

    def set_mju_user_warning(self, taker):
        self.taker = taker

    def warn(self, message):
        (print if self.taker is None else self.taker)(message)


class Unstable(gymnasium.Env):
    """An environment that imports the module, warns of its model file, and then of its steps."""

    observation_space = action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self, pay):
        self.pay = float(pay)
        self.mujoco = sys.modules.setdefault("mujoco", Warner("mujoco"))
        self.mujoco.warn(MODEL)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.mujoco.warn(UNSTABLE.format(int(self.pay), self.np_random.random()))
        return np.zeros(1, np.float32), self.pay, True, False, {}


def nothing(obs):
    return np.zeros(1, np.float32)


def roll_out():
    return collect_gymnasium(Unstable, nothing, [1.0, 2.0], jax.random.key(0), num_rollouts=5, num_envs=3)


def test_each_kind_comes_once(monkeypatch, capsys):
    module = Warner("mujoco")
    module.taker = kept = [].append
    monkeypatch.setitem(sys.modules, "mujoco", module)
    with pytest.warns(RuntimeWarning) as caught:
        found = roll_out()
    np.testing.assert_array_equal(found, [[1] * 5, [2] * 5])
    model, unstable = (str(warning.message) for warning in caught)
    assert model == f"MuJoCo, 10 times, first: {MODEL}"
    assert unstable.startswith("MuJoCo, 10 times, first: Nan, Inf or huge value in QACC at DOF 1. The simulation")
    assert {warning.filename for warning in caught} == {__file__}
    assert capsys.readouterr().out == ""
    assert module.taker is kept


def test_a_module_imported_by_the_first_environment_is_heard_from_then_on(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "mujoco", raising=False)
    with pytest.warns(RuntimeWarning) as caught:
        roll_out()
    assert [str(warning.message)[:24] for warning in caught] == ["MuJoCo, 9 times, first: ", "MuJoCo, 10 times, first:"]
    assert capsys.readouterr().out.count(MODEL) == 1
    assert sys.modules.pop("mujoco").taker is None


def test_known_warnings_are_left_out_and_errors_hide_none(monkeypatch):
    module = Warner("mujoco")
    monkeypatch.setitem(sys.modules, "mujoco", module)

    def ends_badly():
        with mujoco_warnings("deprecated"):
            module.warn(MODEL)
            module.warn("a single one")
            raise ValueError("later")

    with pytest.warns(RuntimeWarning, match="^MuJoCo: a single one$"), pytest.raises(ValueError, match="later"):
        ends_badly()
    assert module.taker is None
