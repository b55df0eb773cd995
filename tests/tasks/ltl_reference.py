"""Linear temporal logic on finite traces by its definition, and random tasks and traces, in plain Python and NumPy."""

import itertools

import numpy as np
from hypothesis import strategies as st

from jaxcert.tasks import ltl
from jaxcert.tasks.ltl._formula import Always, And, Constant, Eventually, Not, Or, Proposition, Until

NAMES = ("a", "b", "c", "d")


def holds(formula, trace, position=0):
    """The semantics, clause by clause; a trace is a list of sets of names."""
    later = range(position, len(trace))
    match formula:
        case Constant(value):
            return value
        case Proposition(name):
            return name in trace[position]
        case Not(inner):
            return not holds(inner, trace, position)
        case And(left, right):
            return holds(left, trace, position) and holds(right, trace, position)
        case Or(left, right):
            return holds(left, trace, position) or holds(right, trace, position)
        case Eventually(inner):
            return any(holds(inner, trace, at) for at in later)
        case Always(inner):
            return all(holds(inner, trace, at) for at in later)
        case Until(left, right):
            return any(
                holds(right, trace, at) and all(holds(left, trace, before) for before in range(position, at))
                for at in later
            )
    raise AssertionError(formula)


def any_formulas(leaves=None):
    """Any formula, small enough to print."""
    names = st.builds(Proposition, st.sampled_from(("a", "b2", "_c", "until", "fX_", "door")))
    leaves = names | st.builds(Constant, st.booleans()) if leaves is None else leaves

    def larger(part):
        unary = [st.builds(operator, part) for operator in (Not, Eventually, Always)]
        return st.one_of(*unary, *(st.builds(operator, part, part) for operator in (And, Or, Until)))

    return st.recursive(leaves, larger, max_leaves=12)


def any_tasks(rng, num_tasks, *, depth=3):
    """Tasks without the sampler's rules: anything to reach and to avoid, also both, and to finish by in some stages."""
    shape = (num_tasks, depth, len(NAMES))
    reach, avoid = rng.random(shape) < 0.3, rng.random(shape) < 0.3
    reach[~reach.any(-1), 0] = True
    num_stages = rng.integers(1, depth + 1, num_tasks).astype(np.int32)
    return ltl.ReachAvoid(reach, avoid, num_stages, rng.random(shape) < 0.1)  # rows after the last stage are noise


def nth(tasks, index):
    return ltl.ReachAvoid(*(np.asarray(leaf[index]) for leaf in tasks))


def as_sets(trace):
    return [set(itertools.compress(NAMES, position)) for position in trace]
