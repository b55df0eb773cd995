"""Run by test_strict_modes.py in processes of their own: certificates on meshes and in the strict modes of JAX."""

import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from subject import Subject
from subjects_of_certificates import CERTIFICATES

KINDS = {"explicit": AxisType.Explicit, "automatic": AxisType.Auto}


def mesh_of(kind: str) -> jax.sharding.Mesh:
    return jax.make_mesh((2,), ("tasks",), axis_types=(KINDS[kind],))


def spread(arguments: tuple, mesh: jax.sharding.Mesh) -> tuple:
    """Over the devices what has an axis of tasks, which the first argument has; the rest on each of them."""
    shape = np.shape(arguments[0])
    tasks = max(len(shape) - 2, 0)

    def place(value: Any) -> jax.Array:
        host = jnp.asarray(value)
        same = host.shape == shape or (host.ndim == 2 and host.shape[0] == shape[tasks])
        spec = P(*(None,) * (tasks if host.shape == shape else 0), "tasks") if same else P()
        return jax.make_array_from_callback(
            host.shape, NamedSharding(mesh, spec), lambda index: np.asarray(host)[index]
        )

    return tuple(map(place, arguments))


# --- how a certificate is asked for -------------------------------------------------------------------------------


def on_mesh(kind: str, *, compiled: bool, is_set: bool = False, validate: bool = True) -> Callable[[Subject], Any]:
    def ask(subject: Subject) -> Any:
        mesh = mesh_of(kind)
        with jax.set_mesh(mesh) if is_set else nullcontext():
            options = {} if validate else {"validate": False}
            placed = spread(subject.sets()[0], mesh)
            return (jax.jit(subject.function) if compiled else subject.function)(*placed, **options)

    return ask


def where_a_mesh_is_set(subject: Subject) -> Any:
    with jax.set_mesh(mesh_of("explicit")):
        return subject.function(*subject.sets()[0])


def in_shard_map(kind: str) -> Callable[[Subject], Any]:
    """On either device the certificate of other values."""

    def ask(subject: Subject) -> Any:
        mesh = mesh_of(kind)
        both = [np.stack([np.asarray(jnp.asarray(x)) for x in pair]) for pair in zip(*subject.sets(), strict=True)]
        placed = [jax.device_put(each, NamedSharding(mesh, P("tasks"))) for each in both]

        def one(*parts: jax.Array) -> Any:
            return jax.tree.map(lambda x: x[None], subject.function(*(x[0] for x in parts)))

        found = jax.jit(jax.shard_map(one, mesh=mesh, in_specs=P("tasks"), out_specs=P("tasks")))(*placed)
        return jax.tree.map(lambda x: np.asarray(x)[0], found)

    return ask


def strictly(ask: Callable[[Subject], Any]) -> Callable[[Subject], Any]:
    """With no tracer left over, and neither types nor ranks promoted."""

    def checked(subject: Subject) -> Any:
        with jax.checking_leaks(), jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
            return ask(subject)

    return checked


MODES: dict[str, Callable[[Subject], Any]] = {
    "eager": on_mesh("explicit", compiled=False),
    "eager-unchecked": on_mesh("explicit", compiled=False, validate=False),
    "eager-automatic": on_mesh("automatic", compiled=False),
    "compiled": on_mesh("explicit", compiled=True),
    "compiled-automatic": on_mesh("automatic", compiled=True),
    "set-eager": on_mesh("explicit", compiled=False, is_set=True),
    "set-compiled": on_mesh("explicit", compiled=True, is_set=True),
    "set-without": where_a_mesh_is_set,
    "shard_map": in_shard_map("explicit"),
    "shard_map-automatic": in_shard_map("automatic"),
    "strict-automatic": strictly(on_mesh("automatic", compiled=True)),
}
# Of every certificate; the others differ from these in what no certificate knows.
CHOSEN = ("eager", "set-eager", "shard_map", "strict-automatic")


def difference(found: Any, wanted: Any) -> str:
    """What is not the same up to rounding; empty if nothing is."""
    for place, (f, w) in enumerate(zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True)):
        if not np.allclose(np.asarray(f, float), np.asarray(w, float), rtol=1e-5, atol=1e-6, equal_nan=True):
            return f"leaf {place} is {f}, not {w}"
    return ""


def failure(name: str, mode: str, wanted: Any) -> str:
    """What is wrong with a certificate in a mode; empty if nothing is."""
    try:
        return difference(MODES[mode](CERTIFICATES[name]), wanted)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def main(modes: list[str], names: list[str]) -> int:
    """How many certificates fail in these modes; each is said on a line."""
    found = 0
    for number, name in enumerate(names or CERTIFICATES):
        if number % 5 == 4:  # or programs take gigabytes
            jax.clear_caches()
        subject = CERTIFICATES[name]
        wanted = subject.function(*map(jnp.asarray, subject.sets()[0]))
        for mode in modes:
            if line := failure(name, mode, wanted):
                print(f"{name} in {mode}: {line:.300}")
                found += 1
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(min(main(sys.argv[1].split(","), sys.argv[2:]), 100))
