"""Unmodified environments of other libraries with task-dependent physics, written as their users would."""

import copy

import jax
import jax.numpy as jnp
import pytest

from jaxcert.tasks import MultiTaskEnv, from_brax


def sample_scale(key):
    """2 to the power of a uniform number in (-1, 1)."""
    return jnp.exp2(jax.random.uniform(key, minval=-1, maxval=1))


def brax_pendulum():
    """Brax's inverted pendulum, whose pole has another mass."""
    envs = pytest.importorskip("brax.envs", reason="needs the extra brax")
    base = envs.get_environment("inverted_pendulum", backend="generalized")

    def heavier(sys, scale):
        return sys.tree_replace({"link.inertia.mass": sys.link.inertia.mass.at[1].multiply(scale)})

    return from_brax(base, heavier, sample_scale, episode_length=50, support=(0.0, 50.0))


def brax_reacher():
    """Brax's reacher, whose arm has another mass; it reports metrics."""
    envs = pytest.importorskip("brax.envs", reason="needs the extra brax")
    base = envs.get_environment("reacher", backend="generalized")

    def environment(scale):
        env = copy.copy(base)
        inertia = base.sys.link.inertia
        env.sys = base.sys.tree_replace(
            {"link.inertia.mass": inertia.mass * scale, "link.inertia.i": inertia.i * scale}
        )
        return env

    return MultiTaskEnv(environment, sample_scale, 50, (-1000.0, 0.0))


def playground_cartpole():
    """Playground's cart-pole, whose pole has another mass; it reports metrics and keeps a random key."""
    playground = pytest.importorskip("mujoco_playground", reason="needs the extra brax")
    base = playground.dm_control_suite.load("CartpoleBalance", config_overrides={"impl": "jax"})

    def environment(scale):
        env = copy.copy(base)
        env._mjx_model = base.mjx_model.replace(body_mass=base.mjx_model.body_mass.at[2].multiply(scale))
        return env

    return MultiTaskEnv(environment, sample_scale, 50, (0.0, 50.0))
