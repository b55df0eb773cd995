"""Bad input: refused by name where it can be read, and nothing is certified from it under a trace."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from asked import spoilt, ways

from jaxcert import Status, certify_lower_bounds, certify_lower_bounds_band, certify_tail, paired, weighted
from jaxcert.returns.summaries import Histogram

WAYS = ways()
WAYS["scenario"] = WAYS["safety"].asked(method="scenario")
WAYS["each_task, complete"] = WAYS["each_task"].asked(complete=True)
X = np.random.default_rng(0).permuted(np.linspace(0.2, 0.8, 1200, dtype=np.float32).reshape(40, 30), axis=1)
GOOD = {"support": (0.0, 1.0), "delta": 0.1}
WEIGHTS = np.where(np.arange(40) % 4, 2 / 3, 2.0)


def successes(x) -> dict:
    """As numbers, with the values that are none."""
    where = (jnp if isinstance(x, jax.Array) else np).where
    return {"returns": where((x >= 0) & (x <= 1) & (x != 0.5), (x > 0.3).astype(x.dtype), x)}


WAYS["attained"], WAYS["attained safety_level"] = (
    WAYS[name].asked(method="attained")._replace(data=successes) for name in ("safety", "safety_level")
)
WAYS["attained masked"] = WAYS["attained"].asked(where=np.ones(X.shape, bool))


OUTSIDE = r"(, outside the support \(0, 1\)|; expected binary returns)"
# Of every question that has the setting.
REFUSED = [
    ({"x": spoilt(X, np.nan)}, "return of task .*3.*, rollout 4 is nan; expected a finite number"),
    ({"x": spoilt(X, np.inf)}, "return of task .*3.*, rollout 4 is inf; expected a finite number"),
    ({"x": X[0]}, r"returns.* have shape|have tasks of shape"),
    ({"x": X[:0]}, "hold no tasks"),
    ({"x": X[:, :0]}, "hold no rollouts"),
    ({"x": X.astype(complex)}, "has dtype complex128; expected real numbers"),
    ({"delta": 0.0}, r"delta is 0; expected a probability in \(0, 1\)"),
    ({"delta": 1.0}, r"delta is 1; expected a probability in \(0, 1\)"),
    ({"delta": np.nan}, r"delta is nan; expected a probability in \(0, 1\)"),
    ({"delta": [0.1, 0.2]}, r"delta has shape \(2,\); expected a scalar"),
    ({"x": spoilt(X, 1.5), "support": (0.0, 1.0)}, rf"rollout 4 is 1.5{OUTSIDE}"),
    ({"x": spoilt(X, -0.5), "support": (0.0, 1.0)}, rf"rollout 4 is -0.5{OUTSIDE}"),
    ({"support": None}, "support is None; expected a pair"),
    ({"support": (1.0, 0.0)}, r"support is \(1, 0\); expected a < b"),
    ({"bound": "none"}, "bound is 'none'[;,] .*expected"),
    ({"method": "none"}, "method is 'none'; expected one of"),
    ({"beta": 1.0}, "beta is 1; expected a probability"),
    ({"beta": np.array([0.1, 0.2])}, "beta has shape"),
    ({"beta": "best"}, "beta is 'best'"),
    ({"thresholds": [0.1, np.nan]}, r"thresholds\[1\] is nan; expected a finite number"),
    ({"thresholds": np.inf}, "thresholds is inf; expected a finite number"),
    ({"thresholds": []}, r"thresholds have shape \(0,\)"),
    ({"thresholds": [[0.1]]}, r"thresholds have shape \(1, 1\)"),
    ({"margins": [0.1, np.nan]}, r"margins\[1\] is nan; expected a finite number"),
    ({"safety": 0.0}, "safety is 0; expected a probability"),
    ({"safety": [0.1, 1.0]}, r"safety\[1\] is 1; expected a probability"),
    ({"safety": np.nan}, "safety is nan"),
    ({"where": np.zeros(X.shape, bool)}, "task .*0.* has every rollout masked"),
    ({"where": np.ones((40, 29), bool)}, "where has shape"),
]


@pytest.mark.parametrize("name", WAYS)
def test_every_question_refuses(name):
    way = WAYS[name]
    for change, message in REFUSED:
        given = way.among(GOOD) | change
        # Successes need no support, and several policies have a mask each.
        apart = (name.split()[0], *change) in {("attained", "support"), ("ranking", "where")}
        if all(way.takes(setting) for setting in given.keys() - {"x"}) and not apart:
            with pytest.raises(ValueError, match=message):
                way(given.pop("x", X), **given)


def says_nothing(found) -> bool:
    if hasattr(found, "order"):
        return np.array_equal(found.order, np.eye(2, dtype=bool)) and np.isneginf(found.differences).all()
    if hasattr(found, "num_good") and found.source == "listed":
        return not np.any(found.num_good) and not np.any(getattr(found, "num_bad", False))
    if hasattr(found, "mean"):
        return np.isneginf(found.mean).all()
    upper = getattr(found, "safety_upper", None)
    ends = found.epsilon, 1 if upper is None else upper
    return not np.any(found.safety) and all(np.all(end == 1) for end in ends)


# Of the other policy alone, too, with as many rollouts and with more.
ONES = np.ones_like(X)
PAIRS, WEIGHED = ("safety", "soft", "safety_level", "band", "interval", "anytime", "mean", "cvar"), ("mean", "cvar")
TRACED_WAYS = WAYS | {
    **{f"{name} of pairs": WAYS[name]._replace(data=lambda x: {"returns": paired(x, 0 * X)}) for name in PAIRS},
    **{
        f"{name} of weighted": WAYS[name]._replace(data=lambda x: {"returns": weighted(x, np.ones(40), max_weight=1.5)})
        for name in WEIGHED
    },
    "improvement on it": WAYS["improvement"]._replace(data=lambda x: {"returns_a": ONES, "returns_b": x}),
    "improvement of more": WAYS["improvement"]._replace(data=lambda x: {"returns_a": ONES[:, :20], "returns_b": x}),
    "difference to it": WAYS["mean_difference"]._replace(data=lambda x: {"returns_a": ONES, "returns_b": x}),
}
# Where it is traced.
TRACED = [
    *({"delta": bad} for bad in (0.0, 1.0, 2.5, -0.1, np.nan)),
    *({"low": np.nan}, {"low": -np.inf}, {"low": 2.0}, {"high": np.nan}, {"high": 0.0}),
    *({"x": spoilt(X, bad)} for bad in (1.5, -0.5, np.inf, -np.inf)),
    *({"beta": bad} for bad in (1.0, -1.0, 1.5, np.nan)),
    *({"at": bad} for bad in (np.nan, np.inf, -np.inf)),
]


@pytest.mark.parametrize("name", TRACED_WAYS)
def test_nothing_is_certified_from_what_cannot_be_refused(name):
    way = TRACED_WAYS[name]
    settings = {"delta": "delta", "at": next(filter(way.takes, ("thresholds", "margins", "safety", "alpha")), None)}
    settings["beta"] = "beta" if way.takes("beta") and name != "auto" else None

    @jax.jit
    def call(x, low, high, **given):
        support = {"support": (low, high)} if way.takes("support") else {}
        return way(x, **support, **{settings[each]: value for each, value in given.items() if settings.get(each)})

    def found(**change):
        given = {"x": X, "at": 0.1, "delta": 0.1, "low": 0.0, "high": 1.0, "beta": 0.01} | change
        return call(**{each: jnp.float32(value) for each, value in given.items()})

    good = found()
    assert not says_nothing(good)
    for change in [*TRACED, *[{"x": spoilt(X, 0.5)}] * name.startswith("attained")]:
        ((setting, bad),) = change.items()
        known = hasattr(good, "num_good") and setting == "at" and np.isinf(bad)  # which tasks of a list reach it
        if settings.get(setting, way.takes("support")) and not known:
            nothing = found(**change)
            assert says_nothing(nothing), change
            assert np.all(nothing.status == Status.INVALID_INPUT), change
            assert not way.takes("safety") or np.all(np.isneginf(nothing.thresholds)), change
    assert says_nothing(found(beta=0.0)) or not settings["beta"]
    missing = found(x=spoilt(X, np.nan))
    assert np.all(missing.status == Status.INVALID_INPUT)
    if hasattr(missing, "lower_bounds"):
        assert np.flatnonzero(np.isneginf(missing.lower_bounds)).tolist() == [3]
    if getattr(missing, "upper_bounds", None) is not None:
        assert np.flatnonzero(np.isposinf(missing.upper_bounds)).tolist() == [3]
    assert says_nothing(missing) or (not hasattr(missing, "mean") and not hasattr(missing, "order"))


@pytest.mark.parametrize("name", [name for name, way in WAYS.items() if way.takes("where") and name != "ranking"])
def test_what_is_masked_may_be_anything(name):
    way = WAYS[name]
    where = np.arange(30) < np.random.default_rng(0).integers(20, 31, (40, 1))
    found, *others = (way(np.where(where, X, other), **way.among(GOOD), where=where) for other in (0.5, np.nan, 7.0))
    assert not says_nothing(found)
    for other in others:
        assert jax.tree.all(jax.tree.map(np.array_equal, found, other))


SUCCESSES = np.arange(30) < np.arange(40)[:, None]
HISTOGRAM = Histogram.empty(40, support=(0, 1), num_bins=9)
FIRST = np.tile(np.arange(30) < 1, (40, 1))
OPEN = (0.0, np.inf)
NAMES = [str(task) for task in range(40)]
UNREADABLE = "a probability that float32 can tell from 0 and 1"
# Of one question alone.
OWN = [
    ("safety", {"support": (-1e300, 1.0)}, r"support holds -1e\+300; expected numbers within the range of float32"),
    ("safety", {"bound": "clopper_pearson"}, r"task 0, rollout 0 is .*; expected binary returns, 0 or 1"),
    ("safety", {"beta": 1e-44}, rf"beta is 1e-44; expected {UNREADABLE}"),
    ("safety", {"beta": 1 - 1e-12}, rf"beta is 1; expected {UNREADABLE}"),
    ("safety", {"delta": 1e-50}, rf"delta is 1e-50; expected {UNREADABLE}"),
    ("safety", {"delta": None}, r"delta has dtype object; expected real numbers"),
    ("safety", {"delta": "a"}, "delta is 'a'; expected a number"),
    ("safety", {"thresholds": 1e300}, r"thresholds is 1e\+300; expected a number within the range of float32"),
    ("safety", {"x": X.T}, r"look as if their axes were swapped"),
    ("safety", {"x": X.T, "where": np.ones((30, 40), bool)}, r"look as if their axes were swapped"),
    ("safety", {"x": X.astype(np.float64) * 0 + (1 + 1e-10)}, r"is 1\.0000000001, outside the support"),
    ("safety", {"x": np.full((20, 5), 1 + 1e-10), "bound": "clopper_pearson"}, r"expected binary returns"),
    ("safety", {"x": X.astype("m8[s]")}, r"returns has dtype timedelta64\[s\]; expected real numbers"),
    ("mean", {"bound": "dkw"}, "bound is 'dkw'; expected one of betting, hoeffding"),
    ("mean", {"bound": "hoeffding", "support": OPEN}, "hoeffding needs a finite upper end"),
    ("mean", {"bound": "clopper_pearson"}, "bound is 'clopper_pearson'; expected one of betting, hoeffding"),
    ("mean", {"bound": "clopper_pearson", "x": X[:, :1]}, "expected binary returns"),
    ("cvar", {"alpha": 0.0}, r"alpha is 0; expected a share in \(0, 1\]"),
    ("cvar", {"alpha": [0.5, 1.5]}, r"alpha\[1\] is 1.5; expected a share"),
    ("cvar", {"alpha": np.nan}, "alpha is nan"),
    ("cvar", {"alpha": "all"}, "alpha has dtype"),
    ("cvar", {"alpha": [[0.1]]}, r"alpha have shape \(1, 1\)"),
    ("cvar", {"cap": 0.0}, "cap is 0; expected a number above 0, up to 1: in the support"),
    ("cvar", {"cap": 1.5}, "cap is 1.5; expected a number above 0"),
    ("cvar", {"cap": np.inf, "support": OPEN}, "cap is inf; expected a number above 0"),
    ("cvar", {"cap": np.nan}, "cap is nan"),
    ("cvar", {"alpha": [0.1, 0.2], "cap": [1.0, 0.5, 0.3]}, r"do not broadcast: alpha \(2,\), cap \(3,\)"),
    ("episode", {"x": HISTOGRAM}, "returns are a summary, without single rollouts"),
    ("episode", {"num_episodes": 31}, r"30 rollouts per task; certify_episode\(num_episodes=31\) needs at least 31"),
    ("episode", {"num_episodes": 0}, "num_episodes is 0; expected a whole number of at least 1"),
    ("episode", {"num_episodes": 2.5}, "num_episodes is 2.5; expected a whole number"),
    (
        "episode",
        {"num_episodes": 3, "where": FIRST},
        r"task 0 has 1 rollout that .*; certify_episode\(num_episodes=3\)",
    ),
    ("anytime", {"beta": "auto"}, "beta is 'auto'"),
    ("band", {"beta": "auto"}, "beta is 'auto'; expected a number"),
    ("band", {"support": (0, 2), "x": SUCCESSES}, r"support \(0, 1\)"),
    ("safety", {"support": (0, 2), "method": "attained", "x": SUCCESSES}, r"support \(0, 1\)"),
    ("safety", {"bound": "hoeffding", "method": "attained", "x": SUCCESSES}, "clopper_pearson"),
    ("safety", {"support": (2, 3), "x": SUCCESSES, "bound": "betting"}, "the return of task 0, rollout"),
    ("safety", {"support": (0.5, 1), "x": SUCCESSES, "bound": "betting"}, "the return of task 0, rollout"),
    ("safety", {"support": (0, 0.5), "x": SUCCESSES, "bound": "betting"}, "the return of task 1, rollout"),
    ("interval", {"complete": False}, "complete is False; expected True, which declares"),
    ("interval", {"complete": 1}, "complete is 1; expected True"),
    ("interval", {"support": OPEN}, r"support is \(0, inf\); betting needs a finite upper end"),
    ("interval", {"beta": "auto"}, "beta is 'auto'; expected a number"),
    ("interval", {"beta_upper": 1.5}, "beta_upper"),
    ("interval", {"x": HISTOGRAM, "support": None}, "returns are a summary, which cannot be reflected"),
    ("soft", {"x": HISTOGRAM, "support": None}, "summary"),
    ("soft", {"bound": "dkw"}, "bound is 'dkw', which has no effect with method 'soft'"),
    ("soft", {"bound": "clopper_pearson"}, "bound is 'clopper_pearson', which has no effect with method 'soft'"),
    ("auto", {"beta": np.array(["auto"])}, "beta has dtype <U4; expected real numbers"),
    ("auto", {"method": "scenario"}, "beta is 'auto'; expected a number"),
    ("safety_level", {"beta": "auto"}, "beta is 'auto'; expected a number"),
    ("sequential", {"beta": "auto"}, "beta"),
    ("suite", {"x": weighted(X, np.ones(40), max_weight=1.0)}, "weighted"),
    ("suite_mean", {"bound": "hoeffding"}, "bound is 'hoeffding'; expected one of betting, clopper_pearson"),
    ("suite_mean", {"bound": "clopper_pearson"}, "0 or 1"),
    ("suite_mean", {"x": weighted(X, np.ones(40), max_weight=1.0)}, "weighted"),
    ("each_task", {"complete": 1}, "complete is 1; expected True"),
    ("each_task", {"complete": True, "support": OPEN}, "finite upper end"),
    ("each_task", {"tasks": ["a"]}, "1 names; expected one for each of 40 tasks"),
    ("each_task", {"tasks": [*NAMES[1:], NAMES[1]]}, "tasks hold '1' twice"),
    ("each_task", {"tasks": [*NAMES[1:], "a\nWith confidence 1:"]}, "expected names of printable"),
    ("weighted", {"weights": np.r_[np.nan, WEIGHTS[1:]]}, r"weights\[0\] is nan; .* from 0 to max_weight, 2"),
    ("weighted", {"weights": -WEIGHTS}, r"weights\[0\] is -2; expected a density ratio"),
    ("weighted", {"max_weight": 1.5}, r"weights\[0\] is 2; expected a density ratio from 0 to max_weight, 1.5"),
    ("weighted", {"weights": WEIGHTS[1:]}, r"weights have shape \(39,\); expected one for each task, \(40,\)"),
    ("weighted", {"weights": 1.0}, r"weights have shape \(\); expected one for each task"),
    ("weighted", {"weights": "heavy"}, "weights has dtype"),
    ("weighted", {"weights": WEIGHTS / 20}, "weights of 40 tasks have a mean of 0.05; .* at most 2 have a mean of 1"),
    ("weighted", {"weights": np.full(40, 1.99)}, "expected the ratio of two normalised densities"),
    ("weighted", {"weights": np.full(40, 0.9), "max_weight": 1}, "weights of 40 tasks have a mean of 0.9"),
    ("weighted", {"max_weight": 0.9}, "max_weight is 0.9; expected a finite number of at least 1"),
    ("weighted", {"max_weight": np.inf}, "max_weight is inf; expected a finite number of at least 1"),
    ("weighted", {"max_weight": [1.0, 2.0]}, r"max_weight has shape \(2,\); expected a scalar"),
    ("weighted", {"method": "scenario"}, "method is 'scenario'; expected one of binomial, soft, attained"),
    ("weighted", {"method": "soft", "bound": "dkw"}, "bound is 'dkw', which has no effect with method 'soft'"),
    ("weighted", {"beta": "auto"}, "beta is 'auto'; expected a number"),
    ("ranking", {"data": X}, r"returns have shape \(40, 30\); expected \[..., num_policies, num_tasks, num_rollouts\]"),
    ("ranking", {"data": X[None]}, r"returns have shape \(1, 40, 30\)"),
    ("ranking", {"bound": "clopper_pearson"}, "expected one of betting, hoeffding"),
    ("ranking", {"bound": "clopper_pearson", "x": X[:, :1]}, "binary returns, 0 or 1"),
    ("ranking", {"bound": "clopper_pearson", "x": SUCCESSES[:, :1] * 1.0, "support": (0, 2)}, r"support is \(0, 2\)"),
    ("ranking", {"bound": "dkw"}, "expected one of betting, hoeffding"),
    ("ranking", {"support": OPEN}, "finite upper end"),
    ("ranking", {"data": Histogram.empty((2, 40), support=(0, 1), num_bins=9)}, "returns are a summary"),
    ("mean_difference", {"bound": "dkw"}, "bound is 'dkw'; expected one of betting, hoeffding"),
]
TWO = [
    ({"returns_a": spoilt(X, np.nan)}, "returns_a: the return of task 3, rollout 4 is nan; expected a finite number"),
    ({"returns_b": spoilt(X, 1.5)}, r"returns_b: the return of task 3, rollout 4 is 1.5, outside the support \(0, 1\)"),
    ({"returns_a": X[0], "returns_b": X[0]}, r"returns_a: returns have shape \(30,\)"),
    ({"returns_b": X[:7]}, r"returns_a and returns_b have tasks of shapes \(40,\) and \(7,\); expected the same"),
    ({"returns_b": HISTOGRAM}, "returns_b are a summary"),
    ({"support": None}, "returns_a: support is None; expected a pair"),
    ({"support": OPEN}, "a difference needs a finite upper end"),
    ({"where_a": np.zeros(X.shape, bool)}, "returns_a: task 0 has every rollout masked"),
    ({"where_b": FIRST[:, :2]}, "returns_b: where has shape"),
]
BERNSTEIN = {"bound": "empirical_bernstein"}
BETTER = [
    ({"bound": "clopper_pearson"}, "bound is 'clopper_pearson', which is for binary returns"),
    (
        {"method": "soft", "returns_b": X[:, :5]},
        "returns_a have 30 rollouts per task and returns_b 5; expected as",
    ),
    ({"returns_b": X[:, :1], **BERNSTEIN}, "returns_b: returns have 1 rollout per task; empirical_bernstein of a diff"),
    ({"returns_b": X[:, 1:], "where_a": FIRST, **BERNSTEIN}, "returns_a: task 0 has 1 rollout that is not masked; emp"),
    ({"where_a": FIRST, "where_b": ~FIRST}, "task 0 has 0 rollouts that both where_a and where_b let count; betting"),
]
OWN += [(name, change, message) for name in ("mean_difference", "improvement") for change, message in TWO]
OWN += [("improvement", *row) for row in BETTER]


@pytest.mark.parametrize(("name", "change", "message"), OWN)
def test_a_question_refuses(name, change, message):
    way, settings = WAYS[name], dict(change)
    data = way.data(settings.pop("x", X)) if "data" not in settings else {"returns": settings.pop("data")}
    if name == "weighted":
        data |= {"weights": WEIGHTS}
        settings = {"max_weight": 2.0} | settings
    with pytest.raises(ValueError, match=message):
        way.function(**{**data, **way.among(GOOD), **way.fixed, **settings})


LOWER, GIVEN = np.arange(9.0), {"delta": 0.1, "beta": 0.1}
given_bounds = functools.partial(certify_lower_bounds, thresholds=0.5, **GIVEN)
band = functools.partial(certify_lower_bounds_band, thresholds=None, **GIVEN)
OTHERS = [
    (lambda: given_bounds(LOWER, beta="auto"), "beta is 'auto'; expected a number"),
    (lambda: given_bounds([0.1, np.nan]), r"lower_bounds\[1\] is nan; expected a finite number, or -inf"),
    (lambda: given_bounds([np.inf, 0.1]), r"lower_bounds\[0\] is inf; expected a finite number, or -inf"),
    (lambda: given_bounds([]), r"lower_bounds have shape \(0,\)"),
    (lambda: band(LOWER, beta="auto"), "beta is 'auto'; expected a number"),
    (lambda: band(np.full(3, np.nan)), r"lower_bounds\[0\] is nan"),
    (lambda: certify_tail(band(LOWER), 0.0), "shares is 0; expected a probability"),
    (lambda: certify_tail(band(LOWER), [0.5, 1.0]), r"shares\[1\] is 1; expected a probability"),
    (lambda: certify_tail(band(LOWER), [[0.5]]), r"shares have shape \(1, 1\); expected a scalar or"),
]


@pytest.mark.parametrize(("call", "message"), OTHERS)
def test_functions_beside_the_questions_refuse(call, message):
    with pytest.raises(ValueError, match=message):
        call()
