"""Multi-task Cheetah and Walker on MuJoCo Playground (MJX); needs the extra ``brax``.

A task scales the masses and the size of the torso, each by 2^u with u uniform on (-1, 1). Quantities that depend on
them are rescaled, too: inertia, centre of mass, attachment points of the legs, subtree masses and constraint weights,
but not the inertia that scales the solver's tolerance in older releases of MJX. The environments of the paper's authors
rescale less; ``authors_version=True`` gives theirs, for comparison with their policies.

Reference:
    Schnitzer, Jackermeier, Abate, Parker, ICML 2026, arXiv 2602.02098, fig. 4b and 4c; the environments
    come from the DeepMind Control Suite in MuJoCo Playground.
"""

from jaxcert.tasks.locomotion._environments import cheetah, walker
from jaxcert.tasks.locomotion._task import Task

__all__ = ["Task", "cheetah", "walker"]
