"""Checks of argument values, as far as they are concrete, and of values in files."""

import contextlib
import importlib
import math
import os
import sys
import warnings
from collections.abc import Callable
from numbers import Real
from types import UnionType
from typing import Any, TypeVar, get_args

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

Described = TypeVar("Described")
# Where frames between a warning and the caller of this package are: its files, and what enters a context for it.
_INSIDE = os.path.join(os.path.dirname(__file__), ""), contextlib.__file__


def is_traced(value: Any) -> bool:
    """Whether a value stands for one that is known only when the compiled function runs."""
    return isinstance(value, jax.core.Tracer)


def is_concrete(*values: Any) -> bool:
    """Whether every array can be read here: no tracer, and no array distributed over several processes."""
    return not any(
        isinstance(v, jax.core.Tracer) or (isinstance(v, jax.Array) and not v.is_fully_addressable)
        for v in jax.tree.leaves(values)
    )


def kept_readable(*values: Any) -> contextlib.AbstractContextManager[None]:
    """A context in which what is computed from values that can be read can be read as well.

    Under ``jit`` it would be part of the trace, even where all values are constants there.
    """
    return jax.ensure_compile_time_eval() if is_concrete(*values) else contextlib.nullcontext()


def precision(dtype: str) -> contextlib.AbstractContextManager:
    """64-bit types on or off, as a certificate was computed; the name moved between releases of JAX."""
    wanted = dtype == "float64"
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(wanted)
    older: Any = importlib.import_module("jax.experimental")
    return older.enable_x64() if wanted else older.disable_x64()


def check_open_unit(name: str, value: Any, *, zero_allowed: bool = False, dtype: Any = np.float64) -> None:
    """Raise ValueError unless every element lies in (0, 1), or in [0, 1), and stays there as a normal ``dtype``."""
    array = as_numbers(name, value)
    low = array >= 0 if zero_allowed else array > 0
    interval = "[0, 1)" if zero_allowed else "(0, 1)"
    refuse(name, array, low & (array < 1), f"a probability in {interval}")
    info = jnp.finfo(dtype)
    kept = ((array == 0) | (array >= float(info.tiny))) & (array <= 1 - float(info.eps) / 4)
    refuse(name, array, kept, f"a probability that {info.dtype} can tell from 0 and 1")


def check_finite(name: str, value: Any, *, dtype: Any = np.float64) -> None:
    """Raise ValueError unless every element is finite, and stays so in ``dtype``."""
    array = as_numbers(name, value)
    refuse(name, array, np.isfinite(array), "a finite number")
    most = float(jnp.finfo(dtype).max)
    refuse(name, array, np.abs(array) <= most, f"a number within the range of {jnp.dtype(dtype)}")


def as_numbers(name: str, value: Any) -> np.ndarray:
    """The value on the host in float64, or ValueError by name."""
    require_real(name, value)
    return np.asarray(value, dtype=np.float64)


def as_number(name: str, value: Any) -> float:
    """The value as a number in double precision, or ValueError by name."""
    number = as_numbers(name, value)
    if number.ndim:
        raise ValueError(f"{name} has shape {number.shape}; expected one number")
    return float(number)


def refuse(name: str, array: np.ndarray, good: np.ndarray, expected: str) -> None:
    """Raise ValueError that names the first element that is not good."""
    if np.all(good):
        return
    index = tuple(int(i) for i in np.argwhere(~good)[0])
    where = f"{name}[{', '.join(map(str, index))}]" if index else name
    raise ValueError(f"{where} is {array[index]:g}; expected {expected}")


def warn(text: str) -> None:
    """Warn the caller of this package, at the line of the call."""
    frame, level = sys._getframe(1), 2
    while frame and frame.f_code.co_filename.startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)


def kind_of(value: Any) -> str:
    """The name of its type, with an article, and the question that it answers, since questions share types."""
    question = getattr(value, "question", "")
    return f"{type_of(value)} that answers {question!r}" if question else type_of(value)


def type_of(value: Any) -> str:
    """The name of its type, with an article."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def choose(kind: str, name: str, registry: dict[str, Described]) -> Described:
    """The entry of the registry with that name."""
    if not isinstance(name, str) or name not in registry:
        raise ValueError(f"{kind} is {name!r}; expected one of {', '.join(registry)}")
    return registry[name]


def require_real(name: str, value: Any) -> None:
    """Raise ValueError unless the array holds real numbers (booleans and integers included)."""
    if isinstance(value, np.ma.MaskedArray):
        lost = "whose mask would be lost; expected an array, and where= for a mask"
        raise ValueError(f"{name} is a masked array, {lost}")
    if hasattr(value, "_in_words"):  # a sample of another kind
        raise ValueError(f"{name} are {value._in_words}, which are not taken here; expected an array")
    try:
        dtype = value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype
    except jax.errors.TracerArrayConversionError:
        expected = "expected an array (jnp.stack makes one)"
        raise ValueError(f"{name} is a list that holds traced values; {expected}") from None
    except ValueError:
        raise ValueError(f"{name} is not a rectangular array of numbers") from None
    is_real = jnp.issubdtype(dtype, jnp.floating) or dtype.kind in "biu" or jnp.issubdtype(dtype, jnp.integer)
    if not is_real or dtype.kind in "mM":
        raise ValueError(f"{name} has dtype {dtype}; expected real numbers{_instead(value)}")


def _instead(value: Any) -> str:
    """Advice on an object that holds the numbers: what to pass instead."""
    if hasattr(value, "returns") and hasattr(value, "where"):
        return ", the arrays data.returns and where=data.where"
    return ": jaxcert.from_frame makes an array of a table" if hasattr(value, "columns") else ""


def check_number(name: str, value: Any, allowed: Callable[[float], bool], expected: str) -> None:
    """Raise ValueError unless it is one real number that is allowed; ``expected`` says in words which ones are."""
    if not allowed(as_number(name, value)):
        raise ValueError(f"{name} is {value!r}; expected {expected}")


def check_count(name: str, value: Any, least: int = 1) -> None:
    """Raise ValueError unless it is a whole number of at least 1, or more."""
    if not is_count(value) or value < least:
        raise ValueError(f"{name} is {value!r}; expected a whole number of at least {least}")


def is_count(value: Any) -> bool:
    """Whether it is a whole number of at least 1."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 1


# --- values of files, by the types that fields are annotated with ----------------------------------------------------

_WORDS = {float: "a number", int: "a whole number", str: "a text", bool: "true or false"}


def typed(name: str, value: Any, hint: Any) -> Any:
    """The value in an annotated type, a list as a tuple; ValueError by name for one of another type."""
    try:
        return _taken(value, hint)
    except (TypeError, OverflowError):
        raise ValueError(f"{name} is {value!r:.60}; expected {_in_words(hint)}") from None


def _taken(value: Any, hint: Any) -> Any:
    """The value in this type; TypeError for one of another type, OverflowError for a number that no float is."""
    if isinstance(hint, UnionType):
        return None if value is None else _taken(value, get_args(hint)[0])
    if one := get_args(hint):
        if not isinstance(value, list | tuple) or not value or (one[-1] is not ... and len(value) != len(one)):
            raise TypeError
        if one == (float, float) and value[1] is None:  # JSON has no infinite number
            value = [value[0], math.inf]
        return tuple(_taken(each, one[0]) for each in value)
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else None
    if hint is float and number is not None and number == value:  # one that rounding makes another number is none
        return number
    if hint is float or type(value) is not hint:
        raise TypeError
    return value


def _in_words(hint: Any) -> str:
    if isinstance(hint, UnionType):
        return f"{_in_words(get_args(hint)[0])}, or null"
    if one := get_args(hint):
        number = "" if one[-1] is ... else f"{len(one)} "
        return f"a list of {number}{_WORDS[one[0]].removeprefix('a ')}s"
    return _WORDS[hint]
