"""Scalars as stored by TensorBoard and Weights & Biases, without a network."""

import subprocess
import sys
from pathlib import Path

import pytest

from jaxcert.training import tensorboard_writer

SCALARS = {"certify/safety@0.5": 0.75, "certify/delta": 0.01}
pytestmark = pytest.mark.filterwarnings("default")


def test_tensorboard_reads_what_was_written(tmp_path):
    """By a process that ends right after."""
    pytest.importorskip("tensorboardX", reason="needs the extra brax")
    from tensorboardX.proto.event_pb2 import Event

    code = f"""if True:
        from jaxcert.training import tensorboard_writer
        write = tensorboard_writer({str(tmp_path)!r})
        write(100, {SCALARS})
        write(200, {SCALARS})
    """
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=True)
    (file,) = tmp_path.iterdir()
    events = [Event.FromString(record) for record in _records(file.read_bytes())]
    found = {(event.step, value.tag): value.simple_value for event in events for value in event.summary.value}
    assert found[100, "certify/safety_0.5"] == 0.75  # tensorboardX keeps no @
    assert {step for step, _ in found} == {100, 200}


def _records(content):
    """Of a TFRecord file: a length of 8 bytes, its checksum of 4, the data, its checksum of 4."""
    while content:
        length = int.from_bytes(content[:8], "little")
        yield content[12 : 12 + length]
        content = content[16 + length :]


def test_a_missing_tensorboard_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ImportError, match=r"tensorboardX is needed for this: pip install '.\[brax\]'"):
        tensorboard_writer(tmp_path)
