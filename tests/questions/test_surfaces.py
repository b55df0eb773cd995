"""Every question on every surface: it works there, or is refused in words; a kind that nobody knows is refused."""

import dataclasses

import jax
import numpy as np
import pytest
from asked_questions import (
    EVERY,
    FIXED,
    ROOT,
    A,
    answer_to,
    ask,
    data_of,
    options_of,
    others_of,
    record,
    write_files,
)
from cli_harness import command

import jaxcert
from jaxcert.certificates import Certificate
from jaxcert.certificates._certificate import naming
from jaxcert.cli._kept_programs import kept_in
from jaxcert.planning import advise
from jaxcert.questions import QUESTIONS, question_of, rows_of
from jaxcert.questions._ask import ask as ask_of_files
from jaxcert.report import (
    Protocol,
    certificate_record,
    plot_certificates,
    read_certificate,
    step_curve,
    verify,
    write_certificates,
    write_report,
)
from jaxcert.tables import read_returns

files = pytest.fixture(scope="module")(write_files)


@pytest.mark.slow
@EVERY
def test_programs_that_are_kept_give_the_same_answer(name, tmp_path):
    """Both where they are written and where they are read, with the bits of the answer without them."""
    for _ in range(2):
        with kept_in(tmp_path):
            again = ask(name)
        assert all(map(np.array_equal, jax.tree.leaves(again), jax.tree.leaves(answer_to(name))))


@EVERY
def test_an_answer_has_the_type_and_the_fields_that_are_described(name):
    question, found = QUESTIONS[name], answer_to(name)
    assert type(found) is question.certificate
    assert question.name == name
    assert question_of(found) is question
    held = {field.name for field in dataclasses.fields(found)}
    assert set(question.rows.columns.values()) <= held
    assert all(hasattr(found, name) for name in question.settings)
    assert all(question.takes(each) for each in (*question.settings, *question.declared, *question.inputs))
    assert not question.fixed or question.takes(question.fixed)
    assert question.each is None or question.each in question.rows.columns
    assert not question.rows.columns or question.rows.certified in question.rows.columns
    assert bool(question.rows.claims) == bool(question.rows.columns)
    assert set(question.rows.claims) <= set(question.rows.columns)
    assert question.rows.share is None or question.rows.share in question.rows.columns
    options = {option.name for option in question.options} - {question.each}
    # Frequencies stand in `stratified` returns unless the function takes them.
    assert all(question.takes(each) or each == "frequencies" for each in options)
    assert question.of_strata == ("frequencies" in options)


@EVERY
def test_rows_are_those_of_the_answer_and_say_what_it_says(name):
    question, found = QUESTIONS[name], answer_to(name)
    if not question.rows.columns:
        with pytest.raises(ValueError, match=f"question '{name}' has no rows"):
            rows_of(found, question)
        return
    rows = rows_of(found, question)
    assert "\n".join(row["sentence"] for row in rows) == str(found)
    assert len(rows) == (len(FIXED[question.each]) if question.each else 1)
    for column, field in question.rows.columns.items():
        if field != "status":
            assert [row[column] for row in rows] == np.atleast_1d(np.asarray(getattr(found, field))).tolist()


@EVERY
def test_a_file_holds_the_answer_and_is_verified(files, name, tmp_path):
    question, found = QUESTIONS[name], answer_to(name)
    if not question.rows.columns:
        with pytest.raises(ValueError, match="has no rows"):
            record(found, name)
        return
    write_certificates(tmp_path / "c.json", [record(found, name, None if question.unrepeated else files)])
    held = read_certificate(tmp_path / "c.json")["certificates"][0]
    assert held["question"] == name
    assert held["fixed_beforehand"] == question.each
    (settled,) = [line for line in read_certificate(tmp_path / "c.json")["assumptions"] if line.startswith("Settled")]
    of_samples = "The tasks were sampled independently" in read_certificate(tmp_path / "c.json")["assumptions"][0]
    assert of_samples != question.listed
    own = {option.name for option in question.options} - question.declared.keys()
    assert all(f", {name.replace('_', ' ')}" in settled for name in {*own, *question.settings})
    assert not {"alpha", "cap", "margin"} & set(settled.split(", ")) - {*question.settings, *own}
    others = others_of(question, files)
    checked = verify(tmp_path / "c.json", files / "a.npz", others=others)
    if question.unrepeated:
        assert question.unrepeated in str(checked)
    else:
        assert checked.ok, str(checked)


@EVERY
def test_a_protocol_is_kept_or_refused(files, name, tmp_path):
    question = QUESTIONS[name]
    lists = {"threshold": "thresholds", "safety": "safeties"}
    options = options_of(name)
    settings: dict = {"delta": 0.1, "num_tasks": 60, "num_rollouts": 20, "question": name, "options": options}
    if question.has_support:
        settings["support"] = (0.0, 1.0)
    if question.each in lists:
        settings[lists[question.each]] = FIXED[question.each]
    elif question.each:
        options[question.each] = FIXED[question.each]
    if question.takes("strata"):
        settings["strata"] = "strata"
    if len(question.inputs) > 1 or question.unrepeated:
        with pytest.raises(ValueError, match="which has no protocol"):
            Protocol(**settings)
        return
    locked = Protocol(**settings)
    locked.write(tmp_path / "p.toml")
    assert Protocol.read(tmp_path / "p.toml") == locked
    found = ask_of_files(question, data_of(question, files), locked.fixed, locked.settings)
    write_certificates(tmp_path / "c.json", [record(found, name, files)], protocol=locked.digest)
    assert verify(tmp_path / "c.json", files / "a.npz", protocol=tmp_path / "p.toml").ok
    other = Protocol(**{**settings, "delta": 0.05})
    other.write(tmp_path / "other.toml")
    assert not verify(tmp_path / "c.json", files / "a.npz", protocol=tmp_path / "other.toml").ok


@EVERY
def test_a_page_shows_it_or_refuses(files, name, tmp_path):
    question, support = QUESTIONS[name], (0.0, 1.0) if QUESTIONS[name].has_support else None
    policies = ("new", "old") if len(question.inputs) > 1 else ()
    page = {"returns": A, "support": support}
    if not question.rows.columns or "weights" in question.inputs:
        with pytest.raises(ValueError, match="a page shows what one policy or two do"):
            write_report(tmp_path / "c.html", answer_to(name), **page)
        return
    if len(question.inputs) > 1:
        with pytest.raises(ValueError, match="is about two policies; expected the returns of policy B"):
            write_report(tmp_path / "c.html", answer_to(name), **page)
        page |= {"against": read_returns(files / "b.npz"), "policies": policies}
    write_report(tmp_path / "c.html", answer_to(name), **page)
    text = (tmp_path / "c.html").read_text()
    assert question.words in text
    for row in rows_of(answer_to(name), question):
        assert f'<p class="claim">{naming(row["sentence"], policies)}</p>' in text
    assert f"or about\n{answer_to(name).not_about}." in text
    assert all(f", {name.replace('_', ' ')}" in text for name in question.settings)
    assert ("<svg" in text) == (question.curve is not None or not question.has_curve)


@EVERY
def test_a_plot_draws_it_or_refuses(name):
    if QUESTIONS[name].has_curve:
        axes = plot_certificates(answer_to(name))
        assert len(axes.lines[0].get_xdata()) == len(answer_to(name)) + 1
        found = QUESTIONS[name].finds_threshold
        assert [label.startswith("certified") for label in (axes.get_xlabel(), axes.get_ylabel())] == [found, not found]
    else:
        with pytest.raises(ValueError, match="expected certificates of a share of new tasks"):
            plot_certificates(answer_to(name))


@EVERY
def test_a_curve_or_words_that_there_is_none(name):
    if QUESTIONS[name].curve is None:
        with pytest.raises(ValueError, match="which has no curve"):
            step_curve(answer_to(name))
    else:
        assert issubclass(QUESTIONS[name].certificate, type(step_curve(answer_to(name))))


@EVERY
def test_advice_or_words_that_none_is_known(name):
    if QUESTIONS[name].advised:
        found = advise(answer_to(name), support=(0.0, 1.0), num_rollouts=20)
        assert len(found) == answer_to(name).status.size
    else:
        known = "safety, safety_level, interval, requirements, sequential, stratified, improvement"
        with pytest.raises(ValueError, match=f"'{name}', on which there is no advice; expected one of {known}$"):
            advise(answer_to(name), support=(0.0, 1.0))


@EVERY
def test_the_command_line_asks_it_or_says_why_not(files, name, tmp_path):
    question = QUESTIONS[name]
    pair = len(question.inputs) == 2
    arguments: list = ["compare", files / "a.npz", files / "b.npz"] if pair else ["certify", files / "a.npz"]
    arguments += ["--question", name, "--delta", 0.1, "--json", tmp_path / "c.json"]
    if question.has_support:
        arguments += ["--support", 0, 1]
    if question.takes("strata"):
        arguments += ["--strata", "strata"]
    if question.each:
        arguments += [f"--{question.each}", ",".join(map(str, FIXED[question.each]))]
    for option in question.options:
        value = options_of(name).get(option.name)
        if value is not None:
            flag = f"--{option.flag or option.name.replace('_', '-')}"
            shown = ",".join(map(str, value)) if option.type is list else value
            several = value if option.type is tuple else [shown]
            arguments += [flag] if option.type is bool else [each for one in several for each in (flag, one)]
    status, out, err = command(*arguments)
    if question.unrepeated or question.has_weights:
        assert status == 2
        assert "does not ask" in err or "No such option" in err
        return
    assert status == 0, err
    said = naming(str(answer_to(name)), ("a.npz", "b.npz") if pair else ())
    assert said in " ".join(out.split()).replace(". With", ".\nWith")
    others = [files / "b.npz"] if pair else []
    assert command("verify", tmp_path / "c.json", files / "a.npz", *others).status == 0
    is_count = np.issubdtype(
        np.asarray(getattr(answer_to(name), question.rows.columns[question.rows.certified])).dtype, np.integer
    )
    assert command(*arguments, "--force", "--require", len(A) + 1 if is_count else 0.9999).status == 1
    if not question.advised:
        refused = command(*arguments, "--force", "--wanted", 0.5)
        assert refused.status == 2
        assert "--wanted" in refused.err
    assert command("certify", files / "a.npz", "--question", "nonsense", "--delta", 0.1).status == 2


def test_a_kind_that_nobody_knows_is_refused_everywhere(tmp_path):
    @dataclasses.dataclass(frozen=True, eq=False, repr=False)
    class Opposite(Certificate):
        """Of the share of tasks below a threshold."""

    known = answer_to("safety")
    other = Opposite(**{field.name: getattr(known, field.name) for field in dataclasses.fields(Certificate)})
    estimate = jaxcert.baselines.certify_plug_in(A, 0.5, delta=0.1)
    batch = jax.tree.map(lambda leaf: leaf[None], known)
    for surface in (
        step_curve,
        plot_certificates,
        lambda one: advise(one, support=(0.0, 1.0)),
        lambda one: certificate_record(one, support=(0.0, 1.0)),
        lambda one: write_report(tmp_path / "c.html", one, returns=A, support=(0.0, 1.0)),
        question_of,
    ):
        for one, why in ((other, "an Opposite"), (estimate, "a PlugInEstimate")):
            with pytest.raises(ValueError, match=f"{why}, which answers no known question"):
                surface(one)
        if surface is not question_of:
            with pytest.raises(ValueError, match=r"a batch of 1; expected a single one, such as certificate\[0\]"):
                surface(batch)
    for one in (other, answer_to("mean"), answer_to("interval")):
        with pytest.raises(ValueError, match="expected an answer to 'safety'"):
            rows_of(one, QUESTIONS["safety"])


def test_an_entry_that_surfaces_would_read_wrongly_is_refused():
    band = QUESTIONS["band"]
    with pytest.raises(ValueError, match="question 'band': a larger safety has to say more"):
        dataclasses.replace(band, rows=band.rows._replace(claims={"safety": max}))


def test_every_public_certificate_function_is_a_question_or_a_step():
    """A step takes a certificate, or rollouts that are still to be made."""
    functions = {name for name in jaxcert.__all__ if name.startswith("certify")}
    steps = {"certify_shift", "certify_tail", "certify_lower_bounds", "certify_lower_bounds_band"}
    steps |= {"certify_policy", "certify_adaptive"}
    assert functions == {question.function.__name__ for question in QUESTIONS.values()} | steps


def test_the_page_on_questions_has_the_tables_of_the_registry():
    page = ROOT / "docs" / "questions.md"
    if not page.exists():
        pytest.skip("needs the checkout")
    from benchmarks.questions import matrix, questions

    text = page.read_text()
    assert matrix() in text
    assert questions() in text
