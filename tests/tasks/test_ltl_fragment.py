"""Reach-avoid tasks from names, as arrays and as formulas."""

import jax
import numpy as np
import pytest
from ltl_reference import NAMES, any_tasks, nth, stages_in, stages_of

from jaxcert.tasks import ltl


def test_tasks_become_formulas_and_stages_become_tasks():
    tasks = any_tasks(np.random.default_rng(0), 300)
    for index in range(300):
        task = nth(tasks, index)
        stages = stages_in(ltl.to_formula(task, NAMES))
        assert [tuple(map(set, stage)) for stage in stages] == stages_of(task)
        used = np.arange(3)[:, None] < task.num_stages
        wanted = task.reach & used, task.avoid & used, task.num_stages
        for one, other in zip(ltl.from_stages(stages, NAMES, depth=3), wanted, strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype


@pytest.mark.parametrize(
    ("stages", "wanted"),
    [
        ([("d", "")], "F d"),
        ([("b", "a")], "!a U b"),
        ([("ab", "")], "F(a | b)"),
        ([("dd", "cba")], "!(a | b | c) U d"),
        ([("cd", "ab"), ("a", "c")], "!(a | b) U ((c | d) & !c U a)"),
        ([("ac", ""), ("b", "")], "F((a | c) & F b)"),
        ([("a", ""), ("c", "b"), ("d", "")], "F(a & !b U (c & F d))"),
        ([("a", "d"), ("bc", "d"), ("b", "")], "!d U (a & !d U ((b | c) & F b))"),
        ([(name, "") for name in "abcda"], "F(a & F(b & F(c & F(d & F a))))"),
    ],
)
def test_formulas(stages, wanted):
    assert ltl.to_formula(ltl.from_stages(stages, NAMES), NAMES) == wanted


ONE = [("a", "")]


@pytest.mark.parametrize(
    ("stages", "names", "options", "message"),
    [
        (ONE * 2, NAMES, {"depth": 1}, "there are 2 stages; expected from 1 to depth = 1"),
        ([], NAMES, {}, "there are 0 stages; expected from 1 to depth = 1"),
        (ONE, NAMES, {"depth": 0}, "depth"),
        ([("", "a")], NAMES, {}, "stage 0 reaches nothing; expected at least one proposition to reach"),
        ([*ONE, ("red", "a")], NAMES, {}, r"stage 1 has \['e', 'r'\]; expected some of a, b, c, d"),
        ([(["a"], ["red"])], NAMES, {}, r"stage 0 has \['red'\]; expected some of a, b, c, d"),
        (["abc"], NAMES, {}, "stage 0 is 'abc'; expected names to reach, and names to avoid"),
        (ONE, "ab", {}, "names is 'ab'; expected a list of different names"),
        (ONE, [], {}, "names is"),
        (ONE, ["a", "a"], {}, "names is"),
        (ONE, {"a", "b"}, {}, "expected a list of different names"),
        *(
            (ONE, ["a", name], {}, r"name is .*; expected a small letter")
            for name in ("", "B", "true", "a b", "1", "a\n", 3)
        ),
    ],
)
def test_arguments_of_from_stages(stages, names, options, message):
    with pytest.raises(ValueError, match=message):
        ltl.from_stages(stages, names, **options)


TASK = ltl.ReachAvoid(np.eye(2) > 0, np.zeros((2, 2), bool), np.int32(2))


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (TASK._replace(num_stages=np.int32(3)), "task.num_stages is 3; expected a whole number from 1 to 2"),
        (TASK._replace(num_stages=np.float32(1)), "task.num_stages is 1.0; expected a whole number from 1 to 2"),
        (TASK._replace(num_stages=np.int32(0)), "task.num_stages is 0"),
        (TASK._replace(reach=np.eye(2)), r"task.reach is float64\[2, 2\]; expected bool\[depth, 2\]"),
        (TASK._replace(avoid=TASK.avoid[:1]), r"task.avoid is bool\[1, 2\]; expected bool\[depth, 2\]"),
        (TASK._replace(reach=TASK.avoid), r"task.reach\[1\] is False for every proposition; expected at least one"),
        (jax.tree.map(lambda leaf: leaf[None], TASK), r"task.reach is bool\[1, 2, 2\]"),
    ],
)
def test_tasks_that_are_no_formula(task, message):
    with pytest.raises(ValueError, match=message):
        ltl.to_formula(task, ["a", "b"])


def test_traced_tasks_are_refused():
    with pytest.raises(ValueError, match="task is traced; expected concrete arrays"):
        jax.jit(lambda task: len(str(ltl.to_formula(task, ["a", "b"]))))(TASK)
