"""The kind of each task, from a column of a table or an array."""

import dataclasses
import itertools

import numpy as np
import pytest
from cli_harness import command, refused, session
from report.alterations import altered
from saved_files import archive, saved
from saved_files import refused as refused_to_read

import jaxcert
from jaxcert import read_returns, stratified

TRIALS = itertools.product(range(10), "ab", range(4))
ROWS = [(kind, f"{kind}{task}", trial, int((task, trial) != (0, 0))) for task, kind, trial in TRIALS]
TABLE = "kind,task,trial,success\n" + "".join(f"{','.join(map(str, row))}\n" for row in ROWS)


@pytest.fixture
def file(tmp_path):
    return saved(tmp_path, "t.csv", TABLE)


def test_a_column_gives_each_task_its_stratum_in_the_order_of_tasks(file):
    pandas = pytest.importorskip("pandas")
    data, frame = read_returns(file, strata="kind"), jaxcert.from_frame(pandas.read_csv(file), strata="kind")
    for found in (data, frame):
        assert list(found.strata) == ["a", "b"] * 10
        assert [label[0] for label in found.tasks] == list(found.strata)
    assert data.unread == ()
    assert data.told == "20 tasks from task in 2 strata of 10 from kind, 4 trials from trial, value from success"
    assert read_returns(file).strata is None
    picked = read_returns(file, strata="kind", where="kind = b")
    assert set(picked.strata) == {"b"}


def test_counts_wide_tables_and_arrays_have_strata_too(tmp_path):
    (tmp_path / "counts.csv").write_text("task,won,played,kind\np,3,4,a\nq,4,4,b\nr,2,4,a\n")
    counted = read_returns(tmp_path / "counts.csv", successes="won", trials="played", trial=None, strata="kind")
    (tmp_path / "wide.csv").write_text("task,s0,s1,s2,kind\np,1,0,1,a\nq,1,1,1,b\nr,0,0,1,a\n")
    wide = read_returns(tmp_path / "wide.csv", value="s0,s1,s2", strata="kind")
    np.savez(tmp_path / "r.npz", returns=np.ones((3, 2)), kind=["a", "b", "a"])
    for found in (counted, wide, read_returns(tmp_path / "r.npz", strata="kind")):
        assert list(found.strata) == ["a", "b", "a"]


@pytest.mark.parametrize("array", [["a"], [0.5, 1.5, 2.5], [["a", "b", "c"]]])
def test_an_array_of_strata_has_a_word_for_each_task(tmp_path, array):
    path = saved(tmp_path, "r.npz", archive(returns=np.ones((3, 2)), kind=array))
    refused_to_read(path, "array 'kind' has ", "expected a word or a whole number for each task", strata="kind")


def test_strata_that_look_alike_are_refused_or_asked_about(file, tmp_path):
    lines = TABLE.splitlines()
    for other, asks in (("a\ufe0f", False), ("a\u200b", False), ("A", True)):
        kinds = [line.replace("a,", f"{other},", 1) if ",a1," in line else line for line in lines]
        (tmp_path / "u.csv").write_text("\n".join([*kinds, ""]))
        np.savez(tmp_path / "u.npz", returns=np.ones((3, 2)), kind=["a", "b", other])
        for path in (tmp_path / "u.csv", tmp_path / "u.npz"):
            if asks:
                with pytest.warns(UserWarning, match="'a' and 'A': if they are one stratum, it is taken for two"):
                    read_returns(path, strata="kind")
            else:
                refused_to_read(path, "which differ in spelling alone; expected one spelling of each", strata="kind")


def test_strata_that_are_not_printable_are_refused(tmp_path):
    """A line of its own would read as a sentence of the certificate."""
    content = archive(returns=np.ones((2, 2)), kind=["a", "b\nproven: all tasks pass."])
    for name, held, place in (("t.csv", TABLE.replace("b,", "b\x1b[2K,"), "kind"), ("t.npz", content, "'kind'")):
        path = saved(tmp_path, name, held)
        refused_to_read(path, f"{place} holds 'b\\", "; expected names of printable characters", strata="kind")


def test_a_task_is_in_one_stratum(file):
    told = "task 'a0' is in several strata by column 'trial'; expected one for each task"
    refused_to_read(file, told, strata="trial")
    refused_to_read(file, "has no column 'room'; found 'kind', 'task'", strata="room")


@pytest.mark.usefixtures("there")
def test_commands_ask_about_strata_or_refuse_them(file):
    session(
        """
        ASKED --json c.json ~> on a new task from a or b, each as likely
        verify c.json FILE ~>
        ASKED --frequency 'a = 0.25' --frequency b=0.75 ~> from a (0.25) or b (0.75)
        ASKED --frequency a=0.25,b=0.75 ~> from a (0.25) or b (0.75)
        ASKED --frequency c=1 => the stratum 'c' has a frequency and no task
        ASKED --frequency a=1 => the stratum 'b' has tasks and no frequency
        certify FILE --strata kind --question episode --delta 0.1 => is not about strata, within which tasks were drawn
        plan --strata kind --delta 0.1 => a plan for new tasks of one policy (PILOT) does
        certify FILE --question stratified --threshold 0.5 --delta 0.1 => is about strata; expected their column (--str
        """,
        ASKED=f"certify {file} --strata kind --threshold 0.5 --delta 0.1",
        FILE=str(file),
    )


ASKED = ("--mean", "--question cvar --alpha 0.5 --cap 1", "--requirement 'success >= 0.5'")


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize("asked", ASKED)
def test_means_and_requirements_have_given_frequencies_on_every_surface(file, asked):
    """The numbers are those of the function; other frequencies are other numbers."""
    given = {"b": 0.75, "a": 0.25}
    sample = stratified(read_returns(file, strata="kind").returns, ["a", "b"] * 10, frequencies=given)
    if asked == "--mean":
        found = jaxcert.certify_mean(sample, delta=0.1)
    elif "cvar" in asked:
        found = jaxcert.certify_cvar(sample, 0.5, cap=1, delta=0.1)
    else:
        sample = dataclasses.replace(sample, returns={"success": sample.returns})
        found = jaxcert.certify_requirements(sample, ["success >= 0.5"], delta=0.1)
    session(
        f"""
        certify t.csv ASKED --frequency b=0.75,a=0.25 --json c.json --report c.html -> {found}
        verify c.json t.csv -> verified: 1 certificate, 1 statement
        lock p.toml {asked.replace("--mean", "--question mean")} LOCK --frequency b=0.75,a=0.25
        certify t.csv --protocol p.toml --json l.json -> from a (0.25) or b (0.75)
        verify l.json t.csv --protocol p.toml -> verified: 1 certificate, 1 statement
        certify t.csv ASKED --json m.json -> from a or b, each as likely
        verify m.json t.csv --protocol p.toml !> not verified
        certify t.csv {asked} --delta 0.1 --frequency a=0.5,b=0.5 => is about strata; expected their column (--strata)
        """,
        ASKED=f"{asked} --strata kind --delta 0.1",
        LOCK=f"--strata kind --delta 0.1 --tasks 20 --rollouts 4{'' if 'req' in asked else ' --support 0 1'}",
    )
    assert "b=0.75; a=0.25" in (file.parent / "c.html").read_text()
    altered(file.parent / "c.json", lambda held: held["certificates"][0]["settings"].update(frequencies=["a=1", "b=9"]))
    session("verify c.json t.csv !> not verified")


def test_two_policies_have_their_tasks_in_the_same_strata(file, tmp_path):
    other = tmp_path / "u.csv"
    words = ("compare", file, other, "--strata", "kind", "--threshold", -0.9, "--delta", 0.1)
    rows = TABLE.splitlines()
    other.write_text("\n".join([rows[0], *reversed(rows[1:]), ""]))
    assert "from a or b, each as likely" in command(*words).out
    other.write_text(TABLE.replace("a,a3", "b,a3"))
    assert "in one stratum for one policy, and in another for the other" in refused(*words)


def test_of_a_label_of_three_columns_the_others_are_still_asked_about(tmp_path):
    rows = [f"{env},{goal},{who},{trial},1" for env in "ab" for goal in "pqr" for who in "xyz" for trial in range(2)]
    (tmp_path / "t.csv").write_text("\n".join(["env,goal,operator,trial,success", *rows, ""]))
    with pytest.warns(UserWarning, match="together are the label of a task: if one of them varies from trial to trial"):
        read_returns(tmp_path / "t.csv", task="env,goal,operator", strata="env")


def test_choose_has_the_questions_of_strata_alone(file):
    out = command("choose", file, "--strata", "kind").out
    assert "--question stratified" in out
    assert out.count(" --strata kind") == 3  # and the mean, and that of the worst tasks
    assert "--question stratified" not in command("choose", file).out
