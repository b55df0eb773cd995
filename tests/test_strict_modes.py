"""Every certificate on meshes of two devices, of both kinds of axes, and in the strict modes of JAX; one table.

Guards of transfers and both precisions are in test_conformance.py, sweeps and two processes in sweep/test_mesh.py.
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import jax
import pytest
from strict_program import CHOSEN, MODES
from subjects_of_certificates import CERTIFICATES

QUICK = ("certify-hoeffding-binomial", "certify_mean")
LIMIT = 900
PARTS = 4  # of all certificates, each in a process


def here(modes: Iterable[str]) -> list[str]:
    """Without those that need `jax.set_mesh`, which JAX 0.7 has not."""
    return [mode for mode in modes if hasattr(jax, "set_mesh") or not mode.startswith("set")]


def failures(modes: list[str], names: tuple[str, ...] = ()) -> str:
    """What the program prints, one line for each failure; "" if there is none."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
    folder = Path(__file__).parent
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, str(folder / "strict_program.py"), ",".join(modes), *names]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert ended.returncode == 0 or ended.stdout.strip(), ended.stderr[-2000:]
    return ended.stdout.strip()


def test_the_certificates_that_are_asked_most_work_in_every_mode():
    assert failures(here(MODES), QUICK) == ""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_certificate_works_in_one_mode_of_each_kind(part):
    assert failures(here(CHOSEN), tuple(CERTIFICATES)[part::PARTS]) == ""
