"""Checks of a seal: the types of its columns, and the pipeline's rules if they are installed."""

from __future__ import annotations

import difflib
import hashlib
import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from alpha_results_seal.errors import SealError

TYPES = {
    "date": pl.Date(),
    "instant": pl.Datetime("us", "UTC"),
    "float": pl.Float64(),
    "int": pl.Int64(),
    "bool": pl.Boolean(),
    "text": pl.String(),
}
_TABLES: dict[str, Any] = json.loads(files(__package__).joinpath("columns.json").read_text("utf-8"))
COLUMNS: dict[str, dict[str, str]] = {kind: table["columns"] for kind, table in _TABLES.items()}
"""Kind -> the columns that an engine may write, with their types."""
KEYS = {kind: tuple(table["key"]) for kind, table in _TABLES.items()}
"""Kind -> the columns that are unique together."""


def typed(kind: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Cast a table's columns to their declared types and order, and refuse undeclared ones.

    Raises
    ------
    SealError
        If a column is not declared, or has values of another type.
    """
    declared = COLUMNS[kind]
    for name in frame.columns:
        if name not in declared:
            absent = [column for column in declared if column not in frame.columns]
            near = difflib.get_close_matches(name.lower(), absent, n=1, cutoff=0.6)
            hint = f": did you mean {near[0]}?" if near else f"; it has {', '.join(declared)}."
            raise SealError(f"{kind} has no column {name!r}{hint}")
    return frame.select(
        _typed(kind, frame[name], declared[name]) for name in declared if name in frame.columns
    )


def _typed(kind: str, series: pl.Series, declared: str) -> pl.Series:
    target = TYPES[declared]
    if series.dtype == target:
        return series
    if declared == "instant" and isinstance(series.dtype, pl.Datetime) and series.dtype.time_zone is None:
        raise SealError(
            f"{kind}.{series.name} is datetime64[{series.dtype.time_unit}] without time zone: localise it "
            "(tz_localize('UTC'), or local times with their own zone)."
        )
    if declared == "instant" and series.dtype in (pl.Date, pl.String):
        noun = "a day" if series.dtype == pl.Date else "text"
        raise SealError(
            f"{kind}.{series.name} is {noun} and has to be an instant: write the moment, in UTC (pd.to_datetime(column, utc=True))."
        )
    try:
        if declared == "instant" and isinstance(series.dtype, pl.Datetime):
            return series.dt.convert_time_zone("UTC").dt.cast_time_unit("us")
        if declared == "date" and series.dtype == pl.String:
            return series.str.to_date()
        cast = series.cast(target)
    except pl.exceptions.PolarsError as error:
        raise SealError(
            f"{kind}.{series.name} is {series.dtype} and has to be {declared}: {error}"
        ) from error
    if declared == "float" and series.dtype == pl.String:
        raise SealError(f"{kind}.{series.name} is text and has to be a number: pd.to_numeric(column).")
    if (
        declared == "date"
        and isinstance(series.dtype, pl.Datetime)
        and (cast.cast(series.dtype) != series).any()
    ):
        raise SealError(
            f"{kind}.{series.name} has times of day and has to be a day: drop them (dt.normalize())."
        )
    return cast


def pipeline_problems(folder: Path, manifest: bytes, *, strict: bool) -> list[str] | None:
    """Apply the rules of the format to files before their manifest is written.

    Returns
    -------
    list of str or None
        One text per broken rule; None if the rules are not installed.

    Raises
    ------
    SealError
        If a rule fails because of a bug, or the disk does.
    """
    if sys.version_info < (3, 11):
        return None
    try:
        from pipeline.rules.checking import check  # noqa: PLC0415 -- only where it is installed
        from pipeline.seal.manifest import parse_manifest  # noqa: PLC0415 -- as above
        from pipeline.seal.seal import Seal  # noqa: PLC0415 -- as above
        from pipeline.seal.store import SealStore  # noqa: PLC0415 -- as above
        from schemas.errors import AlphaResultsError  # noqa: PLC0415 -- as above
    except ImportError:
        return None
    parsed, problems = parse_manifest(manifest)
    if parsed is None:
        return [f"seal.json: {x.key} must be {x.expected} and is {x.value!r}" for x in problems]
    try:
        report = check(Seal(SealStore(str(folder)), parsed, hashlib.sha256(manifest).hexdigest()))
    except AlphaResultsError as error:
        raise SealError(str(error)) from error
    return [describe(violation) for violation in (*report.violations, *(report.warnings if strict else ()))]


def check_folder(folder: Path) -> dict[str, Any]:
    """Apply every rule of the format to a finished seal.

    Returns
    -------
    dict
        `violations`, `warnings` and `notices`, JSON-ready, as in ``pipeline check --json``.

    Raises
    ------
    SealError
        If the rules are not installed, or the seal cannot be read.
    """
    if sys.version_info < (3, 11):
        raise SealError("the rules of the format need Python 3.11 or later.")
    try:
        from pipeline.rules.checking import check  # noqa: PLC0415 -- only where it is installed
        from pipeline.seal.seal import Seal  # noqa: PLC0415 -- as above
        from schemas.errors import AlphaResultsError  # noqa: PLC0415 -- as above
        from schemas.errors import SealRefused as Refused  # noqa: PLC0415 -- as above
    except ImportError as error:
        raise SealError(
            f"the rules of the format need {error.name}: pip install 'alpha-results-seal[check]'."
        ) from error
    try:
        report: dict[str, Any] = check(Seal.open(str(folder))).to_dict()
    except Refused as refusal:
        return {"violations": list(refusal.violations), "warnings": [], "notices": []}
    except AlphaResultsError as error:
        raise SealError(str(error)) from error
    return {name: report[name] for name in ("violations", "warnings", "notices")}


def describe(violation: Any) -> str:
    """Describe a broken rule in one line: place, fault and fix."""
    first = f" First: {dict(violation.examples[0])}." if violation.examples else ""
    return f"{violation.rule} ({violation.file}): {violation.message}. {violation.remedy}{first}"
