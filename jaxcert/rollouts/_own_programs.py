"""The user's own environments and policies, named by module and attribute, such as `my_package.envs:ENV`."""

import contextlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jax

from jaxcert._files import content_of
from jaxcert.rollouts._collect import check_shapes
from jaxcert.rollouts._multi_task import MultiTaskEnv
from jaxcert.rollouts._policy import Policy, as_policy, digest

POLICY, ENV = "POLICY", "--env"
_MARK = ":"


class Named(NamedTuple):
    """An environment or a policy of a module, with the text that named it.

    ``sha256`` is of the text, the file of the module, and the parameters of a policy.
    """

    text: str
    value: Any
    file: Path
    sha256: str


def is_named(text: str) -> bool:
    """Whether it is a module with a name in it, and no file."""
    return _MARK in text and not Path(text).exists()


def own_environment(text: str) -> Named:
    """The environment that a module has, or that a function of it gives; ValueError if there is none, or it fails."""
    env, file = _found(ENV, text)
    shown = text
    if callable(env) and not isinstance(env, MultiTaskEnv):
        shown = f"{text}()"
        with _telling(f"{shown} fails"):
            env = env()
    if not isinstance(env, MultiTaskEnv):
        expected = "expected a MultiTaskEnv, or a function without arguments that gives one"
        raise ValueError(f"{shown} is of type {type(env).__name__}; {expected}")
    if not 0 < env.episode_length < 2**31:
        raise ValueError(f"{shown} has episode_length={env.episode_length}; expected one from 1 to 2**31 - 1")
    return Named(text, env, file, digest((), text.encode(), content_of(file, "a module")))


def own_policy(text: str) -> Named:
    """The policy that a module has; ValueError if there is none, or the module fails."""
    policy, file = _found(POLICY, text)
    try:
        policy = as_policy(policy)
    except TypeError as error:
        raise ValueError(f"{text}: {error}") from error
    if policy.deterministic not in (True, False, None):
        raise ValueError(f"{text} has deterministic={policy.deterministic!r}; expected True, False or None")
    return Named(text, policy, file, digest(policy.params, text.encode(), content_of(file, "a module")))


def check_together(env: MultiTaskEnv, policy: Policy, text: str) -> None:
    """Raise ValueError where the policy does not act in the environment, before anything is computed."""
    with _telling(f"{text} does not run in the environment", but=ValueError):
        check_shapes(env, policy, jax.eval_shape(lambda: env.sample_tasks(jax.random.key(0), 1)))


def _found(option: str, text: str) -> tuple[Any, Path]:
    """The module's object of that name, and its file."""
    module_name, mark, name = text.partition(_MARK)
    if not (mark and all(part.isidentifier() for part in (*module_name.split("."), name))):
        raise ValueError(f"{option} is {text!r}; expected MODULE:NAME, such as my_package.module:NAME")
    module = _module(module_name)
    if not hasattr(module, name):
        raise ValueError(f"{text}: the module {module_name} has no {name!r}")
    if getattr(module, "__file__", None) is None:
        raise ValueError(f"{text}: the module {module_name} has no file; expected one that is written in a file")
    return getattr(module, name), Path(str(module.__file__))


def _module(name: str) -> ModuleType:
    """The module, as `python -m` finds it: first in the working directory, which stays a place to import from."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    with _telling(f"{name} cannot be imported", but=_NoModuleError):
        try:
            return sys.modules.get(name) or _compiled(name)
        except ModuleNotFoundError as error:
            if f"{name}.".startswith(f"{error.name}."):
                raise _NoModuleError(f"there is no module {error.name} in {here}, and none is installed") from error
            raise


def _compiled(name: str) -> ModuleType:
    """The module, compiled anew from its file, which is hashed; cached bytecode may belong to another version."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    if not isinstance(spec.loader, SourceFileLoader):
        return importlib.import_module(name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        path = spec.loader.get_filename(name)
        exec(compile(spec.loader.get_data(path), path, "exec"), vars(module))
    except BaseException:
        del sys.modules[name]
        raise
    return module


class _NoModuleError(ValueError):
    """The module that the user named, or a package on the way to it, is not there."""


@contextlib.contextmanager
def _telling(what: str, but: type[Exception] | tuple[()] = ()) -> Iterator[None]:
    """Turn an error of a user's program into a ValueError with its type, text and place."""
    try:
        yield
    except but:
        raise
    except (Exception, SystemExit) as error:
        raise ValueError(f"{what}: {type(error).__name__}: {error}{_place(error)}") from error


def _place(error: BaseException) -> str:
    """The last line of the working directory that was run, in words."""
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    own = [each for each in frames if each[0].is_relative_to(Path.cwd()) and "site-packages" not in each[0].parts]
    return f" ({own[-1][0].name}, line {own[-1][1]})" if own else ""
