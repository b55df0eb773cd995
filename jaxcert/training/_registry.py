"""The trainers, by the type of their settings."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jaxcert.training._brax_training import check_brax_training, train_with_brax
from jaxcert.training._settings import PPOSettings
from jaxcert.training.zones import ZonesSettings
from jaxcert.training.zones._zones_training import check_zones_training, train_on_zones


class Trainer(NamedTuple):
    """A way to train.

    Attributes:
        check: raises for a missing package, and for an environment that does not fit; of environment and settings.
        run: trains; of environment, settings, hook, folder and progress function, to the function that makes a policy
            of parameters, and the parameters.
    """

    check: Callable[[Any, Any], None]
    run: Callable[..., tuple[Callable[..., Any], Any]]


TRAINERS: Mapping[type, Trainer] = {
    PPOSettings: Trainer(check_brax_training, train_with_brax),
    ZonesSettings: Trainer(check_zones_training, train_on_zones),
}
