"""The page: what it shows, and the file."""

import importlib.resources
from collections.abc import Sequence
from os import PathLike
from typing import Any

import chex
import jax
import numpy as np

from jaxcert._extras import import_extra
from jaxcert._files import check_suffix, write_whole
from jaxcert._validation import check_kind
from jaxcert._version import __version__
from jaxcert.certificates import (
    AnytimeCertificate,
    BandCertificate,
    Certificate,
    Status,
    ceil_figures,
    confidence,
    floor_figures,
    floor_to,
    sentence,
)
from jaxcert.certificates._figures import level_figures
from jaxcert.certificates._level_choice import AUTO
from jaxcert.diagnostics import Finding
from jaxcert.report._assumptions import ASSUMPTIONS
from jaxcert.report._readers import ReturnsFile
from jaxcert.report.html._report_figures import curve_svg, tasks_svg
from jaxcert.sequential._sequential_certificate import SequentialCertificate

# Of which the page's words are true: of one policy, from below, on tasks like those that were sampled.
_SHOWN = (AnytimeCertificate, BandCertificate, Certificate, SequentialCertificate)

# Longer tables show so many rows at either end.
_MOST_ROWS, _ENDS = 1000, 100


def write_report(
    path: str | PathLike[str],
    certificate: Certificate,
    *,
    returns: chex.Array,
    support: tuple[float, float],
    where: chex.Array | None = None,
    title: str = "Certificate",
    data: ReturnsFile | None = None,
    findings: Sequence[Finding] = (),
    protocol: str | None = None,
    replace: bool = True,
) -> None:
    """Write a certificate as one page of HTML, which needs no other file and no network.

    The page has the statement in words, the curve of certified safety, the bounds of all tasks, settings, assumptions,
    likely mistakes, and how to cite. Every figure is rounded to the safe side.

    Args:
        path: the file, `.html`.
        certificate: for one set of tasks, of `jaxcert.certify`, `jaxcert.certify_safety_level`,
            `jaxcert.certify_band`, `jaxcert.certify_anytime` or `jaxcert.certify_sequential`.
        returns: float[n, m], from which it was computed.
        support: (a, b), as declared.
        where: bool[n, m], which rollouts count; all by default.
        title: heading of the page, such as the name of policy and tasks.
        data: the file that the returns were read from.
        findings: of `jaxcert.diagnostics.diagnose`.
        protocol: the digest of the protocol that was locked beforehand.
        replace: whether to replace a file that exists; if not, it stays, and an error says where the new one is.

    Raises:
        FileExistsError: with `replace=False`, for a file that exists.
        ValueError: a batched certificate, one of another kind (of two policies, from both sides, of other tasks),
            returns of other tasks, another suffix, or no file can be written there.
        ImportError: without jinja2 or matplotlib (`pip install 'jaxcert[cli]'`).

    Example:
        >>> import pathlib, tempfile
        >>> import jaxcert
        >>> returns = jaxcert.sample_returns("cheetah")
        >>> certificate = jaxcert.certify(returns, 500.0, support=(0, 1000), delta=0.01)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "cheetah.html"
        ...     write_report(path, certificate, returns=returns, support=(0, 1000), title="Cheetah")
        ...     "at least 500 with probability at least 0.9249" in path.read_text()
        True
    """
    check_suffix(path, [".html"])
    instead = "a page shows what one policy does at least, on tasks like the sampled ones (to_json writes any)"
    check_kind("certificate", certificate, _SHOWN, instead)
    values = np.where(True if where is None else np.asarray(where), np.asarray(returns, np.float64), np.nan)
    if certificate.safety.ndim != 1 or values.shape[:1] != certificate.lower_bounds.shape:
        shapes = f"safety {certificate.safety.shape}, lower_bounds {certificate.lower_bounds.shape}"
        raise ValueError(f"certificate has {shapes} and returns {values.shape}; expected [t], [n] and [n, m]")
    means = np.nanmean(values, axis=1)
    on_host = jax.tree.map(np.asarray, certificate)  # an entry of an array of JAX takes far longer to read
    locked = {} if protocol is None else {"protocol, locked beforehand": protocol}
    page = _template().render(
        title=title,
        sentences=[sentence(on_host, i) for i in range(len(certificate.thresholds))],
        rows=_shown_rows(certificate),
        settings=_settings(certificate, np.sum(~np.isnan(values), axis=1), support, data) | locked,
        curve=curve_svg(certificate, means, float(support[0])),
        tasks=tasks_svg(certificate, means),
        assumptions=ASSUMPTIONS,
        findings=findings,
        version=__version__,
    )
    write_whole(path, page.encode("utf-8", "backslashreplace"), replace=replace)


def _template() -> Any:
    jinja2 = import_extra("jinja2", "cli")
    text = importlib.resources.files("jaxcert.report.html").joinpath("report.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(text)


def _shown_rows(certificate: Certificate) -> list[dict[str, str]]:
    """The rows of the table, or the first and the last of many."""
    if len(certificate) <= _MOST_ROWS:
        return _rows(certificate)
    first, last = (_rows(certificate[part]) for part in (slice(_ENDS), slice(-_ENDS, None)))
    between = dict.fromkeys(first[0], "...") | {"status": f"{len(certificate) - 2 * _ENDS:,} rows left out"}
    return [*first, between, *last]


def _rows(certificate: Certificate) -> list[dict[str, str]]:
    columns = (certificate.thresholds, certificate.safety, certificate.num_violations, certificate.status)
    rows = zip(*(np.asarray(column).tolist() for column in columns), strict=True)
    return [
        {
            "threshold": floor_figures(threshold),
            "safety": floor_to(safety, 4),
            "violations": f"{violations} of {certificate.num_tasks}",
            "status": Status(status).name.lower().replace("_", " "),
        }
        for threshold, safety, violations, status in rows
    ]


def _settings(
    certificate: Certificate, counts: np.ndarray, support: tuple[float, float], data: ReturnsFile | None
) -> dict[str, str]:
    fewest, most = counts.min(), counts.max()
    shown = {
        "tasks": str(certificate.num_tasks),
        "rollouts per task": str(most) if fewest == most else f"{fewest} to {most}, {counts.sum()} in all",
        "support of the returns": f"[{support[0]:.9g}, {support[1]:.9g}]",
        "confidence": f"{confidence(float(certificate.delta))} (delta {ceil_figures(float(certificate.delta))})",
        "bound of a task": certificate.bound,
        "method": certificate.method,
        "beta": AUTO if certificate.beta.ndim else level_figures(certificate.beta),
        "precision": str(certificate.safety.dtype),
    }
    if data is not None:
        shown |= {"file": data.path.name, "SHA-256": data.sha256}
    return shown
