"""Certificates for multi-task reinforcement learning policies, in JAX."""

import importlib
import pkgutil
from typing import TYPE_CHECKING

from jaxcert._version import __version__

if TYPE_CHECKING:
    from jaxcert import baselines as baselines
    from jaxcert import bounds, numerics
    from jaxcert import certificates as certificates
    from jaxcert import diagnostics as diagnostics
    from jaxcert import monitoring as monitoring
    from jaxcert import planning as planning
    from jaxcert import questions as questions
    from jaxcert import report as report
    from jaxcert import returns as returns
    from jaxcert import rollouts as rollouts
    from jaxcert import sequential as sequential
    from jaxcert import sweep as sweep
    from jaxcert import tables as tables
    from jaxcert import tasks as tasks
    from jaxcert import training as training
    from jaxcert.certificates import *
    from jaxcert.returns import (
        Paired,
        Requirement,
        Weighted,
        at_least,
        at_most,
        paired,
        sample_returns,
        stratified,
        task_weights,
        weighted,
    )
    from jaxcert.rollouts import AdaptiveCertificate, PolicyCertificate, certify_adaptive, certify_policy
    from jaxcert.sequential import certify_sequential
    from jaxcert.tables import Returns, align_tasks, from_frame, from_lists, from_xarray, read_returns

__all__ = [
    "AdaptiveCertificate",
    "Certificate",
    "EpisodeCertificate",
    "MeanCertificate",
    "Paired",
    "PolicyCertificate",
    "RankingCertificate",
    "Requirement",
    "RequirementsCertificate",
    "Returns",
    "Solution",
    "Status",
    "SuiteCertificate",
    "TailCertificate",
    "Weighted",
    "__version__",
    "align_tasks",
    "anytime_epsilon",
    "at_least",
    "at_most",
    "binomial_epsilon",
    "bounds",
    "certify",
    "certify_adaptive",
    "certify_anytime",
    "certify_band",
    "certify_cvar",
    "certify_each_task",
    "certify_episode",
    "certify_improvement",
    "certify_interval",
    "certify_lower_bounds",
    "certify_lower_bounds_band",
    "certify_mean",
    "certify_mean_difference",
    "certify_policy",
    "certify_ranking",
    "certify_requirements",
    "certify_safety_level",
    "certify_sequential",
    "certify_shift",
    "certify_stratified",
    "certify_suite",
    "certify_suite_mean",
    "certify_suite_requirements",
    "certify_tail",
    "certify_weighted",
    "from_frame",
    "from_lists",
    "from_xarray",
    "numerics",
    "paired",
    "read_returns",
    "sample_returns",
    "scenario_epsilon",
    "shifted_epsilon",
    "stratified",
    "task_weights",
    "weighted",
]

# Where the names are. Everything is imported when it is first asked for: `jaxcert --help` needs no JAX.
_ROOMS = ("certificates", "returns", "tables", "sequential", "rollouts")


if not TYPE_CHECKING:  # which know the names from above

    def __getattr__(name):
        rooms = (importlib.import_module(f"jaxcert.{room}") for room in _ROOMS if name in __all__)
        room = next((room for room in rooms if name in room.__all__), None)
        if room is not None:
            return globals().setdefault(name, getattr(room, name))
        if name in _packages():
            return importlib.import_module(f"jaxcert.{name}")
        raise AttributeError(f"module 'jaxcert' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_packages(), *(name for name in globals() if name.startswith("__"))})


def _packages() -> list[str]:
    return [found.name for found in pkgutil.iter_modules(__path__) if found.ispkg]
