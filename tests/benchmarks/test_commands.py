"""Every command of a benchmark that pages and comments name is there, with its parts."""

import re
from pathlib import Path

from benchmarks.monitoring import PARTS as MONITORING
from benchmarks.paper.__main__ import EXPERIMENTS
from benchmarks.tightness.__main__ import PARTS as TIGHTNESS

ROOT = Path(__file__).parents[2]
GPU = {"sides", "steps", "arb"}
SPEED = {"first_calls", "collect"}
PARTS = {"monitoring": MONITORING, "paper": EXPERIMENTS, "tightness": TIGHTNESS, "gpu": GPU, "speed": SPEED}


def test_every_command_that_is_named_is_there():
    places = [*(ROOT / "docs").glob("*.md"), *(ROOT / "jaxcert").rglob("*.py"), *ROOT.glob("*.md"), ROOT / "Makefile"]
    text = " ".join(" ".join(place.read_text().split()) for place in places)
    named = re.findall(r"-m benchmarks\.(\w+)((?: --only(?: [a-z_]+)+)*)", text)
    assert len(named) > 30
    for name, only in named:
        path = ROOT / "benchmarks" / name
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), name
        if name in PARTS:
            assert {*only.split()} - {"--only"} <= {*PARTS[name]}, (name, only)
