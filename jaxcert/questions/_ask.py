"""A question, asked of files of returns: whether they are of its kind, and its function's answer."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxcert.bounds._registry import BOUNDS
from jaxcert.certificates._question import FREQUENCIES, Question
from jaxcert.questions._registry import QUESTIONS
from jaxcert.returns import paired, stratified, weighted
from jaxcert.returns._checks import check_returns
from jaxcert.returns._prepared import split_support
from jaxcert.returns.summaries import Histogram
from jaxcert.tables import Returns
from jaxcert.tables._aligned import in_one_order
from jaxcert.tables._readers import ReturnsFile


def ask(
    question: Question, data: Sequence[Returns], fixed: Any, options: Mapping[str, Any], *, max_weight: Any = None
) -> Any:
    """The answer to a question about files of returns, one for each of its inputs or metrics, on the same tasks.

    Two files for a question of one, or for a metric, side by side, form pairs of policies. With ``max_weight`` the last
    file has the tasks' weights.
    """
    is_weighted = question.has_weights or max_weight is not None
    count, metrics = len(data) - is_weighted, question.metrics(options)
    num_policies, others = divmod(count, len(metrics) or 1)
    if others or num_policies not in question.numbers_of_policies:
        wanted = ", ".join(("returns", "weights") if is_weighted else metrics or question.inputs)
        raise ValueError(f"the question {question.name!r} needs {wanted}; given: {len(data)} of them")
    of_files = [name for name in metrics for _ in range(num_policies)]
    for place, each in enumerate(data[:count]):
        support = metrics[of_files[place]] if metrics else options.get("support")
        _check_support(each, support, options.get("bound"))
        check_finished(each, support, complete=bool(options.get("complete")))
    if num_policies == 2:
        check_others_finished(data[1:count:2])
    if len(data) > 1:
        data = in_one_order(*data)
    _check_strata(question, data[:count], options.get(FREQUENCIES.name))
    # Facts in the data, such as the names of the tasks, are not overridden by options.
    arguments = in_strata(question, dict(options) | _arguments(question, of_files, data[:count]), data[0].strata)
    for each in data[count:]:
        arguments |= _weights(question, arguments["returns"], each, max_weight)
    if question.fixed is not None:
        arguments[question.fixed] = fixed
    return question.function(**arguments)


def _check_support(data: Returns, support: Any, bound: str | None) -> None:
    """Raise ValueError for a return outside the support that names its place as the data do: file, row and label.

    The returns of a summary were checked as they were read.
    """
    if support is not None and not isinstance(data.returns, Histogram):
        ends, known = split_support(support), BOUNDS.get(bound or "")
        binary = known is not None and known.binary and tuple(ends) == (0, 1)  # refused with another support
        check_returns(data.returns, *ends, data.where, binary=binary, place_of=data.place_of)


def check_finished(data: Returns, support: Any, *, complete: bool) -> None:
    """Raise ValueError for unfinished rollouts that count as another return than the worst, or at an upper end."""
    if not isinstance(data, ReturnsFile) or data.is_finished:
        return
    if complete:
        raise ValueError(
            f"{data.path}: {data.told}. With complete=True each return is one of a whole rollout, or an upper end is "
            "too low; expected a file in which all are finished, or a question without an upper end"
        )
    if not data.num_unfinished:
        return
    support = data.known_support or support
    if support is None and not np.all((data.returns == 0) | (data.returns == 1)):
        raise ValueError(f"{data.path}: {data.told}. Without a support nothing says which return is the worst one")
    worst = 0.0 if support is None else float(split_support(support)[0])
    if data.unfinished != worst:
        raise ValueError(f"{data.path}: {data.told}; expected {worst:g}, the worst return that is possible")


def check_others_finished(data: Sequence[Returns]) -> None:
    """Raise ValueError for unfinished rollouts of a policy with which another is compared, which they would help."""
    for each in data:
        if isinstance(each, ReturnsFile) and not each.is_finished:
            raise ValueError(
                f"{each.path}: {each.told}. The worst return of B's unfinished rollouts would help A; expected a file "
                "of B in which all are finished"
            )


def _arguments(question: Question, metrics: Sequence[str], data: Sequence[Returns]) -> dict[str, Any]:
    """Returns and masks, as the question takes them: by the metric of each file, as pairs, or by its parameters."""
    found: dict[str, Any]
    if metrics:
        for name, each in zip(metrics, data, strict=True):
            columns = each.columns if isinstance(each, ReturnsFile) else None
            if columns is not None and (columns.value != name or name in (columns.trial, *columns.task.split(","))):
                held = f"its values are from {columns.value}, tasks from {columns.task}"
                raise ValueError(f"{each._name}: {name} is required, and {held}; expected the column of that name")
        named = dict(zip(metrics, data, strict=True))
        found = {what: {name: getattr(each, what) for name, each in named.items()} for what in ("returns", "where")}
        if len(named) < len(data):
            pairs = zip(metrics[::2], data[::2], data[1::2], strict=True)
            found = {"returns": {name: _pair(a, b) for name, a, b in pairs}}
        return found
    names = [name for name in question.inputs if name.startswith("returns")]
    # For a question whose sentences name the tasks.
    found = {"tasks": tuple(map(str, data[0].tasks))} if question.takes("tasks") else {}
    if len(data) > len(names):
        found |= {"returns": _pair(*data)}
    for name, each in zip(names, data, strict=True) if len(data) == len(names) else ():
        found |= {name: each.returns, f"where{name.removeprefix('returns')}": each.where}
    return found


def _pair(a: Returns, b: Returns) -> Any:
    return paired(a.returns, b.returns, where_a=a.where, where_b=b.where)


def in_strata(question: Question, arguments: Mapping[str, Any], strata: Any) -> dict[str, Any]:
    """The arguments of a question, about tasks from strata where these are known, with their frequencies if given."""
    if question.takes("strata"):
        return {**arguments, "strata": strata}
    found = {name: each for name, each in arguments.items() if name != FREQUENCIES.name}
    if question.of_strata and strata is not None:
        found["returns"] = stratified(found["returns"], strata, frequencies=arguments.get(FREQUENCIES.name))
    return found


def _weights(question: Question, returns: Any, data: Returns, max_weight: Any) -> dict[str, Any]:
    """The weights of the tasks, from a file with one number for each, as the question or its sample takes them."""
    if np.shape(data.returns)[1:] != (1,):
        raise ValueError(f"{data._name}: has several numbers for a task; expected its weight alone")
    if data.where is not None and not np.all(data.where):
        raise ValueError(f"{data._name}: the weights of some tasks are missing (where is False); expected all of them")
    weights = data.returns[:, 0]
    if question.has_weights:
        return {"weights": weights}
    return {"returns": weighted(returns, weights, max_weight=max_weight)}


def _check_strata(question: Question, data: Sequence[Returns], frequencies: Any) -> None:
    """Raise ValueError unless strata are known just where the question is about these, the same ones for all data."""
    known = [list(each.strata) for each in data if each.strata is not None]
    if (question.takes("strata") or frequencies) and len(known) < len(data):
        given = "" if question.takes("strata") else ", with the frequencies that are given,"
        raise ValueError(f"the question {question.name!r}{given} is about strata; expected their column (--strata)")
    if known and not question.of_strata:
        raise ValueError(
            f"the question {question.name!r} is not about strata, within which tasks were drawn; expected one of "
            f"{', '.join(name for name, each in QUESTIONS.items() if each.of_strata)}"
        )
    if any(strata != known[0] for strata in known):
        raise ValueError("a task is in one stratum for one policy, and in another for the other; expected the same")
