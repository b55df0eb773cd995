"""Outputs whose names are taken while a command runs are not replaced."""

import numpy as np
from cli_harness import refused

from jaxcert.cli import _answering


def test_names_that_certify_finds_taken(tmp_path, monkeypatch):
    file, *outputs = (tmp_path / name for name in ("r.npz", "c.json", "c.png", "c.html"))
    np.savez(file, returns=np.random.default_rng(0).uniform(0.4, 1, (40, 20)))
    ask = _answering.ask

    def meanwhile(*arguments, **options):
        for path in outputs:
            path.write_text("another's")
        return ask(*arguments, **options)

    monkeypatch.setattr(_answering, "ask", meanwhile)
    options = [word for pair in zip(("--json", "--plot", "--report"), outputs, strict=True) for word in pair]
    line = refused("certify", file, "--support", 0, 1, "--delta", 0.05, "--threshold", 0.5, *options)
    assert f"{outputs[0]}: exists, and is not replaced" in line
    assert {each.read_text() for each in outputs} == {"another's"}
    assert len(list(tmp_path.iterdir())) == 4
