"""Tasks of locomotion: mass and length scales, and the model that they make."""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert._extras import import_extra
from jaxcert.tasks._state import sample_scales


class Task(NamedTuple):
    """A robot; float scalars.

    Attributes:
        mass_scale: factor on all masses.
        size_scale: factor on the torso's length.
    """

    mass_scale: jax.Array
    size_scale: jax.Array


def sample_task(key: jax.Array) -> Task:
    """Both scales are 2^u with u uniform on (-1, 1), independent."""
    return Task(*sample_scales(key))


# Fields of a model by name, as ``Model.replace`` takes them.
Fields = dict[str, jax.Array]


@dataclasses.dataclass(frozen=True, eq=False)
class Torso:
    """Indices of the torso's parts in a model.

    Attributes:
        geom: the capsule whose length is the size.
        along: axis of the body's frame along which that capsule lies, 0 for x and 2 for z.
        moved_geoms: other geoms of the torso, whose position along it is scaled, too.
        moved_bodies: bodies attached to its ends.
        shares: fractions of the torso's mass, for ``geom`` and then ``moved_geoms``.
    """

    body: int
    geom: int
    along: int
    moved_geoms: tuple[int, ...]
    moved_bodies: tuple[int, ...]
    shares: np.ndarray


def resized(model: Any, torso: Torso, size: jax.Array) -> Fields:
    """Lengths and positions for another size, and the resulting inertia of the torso at the model's mass."""
    geom_size = model.geom_size.at[torso.geom, 1].multiply(size)
    geom_pos, body_pos = model.geom_pos, model.body_pos
    for geom in torso.moved_geoms:
        geom_pos = geom_pos.at[geom, torso.along].multiply(size)
    for body in torso.moved_bodies:
        body_pos = body_pos.at[body, torso.along].multiply(size)
    fields = {"geom_size": geom_size, "geom_pos": geom_pos, "body_pos": body_pos}
    return {**fields, **_inertia(model.replace(**fields), torso)}


def _inertia(model: Any, torso: Torso) -> Fields:
    """Centre of mass and principal inertia of the torso's capsules, which all lie in the plane of motion."""
    geoms = (torso.geom, *torso.moved_geoms)
    mass = model.body_mass[torso.body] * jnp.asarray(torso.shares, model.body_mass.dtype)
    places = jnp.stack([model.geom_pos[geom] for geom in geoms])
    centre = jnp.sum(mass[:, None] * places, axis=0) / jnp.sum(mass)
    total = jnp.zeros((3, 3))
    for geom, weight, place in zip(geoms, mass, places, strict=True):
        axis = _axis(model.geom_quat[geom])
        across, axial = _capsule(weight, model.geom_size[geom, 0], model.geom_size[geom, 1])
        off = place - centre
        own = across * jnp.eye(3) + (axial - across) * jnp.outer(axis, axis)
        total = total + own + weight * (jnp.dot(off, off) * jnp.eye(3) - jnp.outer(off, off))
    quat, principal = _principal(total)
    return {
        "body_ipos": model.body_ipos.at[torso.body].set(centre),
        "body_iquat": model.body_iquat.at[torso.body].set(quat),
        "body_inertia": model.body_inertia.at[torso.body].set(principal),
    }


def _axis(quat: jax.Array) -> jax.Array:
    """The image of the z axis, along which capsules lie, under a rotation."""
    w, x, y, z = quat
    return jnp.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])


def _capsule(mass: jax.Array, radius: jax.Array, half: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Inertia of a solid capsule across and along its axis; ``half`` is half the length of its cylinder."""
    cylinder = 2 * half / (2 * half + 4 * radius / 3) * mass
    caps = mass - cylinder
    axial = cylinder * radius**2 / 2 + caps * 2 * radius**2 / 5
    across = cylinder * (radius**2 / 4 + half**2 / 3) + caps * (2 * radius**2 / 5 + half**2 + 3 * half * radius / 4)
    return across, axial


def _principal(inertia: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Quaternion and diagonal of a tensor that is symmetric to the x-z plane: a rotation about y."""
    angle = 0.5 * jnp.arctan2(2 * inertia[0, 2], inertia[2, 2] - inertia[0, 0])
    c, s = jnp.cos(angle), jnp.sin(angle)
    first = inertia[0, 0] * c * c - 2 * inertia[0, 2] * c * s + inertia[2, 2] * s * s
    last = inertia[0, 0] * s * s + 2 * inertia[0, 2] * c * s + inertia[2, 2] * c * c
    quat = jnp.stack([jnp.cos(angle / 2), jnp.zeros(()), jnp.sin(angle / 2), jnp.zeros(())])
    return quat, jnp.stack([first, inertia[1, 1], last])


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
