"""The check within a page, in a real browser: it says of everything what the exact checker in Python says."""

import hashlib
import html
import importlib.resources
import json
import re
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
from alterations import every_alteration, of_tables
from browser import visit

import jaxcert
from benchmarks.witnesses import KINDS, made
from jaxcert.report import check_certificate, document_digest, document_text, read_returns, write_report
from jaxcert.report.html import _report_check

PARTS = ("exact.js", "check_certificate.js", "check_page.js")
# Of each kind a seed whose file of returns is a table, with a row in which some tasks pass and some do not.
BASES = {"betting": 0, "attained": 1, "interval": 4, "suite": 0, "level": 0, "attained, masked": 0}
USUAL = {"task": "task_id", "episode": "episode_id", "value": "total_return"}


def evaluated(expression: str, inputs: list, folder) -> list:
    """What the program in the page gives for each input, in the browser: [true, value] or [false, why not]."""
    program = "\n".join(importlib.resources.files("jaxcert.report.html").joinpath(part).read_text() for part in PARTS)
    held = json.dumps(json.dumps(inputs)).replace("<", "\\u003c")
    each = f"try {{ return [true, {expression}]; }} catch (error) {{ return [false, error.message]; }}"
    page = folder / "evaluated.html"
    page.write_text(
        f"<!doctype html><meta charset=utf-8><button id=check></button><pre id=found></pre><script>{program}\n"
        f"document.getElementById('found').textContent = JSON.stringify(JSON.parse({held}).map((x) => {{{each}}}));"
        "</script>",
        encoding="utf-8",
    )
    seen = visit(page, folder)
    assert not seen.console
    return json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', seen.dom, re.S)[1]))


# --- what it says beside the checker in Python --------------------------------------------------------------------


def with_record(document: dict, record: dict) -> str:
    altered = {**document, "certificates": [record]}
    return document_text({**altered, "digest": document_digest(altered)})


def accepts(certificate: str, returns: str) -> bool:
    """Whether the checker in Python does."""
    content = returns.encode()
    try:
        found = check_certificate.check(
            certificate.encode(), lambda data: check_certificate.read_csv(content, data["columns"])
        )
        return all(holds is not False for holds, _ in found)
    except check_certificate.WRONG:
        return False


def claims(row: dict) -> bool:
    """Whether a row has witnesses, of which one is missing and one is there."""
    witness = row.get("witness")
    return bool(witness) and len({held is None for held in witness.get("bets") or witness["successes"]}) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", BASES)
def test_a_browser_refuses_what_python_refuses(name, tmp_path):
    """Every alteration of a file or of its returns, each with a digest that fits."""
    case = made(KINDS[name], "float32", BASES[name], tmp_path)
    document, table = json.loads(case.certificate.read_text()), case.returns.read_text()
    (record,) = document["certificates"]
    row = next(
        i
        for i, row in enumerate(record["rows"])
        if claims(row) and ("safety_upper" not in row or "upper" in row["witness"])
    )
    tried = {"as it was": (with_record(document, record), table)}
    tried |= {what: (with_record(document, one), table) for what, one in every_alteration(record, row)}
    witness = record["rows"][row]["witness"]
    passing = next(i for i, held in enumerate(witness.get("bets") or witness["successes"]) if held is not None)
    for what, text in of_tables(table, passing, record["settings"]["support"][0]):
        data = {**record["data"], "sha256": hashlib.sha256(text.encode()).hexdigest()}
        tried |= {what: (with_record(document, record), text)}
        tried |= {f"{what}, with its hash": (with_record(document, {**record, "data": data}), text)}
    tried |= {
        "cut short": (case.certificate.read_text()[:-30], table),
        "a digest": (document_text({**document, "digest": "0" * 64}), table),
    }
    found = evaluated("check(...x).length", list(tried.values()), tmp_path)
    assert found[0] == [True, len(record["rows"])]
    differ = [(what, seen) for (what, one), seen in zip(tried.items(), found, strict=True) if seen[0] != accepts(*one)]
    assert differ == []
    assert sum(holds for holds, _ in found) == 1
    assert all(why for holds, why in found if not holds)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_browser_accepts_what_the_library_certifies(dtype, tmp_path):
    tried = []
    for name in KINDS:
        for seed in range(24, 32):
            case = made(KINDS[name], dtype, seed, tmp_path)
            if case.returns.suffix == ".csv" and not case.warned:
                tried.append((case.certificate.read_text(), case.returns.read_text()))
    assert len(tried) > 20
    found = evaluated("check(...x).length", tried, tmp_path)
    assert [accepts(*one) for one in tried] == [holds for holds, _ in found] == [True] * len(tried)


@pytest.mark.slow
def test_values_of_another_kind_are_refused(tmp_path):
    """What a language without types would read as a text, a number or a label that it is not."""
    case = made(KINDS["betting"], "float32", 0, tmp_path)
    document, table = json.loads(case.certificate.read_text()), case.returns.read_text()
    record, header = document["certificates"][0], table.index("\n") + 1

    def rows(**changes):
        return [{**row, **{name: change(row[name]) for name, change in changes.items()}} for row in record["rows"]]

    levels = [{"text": "0.5"}] * len(record["rows"][0]["witness"]["levels"])
    records = [
        {**record, "rows": rows(sentence=lambda text: [text])},
        {**record, "rows": rows(sentence=lambda text: [text.replace("expected return", "probability of success")])},
        {**record, "question": [record["question"]]},
        *({**record, "question": name} for name in ("constructor", "__proto__", "toString")),
        *({**record, "settings": {**record["settings"], "betas": bad}} for bad in (False, "", levels)),
        {**record, "data": {**record["data"], "columns": {"task": "task_id", "value": "total_return"}}},
    ]
    tried = [(with_record(document, one), table) for one in records]
    tried += [(with_record({**document, "format_version": {"text": "5"}}, record), table)]
    tried += [(case.certificate.read_text() + mark, table) for mark in ("\u00a0", "\ufeff")]
    cells = [line.split(",", 1) for line in table[header:].splitlines()]
    for mark in ("\ufeff", "\x85", "\x1c"):
        text = table[:header] + "".join(f"a{mark * int(task)},{rest}\n" for task, rest in cells)
        data = {**record["data"], "sha256": hashlib.sha256(text.encode()).hexdigest()}
        data["columns"] = {**record["data"]["columns"], "episode": ""}
        tried.append((with_record(document, {**record, "data": data}), text))
    found = [holds for holds, _ in evaluated("check(...x).length", tried, tmp_path)]
    assert found == [accepts(*one) for one in tried]


# --- its parts ----------------------------------------------------------------------------------------------------


def test_its_parts_are_what_the_standard_library_has(tmp_path):
    texts = ["", "a" * 55, "a" * 56, "a" * 64, "a" * 119, "bä€😀\r\n", "x" * 100_000]
    assert evaluated("sha256(x)", texts, tmp_path) == [[True, hashlib.sha256(x.encode()).hexdigest()] for x in texts]
    documents = [{"b": [1, 2.5, 1e-07, None, True, {}], "a": 'ä"\\\x7f\n😀/<', "": []}, [], "x", -0.0, {"__proto__": 1}]
    canonical = [json.dumps(x, sort_keys=True, separators=(",", ":")) for x in documents]
    written = [json.dumps(x, ensure_ascii=False, indent=2) for x in documents]
    assert evaluated("canonical(parsed(x))", written, tmp_path) == [[True, text] for text in canonical]
    numbers = ["-0", "-0.0", "1E5", "1e16", "1e15", "0.0001", "1.50e-5", "5e-324", "123456789012345678901", "12.5e3"]
    assert evaluated("canonical(parsed(x))", numbers, tmp_path) == [[True, json.dumps(json.loads(x))] for x in numbers]
    broken = [
        "",
        "{",
        '{"a": 1, "a": 2}',
        "[1,]",
        "[1 2]",
        "nul",
        "01",
        "1.",
        "NaN",
        '"\t"',
        "{} {}",
        '{"a" 1}',
        "{,}",
        "[,]",
    ]
    assert not any(holds for holds, _ in evaluated("canonical(parsed(x))", broken, tmp_path))


def test_tables_and_numbers_are_read_as_python_reads_them(tmp_path):
    header = "task_id,episode_id,total_return\n"
    tables = [
        f"{header}b,0,0.5\na,0,1e-2\nb,1,-3\n",
        "\ufefftask_id;episode_id;total_return\r\n b ;0;0,5\r\n\r\na;0;1\r\n",
        "x\ttotal_return\tepisode_id\ttask_id\n7\tYes\t0\ta\n7\tno\t1\ta\n",
        f'{header}"a, b",0,0.1\n"a ""b""\n",0,0.1',
        f"{header}a,0,.5\na,1,5.\na,2,1E+2\n",
        *(
            f"{header}a,0,{bad}\n"
            for bad in ("nan", "inf", "1e9999", "1" * 900, "0x10", "1_000", "", "٣", "1/3", "+1", "--1")
        ),
        f"{header}a,0,1\na ,1,1\n",
        f"{header}a ,0,1\na ,1,0\n",
        f'{header}a,0,1\n"a\u00a0",1,1\n',
        f"{header}a,0\n",
        f"{header}a,0,1\na,0,1\n",
        f"{header}a,0,1,2\n",
        header,
        "",
    ]
    for columns in (USUAL, {**USUAL, "episode": ""}):
        program = f"readCsv(x, {json.dumps(columns)}).map((task) => task.map((y) => [String(y.n), y.k]))"
        for text, (holds, found) in zip(tables, evaluated(program, tables, tmp_path), strict=True):
            try:
                expected = check_certificate.read_csv(text.encode(), columns)[0]
            except check_certificate.WRONG:
                assert not holds, text
                continue
            assert holds, (text, found)
            assert [[Fraction(int(n), 10**k) for n, k in task] for task in found] == expected


# --- pages --------------------------------------------------------------------------------------------------------


def page_of(folder, returns, thresholds, *, ask=jaxcert.certify, support=(0, 1), suffix=".npz", **options):
    """A page, and what stands in it where its certificate says something."""
    file = folder / f"returns{suffix}"
    if suffix == ".csv":
        rows = [f"{i},{j},{float(x)!r}" for (i, j), x in np.ndenumerate(returns)]
        file.write_text("\n".join(["task_id,episode_id,total_return", *rows, ""]))
    else:
        np.savez(file, returns=returns)
    data = read_returns(file)
    given = {} if data.returns.dtype == bool else {"support": support}
    found = ask(data.returns, thresholds, delta=0.05, **given, **options)
    page = folder / "page.html"
    write_report(page, found, returns=data.returns, data=data, support=support)
    return page


def pressed(page, folder, change=lambda text: text) -> str:
    """What the page says after its button is pressed."""
    text = page.read_text()
    altered = change(text)
    pressing = "<script>document.getElementById('check').click()</script></body>"
    (folder / "pressed.html").write_text(altered.replace("</body>", pressing))
    seen = visit(folder / "pressed.html", folder)
    assert (seen.console, seen.requests) == ([], [])
    said = html.unescape(re.search(r'<div id="checked" role="status">(.*?)</div>', seen.dom, re.S)[1])
    assert altered == text or said.startswith('<p class="bad">Refused: '), said
    return said


@pytest.fixture
def good():
    return (np.random.default_rng(0).random((40, 10)) * 0.3 + 0.7).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_a_page_checks_itself_without_a_network(tmp_path, good, suffix):
    page = page_of(tmp_path, good, [0.4, 0.5], suffix=suffix)
    said = pressed(page, tmp_path)
    assert "all 2 statements follow from the returns in this page" in said
    assert said.count("<li>With confidence 0.95: on a new task") == 2
    assert ("holds the file of returns" in page.read_text()) == (suffix == ".csv")


def inside(old: str, new: str):
    """A change of the certificate in the page with a digest that fits, as who knows the program can make it."""

    def change(text):
        start = text.index('id="certificate">') + len('id="certificate">')
        end = text.index("</script>", start)
        document = json.loads(text[start:end])
        assert old in document
        held = json.loads(document.replace(old, new, 1))
        again = document_text({**held, "digest": document_digest(held)})
        return text[:start] + json.dumps(again).replace("<", "\\u003c") + text[end:]

    return change


def altered(old: str, new: str):
    def change(text):
        assert old in text
        return text.replace(old, new, 1)

    return change


@pytest.mark.slow
def test_an_altered_page_is_refused_with_the_reason(tmp_path, good):
    page = page_of(tmp_path, good, [0.5])
    (safety,) = re.findall(r'safety\\": ([0-9.]+)', page.read_text())
    (epsilon,) = re.findall(r'epsilon\\": ([0-9.]+)', page.read_text())
    for change, why in (
        (
            altered("0.5 with probability at least 0.", "0.5 with probability at least 0.9"),
            "that its certificate does not hold",
        ),
        (altered('claim">At least ', 'claim">At least 9'), "the headline says more than was proven"),
        (altered(" of 0.5, with confidence 0.95", " of 0.6, with confidence 0.95"), "the headline says more"),
        (altered(" of 0.5, with confidence 0.95", " of 0.5, with confidence 0.99"), "the headline says more"),
        (altered('claim">At least ', 'claim">At least 0, in truth '), "the headline says more"),
        (altered('claim">At least ', 'claim">Nothing fails: '), "the headline says more"),
        (altered("reach an expected return of", "reach in every rollout a return of"), "the headline says more"),
        (altered("reach an expected return of", "reach a probability of success of"), "the headline says more"),
        (altered('<p class="sentence">', "<p>It never fails.</p><p>"), "words that its certificate does not hold"),
        (altered('<p class="sentence">', 'It never fails.<p class="sentence">'), "words besides its statements"),
        (altered(",0.7", ",0.8"), "the returns are not those that it was made from"),
        (altered('delta\\": 0.04', 'delta\\": 0.03'), "it was altered"),
        (inside('"delta": 0.04', '"delta": 0.01'), "exceed delta"),
        (inside('"threshold": 0.5', '"threshold": 0.9'), "row 1: task 1: its bet"),
        (
            inside(f'"epsilon": {epsilon}', f'"epsilon": {float(epsilon) * 0.99}'),
            "safety is not 1 - epsilon|says more|too small",
        ),
        (inside('"num_violations": 0', '"num_violations": 1'), "num_violations is 1; of its witnesses 0"),
        (inside('"bets": [', '"bets": [null, '), "it has 41 witnesses, of 40 tasks"),
        (inside(safety, "0.999"), "safety is not 1 - epsilon"),
    ):
        assert re.search(why, pressed(page, tmp_path, change)), why


@pytest.mark.slow
def test_words_in_brackets_support_nothing(tmp_path, good):
    """Only what the library advises may stand there."""
    page = page_of(tmp_path, good, [0.5])
    (end,) = set(re.findall(r"with probability at least 0\.\d+\.", page.read_text()))
    more = f"{end} (the expected return is at least 0.9 with certainty)"
    in_certificate, shown = inside(end, more), altered(f"{end}</p>", f"{more}</p>")
    said = pressed(page, tmp_path, lambda text: in_certificate(shown(text)))
    assert "its sentence says something else than its numbers" in said
    sentences = [
        f"With confidence 0.95: on a new task, the expected return is at least {at}" for at in ("0.9 w", f"0.5 {more}")
    ]
    said = evaluated(
        "supports({sentence: x, safety: new Written('0.9')}, 'At least 90 in 100 new tasks', "
        "'from the same distribution reach an expected return of 0.9, with confidence 0.95.')",
        sentences,
        tmp_path,
    )
    assert said == [[True, True], [True, False]]


@pytest.mark.slow
def test_advice_of_the_library_may_stand_in_the_box(tmp_path, good):
    page = page_of(tmp_path, good[:5], [0.9], ask=jaxcert.certify_safety_level)
    assert " (no more than the lower end of the support: " in page.read_text()
    assert "the statement follows from the returns in this page" in pressed(page, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("ask", [jaxcert.certify, jaxcert.certify_suite])
def test_successes_with_few_trials(tmp_path, ask):
    returns = np.random.default_rng(1).random((40, 10)) < 0.95
    page = page_of(tmp_path, returns, [0.5], ask=ask)
    assert "the statement follows from the returns in this page" in pressed(page, tmp_path)
    headline = (
        altered('claim">At least ', 'claim">At least 9')
        if "At least" in page.read_text()
        else altered("All of these 40", "All of these 41")
    )
    assert "the headline says more" in pressed(page, tmp_path, headline)


def test_a_page_that_cannot_check_itself_says_why(tmp_path, good, monkeypatch):
    def why(certificate, **options):
        page = tmp_path / "page.html"
        write_report(page, certificate, returns=good, support=(0, 1), **options)
        assert "<button" not in page.read_text()
        return re.search(r"This page cannot check itself: (.*)\.</p>", page.read_text())[1]

    np.savez(tmp_path / "r.npz", returns=good)
    data = read_returns(tmp_path / "r.npz")
    found = jaxcert.certify(data.returns, [0.4, 0.5], support=(0, 1), delta=0.05)
    mean = jaxcert.certify_mean(data.returns, support=(0, 1), delta=0.05)
    many = jaxcert.certify(data.returns, jnp.linspace(0.1, 0.6, 21), support=(0, 1), delta=0.05)
    assert why(mean, data=data) == "a certificate of this kind has no witnesses"
    auto = jaxcert.certify(data.returns, [0.4, 0.5], support=(0, 1), delta=0.05, beta="auto")
    hoeffding = jaxcert.certify(data.returns, [0.4, 0.5], support=(0, 1), delta=0.05, bound="hoeffding")
    assert "beta" in why(auto, data=data)
    assert "hoeffding" in why(hoeffding, data=data)
    assert why(found) == "it was written without the returns of single rollouts in a file"
    assert why(many, data=data).startswith("it has more than 20 rows")
    assert why(many[:3], data=data, is_curve=True).startswith("its thresholds come from the data")
    monkeypatch.setattr(_report_check, "_MOST_DIGITS", 20)
    assert why(found, data=data) == "some returns have more than 20 decimals"
    monkeypatch.undo()
    monkeypatch.setattr(_report_check, "MOST_BYTES", 1000)
    assert why(found, data=data).startswith("with its returns it would be larger than")
