"""Actions of a policy as a Gymnasium space wants them, or an error that says what does not fit."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_WHOLE = {"Discrete", "MultiDiscrete", "MultiBinary"}


def as_action(space: Any, action: Any, alive: np.ndarray | None = None) -> Any:
    """The action in the type of the space.

    Args:
        space: the action space of one environment.
        action: one action; or with `alive` [n], a batch of n.
        alive: whose values are checked, since an environment that is over gets any action.

    Raises:
        TypeError: for an action of another kind than the space's.
        ValueError: for another shape, or values that are not finite or not in a discrete space.
    """
    kinds = {kind.__name__ for kind in type(space).__mro__}
    if "Dict" in kinds:
        return _dict_action(space, action, alive)
    if "Tuple" in kinds:
        return _tuple_action(space, action, alive)
    if kinds & _WHOLE:
        return _whole_action(space, _array(space, action, alive), alive)
    if "Box" in kinds:
        return _box_action(space, _array(space, action, alive), alive)
    if alive is None and not space.contains(action):
        raise ValueError(f"the policy gives the action {action!r}; expected one in {space}")
    return action


def _dict_action(space: Any, action: Any, alive: np.ndarray | None) -> dict:
    if not isinstance(action, Mapping) or set(action) != set(space.spaces):
        has = f"the keys {sorted(action)}" if isinstance(action, Mapping) else f"a {type(action).__name__}"
        raise TypeError(f"the policy gives {has} as action; expected a dict with the keys {sorted(space.spaces)}")
    return {key: as_action(part, action[key], alive) for key, part in space.spaces.items()}


def _tuple_action(space: Any, action: Any, alive: np.ndarray | None) -> tuple:
    if not isinstance(action, Sequence) or len(action) != len(space.spaces):
        raise TypeError(
            f"the policy gives a {type(action).__name__} as action; expected a tuple of {len(space.spaces)}"
        )
    return tuple(as_action(part, one, alive) for part, one in zip(space.spaces, action, strict=True))


def _array(space: Any, action: Any, alive: np.ndarray | None) -> np.ndarray:
    if hasattr(action, "detach"):  # a tensor of PyTorch, which may have a gradient or be on a GPU
        action = action.detach().cpu().numpy()
    try:
        array = np.asarray(action)
    except ValueError:  # nested lists of several lengths
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"the policy gives a {type(action).__name__} as action; expected numbers of {space}")
    lead = () if alive is None else alive.shape
    if array.shape != lead + space.shape:
        raise ValueError(_of_shape(space, array, lead))
    return array


def _of_shape(space: Any, array: np.ndarray, lead: tuple[int, ...]) -> str:
    if array.shape[: len(lead)] != lead:
        return (
            f"the policy gives actions of shape {array.shape}; expected {lead + space.shape}, since it gets the"
            f" observations of all {lead[0]} environments at once"
        )
    found = f"the policy gives an action of shape {array.shape[len(lead) :]}; expected {space.shape}"
    return found if space.shape else f"{found}, the number of one action (the argmax, if these are scores)"


def _whole_action(space: Any, array: np.ndarray, alive: np.ndarray | None) -> Any:
    if array.dtype.kind == "f":
        raise TypeError(f"the policy gives an action of type {array.dtype}; expected whole numbers for {space}")
    low = np.asarray(getattr(space, "start", 0))
    inside = (array >= low) & (array < low + _sizes(space))
    good = inside if alive is None else inside[alive]
    if not np.all(good):
        raise ValueError(f"the policy gives the action {_bad(array, inside, alive)}, which is not in {space}")
    # A scalar, not an array without axes: tables of transitions are looked up by it.
    return array.astype(space.dtype)[()]


def _sizes(space: Any) -> Any:
    """How many values each number may have; n is the number of bits of a MultiBinary space."""
    if any(kind.__name__ == "MultiBinary" for kind in type(space).__mro__):
        return 2
    return space.nvec if hasattr(space, "nvec") else space.n


def _bad(array: np.ndarray, inside: np.ndarray, alive: np.ndarray | None) -> Any:
    wrong = ~inside if alive is None else ~inside & alive.reshape(alive.shape + (1,) * (inside.ndim - 1))
    return array[wrong].flat[0]


def _box_action(space: Any, array: np.ndarray, alive: np.ndarray | None) -> np.ndarray:
    if not np.all(np.isfinite(array if alive is None else array[alive])):
        raise ValueError("the policy gave an action that is not finite")
    if array.dtype.kind == "f" and np.dtype(space.dtype).kind != "f":
        raise TypeError(f"the policy gives an action of type {array.dtype}; expected {space.dtype} for {space}")
    return array.astype(space.dtype)
