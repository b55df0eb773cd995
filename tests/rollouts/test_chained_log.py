"""Logs that grow: cut short, damaged, altered or lost lines, what is found of them, and what nobody can find."""

import errno
import json
import os
import re

import pytest
from chained_logs import entries_of, log_of

from jaxcert.rollouts._chained import ChainedLog, lines_of

pytest.importorskip("filelock")
# As entries have them: an empty value, text with signs that JSON escapes, numbers, lists of these.
FACTS = {"until": None, "ok": False, "range": [0.0, 1.5e-7], "open": [0.0, None], "bound": 'b\u00e9t"g\\n'}


def taken(before, entries):
    for entry in entries:
        if type(entry.get("x")) is not int:
            raise ValueError("expected its x as a whole number")
        before = (*before, entry["x"])
    return before


def opened(path):
    log = ChainedLog(path, "a log of numbers", (), taken)
    if log.is_begun:
        log.read()
    return log


def add(log, *numbers):
    with log.adding() as write:
        write([{"x": number, **FACTS} for number in numbers])


def content(*numbers):
    return log_of({"x": number, **FACTS} for number in numbers)


@pytest.fixture
def path(tmp_path):
    """Five lines."""
    (tmp_path / "log.jsonl").write_bytes(content(10, 11, 12, 13, 14))
    return tmp_path / "log.jsonl"


def test_entries_are_numbered_read_and_shared(tmp_path):
    one, other = opened(tmp_path / "log.jsonl"), opened(tmp_path / "log.jsonl")
    add(one, 10, 11)
    add(other, 12)
    add(one, 13)
    assert (one.value, other.value) == ((10, 11, 12, 13), (10, 11, 12))
    again = opened(tmp_path / "log.jsonl")
    assert (again.value, again.chain, again.sha256) == (one.value, one.chain, one.sha256)
    assert (tmp_path / "log.jsonl").read_bytes() == content(10, 11, 12, 13)
    alone = opened(None)
    add(alone, 10, 11)
    assert (alone.value, alone.is_begun) == ((10, 11), False)


def test_cut_at_every_byte(path):
    """As many whole lines count as there are; the rest is told, stays where somebody only looks, and is replaced."""
    whole = path.read_bytes()
    ends = [len(content(*range(10, 10 + count))) for count in range(1, 6)]
    for size in range(1, len(whole) + 1):
        count = sum(end <= size + 1 for end in ends)  # a line that lacks only its ending is whole
        kept, torn = lines_of(whole[:size])
        assert (len([line for line in kept if line]), torn) == (count, whole[ends[count - 1] if count else 0 : size])
        if size < ends[3]:
            continue
        path.write_bytes(whole[:size])
        looking = opened(path)
        assert looking.value == (10, 11, 12, 13, 14)[:count]
        assert path.read_bytes() == whole[:size]
        if torn:
            with pytest.warns(UserWarning, match="its last line is incomplete, being written or cut short, and does"):
                looking.warn()
            with pytest.warns(UserWarning, match=re.escape(f"{path}: its last line was incomplete, and is cut off: ")):
                add(opened(path), 14)
        elif count == 4:
            add(opened(path), 14)
        if count < 5:
            assert path.read_bytes() == whole
            looking.read()  # the line is written now
            assert looking.value == (10, 11, 12, 13, 14)


def test_a_whole_line_without_its_ending_counts(path):
    """As after an editor that takes the last line ending away."""
    path.write_bytes(path.read_bytes()[:-1])
    log = opened(path)
    add(log, 15)
    assert log.value == opened(path).value == (10, 11, 12, 13, 14, 15)
    assert [entry["number"] for entry in entries_of(path)] == [0, 1, 2, 3, 4, 5]


def test_how_lines_end_does_not_count(path):
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    add(opened(path), 15)
    assert opened(path).value == (10, 11, 12, 13, 14, 15)


ONE = content(10)


@pytest.mark.parametrize(
    "damaged",
    [
        content(10, 11, 12).replace(b"\n", b"\r"),  # no line at all has an ending
        ONE + content(10, 11, 12)[len(ONE) :].replace(b"\n", b"\r"),
        content(10, 11).replace(b"\n", b""),
        ONE + b'{"x": 2, "cer',
        ONE + b"see above",
        ONE + b"\xff",
    ],
)
def test_only_the_start_of_one_entry_is_cut_off(path, damaged):
    """Anything else may be what must not be forgotten."""
    path.write_bytes(ONE)
    log = opened(path)
    path.write_bytes(damaged)
    number = damaged.count(b"\n") + 1
    with pytest.raises(ValueError, match=re.escape(f"{path}: line {number} is no entry of a log of numbers: ")):
        opened(path)
    with pytest.raises(ValueError, match=re.escape(f"{path}: ")):  # no line, or without its ending another one
        add(log, 11)
    assert (path.read_bytes(), log.value) == (damaged, (10,))


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000,
        b'{"a": ' * 100_000,
        b'{"number": 1e999, "x": 2}',
        b'{"number": Infinity, "x": 2}',
        b'{"number": ' + b"9" * 5000 + b', "x": 0}',
        b"\xff\xfe",
        b"3",
        b"[]",
        b"{}",
        b"task,success",
        b"",
    ],
)
def test_an_odd_line_is_refused_by_file_and_number(path, line):
    for before in (b"", ONE):
        path.write_bytes(before + line + b"\n" + ONE)
        place = f"{path}: line {2 if before else 1} is no entry of a log of numbers: "
        with pytest.raises(ValueError, match=re.escape(place)):
            opened(path)


def without_hash(line):
    return json.dumps({name: value for name, value in json.loads(line).items() if name != "chain"})


@pytest.mark.parametrize(
    ("edit", "line"),
    [
        (lambda a, b, c, d, e: [a, c, d, e], 2),
        (lambda a, b, c, d, e: [b, c, d, e], 1),
        (lambda a, b, c, d, e: [c, d, e], 1),
        (lambda a, b, c, d, e: [a, b, b, c, d, e], 3),
        (lambda a, b, c, d, e: [a, c, b, d, e], 2),
        (lambda a, b, c, d, e: [a, b, "", c, d, e], 3),
        (lambda a, b, c, d, e: [a.replace('"x": 10', '"x": 99'), b, c, d, e], 1),
        (lambda a, b, c, d, e: [a, b, c, d, e.replace("false", "true")], 5),
        (lambda a, b, c, d, e: [a, b, c, d, e.replace("open", "Open")], 5),
        (lambda a, b, c, d, e: [a, b, c, d, without_hash(e)], 5),
        (lambda a, b, c, d, e: [without_hash(a), b, c, d, e], 1),
        (lambda a, b, c, d, e: [a.replace('"x": 10', '"x": 10, "x": 10'), b, c, d, e], 1),
        (lambda a, b, c, d, e: [a, *log_of([{}, {"number": 2, "x": 11}]).decode().split("\n")[1:2]], 2),
        (lambda a, b, c, d, e: log_of([{"x": 1}, {"number": 1.0, "x": 2}]).decode().split("\n")[:2], 2),
        (lambda a, b, c, d, e: log_of([{"x": 1}, {"x": "2"}]).decode().split("\n")[:2], 2),
    ],
)
def test_edits_are_found_and_kept(path, edit, line):
    edited = "".join(f"{each}\n" for each in edit(*path.read_text().splitlines()))
    path.write_text(edited)
    with pytest.raises(ValueError, match=re.escape(f"{path}: line {line} is no entry of a log of numbers: ")):
        opened(path)
    assert path.read_text() == edited


def test_every_digit_of_every_line_counts(path):
    text = path.read_text()
    for i in [place for place, character in enumerate(text) if character.isdigit()]:
        path.write_text(f"{text[:i]}{(int(text[i]) + 1) % 10}{text[i + 1 :]}")
        with pytest.raises(ValueError, match="is no entry of a log of numbers"):
            opened(path)


@pytest.mark.parametrize(
    "lose",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(content(10, 11, 12, 13)),
        lambda path: path.write_bytes(content(10, 11, 12, 13, 99)),
    ],
)
def test_lines_that_go_missing_at_the_end_are_missed_by_those_who_have_read_them(path, lose):
    """Nobody else can."""
    log = opened(path)
    lose(path)
    for _ in range(2):
        with pytest.raises(ValueError, match=re.escape(f"{path}: lines that it had before are missing or altered")):
            add(log, 15)
    opened(path)


def test_what_is_no_log_is_named(tmp_path):
    log = ChainedLog(tmp_path / "log.jsonl", "a log of numbers", (), taken)
    with pytest.raises(FileNotFoundError, match=r"log\.jsonl: no such file"):
        log.read()
    (tmp_path / "log.jsonl").write_bytes(b"")
    with pytest.raises(ValueError, match=re.escape("is empty (0 bytes), expected a log of numbers")):
        log.read()
    assert [file.name for file in tmp_path.iterdir()] == ["log.jsonl"]
    with pytest.raises(FileExistsError, match=r"log\.jsonl: exists, and is not replaced"):
        ChainedLog.start(tmp_path / "log.jsonl", {"x": 1})


def test_a_disk_that_is_full_leaves_no_part(path, monkeypatch):
    """Whoever is told that it could not be written writes it again."""
    before, log = path.read_bytes(), opened(path)

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=re.escape(f"{path}: cannot be written (No space left on device)")) as raised:
            add(log, 15)
    assert (raised.value.errno, path.read_bytes()) == (errno.ENOSPC, before)
    add(log, 15)
    assert opened(path).value == log.value == (10, 11, 12, 13, 14, 15)
