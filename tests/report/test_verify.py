"""A certificate file is verified from the returns, of every kind, after every shift; no alteration goes unnoticed."""

import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from alterations import altered
from conftest import x64_context

import jaxcert
from jaxcert.report import (
    Protocol,
    certificate_record,
    certificate_schema,
    read_certificate,
    verify,
    write_certificates,
)
from jaxcert.tables import read_returns

RNG = np.random.default_rng(0)
RETURNS = RNG.beta(5, RNG.uniform(1, 4, (40, 1)), (40, 20))
SETTINGS = {"support": (0.0, 1.0), "delta": 0.05}
LEVELS = [0.25, 0.5, 0.99]
LOCKED = Protocol(support=(0, 1), delta=0.05, thresholds=LEVELS, num_tasks=40, num_rollouts=20)


def saved(folder: Path, returns=RETURNS, dtype="float32") -> Path:
    np.savez(folder / "returns.npz", returns=np.asarray(returns, dtype))
    return folder / "returns.npz"


def recorded(
    folder: Path, certify=jaxcert.certify, asked=LEVELS, *, file=None, protocol=LOCKED.digest, **options
) -> Path:
    data = read_returns(file or saved(folder))
    found = certify(data.returns, asked, **SETTINGS, **options)
    record = certificate_record(found, support=(0, 1), data=data)
    write_certificates(folder / "c.json", [record], protocol=protocol)
    return folder / "c.json"


def test_what_was_written_is_verified(tmp_path):
    found = verify(recorded(tmp_path), tmp_path / "returns.npz")
    assert found.differences == ()
    named = f"it names the protocol {LOCKED.digest[:12]}..., which was not given, so it was not checked"
    assert str(found) == f"verified: 1 certificate, {found.num_rows} statements; {named}"


@pytest.mark.filterwarnings("ignore:.*are missing")
@pytest.mark.parametrize("masked", [False, True])
def test_successes_at_all_thresholds_are_verified(tmp_path, masked):
    rng = np.random.default_rng(1)
    passed = (rng.random((20, 6)) < 0.9).astype(np.float32)
    mask = {"where": np.arange(6) < rng.integers(5, 7, (20, 1))} if masked else {}
    np.savez(file := tmp_path / "returns.npz", returns=passed, **mask)
    options = {"bound": "clopper_pearson", "beta": "auto", "where": mask.get("where")}
    path = recorded(tmp_path, jaxcert.certify_band, [0.3, 0.7], file=file, **options)
    assert read_certificate(path)["certificates"][0]["rows"][0]["safety"] > 0
    assert verify(path, file).differences == ()


def test_in_double_precision_without_changing_that_of_the_user(tmp_path):
    file = saved(tmp_path, dtype="float64")
    with x64_context(True):
        recorded(tmp_path, file=file)
    with x64_context(False):
        assert verify(tmp_path / "c.json", file).ok
        altered(tmp_path / "c.json", lambda d: _add(d["certificates"][0]["rows"][1], "epsilon", 1e-8))
        assert "rows 2 epsilon" in str(verify(tmp_path / "c.json", file))


def _add(row: dict, name: str, amount: float) -> None:
    row[name] += amount


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda r: r["rows"][1].update(num_violations=float(r["rows"][1]["num_violations"]), safety=1), "rows 2 "),
        (lambda r: r["settings"].update(support=[0.0, 0.9]), "cannot be computed from these returns"),
        (lambda r: r["settings"].update(bound="hoeffding"), "rows 2"),
        (lambda r: r["settings"].update(method="sequential"), "cannot be computed from these returns"),
        (lambda r: r["settings"].update(simultaneous=True), "settings simultaneous is True"),
        (lambda r: r.update(note="trust me"), "note is 'trust me'"),
        (lambda r: r.update(data=None), "data is None"),
        (lambda r: r["rows"][2].update(beta=0.1), "rows 3 beta"),
        (lambda r: r["rows"][0].update(threshold=1e39), "certificate 1: "),
        (
            lambda r: r["settings"].update(divergence="kl", radius=0.1),
            "settings divergence is 'kl', the returns give None",
        ),
    ],
)
def test_a_careful_alteration_is_noticed(tmp_path, change, reason):
    """With a new digest, so that only the computation can tell."""
    path = altered(recorded(tmp_path), lambda document: change(document["certificates"][0]))
    found = verify(path, tmp_path / "returns.npz")
    assert any(line.startswith("certificate 1: ") and reason in line for line in found.differences), str(found)
    assert str(found).startswith("not verified:\n")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: d.update(assumptions=[]), "its assumptions differ from those"),
        (lambda d: d["assumptions"].pop(), "its assumptions differ from those"),
        (lambda d: d.update(certificates=[]), "it holds no certificate"),
    ],
)
def test_the_document_claims_nothing_else(tmp_path, change, reason):
    path = altered(recorded(tmp_path), change)
    assert reason in str(verify(path, tmp_path / "returns.npz"))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"beta": 0.25}, "settings beta is 0.25, the protocol gives 0.05"),
        (
            {"certify": jaxcert.certify_safety_level, "asked": [0.3]},
            "question is 'safety_level', the protocol gives 'safety'",
        ),
        ({"certify": jaxcert.certify_band}, "question is 'band', the protocol gives 'safety'"),
        ({"asked": LEVELS[:2]}, "threshold is [0.25, 0.5], the protocol gives [0.25, 0.5, 0.99"),
    ],
)
def test_what_was_chosen_afterwards_breaks_the_protocol(tmp_path, options, reason):
    path = recorded(tmp_path, **options)
    LOCKED.write(tmp_path / "p.toml")
    assert verify(path, tmp_path / "returns.npz").ok
    assert reason in str(verify(path, tmp_path / "returns.npz", protocol=tmp_path / "p.toml"))


def test_more_certificates_or_fewer_rollouts_break_the_protocol(tmp_path):
    LOCKED.write(tmp_path / "p.toml")
    path = altered(recorded(tmp_path), lambda d: d.update(certificates=d["certificates"] * 2))
    assert "2 certificates, the protocol has one" in str(
        verify(path, tmp_path / "returns.npz", protocol=tmp_path / "p.toml")
    )
    where = np.arange(800).reshape(40, 20) % 20 < np.where(np.arange(40) < 3, 20, 5)[:, None]
    np.savez(tmp_path / "few.npz", returns=RETURNS.astype("float32"), where=where)
    with pytest.warns(UserWarning, match="are missing"):
        path = recorded(tmp_path, file=tmp_path / "few.npz", where=where)
    assert "num_rollouts is 5, the protocol says 20" in str(
        verify(path, tmp_path / "few.npz", protocol=tmp_path / "p.toml")
    )


def test_the_protocol_is_the_one_named(tmp_path):
    path = recorded(tmp_path)
    LOCKED.write(tmp_path / "p.toml")
    assert verify(path, tmp_path / "returns.npz", protocol=tmp_path / "p.toml").ok
    text = (tmp_path / "p.toml").read_text()
    (tmp_path / "other.toml").write_text(re.sub(r"delta = 0\.05", "delta = 0.04", text))
    assert "names the protocol" in str(verify(path, tmp_path / "returns.npz", protocol=tmp_path / "other.toml"))
    altered(path, lambda document: document["certificates"][0]["settings"].update(support=[0.0, 2.0]))
    found = verify(path, tmp_path / "returns.npz", protocol=tmp_path / "p.toml")
    assert found.differences == ("certificate 1: settings support 2 is 2.0, the protocol gives 1.0",)
    altered(path, lambda document: document.update(protocol=None))
    assert "it names no protocol" in str(verify(path, tmp_path / "returns.npz", protocol=tmp_path / "p.toml"))


def test_documents_have_the_form_of_the_schema(tmp_path):
    schema = certificate_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    document = read_certificate(recorded(tmp_path))
    jsonschema.validate(document, schema)
    assert list(document) == [name for name in schema["properties"] if name != "leaderboard"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ('{"format": "jaxcert certificates"', "is not JSON, or cut short"),
        ("[" * 100_000, "is not JSON, or cut short"),
        ("[]", "is no certificate file"),
        ('{"format": "other"}', "is no certificate file"),
        ('{"format": "jaxcert certificates", "format_version": 4}', r"expected .* 5\], .*; found \[.*, 4\]"),
        ('{"format": "jaxcert certificates", "format_version": "5"}', r"expected .* 5\], .*; found \[.*, '5'\]"),
        ('{"format": "jaxcert certificates", "format_version": 5}', "is a required property"),
        ('{"format": "jaxcert certificates", "format_version": NaN}', "NaN is no number"),
        ('{"format": "jaxcert certificates", "format": "mine"}', "the key 'format' occurs twice"),
        ('{"format": "jaxcert certificates", "format_version": 1e400}', "1e400 is no number of JSON, or too large"),
        (
            '{"format": "jaxcert certificates", "format_version": 1' + "0" * 400 + "}",
            "is no number of JSON, or too large",
        ),
    ],
)
def test_what_is_no_certificate_file(tmp_path, text, words):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(ValueError, match=words):
        read_certificate(tmp_path / "c.json")


def test_a_folder_is_no_certificate_file_and_a_wrong_entry_is_named(tmp_path):
    with pytest.raises(ValueError, match="is a directory"):
        read_certificate(tmp_path)
    for entry, words in (
        ({"status": "bogus"}, r'rows\[1\]\.status: "bogus" is not one of'),
        ({"epsilon": "small"}, r'certificates\[0\]\.rows\[1\]\.epsilon: "small" is not of type "number"'),
    ):
        path = altered(recorded(tmp_path), lambda d, entry=entry: d["certificates"][0]["rows"][1].update(entry))
        with pytest.raises(ValueError, match=words):
            read_certificate(path)


def test_an_alteration_without_a_new_digest_is_noticed(tmp_path):
    altered(recorded(tmp_path), lambda d: d["versions"].update(jax="9.9"), new_digest=False)
    assert "the document was altered" in str(verify(tmp_path / "c.json", tmp_path / "returns.npz"))


KINDS = {
    "auto": {"beta": "auto"},
    "soft": {"method": "soft"},
    "scenario": {"method": "scenario", "beta": 1e-4},
    "hoeffding": {"bound": "hoeffding", "beta": 0.1},
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", KINDS)
def test_every_method_in_both_precisions(tmp_path, name, dtype):
    file = saved(tmp_path, dtype=dtype)
    with x64_context(dtype == "float64"):
        path = recorded(tmp_path, file=file, protocol=None, **KINDS[name])
    verified = verify(path, file)
    assert verified.differences == ()
    assert verified.notes == ()
    assert read_certificate(path)["certificates"][0]["settings"]["dtype"] == dtype


def test_a_shift_has_no_record():
    found = jaxcert.certify_shift(jaxcert.certify(RETURNS, LEVELS, **SETTINGS), divergence="kl", radius=0.02)
    with pytest.raises(ValueError, match="certificate is shifted; expected the certificate of the sampled tasks"):
        certificate_record(found, support=(0, 1))
