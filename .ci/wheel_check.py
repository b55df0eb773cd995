"""Run against an installed wheel, away from the checkout: the core alone, without any extra."""

import importlib.util
import pathlib
import sys

import jax

import jaxcert

checkout = pathlib.Path(__file__).parents[1]
assert not pathlib.Path(jaxcert.__file__).is_relative_to(checkout / "jaxcert"), "imported from the checkout"
for extra in ("brax", "matplotlib", "mujoco", "pyarrow", "tensorflow_probability", "typer", "rich"):
    assert importlib.util.find_spec(extra) is None, f"{extra} is installed: this does not test the core alone"
assert not jax.config.jax_enable_x64

returns = jaxcert.sample_returns("cheetah")
certificate = jaxcert.certify_safety_level(returns, 0.9, support=(0.0, 1000.0), delta=0.01)
assert 522 < float(certificate.thresholds[0]) < 524, certificate
scenario = jax.jit(lambda x: jaxcert.certify(x, [500.0], support=(0.0, 1000.0), delta=0.01, method="scenario"))(returns)
assert 0 < float(scenario.safety[0]) < 1, scenario
assert (pathlib.Path(jaxcert.__file__).parent / "py.typed").exists()
print(f"wheel: jaxcert {jaxcert.__version__} with jax {jax.__version__} on Python {sys.version.split()[0]}")
