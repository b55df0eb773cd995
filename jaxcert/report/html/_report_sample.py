"""The returns that a page is of: of one policy, or of two on the same tasks."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxcert._validation import kind_of
from jaxcert.certificates._certificate import is_difference
from jaxcert.certificates._figures import REWEIGHTED, SAMPLED
from jaxcert.certificates._question import Question
from jaxcert.questions._answers import sampled
from jaxcert.returns import paired
from jaxcert.returns._prepared import Support
from jaxcert.tables import Returns
from jaxcert.tables._readers import ReturnsFile

_NOT_TWO = "certificate is about one policy; against is given, the returns of a second one"
_NOT_ONE = "certificate is about two policies; expected the returns of policy B (against=)"
_NO_NAMES = "policies is not given; expected the names of A and B, so that the page says which is which"


class Sample(NamedTuple):
    """What a page knows of the returns, beside the certificate.

    Attributes:
        returns: [n, m], or pairs of two policies; None for two with different numbers of rollouts.
        where: which rollouts count, or None for all.
        support: of the returns of each policy.
        tasks: the name of each task.
        means: the mean return of each task, [n]; of two policies the difference.
        counts: the number of rollouts of each task, [n], for each policy.
        policies: the names of two policies; empty for one.
    """

    returns: Any
    where: Any
    support: Support | None
    tasks: tuple[str, ...]
    means: np.ndarray
    counts: tuple[np.ndarray, ...]
    policies: tuple[str, ...] = ()

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
    returns: Any,
    where: Any,
    support: Support | None,
    tasks: Sequence[Any] | np.ndarray | None,
    against: Returns | None,
    policies: tuple[str, str] | None,
    data: ReturnsFile | None,
) -> Sample:
    """The returns of a page, or ValueError: of other tasks, other numbers of names, or policies without names."""
    means, count = _summed(num_tasks, returns, where)
    names = names_of(tasks, num_tasks)
    if against is None:
        return Sample(returns, where, support, names, means, (count,))
    means_b, count_b = _summed(num_tasks, against.returns, against.where)
    same = np.shape(returns) == np.shape(against.returns)
    pairs = paired(returns, against.returns, where_a=where, where_b=against.where) if same else None
    called = _called(policies, data, against)
    return Sample(pairs, None, support, names, means - means_b, (count, count_b), called)


def names_of(tasks: Sequence[Any] | np.ndarray | None, num_tasks: int) -> tuple[str, ...]:
    """The names of all tasks: their places, from 0, if they have none.

    Raises:
        ValueError: another number of names than tasks.
    """
    names = tuple(map(str, range(num_tasks) if tasks is None else tasks))
    if len(names) != num_tasks:
        raise ValueError(f"tasks are {len(names)} names; expected one for each of {num_tasks} tasks")
    return names


def _summed(num_tasks: int, returns: Any, where: Any) -> tuple[np.ndarray, np.ndarray]:
    """The mean return of each task and the number of its rollouts, [n] each."""
    values = np.where(True if where is None else np.asarray(where), np.asarray(returns, np.float64), np.nan)
    if values.ndim != 2 or len(values) != num_tasks:
        raise ValueError(f"certificate is of {num_tasks} tasks, returns have shape {values.shape}")
    return np.nanmean(values, axis=1), np.sum(~np.isnan(values), axis=1)


def _called(policies: Sequence[str] | None, *files: Any) -> tuple[str, str]:
    """What the policies are called: as is said, or by the names of their files."""
    if policies is None and all(isinstance(file, ReturnsFile) for file in files):
        policies = [file.path.name for file in files]
    if policies is None or len(policies) != 2 or policies[0] == policies[1]:
        raise ValueError(_NO_NAMES if policies is None else f"policies is {policies!r}; expected two different names")
    return str(policies[0]), str(policies[1])
