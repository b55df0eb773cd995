"""The environments by name, as the command line and policy files name them."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.rollouts._policy import Policy
from jaxcert.tasks import bridge_world, pendulum, simple_grid, zones
from jaxcert.tasks.locomotion import cheetah, walker


class Entry(NamedTuple):
    """How an environment of this name is made when it is used, and fixed policies that come with it, by name."""

    make: Callable[[], MultiTaskEnv]
    policies: Mapping[str, Callable[[], Policy]] = {}


_BRIDGES = {
    "bridge_world_left": lambda: bridge_world.table_policy(bridge_world.left_policy()),
    "bridge_world_right": lambda: bridge_world.table_policy(bridge_world.right_policy()),
}

ENVIRONMENTS = {
    "bridge_world": Entry(lambda: bridge_world.ENV, _BRIDGES),
    "cheetah": Entry(cheetah),
    "cheetah (authors' version)": Entry(lambda: cheetah(authors_version=True)),
    "pendulum": Entry(lambda: pendulum.ENV),
    "simple_grid": Entry(lambda: simple_grid.ENV, {"simple_grid": lambda: simple_grid.POLICY}),
    "walker": Entry(walker),
    "walker (authors' version)": Entry(lambda: walker(authors_version=True)),
    "zones": Entry(lambda: zones.ENV),
}
