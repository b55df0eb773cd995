"""Imagined tasks: drawn once, and shared by all designs."""

import numpy as np

from jaxcert.planning._kind import Kind, PerTask, Question
from jaxcert.planning._pilot import Source

# Lengths of imagined tasks: numbers of rollouts between them are masked, so that few programs are compiled.
LENGTHS = (16, 128, 1024)
BATCHES = 8
_SIMULATED_TASKS = 4096


class Simulation:
    """Imagined tasks, the same ones for every design, so that designs differ by more than chance."""

    def __init__(self, source: Source, question: Question, most: int, seed: int) -> None:
        self.source, self.question, self.most, self.seed = source, question, most, seed
        repeats = -(-_SIMULATED_TASKS // source.num_tasks)
        self.num_repeats = -(-repeats // BATCHES) * BATCHES
        self.num_simulated = self.num_repeats * source.num_tasks
        self.drawn: dict[int, np.ndarray] = {}
        self.courses: dict[tuple, PerTask] = {}

    def run(self, kind: Kind, m: int, betas: np.ndarray) -> PerTask:
        """What becomes of the tasks, [G, N], N = repeats × tasks."""
        most = m if kind.stopped is None else self.most
        key = kind.name, most, betas.tobytes()
        if key not in self.courses:
            self.courses = {key: kind.per_task(self._returns(most), most, betas, self.question)}
        course = self.courses[key]
        return course if kind.stopped is None else kind.stopped(course, m, self.question.support[0])

    def _returns(self, m: int) -> np.ndarray:
        length = next(length for length in LENGTHS if length >= m)
        if length not in self.drawn:
            rng = np.random.default_rng([self.seed, length])
            self.drawn[length] = self.source.draw(rng, self.num_repeats, length).reshape(-1, length)
        return self.drawn[length]
