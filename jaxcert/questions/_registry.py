"""The questions by their names."""

from jaxcert.certificates._band import BAND
from jaxcert.certificates._certify import SAFETY
from jaxcert.certificates._certify_anytime import ANYTIME
from jaxcert.certificates._cvar import CVAR
from jaxcert.certificates._each_task import EACH_TASK
from jaxcert.certificates._episode import EPISODE
from jaxcert.certificates._interval import INTERVAL
from jaxcert.certificates._mean import MEAN, MEAN_DIFFERENCE
from jaxcert.certificates._pairs_and_weights import IMPROVEMENT, WEIGHTED
from jaxcert.certificates._question import Question
from jaxcert.certificates._ranking import RANKING
from jaxcert.certificates._safety_level import SAFETY_LEVEL
from jaxcert.certificates._suite import SUITE
from jaxcert.certificates._suite_mean import SUITE_MEAN
from jaxcert.sequential._recorded import SEQUENTIAL

QUESTIONS: dict[str, Question] = {
    question.name: question
    for question in (
        SAFETY,
        SAFETY_LEVEL,
        BAND,
        ANYTIME,
        INTERVAL,
        MEAN,
        CVAR,
        EPISODE,
        SEQUENTIAL,
        WEIGHTED,
        SUITE,
        EACH_TASK,
        SUITE_MEAN,
        IMPROVEMENT,
        MEAN_DIFFERENCE,
        RANKING,
    )
}
