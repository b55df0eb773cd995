"""The returns that a page is of: of one policy, or of two on the same tasks."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert._validation import kind_of
from jaxcert.certificates._certificate import is_difference
from jaxcert.certificates._figures import REWEIGHTED, SAMPLED
from jaxcert.certificates._question import Question
from jaxcert.questions._answers import sampled
from jaxcert.returns._prepared import Support
from jaxcert.tables import Returns

_NOT_TWO = "certificate is about one policy; against is given, the returns of a second one"
_NOT_ONE = "certificate is about two policies; expected the returns of policy B (against=)"


class Sample(NamedTuple):
    """A page's knowledge of the returns, beside the certificate."""

    means: np.ndarray  # the mean return of each task, [n]; of two policies the difference
    support: Support | None = None  # of the returns of each policy
    data: Sequence[Returns] = ()  # of the policy, or of A and of B
    tasks: tuple[str, ...] = ()  # their names
    policies: tuple[str, ...] = ()  # the names of two policies; empty for one

    @property
    def counts(self) -> list[np.ndarray]:
        """The number of rollouts of each task, [n], for each policy."""
        return [each.num_rollouts for each in self.data]

    @property
    def returned(self) -> str:
        """The quantity that a task's mean averages."""
        return "difference" if self.policies else "return"

    @property
    def num_rollouts(self) -> int:
        """The most rollouts that a task has, of either policy."""
        return max(int(count.max()) for count in self.counts)

    @property
    def least(self) -> float:
        """The least that is possible: the lower end of the support, or of the differences."""
        low, high = self.support or (-np.inf, np.inf)
        return float(low) - float(high) if self.policies else float(low)


def check_policies(certificate: Any, question: Question, against: Returns | None) -> None:
    """Raise ValueError unless the answer is one that a page shows, about as many policies as there are returns of."""
    on_sampled = getattr(certificate, "source", SAMPLED) != REWEIGHTED and sampled(certificate) is certificate
    of_returns = all(name.startswith("returns") for name in question.inputs)
    if not (on_sampled and of_returns and question.rows.columns):
        instead = "a page shows what one policy or two do, on tasks like the sampled ones (to_json writes any)"
        raise ValueError(f"certificate is {kind_of(certificate)}; {instead}")
    is_of_two = is_difference(getattr(certificate, "quantity", ""))
    if is_of_two != (against is not None):
        raise ValueError(_NOT_ONE if is_of_two else _NOT_TWO)


def sample_of(
    num_tasks: int,
    data: Sequence[Returns],
    support: Support | None,
    tasks: Sequence[Any] | np.ndarray | None = None,
    policies: Sequence[str] = ("A", "B"),
) -> Sample:
    """The returns of a page, of one policy or of two with their tasks in one order; ValueError for other tasks."""
    for each in data:
        if each.returns.ndim != 2 or len(each.returns) != num_tasks:
            raise ValueError(f"certificate is of {num_tasks} tasks, returns have shape {each.returns.shape}")
    means, *others = (each.means for each in data)
    names = names_of(tasks, num_tasks)
    return Sample(means - others[0] if others else means, support, data, names, tuple(policies) if others else ())


def names_of(tasks: Sequence[Any] | np.ndarray | None, num_tasks: int) -> tuple[str, ...]:
    """The names of all tasks: their places, from 0, if they have none."""
    names = tuple(map(str, range(num_tasks) if tasks is None else tasks))
    if len(names) != num_tasks:
        raise ValueError(f"tasks are {len(names)} names; expected one for each of {num_tasks} tasks")
    return names
