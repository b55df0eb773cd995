"""The exact check reads a table as its certificate says, and refuses ways of reading that no certificate may have."""

import hashlib
import json

import pytest
from alterations import altered, altered_record
from cli_harness import command, table

import jaxcert
from jaxcert.report import certificate_record, check_certificate, check_exactly, write_certificates
from jaxcert.tables import read_returns


def certified(path, out, **roles):
    data = read_returns(path, **roles)
    settings = {"support": (0, 1)} | ({} if data.returns.dtype == bool else {"where": data.where})
    found = jaxcert.certify(data.returns, 0.5, **settings, delta=0.1)
    write_certificates(out, [certificate_record(found, support=(0, 1), data=data, witness=True)])
    return out


def of_another(certificate, of_file, **data):
    """The same certificate about another file, read in another way, with the right sums."""
    sums = {"sha256": hashlib.sha256(of_file.read_bytes()).hexdigest(), **data}
    return altered(certificate, lambda document: document["certificates"][0]["data"].update(sums))


def verdicts(certificate, returns):
    return [holds for holds, _ in check_exactly(certificate, returns) if holds is not None]


SCORED = "task,trial,return"


@pytest.fixture
def full(tmp_path):
    return table(tmp_path / "full.csv", SCORED, [(i, j, 0.8) for i in range(40) for j in range(8)])


def test_lost_rollouts_count_as_the_worst_return_alone(full, tmp_path):
    lost = table(
        tmp_path / "lost.csv", SCORED, [(i, j, "" if (i + j) % 3 == 0 else 0.8) for i in range(40) for j in range(8)]
    )
    certificate = certified(full, tmp_path / "c.json")
    assert verdicts(certificate, full) == [True]
    counted = {"num_rollouts": 107, "counted_as": 0.8}
    with pytest.raises(ValueError, match="count as another return than the worst"):
        verdicts(of_another(certificate, lost, unfinished=counted), lost)
    honest = certified(lost, tmp_path / "honest.json", unfinished=0.0)
    assert (
        verdicts(honest, lost) == [True] or json.loads(honest.read_text())["certificates"][0]["rows"][0]["safety"] == 0
    )


@pytest.mark.parametrize(
    "roles", [{"value": "alt"}, {"trial": None}, {"recorded": False}, {"unfinished": 1.0}, {"given": ["alt"]}]
)
def test_roles_say_nothing_that_the_columns_deny(tmp_path, roles):
    rows = [(i, j, (i + j) % 2, 1) for i in range(40) for j in range(4)]
    path = table(tmp_path / "t.csv", "task,trial,return,alt", rows)
    certificate = certified(path, tmp_path / "c.json", value="alt")
    columns = json.loads(certificate.read_text())["certificates"][0]["data"]["columns"]
    certificate = of_another(certificate, path, columns=columns | {"value": "return"}, roles=roles)
    with pytest.raises(ValueError, match=r"its roles|data\.roles: Additional properties are not allowed"):
        verdicts(certificate, path)
    assert command("verify", certificate, path, "--exact").status != 0


def test_lost_rollouts_of_the_other_policy_help_nobody(tmp_path):
    a = table(tmp_path / "a.csv", SCORED, [(i, j, 0.6) for i in range(40) for j in range(6)])
    some = [(i, j, (7 * i + 5 * j) % 11 < 4) for i in range(40) for j in range(6)]
    zero = table(tmp_path / "zero.csv", SCORED, [(i, j, 0.8 if won else 0) for i, j, won in some])
    lost = table(tmp_path / "lost.csv", SCORED, [(i, j, 0.8 if won else "") for i, j, won in some])
    out = tmp_path / "c.json"
    ask = ("compare", a, zero, "--support", 0, 1, "--delta", 0.1, "--mean", "--json", out)
    assert command(*ask).status == 0
    assert command("verify", out, a, zero).status == 0
    other = {"file": "lost.csv", "sha256": hashlib.sha256(lost.read_bytes()).hexdigest()}
    other["unfinished"] = {"num_rollouts": sum(not won for _, _, won in some), "counted_as": 0.0}
    out = altered_record(out, lambda record: record["others"][0].update(other))
    assert "would help A" in command("verify", out, a, lost).out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--where", "arm = a"), "rows where arm = a"),
        (("--policy", "arm", "--only", "b"), "rows where arm = b"),
        (("--where", "arm = a", "--where", "seed != 3"), "rows where arm = a, where seed != 3"),
        (("--where", "arm = c", "--unfinished", 0), "rows where arm = c; 5 without an outcome, counted as 0"),
    ],
)
def test_what_is_verified_names_the_rows_that_were_read(options, told, tmp_path):
    rows = [(i, j, arm, "" if (arm, i) == ("c", 3) else int((i + j) % 9 > 0), j)
            for i in range(40) for j in range(5) for arm in "abc"]  # fmt: skip
    path, out = table(tmp_path / "t.csv", "task,trial,arm,success,seed", rows), tmp_path / "c.json"
    settings = ("--threshold", 0.3, "--delta", 0.1, "--json", out, "--witness")
    status, said, _ = command("certify", path, *options, *settings)
    assert status == 0
    assert all(part in said for part in told.removeprefix("rows ").split(", where "))
    assert command("verify", out, path).out.startswith(f"verified: 1 certificate, 1 statement; of {told};")
    assert command("verify", "--exact", out, path).out.splitlines()[0].endswith(f". Of {told}.")


@pytest.mark.parametrize(
    ("label", "chosen", "doubt"),
    [
        ("{}", ("--where", "mood = fine"), "leaves out trials that all went badly"),
        ("{policy}/t{}x", (), "if these tell policies, conditions, moments of training"),
    ],
)
def test_what_is_doubted_of_rows_is_said_again(label, chosen, doubt, tmp_path):
    labels = [label.format(i, policy=("pi0", "act")[i % 2]) for i in range(40)]
    fails = [(i, j) for i in range(40) for j in range(5) if (j == 0 if chosen else (i + j) % 9 == 0)]
    rows = [
        (labels[i], j, ("fine", "odd")[(i, j) in fails], int((i, j) not in fails)) for i in range(40) for j in range(5)
    ]
    path, out = table(tmp_path / "t.csv", "task,trial,mood,success", rows), tmp_path / "c.json"
    settings = ("--threshold", 0.3, "--delta", 0.1, "--json", out, "--witness")
    warned = command("certify", path, *chosen, *settings).err
    (line,) = [line for line in warned.splitlines() if doubt in line]
    for exact in ((), ("--exact",)):
        status, _, err = command("verify", *exact, out, path)
        assert status == 0
        assert line in err.splitlines()


def test_columns_that_hold_a_trial_each_are_read_by_all_exact_checks(tmp_path):
    rows = [(i, *((i + j) % 9 > 0 for j in range(4))) for i in range(40)]
    path, out = table(tmp_path / "wide.csv", "task,s0,s1,s2,s3", [map(int, row) for row in rows]), tmp_path / "c.json"
    asked = ("--value", "s0,s1,s2,s3", "--threshold", 0.5, "--delta", 0.1, "--json", out, "--witness")
    assert command("certify", path, *asked).status == 0
    assert command("verify", "--exact", out, path).out.startswith("proven: certificate 1, row 1 of 1: With confidence")
    assert check_certificate.main(str(out), str(path)) == 0


def test_the_check_that_stands_alone_reads_whole_tables(tmp_path, capsys):
    rows = [(i, j, arm, int(arm == "b")) for i in range(40) for j in range(4) for arm in "ab"]
    path = table(tmp_path / "t.csv", "task,trial,kind,success", rows)
    single = table(tmp_path / "b.csv", "task,trial,success", [(i, j, 1) for i in range(40) for j in range(4)])
    certificate = certified(single, tmp_path / "c.json")
    assert check_certificate.main(certificate, single) == 0
    assert check_certificate.main(of_another(certificate, single, roles={"where": ["kind = b"]}), path) == 1
    assert "read in another way" in capsys.readouterr().out
