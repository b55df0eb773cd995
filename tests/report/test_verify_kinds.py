"""Every kind of certificate that a file holds is verified, after every kind of shift, in both precisions."""

import jax
import numpy as np
import pytest
from conftest import x64_context
from test_verify import LEVELS, RETURNS, SETTINGS, saved, shifted

import jaxcert
from jaxcert.report import certificate_record, verify, write_certificates
from jaxcert.tables import read_returns

KINDS = {
    "default": {},
    "auto": {"beta": "auto"},
    "soft": {"method": "soft"},
    "scenario": {"method": "scenario", "beta": 1e-4},
    "hoeffding": {"bound": "hoeffding", "beta": 0.1},
    "band": {"certify": jaxcert.certify_band},
    "safety": {"certify": jaxcert.certify_safety_level, "asked": [0.5, 0.8]},
    "simultaneous": {"certify": jaxcert.certify_safety_level, "asked": [0.5, 0.8], "simultaneous": True},
    "anytime": {"certify": jaxcert.certify_anytime},
}
SHIFTS = [
    None,
    {"divergence": "total_variation", "radius": 0.03},
    {"divergence": "kl", "radius": 0.02},
    {"divergence": "chi2", "radius": 0.04},
    {"divergence": "ratio", "radius": 1.3},
    {"performance_shift": 0.0123},
    {"divergence": "kl", "radius": 0.02, "performance_shift": 0.0123},
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_after_every_shift(tmp_path, name, dtype):
    options = {"certify": jaxcert.certify, "asked": LEVELS, **KINDS[name]}
    certify, asked = (options.pop(key) for key in ("certify", "asked"))
    data = read_returns(saved(tmp_path, dtype=dtype))
    with x64_context(dtype == "float64"):
        sampled = certify(data.returns, asked, **SETTINGS, **options)
        shifts = SHIFTS if dtype == "float32" else SHIFTS[-1:]
        found = [sampled if shift is None else jaxcert.certify_shift(sampled, **shift) for shift in shifts]
        records = [certificate_record(each, support=(0, 1), data=data) for each in found]
    write_certificates(tmp_path / "c.json", records)
    verified = verify(tmp_path / "c.json", tmp_path / "returns.npz")
    assert verified.differences == ()
    assert verified.notes == ()
    assert all(record["settings"]["dtype"] == dtype for record in records)


def test_a_part_of_a_shift_keeps_its_part_of_the_sampled_tasks(tmp_path):
    found = shifted(RETURNS.astype("float32"), LEVELS, **SETTINGS)[1:]
    np.testing.assert_array_equal(found.sampled.thresholds, found.thresholds)
    assert found.to_dict()["sampled"]["thresholds"] == found.to_dict()["thresholds"]
    assert "sampled" not in found.to_frame()
    assert jax.tree.map(np.shape, found).thresholds == (2,)
    data = read_returns(saved(tmp_path))
    write_certificates(tmp_path / "c.json", [certificate_record(found, support=(0, 1), data=data)])
    assert verify(tmp_path / "c.json", tmp_path / "returns.npz").ok


def test_a_part_of_levels_that_hold_together_has_no_record_of_other_thresholds():
    """They follow from the division of delta among all of them, which a record of a part does not hold."""
    safeties, settings = [0.3, 0.5, 0.6, 0.7, 0.8], {"simultaneous": True, "support": (0, 1), "delta": 0.1}
    levels = jaxcert.certify_safety_level(RETURNS, safeties, **settings)
    assert len(certificate_record(levels, support=(0, 1))["rows"]) == 5
    refused = []
    for place, safety in enumerate(safeties):
        part = levels[place]
        alone = jaxcert.certify_safety_level(RETURNS, safety, beta=float(levels.beta), **settings)
        refused.append(float(alone.thresholds[0]) != float(part.thresholds[0]))
        if refused[-1]:
            with pytest.raises(ValueError, match="some of several safety levels that hold together"):
                certificate_record(part, support=(0, 1))
        else:
            assert certificate_record(part, support=(0, 1))["rows"]
    assert any(refused)
