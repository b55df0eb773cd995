"""What importing jaxcert does, in a process of its own."""

import subprocess
import sys

CHECK = """
import socket, sys

def refuse(*args, **kwargs):
    raise AssertionError("a network connection")

socket.socket.connect = refuse
import jax
before = dict(jax.config.values)
import jaxcert
assert dict(jax.config.values) == before, "a flag of JAX was changed"
extras = ("matplotlib", "pyarrow", "typer", "rich", "scipy.stats", "pandas", "tensorflow_probability", "chex")
loaded = [name for name in extras if name in sys.modules]
assert not loaded, loaded
"""


def test_import_needs_no_extra_no_network_and_no_flag():
    done = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
