"""The document that holds certificates: an envelope with everything else that a third party needs."""

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jaxlib.version
import numpy as np

from jaxcert._version import __version__
from jaxcert.report._assumptions import ASSUMPTIONS

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
