"""Every question on every surface: it works there, or is refused in words; a kind that nobody knows is refused."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from cli_harness import command

import jaxcert
from jaxcert.certificates import Certificate
from jaxcert.planning import advise
from jaxcert.questions import QUESTIONS, question_of, rows_of
from jaxcert.questions._answers import of_type
from jaxcert.questions._asked import checked_options
from jaxcert.report import (
    Protocol,
    certificate_document,
    certificate_record,
    plot_certificates,
    read_certificate,
    read_returns,
    step_curve,
    verify,
    write_certificates,
    write_report,
)
from jaxcert.report._recompute import ask as ask_of_files

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(0)
A = RNG.beta(9, 1, (60, 20)).astype(np.float32)
B = (0.8 * A).astype(np.float32)
WEIGHTS = np.tile([0.5, 1.5], 30)
# What each question is asked with, besides data, support and delta.
FIXED = {"threshold": [0.3, 0.6], "safety": [0.5, 0.8], "alpha": [0.25, 1.0], "margin": [-0.1, 0.0]}
OPTIONS = {
    "safety_level": {"simultaneous": True},
    "interval": {"complete": True},
    "cvar": {"cap": [0.8, 1.0]},
    "episode": {"num_episodes": 2, "rollouts": "first"},
    "band": {"num_smallest": 20},
    "anytime": {"prior": [1.0, 2.0]},
    "weighted": {"max_weight": 1.5},
    "improvement": {},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name, returns in (("a", A), ("b", B)):
        np.savez(folder / f"{name}.npz", returns=returns)
    return folder


def ask(name: str, returns: np.ndarray = A):
    """The answer to a question, by its public function."""
    question = QUESTIONS[name]
    data = {"returns": returns, "returns_a": returns, "returns_b": B[: len(returns)], "weights": WEIGHTS}
    settings = {each: data[each] for each in question.inputs} | {"delta": 0.1} | OPTIONS.get(name, {})
    if name == "ranking":
        settings["returns"] = np.stack([A, B])
    if question.fixed:
        settings[question.fixed] = FIXED[question.each]
    if question.has_support:
        settings["support"] = (0.0, 1.0)
    return question.function(**settings)


@pytest.fixture(scope="module")
def answers():
    return {name: ask(name) for name in QUESTIONS}


def record(found, name: str, files=None) -> dict:
    question = QUESTIONS[name]
    support = (0.0, 1.0) if question.has_support else None
    data = [] if files is None else [read_returns(files / f"{each}.npz") for each in "ab"[: len(question.inputs)]]
    first, *others = data or [None]
    return certificate_record(found, support=support, question=name, data=first, others=others)


HEAD = "format_version = 1\ndelta = 0.1\nnum_tasks = 9\nnum_rollouts = 5"
EVERY = pytest.mark.parametrize("name", QUESTIONS)


@EVERY
def test_an_answer_has_the_type_and_the_fields_that_are_described(answers, name):
    question, found = QUESTIONS[name], answers[name]
    assert type(found) is question.certificate
    assert question.name == name
    assert question_of(found, name) is question
    held = {field.name for field in dataclasses.fields(found)}
    assert set(question.columns.values()) <= held
    assert set(question.settings.values()) <= held
    assert all(question.takes(each) for each in (*question.settings, *question.declared, *question.inputs))
    assert not question.fixed or question.takes(question.fixed)
    assert question.each is None or question.each in question.columns
    assert not question.columns or question.certified in question.columns
    assert bool(question.claims) == bool(question.columns)
    assert set(question.claims) <= set(question.columns)
    assert question.share is None or question.share in question.columns
    options = {option.name for option in question.options} - {question.each}
    assert all(question.takes(each) for each in options)


@EVERY
def test_rows_are_those_of_the_answer_and_say_what_it_says(answers, name):
    question, found = QUESTIONS[name], answers[name]
    if not question.columns:
        with pytest.raises(ValueError, match=f"question '{name}' has no rows"):
            rows_of(found, question)
        return
    rows = rows_of(found, question)
    assert "\n".join(row["sentence"] for row in rows) == str(found)
    assert len(rows) == (len(FIXED[question.each]) if question.each else 1)
    for column, field in question.columns.items():
        if field != "status":
            assert [row[column] for row in rows] == np.atleast_1d(np.asarray(getattr(found, field))).tolist()


@EVERY
def test_a_file_holds_the_answer_and_is_verified(files, answers, name, tmp_path):
    question, found = QUESTIONS[name], answers[name]
    if not question.columns:
        with pytest.raises(ValueError, match="has no rows"):
            record(found, name)
        return
    write_certificates(tmp_path / "c.json", [record(found, name, None if question.unrepeated else files)])
    held = read_certificate(tmp_path / "c.json")["certificates"][0]
    assert held["question"] == name
    assert held["fixed_beforehand"] == question.each
    others = [files / "b.npz"] * (len(question.inputs) - 1)
    checked = verify(tmp_path / "c.json", files / "a.npz", others=others)
    if question.unrepeated:
        assert question.unrepeated in str(checked)
    else:
        assert checked.ok, str(checked)
        _check_alterations(tmp_path, files, held, others)


def _each_change(held):
    """Entries taken out, emptied or put in anywhere, rows doubled, and the names of other questions."""
    for name in held["rows"][0]:
        if name != "advice":
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


def _is_verified(file, returns, others) -> bool:
    try:
        return verify(file, returns, others=others).ok
    except ValueError as error:  # it is no certificate file
        return str(file) not in str(error)


@EVERY
def test_no_altered_file_is_verified_or_breaks_the_verification(files, answers, name, tmp_path):
    question = QUESTIONS[name]
    if question.unrepeated:
        pytest.skip(question.unrepeated)
    whole = certificate_document([record(answers[name], name, files)])
    others = [files / "b.npz"] * (len(question.inputs) - 1)
    for change in _each_change(whole["certificates"][0]):
        altered = json.loads(json.dumps(whole))
        change(altered["certificates"][0])
        write_certificates(tmp_path / "c.json", altered["certificates"])
        assert not _is_verified(tmp_path / "c.json", files / "a.npz", others)


def _check_alterations(folder, files, held, others):
    """A better number, another sentence and another setting are found."""
    column = QUESTIONS[held["question"]].certified
    for change in (
        lambda one: one["rows"][-1].update({column: one["rows"][-1][column] + 0.01}),
        lambda one: one["rows"][0].update(sentence=one["rows"][0]["sentence"].replace("0.", "0.9", 1)),
        lambda one: one["settings"].update(delta=0.05),
        lambda one: one["settings"].update(num_tasks=61),
        lambda one: one["rows"][0].update(unheard_of=1.0),
        lambda one: one.update(question="nonsense"),
    ):
        altered = json.loads(json.dumps(held))
        change(altered)
        write_certificates(folder / "altered.json", [altered])
        assert not verify(folder / "altered.json", files / "a.npz", others=others).ok


@EVERY
def test_a_protocol_is_kept_or_refused(files, name, tmp_path):
    question = QUESTIONS[name]
    lists = {"threshold": "thresholds", "safety": "safeties"}
    options = dict(OPTIONS.get(name, {}))
    settings: dict = {"delta": 0.1, "num_tasks": 60, "num_rollouts": 20, "question": name, "options": options}
    if question.has_support:
        settings["support"] = (0.0, 1.0)
    if question.each in lists:
        settings[lists[question.each]] = FIXED[question.each]
    elif question.each:
        options[question.each] = FIXED[question.each]
    if len(question.inputs) > 1 or question.unrepeated:
        with pytest.raises(ValueError, match="of which there is no protocol"):
            Protocol(**settings)
        return
    locked = Protocol(**settings)
    locked.write(tmp_path / "p.toml")
    assert Protocol.read(tmp_path / "p.toml") == locked
    found = ask_of_files(question, [read_returns(files / "a.npz")], locked.fixed, locked.settings)
    write_certificates(tmp_path / "c.json", [record(found, name, files)], protocol=locked.digest)
    assert verify(tmp_path / "c.json", files / "a.npz", protocol=tmp_path / "p.toml").ok
    other = Protocol(**{**settings, "delta": 0.05})
    other.write(tmp_path / "other.toml")
    assert not verify(tmp_path / "c.json", files / "a.npz", protocol=tmp_path / "other.toml").ok


@EVERY
def test_a_page_shows_it_or_refuses(answers, name, tmp_path):
    question, support = QUESTIONS[name], (0.0, 1.0) if QUESTIONS[name].has_support else None
    page = {"returns": A, "support": support, "question": name}
    if len(question.inputs) > 1 or not question.columns:
        with pytest.raises(ValueError, match="a page shows what one policy does"):
            write_report(tmp_path / "c.html", answers[name], **page)
        return
    write_report(tmp_path / "c.html", answers[name], **page)
    text = (tmp_path / "c.html").read_text()
    assert question.words in text
    assert rows_of(answers[name], question)[0]["sentence"] in text
    assert f"or about\n{question.not_about}." in text
    assert ("<svg" in text) == (question.curve is not None)


@EVERY
def test_a_plot_draws_it_or_refuses(answers, name):
    if QUESTIONS[name].has_curve:
        axes = plot_certificates(answers[name])
        assert len(axes.lines[0].get_xdata()) == len(answers[name]) + 1
    else:
        with pytest.raises(ValueError, match="expected certificates of a share of new tasks"):
            plot_certificates(answers[name])


@EVERY
def test_a_curve_or_words_that_there_is_none(answers, name):
    if of_type(answers[name])[0].curve is None:
        with pytest.raises(ValueError, match="which has no curve"):
            step_curve(answers[name])
    else:
        assert issubclass(QUESTIONS[name].certificate, type(step_curve(answers[name], max_points=5)))


@EVERY
def test_advice_or_words_that_none_is_known(answers, name):
    if "safety" in QUESTIONS[name].columns:
        assert len(advise(answers[name], support=(0.0, 1.0), num_rollouts=20)) == len(answers[name])
    else:
        with pytest.raises(ValueError, match="what it lacks is not known here"):
            advise(answers[name], support=(0.0, 1.0))


@EVERY
def test_the_command_line_asks_it_or_says_why_not(files, answers, name, tmp_path):
    question = QUESTIONS[name]
    pair = len(question.inputs) == 2
    arguments: list = ["compare", files / "a.npz", files / "b.npz"] if pair else ["certify", files / "a.npz"]
    arguments += ["--question", name, "--delta", 0.1, "--json", tmp_path / "c.json"]
    if question.has_support:
        arguments += ["--support", 0, 1]
    if question.each:
        arguments += [f"--{question.each}", ",".join(map(str, FIXED[question.each]))]
    for option in question.options:
        value = OPTIONS.get(name, {}).get(option.name)
        if value is not None:
            flag = f"--{option.flag or option.name.replace('_', '-')}"
            shown = ",".join(map(str, value)) if option.type is list else value
            arguments += [flag] if option.type is bool else [flag, shown]
    status, out, err = command(*arguments)
    if question.unrepeated:
        assert status == 2
        assert "does not ask" in err or "No such option" in err
        return
    assert status == 0, err
    assert str(answers[name]) in " ".join(out.split()).replace(". With", ".\nWith")
    others = [files / "b.npz"] if pair else []
    assert command("verify", tmp_path / "c.json", files / "a.npz", *others).status == 0
    assert command(*arguments, "--force", "--require", 0.9999).status == 1
    if not question.advised:
        refused = command(*arguments, "--force", "--wanted", 0.5)
        assert refused.status == 2
        assert "--wanted" in refused.err
    assert command("certify", files / "a.npz", "--question", "nonsense", "--delta", 0.1).status == 2


def test_a_kind_that_nobody_knows_is_refused_everywhere(answers, tmp_path):
    @dataclasses.dataclass(frozen=True, eq=False, repr=False)
    class Opposite(Certificate):
        """Of the share of tasks below a threshold."""

    known = answers["safety"]
    other = Opposite(**{field.name: getattr(known, field.name) for field in dataclasses.fields(Certificate)})
    for surface in (
        question_of,
        step_curve,
        plot_certificates,
        lambda one: advise(one, support=(0.0, 1.0)),
        lambda one: certificate_record(one, support=(0.0, 1.0)),
        lambda one: write_report(tmp_path / "c.html", one, returns=A, support=(0.0, 1.0)),
    ):
        with pytest.raises(ValueError, match="an Opposite, which answers no question that is known here"):
            surface(other)


def test_a_mean_does_not_say_which_question_it_answers(answers):
    with pytest.raises(ValueError, match="expected question=, one of mean, cvar, mean_difference"):
        certificate_record(answers["mean"], support=(0.0, 1.0))
    with pytest.raises(ValueError, match="answers mean, cvar, mean_difference; not 'safety'"):
        certificate_record(answers["mean"], support=(0.0, 1.0), question="safety")
    with pytest.raises(ValueError, match="has 2 rows; the question 'mean' has one"):
        certificate_record(answers["cvar"], support=(0.0, 1.0), question="mean")
    with pytest.raises(ValueError, match="no row for each alpha"):
        certificate_record(answers["mean"], support=(0.0, 1.0), question="cvar")


PAIRED = [name for name, question in QUESTIONS.items() if question.paired]


@pytest.mark.parametrize("name", PAIRED)
def test_two_files_ask_any_question_that_takes_pairs(files, name, tmp_path):
    asked = {
        "threshold": ("--threshold", "-0.5,0"),
        "safety": ("--safety", "0.5,0.8"),
        "alpha": ("--alpha", 0.5, "--cap", 0.3),
        None: (),
    }
    declared = ("--complete",) if QUESTIONS[name].declared else ()
    words = ("--question", name, *asked[QUESTIONS[name].each], *declared, "--support", 0, 1, "--delta", 0.1)
    made = command("compare", files / "a.npz", files / "b.npz", *words, "--json", tmp_path / "c.json")
    assert made.status == 0, made.err
    held = read_certificate(tmp_path / "c.json")["certificates"][0]
    assert all("of policy A minus that of policy B" in row["sentence"] for row in held["rows"])
    assert len(held["others"]) == 1
    checked = verify(tmp_path / "c.json", files / "a.npz", others=[files / "b.npz"])
    assert checked.ok, str(checked)
    assert not verify(tmp_path / "c.json", files / "a.npz").ok
    assert not verify(tmp_path / "c.json", files / "b.npz", others=[files / "a.npz"]).ok
    _check_alterations(tmp_path, files, held, [files / "b.npz"])


def test_a_record_is_about_as_many_policies_as_its_question_and_files(answers):
    support = {"support": (0.0, 1.0)}
    with pytest.raises(ValueError, match="about one policy, the question 'mean_difference' is not"):
        certificate_record(answers["mean"], question="mean_difference", **support)
    x = np.full((20, 3), 0.5, np.float32)
    pairs = jaxcert.certify(jaxcert.paired(x, x), 0.0, delta=0.1, **support)
    with pytest.raises(ValueError, match="about two policies, the question 'safety' is not"):
        certificate_record(pairs, **support)
    weighted = jaxcert.weighted(x, np.ones(20), max_weight=1.0)
    with pytest.raises(ValueError, match="weights are no part of a file of returns"):
        certificate_record(jaxcert.certify_mean(weighted, delta=0.1, **support), question="mean", **support)


def test_an_end_of_the_support_is_needed_where_a_question_has_one(answers):
    with pytest.raises(ValueError, match="question 'mean' needs"):
        certificate_record(answers["mean"], question="mean")
    assert "support" not in certificate_record(answers["episode"])["settings"]
    with pytest.raises(ValueError, match="question 'episode' has none"):
        certificate_record(answers["episode"], support=(0.0, 1.0))


def test_every_public_certificate_function_is_a_question_or_a_step(answers):
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


# --- what once went wrong -----------------------------------------------------------------------------------------


def test_one_cap_for_all_shares_is_kept_by_its_protocol(files, tmp_path):
    lock = ("lock", tmp_path / "p.toml", "--question", "cvar", "--alpha", "0.1,0.25", "--cap", 0.65, "--support", 0, 1)
    assert command(*lock, "--delta", 0.1, "--tasks", 60, "--rollouts", 20).status == 0
    certified = command("certify", files / "a.npz", "--protocol", tmp_path / "p.toml", "--json", tmp_path / "c.json")
    assert certified.status == 0, certified.err
    assert verify(tmp_path / "c.json", files / "a.npz", protocol=tmp_path / "p.toml").ok


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--question", "episode", "--threshold", 0.5, "--num-episodes", 0), "num_episodes is 0"),
        (("--question", "mean", "--support", 0, 1, "--num-episodes", 0), "num_episodes is no option"),
        (("--question", "mean", "--support", 0, 1, "--method", "soft"), "--method is given"),
        (("--question", "mean", "--support", 0, 1, "--wanted", 0.5), "--wanted is"),
        (("--safety", 0.5, "--support", 0, 1, "--wanted", 0.9), "--wanted is"),
        (("--question", "improvement"), "jaxcert compare"),
        (("--question", "cvar", "--support", 0, 1, "--alpha", 0.1), "needs cap"),
        (("--question", "mean", "--support", 0, 1, "--require", "nan"), "--require is nan"),
    ],
)
def test_nothing_that_is_given_is_left_out_in_silence(files, words, reason):
    status, out, err = command("certify", files / "a.npz", "--delta", 0.1, *words)
    assert (status, out) == (2, "")
    assert reason in err


def test_successes_are_compared_without_a_support_and_with_columns_of_their_own(tmp_path):
    rows = [f"{task},{trial},{'true' if (task + trial) % 4 else 'false'}" for task in range(30) for trial in range(5)]
    (tmp_path / "a.csv").write_text("\n".join(["task,trial,success", *rows, ""]))
    (tmp_path / "b.csv").write_text("\n".join(["task_id,episode_id,total_return", *rows[::-1], ""]))
    for margin in ((), ("--margin", 0)):
        arguments = ("compare", tmp_path / "a.csv", tmp_path / "b.csv", "--delta", 0.1, *margin)
        found = command(*arguments, "--json", tmp_path / "c.json", "--force")
        assert found.status == 0, found.err
        assert command("verify", tmp_path / "c.json", tmp_path / "a.csv", tmp_path / "b.csv").status == 0
    for name in ("mean", "band"):
        words = ("--question", name, "--delta", 0.1, "--strict", *(("--threshold", 0.5) if name == "band" else ()))
        assert command("certify", tmp_path / "a.csv", *words).status == 0


OUT_OF_RANGE = [
    ("cvar", {"alpha": [2.0], "cap": [0.5]}, r"alpha\[0\] is 2; expected a share in \(0, 1\]"),
    ("cvar", {"alpha": [0.5, 0.0], "cap": [0.5]}, r"alpha\[1\] is 0; expected a share"),
    ("episode", {"num_episodes": 0}, "num_episodes is 0; expected a whole number of at least 1"),
    ("episode", {"rollouts": "some"}, "rollouts is 'some'; expected 'all' or 'first'"),
    ("interval", {"complete": True, "beta_upper": 1.0}, "beta_upper is 1; expected a probability"),
    ("band", {"kind": "nonsense"}, "kind is 'nonsense'; expected one of"),
    ("band", {"num_smallest": 0}, "num_smallest is 0; expected a whole number"),
    ("anytime", {"prior": [1.0]}, r"prior is \[1.0\]; expected a pair"),
    ("anytime", {"prior": [1.0, 0.0]}, r"prior\[1\] is 0; expected"),
    ("weighted", {"max_weight": 0.5}, "max_weight is 0.5; expected a finite number of at least 1"),
    ("sequential", {"give_up": 1.0}, r"give_up is 1.0; expected a number in \[0, 1\)"),
]


@pytest.mark.parametrize(("name", "options", "words"), OUT_OF_RANGE)
def test_an_option_out_of_range_is_refused_by_every_surface(name, options, words, tmp_path):
    question = QUESTIONS[name]
    with pytest.raises(ValueError, match=words):
        checked_options(question, options)
    if question.unrepeated:
        return
    thresholds = {"thresholds": (0.5,)} if question.each == "threshold" else {}
    support = {"support": (0.0, 1.0)} if question.has_support else {}
    head = {"delta": 0.1, "num_tasks": 9, "num_rollouts": 5, "question": name}
    with pytest.raises(ValueError, match=words):
        Protocol(**head, **thresholds, **support, options=options)


def test_a_damaged_protocol_is_refused_in_words(tmp_path):
    for options in ('"abc"', "[1]", "{alpha = [nan]}", "{alpha = [true]}", "{num_episodes = -1}"):
        text = f'{HEAD}\nquestion = "mean"\noptions = {options}'
        (tmp_path / "p.toml").write_text(text)
        with pytest.raises(ValueError, match="no protocol"):
            Protocol.read(tmp_path / "p.toml")
    with pytest.raises(ValueError, match="beta is given; the question 'mean' has none"):
        Protocol(delta=0.1, num_tasks=9, num_rollouts=5, support=(0, 1), question="mean", beta=0.1)
