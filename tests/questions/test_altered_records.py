"""No record of any question is verified once anything in it was altered."""

import json

import pytest
from asked_questions import EVERY, answer_to, others_of, record, write_files
from report.alterations import with_entries

from jaxcert.questions import QUESTIONS
from jaxcert.report import certificate_document, verify, write_certificates

files = pytest.fixture(scope="module")(write_files)


def _each_change(held):
    """Entries taken out, emptied or put in anywhere, rows doubled, and the names of other questions."""
    for name in held["rows"][0]:
        yield lambda one, name=name: one["rows"][0].pop(name)
    for name in held["settings"]:
        yield lambda one, name=name: one["settings"].pop(name)
    for part in ("settings", "rows"):
        for name in ("sentence_", "file", "rows"):
            yield lambda one, part=part, name=name: (one[part] if part == "settings" else one[part][0]).update(
                {name: 1.0}
            )
    if held["fixed_beforehand"] is None:  # a number that was fixed may have its row twice, or none
        yield lambda one: one.update(rows=one["rows"] * 2)
        yield lambda one: one.update(rows=[])
    for fixed in (None, "nonsense", "safety", "threshold"):
        if fixed != held["fixed_beforehand"]:
            yield lambda one, fixed=fixed: one.update(fixed_beforehand=fixed)
    for name in QUESTIONS:
        if name != held["question"]:
            yield lambda one, name=name: one.update(question=name)


def _each_value(held):
    """The places of values, of lists the first two, in parts that are computed again."""

    def places(node, place=()):
        if isinstance(node, dict | list) and node:
            entries = node.items() if isinstance(node, dict) else enumerate(node[:2])
            for name, entry in entries:
                yield from places(entry, (*place, name))
        else:
            yield place, node

    for part in ("settings", "rows", "note", "data", "others", "rollouts"):
        yield from places(held[part], (part,)) if part in held else ()


# Declarations, not results: others of nearly the same size may hold, too. Names of files are for readers alone.
_DECLARED = {"support", "complete", "file", "called"}


def _other_values(value):
    """Wrong ones in place of a value, larger and smaller."""
    if isinstance(value, bool) or value is None:
        return [not value]
    if isinstance(value, int | float):
        return [value + 1, value - 1] if isinstance(value, int) else [1.02 * value + 1e-3, 0.98 * value - 1e-3]
    return ["0" * 64 if isinstance(value, str) and len(value) == 64 else f"{value} too"]


@EVERY
def test_no_value_can_be_another_one(files, name, tmp_path):
    question = QUESTIONS[name]
    if question.unrepeated:
        pytest.skip(question.unrepeated)
    whole = certificate_document([record(answer_to(name), name, files)])
    verified = []
    for place, value in _each_value(whole["certificates"][0]):
        if _DECLARED & {*place}:
            continue
        for other in _other_values(value):
            write_certificates(tmp_path / "c.json", [with_entries(whole["certificates"][0], {place: other})])
            if _is_verified(tmp_path / "c.json", files / "a.npz", others_of(question, files)):
                verified.append((place, value, other))
    assert verified == []


def _is_verified(file, returns, others) -> bool:
    try:
        return verify(file, returns, others=others).ok
    except ValueError as error:  # it is no certificate file
        return str(file) not in str(error)


@EVERY
def test_no_altered_file_is_verified_or_breaks_the_verification(files, name, tmp_path):
    question = QUESTIONS[name]
    if question.unrepeated:
        pytest.skip(question.unrepeated)
    whole = certificate_document([record(answer_to(name), name, files)])
    others = others_of(question, files)
    for change in _each_change(whole["certificates"][0]):
        altered = json.loads(json.dumps(whole))
        change(altered["certificates"][0])
        write_certificates(tmp_path / "c.json", altered["certificates"])
        assert not _is_verified(tmp_path / "c.json", files / "a.npz", others)


def test_tasks_that_are_named_are_those_of_the_file(files, tmp_path):
    held = record(answer_to("each_task"), "each_task", files)
    first, *between, last = held["settings"]["tasks"]
    held["settings"]["tasks"] = [last, *between, first]
    write_certificates(tmp_path / "c.json", [held])
    assert "settings tasks 1 is" in str(verify(tmp_path / "c.json", files / "a.npz"))
