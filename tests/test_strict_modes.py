"""Every certificate on meshes of two devices, of both kinds of axes, and in the strict modes of JAX; one table.

Guards of transfers and both precisions are in test_conformance.py, sweeps and two processes in sweep/test_mesh.py.
"""

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from strict_program import MODES

QUICK = ("certify-hoeffding-binomial", "certify_mean")
LIMIT = 900
# JAX 0.7 has no `jax.set_mesh`.
LACKING = [mode for mode in MODES if mode.startswith("set") and not hasattr(jax, "set_mesh")]


def failures(modes: list[str], names: tuple[str, ...] = ()) -> str:
    """What the program prints, one line for each failure; "" if there is none."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
    here = Path(__file__).parent
    environment["PYTHONPATH"] = os.pathsep.join([str(here), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, str(here / "strict_program.py"), ",".join(modes), *names]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert ended.returncode == 0 or ended.stdout.strip(), ended.stderr[-2000:]
    return ended.stdout.strip()


def test_the_certificates_that_are_asked_most_work_in_every_mode():
    assert failures([mode for mode in MODES if mode not in LACKING], QUICK) == ""


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_every_certificate_works_in_this_mode(mode):
    if mode in LACKING:
        pytest.skip("JAX of this release has no set_mesh")
    assert failures([mode]) == ""
