"""Settings fixed before the data are seen, as a file to show and check."""

import dataclasses
import hashlib
import json
import math
import re
import tomllib
from collections.abc import Mapping
from os import PathLike
from typing import Any, Self

import numpy as np

from jaxcert._extras import import_extra
from jaxcert._validation import check_count, check_finite, check_open_unit, is_count, refuse, typed
from jaxcert.certificates._question import COMMON, FREQUENCIES, Question
from jaxcert.certificates._registry import AUTO, defaults
from jaxcert.questions import QUESTIONS
from jaxcert.questions._registry import checked_options, usual_questions
from jaxcert.tables._files import content_of, write_whole

_FORMAT_VERSION = 1
# Fields that a protocol may leave open.
_OPTIONAL = ("metric", "environment", "policy_sha256", "seed", "task", "value", "deterministic")
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Protocol:
    """The settings of an experiment, fixed before its data.

    Whoever has the file, or its digest, from before the data were collected can check that nothing was chosen after a
    look at them.

    Attributes:
        support: (a, b); None for a question that needs none.
        delta: failure probability of each certificate.
        thresholds: performances to certify; either these or safeties, unless a question is named that needs neither.
        safeties: shares of new tasks to certify a performance for.
        num_tasks: n.
        num_rollouts: m, of every task.
        beta: failure probability of one lower bound; None for the default, or "auto".
        bound: per-task bound; by default the method's own, as in `certify`.
        method: method; by default "binomial", where the question takes one.
        question: what is asked, a name of `jaxcert.questions`; by default "safety" of thresholds, or "safety_level".
        options: settings that few questions have, by their names.
        metric: what a return is, in words.
        environment: name of the environment.
        policy_sha256: SHA-256 of the policy's file.
        seed: of the tasks and rollouts.
        task: which column of a table of returns holds the tasks; if it is open, the one that is read unnamed.
        value: which column holds the returns; if it is open, the one that is read unnamed.
        strata: which column holds the strata within which tasks are drawn; None for tasks from one distribution.
        of_strata: how many tasks are drawn from each stratum, by its label; together n. Empty if that is left open.
        deterministic: whether the policy takes the mode of its distribution of actions, or samples them.

    Raises:
        ValueError: for values that `certify` would refuse, neither or both of thresholds and safeties, or a threshold
            outside the support, at which there is nothing to certify.

    Example:
        >>> locked = Protocol(support=(0, 1000), delta=0.01, thresholds=(500.0,), num_tasks=200, num_rollouts=100)
        >>> locked.digest[:8], locked.contradictions({"delta": 0.05})
        ('3154195e', ['delta is 0.05, the protocol says 0.01'])
    """

    support: tuple[float, float] | None = None
    delta: float
    num_tasks: int
    num_rollouts: int
    thresholds: tuple[float, ...] = ()
    safeties: tuple[float, ...] = ()
    beta: float | str | None = None
    bound: str | None = None
    method: str | None = None
    question: str | None = None
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    metric: str | None = None
    environment: str | None = None
    policy_sha256: str | None = None
    seed: int | None = None
    task: str | None = None
    value: str | None = None
    strata: str | None = None
    of_strata: Mapping[str, int] = dataclasses.field(default_factory=dict)
    deterministic: bool | None = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if field.name not in ("options", "of_strata"):
                value = _typed(field.name, getattr(self, field.name), field.type)
                object.__setattr__(self, field.name, value)
        self._check_question()
        self._check_support()
        check_finite("thresholds", self.thresholds)
        check_open_unit("safeties", self.safeties)
        for name in ("delta",) if self.beta in (None, AUTO) else ("delta", "beta"):
            check_open_unit(name, getattr(self, name))
        for name in ("num_tasks", "num_rollouts"):
            check_count(name, getattr(self, name))
        if "method" in self._question.settings and self._question.has_support:
            object.__setattr__(self, "bound", defaults(self.bound, self.method, ())[0].name)
        self._check_facts()

    @property
    def asked(self) -> str:
        """The name of the question."""
        return self.question or usual_questions(self._lists)[0].name

    @property
    def fixed(self) -> np.ndarray | None:
        """The numbers that are fixed beforehand; None if the question has none."""
        each = self._question.each
        return None if each is None else np.asarray({**self.options, **self._lists}[each])

    @property
    def _lists(self) -> dict[str, tuple[float, ...]]:
        """The numbers that have a field of their own, by quantity."""
        return {"threshold": self.thresholds, "safety": self.safeties}

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of the question's function besides the data and the fixed numbers; defaults are left out."""
        question, stated = self._question, {name: getattr(self, name) for name in ("support", *COMMON)}
        taken = {name: value for name, value in stated.items() if question.takes(name) and value is not None}
        options = {name: value for name, value in self.options.items() if name != question.each}
        return {**taken, **question.declared, **options}

    @property
    def _question(self) -> Question:
        if self.asked not in QUESTIONS:
            raise ValueError(f"question is {self.question!r}; expected one of {', '.join(QUESTIONS)}")
        return QUESTIONS[self.asked]

    def _check_question(self) -> None:
        question = self._question
        if len(question.inputs) > 1 or question.unrepeated:
            why = question.unrepeated or f"it is about {' and '.join(question.inputs)}"
            raise ValueError(f"question is {question.name!r}, which has no protocol: {why}")
        for name in ("support", "strata"):
            has_frequencies = name == "strata" and FREQUENCIES.name in self.options
            if getattr(self, name) is None and (question.takes(name) or has_frequencies):
                raise ValueError(f"{name} is not given; the question {question.name!r} needs it")
        for name in ("support", "strata", "beta", "bound", "method"):
            known = question.of_strata if name == "strata" else question.takes(name)
            if getattr(self, name) is not None and not known:
                raise ValueError(f"{name} is given; the question {question.name!r} has none")
        if question.takes("method") and self.method is None:
            object.__setattr__(self, "method", "binomial")
        for name, numbers in self._lists.items():
            if bool(numbers) != (question.each == name):
                expected = f"a {name} or more" if question.each == name else f"no {name}"
                raise ValueError(f"question is {question.name!r}; expected {expected}")
        object.__setattr__(self, "options", checked_options(question, self.options))

    def _check_support(self) -> None:
        low, high = self.support or (-math.inf, math.inf)
        if not low < high or (self.support and math.isinf(low)):
            raise ValueError(f"support is {self.support}; expected the least and the largest return, (a, b)")
        thresholds = np.asarray(self.thresholds)
        refuse("thresholds", thresholds, thresholds > low, f"more than {low:g}, which every performance is at least")
        refuse("thresholds", thresholds, thresholds <= high, f"at most {high:g}, which no performance exceeds")

    def _check_facts(self) -> None:
        counts = self.of_strata
        if counts and not (isinstance(counts, Mapping) and all(map(is_count, counts.values())) and all(counts)):
            raise ValueError(f"of_strata is {counts!r:.60}; expected how many tasks are drawn from each stratum")
        if counts and (self.strata is None or sum(counts.values()) != self.num_tasks):
            what = "no column of strata is given" if self.strata is None else f"num_tasks is {self.num_tasks}"
            raise ValueError(f"of_strata is {_shown(counts)}; {what}")
        if self.policy_sha256 is not None and not _SHA256.fullmatch(self.policy_sha256):
            raise ValueError(f"policy_sha256 is {self.policy_sha256!r}; expected 64 hexadecimal digits")
        if self.seed is not None and not 0 <= self.seed < 2**32:
            raise ValueError(f"seed is {self.seed!r}; expected an integer from 0 to {2**32 - 1}")

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """The protocol in a TOML file.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is not TOML, of another version, or holds other names or values than a protocol.
        """
        content = content_of(path, "a protocol")
        try:
            found = tomllib.loads(content.decode("utf-8-sig"))
            version = found.pop("format_version", None)
            if type(version) is not int or version != _FORMAT_VERSION:
                raise ValueError(f"has version {version!r} of the format, expected {_FORMAT_VERSION}")
            unknown = sorted(found.keys() - {field.name for field in dataclasses.fields(cls)})
            if unknown:
                raise ValueError(f"has the unknown entries {', '.join(unknown)}")
            return cls(**found)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:  # the last for deep nesting
            raise ValueError(f"{path}: no protocol: {error}") from error

    def write(self, path: str | PathLike[str]) -> None:
        """Write a new file. An existing file is never replaced, since a protocol is written once.

        Raises:
            FileExistsError: there is a file of that name.
            ValueError: no file can be written there.
            ImportError: without tomli-w (extra `cli`).
        """
        text = import_extra("tomli_w", "cli").dumps({"format_version": _FORMAT_VERSION, **self._entries()})
        write_whole(path, text, replace=False)

    @property
    def digest(self) -> str:
        """The SHA-256 of the protocol's content, independent of the layout of its file."""
        text = json.dumps(self._entries(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def contradictions(self, found: Mapping[str, Any]) -> list[str]:
        """Differences from the protocol, in words: settings in use, or facts of the data, by their name.

        Values of None and facts that the protocol leaves open are not compared. Its default of beta is compared.
        """
        stated = dataclasses.asdict(self) | {"question": self.asked}
        compared = [name for name in found if stated[name] is not None or name not in _OPTIONAL]
        return [
            f"{name} is {_shown(found[name])}, the protocol says {_shown(stated[name])}"
            for name in compared
            if found[name] not in (None, (), [], {}) and _plain(found[name]) != _plain(stated[name])
        ]

    def _entries(self) -> dict[str, Any]:
        """The settings as plain values."""
        entries = {name: _plain(value) for name, value in dataclasses.asdict(self).items()}
        return {name: value for name, value in entries.items() if value is not None and value not in ([], {})}


def _typed(name: str, value: Any, hint: Any) -> Any:
    """A field in its annotated type; a list may be empty, but no text."""
    value = value.tolist() if hasattr(value, "tolist") else value  # of arrays
    if (name == "beta" and value == AUTO) or (hint == tuple[float, ...] and value in ([], ())):
        return value or ()
    if (found := typed(name, value, hint)) == "":
        raise ValueError(f"{name} is ''; expected a text that is not empty")
    return found


def _plain(value: Any) -> Any:
    # No negative zero, which equals the other one, and has another digest.
    return [float(each) + 0.0 for each in value] if isinstance(value, tuple | list) else value


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name} {_shown(each)}" for name, each in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(each if isinstance(each, str) else f"{each:g}" for each in value) or "none"
    return "the default" if value is None else f"{value}"
