"""Whether there can be a certificate by a protocol, and whether certificates and returns keep to it."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxcert.certificates._question import FREQUENCIES
from jaxcert.planning import Plan
from jaxcert.questions import QUESTIONS
from jaxcert.questions._ask import in_strata
from jaxcert.report._protocol import Protocol
from jaxcert.returns._strata import frequencies_of
from jaxcert.tables._readers import ReturnsFile
from jaxcert.tables._roles import Columns
from jaxcert.tables._written import returns_facts

_ORIGIN = ("environment", "policy_sha256", "seed", "deterministic")


def of_protocol(document: Mapping[str, Any], locked: Protocol) -> Iterator[str]:
    """How a document differs from the locked protocol."""
    if document["protocol"] is None:
        yield "it names no protocol"
    elif document["protocol"] != locked.digest:
        yield f"it names the protocol {document['protocol'][:12]}..., the file is {locked.digest[:12]}..."
    if len(document["certificates"]) > 1:
        yield f"it holds {len(document['certificates'])} certificates, the protocol has one"


def of_files(locked: Protocol, files: Sequence[ReturnsFile]) -> list[str]:
    """How the numbers of policies, tasks and rollouts, and the origin that a file records, differ from a protocol."""
    data, counts = files[0], [count for each in files for count in each.num_rollouts.tolist()]
    other = next((count for count in counts if count != locked.num_rollouts), None)
    design = locked.contradictions({"num_tasks": len(data.num_rollouts), "num_rollouts": other})
    facts = returns_facts(data.path)
    columns = {} if data.columns is None else {"task": data.columns.task, "value": data.columns.value}
    if metrics := QUESTIONS[locked.asked].metrics(locked.options):  # whose columns the requirements name
        columns.pop("value", None)
    if len(files) > max(1, len(metrics)):
        return [f"it is about {len(files) // max(1, len(metrics))} policies, the protocol about one"]
    found = {name: facts.get(name) for name in _ORIGIN} | dict.fromkeys(("task", "value")) | columns
    found["strata"] = data.roles.strata
    if locked.of_strata:
        labels = [] if data.strata is None else data.strata
        found["of_strata"] = dict(sorted(Counter(str(label).strip() for label in labels).items()))
    unknown = [name for name in found if found[name] is None and getattr(locked, name) is not None]
    rows, of_json = data.roles.rows_picked, [name for name in ("records", "recipe") if getattr(data.roles, name)]
    picked = [f"only rows with {' and '.join(rows)} are read, which the protocol does not lock"] if rows else []
    picked += [f"the protocol does not lock {' and '.join(of_json)}, by which rows are read"] if of_json else []
    return [*design, *picked, *locked.contradictions(found), *_of_open_columns(locked, columns, data.usual_columns)] + [
        f"{name} is not recorded in the file of returns, the protocol says {getattr(locked, name)}; expected a file "
        f"that records it, such as one of `write_returns(..., facts=...)`, or a protocol locked without {name}"
        for name in unknown
    ]


def _of_open_columns(locked: Protocol, columns: Mapping[str, str], usual: Columns | None) -> Iterator[str]:
    defaults = {"task": usual and usual.task, "value": usual and usual.value}
    for name, column in columns.items():
        if getattr(locked, name) is None and column != defaults[name]:
            expected = f"expected {defaults[name] or 'one that is read without being named'}, or {name} locked"
            yield f"{name} is {column}, the protocol locks no {name}; {expected}"


# Sizes of arrays and what counts in them have 32 bits.
_MOST_EPISODES = 2**31 - 1


def check_certifiable(protocol: Protocol) -> None:
    """Raise ValueError for settings that `jaxcert certify` refuses whatever the returns are."""
    shape = protocol.num_tasks, protocol.num_rollouts
    if math.prod(shape) > _MOST_EPISODES:
        found = "{} x {} episodes (tasks x rollouts)".format(*shape)
        raise ValueError(f"{found} cannot be held; expected at most {_MOST_EPISODES} in all")
    question, dtype = QUESTIONS[protocol.asked], jnp.result_type(float)
    settings: dict[str, Any] = dict(protocol.settings) | ({question.fixed: protocol.fixed} if question.fixed else {})
    of_trials = settings.get("num_episodes", 1) > 1 and protocol.support == (0, 1)
    returns: Any = jax.ShapeDtypeStruct(shape, bool if of_trials else dtype)
    if metrics := question.metrics(settings):
        kinds = {name: dtype if support else bool for name, support in metrics.items()}
        returns = {name: jax.ShapeDtypeStruct(shape, kind) for name, kind in kinds.items()}
    strata = None if protocol.strata is None else _labels_for(protocol)

    def answer(x: Any) -> Any:
        return question.function(**in_strata(question, {"returns": x, **settings}, strata))

    jax.eval_shape(answer, returns)  # only traced


def _labels_for(protocol: Protocol) -> list[str]:
    """Labels of strata for its tasks: as many of each as it says, those whose frequencies it states, or one."""
    if protocol.of_strata:
        return [label for label, count in protocol.of_strata.items() for _ in range(count)]
    names = [*frequencies_of(protocol.options.get(FREQUENCIES.name))] or ["one"]
    return [*names, *names[:1] * (protocol.num_tasks - len(names))][: protocol.num_tasks]


def protocol_of(plan: Plan, strata: str | None = None, **others: Any) -> Protocol:
    """The best design of a plan as a protocol; ValueError if there is none, or its rollouts stop by themselves.

    ``strata``: the column of the strata within which its tasks are drawn; ``others``: further fields.
    """
    if plan.best is None:
        raise ValueError("there is no design to lock: none certifies anything")
    design, wish = plan.best, plan.wish
    assert wish is not None
    if design.kind.stopped is not None:
        raise ValueError(
            "a sequential design has no fixed number of rollouts; expected another one, such as --design betting"
        )
    asked: dict[str, Any] = {"thresholds": (wish.threshold,)}
    if wish.sides:
        complete = {} if all(side.is_least for side in wish.sides) else {"complete": True}
        asked = {"question": "requirements", "options": {"requirements": list(map(str, wish.sides))} | complete}
    elif strata is not None:
        asked |= {"question": "stratified"}
    return Protocol(
        support=None if wish.sides else wish.support,
        delta=float(wish.delta),
        num_tasks=design.num_tasks,
        num_rollouts=design.num_rollouts,
        beta=design.beta,
        strata=strata,
        **others,
        **design.kind.arguments,
        **asked,
    )
