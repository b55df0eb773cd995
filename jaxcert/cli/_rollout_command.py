"""`jaxcert rollout`: returns of a policy on tasks, to a file."""

from jaxcert._files import in_file
from jaxcert.cli import _console
from jaxcert.cli._options import with_group
from jaxcert.cli._outputs import check_distinct, check_new, check_witness
from jaxcert.cli._request import Locked, locked_in
from jaxcert.cli._rolling import adaptive_rollout, check_archive_path, fixed_rollout
from jaxcert.cli._run import Rolling, Run, working_files
from jaxcert.report._protocol_check import check_certifiable, check_size
from jaxcert.rollouts._own_programs import POLICY
from jaxcert.tables import check_returns_path
from jaxcert.tables._roles import Columns
from jaxcert.training._found_policies import Found, find


@with_group("given", Rolling)
def command(*, given: Rolling) -> None:
    """Run a policy on new tasks, and write its returns; with --threshold the same command resumes it."""
    check_witness(given.witness, given.json)
    locked = locked_in(given.protocol)
    asked = given.settled(locked)
    if locked is not None:
        _check_certifiable(locked, asked)
    if asked.tasks is None:
        raise ValueError("--tasks missing; expected the option, or a --protocol")
    check_size(asked.tasks, asked.rollouts or 1)
    asked.check()
    run = Run(_found(asked), asked)
    if locked is not None:
        kept = ("policy_sha256", "environment", "environment_sha256", "deterministic")
        locked.check({name: run.facts.get(name) for name in kept} | {"support": run.found.env.support})
    (adaptive_rollout if asked.rollouts is None else fixed_rollout)(run)


def _found(asked: Rolling) -> Found:
    """The policy. The outputs are checked before it is read, and against its files."""
    (check_archive_path if asked.rollouts is None else check_returns_path)(asked.out)
    files = ("--protocol", asked.protocol), ("--out", asked.out), ("--json", asked.json)
    working = working_files(asked.out)
    check_distinct((POLICY, asked.policy), *files, working=working)
    if asked.rollouts is not None or not working["the run so far"].exists():
        check_new(asked.out, asked.json, force=asked.force)
    found = find(asked.policy, asked.env, deterministic=asked.deterministic)
    check_distinct(*found.files, *files, working=working)
    return found


def _check_certifiable(locked: Locked, asked: Rolling) -> None:
    """Raise ValueError if `certify` with the protocol would refuse any returns."""
    with _console.warnings_on_stderr(), in_file(locked.path):
        check_certifiable(locked.protocol)
    written = {"task": Columns().task, "value": Columns().value}
    locked.check(written, "of the table that rollout writes, {}")
    named = [name for name in written if getattr(locked.protocol, name) is not None]
    if named and asked.out.suffix.lower() == ".npz":
        raise ValueError(f"{asked.out}: has no columns, the protocol locks {' and '.join(named)}; expected a .parquet")
