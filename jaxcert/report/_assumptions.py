"""What every certificate rests on, in words, and where its methods come from."""

ASSUMPTIONS = (
    "The tasks were sampled independently from the distribution that new tasks come from or, where a statement names "
    "another one, from a distribution that differs from it as stated.",
    "Given the tasks, all rollouts are independent: every rollout of every task had a seed of its own.",
    "The policy was fixed beforehand; neither these tasks nor these rollouts had a part in its training or selection.",
    "Every return that is possible lies in the declared support.",
    "Thresholds (or safety), delta, beta, bound, method and the numbers of tasks and rollouts were settled before the "
    "data were seen; the number of tasks need not be where a statement holds at every moment of their sampling.",
    "No task was left out, and whether a rollout is missing does not depend on its outcome.",
)
_THEORY = "jaxcert, theory page"
REFERENCES = {
    "betting": f"{_THEORY}, section 3.5; Ming, Shen and Wang, arXiv 2603.10329, theorem 1",
    "clopper_pearson": "Clopper and Pearson, Biometrika 26, 1934",
    "dkw": "Massart, Annals of Probability 18, 1990, corollary 1",
    "empirical_bernstein": "Maurer and Pontil, COLT 2009, theorem 4",
    "hoeffding": "Hoeffding, Journal of the American Statistical Association 58, 1963, theorem 2",
    "binomial": f"{_THEORY}, section 2",
    "scenario": "Schnitzer, Jackermeier, Abate and Parker, ICML 2026, arXiv 2602.02098, theorem 5.1",
    "soft": f"{_THEORY}, section 9",
    "attained": f"{_THEORY}, section 12",
    "equal_local_levels": "jaxcert, page on all thresholds at once",
    "attained_levels": f"{_THEORY}, section 12.4",
    "num_smallest": "jaxcert, page on all thresholds at once",
}
