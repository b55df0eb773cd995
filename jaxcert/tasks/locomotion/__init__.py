"""Multi-task Cheetah and Walker on MuJoCo Playground (MJX); needs the extra ``brax``.

A task scales the masses and the size of the torso, each by 2^u with u uniform on (-1, 1). Whatever follows from them is
rescaled with them: inertia, centre of mass, where the legs are attached, the masses of subtrees, the weights of
constraints; not the inertia that scales the solver's tolerance in older releases of MJX. The environments of the
paper's authors do less; ``authors_version=True`` is theirs, to compare with their policies.

Reference:
    Schnitzer, Jackermeier, Abate, Parker, Probabilistic Performance Guarantees for Multi-Task Reinforcement
    Learning, ICML 2026, arXiv 2602.02098, fig. 4b and 4c; the environments are those of the DeepMind Control Suite in
    MuJoCo Playground.
"""

from jaxcert.tasks.locomotion._environments import Locomotion, State, cheetah, walker
from jaxcert.tasks.locomotion._render import check_video_path, render
from jaxcert.tasks.locomotion._task import Task, sample_task

__all__ = ["Locomotion", "State", "Task", "check_video_path", "cheetah", "render", "sample_task", "walker"]
