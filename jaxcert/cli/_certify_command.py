"""`jaxcert certify`: from a file of returns to printed certificates."""

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxcert.cli._asking import Asking, with_asking
from jaxcert.cli._certified import ASKED
from jaxcert.cli._certify_run import Source, certify_returns
from jaxcert.cli._options import Quiet, Strict, with_group
from jaxcert.cli._outputs import Outputs
from jaxcert.cli._parquet_folder import FolderOptions
from jaxcert.cli._role_options import with_roles
from jaxcert.cli._settled import ProtocolFile


@with_asking(ASKED)
@with_group("folder", FolderOptions)
@with_group("outputs", Outputs, json="Write a certificate file there; - for stdout.")
@with_roles
def certify_file(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help=".npz with an array 'returns' [num_tasks, num_rollouts] (and a boolean array 'where'), .npy with that "
            "array, or a table (.csv, .tsv, .jsonl, .json, each also .gz, .parquet, .arrow) with columns such as task, "
            "trial, success. Returns of bool, or a column of true/false, yes/no, pass/fail or success/failure, are "
            "successes. Also a log of Inspect, or results of LeRobot, tau-bench, tau2-bench or EvalPlus; or, with "
            "--task-from-path, a folder of monitors or evaluations of Stable-Baselines3. Or a folder of .parquet "
            "files, for more rollouts than memory holds.",
        ),
    ],
    protocol: ProtocolFile = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Answer for each group of rows by itself, as a column of a table tells them; all groups together fail "
            "with probability delta.",
        ),
    ] = None,
    wanted: Annotated[
        float | None,
        typer.Option(metavar="S", help="Safety wanted at the thresholds: where it is missed, say why."),
    ] = None,
    strict: Strict = False,
    quiet: Quiet = False,
    *,
    asking: Asking,
    folder: FolderOptions,
    outputs: Outputs,
    roles: dict[str, Any],
) -> None:
    """Certify the returns in FILE."""
    certify_returns(Source(file, folder, roles, strict, by), asking, wanted, protocol, outputs, quiet=quiet)
