"""Every public function that computes lowers for NVIDIA's GPUs and for TPUs, from a machine that has neither."""

import jax
import jax.export
import jax.numpy as jnp
import pytest
from conftest import x64_context
from jaxprs import inner_programs

import jaxcert
from jaxcert import bounds, numerics
from jaxcert.rollouts import discounted_return
from jaxcert.rollouts.summaries import Histogram, Moments
from jaxcert.tasks import simple_grid

SUPPORT = (0.0, 1.0)
BETS = (0.5, 1.0)
WORLD = simple_grid.ENV, simple_grid.POLICY
RUN = {"num_tasks": 20, "max_rollouts": 500, "delta": 0.01, "validate": False}
X = jax.ShapeDtypeStruct((20, 10), jnp.float32)
ROW = jax.ShapeDtypeStruct((7,), jnp.float32)
SCALAR = jax.ShapeDtypeStruct((), jnp.float32)


def certificate(**options):
    return lambda x, row: jaxcert.certify(x, row, support=SUPPORT, delta=0.01, **options).safety


def bound(name):
    return lambda x, beta: getattr(bounds, name)(x, beta, support=SUPPORT)


def epsilon(name):
    return lambda k, beta: getattr(jaxcert, name)(k, 100, beta, 0.01)


FUNCTIONS = {
    "certify": (certificate(), (X, ROW)),
    "certify, the paper's method": (certificate(bound="empirical_bernstein", method="scenario"), (X, ROW)),
    "certify, soft counts": (certificate(method="soft"), (X, ROW)),
    "certify, the level from the data": (certificate(beta="auto"), (X, ROW)),
    "certify_sequential": (
        lambda x, row: jaxcert.certify_sequential(x, row, support=SUPPORT, delta=0.01, bets=BETS).safety,
        (X, ROW),
    ),
    "certify_adaptive": (
        lambda row: (
            jaxcert.certify_adaptive(
                simple_grid.ENV, simple_grid.POLICY, jax.random.key(0), row, **RUN
            ).certificate.safety
        ),
        (ROW,),
    ),
    "certify, Clopper-Pearson": (certificate(bound="clopper_pearson"), (X, ROW)),
    "certify_safety_level": (
        lambda x, row: jaxcert.certify_safety_level(x, row, support=SUPPORT, delta=0.01).thresholds,
        (X, ROW),
    ),
    "certify_safety_level, together": (
        lambda x: jaxcert.certify_safety_level(x, [0.5, 0.8], simultaneous=True, support=SUPPORT, delta=0.2).thresholds,
        (X,),
    ),
    "certify_tail": (
        lambda x, row: jaxcert.certify_tail(jaxcert.certify_band(x, row, support=SUPPORT, delta=0.2), 0.5).cvar,
        (X, ROW),
    ),
    "certify_interval": (
        lambda x, row: jaxcert.certify_interval(x, row, support=SUPPORT, delta=0.01, complete=True).safety_upper,
        (X, ROW),
    ),
    "certify_mean": (lambda x: jaxcert.certify_mean(x, support=SUPPORT, delta=0.01).mean, (X,)),
    "certify_cvar": (lambda x, row: jaxcert.certify_cvar(x, row, cap=0.5, support=SUPPORT, delta=0.01).mean, (X, ROW)),
    "certify_episode": (lambda x, row: jaxcert.certify_episode(x, row, delta=0.01).safety, (X, ROW)),
    "certify_improvement": (
        lambda x, row: jaxcert.certify_improvement(x, x[:, :5], row, support=SUPPORT, delta=0.01).safety,
        (X, ROW),
    ),
    "certify_improvement, pairs": (
        lambda x, row: jaxcert.certify_improvement(x, x[::-1], row, support=SUPPORT, delta=0.01).safety,
        (X, ROW),
    ),
    "certify_mean_difference": (
        lambda x: jaxcert.certify_mean_difference(x, x[:, :5], support=SUPPORT, delta=0.01).mean,
        (X,),
    ),
    "certify_ranking": (
        lambda x: jaxcert.certify_ranking(jnp.stack([x, x[::-1]]), support=SUPPORT, delta=0.01).order,
        (X,),
    ),
    "consecutive_successes_threshold": (lambda row: jaxcert.consecutive_successes_threshold(row, 5), (ROW,)),
    "certify_lower_bounds": (
        lambda lower, row: jaxcert.certify_lower_bounds(lower, row, delta=0.01, beta=0.05).safety,
        (ROW, ROW),
    ),
    "certify_shift": (
        lambda lower, row, radius: (
            jaxcert.certify_shift(
                jaxcert.certify_lower_bounds(lower, row, delta=0.01, beta=0.05),
                divergence="kl",
                radius=radius,
                performance_shift=radius,
            ).safety
        ),
        (ROW, ROW, SCALAR),
    ),
    **{
        f"shifted_epsilon, {name}": (
            lambda risk, radius, name=name: jaxcert.shifted_epsilon(risk, radius, divergence=name),
            (ROW, SCALAR),
        )
        for name in ("chi2", "kl", "ratio", "total_variation")
    },
    **{name: (bound(name), (X, SCALAR)) for name in bounds.__all__},
    **{name: (epsilon(name), (ROW, SCALAR)) for name in ("binomial_epsilon", "scenario_epsilon")},
    **{
        name: (getattr(numerics, name), (ROW, ROW, ROW))
        for name in ("binomial_cdf", "binomial_sf", "clopper_pearson_lower", "clopper_pearson_upper")
    },
    "discounted_return": (lambda x: discounted_return(x, discount=0.99), (X,)),
    "Histogram": (lambda x: Histogram.empty(20, support=SUPPORT, num_bins=8).update(x).counts, (X,)),
    "Moments": (lambda x: Moments.empty(20, support=SUPPORT).update(x).standard_deviation_up(), (X,)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_lowers_for_cuda_and_tpu(name):
    function, shapes = FUNCTIONS[name]
    for platform in ("cuda", "tpu"):
        exported = jax.export.export(jax.jit(function), platforms=[platform])(*shapes)
        assert exported.platforms == (platform,)
        # One program, without callbacks to the host.
        assert "callback" not in exported.mlir_module()


def equations(program):
    """Of a program and of all programs in it."""
    for equation in program.jaxpr.eqns:
        yield equation
        for inner in inner_programs(equation):
            yield from equations(inner)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_rounding_that_xla_leaves_out_on_a_gpu(name, precision):
    """There, rounding a value to its own type does nothing, nor does a conversion to a narrower type and back."""
    function, shapes = FUNCTIONS[name]
    with x64_context(precision == "float64"):
        shapes = [jax.ShapeDtypeStruct(shape.shape, precision) for shape in shapes]
        for equation in equations(jax.make_jaxpr(function)(*shapes)):
            assert not _rounds_to_its_own_type(equation), equation
            assert not _narrows(equation), equation


def _rounds_to_its_own_type(equation):
    if equation.primitive.name != "reduce_precision":
        return False
    info = jnp.finfo(equation.invars[0].aval.dtype)
    return (equation.params["exponent_bits"], equation.params["mantissa_bits"]) == (info.nexp, info.nmant)


def _narrows(equation):
    if equation.primitive.name != "convert_element_type":
        return False
    return (equation.invars[0].aval.dtype, equation.outvars[0].aval.dtype) == (jnp.float64, jnp.float32)


def test_a_conversion_to_a_narrower_type_is_rounded_before(x64):
    program = jax.make_jaxpr(lambda x: numerics._rounding.cast(x, "float32", "down"))(jnp.ones(3))
    rounded = [e.outvars[0] for e in equations(program) if e.primitive.name == "reduce_precision"]
    narrowed = [e.invars[0] for e in equations(program) if _narrows(e)]
    assert len(narrowed) == 1
    assert narrowed == rounded


def test_an_operation_that_a_tpu_lacks_is_noticed():
    with pytest.raises(NotImplementedError, match="tpu"):
        jax.export.export(jax.jit(jax.lax.linalg.eig), platforms=["tpu"])(jax.ShapeDtypeStruct((2, 2), jnp.float32))
