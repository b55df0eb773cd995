"""The registry of questions about returns. Files, reports, plots and the command line read its entries."""

from jaxcert.questions._answers import question_of, rows_of
from jaxcert.questions._registry import QUESTIONS

__all__ = ["QUESTIONS", "question_of", "rows_of"]
