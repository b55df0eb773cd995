"""What each question is asked with, its answer, and its record in a file."""

import functools
from pathlib import Path

import numpy as np
import pytest

from jaxcert.questions import QUESTIONS
from jaxcert.report import certificate_record
from jaxcert.tables import read_returns

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(0)
A = RNG.beta(9, 1, (60, 20)).astype(np.float32)
B = (0.8 * A).astype(np.float32)
WEIGHTS = np.tile([0.5, 1.5], 30)
STRATA = np.asarray(["a"] * 20 + ["b"] * 40)
REQUIRED = {"requirements": ("reward >= 0.6 in 0 1", "cost <= 0.5 in 0 1"), "complete": True}
# What each question is asked with, besides data, support, delta and what has to be declared.
FIXED = {"threshold": [0.3, 0.6], "safety": [0.5, 0.8], "alpha": [0.25, 1.0], "margin": [-0.1, 0.0]}
OPTIONS = {
    "cvar": {"cap": [0.8, 1.0]},
    "episode": {"num_episodes": 2},
    "weighted": {"max_weight": 1.5},
    "stratified": {"frequencies": ("a=0.5", "b=0.5")},
    "improvement": {},
    "requirements": REQUIRED,
    "suite_requirements": REQUIRED,
}


def options_of(name: str) -> dict:
    """Its own options, and what has to be declared."""
    return {**QUESTIONS[name].declared, **OPTIONS.get(name, {})}


def ask(name: str, returns: np.ndarray = A):
    """The answer to a question, by its public function."""
    question = QUESTIONS[name]
    data = {"returns": returns, "returns_a": returns, "returns_b": B[: len(returns)], "weights": WEIGHTS}
    settings = {each: data[each] for each in question.inputs} | {"delta": 0.1} | options_of(name)
    if question.metrics(settings):
        settings["returns"] = {"reward": returns, "cost": 1 - returns}
    if question.takes("strata"):
        settings["strata"] = STRATA[: len(returns)]
    if name == "ranking":
        settings["returns"] = np.stack([A, B])
    if question.fixed:
        settings[question.fixed] = FIXED[question.each]
    if question.has_support:
        settings["support"] = (0.0, 1.0)
    return question.function(**settings)


def others_of(question, files) -> list:
    """The files after the first: of another policy, or of the weights."""
    return [files / ("w.npz" if name == "weights" else "b.npz") for name in question.inputs[1:]]


def data_of(question, files) -> list:
    """The returns of a question: of its first file, and of the others; or its metrics from the first one."""
    if metrics := question.metrics(options_of(question.name)):
        return [read_returns(files / "a.npz", value=name, metric=True) for name in metrics]
    strata = "strata" if question.takes("strata") else None
    return [read_returns(path, strata=strata) for path in (files / "a.npz", *others_of(question, files))]


def record(found, name: str, files=None) -> dict:
    question = QUESTIONS[name]
    support = (0.0, 1.0) if question.has_support else None
    first, *others = [None] if files is None else data_of(question, files)
    return certificate_record(found, support=support, data=first, others=others)


HEAD = "format_version = 1\ndelta = 0.1\nnum_tasks = 9\nnum_rollouts = 5"
EVERY = pytest.mark.parametrize("name", QUESTIONS)


def write_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the returns and the metrics of two policies, and the weights."""
    folder = tmp_path_factory.mktemp("files")
    np.savez(folder / "a.npz", returns=A, reward=A, cost=1 - A, strata=STRATA)
    np.savez(folder / "b.npz", returns=B, reward=B, cost=1 - B, strata=STRATA)
    np.savez(folder / "w.npz", returns=WEIGHTS[:, None])
    return folder


@functools.cache
def answer_to(name: str):
    """The answer to a question, which is asked once."""
    return ask(name)
