"""Every public function that computes lowers for NVIDIA's GPUs and for TPUs, from a machine that has neither."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxprs import inner_programs
from subject import LEVELS, RETURNS
from subjects_of_certificates import CERTIFICATES
from subjects_of_functions import BOUNDS, EPSILONS, SHIFTS, TAILS

import jaxcert
from jaxcert import numerics
from jaxcert.returns.summaries import Histogram
from jaxcert.tasks import simple_grid

RUN = {"num_tasks": 20, "max_rollouts": 500, "delta": 0.01, "validate": False}
UNIT = {"support": (0.0, 1.0)}
SUBJECTS = CERTIFICATES | BOUNDS | EPSILONS | SHIFTS | TAILS
# With the arrays of the others.
X, ROW = RETURNS[0], LEVELS[0]
OTHERS = {
    "the paper's method": (
        lambda x, row: jaxcert.certify(x, row, delta=0.01, bound="empirical_bernstein", method="scenario", **UNIT),
        (X, ROW),
    ),
    "certify_adaptive": (
        lambda row: (
            jaxcert.certify_adaptive(simple_grid.ENV, simple_grid.POLICY, jax.random.key(0), row, **RUN).certificate
        ),
        (ROW,),
    ),
    "Histogram": (lambda x: Histogram.empty(8, num_bins=8, **UNIT).update(x).counts, (X,)),
}
FUNCTIONS = {name: (subject.function, subject.sets()[0]) for name, subject in SUBJECTS.items()} | OTHERS


def shapes(arguments, precision="float32"):
    """Those of the arguments as arrays, floats of one type."""
    kinds = [precision if np.asarray(each).dtype == np.float64 else jnp.asarray(each).dtype for each in arguments]
    return [jax.ShapeDtypeStruct(np.shape(each), kind) for each, kind in zip(arguments, kinds, strict=True)]


def traced(name, precision):
    function, arguments = FUNCTIONS[name]
    return jax.jit(lambda *given: jax.tree.leaves(function(*given))).trace(*shapes(arguments, precision))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_lowers_for_cuda_and_tpu(name):
    program = traced(name, "float32")
    check_roundings(program.jaxpr)
    for platform in ("cuda", "tpu"):
        # One program, without callbacks to the host.
        assert "callback" not in program.lower(lowering_platforms=(platform,)).as_text()


def equations(program):
    """Of a program and of all programs in it."""
    for equation in program.jaxpr.eqns:
        yield equation
        for inner in inner_programs(equation):
            yield from equations(inner)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_rounding_that_xla_leaves_out_on_a_gpu(x64, name):
    """In double precision."""
    check_roundings(traced(name, "float64").jaxpr)


def check_roundings(program):
    """On a GPU, rounding a value to its own type does nothing, nor does a conversion to a narrower type and back."""
    for equation in equations(program):
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
