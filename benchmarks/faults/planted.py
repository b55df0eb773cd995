"""The faults: each is one small text put in the place of another, in one file of the package."""

from typing import NamedTuple


class Fault(NamedTuple):
    """A fault.

    Attributes:
        name: what it is.
        file: the file of the package in which it is planted.
        text: what stands there, exactly once.
        instead: what is planted in its place.
    """

    name: str
    file: str
    text: str
    instead: str

    @property
    def area(self) -> str:
        """The tests of its package, or of its module at the top."""
        package, *module = self.file.split("/")
        return f"tests/{package}" if module else f"tests/test{package}"


# As in a diff: the name and the file, the text, and what is planted.
_DIFF = """
sign-in-stirling numerics/_binomial_kernel.py
- - _stirling_error(k) - _stirling_error(n - k)
+ - _stirling_error(k) + _stirling_error(n - k)
closed-form-not-rounded numerics/_binomial_limits.py
- -less * (1 + 12 * slack)
+ -less
cast-to-nearest numerics/_rounding.py
- return _normal(jnp.where(_wrong_side(value, near, side), _towards(jnp, near, side), near), side)
+ return _normal(near, side)
sum-error-too-small numerics/_summation.py
- return math.ceil(math.log2(parts)), m + size - parts * size
+ return math.floor(math.log2(parts)), m + size - parts * size
mask-ignored bounds/_bound.py
- return excess if mask is None else jnp.where(mask, excess, 0)
+ return excess
two-sided-logarithm-forgotten bounds/_empirical_bernstein.py
- quotient(jnp.full_like(beta, 2), beta)
+ quotient(jnp.full_like(beta, 1), beta)
n-for-n-1 bounds/_bound.py
- squares / jnp.maximum(data.num_rollouts - 1, 1)
+ squares / jnp.maximum(data.num_rollouts, 1)
beta-for-1-beta numerics/_binomial_limits.py
- (log_level, log_rest) if upper else (log_rest, log_level)
+ (log_level, log_rest) if upper else (log_level, log_level)
greater-for-at-least certificates/_counting.py
- jax.vmap(jnp.searchsorted)(*flat)
+ jax.vmap(lambda a, v: jnp.searchsorted(a, v, side="right"))(*flat)
no-factor-of-beta certificates/_method.py
- jnp.minimum(risk * factor, 1.0)
+ jnp.minimum(risk, 1.0)
min-for-max-of-risks certificates/_scenario.py
- jnp.maximum(printed.epsilon, inflate(risk, beta))
+ jnp.minimum(printed.epsilon, inflate(risk, beta))
delta-for-half-of-it certificates/_interval.py
- part_of(levels[-1], sample.dtype.type(0.5))
+ levels[-1]
delta-not-divided-by-levels certificates/_counting.py
- solve(method.tail, violations, n, levels, delta_each, table, size=lower.shape[-1])
+ solve(method.tail, violations, n, levels, delta, None, size=lower.shape[-1])
soft-risk-not-rounded certificates/_averages.py
- risk = quotient(loss, rest) * (1 + 6 * unit_roundoff(loss.dtype))
+ risk = quotient(loss, rest)
min-for-max-over-levels certificates/_safety_level.py
- jnp.where(allowed > 0, -reached, jnp.inf)
+ jnp.where(allowed > 0, reached, jnp.inf)
one-success-too-many certificates/_anytime.py
- log_probability(k, n, q)
+ log_probability(k, n + 1, q)
crossings-off-by-one numerics/_crossing.py
- crossed = k - low + 1
+ crossed = k - low
fewer-pairs certificates/_ranking.py
- 1 / num_pairs
+ 1 / (num_pairs // 2)
radius-of-chi2-without-root certificates/_shift.py
- jnp.sqrt(radius) * jnp.sqrt(epsilon * (1 - epsilon))
+ radius * jnp.sqrt(epsilon * (1 - epsilon))
margin-of-weights-subtracted returns/_weighted.py
- - log_p + 256 * unit_roundoff(dtype) * size
+ - log_p - 256 * unit_roundoff(dtype) * size
inverse-frequencies returns/_strata.py
- wanted / sampled
+ sampled / wanted
any-delta-for-strata certificates/_method.py
- MOST_DELTA = 0.25
+ MOST_DELTA = 0.75
all-but-one-in-strata certificates/_method.py
- k < n - 1
+ k < n
any-requirement-for-all certificates/_intersection.py
- jnp.all(passes, axis=-3)
+ jnp.any(passes, axis=-3)
smallest-level-of-requirements certificates/_intersection.py
- jnp.max(levels, axis=-3)
+ jnp.min(levels, axis=-3)
most-for-least certificates/_required_metrics.py
- Metric(sample if of_two else sample.reflected, -threshold, per_task, of_failures=False)
+ Metric(sample, threshold, per_task, of_failures=False)
one-cap-for-all certificates/_mean.py
- _above_low(lower, room, alpha), low, good
+ _above_low(lower, room[:1], alpha), low, good
sentence-rounded-down certificates/_certificate.py
- and {ceil_to(upper, 4)}
+ and {floor_to(upper, 4)}
same-key-for-all-rollouts rollouts/_rounds.py
- (task, number)
+ (task, 0 * number)
action-not-finite-unnoticed rollouts/_queue.py
- finite=episodes.finite & (good | ~alive)
+ finite=episodes.finite
boldest-bet-alone sequential/_wealth.py
- return mean_wealth_down([self.wealth[..., i] for i in range(self.wealth.shape[-1])])
+ return jnp.max(self.wealth, axis=-1)
impossible-return-taken sequential/_wealth.py
- fits = possible(x, state.low, state.high, False)
+ fits = possible(x, state.low, jnp.inf, False)
whole-delta-for-each-policy sequential/_pairs.py
- * np.asarray(share, dtype)
+ * np.asarray(1, dtype)
withdrawn-pair-forgotten rollouts/_paired_trials.py
- if pair in lost:
+ if False:
one-task-too-few planning/_least_tasks.py
- return np.where(possible, good, 0)
+ return np.where(possible, fails, 0)
digest-not-compared report/_verify.py
- if document["digest"] != document_digest(document)
+ if document["digest"] is None
protocol-not-compared report/_protocol_check.py
- elif document["protocol"] != locked.digest
+ elif document["protocol"] == ""
exit-status-of-verify cli/_verify_command.py
- if not found.ok:
+ if False:
file-replaced tables/_files.py
- (os.replace if replace else _move_to_free)(temporary, target)
+ os.replace(temporary, target)
array-not-read-to-its-end tables/_arrays.py
- if file.read(1):
+ if False:
mask-of-a-slice-forgotten sweep/_slices.py
- None if self.where is None else self.where[place]
+ None
gravity-upwards tasks/pendulum.py
- - _GRAVITY / length * jnp.sin(state.angle)
+ + _GRAVITY / length * jnp.sin(state.angle)
avoided-until-reached tasks/zones/_formula.py
- kept = ~jnp.any(task.avoid & holds, axis=-1) & ~after
+ kept = ~after
delta-spent-twice training/_checkpoint_budget.py
- if self.spent + Fraction(delta) > Fraction(budget.delta)
+ if Fraction(delta) > Fraction(budget.delta)
"""
_LINES = _DIFF.strip().splitlines()
FAULTS = tuple(
    Fault(head.split()[0], head.split()[1], text.removeprefix("- "), instead.removeprefix("+ "))
    for head, text, instead in zip(_LINES[::3], _LINES[1::3], _LINES[2::3], strict=True)
)
