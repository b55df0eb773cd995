"""Random certificates with witnesses, and whether the exact checker accepts each, and none with a smaller risk."""

import functools
import inspect
import json
import math
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from alterations import altered_record
from cli_harness import table

import jaxcert
from jaxcert._validation import precision
from jaxcert.report import certificate_record, check_certificate, check_exactly, write_certificates
from jaxcert.report.check_certificate import read_csv
from jaxcert.tables import read_returns

SHAPES = (30, 6), (30, 20), (24, 12)  # of one padded shape, since each is compiled


class Kind(NamedTuple):
    """A question and its options, and whether it is asked of successes."""

    question: str
    function: Callable[..., Any]
    fixed: str
    options: Mapping[str, Any] = MappingProxyType({})
    successes: bool = False
    masked: bool = False


KINDS = {
    "betting": Kind("safety", jaxcert.certify, "threshold"),
    "betting, masked": Kind("safety", jaxcert.certify, "threshold", masked=True),
    "scenario": Kind("safety", jaxcert.certify, "threshold", {"method": "scenario", "beta": 0.0003}),
    "level": Kind("safety_level", jaxcert.certify_safety_level, "safety"),
    "interval": Kind("interval", jaxcert.certify_interval, "threshold", {"complete": True}),
    "suite": Kind("suite", jaxcert.certify_suite, "threshold"),
    "attained": Kind("safety", jaxcert.certify, "threshold", successes=True),
    "attained, masked": Kind("safety", jaxcert.certify, "threshold", masked=True, successes=True),
    "attained at a beta": Kind("safety", jaxcert.certify, "threshold", {"beta": 0.2}, successes=True),
    "one level": Kind("safety", jaxcert.certify, "threshold", {"method": "binomial"}, successes=True),
    "level of successes": Kind("safety_level", jaxcert.certify_safety_level, "safety", successes=True),
    "level, masked": Kind("safety_level", jaxcert.certify_safety_level, "safety", masked=True, successes=True),
    "interval of successes": Kind(
        "interval", jaxcert.certify_interval, "threshold", {"complete": True}, successes=True
    ),
    "suite of successes": Kind("suite", jaxcert.certify_suite, "threshold", successes=True),
    "suite, masked": Kind("suite", jaxcert.certify_suite, "threshold", masked=True, successes=True),
}


class Made(NamedTuple):
    """A certificate file, its file of returns, and the warnings of rows without a witness."""

    certificate: Path
    returns: Path
    warned: list[str]


class Cases(dict):
    """Made when they are first asked for."""

    def __init__(self, make: Callable[[Any], Made]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, name: Any) -> Made:
        self[name] = self.make(name)
        return self[name]


def record_of(case: Made) -> dict[str, Any]:
    """The only record of its certificate file."""
    (record,) = json.loads(case.certificate.read_text())["certificates"]
    return record


def made(kind: Kind, dtype: str, seed: int, folder: Path) -> Made:
    """A random certificate of that kind, written with its witnesses; half of the files of returns are tables."""
    rng = np.random.default_rng(seed)
    n, m = SHAPES[seed % len(SHAPES)]
    low, high = (0.0, 1.0) if kind.successes else sorted(np.round(rng.normal(0, 10.0 ** rng.integers(-1, 4), 2), 3))
    if not low < high:
        high = low + 1.0
    x = _returns(rng, n, m, low, high, kind.successes).astype(_TYPES[kind.successes, dtype])
    where = rng.random((n, m)) < 0.8 if kind.masked else np.ones((n, m), bool)
    where[:, 0] = True
    path = _written(folder, x, where, as_table=bool(rng.integers(2)))
    with precision(dtype), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data, support = read_returns(path), (float(low), float(high))
        mask = {} if data.where is None else {"where": data.where}
        fixed = _fixed(rng, kind, data.returns, low, high)
        delta, options = float(rng.choice([0.001, 0.01, 0.05, 0.1])), {**_spelled(kind, data.returns), **mask}
        found = kind.function(data.returns, fixed, support=support, delta=delta, **options)
        record = certificate_record(found, support=support, data=data, witness=True)
    write_certificates(folder / "c.json", [record])
    return Made(folder / "c.json", path, [str(each.message) for each in caught if "no witness" in str(each.message)])


# Successes have single precision as bool, and double precision as floats.
_TYPES = {
    (False, "float32"): "float32",
    (False, "float64"): "float64",
    (True, "float32"): "bool",
    (True, "float64"): "float64",
}


def _spelled(kind: Kind, returns: np.ndarray) -> dict[str, Any]:
    """The options, with those that are the default for bool where successes are floats."""
    if not kind.successes or returns.dtype == bool:
        return dict(kind.options)
    takes_method = "method" in inspect.signature(kind.function).parameters
    return {"bound": "clopper_pearson", **({"method": "attained"} if takes_method else {}), **kind.options}


def _returns(rng: np.random.Generator, n: int, m: int, low: float, high: float, successes: bool) -> np.ndarray:
    """Of tasks that are easy or hard, some with returns at the lower end."""
    a, b = rng.uniform(0.5, 12, 2)
    means = rng.beta(a, b / 4, (n, 1))
    if successes:
        return rng.random((n, m)) < means
    x = low + (high - low) * rng.beta(20 * means, 20 * (1 - means) + 0.01, (n, m)) * 0.999
    x = np.where(rng.random((n, m)) < 0.002, low, x)
    # Within the support as it is written, in single precision, too.
    return np.clip(
        x, np.nextafter(np.float32(low), np.float32(np.inf)), np.nextafter(np.float32(high), np.float32(-np.inf))
    )


def _written(folder: Path, x: np.ndarray, where: np.ndarray, *, as_table: bool) -> Path:
    if as_table:
        rows = [(i, j, str(x[i, j]).lower()) for i, j in np.argwhere(where)]
        return table(folder / "returns.csv", "task_id,episode_id,total_return", rows)
    arrays: dict[str, Any] = {"returns": x} | ({} if where.all() else {"where": where})
    np.savez(folder / "returns.npz", **arrays)
    return folder / "returns.npz"


def _fixed(rng: np.random.Generator, kind: Kind, x: np.ndarray, low: float, high: float) -> np.ndarray:
    """Safeties; or thresholds, one of them a lower bound of a task, where rounding decides."""
    if kind.fixed == "safety":
        return np.asarray([0.5, 0.8])
    averages = np.nan_to_num(np.nanmean(np.where(np.isfinite(x), x, np.nan), axis=1), nan=low)
    thresholds = np.append(np.quantile(averages, rng.random(2)) * 0.98 + 0.02 * low, low + 0.3 * (high - low))
    if kind.question == "safety" and not kind.successes and not kind.masked and "method" not in kind.options:
        bounds = np.asarray(jaxcert.bounds.betting(x, 0.05, support=(low, high)))
        thresholds[-1] = bounds[rng.integers(len(bounds))]
    return np.maximum(thresholds, low)


def verdicts(certificate: Path, returns: Path) -> list[tuple[bool, str]]:
    """Of each row whether it is accepted, and its sentence or the reason."""
    return [(holds, words) for holds, words in check_exactly(certificate, returns) if holds is not None]


def lines_of(certificate: Path, returns: Path) -> list[tuple[bool | None, str]]:
    """What the file that stands alone says of a table, before a file as a whole is refused."""
    content = returns.read_bytes()
    return [*check_certificate.check(certificate.read_bytes(), lambda data: read_csv(content, data["columns"]))]


def reasons(certificate: Path, returns: Path) -> list[str]:
    """Why that file refuses it; empty if it does not."""
    try:
        return [words for holds, words in lines_of(certificate, returns) if holds is False]
    except check_certificate.WRONG as error:
        return [check_certificate.reason(error)]


def with_risk(row: dict[str, Any], risk: float) -> None:
    """A row with another risk, and the safety that follows from its decimal."""
    row["epsilon"], row["safety"] = risk, 1 - risk
    while Fraction(repr(row["epsilon"])) + Fraction(repr(row["safety"])) > 1:
        row["safety"] = math.nextafter(row["safety"], 0)


def smallest_risk(case: Made, index: int) -> tuple[float, bool, bool]:
    """The smallest float that is accepted as the risk of a row; whether it is, and the one below it is not."""

    def accepted(risk: float) -> bool:
        path = altered_record(case.certificate, lambda record: with_risk(record["rows"][index], risk))
        return verdicts(path, case.returns)[index][0]

    low, high = 0.0, json.loads(case.certificate.read_text())["certificates"][0]["rows"][index]["epsilon"]
    while math.nextafter(low, 1) < high:
        middle = (low + high) / 2
        low, high = (low, middle) if accepted(middle) else (middle, high)
    return high, accepted(high), not accepted(math.nextafter(high, 0))


def tally(kind: Kind, dtype: str, seeds: range, *, every: int) -> tuple[Counter[str], list[str]]:
    """Counts over these certificates, of which one in ``every`` has its risk lowered; and what was refused."""
    lowers = every if kind.fixed == "threshold" else None
    return tally_of(functools.partial(made, kind, dtype), seeds, every=lowers)


def tally_of(make: Callable[[int, Path], Made], seeds: range, *, every: int | None) -> tuple[Counter[str], list[str]]:
    """The same of certificates that are made from a seed, in a folder; ``every`` None lowers no risk."""
    counts, refused = Counter(), []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as name:
            case = make(seed, Path(name))
            counts["made"] += 1
            rows = json.loads(case.certificate.read_text())["certificates"][0]["rows"]
            counts["without"] += sum("witness" in row and row["witness"] is None for row in rows)
            refused += [f"seed {seed}: {words}" for words in case.warned]
            for index, (row, (holds, words)) in enumerate(
                zip(rows, verdicts(case.certificate, case.returns), strict=True)
            ):
                claims = row.get("witness") is not None
                counts["claim"] += claims
                counts["accepted"] += claims and holds
                refused += [] if holds else [f"seed {seed}: {words}"]
                if claims and every and seed % every == 0 and "epsilon" in row and row["safety"] > 0:
                    counts["lowered"] += 1
                    counts["refused"] += all(smallest_risk(case, index)[1:])
    return counts, refused
