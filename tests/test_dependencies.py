"""What importing the package loads and does, tested in fresh interpreters."""

import json
import os
import subprocess
import sys

import pytest

import jaxcert

EXTRAS = {"brax", "hypothesis", "gymnasium", "matplotlib", "mpmath", "mujoco", "mujoco_playground", "pandas", "PIL"}
EXTRAS |= {"pyarrow", "rich", "scipy.stats", "tensorboardX", "tensorflow_probability", "typer", "xarray"}
# JAX itself imports parts of SciPy; its modules are loaded beforehand.
CHECK = """
import json, socket, sys, warnings
attempts = []

def refuse(*args, **kwargs):
    attempts.append(repr(args))
    raise OSError("no network here")

socket.socket.connect = socket.socket.connect_ex = socket.create_connection = socket.getaddrinfo = refuse
import jax
flags, modules = dict(jax.config.values), set(sys.modules)
warnings.simplefilter("error")
{statements}
changed = [name for name, value in jax.config.values.items() if flags.get(name) != value]
print(json.dumps({{"attempts": attempts, "changed": changed, "loaded": sorted(set(sys.modules) - modules)}}))
"""
IMPORT = "import jaxcert, jaxcert.certificates, jaxcert.numerics, jaxcert.report, jaxcert.rollouts, jaxcert.tasks"
IMPORT += ", jaxcert.tasks.locomotion, jaxcert.training, jaxcert.cli, jaxcert.tables"
CERTIFY = "jaxcert.certify(jaxcert.sample_returns('cheetah'), 500.0, support=(0, 1000), delta=0.01)"


def run(statements: str, *, x64: bool = False) -> dict:
    """The result of the statements, run with warnings as errors and every connection refused."""
    done = subprocess.run(
        [sys.executable, "-c", CHECK.format(statements=statements)],
        env={**os.environ, "JAX_ENABLE_X64": str(int(x64)), "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.parametrize("statements", [IMPORT, f"{IMPORT}\n{CERTIFY}"], ids=["import", "certify"])
def test_needs_no_extra_no_network_and_no_flag(statements):
    found = run(statements)
    assert found["attempts"] == []
    assert found["changed"] == []
    assert "jaxcert.bounds" in found["loaded"]
    assert EXTRAS.isdisjoint(found["loaded"])


def test_a_table_is_read_without_pandas(tmp_path):
    (tmp_path / "trials.csv").write_text("task,trial,success\na,0,pass\na,1,fail\nb,0,pass\nb,1,pass\n")
    found = run(f"{IMPORT}\njaxcert.tables.read_returns({str(tmp_path / 'trials.csv')!r})")
    assert "pandas" not in found["loaded"]


def test_64_bit_types_stay_on():
    assert run(IMPORT, x64=True)["changed"] == []


def test_importing_starts_no_backend():
    run(f"{IMPORT}\nfrom jax._src import xla_bridge\nassert not xla_bridge._backends")


ROOMS = ("baselines", "diagnostics", "planning", "report", "sweep", "tasks", "training")


def test_rooms_are_imported_when_they_are_asked_for():
    assert not {"jaxcert.planning", "jaxcert.report", "jaxcert.training"} & set(run("import jaxcert")["loaded"])
    used = "\n".join(f"assert '{room}' in dir(jaxcert) and jaxcert.{room}.__doc__" for room in ROOMS)
    run(f"import jaxcert\n{used}")


def test_an_unknown_name_is_no_room():
    with pytest.raises(AttributeError, match="'jaxcert' has no attribute 'rom'"):
        jaxcert.rom  # noqa: B018
