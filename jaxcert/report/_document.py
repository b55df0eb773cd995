"""The certificate file: its schema, how it is read and written."""

import hashlib
import importlib.resources
import json
import math
import platform
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import jax
import jaxlib.version
import numpy as np

from jaxcert._contents import content_of, parsed
from jaxcert._extras import import_extra
from jaxcert._version import __version__

ASSUMPTIONS = (
    "The tasks were sampled independently from the distribution that new tasks come from or, where a statement names "
    "another one, from a distribution that differs from it as stated.",
    "Given the tasks, all rollouts are independent: every rollout of every task had a seed of its own.",
    "The policy was fixed beforehand; neither these tasks nor these rollouts had a part in its training or selection.",
    "Every return that is possible lies in the declared support.",
    "Thresholds (or safety), delta, beta, bound, method and the numbers of tasks and rollouts were settled before the "
    "data were seen; the number of tasks need not be where a statement holds at every moment of their sampling.",
    "No task was left out, and whether a rollout is missing does not depend on its outcome.",
)
_THEORY = "jaxcert, theory page"
REFERENCES = {
    "betting": f"{_THEORY}, section 3.5; Ming, Shen and Wang, arXiv 2603.10329, theorem 1",
    "clopper_pearson": "Clopper and Pearson, Biometrika 26, 1934",
    "dkw": "Massart, Annals of Probability 18, 1990, corollary 1",
    "empirical_bernstein": "Maurer and Pontil, COLT 2009, theorem 4",
    "hoeffding": "Hoeffding, Journal of the American Statistical Association 58, 1963, theorem 2",
    "binomial": f"{_THEORY}, section 2",
    "scenario": "Schnitzer, Jackermeier, Abate and Parker, ICML 2026, arXiv 2602.02098, theorem 5.1",
    "soft": f"{_THEORY}, section 9",
    "attained": f"{_THEORY}, section 12",
    "equal_local_levels": "jaxcert, page on all thresholds at once",
    "attained_levels": f"{_THEORY}, section 12.4",
    "num_smallest": "jaxcert, page on all thresholds at once",
}


FORMAT, FORMAT_VERSION = "jaxcert certificates", 4


def certificate_document(
    records: Sequence[Mapping[str, Any]], *, protocol: str | None = None, checkpoint: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Records of certificates with their assumptions, versions, platform and digest, as plain values for JSON.

    Args:
        records: see `certificate_record`.
        protocol: the digest of the protocol that was locked beforehand (`Protocol.digest`).
        checkpoint: which checkpoint of a training run it is: its number, step and part of delta.

    Returns:
        A dictionary that the schema beside this file describes (`certificate_schema`).

    Raises:
        ValueError: a record holds a number that is not finite.

    Example:
        >>> document = certificate_document([])
        >>> document["format_version"], document["digest"] == document_digest(document)
        (4, True)
    """
    document: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "certificates": list(records),
        "assumptions": list(ASSUMPTIONS),
        "protocol": protocol,
        "checkpoint": None if checkpoint is None else dict(checkpoint),
        "versions": _versions(),
        "platform": _platform(),
    }
    return {**document, "digest": document_digest(document)}


def document_digest(document: Mapping[str, Any]) -> str:
    """SHA-256 of the document without its digest, in a canonical form.

    That is JSON in ASCII, keys sorted, without spaces, numbers as Python prints them. It shows that a document was
    altered by accident or without care; who alters it with care writes another digest.

    Args:
        document: see `certificate_document`.

    Returns:
        64 hexadecimal digits.

    Example:
        >>> document_digest({"format": "jaxcert certificates"})[:8]
        'a5a4826e'
    """
    content = {name: value for name, value in document.items() if name != "digest"}
    text = json.dumps(content, allow_nan=False, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def document_text(document: Mapping[str, Any]) -> str:
    """The document as the text of a certificate file: strict JSON, indented, with a line ending.

    Args:
        document: what :func:`certificate_document` returns.

    Returns:
        The text, in which every character stands for itself (UTF-8).

    Raises:
        ValueError: a number is not finite.

    Example:
        >>> from jaxcert.report import document_text
        >>> print(document_text({"digest": "0"}), end="")
        {
          "digest": "0"
        }
    """
    return json.dumps(document, allow_nan=False, ensure_ascii=False, indent=2) + "\n"


def _versions() -> dict[str, str]:
    return {
        "jaxcert": __version__,
        "jax": jax.__version__,
        "jaxlib": jaxlib.version.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def _platform() -> dict[str, str]:
    device = jax.devices()[0]
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "device": f"{device.platform}: {device.device_kind}",
    }


_DIGITS = 19  # of a 64-bit integer


def certificate_schema() -> dict[str, Any]:
    """The JSON schema of certificate files, draft 2020-12.

    Returns:
        The schema.

    Example:
        >>> certificate_schema()["properties"]["format_version"]
        {'const': 4}
    """
    text = importlib.resources.files("jaxcert.report").joinpath("certificate.schema.json").read_text(encoding="utf-8")
    return json.loads(text)


def read_certificate(path: str | PathLike[str]) -> dict[str, Any]:
    """The document of a certificate file, if it has the form that the schema describes.

    Args:
        path: the file.

    Returns:
        The document; nothing of its content is checked.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no certificate file, one of another version, or cut short; the message names the place.
        ImportError: without jsonschema (`pip install 'jaxcert[cli]'`).

    Example:
        >>> import pathlib, tempfile
        >>> from jaxcert.report import write_certificates
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "certificate.json"
        ...     write_certificates(path, [])
        ...     read_certificate(path)["certificates"]
        []
    """
    content = content_of(path, "a certificate file")
    try:
        document = parsed(content.decode("utf-8"), **_STRICT)
    except ValueError as error:
        raise ValueError(f"{path}: is not JSON, or cut short ({error})") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{path}: is no certificate file: expected an object with the format {FORMAT!r}")
    if document.get("format_version") != FORMAT_VERSION:
        version = document.get("format_version")
        raise ValueError(
            f"{path}: has version {version!r} of the format, this release of jaxcert reads {FORMAT_VERSION}"
        )
    jsonschema = import_extra("jsonschema", "cli")
    error = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(certificate_schema()).iter_errors(document)
    )
    if error is not None:
        raise ValueError(f"{path}: {error.json_path[2:] or 'the document'}: {error.message[:200]}")
    return document


def _finite(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError(f"{text} is too large")
    return float(text)


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > _DIGITS:
        raise ValueError(f"{text[:_DIGITS]}... is too large")
    return int(text)


def _no_number(token: str) -> Any:
    raise ValueError(f"{token} is no number of JSON")


_STRICT: dict[str, Any] = {
    "parse_float": _finite,
    "parse_int": _integer,
    "parse_constant": _no_number,
}
