"""Sentences of a record, compared with what its numbers say and with what the returns support."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxcert.certificates import Status, sentence
from jaxcert.certificates._certificate import naming
from jaxcert.certificates._question import Question


def of_words(
    found: Any,
    question: Question,
    rows: Sequence[dict[str, Any]],
    computed: Sequence[dict[str, Any]],
    policies: Sequence[str],
) -> tuple[list[str], list[str]]:
    """What is wrong with the sentences (another one, or a figure without support here), and what is worth knowing."""
    before = [{} if other is row else other for row, other in zip(rows, computed, strict=True)]

    def said(entries: Sequence[dict[str, Any]]) -> list[str]:
        """What these numbers say, in words; where they are those of another row, its sentence is known."""
        columns = question.rows.columns
        numbers = {field: _entries(found, field, [entry[name] for entry in entries]) for name, field in columns.items()}
        # An entry of an array of JAX takes far longer to read.
        recorded = jax.tree.map(np.asarray, dataclasses.replace(found, **numbers))
        return [
            other["sentence"]
            if other and all(entry[name] == other[name] for name in columns)
            else naming(sentence(recorded, i), policies)
            for i, (entry, other) in enumerate(zip(entries, before, strict=True))
        ]

    stated, lines, notes = said(rows), [], []
    weaker = {name: said(_weaker(name, least, rows, computed)) for name, least in question.rows.claims.items()}
    for i, (row, other) in enumerate(zip(rows, computed, strict=True)):
        if row["sentence"] != stated[i]:
            lines.append(f"rows {i + 1}: the sentence is not that of its numbers, which is: {stated[i]}")
            continue
        for name in (name for name in question.rows.claims if weaker[name][i] != stated[i]):
            # A figure of a risk is far coarser than its rounding; one of a threshold or a mean that was found is not.
            if name in question.rows.risks:
                words = name.replace("_", " ")
                lines.append(f"rows {i + 1}: the sentence is of a {words} of {row[name]!r}, here {other[name]!r}")
            else:
                notes.append(f"rows {i + 1}: the {name} {row[name]!r} is {other[name]!r} here, within rounding")
    return lines, notes


def _weaker(
    name: str, least: Callable[..., Any], rows: Sequence[dict[str, Any]], computed: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The rows with the number, stated or computed, that claims less."""
    pairs = zip(rows, computed, strict=True)
    return [{**row, name: least(row[name], other[name])} if row[name] is not None else row for row, other in pairs]


def _entries(found: Any, field: str, column: list[Any]) -> jax.Array:
    """What a column holds, as the field of the answer."""
    values = getattr(found, field)
    if field == "status":
        column = [Status[name.upper()].value for name in column]
    numbers = [np.nan if entry is None else entry for entry in column]
    # A number that is not finite is none in a record; there is one here.
    held = np.where(np.isnan(numbers), np.ravel(np.asarray(values)), numbers)
    return jnp.asarray(held.reshape(values.shape).astype(values.dtype))
