"""What answers say on the terminal."""

from collections.abc import Mapping

from jaxcert.certificates._certificate import naming
from jaxcert.certificates._figures import confidence
from jaxcert.cli import _console, _tables
from jaxcert.cli._advised import reasons
from jaxcert.cli._answer import Answer
from jaxcert.cli._open_pairs import why_open
from jaxcert.questions import QUESTIONS


def print_answers(answers: Mapping[str, Answer], by: str | None, delta: float | None) -> None:
    """What was found, of each group of rows by itself if a column tells them; and with which confidence all holds."""
    show = _console.output().print
    for group, answer in answers.items():
        if by is not None:
            show(f"{by} = {group}")
        _print(answer)
        if by is not None:
            show("")
    if len(answers) > 1:
        assert delta is not None
        of_one_row = all(each.status.size == 1 for found in answers.values() for each in found.certificates.values())
        together = (
            f"All {len(answers)} groups together: with confidence {confidence(delta)}, what is said of each holds"
        )
        show(f"{together}{'' if of_one_row else ', in each row of the tables by itself'}.")


def _print(answer: Answer) -> None:
    """The table and, unless it is the curve, the sentence of each row; and why no more is certified."""
    show = _console.output().print
    show(_tables.heading(answer.data, answer.settings.get("support"), answer.certificates))
    for name, certificate in answer.certificates.items():
        question = QUESTIONS[name]
        if answer.is_curve:
            table, note = _tables.curve_table(certificate, question), _tables.curve_note(certificate, question)
        else:
            given = answer.request.asked.numbers[name] or []
            table, note = _tables.answer_table(certificate, question, given), str(certificate)
        show("", table, "", sep="\n", soft_wrap=False, crop=False)
        show(naming(note, answer.policies))
    for line in (*reasons(answer), why_open(answer)):
        if line:
            show(line)
