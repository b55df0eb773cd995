"""A robot's model with another mass and size."""

from typing import Any

import jax.numpy as jnp

from jaxcert._extras import import_extra
from jaxcert.tasks.locomotion._task import Task
from jaxcert.tasks.locomotion._torso import Fields, Torso, resized


def physical(model: Any, torso: Torso, task: Task) -> Fields:
    """All fields that depend on mass and size."""
    masses = ("body_mass", "body_inertia", "body_subtreemass")
    fields = {name: getattr(model, name) * task.mass_scale for name in masses}
    fields |= resized(model.replace(**fields), torso, task.size_scale)
    bound = fields["geom_size"][torso.geom, 0] + fields["geom_size"][torso.geom, 1]
    fields["geom_rbound"] = jnp.asarray(model.geom_rbound).at[torso.geom].set(bound)
    return {**fields, **_inverse_weights(model.replace(**fields))}


def as_the_authors(model: Any, torso: Torso, task: Task, *, cylinder: bool) -> Fields:
    """Masses and lengths alone: subtree masses, centres of mass and constraint weights stay unchanged.

    With ``cylinder``, as for the cheetah, the inertia of a cylinder along x is written into the principal frame of the
    torso, whose first axis is y.
    """
    fields = {name: getattr(model, name) * task.mass_scale for name in ("body_mass", "body_inertia")}
    geom_size = model.geom_size.at[torso.geom, 1].multiply(task.size_scale)
    if not cylinder:
        return {**fields, "geom_size": geom_size}
    longer = resized(model.replace(**fields), torso, task.size_scale)
    mass, (radius, half) = fields["body_mass"][torso.body], geom_size[torso.geom, :2]
    across = mass * (3 * radius**2 + 4 * half**2) / 12
    wrong = jnp.stack([mass * radius**2 / 2, across, across])
    fields["body_inertia"] = fields["body_inertia"].at[torso.body].set(wrong)
    return {**fields, **{name: longer[name] for name in ("geom_size", "geom_pos", "body_pos")}}


def _inverse_weights(model: Any) -> Fields:
    """How easily degrees of freedom and bodies move in the reference pose, which scales the softness of constraints."""
    mjx = import_extra("mujoco.mjx", "brax")
    support = import_extra("mujoco.mjx._src.support", "brax")
    data = mjx.make_data(model).replace(qpos=jnp.asarray(model.qpos0))
    data = mjx.crb(model, mjx.com_pos(model, mjx.kinematics(model, data)))
    inverse = jnp.linalg.inv(support.full_m(model, data))
    bodies = []
    for body in range(1, model.nbody):
        moves, turns = support.jac(model, data, data.xipos[body], body)
        bodies.append(jnp.stack([jnp.trace(j.T @ inverse @ j) / 3 for j in (moves, turns)]))
    world = jnp.zeros(2)
    return {"dof_invweight0": jnp.diagonal(inverse), "body_invweight0": jnp.stack([world, *bodies])}
