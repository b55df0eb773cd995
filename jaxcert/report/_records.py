"""Certificates as strict JSON: the record of each, the document that holds them, and its file."""

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import jax
import jaxlib.version
import numpy as np

from jaxcert._version import __version__
from jaxcert.certificates._answer import plain
from jaxcert.certificates._certificate import naming, of_two
from jaxcert.certificates._figures import SAMPLED, SOURCES
from jaxcert.certificates._question import Question
from jaxcert.questions import question_of, rows_of
from jaxcert.questions._answers import sampled
from jaxcert.report._assumptions import assumptions_of, plain_settings
from jaxcert.report._exact_check import with_witnesses
from jaxcert.report.check_certificate import FORMAT, FORMAT_VERSION, NOTE, WHOLE
from jaxcert.returns import stratified
from jaxcert.tables._files import write_whole
from jaxcert.tables._readers import ReturnsFile
from jaxcert.tables._returns import names_of

_TOGETHER = "All rows hold together, so that one may be chosen after a look at them."


def certificate_record(
    certificate: Any,
    *,
    support: tuple[float, float] | None = None,
    data: ReturnsFile | None = None,
    others: Sequence[ReturnsFile] = (),
    witness: bool = False,
) -> dict[str, Any]:
    """Everything that a third party needs to know about a certificate, as plain values for JSON.

    Numbers are taken unrounded from the certificate; a number that is not finite (an open end of the support) is None.

    Args:
        certificate: the answer to a question of `jaxcert.questions`; of a batch one element, as `certificate[0, 7]`.
        support: (a, b), as declared; for questions that need none, None.
        data: the file that the returns were read from.
        others: the files of the other policies, in the order of the function's arguments; at last, for weighted tasks,
            the file of the weights, with one number for each task, without which nothing is verified.
        witness: whether each row gets an entry `witness` with what proves it in exact arithmetic (`check_exactly`),
            where its question has such proofs. It is None where exact arithmetic does not confirm the row.

    Returns:
        A dictionary of strings, numbers, lists and dictionaries; `rows` has one entry for each number that was fixed
        beforehand. If beta was chosen from the data, it is in the rows, and "auto" in the settings.

    Raises:
        ValueError: the certificate is a batch, shifted, answers no known question, or has no rows, as a ranking; a
            support is missing; or it is about another number of policies than the question or the files. With
            ``witness``: no such proof, or no ``data``.

    Warns:
        UserWarning: with ``witness``, exact arithmetic does not confirm a row.

    Example:
        >>> import jax.numpy as jnp
        >>> import jaxcert
        >>> certificate = jaxcert.certify_lower_bounds(
        ...     jnp.full(50, 0.75), jnp.array([0.5]), delta=0.01, beta=0.05)
        >>> certificate_record(certificate, support=(0.0, 1.0))["rows"][0]["num_violations"]
        0
    """
    asked = question_of(certificate)
    if sampled(certificate) is not certificate:
        raise ValueError("certificate is shifted; expected the certificate of the sampled tasks, which a record holds")
    if asked.has_support and support is None:
        raise ValueError(f"support is not given; the question {asked.name!r} needs (a, b)")
    if support is not None and not asked.has_support:
        raise ValueError(f"support is given; the question {asked.name!r} has none")
    _check_sample(certificate, asked, data, others)
    policies = names_of([data, *others[:1]]) if data is not None and of_two(certificate) else []
    group, rows = data.roles.group if data else "", rows_of(jax.tree.map(np.asarray, certificate), asked)
    together = getattr(certificate, "simultaneous", False)
    record = {
        "question": asked.name,
        "settings": plain_settings(certificate, support, asked),
        "data": None if data is None else _data(data, *policies[:1]),
        **({"others": [_data(each, *policies[1 + i :][:1]) for i, each in enumerate(others)]} if others else {}),
        "fixed_beforehand": asked.each,
        "note": _TOGETHER if together else NOTE.format(asked.each) if asked.each else WHOLE,
        "rows": [{**row, "sentence": naming(row["sentence"], policies, group)} for row in rows],
    }
    files = [] if data is None else [data, *others]
    return with_witnesses(record, certificate, asked, files) if witness else record


def _check_sample(
    certificate: Any, question: Question, data: ReturnsFile | None, others: Sequence[ReturnsFile]
) -> None:
    """Raise ValueError unless the answer is about as many policies as the question and the files."""
    source = getattr(certificate, "source", SAMPLED)
    known = None if data is None or data.strata is None else data.strata.tolist()
    has_strata = source not in SOURCES and not question.takes("strata")
    if has_strata and (known is None or source != stratified(known, known, frequencies=certificate.frequencies).strata):
        told = f"certificate is of tasks from strata, the question {question.name!r} has a record of these"
        raise ValueError(f"{told} with their frequencies in a file that names the stratum of each task")
    num_weights = int(getattr(certificate, "max_weight", None) is not None)
    num_policies, metrics = 2 if of_two(certificate) else 1, dict.fromkeys(certificate.metrics)
    if num_policies not in question.numbers_of_policies:
        instead = "certify_improvement and certify_mean_difference have records"
        count = "two policies" if num_policies > 1 else "one policy"
        raise ValueError(f"certificate is about {count}, the question {question.name!r} is not ({instead})")
    count = num_policies * (len(metrics) or 1)
    if data is not None and 1 + len(others) not in (count, count + num_weights):
        of_metrics = f"{', '.join(metrics)} of " if metrics else ""
        about = f"{of_metrics}{num_policies} policies{', and one of weights' * num_weights}"
        raise ValueError(f"certificate is about {about}; given are {1 + len(others)} files of returns")


def _data(data: ReturnsFile, called: str | None = None) -> dict[str, Any]:
    count = data.num_unfinished
    return {
        "file": data.path.name,
        "sha256": data.sha256,
        "num_rollouts": sizes_of(data.num_rollouts),
        "dtype": str(data.returns.dtype),
        "columns": None if data.columns is None else data.columns._asdict(),
        # How many rollouts have no outcome of their own, and the return that each of them counts as.
        **({"unfinished": {"num_rollouts": count, "counted_as": plain(float(data.unfinished or 0))}} if count else {}),
        **data.how_read,
        **({"called": called or data.called} if called or data.called else {}),
    }


def sizes_of(counts: np.ndarray) -> dict[str, int]:
    """The fewest and the most rollouts of a task, and how many there are in all."""
    return {"min": int(counts.min()), "max": int(counts.max()), "total": int(counts.sum())}


# --- the document -------------------------------------------------------------------------------------------------


def certificate_document(
    records: Sequence[Mapping[str, Any]],
    *,
    protocol: str | None = None,
    leaderboard: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Records of certificates with their assumptions, versions, platform and digest, as `certificate_schema` has them.

    Args:
        records: see `certificate_record`.
        protocol: the digest of the protocol that was locked beforehand (`Protocol.digest`).
        leaderboard: of three policies or more, what holds of all of them together: see `jaxcert compare A B C --json`.

    Raises:
        ValueError: a record holds a number that is not finite.

    Example:
        >>> document = certificate_document([])
        >>> document["format_version"], document["digest"] == document_digest(document)
        (5, True)
    """
    device = jax.devices()[0]
    document: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "certificates": list(records),
        "assumptions": assumptions_of(record.get("question", "") for record in records),
        "protocol": protocol,
        **({} if leaderboard is None else {"leaderboard": dict(leaderboard)}),
        "versions": {
            "jaxcert": __version__,
            "jax": jax.__version__,
            "jaxlib": jaxlib.version.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "platform": {
            "system": platform.system(),
            "machine": platform.machine(),
            "device": f"{device.platform}: {device.device_kind}",
        },
    }
    return {**document, "digest": document_digest(document)}


def document_digest(document: Mapping[str, Any]) -> str:
    """SHA-256 of the document without its digest, in a canonical form.

    The text is JSON in ASCII with sorted keys, without spaces, and with numbers as Python prints them. It shows that a
    document was altered by accident or without care; who alters it with care writes another digest.

    Args:
        document: see `certificate_document`.

    Example:
        >>> document_digest({"format": "jaxcert certificates"})[:8]
        'a5a4826e'
    """
    content = {name: value for name, value in document.items() if name != "digest"}
    text = json.dumps(content, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def document_text(document: Mapping[str, Any]) -> str:
    """The document as the text of a certificate file: strict JSON in UTF-8, indented, with a line ending.

    Args:
        document: what :func:`certificate_document` returns.

    Raises:
        ValueError: a number is not finite.

    Example:
        >>> print(document_text({"digest": "0"}), end="")
        {
          "digest": "0"
        }
    """
    return json.dumps(document, allow_nan=False, ensure_ascii=False, indent=2) + "\n"


def write_certificates(
    path: str | PathLike[str],
    records: Sequence[Mapping[str, Any]],
    *,
    protocol: str | None = None,
    replace: bool = True,
) -> None:
    """Write a certificate file, completely or not at all: records and all that is needed to check them.

    Args:
        path: the file.
        records: see `certificate_record`.
        protocol: the digest of the protocol that was locked beforehand.
        replace: whether to replace a file that exists; if not, it stays, and an error says where the new one is.

    Raises:
        FileExistsError: with `replace=False`, for a file that exists.
        ValueError: no file can be written there, or a record holds a number that is not finite.

    Example:
        >>> import json, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "certificate.json"
        ...     write_certificates(path, [])
        ...     json.loads(path.read_text())["format_version"]
        5
    """
    document = certificate_document(records, protocol=protocol)
    write_whole(path, document_text(document), replace=replace)
