"""The tables of the page on questions: what is asked, and where each question is served.

python -m benchmarks.questions
"""

from collections.abc import Callable

from jaxcert.certificates._question import Question
from jaxcert.questions import QUESTIONS
from jaxcert.report._witnessed_rows import WITNESSES

SURFACES: dict[str, Callable[[Question], bool]] = {
    "file": lambda question: bool(question.rows.columns),
    "verify": lambda question: bool(question.rows.columns) and not question.unrepeated,
    "exact": lambda question: question.name in WITNESSES,
    "protocol": lambda question: len(question.inputs) == 1 and not question.unrepeated,
    "page": lambda question: bool(question.rows.columns) and "weights" not in question.inputs,
    "plot": lambda question: bool(question.rows.columns),
    "advice": lambda question: question.advised,
    "command line": lambda question: not question.has_weights,
    "two policies": lambda question: 2 in question.numbers_of_policies,
    "sweep": lambda question: question.name == "safety",
}


def questions() -> str:
    """A row for each question: its name, its function, and what it asks."""
    rows = [f"| `{name}` | `{each.function.__name__}` | {each.words} |" for name, each in QUESTIONS.items()]
    return "\n".join(rows)


def matrix() -> str:
    """A row for each question, a column for each surface; "yes" where it is served, else it is refused in words."""
    head = f"| question | {' | '.join(SURFACES)} |\n|---|{'---|' * len(SURFACES)}"
    rows = [
        f"| `{name}` | {' | '.join('yes' if serves(question) else '-' for serves in SURFACES.values())} |"
        for name, question in QUESTIONS.items()
    ]
    return "\n".join([head, *rows])


if __name__ == "__main__":
    print(f"| question | function | what is asked |\n|---|---|---|\n{questions()}\n\n{matrix()}")
