"""The pendulum moves by its equation, computed again in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxcert.tasks.pendulum import Pendulum, State, Task

MASS, LENGTH = 1.5, 0.8


def after(angle: float, velocity: float, action: float) -> State:
    """The state a step later."""
    begin = State(*map(jnp.float32, (angle, velocity)), jnp.zeros(5), jnp.zeros(()), jnp.zeros(()))
    step = jax.jit(Pendulum(Task(jnp.float32(MASS), jnp.float32(LENGTH))).step)
    return step(begin, jnp.full(1, action, jnp.float32))


@pytest.mark.parametrize(
    ("angle", "velocity", "action"), [(0.5, 0.0, 0.0), (0.5, 0.0, 5.0), (-2.0, 3.0, -0.5), (3.0, 11.99, 1.0)]
)
def test_a_step_is_that_of_the_equation(angle, velocity, action):
    # The torque of the motor and friction turn the mass, gravity pulls it down, towards the angle 0.
    torque = 6 * np.clip(action, -1, 1) - 0.1 * velocity
    faster = velocity + 0.05 * (torque / (MASS * LENGTH**2) - 9.8 / LENGTH * np.sin(angle))
    faster = np.clip(faster, -12, 12)
    turned = angle + 0.05 * faster
    found = after(angle, velocity, action)
    np.testing.assert_allclose([found.velocity, found.angle], [faster, turned], rtol=1e-5)
    height = (1 - np.cos(turned)) / 2
    np.testing.assert_allclose(found.reward, height / (1 + (faster / 12) ** 2), rtol=1e-5)
    seen = [np.sin(turned), np.cos(turned), faster / 8, np.log(MASS), np.log(LENGTH)]
    np.testing.assert_allclose(found.obs, seen, rtol=1e-5)
    assert found.done == 0


def test_an_episode_begins_near_the_lowest_point():
    state = Pendulum(Task(jnp.float32(MASS), jnp.float32(LENGTH))).reset(jax.random.key(0))
    assert 0 < abs(state.angle) < 0.5
    assert (state.reward, state.done) == (0, 0)
