"""Results of EvalPlus: for each problem a list of solutions, and which tests each of them passed."""

from jaxcert.tables._columns import Columns
from jaxcert.tables.formats._content import Content
from jaxcert.tables.formats._fields import Place
from jaxcert.tables.formats._found_rollouts import Format, Rollouts

_PASS, _STATES = "pass", ("pass", "fail", "timeout")


def _recognises(content: Content) -> bool:
    value = content.json
    return isinstance(value, dict) and "eval" in value and "hash" in value


def _read(content: Content) -> Rollouts:
    """Its values are `base`, and `plus` where the plus tests were run: a pass of both, as EvalPlus counts it."""
    problems = Place(content.json).field("eval").fields()
    lists = {label: place.items() for label, place in problems.items()}
    if empty := next((label for label, solutions in lists.items() if not solutions), None):
        raise ValueError(f"eval.{empty[:40]} has no solution; expected at least one")
    solutions = [solution for each in lists.values() for solution in each]
    _check_labels(lists)
    base = [_passed(solution.field("base_status")) for solution in solutions]
    values = {"base": base}
    if any(solution.field("plus_status").value is not None for solution in solutions):
        plus = [_passed(solution.field("plus_status")) for solution in solutions]
        values = {"plus": [both and more for both, more in zip(base, plus, strict=True)], **values}
    return Rollouts(
        columns=Columns("task_id", "solution", next(iter(values))),
        tasks=[label for label, each in lists.items() for _ in each],
        episodes=[i for each in lists.values() for i in range(len(each))],
        values=values,
        told=f"{len(problems)} problems, {len(solutions)} solutions",
        ended=[""] * len(solutions),
    )


def _check_labels(lists: dict[str, list[Place]]) -> None:
    """Refuse a solution that names another problem than the one under which it stands."""
    for label, each in lists.items():
        for solution in each:
            own = solution.maybe("task_id")
            if own is not None and own.label() != label:
                raise ValueError(
                    f"{own.name} is {own.value!r:.60}, in the solutions of {label!r:.60}; expected the same"
                )


def _passed(status: Place) -> bool:
    if status.text() not in _STATES:
        raise ValueError(f"{status.name} is {status.value!r:.40}, expected {' or '.join(_STATES)}")
    return status.value == _PASS


EVALPLUS = Format("EvalPlus results", _recognises, _read)
